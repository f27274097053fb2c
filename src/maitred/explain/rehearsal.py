"""Trying a change: quickly on what a cycle has left free, then for certain, by running the cycle again."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maitred.cluster.nodes import Ints
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.trial import Rows, Trial
from maitred.decide.ask import Ask, Assignment, ask_of
from maitred.decide.attempt import attempt
from maitred.decide.cycle import Case, Cycle
from maitred.decide.house import House
from maitred.decide.levels import known_levels, named_keys
from maitred.decide.screen import screen
from maitred.decide.seats import Steps
from maitred.model.needs import Needs
from maitred.model.plan import GroupVerdict, Plan, Verdict
from maitred.model.policy import Policy

PROBE_STEPS = 2_000
"""A try is to be quick: it searches less long than a cycle does."""
NODES_PER_UNIT = 1_000
STEPS_PER_UNIT = 10
GROUPS_PER_UNIT = 4


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


class Rehearsal(Cycle):
    """The same cycle at less cost: nobody is diagnosed, and who must fail as others did is not tried."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        super().__init__(snapshot, policy, None)
        self._failed: set[Hashable] = set()
        self.attempts = 0

    def _serve(self, case: Case) -> bool:
        asked = kin(case.view) if plain(self.snapshot, case.view) and case.ask.need else None
        if asked in self._failed:
            return False
        self.attempts += 1
        surplus = super()._serve(case)
        if asked is not None and case.ask.need and not self.exhausted:
            self._failed.add(asked)
        return surplus

    def _plan(self) -> Plan:
        return Plan(groups=tuple(self._standing(case) for case in self.cases))

    def _standing(self, case: Case) -> GroupVerdict:
        view = case.view
        placed = len(view.running) + view.succeeded + len(case.seated)
        stands = placed >= view.group.quorum and view.group.exists and not case.screening.problems
        verdict: Verdict = "Scheduled" if stands else "Waiting"
        return GroupVerdict(case.key, verdict, view.members, view.group.quorum, placed)


class Stage:
    """A cycle that was decided: who had a turn, what was seated, and what is left."""

    def __init__(
        self, plan: Plan, snapshot: Snapshot, policy: Policy, scheduler: str | None, effort: Effort
    ) -> None:
        self.plan, self.snapshot, self.policy, self.scheduler = plan, snapshot, policy, scheduler
        self.effort = effort
        self.house = self.house_of(snapshot)
        self.entries = self._entries()
        self._kin: dict[int, Hashable] = {}
        bound = {bind.pod for bind in plan.binds}
        self._seated = {
            number for number, view in enumerate(snapshot.groups) if not bound.isdisjoint(view.pods)
        }

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
                turns.append((-screening.priority, view.created, view.group.key, number, index))
        return [
            Entry(index, number, place, -rank, self.snapshot.groups[number], self.plan.groups[index])
            for place, (rank, _, _, number, index) in enumerate(sorted(turns))
        ]

    @cached_property
    def last_seated(self) -> int:
        """The place of the last group that was seated: who comes later can push nobody out."""
        last = -1
        for entry in self.entries:
            if entry.number in self._seated:
                late = any(needs.affinity or needs.spread for needs in needs_of(self.snapshot, entry.view))
                last = len(self.entries) if late else max(last, entry.place)
        return last

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
        """Groups with a turn from `first` on that may act differently once something is changed there.

        Who comes after the last group that was seated, and after this one, can do no harm.
        """
        last = max(self.last_seated, entry.place)
        return [other for other in self._unsettled if first <= other.place < last and other is not entry]

    # -- quickly ---------------------------------------------------------------------------------------

    @cached_property
    def _seats(self) -> list[tuple[int, Rows, Ints]]:
        """What the Plan takes: shapes, rows and how many on each."""
        shapes = {
            pod: shape
            for number in self._seated
            for view in [self.snapshot.groups[number]]
            for pod, shape in zip(view.pods, view.shapes.tolist(), strict=True)
        }
        rows: dict[int, list[int]] = {}
        for bind in self.plan.binds:
            rows.setdefault(shapes[bind.pod], []).append(self.snapshot.nodes.rows[bind.node])
        return [(shape, *np.unique(places, return_counts=True)) for shape, places in rows.items()]

    def leftover(self, snapshot: Snapshot) -> Trial:
        """A changed snapshot after all that the Plan binds."""
        trial = Trial.of(snapshot)
        for shape, rows, copies in self._seats:
            trial.seat(shape, rows, copies)
        return trial

    def probe(self, snapshot: Snapshot, number: int, need: int | None = None) -> Assignment | None:
        """Seats for a group of a changed snapshot beside all that the Plan binds."""
        ask = ask_of(snapshot.groups[number])
        ask = ask if need is None else replace(ask, need=need)
        same_levels = ask.topology == self.snapshot.groups[number].group.topology
        house = self.house if same_levels else self.house_of(snapshot)
        return self.seats(self.leftover(snapshot), ask, house)

    def seats(self, trial: Trial, ask: Ask, house: House) -> Assignment | None:
        steps = Steps(min(self.policy.search.steps, PROBE_STEPS))
        before = steps.left
        found = attempt(trial, ask, house, steps)
        self.effort.spend(self._units(1) + (before - steps.left) // STEPS_PER_UNIT)
        return found

    def _units(self, attempts: int) -> int:
        return attempts * (1 + len(self.snapshot.nodes.names) // NODES_PER_UNIT)

    # -- for certain -----------------------------------------------------------------------------------

    def works(self, snapshot: Snapshot, entry: Entry, competing: Iterable[Entry]) -> bool:
        """Whether the cycle, on the changed snapshot, seats the group and leaves out none that it seated.

        `competing` are the groups that wait now and may act differently then; no other needs a turn.
        """
        live = {other.number for other in self.entries if not other.waits}
        live |= {other.number for other in competing} | {entry.number}
        kept = self._kept(snapshot, live)
        views = tuple(self._kept_view(snapshot.groups[number], number in live) for number in kept)
        rehearsal = Rehearsal(replace(snapshot, groups=views), self.policy)
        plan = rehearsal.run()
        self.effort.spend(self._units(rehearsal.attempts) + len(kept) // GROUPS_PER_UNIT)
        stands = {
            number
            for number, verdict in zip(kept, plan.groups, strict=True)
            if verdict.verdict == "Scheduled"
        }
        must = {other.number for other in self.entries if other.verdict.verdict == "Scheduled"}
        return entry.number in stands and must <= stands

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
