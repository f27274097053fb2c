"""Trying a change: quickly on what a cycle has left free, then for certain, by running the cycle again."""

from bisect import bisect, bisect_left
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.journal import Rows
from maitred.cluster.leaving import leaving_pods
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.supply.devices import DeviceSupply
from maitred.cluster.trial import Trial
from maitred.decide.agenda import Turn
from maitred.decide.alike import kin, needs_of, plain
from maitred.decide.ask import Ask, Assignment, ask_of
from maitred.decide.attempt import attempt
from maitred.decide.context import Context
from maitred.decide.levels import known_levels, named_keys
from maitred.decide.screen import screen
from maitred.decide.seating import commit, per_node
from maitred.decide.seats import Steps
from maitred.explain.cycle import ExplainedCycle
from maitred.explain.remedies.attempt_budget import AttemptBudget, Memory
from maitred.explain.remedies.rerun import rerun
from maitred.model.plan import Bind, Blocker, Verdict
from maitred.model.policy import Policy, grace_limit
from maitred.model.queues import Payer

PROBE_STEPS = 2_000
"""A try is to be quick: it searches less long than a cycle does."""
NODES_PER_UNIT = 1_000
STEPS_PER_UNIT = 5
EVALUATIONS_PER_UNIT = 2
"""Of selectors of claims."""
SEARCH_STEPS_PER_UNIT = 50
"""Of searches as a cycle makes them, most of which take no step at all."""
GROUPS_PER_UNIT = 4
MOST_SIBLINGS = 64
"""Of a workload with more groups, changes of its manifest are not tried."""


Taken = tuple[int, Sequence[tuple[int, int]]]
"""The account of a group, and the shapes and rows of its members."""


@dataclass(frozen=True, slots=True)
class RankedGroup:
    """A group that had its turn in the cycle."""

    index: int
    """Its place in the Plan."""
    number: int
    """Its place in the snapshot."""
    place: int
    """Its place in the order of turns."""
    turn: Turn
    view: GroupView
    stands: Verdict
    """As the cycle left it: that it can never be seated is found out where somebody asks."""
    held_back: bool = False
    """It may not start yet, whatever room there is."""

    @property
    def priority(self) -> int:
        return self.turn.priority

    @property
    def waits(self) -> bool:
        return self.stands in ("Waiting", "Impossible")


@dataclass(frozen=True, slots=True)
class ChangeOutcome:
    """What a change that gets one group seated does to the others."""

    lost: tuple[str, ...]
    """Groups that were seated before, and are not any more."""
    wronged: bool
    """Whether one of them comes before it."""
    gained: tuple[str, ...]
    """Groups that waited before, and are seated too."""


def are_siblings(one: RankedGroup, other: RankedGroup) -> bool:
    if one is other or one.view.owner != other.view.owner or not one.view.owner:
        return False
    return one.view.group.key.partition("/")[0] == other.view.group.key.partition("/")[0]


def with_running(snapshot: Snapshot, seated: list[tuple[Payer, list[tuple[int, int]]]]) -> Snapshot:
    """The snapshot with more pods running: of each group, on whose account it is, shapes without volumes or
    claims, and the rows of their nodes."""
    used, bound = snapshot.used.copy(), snapshot.bound
    seats = [seat for _, own in seated for seat in own]
    payers = [number for number, (_, own) in enumerate(seated, len(snapshot.payers)) for _ in own]
    shapes = [snapshot.shapes[shape] for shape, _ in seats]
    for shape, (_, row) in zip(shapes, seats, strict=True):
        for resource, requested in snapshot.needs[shape.needs].requests:
            column = snapshot.nodes.resource_column(resource)
            if column is not None:
                used[column, row] += requested
    more = bound.joined_by(
        np.array([row for _, row in seats], dtype=np.int32),
        np.array([shape.needs for shape in shapes], dtype=np.int32),
        np.array([shape.labels for shape in shapes], dtype=np.int32),
        np.array(payers, dtype=np.int32),
    )
    return replace(
        snapshot, used=used, bound=more, payers=(*snapshot.payers, *(payer for payer, _ in seated))
    )


def by_shape(taken: Iterable[Taken]) -> list[tuple[int, Rows, Ints, int]]:
    """Shapes, the rows and how many on each, and the account on which they count."""
    rows: dict[int, dict[int, list[int]]] = {}
    for account, seats in taken:
        of_account = rows.setdefault(account, {})
        for shape, row in seats:
            of_account.setdefault(shape, []).append(row)
    return [(*placed, account) for account, own in rows.items() for placed in per_node(own)]


class Rehearsal:
    """Changes are tried on one cycle that was decided: who had a turn, what was seated, and what is left."""

    def __init__(self, cycle: ExplainedCycle, effort: AttemptBudget) -> None:
        self.cycle, self.plan, self.snapshot = cycle, cycle.decided, cycle.snapshot
        self._decisions = self.plan.decisions
        self.context, self.policy = cycle.context, cycle.context.policy
        self.now, self.scheduler = cycle.now, cycle.scheduler
        self.effort = effort
        self.memory = Memory()
        self.ranked_groups, self.held_back = self._in_order()
        self._kin: dict[int, Hashable] = {}
        self._settled_kin: dict[Hashable, bool] = {}
        self._seated = self._seats_of_groups(self.plan.binds)
        self._advanced: dict[int, Snapshot] = {0: self.snapshot}
        self._latest: tuple[tuple[int, int, str] | None, Trial] | None = None
        """What is left to whoever was looked at last."""

    def blockers(self, ranked: RankedGroup) -> tuple[Blocker, ...]:
        """What is in its way, as everybody hears it who asks."""
        return self.cycle.explained_at(ranked.index).blockers

    def context_of(self, snapshot: Snapshot) -> Context:
        return Context(self.policy, known_levels(self.policy, snapshot))

    # -- who had a turn --------------------------------------------------------------------------------

    def _in_order(self) -> tuple[list[RankedGroup], list[RankedGroup]]:
        """Groups that were free to start, in the order of their turns; and those that were not, each with
        the place that it would have had."""
        decided = [
            (number, view)
            for number, view in enumerate(self.snapshot.groups)
            if self.scheduler is None or self.scheduler in view.pending_schedulers
        ]
        numbers, turns, late = [number for number, _ in decided], list[Turn](), list[Turn]()
        for group, (_, view) in zip(self.cycle.groups, decided, strict=True):
            screening = screen(view, self.snapshot, self.context, self.now)
            if not screening.problems:
                (late if screening.obstacles else turns).append(self.cycle.turn_of(group))
        turns.sort()
        ranked_groups = [self._ranked(numbers, place, turn) for place, turn in enumerate(turns)]
        held_back = [
            self._ranked(numbers, bisect(turns, turn), turn, held_back=True) for turn in sorted(late)
        ]
        return ranked_groups, held_back

    def _ranked(self, numbers: Sequence[int], place: int, turn: Turn, held_back: bool = False) -> RankedGroup:
        number, stands = numbers[turn.number], self._decisions[turn.number].verdict
        return RankedGroup(turn.number, number, place, turn, self.snapshot.groups[number], stands, held_back)

    def last_to_matter(self, ranked: RankedGroup) -> int:
        """The place after which nobody can be in the way of this group, or of one that was seated."""
        return max(self._last_seated, self._last_turn(ranked))

    @cached_property
    def _last_seated(self) -> int:
        seated = [ranked for ranked in self.ranked_groups if ranked.number in self._seated]
        return max(map(self._last_turn, seated), default=-1)

    def _last_turn(self, ranked: RankedGroup) -> int:
        """Groups that may need others near are tried again after everybody else."""
        again = any(needs.affinity or needs.spread for needs in needs_of(self.snapshot, ranked.view))
        return len(self.ranked_groups) if again else ranked.place

    def _seats_of_groups(self, binds: Iterable[Bind]) -> dict[int, list[tuple[int, int]]]:
        """For each group of these members, their shapes and rows."""
        row_of = self.snapshot.nodes.rows
        bound = {bind.pod: row_of[bind.node] for bind in binds}
        seats = {
            number: [
                (shape, bound[pod])
                for pod, shape in zip(view.pods, view.shapes.tolist(), strict=True)
                if pod in bound
            ]
            for number, view in enumerate(self.snapshot.groups)
        }
        return {number: pairs for number, pairs in seats.items() if pairs}

    def seated_before(self, ranked: RankedGroup) -> int:
        """How many groups were seated before its turn. Between two equal numbers the trial is the same."""
        return sum(1 for other in self.ranked_groups[: ranked.place] if other.number in self._seated)

    # -- who is alike, and who is in the way -----------------------------------------------------------

    def siblings(self, ranked: RankedGroup) -> list[RankedGroup]:
        """The other groups of one workload: they have its priority, and pods of its templates."""
        return [other for other in self.ranked_groups if are_siblings(ranked, other)]

    def outcome_for_all(
        self,
        change: Callable[[Snapshot, int], Snapshot],
        ranked: RankedGroup,
        siblings: Sequence[RankedGroup],
        first: int,
    ) -> ChangeOutcome | None:
        """As `outcome`, where siblings of the group are changed with it. Of too many it is not tried."""
        if len(siblings) > MOST_SIBLINGS:
            self.effort.cut = True
            return None

        def applied(snapshot: Snapshot, number: int) -> Snapshot:
            for other in (ranked, *siblings):
                snapshot = change(snapshot, other.number)
            return snapshot

        rivals = {other.number: other for other in self.rivals(ranked, first)}
        rivals |= {other.number: other for other in siblings if other.waits}
        return self.outcome(applied, ranked, rivals.values(), first)

    def kin(self, ranked: RankedGroup) -> Hashable:
        if ranked.number not in self._kin:
            self._kin[ranked.number] = kin(ranked.view)
        return self._kin[ranked.number]

    def plain(self, ranked: RankedGroup) -> bool:
        return plain(self.snapshot, ranked.view)

    def _settled(self, ranked: RankedGroup) -> bool:
        """Proven not to fit even before the cycle seated anybody."""
        key = self.kin(ranked)
        if key not in self._settled_kin:
            self._settled_kin[key] = self.plain(ranked) and not self._might_have_fitted(ranked)
        return self._settled_kin[key]

    def _might_have_fitted(self, ranked: RankedGroup) -> bool:
        """So too if it was not found out. Where nobody took a place, its turn was the proof."""
        if not (self.plan.binds or self.plan.nominations or self.plan.search_exhausted):
            return False
        steps = Steps(min(self.policy.search.steps, PROBE_STEPS))
        return bool(attempt(self._pristine, ask_of(ranked.view), self.context, steps)) or steps.exhausted

    @cached_property
    def _pristine(self) -> Trial:
        return Trial.of(self.snapshot)

    def rivals(self, ranked: RankedGroup, first: int) -> list[RankedGroup]:
        """Groups with a turn from `first` on that may act differently once something is changed there."""
        last = self.last_to_matter(ranked)
        return [
            other
            for other in self.ranked_groups[:last]
            if other.waits
            and first <= self._last_turn(other)
            and other.number != ranked.number
            and not self._settled(other)
        ]

    # -- quickly ---------------------------------------------------------------------------------------

    @cached_property
    def _promised(self) -> dict[int, list[tuple[int, int]]]:
        """What each group will take once others have left."""
        return self._seats_of_groups(self.plan.nominations)

    def taken_before(self, ranked: RankedGroup) -> int:
        """How many groups had seats or promises before its turn: what it finds is the same for equal numbers
        and equal priorities."""
        return bisect_left(self._takers, ranked.place)

    @cached_property
    def _takers(self) -> list[int]:
        """The places, in the order of turns, of groups that have seats or promises."""
        return [
            other.place
            for other in self.ranked_groups
            if other.number in self._seated.keys() | self._promised
        ]

    def leftover(self, snapshot: Snapshot, ranked: RankedGroup | None = None) -> Trial:
        """A changed snapshot as the Plan leaves it to a group in its turn, or in the end: with what is bound,
        and the places held that are promised."""
        same_load = snapshot.used is self.snapshot.used and snapshot.bound is self.snapshot.bound
        return (
            self._left(ranked).on(snapshot.nodes, snapshot) if same_load else self._leftover(snapshot, ranked)
        )

    def _left(self, ranked: RankedGroup | None) -> Trial:
        key = None if ranked is None else (self.taken_before(ranked), ranked.priority, self._own_room(ranked))
        if self._latest is None or self._latest[0] != key:
            self._latest = (key, self._leftover(self.snapshot, ranked))
        return self._latest[1]

    @staticmethod
    def _own_room(ranked: RankedGroup) -> str:
        """Room that is kept for a group is not in its own way."""
        return "" if ranked.view.tree is None and ranked.view.kept_from is None else ranked.view.group.key

    def _leftover(self, snapshot: Snapshot, ranked: RankedGroup | None) -> Trial:
        trial = Trial.of(snapshot)
        for shape, rows, copies, account in by_shape(self._found_by(ranked, self._seated)):
            trial.seat(shape, rows, copies, account)
        leaving = np.zeros(len(snapshot.bound.node), dtype=np.bool_)
        leaving[: len(self._leaving)] = self._leaving
        kept = self.cycle.kept_room()
        if ranked is not None:
            kept = self.cycle.kept_room(ranked.priority, besides=ranked.view.group.key)
        for shape, rows, copies, account in by_shape([*self._found_by(ranked, self._promised), *kept]):
            trial.hold(shape, rows, copies, leaving, account)
        return trial

    def _found_by(
        self, ranked: RankedGroup | None, seats: Mapping[int, list[tuple[int, int]]]
    ) -> Iterable[Taken]:
        """What others have when a group has its turn: of its equals, only their quorums."""
        if ranked is None:
            yield from ((self._accounts[number], own) for number, own in seats.items())
            return
        for other in self.ranked_groups[: ranked.place]:
            if other.number in seats:
                later = self._has_surplus(other) and other.turn.surplus > ranked.turn
                own = seats[other.number][: other.view.missing] if later else seats[other.number]
                yield self._accounts[other.number], own

    @cached_property
    def _accounts(self) -> dict[int, int]:
        """Of each group, by its place in the snapshot: who runs without paying commits nothing."""
        return {one.number: self.cycle.groups[one.index].ask.account for one in self.ranked_groups}

    @cached_property
    def _leaving(self) -> Mask:
        """Pods that are on their way out, or are to be; a changed snapshot has its new pods after these."""
        evicted, bound = {eviction.pod for eviction in self.plan.evictions}, self.snapshot.bound
        gone = [occupant.key in evicted for occupant in bound.occupants]
        leaving = leaving_pods(self.snapshot, grace_limit(self.policy), round(self.now.timestamp() * 1000))
        return leaving | np.array(gone, dtype=np.bool_)

    def probe(self, snapshot: Snapshot, ranked: RankedGroup, need: int | None = None) -> Assignment:
        """Seats for a group of a changed snapshot beside all that others got before; none if it does not
        fit."""
        ask = ask_of(snapshot.groups[ranked.number])
        ask = ask if need is None else replace(ask, need=need)
        same_levels = ask.topology == ranked.view.group.topology
        context = self.context if same_levels else self.context_of(snapshot)
        return self.seats(self.leftover(snapshot, ranked), ask, context)

    def probe_kinds(self, ranked: RankedGroup) -> Assignment:
        """Seats for one member of each kind of which none runs, and then for as many others as fit; none if
        the first do not fit."""
        view, ask = ranked.view, ask_of(ranked.view)
        running = set(view.running_shapes.tolist())
        lone = [ask.shapes.index(shape) for shape in ask.distinct if shape not in running]
        trial = self.leftover(self.snapshot, ranked)
        found = [(lone[place], row) for place, row in self.seats(trial, ask.only(lone), self.context)]
        if len(found) < len(lone):
            return []
        commit(trial, ask, found)
        left = [place for place in range(len(ask.shapes)) if place not in lone]
        rest = replace(ask.without(found), need=1)
        others = self.seats(trial, rest, self.context) if left else []
        return found + [(left[place], row) for place, row in others]

    def seats(self, trial: Trial, ask: Ask, context: Context) -> Assignment:
        steps = Steps(min(self.policy.search.steps, PROBE_STEPS))
        before, supply = steps.left, trial.supply(DeviceSupply)
        found = attempt(trial, ask, context, steps)
        evaluations = sum(map(supply.evaluations, ask.distinct)) // EVALUATIONS_PER_UNIT
        self.effort.spend(self._units(1) + (before - steps.left) // STEPS_PER_UNIT + evaluations)
        return found or []

    def _units(self, attempts: int) -> int:
        return attempts * (1 + len(self.snapshot.nodes.names) // NODES_PER_UNIT)

    # -- for certain -----------------------------------------------------------------------------------

    def works(
        self,
        change: Callable[[Snapshot, int], Snapshot],
        ranked: RankedGroup,
        rivals: Iterable[RankedGroup],
        first: int,
    ) -> ChangeOutcome | None:
        """What the cycle, once changed, does to others, if it seats the group and wrongs none of them: who
        was seated and comes before it stays seated."""
        outcome = self.outcome(change, ranked, rivals, first)
        return None if outcome is None or outcome.wronged else outcome

    def outcome(
        self,
        change: Callable[[Snapshot, int], Snapshot],
        ranked: RankedGroup,
        rivals: Iterable[RankedGroup],
        first: int,
        policy: Policy | None = None,
    ) -> ChangeOutcome | None:
        """What the cycle, once changed, does to others; None if it does not seat this group, or if others
        would have to leave for it.

        Nothing changes before the turn `first`; `rivals` are the groups that wait now and may act
        differently from then on. No others need a turn. `policy`: another one, if that is the
        change. What takes more effort than is left is not tried.
        """
        done, rivals = self._done_before(ranked, first), list(rivals)
        stood = {other.number for other in self.ranked_groups if not other.waits} - {
            one.number for one in done
        }
        known = self._known_seats(stood, first)
        if not self.effort.allows(self._likely(stood, known, rivals)):
            return None
        snapshot = change(self._after(done), ranked.number)
        live = stood | {other.number for other in rivals} | {ranked.number} | self._held
        kept = self._kept(snapshot, live)
        views = tuple(self._kept_view(snapshot.groups[number], number in live) for number in kept)
        again = rerun(replace(snapshot, groups=views), policy or self.policy, self.now, known)
        self.effort.spend(self._units(again.tried) + again.steps // SEARCH_STEPS_PER_UNIT)
        self.effort.spend(len(kept) // GROUPS_PER_UNIT)
        stands = dict(zip(kept, again.standings, strict=True))
        if stands[ranked.number] != "Scheduled" or self._others_preempt(stands):
            return None
        lost = [number for number in stood if stands[number] in ("Waiting", "Invalid")]
        return ChangeOutcome(
            lost=self._named(lost),
            wronged=any(other.number in lost for other in self.ranked_groups[: ranked.place]),
            gained=self._named(other.number for other in rivals if stands[other.number] == "Scheduled"),
        )

    @cached_property
    def _held(self) -> set[int]:
        """Groups with a hold, which stands whatever becomes of others."""
        return {
            other.number for other in self.ranked_groups if self.cycle.groups[other.index].plan is not None
        }

    def _likely(self, stood: Set[int], known: Mapping[str, Assignment], rivals: Iterable[RankedGroup]) -> int:
        """What it takes to let these have their turns again, as far as their first turns tell."""
        again = {
            ranked.number: ranked
            for ranked in self.ranked_groups
            if ranked.number in stood and ranked.view.group.key not in known
        }
        kinds = {self.kin(rival): rival for rival in rivals}
        steps = sum(self.cycle.groups[one.index].steps for one in (*again.values(), *kinds.values()))
        return self._units(len(again) + len(kinds) + 1) + steps // SEARCH_STEPS_PER_UNIT

    def _named(self, numbers: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.snapshot.groups[number].group.key for number in sorted(numbers))

    def _others_preempt(self, stands: Mapping[int, Verdict]) -> bool:
        """Whether somebody who was seated would now make others leave."""
        seated = (other.number for other in self.ranked_groups if other.stands == "Scheduled")
        return any(stands.get(number) == "Preempting" for number in seated)

    def _known_seats(self, stood: Set[int], first: int) -> dict[str, Assignment]:
        """The seats of groups that have all their turns before `first`: nobody needs to look for them."""
        known = {}
        for other in self.ranked_groups[:first]:
            scavenges = self.cycle.groups[other.index].ask.scavenges
            if other.number in stood and self._has_one_turn(other) and not scavenges:
                rows = [row for _, row in self._seated[other.number]]
                known[other.view.group.key] = list(enumerate(rows))
        return known

    def _done_before(self, ranked: RankedGroup, first: int) -> list[RankedGroup]:
        """The groups from the start of the agenda on that are through with all their turns before `first`."""
        through = list[RankedGroup]()
        policy, made = self.policy, self.snapshot.reservations.reservations
        if policy.holds.depth or policy.reservations or made or policy.provisioning.class_name:
            return through  # their ends count, which nobody knows of pods that only are imagined
        for other in self.ranked_groups[:first]:
            if not other.waits:
                if not self._is_through(other, ranked):
                    late = (n for n, one in enumerate(through) if self._is_after(one, other))
                    return through[: next(late, len(through))]
                through.append(other)
        return through

    def _is_after(self, one: RankedGroup, other: RankedGroup) -> bool:
        """Whether a group has a second turn after another's first."""
        return self._has_surplus(one) and one.turn.surplus > other.turn

    def _has_surplus(self, other: RankedGroup) -> bool:
        return other.view.missing not in (0, len(other.view.pods)) and other.number in self._seated

    def _is_through(self, other: RankedGroup, ranked: RankedGroup) -> bool:
        """A surplus may come later; who needs others near is tried once more. What is committed of a budget
        depends on more than on where members are."""
        settled = self.plain(other) and not other.view.device_claims and other.stands != "Preempting"
        settled = settled and not self._is_paid_for(other.view)
        return settled and (not self._has_surplus(other) or other.turn.surplus < ranked.turn)

    def _is_paid_for(self, view: GroupView) -> bool:
        book = self.snapshot.book
        return book is not None and view.account != NO_ACCOUNT and bool(book.accounts[view.account].span)

    def _has_one_turn(self, other: RankedGroup) -> bool:
        """Whether all that it has was given to it in its turn, and nothing could be later."""
        view = other.view
        again = any(needs.affinity or needs.spread for needs in needs_of(self.snapshot, view))
        seated = len(self._seated.get(other.number, ()))
        whole = view.missing in (0, len(view.pods)) and seated == len(view.pods)
        waits = view.nominated or view.kept_from is not None
        return whole and not (again or view.group.topology.slice_size or view.tree or waits)

    def _after(self, done: list[RankedGroup]) -> Snapshot:
        """The cluster as it is once these groups, the first of the agenda, run."""
        if len(done) not in self._advanced:
            seated = [
                (one.view.payer, self._seated[one.number]) for one in done if one.number in self._seated
            ]
            self._advanced[len(done)] = with_running(self.snapshot, seated)
        return self._advanced[len(done)]

    def _kept(self, snapshot: Snapshot, live: set[int]) -> list[int]:
        """The groups with a turn, and enough others for all levels to be known that are known now."""
        kept, seen = set(live), set[str]()
        for number in sorted(live):
            seen.update(named_keys(snapshot.groups[number].group.topology))
        for number, view in enumerate(snapshot.groups):
            keys = set(named_keys(view.group.topology))
            if number not in live and not keys <= seen:
                kept.add(number)
                seen |= keys
        return sorted(kept)

    @staticmethod
    def _kept_view(view: GroupView, live: bool) -> GroupView:
        keeps_room = view.kept_from is not None
        return view if live or keeps_room else replace(view, gates=(("maitred.dev/held",),) * len(view.pods))
