"""The nodes of a run and their devices: which of them are broken, and who sits where."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import msgspec

from maitred.cluster.nodes import NodeTable
from maitred.decide.levels import key_of_level
from maitred.model.node import LEMON_EFFECT, Node, Taint, allocatable
from maitred.model.plan import NodeTaint
from maitred.model.policy import Level, Policy, grace_limit, is_device
from maitred.model.reports import SaidCondition
from maitred.simulate.clock import LONGEST, SECOND, Time, moment
from maitred.simulate.group import Phase, SimulatedGroup
from maitred.simulate.jobs import WHOLE
from maitred.simulate.results import FloorPlan, FloorPlanNode

SeatedMember = tuple[SimulatedGroup, int]
"""A member of a group, by its number."""


@dataclass(slots=True)
class SimulatedNode:
    """A node in a run."""

    node: Node
    """As it is when all is well."""
    devices: dict[str, int]
    down: int = 0
    """Faults of the whole node that are not repaired yet."""
    noticed: bool = True
    """Whether the cluster has noticed that it is down,"""
    noticed_at: Time | None = None
    """and when. None: at once."""
    broken: int = 0
    """Devices out of order."""
    silent: list[float] = field(default_factory=list)
    """Devices out of order of which nobody knows. They count as well: those who use them work for a while."""
    held: int = 0
    """Thousandths of devices that members take, in all."""
    sitters: dict[SeatedMember, int] = field(default_factory=dict)
    """Members and what each takes of the devices, in the order in which they came."""
    taint: Taint | None = None
    """That it has as a lemon."""
    shares: dict[SeatedMember, int] = field(default_factory=dict)
    """Of members who take a share of a device: which."""

    @property
    def total(self) -> int:
        return sum(self.devices.values())

    @property
    def broken_load(self) -> int:
        """Thousandths of devices that nobody can use for now."""
        return (self.total if self.down else min(self.broken, self.total)) * WHOLE

    @property
    def overlap(self) -> int:
        """What is out of order and still held, by the dead."""
        if not (self.down or self.broken):
            return 0
        return max(0, self.held + self.broken_load - self.total * WHOLE)

    def reserved(self, promised: int) -> int:
        """What is free of the devices and yet kept, where so much is promised to those who are to come. The
        devices of those who leave will be there for them too."""
        free = self.total * WHOLE - self.broken_load - sum(self.sitters.values())
        left = sum(load for (group, member), load in self.sitters.items() if member in group.leaving)
        return max(0, min(free, promised - left))

    def users(self) -> Iterator[tuple[list[SeatedMember], int]]:
        """Who breaks down together when a device does, and what they keep from others of the devices."""
        together: dict[SeatedMember | int, list[SeatedMember]] = {}
        for sitter in self.sitters:
            together.setdefault(self.shares.get(sitter, sitter), []).append(sitter)
        for device, sitters in together.items():
            yield sitters, WHOLE if isinstance(device, int) else self.sitters[device]

    def users_of(self, which: float, working: int) -> list[SeatedMember]:
        """Who uses one of so many devices that work. Those of the dead are nobody's."""
        position = which * working * WHOLE
        for users, load in self.users():
            if any(member not in group.dead for group, member in users):
                position -= load
                if position < 0 < load:
                    return users
        return []

    def as_it_is(self) -> Node:
        node = self.node
        if self.taint is not None:
            spec = msgspec.structs.replace(node.spec, taints=(*node.spec.taints, self.taint))
            node = msgspec.structs.replace(node, spec=spec)
        if self.down and self.noticed:
            return msgspec.structs.replace(
                node,
                status=msgspec.structs.replace(node.status, conditions=(self._not_ready(),)),
            )
        if not self.broken:
            return node
        left, resources = self.broken, dict(node.status.allocatable or node.status.capacity)
        for resource, count in self.devices.items():
            gone = min(left, count)
            resources[resource], left = count - gone, left - gone
        capacity = node.status.capacity or node.status.allocatable
        status = msgspec.structs.replace(node.status, allocatable=resources, capacity=capacity)
        return msgspec.structs.replace(node, status=status)

    def _not_ready(self) -> SaidCondition:
        since = None if self.noticed_at is None else moment(self.noticed_at)
        return SaidCondition("Ready", "Unknown", last_transition_time=since)


class SimulatedNodes:
    def __init__(self, nodes: Sequence[Node], policy: Policy, levels: Sequence[Level]) -> None:
        self.places = {node.metadata.name: SimulatedNode(node, devices_of(node, policy)) for node in nodes}
        self.total = sum(place.total for place in self.places.values()) * WHOLE
        self.broken = 0
        """Thousandths of devices that nobody can use for now."""
        self.overlap = 0
        """Of those, what is held by the dead."""
        self.silent: dict[str, None] = {}
        """Nodes with broken devices of which nobody knows."""
        self._levels = levels
        self._named = policy.topology.levels
        limit = grace_limit(policy)
        self.longest_grace: Time = LONGEST if limit is None else limit * SECOND
        """For how long those who are evicted may hold their devices, whatever grace they have."""
        table = NodeTable()
        for node in nodes:
            table.put(node)
        self.nodes = table.view()
        """All nodes as they are when all is well."""

    def sit(self, group: SimulatedGroup, member: int, node: str, shared: int | None = None) -> None:
        """`shared` is the device of which it takes a share."""
        group.seats[member] = node
        group.sitting += 1
        place = self.places[node]
        place.sitters[group, member] = load = group.job.crew_of[member].load
        self._hold(place, load)
        if shared is not None:
            place.shares[group, member] = shared

    def stand(self, group: SimulatedGroup, member: int) -> None:
        place = self.places[group.seats[member]]
        self._hold(place, -place.sitters.pop((group, member)))
        place.shares.pop((group, member), None)
        group.seats[member] = ""
        group.dead.discard(member)
        group.crashed.pop(member, None)
        if group.leaving.pop(member, None) is None:
            group.sitting -= 1

    def keeps_together(self, group: SimulatedGroup) -> bool:
        """Whether all who sit are in one domain of the level that the group requires, if it requires any."""
        if not group.job.within:
            return True
        key = key_of_level(group.job.within, self._named)
        nodes = {group.seats[member] for member in group.sitters()}
        labels = [self.places[node].node.metadata.labels.get(key) for node in nodes]
        return len(set(labels)) == 1

    def reserved(self, groups: Iterable[SimulatedGroup]) -> int:
        """Thousandths of devices that are free and kept for these, who wait until others have left."""
        promised: dict[str, int] = {}
        for group in groups:
            for member, node in group.nominated.items():
                promised[node] = promised.get(node, 0) + group.job.crew_of[member].load
        return sum(self.places[node].reserved(load) for node, load in promised.items())

    def spare(self, names: Iterable[str]) -> int:
        """Thousandths of devices that are free on these nodes."""
        places = (self.places[name] for name in names)
        return sum(max(0, place.total * WHOLE - place.broken_load - place.held) for place in places)

    # -- faults ----------------------------------------------------------------------------------------

    def taint(self, wanted: NodeTaint) -> None:
        taint = Taint(wanted.key, LEMON_EFFECT, wanted.value) if wanted.add else None
        self.places[wanted.node].taint = taint

    def take_down(self, name: str, noticed: bool = True) -> list[SeatedMember]:
        """A node breaks, and the cluster knows it. Those who sat there."""
        place = self.places[name]
        place.noticed = noticed or (place.noticed and place.down > 0)
        self._change(place, down=1)
        return list(place.sitters)

    def notice(self, name: str, now: Time) -> bool:
        """The cluster notices that a node is down. False: it knew."""
        place = self.places[name]
        if place.noticed:
            return False
        place.noticed, place.noticed_at = True, now
        return True

    def bring_up(self, name: str) -> None:
        self._change(self.places[name], down=-1)

    def break_device(self, name: str, which: float) -> list[SeatedMember]:
        """One of the devices of a node that still work breaks. Those who used it."""
        place = self.places[name]
        working = place.total - place.broken
        self._change(place, broken=1)
        return place.users_of(which, working)

    def break_unnoticed(self, name: str, which: float) -> list[SeatedMember]:
        """The same, and nobody knows of the device."""
        place = self.places[name]
        place.silent.append(which)
        self.silent[name] = None
        return place.users_of(which, place.total - place.broken)

    def mend_unnoticed(self, name: str, which: float) -> None:
        place = self.places[name]
        place.silent.remove(which)
        if not place.silent:
            del self.silent[name]

    def is_on_broken_device(self, group: SimulatedGroup, member: int) -> bool:
        """Whether it works, for a while, with a device that is out of order and that nothing reports."""
        place = self.places[group.seats[member]]
        working = place.total - place.broken
        return any((group, member) in place.users_of(which, working) for which in place.silent)

    def mend_device(self, name: str) -> None:
        self._change(self.places[name], broken=-1)

    def _hold(self, place: SimulatedNode, load: int) -> None:
        self.overlap -= place.overlap
        place.held += load
        self.overlap += place.overlap

    def _change(self, place: SimulatedNode, down: int = 0, broken: int = 0) -> None:
        self.broken -= place.broken_load
        self.overlap -= place.overlap
        place.down += down
        place.broken += broken
        self.broken += place.broken_load
        self.overlap += place.overlap

    # -- a picture -------------------------------------------------------------------------------------

    def plan(self, now: Time, waiting: Iterable[SimulatedGroup]) -> FloorPlan:
        sitting = {group for place in self.places.values() for group, _ in place.sitters}
        incomplete = sorted(group.name for group in sitting if group.phase == Phase.INCOMPLETE)
        return FloorPlan(
            time=now / SECOND,
            tables=tuple(self._table(place) for place in self.places.values()),
            incomplete=tuple(incomplete),
            waiting=tuple(sorted(group.name for group in waiting)),
        )

    def _table(self, place: SimulatedNode) -> FloorPlanNode:
        labels = place.node.metadata.labels
        block, rack = ["", "", *(labels.get(level.key, "") for level in self._levels)][-2:]
        seats: dict[str, int] = {}
        for (group, _), load in place.sitters.items():
            seats[group.name] = seats.get(group.name, 0) + load
        return FloorPlanNode(
            node=place.node.metadata.name,
            block=block,
            rack=rack,
            devices=place.total,
            broken=place.broken_load // WHOLE,
            seats=tuple((name, load / WHOLE) for name, load in seats.items() if load),
        )


def devices_of(node: Node, policy: Policy) -> dict[str, int]:
    return {name: count for name, count in allocatable(node).items() if is_device(policy, name)}
