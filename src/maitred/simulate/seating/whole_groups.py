"""Whole groups, as maitred seats them: `decide` on a cluster state, told of the run event by event."""

import heapq
from collections import Counter
from collections.abc import Container, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice, repeat
from operator import attrgetter, itemgetter

import msgspec

from maitred.cluster.nodes import Ints
from maitred.cluster.state import ClusterState, Delete, Put
from maitred.decide import Scope
from maitred.decide.agenda import Turn, first_turn
from maitred.decide.cycle import run
from maitred.decide.holding import waiting
from maitred.decide.record import CycleRecord
from maitred.decide.verdicts import Verdicts
from maitred.model.group import PodGroup
from maitred.model.holding import HOLDS, HoldMemory, WaitingHold
from maitred.model.memory import CONTENT, HOME, MEMORY, HealthMemory, MemoryObject
from maitred.model.meta import ObjectMeta
from maitred.model.node import Node
from maitred.model.plan import GroupVerdict, Plan
from maitred.model.pod import Pod
from maitred.model.policy import Policy, preempts
from maitred.model.spending import BUDGETS
from maitred.simulate.clock import SECOND, Time, moment, time_of
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.seating.arrangement import Arrangement, member_of
from maitred.simulate.seating.held_by_priority import HeldByPriority
from maitred.simulate.seating.objects import group_key, is_lone, pod, pod_group, pod_key
from maitred.simulate.seating.orders import measure_of
from maitred.simulate.seating.quick_fit import QuickFit
from maitred.simulate.seating.same_requests import UNKNOWN, SameRequests, WaitingTurn, kin_key, passed
from maitred.simulate.seating.seater import LostMembers, Moves, Removal, SeatAssignment

SOLVABLE = ("Scheduled", "Waiting", "Preempting")
"""Other verdicts are final, unless devices are broken: they will be mended, which `decide` does not know."""
SOON = SECOND
"""Where a Plan says to look again at a time that has passed, in its own rounding."""
TURN = attrgetter("turn")
LOOKED_AT = 4
"""Kins at a time. Most of the time there is room for one more group, and the others look in vain."""


@dataclass(slots=True)
class WaitingGroup:
    """A group of which members want seats."""

    key: Hashable
    kin: SameRequests
    waiter: WaitingTurn
    clock: Counter[str]
    """What the clock of its kin showed when it joined."""
    lacks_quorum: bool
    """Surplus that stands does not make a group wait."""


class WholeGroups:
    looked_at: float = LOOKED_AT

    def __init__(self, nodes: Iterable[Node], policy: Policy, heals: bool = False) -> None:
        """`heals`: who is lost is told to leave, room is kept for those who come then, and what failed
        is remembered."""
        self.policy = policy
        self._heals = heals
        self._hurt = False
        """Whether anything failed, or was mended, since that was last looked at."""
        self.remembered: MemoryObject | None = None
        """What the last Plan was told of earlier failures,"""
        self._memory: MemoryObject | None = None
        """and what the next one will be."""
        self._incidents = False
        """Whether anyone is being healed."""
        self.spares = frozenset[str]()
        """As they were found when it was last looked at."""
        self.state = ClusterState()
        self._well = {node.metadata.name: node for node in nodes}
        self._unwell: set[str] = set()
        for node in self._well.values():
            self.state.apply(Put(node))
        self._now: Time = 0
        self._measure = measure_of(policy.order)
        self._kins: dict[Hashable, SameRequests] = {}
        self._standing: dict[SimulatedGroup, WaitingGroup] = {}
        self._waited: dict[SimulatedGroup, Counter[str]] = {}
        """Of groups that have left their kin: what was in the way while they were there."""
        self._known: dict[str, SimulatedGroup] = {}
        """Groups whose pods the state has, by group. Those far back in a queue are left out of it."""
        self.amounts = QuickFit(policy)
        self._held_by_priority = HeldByPriority(self.amounts)
        self._preempts = preempts(policy)
        self._room_made = False
        """Whether anything became free since everyone was last looked at."""
        self._promised: dict[SimulatedGroup, None] = {}
        """Groups for whom places are kept."""
        self._leaving = 0
        """How many have been sent away and still have their seats."""
        self._elastic = 0
        """How many of those who want seats could do with fewer than they want."""
        self._holds = policy.holds.depth > 0
        self._line_changed = False
        """Whether others than before may be first in line, for whom places are held."""
        self._in_line = Counter[SameRequests]()
        """How many of each kin these are, where it is asked about them."""
        self._end_of_line: Turn | None = None
        """The turn of the last of them; None if all who wait are in line."""
        self._held: Mapping[str, WaitingHold] = {}
        """What is held for groups, as it was last decided."""
        self._wake: Time | None = None
        """When time alone could open the way for someone."""

    # -- what happens ----------------------------------------------------------------------------------

    def node_changed(self, node: Node) -> None:
        self.state.apply(Put(node))
        self._room_made = self._hurt = True
        if node == self._well[node.metadata.name]:
            self._unwell.discard(node.metadata.name)
        else:
            self._unwell.add(node.metadata.name)

    def wants(self, group: SimulatedGroup, now: Time) -> None:
        self._join_kin(group, now)
        if group_key(group.job) in self._known:
            self._put_pods(group, range(group.job.members))

    def seated(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        self._leave_kin(group, self._now)
        self._put_pods(group, members)
        self._held_by_priority.changed(group)
        if group.standing():
            self._join_kin(group, self._now)
        self._note_places_taken()
        self._hurt |= self._incidents

    def changed(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        self._put_pods(group, members)
        self._hurt = True

    def leaving(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        self._leaving += len(members)
        self._held_by_priority.changed(group)
        self._put_pods(group, range(group.job.members))
        if not group.sitting:
            self._leave_kin(group, self._now)

    def unseated(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        self._leaving -= len(group.leaving.keys() & set(members))
        self._delete_pods(group, members)
        self._held_by_priority.changed(group)
        self._room_made = True

    def leaves(self, group: SimulatedGroup) -> None:
        self._room_made |= group in self._promised or group_key(group.job) in self._held
        self._leave_kin(group, self._now)
        self._waited.pop(group, None)
        if self._known.pop(group_key(group.job), None) is not None:
            self._delete_pods(group, group.standing())
            if not is_lone(group.job):
                self.state.apply(Delete(PodGroup, group_key(group.job)))

    def _put_pods(self, group: SimulatedGroup, members: Iterable[int]) -> None:
        for member in members:
            self.state.apply(Put(pod(group, member)))

    def _delete_pods(self, group: SimulatedGroup, members: Iterable[int]) -> None:
        for member in members:
            self.state.apply(Delete(Pod, pod_key(group.job, member)))

    def _join_kin(self, group: SimulatedGroup, now: Time) -> None:
        before = self._standing.get(group)
        self._leave_kin(group, now)
        key = self._kin_key(group)
        kin = self._kins.setdefault(
            key, SameRequests(now, before.kin if before and group.nominated else None)
        )
        waiter = WaitingTurn(self._turn(group, now), group)
        kin.add(waiter)
        kin.open |= self._holds and waiter in kin.quickest
        self._line_changed |= self._end_of_line is None or waiter.turn < self._end_of_line
        self._standing[group] = WaitingGroup(key, kin, waiter, kin.read_clock(now), not group.has_quorum)
        self._elastic += group.job.is_elastic
        if group.nominated:
            self._promised[group] = None
            self._note_places_taken()

    def _note_places_taken(self) -> None:
        """It may have been from those for whom they were kept, or who waited for others to leave."""
        self._room_made |= bool(self._promised or self._leaving)

    def _kin_key(self, group: SimulatedGroup) -> Hashable:
        return kin_key(group)

    def _leave_kin(self, group: SimulatedGroup, now: Time) -> None:
        self._promised.pop(group, None)
        standing = self._standing.pop(group, None)
        if standing is None:
            return
        kin, turn = standing.kin, standing.waiter.turn
        self._line_changed |= self._end_of_line is not None and turn <= self._end_of_line
        self._elastic -= group.job.is_elastic
        if standing.lacks_quorum:
            self._waited.setdefault(group, Counter()).update(passed(standing.clock, kin.read_clock(now)))
        kin.remove(standing.waiter)
        if not kin.waiters:
            del self._kins[standing.key]

    # -- what is asked ---------------------------------------------------------------------------------

    def waited(self, group: SimulatedGroup, since: Time, now: Time) -> Mapping[str, Time]:
        found = self._waited.pop(group, Counter())
        standing = self._standing.get(group)
        if standing is not None and standing.lacks_quorum:
            shown = standing.kin.read_clock(now)
            found.update(passed(standing.clock, shown))
            standing.clock = shown
        return found

    def why(self, group: SimulatedGroup) -> str:
        standing = self._standing.get(group)
        return standing.kin.words if standing is not None else ""

    def next_look(self, now: Time) -> Time | None:
        return self._wake

    def cycle(self, now: Time) -> Moves:
        self._now = now
        if self._wake is not None and self._wake <= now:
            self._wake, self._room_made, self._hurt = None, True, True
        if self._heals and self._hurt:
            self._hurt = False
            plan = self._decide((), now)
            losses = self._losses(plan)
            if losses or plan.taints:
                return Moves(losses=losses, taints=plan.taints)
        if self._room_made:
            self._room_made = False
            self._line_changed = True
            for kin in self._kins.values():
                kin.open = True
        while heads := self._with_line(self._with_promised(self._heads(now))):
            waiters = [waiter for kin in heads for waiter in self._asked(kin)]
            explained = {kin.first.turn.key for kin in heads if self._needs_diagnosis(kin, now)}
            moves = self._moves(heads, self._decide(waiters, now, explained), explained)
            if moves:
                return moves
        return Moves()

    def _needs_diagnosis(self, kin: SameRequests, now: Time) -> bool:
        return kin.needs_diagnosis(now) or (kin.hopeless and not self._unwell)

    def _asked(self, kin: SameRequests) -> Sequence[WaitingTurn]:
        """The first speaks for all, but where some could do with fewer: a surplus comes after all quorums, so
        everyone must be looked at together. Or where places are held for others: then who ends sooner may sit
        where the first cannot, and those who are first in line are to have holds themselves."""
        if self._elastic:
            return kin.waiters
        if not self._holds:
            return kin.waiters[:1]
        in_line = kin.waiters[: self._in_line[kin]]
        return in_line + [waiter for waiter in kin.quickest if waiter not in in_line]

    def _heads(self, now: Time) -> list[SameRequests]:
        """Kins whose first may be seated, or of whom nobody knows lately what is in the way; a few of them,
        since those behind would have to be looked at again once they sit."""
        free: Ints | None = None
        heads: list[SameRequests] = []
        for kin in sorted(self._kins.values(), key=lambda kin: kin.first.turn):
            if len(heads) == self.looked_at and not self._elastic:
                break
            if self._needs_diagnosis(kin, now):
                heads.append(kin)
            elif kin.open:
                free = self.state.free() if free is None else free
                kin.open = self._could_sit(kin.first.group, free)
                if kin.open:
                    heads.append(kin)
        return heads

    def _with_promised(self, heads: Sequence[SameRequests]) -> Sequence[SameRequests]:
        """And all for whom places are kept, since those may be taken from them."""
        if not heads or not self._promised:
            return heads
        promised = [self._standing[group].kin for group in self._promised]
        return sorted(dict.fromkeys((*heads, *promised)), key=lambda kin: kin.first.turn)

    def _with_line(self, heads: Sequence[SameRequests]) -> Sequence[SameRequests]:
        """And those who are first in line, if these may be others by now, or could begin earlier. Holds of
        those who are not asked stay as they are."""
        self._in_line = Counter()
        if not self._holds or not self._line_changed:
            return heads
        self._line_changed = False
        most = self.policy.holds.depth * waiting.LOOKED_AT
        turns = (zip(map(TURN, kin.waiters), repeat(kin)) for kin in self._kins.values())
        first = list(islice(heapq.merge(*turns, key=itemgetter(0)), most))
        self._end_of_line = first[-1][0] if len(first) == most else None
        self._in_line = Counter(kin for _, kin in first)
        return sorted({*heads, *self._in_line}, key=lambda kin: kin.first.turn)

    def _could_sit(self, group: SimulatedGroup, free: Ints) -> bool:
        """On what is free, or else in place of lesser ones; False is certain. Places that are kept for it may
        have to be given up."""
        nodes = self.state.nodes
        if group.nominated or self.amounts.could_sit(group, nodes, free):
            return True
        if not self._preempts or group.has_quorum:
            return False
        taken = self._held_by_priority.below(group.job.priority, nodes)
        return taken is not None and self.amounts.could_sit(group, nodes, free + taken)

    def _decide(self, waiters: Sequence[WaitingTurn], now: Time, explained: Container[str] = ()) -> Plan:
        for waiter in waiters:
            self._introduce(waiter.group)
        asked = {waiter.turn.key: waiter.turn.measure for waiter in waiters}
        held = {key: self._measure(self._known[key], now) for key in self._held if key in self._known}
        scope = Scope(groups=asked.keys(), measures={**held, **asked}, explained=explained)
        self.remembered = self._memory
        record = run(self.state.snapshot(), self.policy, moment(now), scope)
        plan = Verdicts(record).plan()
        self._note(record, plan, now)
        return plan

    def _note(self, record: CycleRecord, plan: Plan, now: Time) -> None:
        """What counts later of a decision, whatever becomes of its seats."""
        names = record.snapshot.nodes.names
        self.spares = frozenset(names[row] for row in record.spares)
        if self._heals and plan.memory is not None:
            self._remember(plan.memory)
        if plan.planned is not None:
            self._remember_holds(plan.planned)
        if plan.budgets is not None:
            spent = MemoryObject(ObjectMeta(name=BUDGETS, namespace=HOME), data={CONTENT: str(plan.budgets)})
            self.state.apply(Put(spent))
        if plan.wake_at is not None:
            wake = time_of(datetime.fromisoformat(plan.wake_at))
            wake = wake if wake > now else now + SOON
            self._wake = wake if self._wake is None else min(wake, self._wake)

    def _remember(self, memory: HealthMemory) -> None:
        """What room is kept for whom may have changed."""
        meta = ObjectMeta(name=MEMORY, namespace=HOME)
        self._memory = MemoryObject(meta, data={CONTENT: str(memory)})
        self.state.apply(Put(self._memory))
        self._incidents = any(one.is_open for one in memory.incidents)
        self._room_made = True

    def _remember_holds(self, memory: HoldMemory) -> None:
        """But for those of groups that are not first in line: others come before them who were not asked."""
        first = {w.turn.key for kin, count in self._in_line.items() for w in kin.waiters[:count]}
        holds = tuple(hold for hold in memory.holds if hold.group in first or hold.group in self._held)
        before, self._held = self._held, {hold.group: hold for hold in holds}
        self._line_changed |= any(self._leaves_room(hold) for hold in before.values())
        kept, meta = msgspec.structs.replace(memory, holds=holds), ObjectMeta(name=HOLDS, namespace=HOME)
        self.state.apply(Put(MemoryObject(meta, data={CONTENT: str(kept)})))

    def _leaves_room(self, before: WaitingHold) -> bool:
        """Whether somebody who had its turn before may have what was held until now. Then it is decided again
        until no hold moves any more, as the scheduler does."""
        now, group = self._held.get(before.group), self._known.get(before.group)
        if group is None or (now is not None and now.begins == before.begins):
            return False
        waiting = self._standing.get(group)
        return waiting is None or any(kin.first.turn < waiting.waiter.turn for kin in self._kins.values())

    def _losses(self, plan: Plan) -> list[LostMembers]:
        """Who is told to leave."""
        found = list[LostMembers]()
        for decision in plan.healing:
            members = [member_of(one.pod, decision.group) for one in decision.pods if one.delete]
            if members:
                found.append(LostMembers(self._known[decision.group], members))
        return found

    def _introduce(self, group: SimulatedGroup) -> None:
        key = group_key(group.job)
        if key in self._known:
            return
        self._known[key] = group
        if not is_lone(group.job):
            self.state.apply(Put(pod_group(group.job)))
        self._put_pods(group, group.standing())

    def _moves(self, heads: Sequence[SameRequests], plan: Plan, explained: Container[str]) -> Moves:
        """Of those who were asked, as long as nobody who was not comes before them."""
        verdicts = {verdict.group: verdict for verdict in plan.decisions}
        planned = Arrangement(plan, self._known)
        heads, not_asked = self._until_passed_over(heads, planned)
        removals, nominations, seatings = list[Removal](), list[SeatAssignment](), list[SeatAssignment]()
        impossible = dict[SimulatedGroup, str]()
        for kin in heads:
            if not_asked is not None and kin.first.turn > not_asked:
                break
            everyone = self._asked(kin)
            asked = [waiter for waiter in everyone if not_asked is None or waiter.turn < not_asked]
            found, kept = planned.seatings(asked), planned.nominations(asked)
            removals += planned.removals(asked)
            nominations += kept
            seatings += found
            verdict = verdicts[kin.first.turn.key]
            kin.open = bool(found or kept) or len(asked) < len(everyone)
            if verdict.group in explained:
                kin.hopeless = verdict.verdict not in SOLVABLE
                if not found:
                    kin.diagnose(category_of(verdict), words_of(verdict), self._now)
            if kin.hopeless and not self._unwell:
                impossible.update(dict.fromkeys((w.group for w in kin.waiters), words_of(verdict)))
        return Moves(removals, nominations, seatings, impossible, plan, self._losses(plan))

    def _until_passed_over(
        self, heads: Sequence[SameRequests], planned: Arrangement
    ) -> tuple[Sequence[SameRequests], Turn | None]:
        """Whose seats count; and up to which turn: that of the first who was not asked, and comes after one
        who wants the same and is served."""
        found, looked_at = list[Turn](), set(heads)
        if self._holds:
            found += [kin.first.turn for kin in self._kins.values() if kin.open and kin not in looked_at]
        for kin in heads:
            asked = self._asked(kin)
            if len(asked) < len(kin) and (served := planned.served(asked)):
                passed_over = kin.passed_over(asked, served)
                found += [] if passed_over is None else [passed_over.turn]
        return heads, min(found, default=None)

    def _turn(self, group: SimulatedGroup, now: Time) -> Turn:
        return first_turn(
            self.policy.order,
            group.job.priority,
            group.age,
            group_key(group.job),
            promised=bool(group.nominated),
            measure=self._measure(group, now),
        )


def category_of(verdict: GroupVerdict) -> str:
    return verdict.blockers[0].category if verdict.blockers else UNKNOWN


def words_of(verdict: GroupVerdict) -> str:
    return "; ".join(f"{blocker.category}: {blocker.message}" for blocker in verdict.blockers)
