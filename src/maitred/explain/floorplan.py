"""The floor at a glance: which groups are seated where, which wait and why, and what is free in every rack.

It is drawn from the objects of the cluster and from the verdicts of the scheduler. What that scheduler has
written into conditions is not read: only other schedulers are quoted from there.

Members and tables are made once for each change of a pod or node, so that drawing up the floor again, a few
times a second while someone watches, only has to add them up.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal, TypeVar

from maitred.cluster.devices.hardware import DeviceKind, Tally
from maitred.explain.tenant_words import as_told_at_home
from maitred.explain.verdicts import blocker_words
from maitred.model.group import PodGroup, PodGroupStatus, group_from_pod_group
from maitred.model.health.tables import LOST_TAINTS
from maitred.model.job import Job
from maitred.model.membership import (
    POD_GROUP,
    PodWords,
    Settled,
    group_of,
    group_of_template,
    said_by,
    settle,
)
from maitred.model.meta import Lean, Timestamp, controller_of, key_of
from maitred.model.node import UNSCHEDULABLE, Node, allocatable, effective_taints
from maitred.model.objects import Object
from maitred.model.owners import BATCH_JOB, kind_of
from maitred.model.plan import GroupVerdict, Verdict
from maitred.model.pod import Pod, PodStatus
from maitred.model.policy import Policy, is_device
from maitred.model.quantity import CPU
from maitred.model.reports import SaidCondition
from maitred.model.requests import pod_requests
from maitred.model.unwell import Cause, unwell_devices
from maitred.model.words import counted

WIDE_LEVELS = ("block", "zone")
NARROW_LEVELS = ("rack",)
CLOSING = ("NoSchedule", "NoExecute")
UNDECIDED = "no verdict yet"
SANDBOX = "sandbox.maitred.dev/"
_PARTS = re.compile(r"(\D*)(\d*)")
_POLICY = Policy()
T = TypeVar("T", bound=Object)

Outcome = Verdict | Literal["Finished"]
ClaimableByNode = Mapping[str, Mapping[DeviceKind, Tally]]
NO_CLAIMABLE: ClaimableByNode = {}
Standing = Literal["waiting", "seated", "succeeded", "failed", "leaving"]
Openness = Literal["open", "closed", "lost"]


class FloorPodStatus(PodStatus, frozen=True):
    conditions: tuple[SaidCondition, ...] = ()


class FloorPod(Pod, frozen=True):
    """A pod, and what schedulers have said of it."""

    status: FloorPodStatus = FloorPodStatus()


class FloorGroupStatus(PodGroupStatus, frozen=True):
    conditions: tuple[SaidCondition, ...] = ()


class FloorGroup(PodGroup, frozen=True):
    """A group, and what schedulers have said of it."""

    status: FloorGroupStatus = FloorGroupStatus()


class FloorMember(Lean, frozen=True):
    """A pod as the floor shows it: as part of its group, and as room that is taken on its node."""

    key: str
    said: PodWords
    node: str
    standing: Standing
    needs: dict[str, int]
    created: Timestamp | None
    seated: Timestamp | None
    scheduler: str
    words: str
    """What that scheduler has written into the condition of a pod that waits."""


class FloorNode(Lean, frozen=True):
    """A node as the floor shows it."""

    name: str
    labels: dict[str, str]
    openness: Openness
    resource: str
    total: int
    """With what is unwell."""
    unwell: int = 0
    cause: Cause | None = None
    """Why; None where all are well."""


class Spot(Lean, frozen=True, omit_defaults=False):
    """What is free on one node: of its devices, or of its cpu (in thousandths) where it has none."""

    node: str
    openness: Openness
    resource: str
    """Or the driver of devices that claims are for."""
    free: int
    total: int
    unwell: int
    """Of the total, those that the device plugin does not offer, or that are tainted."""
    cause: Cause | None


class Rack(Lean, frozen=True, omit_defaults=False):
    block: str
    rack: str
    nodes: tuple[Spot, ...]

    @property
    def free(self) -> int:
        """Devices that can be had, which those of lost and closed nodes cannot."""
        return sum(spot.free for spot in self.nodes if spot.openness == "open" and spot.resource != CPU)

    @property
    def total(self) -> int:
        return sum(spot.total for spot in self.nodes if spot.resource != CPU)


class FloorRow(Lean, frozen=True, omit_defaults=False):
    """A group and how it stands."""

    group: str
    verdict: Outcome
    members: int
    quorum: int
    placed: int
    where: dict[str, int]
    """Members by rack, or by node where there are no racks."""
    since: Timestamp | None
    why: str
    lone: bool
    """One pod that is of no group."""


class ClusterFloor(Lean, frozen=True, omit_defaults=False):
    racks: tuple[Rack, ...]
    groups: tuple[FloorRow, ...]

    def row(self, group: str) -> FloorRow | None:
        return next((row for row in self.groups if row.group == group), None)


def member_of(pod: FloorPod) -> FloorMember:
    scheduled = next((said for said in pod.status.conditions if said.type == "PodScheduled"), SaidCondition())
    return FloorMember(
        key=key_of(pod.metadata),
        said=said_by(pod),
        node=pod.spec.node_name,
        standing=standing(pod),
        needs=pod_requests(pod.spec),
        created=pod.metadata.creation_timestamp,
        seated=seated_at(pod, scheduled),
        scheduler=pod.spec.scheduler_name,
        words="" if scheduled.status == "True" else scheduled.message,
    )


def seated_at(pod: FloorPod, scheduled: SaidCondition) -> Timestamp | None:
    """A pod that was created on its node has not been told of by any scheduler."""
    if scheduled.status == "True":
        return scheduled.last_transition_time
    return pod.metadata.creation_timestamp if pod.spec.node_name else None


def standing(pod: Pod) -> Standing:
    if pod.status.phase == "Succeeded":
        return "succeeded"
    if pod.status.phase == "Failed":
        return "failed"
    if pod.metadata.deletion_timestamp is not None:
        return "leaving"
    return "seated" if pod.spec.node_name else "waiting"


def table_of(node: Node) -> FloorNode:
    amounts, unwell = allocatable(node), unwell_devices(node)
    there = {resource for resource in amounts if amounts[resource]} | unwell.keys()
    devices = sorted(resource for resource in there if is_device(_POLICY, resource))
    resource = devices[0] if devices else CPU
    ill = unwell.get(resource)
    return FloorNode(
        name=node.metadata.name,
        labels=node.metadata.labels,
        openness=openness(node),
        resource=resource,
        total=amounts.get(resource, 0) + (ill.unwell if ill else 0),
        unwell=ill.unwell if ill else 0,
        cause=ill.cause if ill else None,
    )


def openness(node: Node) -> Openness:
    keys = {taint.key for taint in effective_taints(node) if taint.effect in CLOSING}
    if keys.intersection(LOST_TAINTS):
        return "lost"
    return "closed" if UNSCHEDULABLE in keys else "open"


class FloorVerdicts:
    """The last verdicts of the scheduler of this name, of groups that wait."""

    def __init__(self, scheduler: str, verdicts: Iterable[GroupVerdict] = ()) -> None:
        self._scheduler = scheduler
        self._verdicts = {verdict.group: verdict for verdict in verdicts}

    def verdict(self, group: str) -> GroupVerdict | None:
        return self._verdicts.get(group)

    def is_theirs(self, member: FloorMember) -> bool:
        """Whether another scheduler places it."""
        return member.scheduler != self._scheduler


@dataclass(frozen=True, slots=True)
class Declared:
    """Objects that say which pods are one group, by their keys."""

    pod_groups: Mapping[str, FloorGroup] = field(default_factory=dict)
    others: Mapping[type[Object], Mapping[str, Object]] = field(default_factory=dict)
    """By their kinds."""

    def settled(self, member: FloorMember) -> Settled:
        """Which group a pod is in, as the scheduler has it."""
        return settle(member.said, self, _POLICY.workloads, waits=True)

    def find(self, kind: type[T], key: str, uid: str = "") -> T | None:
        table: Mapping[str, Object] = self.pod_groups if kind is PodGroup else self.others.get(kind, {})
        found = table.get(key)
        if not isinstance(found, kind) or (uid and found.metadata.uid not in ("", uid)):
            return None
        return found

    def unused(self, group: FloorGroup) -> bool:
        """Whether the pods that a PodGroup was made for are one group by their Job."""
        owner = controller_of(group.metadata)
        if owner is None or kind_of(owner) != BATCH_JOB.title:
            return False
        job = self.find(Job, f"{group.metadata.namespace}/{owner.name}", owner.uid)
        if job is None or job.spec.scheduling is not None:
            return False
        found = group_of_template(job, self, _POLICY.workloads)
        return found is not None and found.source != POD_GROUP


def floor_of(
    tables: Iterable[FloorNode],
    members: Iterable[FloorMember],
    declared: Declared,
    decided: FloorVerdicts,
    claimable: ClaimableByNode = NO_CLAIMABLE,
) -> ClusterFloor:
    """`claimable`: the devices of each node that claims are for."""
    tables, members = sorted(tables, key=lambda table: table.name), list(members)
    places = Places(tables)
    found = tuple(rows(members, declared, places, decided))
    return ClusterFloor(tuple(racks(tables, members, places, claimable)), found)


class Places:
    """Which labels of these nodes say in which block and rack they are: those that are called like it."""

    def __init__(self, tables: Sequence[FloorNode]) -> None:
        keys = sorted({key for table in tables for key in table.labels})
        self._wide = first_called(WIDE_LEVELS, keys)
        self._narrow = first_called(NARROW_LEVELS, keys)
        self._of = {table.name: self.of(table) for table in tables}

    def of(self, table: FloorNode) -> tuple[str, str]:
        """Block and rack; empty where there is none."""
        return table.labels.get(self._wide, ""), table.labels.get(self._narrow, "")

    def shortest(self, node: str) -> str:
        """The rack of a node, or else the node."""
        return self._of.get(node, ("", ""))[1] or node


def first_called(names: Iterable[str], keys: Sequence[str]) -> str:
    """The first label of such a name. What a sandbox has marked itself goes before what it has taken over."""
    keys = sorted(keys, key=lambda key: not key.startswith(SANDBOX))
    return next((key for name in names for key in keys if key.rpartition("/")[2] == name), "")


# -- nodes -------------------------------------------------------------------------------------------------


def racks(
    tables: Sequence[FloorNode],
    members: Iterable[FloorMember],
    places: Places,
    claimable: ClaimableByNode = NO_CLAIMABLE,
) -> Iterator[Rack]:
    taken: dict[str, Counter[str]] = {}
    for member in members:
        if member.node and member.standing in ("seated", "leaving"):
            taken.setdefault(member.node, Counter()).update(member.needs)
    by_place = sorted(tables, key=lambda table: [natural(name) for name in (*places.of(table), table.name)])
    for (block, rack), inside in groupby(by_place, key=places.of):
        yield Rack(
            block,
            rack,
            tuple(
                spot(table, taken.get(table.name, Counter()), claimable.get(table.name, {}))
                for table in inside
            ),
        )


def spot(table: FloorNode, taken: Counter[str], claimable: Mapping[DeviceKind, Tally]) -> Spot:
    """Devices of the driver that has most of them count on a node whose device plugins offer none."""
    if table.resource == CPU and claimable:
        drivers = dict[str, Tally]()
        for kind, tally in claimable.items():
            drivers[kind.driver] = drivers.get(kind.driver, Tally()).plus(tally)
        driver = min(drivers, key=lambda name: (-drivers[name].total, name))
        found = drivers[driver]
        cause: Cause | None = "Unhealthy" if found.tainted else None
        return Spot(table.name, table.openness, driver, found.free, found.total, found.tainted, cause)
    free = max(table.total - table.unwell - taken[table.resource], 0)
    return Spot(table.name, table.openness, table.resource, free, table.total, table.unwell, table.cause)


def natural(name: str) -> list[tuple[int, str]]:
    """r2 before r10."""
    return [(int(digits or 0), word) for word, digits in _PARTS.findall(name)]


# -- groups ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class FloorCrew:
    """The members of a group, and what says that they are one."""

    pod_group: FloorGroup | None = None
    members: list[FloorMember] = field(default_factory=list)
    settled: list[Settled] = field(default_factory=list)

    @property
    def lone(self) -> bool:
        """One pod that is of no group."""
        return self.pod_group is None and all(found.id is None for found in self.settled)

    def is_by(self, source: str) -> bool:
        return any(found.id is not None and found.id.source == source for found in self.settled)

    def quorum(self) -> int:
        if self.pod_group is not None:
            return group_from_pod_group(self.pod_group).quorum
        found = self.settled[0]
        if found.id is None:
            return 1
        there = sum(member.standing not in ("leaving", "failed") for member in self.members)
        return group_of(found.id, [one.marks for one in self.settled], found.group, there).quorum


def rows(
    members: Iterable[FloorMember], declared: Declared, places: Places, decided: FloorVerdicts
) -> Iterator[FloorRow]:
    groups = dict[str, FloorCrew]()
    for member in members:
        settled = declared.settled(member)
        crew = groups.setdefault(member.key if settled.id is None else settled.id.key, FloorCrew())
        crew.members.append(member)
        crew.settled.append(settled)
    for key, pod_group in declared.pod_groups.items():
        crew = groups.get(key) or FloorCrew()
        if crew.is_by(POD_GROUP) or not (crew.members or declared.unused(pod_group)):
            groups[key] = crew
            crew.pod_group = pod_group
    for key in sorted(groups):
        yield row(key, groups[key], places, decided)


def row(key: str, crew: FloorCrew, places: Places, decided: FloorVerdicts) -> FloorRow:
    """Members that leave or have failed are not counted."""
    everyone, pod_group = crew.members, crew.pod_group
    staying = [member for member in everyone if member.standing not in ("leaving", "failed")]
    placed = [member for member in staying if member.standing != "waiting"]
    quorum = crew.quorum()
    verdict, why = (
        outcome_of_ended(everyone, staying, placed, quorum, pod_group)
        or outcome_decided(decided.verdict(key), placed, quorum)
        or outcome_elsewhere(crew, staying, placed, quorum, decided)
    )
    seated = [member for member in placed if member.standing == "seated"]
    where = Counter(places.shortest(member.node) for member in seated)
    return FloorRow(
        group=key,
        verdict=verdict,
        members=len(staying),
        quorum=quorum,
        placed=len(placed),
        where={place: where[place] for place in sorted(where, key=natural)},
        since=since(verdict, everyone, seated, pod_group),
        why=why,
        lone=crew.lone,
    )


def outcome_of_ended(
    everyone: Sequence[FloorMember],
    staying: Sequence[FloorMember],
    placed: Sequence[FloorMember],
    quorum: int,
    pod_group: FloorGroup | None,
) -> tuple[Outcome, str] | None:
    """How a group stands whose pods have all ended, or leave, and why."""
    failed = sum(member.standing == "failed" for member in everyone)
    if everyone and all(member.standing in ("succeeded", "failed") for member in everyone):
        if quorum <= 1 or len(placed) >= quorum:
            return "Finished", f"{counted(failed, 'member')} failed" if failed else ""
        if not failed:
            gone = f"{len(placed)} of the {quorum} needed members succeeded; the others are gone"
            return "Finished", gone
        return "Waiting", f"Members: {counted(failed, 'member')} failed and not replaced yet"
    return ("Finished", "leaving") if everyone and not staying and pod_group is None else None


def outcome_decided(
    verdict: GroupVerdict | None, placed: Sequence[FloorMember], quorum: int
) -> tuple[Outcome, str] | None:
    """What the verdict says, while it is one of the group as it is now: places that were decided just now are
    not taken yet, and a group whose quorum is placed is scheduled, whatever the rest waits for."""
    if verdict is None or not verdict.blockers:
        return None
    why = blocker_words(as_told_at_home(verdict).blockers[0])
    if len(placed) >= quorum:
        return "Scheduled", why
    return None if verdict.verdict == "Scheduled" else (verdict.verdict, why)


def outcome_elsewhere(
    crew: FloorCrew,
    staying: Sequence[FloorMember],
    placed: Sequence[FloorMember],
    quorum: int,
    decided: FloorVerdicts,
) -> tuple[Outcome, str]:
    """How a group stands that has no verdict: in the words of another scheduler, if it is that one's."""
    words = next((member.words for member in staying if member.words and decided.is_theirs(member)), "")
    if len(placed) >= quorum:
        return "Scheduled", words
    if not words and staying and crew.pod_group is None and crew.is_by(POD_GROUP):
        return "Waiting", "Members: the PodGroup that its pods name does not exist"
    if not words and len(staying) < quorum:
        verb = "exists" if len(staying) == 1 else "exist"
        return "Waiting", f"Members: {len(staying)} of the {quorum} needed members {verb}"
    if not words and crew.pod_group is not None and all(decided.is_theirs(member) for member in staying):
        said = (one.message for one in crew.pod_group.status.conditions if one.status == "False")
        words = next(said, "")
    return "Waiting", words or UNDECIDED


def since(
    verdict: str, everyone: Iterable[FloorMember], seated: Iterable[FloorMember], pod_group: FloorGroup | None
) -> Timestamp | None:
    """From when on it stands as it does: seated when the last was, waiting from the beginning."""
    if verdict == "Scheduled":
        return max((member.seated for member in seated if member.seated), default=None)
    created = [member.created for member in everyone if member.created]
    if pod_group is not None and pod_group.metadata.creation_timestamp is not None:
        created.append(pod_group.metadata.creation_timestamp)
    return None if verdict == "Finished" else min(created, default=None)
