"""Trying a change: quickly on what a cycle has left free, then for certain, by running the cycle again."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from itertools import chain

import numpy as np

from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.trial import Rows, Trial
from maitred.decide.agenda import PROMISED, QUORUM, rank
from maitred.decide.ask import Ask, Assignment, ask_of
from maitred.decide.attempt import attempt
from maitred.decide.cycle import Case, Cycle
from maitred.decide.house import House
from maitred.decide.levels import known_levels, named_keys
from maitred.decide.screen import screen
from maitred.decide.seating import per_node
from maitred.decide.seats import Steps
from maitred.model.needs import Needs
from maitred.model.plan import Bind, GroupVerdict, Plan, Verdict
from maitred.model.policy import Policy

PROBE_STEPS = 2_000
"""A try is to be quick: it searches less long than a cycle does."""
NODES_PER_UNIT = 1_000
STEPS_PER_UNIT = 5
GROUPS_PER_UNIT = 4
PROMISE_UNITS = 20
"""To see who would have to leave for a group takes longer than to see whether it fits."""


@dataclass(slots=True)
class Effort:
    """A bound on the work of all tries together, counted and never timed.

    A unit is about what it takes to try a group on a small cluster.
    """

    left: int

    def spend(self, units: int) -> None:
        self.left -= units

    @property
    def spent(self) -> bool:
        return self.left <= 0


@dataclass(frozen=True, slots=True)
class Entry:
    """A group that had its turn in the cycle."""

    index: int
    """Its place in the Plan."""
    number: int
    """Its place in the snapshot."""
    place: int
    """Its place in the order of turns."""
    priority: int
    view: GroupView
    verdict: GroupVerdict

    @property
    def waits(self) -> bool:
        return self.verdict.verdict in ("Waiting", "Impossible")


def needs_of(snapshot: Snapshot, view: GroupView) -> list[Needs]:
    return [snapshot.needs[snapshot.shapes[shape].needs] for shape in np.unique(view.shapes).tolist()]


def kin(view: GroupView) -> Hashable:
    """Groups of one kin ask for the same: on the same trial, the same becomes of them."""
    topology = view.group.topology
    return (
        view.shapes.tobytes(),
        view.missing,
        topology,
        tuple((member.node, member.order) for member in view.running),
        view.orders if topology.slice_size else None,
    )


def plain(snapshot: Snapshot, view: GroupView) -> bool:
    """Whether more pods elsewhere can only make it harder to seat the group, never easier."""
    if view.group.topology.slice_size:
        return False
    shapes = [snapshot.shapes[shape] for shape in np.unique(view.shapes).tolist()]
    needs = [snapshot.needs[shape.needs] for shape in shapes]
    return not any(shape.volumes for shape in shapes) and not any(
        need.affinity or need.anti_affinity or need.spread for need in needs
    )


def with_running(snapshot: Snapshot, seats: list[tuple[int, int]]) -> Snapshot:
    """The snapshot with more pods running: shapes without volumes, and the rows of their nodes."""
    used, bound = snapshot.used.copy(), snapshot.bound
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
    )
    return replace(snapshot, used=used, bound=more)


class Rehearsal(Cycle):
    """The same cycle at less cost: nobody is diagnosed, and who must fail as others did is not tried."""

    def __init__(self, snapshot: Snapshot, policy: Policy, now: datetime) -> None:
        super().__init__(snapshot, policy, now, explained=())
        self._failed: set[Hashable] = set()
        self.tried, self.steps = 0, 0

    def serve(self, case: Case) -> bool:
        asked = kin(case.view) if plain(self.snapshot, case.view) and case.ask.need else None
        if asked in self._failed:
            return False
        self.tried += 1
        self.exhausted = False
        surplus = super().serve(case)
        if self.exhausted:
            self.steps += self.house.policy.search.steps
        elif asked is not None and case.ask.need and not case.promised:
            self._failed.add(asked)
        self.tried += PROMISE_UNITS * bool(case.promised or case.refusal)
        return surplus

    def plan(self) -> Plan:
        return Plan(groups=tuple(self._standing(case) for case in self.cases))

    def _standing(self, case: Case) -> GroupVerdict:
        view = case.view
        placed = len(view.running) + view.succeeded + len(case.seated)
        stands = placed >= view.group.quorum and view.group.exists and not case.screening.problems
        verdict: Verdict = "Scheduled" if stands else "Preempting" if case.promised else "Waiting"
        return GroupVerdict(case.key, verdict, view.members, view.group.quorum, placed)


def by_shape(seats: Iterable[list[tuple[int, int]]]) -> list[tuple[int, Rows, Ints]]:
    """Shapes, and the rows and how many on each."""
    rows: dict[int, list[int]] = {}
    for shape, row in chain.from_iterable(seats):
        rows.setdefault(shape, []).append(row)
    return list(per_node(rows))


class Stage:
    """A cycle that was decided: who had a turn, what was seated, and what is left."""

    def __init__(
        self,
        plan: Plan,
        snapshot: Snapshot,
        policy: Policy,
        now: datetime,
        scheduler: str | None,
        effort: Effort,
    ) -> None:
        self.plan, self.snapshot, self.policy = plan, snapshot, policy
        self.now, self.scheduler = now, scheduler
        self.effort = effort
        self.house = self.house_of(snapshot)
        self.entries = self._entries()
        self._kin: dict[int, Hashable] = {}
        self._seated = self._seats_of_groups(plan.binds)
        self._advanced: dict[int, Snapshot] = {0: snapshot}

    def house_of(self, snapshot: Snapshot) -> House:
        return House(self.policy, known_levels(self.policy, snapshot))

    # -- who had a turn --------------------------------------------------------------------------------

    def _entries(self) -> list[Entry]:
        """Groups that were free to start, in the order of their turns."""
        decided = [
            (number, view)
            for number, view in enumerate(self.snapshot.groups)
            if self.scheduler is None or self.scheduler in view.pending_schedulers
        ]
        turns = []
        for index, (number, view) in enumerate(decided):
            screening = screen(view, self.snapshot, self.house)
            if not (screening.problems or screening.obstacles):
                first = rank(screening.rank.priority, self.policy.order)
                part = PROMISED if view.nominated else QUORUM
                turns.append((first, part, view.created, view.group.key, number, index))
        return [
            Entry(index, number, place, -first, self.snapshot.groups[number], self.plan.groups[index])
            for place, (first, _, _, _, number, index) in enumerate(sorted(turns))
        ]

    def last_to_matter(self, entry: Entry) -> int:
        """The place after which nobody can be in the way of this group, or of one that was seated."""
        return max(self._last_seated, self._last_turn(entry))

    @cached_property
    def _last_seated(self) -> int:
        seated = [entry for entry in self.entries if entry.number in self._seated]
        return max(map(self._last_turn, seated), default=-1)

    def _last_turn(self, entry: Entry) -> int:
        """Groups that may need others near are tried again after everybody else."""
        again = any(needs.affinity or needs.spread for needs in needs_of(self.snapshot, entry.view))
        return len(self.entries) if again else entry.place

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

    def seated_before(self, entry: Entry) -> int:
        """How many groups were seated before its turn. Between two equal numbers the trial is the same."""
        return sum(1 for other in self.entries[: entry.place] if other.number in self._seated)

    # -- who is alike, and who is in the way -----------------------------------------------------------

    def kin(self, entry: Entry) -> Hashable:
        if entry.number not in self._kin:
            self._kin[entry.number] = kin(entry.view)
        return self._kin[entry.number]

    def plain(self, entry: Entry) -> bool:
        return plain(self.snapshot, entry.view)

    @cached_property
    def _unsettled(self) -> list[Entry]:
        """Groups that wait, but might not if others sat elsewhere."""
        return [entry for entry in self.entries if entry.waits and not self._settled(entry)]

    def _settled(self, entry: Entry) -> bool:
        """Proven not to fit even before the cycle seated anybody."""
        proven = len(np.unique(entry.view.shapes)) == 1 or not self.plan.search_exhausted
        fitted = any(blocker.category == "Priority" for blocker in entry.verdict.blockers)
        return proven and not fitted and self.plain(entry)

    def rivals(self, entry: Entry, first: int) -> list[Entry]:
        """Groups with a turn from `first` on that may act differently once something is changed there."""
        last = self.last_to_matter(entry)
        return [
            other
            for other in self._unsettled
            if first <= self._last_turn(other) and other.place < last and other is not entry
        ]

    # -- quickly ---------------------------------------------------------------------------------------

    @cached_property
    def _seats(self) -> list[tuple[int, Rows, Ints]]:
        """What the Plan takes: shapes, rows and how many on each."""
        return by_shape(self._seated.values())

    @cached_property
    def _promised(self) -> list[tuple[int, Rows, Ints]]:
        """What it will take once others have left."""
        return by_shape(self._seats_of_groups(self.plan.nominations).values())

    def leftover(self, snapshot: Snapshot) -> Trial:
        """A changed snapshot after all that the Plan binds, with the places held that it promises."""
        trial = Trial.of(snapshot)
        for shape, rows, copies in self._seats:
            trial.seat(shape, rows, copies)
        leaving = np.zeros(len(snapshot.bound.node), dtype=np.bool_)
        leaving[: len(self._leaving)] = self._leaving
        for shape, rows, copies in self._promised:
            trial.hold(shape, rows, copies, leaving)
        return trial

    @cached_property
    def _leaving(self) -> Mask:
        """Pods that are on their way out, or are to be; a changed snapshot has its new pods after these."""
        evicted, bound = {eviction.pod for eviction in self.plan.evictions}, self.snapshot.bound
        gone = [occupant.key in evicted for occupant in bound.occupants]
        return bound.terminating | np.array(gone, dtype=np.bool_)

    def probe(self, snapshot: Snapshot, number: int, need: int | None = None) -> Assignment:
        """Seats for a group of a changed snapshot beside all that the Plan binds; none if it does not fit."""
        ask = ask_of(snapshot.groups[number])
        ask = ask if need is None else replace(ask, need=need)
        same_levels = ask.topology == self.snapshot.groups[number].group.topology
        house = self.house if same_levels else self.house_of(snapshot)
        return self.seats(self.leftover(snapshot), ask, house)

    def seats(self, trial: Trial, ask: Ask, house: House) -> Assignment:
        steps = Steps(min(self.policy.search.steps, PROBE_STEPS))
        before = steps.left
        found = attempt(trial, ask, house, steps)
        self.effort.spend(self._units(1) + (before - steps.left) // STEPS_PER_UNIT)
        return found or []

    def _units(self, attempts: int) -> int:
        return attempts * (1 + len(self.snapshot.nodes.names) // NODES_PER_UNIT)

    # -- for certain -----------------------------------------------------------------------------------

    def works(
        self, change: Callable[[Snapshot, int], Snapshot], entry: Entry, rivals: Iterable[Entry], first: int
    ) -> bool:
        """Whether the cycle, once changed, seats the group and leaves out none that it seated before.

        Nothing changes before the turn `first`; `rivals` are the groups that wait now and may act
        differently from then on. No others need a turn.
        """
        done = self._done_before(entry, first)
        snapshot = change(self._after(done), entry.number)
        stood = {other.number for other in self.entries if not other.waits} - {one.number for one in done}
        live = stood | {other.number for other in rivals} | {entry.number}
        kept = self._kept(snapshot, live)
        views = tuple(self._kept_view(snapshot.groups[number], number in live) for number in kept)
        rehearsal = Rehearsal(replace(snapshot, groups=views), self.policy, self.now)
        verdicts = rehearsal.run().groups
        self.effort.spend(self._units(rehearsal.tried) + rehearsal.steps // STEPS_PER_UNIT)
        self.effort.spend(len(kept) // GROUPS_PER_UNIT)
        pairs = zip(kept, verdicts, strict=True)
        stands = {number: verdict.verdict for number, verdict in pairs}
        kept_up = all(stands[number] in ("Scheduled", "Preempting") for number in stood)
        return kept_up and stands[entry.number] == "Scheduled"

    def _done_before(self, entry: Entry, first: int) -> list[Entry]:
        """The groups from the start of the agenda on that are through with all their turns before `first`."""
        through = []
        for other in self.entries[:first]:
            if not other.waits:
                if not self._is_through(other, entry):
                    break
                through.append(other)
        return through

    def _is_through(self, other: Entry, entry: Entry) -> bool:
        """A surplus comes later, unless its priority is higher; who needs others near is tried once more."""
        view = other.view
        one_turn = view.missing in (0, len(view.pods)) or other.number not in self._seated
        settled = self.plain(other) and other.verdict.verdict != "Preempting"
        return settled and (one_turn or other.priority > entry.priority)

    def _after(self, done: list[Entry]) -> Snapshot:
        """The cluster as it is once these groups, the first of the agenda, run."""
        if len(done) not in self._advanced:
            seats = [seat for entry in done for seat in self._seated.get(entry.number, ())]
            self._advanced[len(done)] = with_running(self.snapshot, seats)
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
        return view if live else replace(view, gates=(("maitred.dev/held",),) * len(view.pods))
