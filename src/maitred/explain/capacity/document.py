"""What `maitred capacity` answers, as data; its tables are made from this alone.

    {"apiVersion": "maitred.dev/v1alpha1", "kind": "Capacity",
     "nodes": 64, "waiting": 2, "resources": ["nvidia.com/gpu"], "currency": "USD", "gang": null,
     "placeable":   [{"shape": {...}, "ranks": [{"priority": 0, "priorityClass": "", "ahead": 0,
                      "gangs": [{"level": null, "now": {"members": 12, "domain": null},
                                 "withRoom": null}]}]}],
     "fragmented":  [{"group": "ns/g", "category": "Topology", "move": {...}, "alike": 2, ...}],
     "incomplete":  [{"group": "ns/g", "counted": 3, "quorum": 8, "holds": {"nvidia.com/gpu": 24}, ...}],
     "orders":      [{"group": "ns/g", "asNow": "2026-01-31T16:00:00Z", "holding": null, ...}],
     "preemption":  [{"group": "ns/g", "breakEvenHours": 0.4, ...}],
     "constraints": [{"level": "rack", "groups": 3, "wouldStart": ["ns/g"], ...}],
     "idle":        [{"resource": "nvidia.com/gpu", "model": "", "total": 64, "unwell": 3, "idle": 30,
                      "reasons": [{"reason": "Cordoned", "devices": 8, "nodes": 1}]}],
     "notes": []}

Amounts of the resources that are counted are whole devices; thousandths of a core where there are no devices
and cpu is counted instead. Times are in hours, money in the currency of the policy.
"""

from typing import Literal

from msgspec import UNSET, UnsetType

from maitred.explain.forecast.estimate import Orders
from maitred.model.plan import EvictionCause, Record
from maitred.model.policy import API_VERSION

# -- can the next gang be placed ---------------------------------------------------------------------------


class ShapeOfPods(Record, frozen=True):
    """What every member of a gang asks for. Its label and its requests are what people know it by."""

    kind: Literal["one", "node", "asked"]
    """One device, a whole node, or as pods of the cluster ask."""
    requests: dict[str, str]
    model: str = ""
    selects: dict[str, str] = {}
    """Labels of nodes that it insists on."""
    requires: tuple[str, ...] = ()
    """What else its node must be like, by its node affinity."""
    tolerates: tuple[str, ...] = ()
    """Taints: `key=value:effect`, as far as it says them; `everything` where it names none."""
    claims: dict[str, str] = {}
    """How many devices of each DeviceClass it claims; of alternatives, the first."""
    selectors: tuple[str, ...] = ()
    """What the devices must be like, in CEL."""
    waiting: int = 0
    running: int = 0
    """Pods of that shape."""


class Largest(Record, frozen=True):
    members: int
    domain: str | None
    """Where, if it is to be within one domain."""


class Gangs(Record, frozen=True):
    """The largest gangs within one domain of a level, or anywhere."""

    level: str | None
    now: Largest
    with_room: Largest | None
    """Once all who may be made to leave for it have left; None where nobody may be."""
    fits: Literal["now", "with-room", "no"] | None = None
    """Of the gang that was asked about."""


class PlaceablePriority(Record, frozen=True):
    """What a gang of one priority could have."""

    priority: int
    priority_class: str
    ahead: int
    """Groups of higher priority that wait: what others leave, they may take first."""
    gangs: tuple[Gangs, ...]


class Placeable(Record, frozen=True):
    shape: ShapeOfPods
    ranks: tuple[PlaceablePriority, ...]


class QueueRoom(Record, frozen=True):
    """What one queue may still start of one shape."""

    queue: str
    shape: ShapeOfPods
    members: int
    """The largest gang that would start now, by room, by limits and by budgets."""
    room: int
    """The largest by room alone."""
    limit: str
    """The first limit or budget that a larger gang would exceed, whatever room there is: its kind and whose
    it is. Empty where none is in the way before the whole cluster is full."""


# -- fragmentation -----------------------------------------------------------------------------------------


class PodMove(Record, frozen=True):
    pod: str
    source: str
    target: str
    """The same node for a member of a gang that moves and has its place there again."""


class Move(Record, frozen=True):
    """Pods that, once they run elsewhere, leave enough room in one place. The engine has tried it."""

    kind: Literal["migration", "drain"]
    units: tuple[str, ...]
    """Groups that move whole, or pods."""
    node: str | None
    """The one that is drained."""
    pods: tuple[PodMove, ...]
    """All who start again,"""
    lost_device_hours: float
    """and what they lose: the work since their last checkpoints."""


class Fragmented(Record, frozen=True):
    group: str
    category: Literal["Fragmentation", "Topology"]
    message: str
    needed: int
    holds: int
    move: Move | None
    sought: bool
    """Whether a move was looked for; not once the effort was spent."""
    alike: int
    """Groups more that ask for the same."""


# -- incomplete groups -------------------------------------------------------------------------------------


class Incomplete(Record, frozen=True):
    group: str
    counted: int
    quorum: int
    holds: dict[str, int]
    since: str | None
    device_hours: float
    """Held since then; of cpu, core-hours."""
    starts_now: bool
    """Whether those who are missing are seated by what is decided now."""
    cost_per_hour: float | None


# -- preemption --------------------------------------------------------------------------------------------


class PreemptionWorth(Record, frozen=True):
    """What it takes to start a group now, and what that is worth."""

    group: str
    allowed: bool
    why_not: str
    """Why nobody leaves for it, if it is not allowed."""
    devices: int
    victims: tuple[str, ...]
    pods: int
    lost_device_hours: float
    lost_money: float | None
    violations: int
    """Disruptions beyond what budgets allow."""
    break_even_hours: float | None
    """As long a wait would cost the group as many device-hours; None if it holds no devices."""
    waited_hours: float
    expected_wait_hours: float | None
    """How long it would wait from now on, where both orders of starting were looked at for it."""
    cause: EvictionCause | UnsetType = UNSET
    """Why its victims would leave for it. Left out where there are no queues: for its priority then."""


# -- topology ----------------------------------------------------------------------------------------------


class Constraint(Record, frozen=True):
    """Groups that wait and must be within one domain of a level, or whose slices must."""

    constraint: Literal["required", "slice"]
    level: str
    groups: int
    devices: int
    waited_hours: float
    """Of all of them, for whatever reason."""
    because_hours: float | None
    """Of these, for this one; None where nobody keeps a ledger."""
    blocked: int
    """Groups that would start in their turn, each for itself, if they might sit anywhere."""
    blocked_hours: float
    """For which these have waited."""
    wider: str | None
    """The next wider level; None for the whole cluster."""
    would_start: tuple[str, ...]
    """Who would start now if the level were that for all of them."""
    devices_started: int
    tried: bool
    """Whether that was tried; not where it would have taken too much effort."""


# -- idle --------------------------------------------------------------------------------------------------

IdleReason = Literal[
    "Free",
    "Starting",
    "Promised",
    "Cordoned",
    "NotReady",
    "Unhealthy",
    "Unwell",
    "NotAnswering",
    "NotRegistered",
    "DeviceTainted",
    "Tainted",
    "Reserved",
    "Held",
    "Stranded",
    "Quota",
    "Budget",
    "Fragmented",
    "NotManaged",
]


class IdlePart(Record, frozen=True):
    reason: IdleReason
    detail: str
    """The taint, the resource that nodes are out of, the queue whose limit or budget it is, the group that
    has a hold, or for whom they are reserved; empty for several queues or groups, and where no single limit
    is in the way."""
    devices: int
    nodes: int
    cost_per_hour: float | None
    until: str | None = None
    """When the hold begins, or the reservation ends; null where nobody knows."""


class Idle(Record, frozen=True):
    """Devices that no pod holds, each under exactly one reason."""

    resource: str
    """Or the driver of devices that claims are for."""
    model: str
    total: int
    """With those that are unwell."""
    unwell: int
    """Devices that their plugin does not offer, or that are tainted, whether or not some pod still has
    them."""
    idle: int
    reasons: tuple[IdlePart, ...]
    partly: int = 0
    """Devices that claims have a part of, and of which more can be had. They are not idle."""


class Capacity(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "Capacity"
    nodes: int = 0
    waiting: int = 0
    """Groups that wait for room, or for their queues; not those that are not complete, gated or invalid."""
    kept_back: int | UnsetType = UNSET
    """Those of them that a limit or a budget of their queue keeps back first of all. Left out where there
    are no queues."""
    resources: tuple[str, ...] = ()
    """What is counted: the devices of the cluster, or cpu where it has none."""
    currency: str | None = None
    """None where the policy has no prices."""
    gang: int | None = None
    placeable: tuple[Placeable, ...] = ()
    fragmented: tuple[Fragmented, ...] = ()
    incomplete: tuple[Incomplete, ...] = ()
    orders: tuple[Orders, ...] = ()
    preemption: tuple[PreemptionWorth, ...] = ()
    constraints: tuple[Constraint, ...] = ()
    idle: tuple[Idle, ...] = ()
    notes: tuple[str, ...] = ()
    """What was cut off, and what could not be known."""
    queues: tuple[QueueRoom, ...] | UnsetType = UNSET
    """Left out where the policy has no queues."""
