"""What all questions of capacity stand on: what is decided now, and what is left once that is done."""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import msgspec
import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.devices.counted import ByKind, claimable_devices, held_devices
from maitred.cluster.devices.hardware import DeviceKind
from maitred.cluster.devices.needs import ClaimNeed
from maitred.cluster.devices.requests import program_of
from maitred.cluster.nodes import Codes, Ints, Mask
from maitred.cluster.snapshot import LabelClass, Shape, Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.agenda import Turn, goes_by_priority
from maitred.decide.ask import Ask, ask_of
from maitred.decide.compile import managed_nodes
from maitred.decide.context import Context
from maitred.decide.holding.reserved import KeptReservation
from maitred.decide.holding.waiting import PlannedGroup
from maitred.decide.preemption.evictable import NOT_KNOWN, EvictablePods
from maitred.explain.remedies.attempt_budget import AttemptBudget
from maitred.explain.remedies.rehearsal import (
    NODES_PER_UNIT,
    PROBE_STEPS,
    RankedGroup,
    Rehearsal,
    Taken,
    by_shape,
)
from maitred.explain.situation import Situation
from maitred.model.needs import Needs
from maitred.model.plan import Bind, Blocker
from maitred.model.policy import Policy, Search, at_prices_of, is_device, price_of
from maitred.model.quantity import CPU

EFFORT = 800
"""For all tries of one question; about a tenth of a second."""
DIAGNOSIS_ATTEMPTS = 6
"""About what it takes to see what is in the way of a group."""
SECONDS_PER_HOUR = 3600
CORE = 1000
"""One of cpu, in the unit in which it is counted."""

Seat = tuple[int, int]
"""A shape and a row."""
NOTHING: Taken = (NO_ACCOUNT, ())


@dataclass(frozen=True, slots=True)
class Models:
    """The device model of every node: codes into names, of which the first is for nodes that do not say."""

    codes: Codes
    names: tuple[str, ...]
    keys: tuple[str, ...]
    """The label that says it."""


class Survey:
    def __init__(self, situation: Situation) -> None:
        self.situation, self.snapshot, self.policy = situation, situation.snapshot, situation.policy
        self.now = round(situation.now.timestamp() * 1000)
        self.plan = situation.decided()
        self.effort = AttemptBudget(EFFORT)
        self.rehearsal = Rehearsal(situation.cycle(), self.effort)
        self.waiting = [ranked for ranked in self.rehearsal.ranked_groups if ranked.waits]
        """Groups that have no places, in the order of their turns."""
        self.notes: list[str] = []

    @cached_property
    def kept_back(self) -> Mapping[Hashable, Blocker]:
        """Of kinds of groups that wait for a limit or a budget of their queue first of all: what it is. Room
        would not help them. Where they are too many to look at, it is taken to be room."""
        found, seen = dict[Hashable, Blocker](), set[Hashable]()
        if self.snapshot.book is None:
            return found
        self.begin()
        for ranked in self.waiting:
            kin = self.rehearsal.kin(ranked)
            if kin in seen or ranked.view.account == NO_ACCOUNT:
                continue
            if self.effort.spent:
                self.note_effort()
                break
            seen.add(kin)
            self.spend(DIAGNOSIS_ATTEMPTS)
            first = self.rehearsal.blockers(ranked)[0]
            if first.category in ("Quota", "Budget"):
                found[kin] = first
        return found

    @cached_property
    def kept_back_groups(self) -> list[RankedGroup]:
        held = self.kept_back
        return [ranked for ranked in self.waiting if held and self.rehearsal.kin(ranked) in held]

    def price_of(self, resource: str, model: str) -> float | None:
        """At this hour."""
        return price_of(self._priced, resource, model)

    @cached_property
    def _priced(self) -> Policy:
        return at_prices_of(self.policy, self.now)

    @cached_property
    def planned(self) -> list[PlannedGroup]:
        """Groups that have holds, in the order of their turns."""
        return self.situation.cycle().holds.planned

    @cached_property
    def reserved(self) -> list[KeptReservation]:
        """Reservations that have begun, and that others may not use."""
        kept = self.situation.cycle().holds.reservations.kept
        return [one for one in kept if one.span[0] <= self.now]

    @property
    def context(self) -> Context:
        return self.rehearsal.context

    @cached_property
    def quick_context(self) -> Context:
        """For tries, which search less long than a cycle does."""
        steps = min(self.policy.search.steps, PROBE_STEPS)
        policy = msgspec.structs.replace(self.policy, search=Search(steps))
        return Context(policy, self.context.levels)

    @cached_property
    def evictable(self) -> EvictablePods:
        return EvictablePods(self.snapshot, self.policy, self.now)

    # -- what is counted -------------------------------------------------------------------------------

    @cached_property
    def claimable(self) -> ByKind:
        """Devices that claims are for, by driver and model."""
        return claimable_devices(self.snapshot)

    @cached_property
    def resources(self) -> tuple[str, ...]:
        """Devices that device plugins offer, well or not, or cpu where there are no devices at all."""
        nodes = self.snapshot.nodes.whole()
        there = nodes.allocatable[:, nodes.alive].sum(axis=1).tolist()
        devices = [
            name
            for name, have in zip(nodes.resources, there, strict=True)
            if have and is_device(self.policy, name)
        ]
        return tuple(sorted(devices)) or (() if self.claimable else (CPU,))

    @property
    def everything(self) -> tuple[str, ...]:
        """What is counted: the resources, and the drivers of devices that claims are for."""
        return (*self.resources, *dict.fromkeys(kind.driver for kind in self.claimable))

    @property
    def has_devices(self) -> bool:
        return self.resources != (CPU,)

    def counted(self, needs: Needs) -> int:
        """How much a pod takes of what is counted: devices, or thousandths of a core."""
        return sum(requested for resource, requested in needs.requests if resource in self.resources)

    @cached_property
    def counted_by_needs(self) -> Ints:
        return np.array([self.counted(needs) for needs in self.snapshot.needs], dtype=np.int64)

    @cached_property
    def held(self) -> Mapping[int, Counter[DeviceKind]]:
        """Devices that bound pods have by claims."""
        return held_devices(self.snapshot)

    @cached_property
    def counted_by_pod(self) -> Ints:
        """How much each bound pod has."""
        amounts: Ints = self.counted_by_needs[self.snapshot.bound.needs]
        for pod, kinds in self.held.items() if self.has_devices else ():
            amounts[pod] += kinds.total()
        return amounts

    def has(self, pod: int) -> Iterator[tuple[str, str, int]]:
        """What a bound pod has of what is counted: resource or driver, model, and how much."""
        bound = self.snapshot.bound
        model = self.models.names[self.models.codes[bound.node[pod]]]
        for resource, requested in self.snapshot.needs[bound.needs[pod]].requests:
            if resource in self.resources:
                yield resource, model, requested
        for kind, count in sorted(self.held.get(pod, Counter()).items()):
            yield *kind, count

    def counted_of(self, ranked: RankedGroup) -> int:
        """What the members take that a group lacks for its quorum; of different ones, the most modest. What
        they share is counted once."""
        view, shared = ranked.view, dict[str, int]()
        amounts = {shape: self._counted_by_shape(shape, shared) for shape in set(view.shapes.tolist())}
        each = np.array([amounts[shape] for shape in view.shapes.tolist()], dtype=np.int64)
        return int(np.sort(each)[: view.missing].sum()) + sum(shared.values())

    def _counted_by_shape(self, number: int, shared: dict[str, int]) -> int:
        """For each member, and what several of them share."""
        shape, own = self.snapshot.shapes[number], 0
        for need in shape.devices if self.has_devices else ():
            claimed = program_of(need.spec, self.snapshot.inventory).fewest if need.spec else 0
            if need.claim:
                shared[need.claim] = claimed
            else:
                own += claimed
        return int(self.counted_by_needs[shape.needs]) + own

    @cached_property
    def models(self) -> Models:
        nodes = self.snapshot.nodes
        codes = np.zeros(len(nodes.names), dtype=np.int32)
        names, keys = [""], [""]
        for key in self.policy.devices.model_labels:
            column = nodes.column(key)
            found = (column.codes >= 0) & (codes == 0)
            codes[found] = column.codes[found] + len(names)
            names += column.values
            keys += [key] * len(column.values)
        return Models(codes, tuple(names), tuple(keys))

    @cached_property
    def managed(self) -> Mask:
        return managed_nodes(self.snapshot.nodes, self.policy)

    # -- who has which priority ------------------------------------------------------------------------

    @cached_property
    def pods_by_priority(self) -> Counter[int]:
        """Pods that take of what is counted, or wait, by priority; everybody has the same in a fifo order."""
        if not goes_by_priority(self.policy.order):
            return Counter({0: 1})
        bound = self.snapshot.bound
        who = ~bound.fixed & (self.evictable.priority != NOT_KNOWN) & (self.counted_by_pod > 0)
        values, counts = np.unique(self.evictable.priority[who], return_counts=True)
        found = Counter(dict(zip(values.tolist(), counts.tolist(), strict=True)))
        for ranked in self.rehearsal.ranked_groups:
            found[ranked.priority] += len(ranked.view.pods)
        return found or Counter({0: 1})

    # -- what is left ----------------------------------------------------------------------------------

    @cached_property
    def trial(self) -> Trial:
        """The cluster once all is bound that is bound now, with the places held that are promised."""
        return self.rehearsal.leftover(self.snapshot)

    @cached_property
    def room_in_all(self) -> int:
        """Of what device plugins offer, or of cpu."""
        columns = [self.snapshot.nodes.resources.index(resource) for resource in self.resources]
        return int(np.maximum(self.trial.columns.room[columns], 0).sum())

    @cached_property
    def settled(self) -> Trial:
        return self.settle(self.snapshot)

    def settle(self, snapshot: Snapshot) -> Trial:
        """The same, but whoever was promised a place sits on it, though others have not left yet.

        What fits beside all of them fits for certain.
        """
        trial = Trial.of(snapshot)
        kept = self.situation.cycle().kept_room()
        taken = [*self._binds.values(), *self._nominations.values(), *kept]
        for shape, rows, copies, account in by_shape(taken):
            trial.seat(shape, rows, copies, account)
        return trial

    def still_asks(self, ranked: RankedGroup) -> Ask:
        """What a group asks for beside what it gets now, or is promised."""
        ask = ask_of(ranked.view)
        if ranked.waits:
            return ask
        known = self._placed
        return ask.without([(m, known[pod]) for m, pod in enumerate(ranked.view.pods) if pod in known])

    @cached_property
    def _placed(self) -> dict[str, int]:
        rows = self.snapshot.nodes.rows
        return {bind.pod: rows[bind.node] for bind in (*self.plan.binds, *self.plan.nominations)}

    @cached_property
    def leaving(self) -> Mask:
        return self.leaving_for(
            min(ranked.priority for ranked in self.rehearsal.ranked_groups)
            if self.rehearsal.ranked_groups
            else 0
        )

    def begin(self) -> None:
        """A question, which has an effort of its own: what one takes is not taken from the next."""
        self.effort.left = EFFORT

    def units(self, attempts: int) -> int:
        return attempts * (1 + len(self.snapshot.nodes.names) // NODES_PER_UNIT)

    def spend(self, attempts: int) -> None:
        self.effort.spend(self.units(attempts))

    def left_for(self, priority: int, snapshot: Snapshot) -> tuple[Trial, Mask]:
        """What a new group of that priority finds when its turn comes, and who is leaving then.

        Those who rank higher have had theirs, and the older ones of its own rank, but for their surplus.
        """
        trial, leaving = Trial.of(snapshot), self.leaving_for(priority)
        ahead = [ranked for ranked in self.rehearsal.ranked_groups if ranked.priority >= priority]
        for shape, rows, copies, account in by_shape(
            self._bound(ranked, ranked.priority > priority) for ranked in ahead
        ):
            trial.seat(shape, rows, copies, account)
        promised = [self._promised(ranked) for ranked in ahead]
        for shape, rows, copies, account in by_shape(
            [*promised, *self.situation.cycle().kept_room(priority)]
        ):
            trial.hold(shape, rows, copies, leaving, account)
        return trial, leaving

    def in_turn(self, ranked_groups: Iterable[RankedGroup]) -> Iterator[tuple[RankedGroup, Trial]]:
        """Each group, and the cluster as it finds it in its turn: one trial, with ever more seats taken.

        Whoever was promised a place before sits on it.
        """
        trial, place, surplus = Trial.of(self.snapshot), 0, list[tuple[Turn, Taken]]()
        for shape, rows, copies, account in by_shape(self.situation.cycle().kept_room()):
            trial.seat(shape, rows, copies, account)
        for ranked in ranked_groups:
            taken = [seats for turn, seats in surplus if turn < ranked.turn]
            surplus = [(turn, seats) for turn, seats in surplus if turn > ranked.turn]
            for other in self.rehearsal.ranked_groups[place : ranked.place]:
                first = self._bound(other, other.turn.surplus < ranked.turn)
                account, all_bound = self._binds.get(other.view.group.key, NOTHING)
                rest = all_bound[len(first[1]) :]
                taken += [first, self._promised(other)]
                surplus += [(other.turn.surplus, (account, rest))] if rest else []
            for shape, rows, copies, account in by_shape(taken):
                trial.seat(shape, rows, copies, account)
            place = ranked.place
            yield ranked, trial

    def _bound(self, ranked: RankedGroup, surplus_too: bool) -> Taken:
        """What is bound of a group, with its surplus if that has had its turn."""
        account, own = self._binds.get(ranked.view.group.key, NOTHING)
        missing = ranked.view.missing
        return account, own if surplus_too or not missing else own[:missing]

    def _promised(self, ranked: RankedGroup) -> Taken:
        return self._nominations.get(ranked.view.group.key, NOTHING)

    def leaving_for(self, priority: int) -> Mask:
        """Pods on their way out, and those that leave for groups of at least that priority."""
        leaving: Mask = self.evictable.leaving.copy()
        rank = {ranked.view.group.key: ranked.priority for ranked in self.rehearsal.ranked_groups}
        gone = {e.pod for e in self.plan.evictions if rank.get(e.preemptor, priority) >= priority}
        if gone:
            leaving |= np.array([who.key in gone for who in self.snapshot.bound.occupants], dtype=np.bool_)
        return leaving

    @cached_property
    def _binds(self) -> dict[str, Taken]:
        return self._seats(self.plan.binds)

    @cached_property
    def _nominations(self) -> dict[str, Taken]:
        return self._seats(self.plan.nominations)

    def _seats(self, binds: Sequence[Bind]) -> dict[str, Taken]:
        """By group, in the order of its members: those of the quorum come first."""
        groups = self.situation.cycle().groups
        account_of = {pod: group.ask.account for group in groups for pod in group.view.pods}
        shape_of = {
            pod: shape
            for view in self.snapshot.groups
            for pod, shape in zip(view.pods, view.shapes.tolist(), strict=True)
        }
        rows, seats = self.snapshot.nodes.rows, dict[str, tuple[int, list[Seat]]]()
        for bind in binds:
            _, own = seats.setdefault(bind.group, (account_of[bind.pod], []))
            own.append((shape_of[bind.pod], rows[bind.node]))
        return dict(seats)

    # -- time ------------------------------------------------------------------------------------------

    def waited(self, ranked: RankedGroup) -> float:
        """Hours since the group came; nothing if its clock is ahead of ours, or not known."""
        return max(0.0, round((self.now / 1000 - ranked.view.arrived) / SECONDS_PER_HOUR, 2))

    def note_effort(self) -> None:
        """Once, however many questions were cut short."""
        cut = "more groups wait than could be tried, so this answer is not complete"
        if cut not in self.notes:
            self.notes.append(cut)


def with_shapes(
    snapshot: Snapshot, asked: Sequence[tuple[Needs, tuple[ClaimNeed, ...]]]
) -> tuple[Snapshot, list[int]]:
    """The snapshot with a shape more for each of these, of pods without labels; and their numbers."""
    needs, first = tuple(needs for needs, _ in asked), len(snapshot.needs)
    shapes = tuple(
        Shape(first + place, len(snapshot.classes), devices=devices)
        for place, (_, devices) in enumerate(asked)
    )
    more = replace(
        snapshot,
        needs=(*snapshot.needs, *needs),
        classes=(*snapshot.classes, LabelClass("default", {})),
        shapes=(*snapshot.shapes, *shapes),
    )
    return more, list(range(len(snapshot.shapes), len(more.shapes)))
