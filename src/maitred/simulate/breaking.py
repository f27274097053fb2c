"""What faults do to those who sit there, when the cluster learns of it, and what owners do then."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from maitred.simulate.clock import Time
from maitred.simulate.event_kinds import EventKind
from maitred.simulate.events import Handler
from maitred.simulate.faults import Breakdown, Breakdowns, Reaction
from maitred.simulate.group import Crash, SimulatedGroup
from maitred.simulate.nodes import SeatedMember

if TYPE_CHECKING:
    from maitred.simulate.loop import Simulation

Hit = dict[SimulatedGroup, list[int]]
"""Members, by group."""
Birth = tuple[SimulatedGroup, int, int]
"""A member as it was when created so many times."""


class Breaking:
    def __init__(self, loop: "Simulation", faults: Breakdowns, reaction: Reaction | None) -> None:
        self._loop, self._faults, self._reaction = loop, faults, reaction

    @property
    def handlers(self) -> Mapping[EventKind, Handler]:
        known: dict[EventKind, Handler] = {EventKind.FAULT: self._fault, EventKind.REPAIR: self._repair}
        if self._reaction is None:
            return known
        return known | {
            EventKind.NOTICE: self._notice,
            EventKind.TAINT_EVICTION: self._evict,
            EventKind.RETRY: self._retry,
            EventKind.RELAPSE: self._relapse,
        }

    def is_due(self, kind: IntEnum, what: Any) -> bool:
        if kind == EventKind.RETRY:
            group, member, birth = what
            return bool(member in group.dead and group.births[member] == birth)
        if kind == EventKind.RELAPSE:
            group, round_, member = what
            return bool(group.runs and group.round == round_ and member in group.ready)
        return True

    def expect_next_fault(self) -> None:
        fault = next(self._faults, None)
        if fault is not None:
            self._loop.expect(fault.time, EventKind.FAULT, fault)

    def _fault(self, fault: Breakdown) -> None:
        if self._reaction is None:
            self._known_at_once(fault)
        elif fault.process:
            self._end(self._sitters(fault.nodes), by_device=False)
        elif fault.device is not None:
            self._break_device(fault, fault.device)
        else:
            self._take_down(fault, self._reaction)
        self._loop.expect(fault.repaired, EventKind.REPAIR, fault)
        self.expect_next_fault()

    def _repair(self, fault: Breakdown) -> None:
        floor = self._loop.floor
        if self._reaction is not None and fault.process:
            return
        for node in fault.nodes:
            if fault.device is None:
                floor.bring_up(node)
                self._revive(node)
            elif fault.silent and self._reaction is not None:
                floor.mend_unnoticed(node, fault.device)
            else:
                floor.mend_device(node)
        self._nodes_changed(fault.nodes)

    def _nodes_changed(self, nodes: Iterable[str]) -> None:
        for node in nodes:
            self._loop.seater.node_changed(self._loop.floor.places[node].as_it_is())
        self._loop.ask_for_cycle()

    # -- where all is known at once ------------------------------------------------------------------------

    def _known_at_once(self, fault: Breakdown) -> None:
        for group, members in by_group(self._break(fault)).items():
            leaving = [member for member in members if member in group.leaving]
            self._loop.send_away(group, leaving)
            self._fail(group, [member for member in members if member not in leaving])
        self._nodes_changed(fault.nodes)

    def _break(self, fault: Breakdown) -> Iterator[SeatedMember]:
        floor = self._loop.floor
        for node in fault.nodes:
            yield from (
                floor.take_down(node) if fault.device is None else floor.break_device(node, fault.device)
            )

    def _fail(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        if members:
            self._count(group)
            self._loop.stop(group, "lostToFailure")
            self._loop.send_away(group, members)

    def _count(self, group: SimulatedGroup) -> None:
        group.failures += 1
        self._loop.books.failures += 1

    # -- where the cluster reacts --------------------------------------------------------------------------

    def _take_down(self, fault: Breakdown, reaction: Reaction) -> None:
        """Whoever sits there is dead, and the kubelet, who could say so, is too."""
        dead = [sitter for node in fault.nodes for sitter in self._loop.floor.take_down(node, noticed=False)]
        for group, members in by_group(dead).items():
            self._die(group, members)
        self._expect_before_repair(fault, reaction.detection, EventKind.NOTICE)

    def _expect_before_repair(self, fault: Breakdown, delay: Time, kind: EventKind) -> None:
        if self._loop.now + delay < fault.repaired:
            self._loop.expect(self._loop.now + delay, kind, fault)

    def _notice(self, fault: Breakdown) -> None:
        assert self._reaction is not None
        self._nodes_changed([node for node in fault.nodes if self._loop.floor.notice(node, self._loop.now)])
        self._expect_before_repair(fault, self._reaction.eviction, EventKind.TAINT_EVICTION)

    def _evict(self, fault: Breakdown) -> None:
        """Their owners create them anew."""
        for group, members in by_group(self._sitters(fault.nodes)).items():
            self._loop.send_away(group, [member for member in members if member in group.dead])

    def _break_device(self, fault: Breakdown, which: float) -> None:
        floor, (node,) = self._loop.floor, fault.nodes
        if fault.silent:
            self._end(floor.break_unnoticed(node, which), by_device=False)
        else:
            self._end(floor.break_device(node, which), by_device=True)
            self._nodes_changed(fault.nodes)

    def _end(self, sitters: Iterable[SeatedMember], by_device: bool) -> None:
        """Their processes come to an end. That is seen at once, and their owners create them anew soon."""
        crash = Crash(self._loop.now, by_device)
        for group, members in by_group(sitters).items():
            dying = self._die(group, members, crash)
            self._expect_retry((group, member) for member in dying)

    def _expect_retry(self, sitters: Iterable[SeatedMember]) -> None:
        assert self._reaction is not None
        for group, member in sitters:
            birth = group.births[member]
            self._loop.expect(self._loop.now + self._reaction.retry, EventKind.RETRY, (group, member, birth))

    def _die(
        self, group: SimulatedGroup, members: Sequence[int], crash: Crash | None = None
    ) -> Sequence[int]:
        """Those who lived until now. They hold their seats; who was about to leave is gone."""
        self._loop.send_away(group, [member for member in members if member in group.leaving])
        dying = [member for member in members if group.seats[member] and member not in group.dead]
        if dying:
            self._count(group)
            self._loop.stop(group, "lostToFailure")
            group.dead.update(dying)
            if crash is not None:
                group.crashed.update(dict.fromkeys(dying, crash))
            self._loop.regroup(group)
            self._begun_anew(group)
        return dying

    def _retry(self, what: Birth) -> None:
        group, member, _ = what
        self._loop.send_away(group, [member])

    def _relapse(self, what: tuple[SimulatedGroup, int, int]) -> None:
        group, _, member = what
        if self._loop.floor.is_on_broken_device(group, member):
            self._end([(group, member)], by_device=False)

    def _revive(self, node: str) -> None:
        """Kubelets start again whatever is still bound to a node that comes back, if there is room for it."""
        place = self._loop.floor.places[node]
        if place.down:
            return
        dead = [(group, member) for group, member in place.sitters if member in group.dead]
        if place.overlap:
            self._expect_retry(dead)
            return
        for group, members in by_group(dead).items():
            group.dead.difference_update(members)
            for member in members:
                group.crashed.pop(member, None)
            if group.runs:
                self._loop.start(group, members)
            else:
                self._loop.regroup(group)
            self._begun_anew(group)

    def _begun_anew(self, group: SimulatedGroup) -> None:
        """Where its members are, but for those who have ended."""
        self._loop.seater.changed(group, group.seated())
        self._loop.books.note(group, self._loop.now)

    def _sitters(self, nodes: Iterable[str]) -> list[SeatedMember]:
        return [sitter for node in nodes for sitter in self._loop.floor.places[node].sitters]

    def heal(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        """They are told to leave. Whoever of them still works, by then, does so no longer."""
        if any(member not in group.dead for member in members):
            self._loop.stop(group, "lostToFailure")
        self._loop.send_away(group, members)

    # -- what others do meanwhile --------------------------------------------------------------------------

    def seated(self, group: SimulatedGroup, members: Iterable[int]) -> None:
        """Members may be seated on a node of which nobody knows that it is down."""
        group.dead.update(member for member in members if self._loop.floor.places[group.seats[member]].down)

    def begun(self, group: SimulatedGroup, members: Iterable[int]) -> None:
        """Members may have begun to work with a device of which nobody knows that it is broken."""
        floor = self._loop.floor
        if self._reaction is None or not floor.silent:
            return
        for member in members:
            if group.seats[member] in floor.silent and floor.is_on_broken_device(group, member):
                what = (group, group.round, member)
                self._loop.expect(self._loop.now + self._reaction.relapse, EventKind.RELAPSE, what)


def by_group(sitters: Iterable[SeatedMember]) -> Hit:
    """All of them are looked at before anything is done about the first."""
    hit: Hit = {}
    for group, member in sitters:
        hit.setdefault(group, []).append(member)
    return hit
