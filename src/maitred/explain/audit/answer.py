"""The answer of an audit, as data. Its JSON form is a stable contract."""

from typing import Literal

from maitred.model.plan import Record
from maitred.model.policy import API_VERSION
from maitred.model.unwell import Cause

UnwellCause = Literal[Cause, "Tainted"]
"""Devices that claims are for are tainted."""


class GroupKind(Record, frozen=True):
    """Groups of one convention, or of one kind of owner."""

    by: str
    groups: int
    gangs: int
    """Of these, those whose members need each other."""
    unknown: int
    """Of these, those of which nobody says how many members they take."""


class HeldGang(Record, frozen=True):
    """A gang that has, or had, places without being complete."""

    group: str
    by: str
    quorum: int
    members: int
    seated: int
    since: str | None
    """From when on it has been so; None if it is not so now."""
    seconds: float
    """For how long; of one that is complete now, or gone, all the time in which it was not."""
    devices: float
    """That it holds now."""
    incomplete_device_hours: float
    starting_device_hours: float


class HeldDevices(Record, frozen=True):
    """Device-hours within the time that was looked at."""

    since: str | None
    """The beginning of that time: of the watch, or of the first gang that left a trace."""
    watched: bool
    """Whether nothing was missed. Else it was at least so much: pods that are gone leave no trace."""
    incomplete_device_hours: float
    """Held by gangs while members of their quorum had no place."""
    starting_device_hours: float
    """Held by gangs that had all their places, until all of the quorum had been ready."""
    gangs: int
    """How many were incomplete for longer than a start takes."""
    worst: tuple[HeldGang, ...]


class LargestRoom(Record, frozen=True):
    """The domain of a level that has most whole nodes free."""

    level: str
    domain: str
    nodes: int
    devices: int


class DeviceCounts(Record, frozen=True):
    """Of one kind. `taken`, `unwell` and `free` add up to `total`."""

    resource: str
    total: int
    taken: int
    half_started: int
    """Of these, those that half-started gangs hold."""
    unwell: int
    """Neither taken nor to be had: on nodes that are closed or unwell, not offered by the plugin, or
    tainted."""
    not_offered: int
    """Of these, those that the device plugin does not offer or that are tainted, on nodes that are well."""
    free: int
    """Free, on all others."""
    stranded: int
    """Of these, those that nobody can use: see `stranded`."""
    whole_nodes: int
    """Nodes none of whose devices is taken,"""
    in_whole_nodes: int
    """and their devices."""
    part_nodes: int
    """Nodes some of whose devices are taken, and some free,"""
    in_part: int
    """so many: nothing that needs whole nodes can use them."""
    levels: tuple[LargestRoom, ...]


class UnwellNode(Record, frozen=True):
    """Devices of one kind on a node that its device plugin does not offer, or that are tainted."""

    node: str
    resource: str
    unwell: int | None
    of: int | None
    """Both None where nothing says how many there are."""
    cause: UnwellCause
    label: str
    """The label that tells of them, where no device plugin does; else empty."""


class StrandedNode(Record, frozen=True):
    """Free devices that nobody can use, because pods without devices took what is beside them."""

    node: str
    resource: str
    devices: int
    lacks: str
    """What is used up,"""
    free: str
    """how much of it is left, and"""
    taken: str
    """how much of it pods without devices have."""
    pods: int
    largest: tuple[str, ...]


class Never(Record, frozen=True):
    """A request that would not fit on the same cluster with nothing on it."""

    group: str
    by: str
    members: int
    category: str
    message: str


class DailyCost(Record, frozen=True):
    """What something costs a day, should it stay as it is."""

    what: str
    devices: float
    device_hours_per_day: float
    money_per_day: float | None
    """None where the policy has no price for some of these devices."""


class ReplayedPlacement(Record, frozen=True):
    """The same jobs on the same nodes under one placement, simulated."""

    placement: str
    finished: int
    jobs: int
    mean_wait_seconds: float
    productive_device_hours: float
    incomplete_device_hours: float
    deadlocks: int


class ReplayedJobs(Record, frozen=True):
    since: str
    hours: float
    runs: tuple[ReplayedPlacement, ...]
    saved_device_hours: float
    """Held in vain pod by pod, and not in whole groups."""
    warnings: tuple[str, ...] = ()


class Audit(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "Audit"
    at: str = ""
    watched_seconds: float | None = None
    nodes: int = 0
    pods: int = 0
    groups: tuple[GroupKind, ...] = ()
    half_started: tuple[HeldGang, ...] = ()
    starting: tuple[HeldGang, ...] = ()
    """Gangs that are not complete, and came so lately that they may well become so."""
    held: HeldDevices | None = None
    """None where no gang has left a trace."""
    devices: tuple[DeviceCounts, ...] = ()
    """One for each kind of device; none where there are no devices."""
    unwell: tuple[UnwellNode, ...] = ()
    stranded: tuple[StrandedNode, ...] = ()
    never: tuple[Never, ...] = ()
    currency: str = ""
    costs: tuple[DailyCost, ...] = ()
    replay: ReplayedJobs | None = None
    warnings: tuple[str, ...] = ()
