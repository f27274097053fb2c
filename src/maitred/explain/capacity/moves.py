"""Which groups fragmentation blocks, and what one move would free: of one unit, or of all on one node.

A group is blocked so if there is enough of everything on the nodes that it may use, but not together. For the
first group of each kind the moves of fewest pods are tried: the pods are taken away, seated elsewhere by the
engine, and then everybody who waits has a turn, as in the next cycle. A move that is told has seated the
group. Pods that belong to their node, are protected, mount claims or are under a budget that lets none of
them go are not moved, and a gang only moves whole, or with members that it can spare. A gang that moves whole
starts again as a whole, whoever of it finds a place on its old node. Between moves that are as good, and for
who takes which place, names decide: in which order the cluster was read does not matter.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maitred.cluster.nodes import Codes, Ints, Mask, total
from maitred.cluster.snapshot import Occupant, RunningMember, Shape, Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment, ask_of
from maitred.decide.attempt import quorum_of
from maitred.decide.compile import make_rules
from maitred.decide.context import FULL_RULES
from maitred.decide.levels import codes_of
from maitred.decide.preemption.units import Units
from maitred.decide.seating import commit, required_domain
from maitred.explain.capacity.document import Fragmented, Move, PodMove
from maitred.explain.capacity.survey import DIAGNOSIS_ATTEMPTS, Survey
from maitred.explain.remedies.rehearsal import RankedGroup
from maitred.model.group import Group, TopologyRequest
from maitred.model.plan import Blocker

MOST_GROUPS = 8
MOST_SUMMED = 100
MOST_TRIES = 4
"""Of either kind of move, for each group."""


def fragmented(survey: Survey) -> tuple[Fragmented, ...]:
    survey.begin()
    found, mover = list[Fragmented](), Mover(survey)
    cycle = survey.situation.cycle()
    alike, first = kinds(survey)
    likely = [ranked for ranked in first if enough_anywhere(survey, ranked)]
    suspects = [ranked for ranked in likely[:MOST_SUMMED] if enough_in_total(survey, ranked)]
    for ranked in suspects[:MOST_GROUPS]:
        survey.spend(DIAGNOSIS_ATTEMPTS)
        verdict = cycle.verdict(ranked.view.group.key)
        blocker = verdict.blockers[0]
        if verdict.verdict != "Impossible" and blocker.category in ("Fragmentation", "Topology"):
            found.append(_fragmented(mover, ranked, blocker, alike[survey.rehearsal.kin(ranked)] - 1))
    left_out = len(suspects[MOST_GROUPS:]) + len(likely[MOST_SUMMED:])
    if left_out:
        survey.notes.append(f"{left_out} more kinds of waiting groups may be blocked by fragmentation")
    return tuple(found)


def kinds(survey: Survey) -> tuple[Counter[Hashable], list[RankedGroup]]:
    """How many groups ask for the same, and the first of each kind."""
    alike, first = Counter[Hashable](), list[RankedGroup]()
    for ranked in survey.waiting:
        kin = survey.rehearsal.kin(ranked)
        if not alike[kin]:
            first.append(ranked)
        alike[kin] += 1
    return alike, first


def _fragmented(mover: "Mover", ranked: RankedGroup, blocker: Blocker, alike: int) -> Fragmented:
    sought = not mover.survey.effort.spent
    if not sought:
        mover.survey.note_effort()
    return Fragmented(
        group=ranked.view.group.key,
        category="Topology" if blocker.category == "Topology" else "Fragmentation",
        message=blocker.message,
        needed=int(blocker.detail.get("needed", ranked.view.missing)),
        holds=int(blocker.detail.get("holds", 0)),
        move=mover.move_for(ranked) if sought else None,
        sought=sought,
        alike=alike,
    )


def enough_anywhere(survey: Survey, ranked: RankedGroup) -> bool:
    """Whether all nodes together have as much of what is counted: seen at once, and enough for most. What
    claims ask for may be parts of devices, so that is looked at later."""
    return bool(ranked.view.device_claims) or survey.counted_of(ranked) <= survey.room_in_all


def enough_in_total(survey: Survey, ranked: RankedGroup) -> bool:
    """Whether the nodes that it may use have together what the quorum lacks, of every resource."""
    trial, ask = survey.trial, ask_of(ranked.view)
    within = required_domain(trial, ask, survey.context, FULL_RULES)
    if within is None or not ask.need:
        return False
    rules = make_rules(trial, ask.distinct, survey.policy)
    eligible = np.flatnonzero(np.logical_or.reduce(rules.masks) & within)
    uses = np.repeat(
        np.array([room.use for room in rules.rooms], dtype=np.int64).reshape(len(rules.rooms), -1),
        ask.demand().counts,
        axis=1,
    )
    wanted = np.sort(uses, axis=1)[:, : ask.need].sum(axis=1).tolist()
    have = (total(np.maximum(room.free[eligible], 0)) for room in rules.rooms)
    return all(there >= least for there, least in zip(have, wanted, strict=True))


@dataclass(frozen=True, slots=True)
class Attempt:
    """Units that would move, by name, and the node that this would drain."""

    units: tuple[int, ...]
    node: int | None


class Mover:
    def __init__(self, survey: Survey) -> None:
        self.survey, self.snapshot = survey, survey.snapshot
        self.bound = survey.snapshot.bound

    # -- who can move ----------------------------------------------------------------------------------

    @cached_property
    def units(self) -> Units:
        evictable = self.survey.evictable
        claims = np.fromiter((bool(o.claims) for o in self.bound.occupants), np.bool_, len(self.bound.node))
        sliced = np.array([bool(g and is_cut(g.group)) for g in self.snapshot.seated] + [False])
        stays = (
            self.survey.leaving
            | self.bound.terminating
            | claims
            | (evictable.grouped & sliced[self.bound.group])
        )
        movable = evictable.movable & (evictable.protected_until <= self.survey.now) & ~stays
        return Units(evictable, ~self.survey.leaving, movable)

    def _by_name(self, units: Iterable[int]) -> list[int]:
        """A pod may be called like a group, which comes after it."""
        chosen, whole = set(units), self.units.whole
        named = self.units.named(self.units.chosen(chosen))
        return sorted(chosen, key=lambda unit: (named[unit], whole[unit]))

    def pods_of(self, unit: int) -> list[int]:
        """By name: who takes which place must not depend on who was read first."""
        pods: list[int] = self.units.pods[self.units.entries(unit)].tolist()
        return sorted(pods, key=self._key)

    def _key(self, pod: int) -> str:
        occupant: Occupant = self.bound.occupants[pod]
        return occupant.key

    @cached_property
    def _nodes(self) -> Codes:
        """The node of each entry of `units.pods`."""
        return self.bound.node[self.units.pods]

    @cached_property
    def _freed(self) -> Ints:
        """What each entry of `units.pods` takes of every resource."""
        return self.survey.trial.columns.amounts_of(self.units.pods)

    @cached_property
    def _drainable(self) -> tuple[Mask, Mask]:
        """Nodes all of whose pods can move without others elsewhere; and the units that are on one node."""
        units, count = self.units, len(self.snapshot.nodes.names)
        lowest, highest = np.full(len(units), count), np.full(len(units), -1)
        np.minimum.at(lowest, units.unit, self._nodes)
        np.maximum.at(highest, units.unit, self._nodes)
        inside = (lowest == highest) & units.whole & ~units.violating
        leaves = np.zeros(len(self.bound.node), dtype=np.bool_)
        leaves[units.pods[inside[units.unit]]] = True
        stays = ~(leaves | self.bound.fixed | self.survey.leaving)
        drainable = np.zeros(count, dtype=np.bool_)
        drainable[self.bound.node[leaves]] = True
        drainable[self.bound.node[stays]] = False
        return drainable, inside

    # -- which moves to try ----------------------------------------------------------------------------

    def move_for(self, ranked: RankedGroup) -> Move | None:
        ask = ask_of(ranked.view)
        within = required_domain(self.survey.settled, ask, self.survey.context, FULL_RULES)
        if within is None or not len(self.units):
            return None
        tries = [*self._migrations(ask, within), *self._drains(ask, within)]
        rearranged = Rearranged(self, tries)
        for each in tries:
            if self.survey.effort.spent:
                return None
            move = rearranged.tried(each, ranked, ask)
            if move is not None:
                return move
        return None

    def _migrations(self, ask: Ask, within: Mask) -> list[Attempt]:
        """Units whose place would be enough, of fewest pods, and of those with least work to lose."""
        units = self.units
        enough = self._enough(ask, within, units.unit, np.ones(len(units.pods), dtype=np.bool_), len(units))
        chosen = np.flatnonzero(enough & ~units.violating)
        size, work = units.size[chosen], units.work[chosen]
        last = np.lexsort((work, size))[:MOST_TRIES][-1:]
        near = chosen[(size < size[last]) | ((size == size[last]) & (work <= work[last]))].tolist()
        first = sorted(self._by_name(near), key=lambda unit: (units.size[unit], units.work[unit]))
        return [Attempt((unit,), None) for unit in first[:MOST_TRIES]]

    def _drains(self, ask: Ask, within: Mask) -> list[Attempt]:
        units, (drainable, inside) = self.units, self._drainable
        moving = inside[units.unit] & drainable[self._nodes]
        enough = self._enough(ask, within, self._nodes, moving, len(drainable))
        pods = np.bincount(self._nodes[moving], minlength=len(drainable))
        chosen = np.flatnonzero(enough & drainable & (pods > 1))
        order = np.lexsort((self.snapshot.nodes.name_rank[chosen], pods[chosen]))
        return [
            Attempt(tuple(self._by_name(units.unit[moving & (self._nodes == row)].tolist())), row)
            for row in chosen[order[:MOST_TRIES]].tolist()
        ]

    def _enough(self, ask: Ask, within: Mask, owner: Ints | Codes, moving: Mask, owners: int) -> Mask:
        """Whose leaving would give some domain what it lacks, as far as amounts tell.

        Where members differ, or are cut in slices, whose leaving would make room for a member at all.
        """
        codes = self._domains(ask)
        inside = moving & within[self._nodes] & (codes[self._nodes] >= 0)
        count = int(codes.max(initial=0)) + 1
        enough = np.zeros(owners, dtype=np.bool_)
        for shape in ask.distinct:
            rules = make_rules(self.survey.settled, (shape,), self.survey.policy)
            gain, whose, domain = self._gains(shape, rules.masks[0], rules.copies[0], owner, inside, codes)
            have = np.bincount(codes[within & (codes >= 0)], rules.copies[0][within & (codes >= 0)], count)
            single = len(ask.distinct) == 1 and not ask.topology.slice_size
            lacking = ask.need - have if single else np.ones(count)
            total = np.bincount(whose * count + domain, gain, minlength=owners * count)
            enough |= (total.reshape(owners, count) >= np.maximum(lacking, 1)).any(axis=1)
        return enough

    def _gains(
        self, shape: int, mask: Mask, copies: Ints, owner: Ints | Codes, inside: Mask, codes: Codes
    ) -> tuple[Ints, Ints, Ints]:
        """How many more members each node could take once an owner's pods there have left."""
        trial, count = self.survey.settled, len(self.snapshot.nodes.names)
        pairs, place = np.unique(
            owner[inside].astype(np.int64) * count + self._nodes[inside], return_inverse=True
        )
        rows, fits = pairs % count, np.full(len(pairs), np.iinfo(np.int64).max)
        for resource, requested in trial.needs(shape).requests:
            column = trial.nodes.resource_column(resource)
            if column is None:
                return np.zeros(len(pairs), dtype=np.int64), pairs // count, codes[rows].astype(np.int64)
            freed = np.bincount(place, self._freed[inside, column], minlength=len(pairs)).astype(np.int64)
            np.minimum(fits, (trial.columns.room[column, rows] + freed) // requested, out=fits)
        gain = np.where(mask[rows], np.maximum(fits, 0) - copies[rows], 0)
        return np.maximum(gain, 0), pairs // count, codes[rows].astype(np.int64)

    def _domains(self, ask: Ask) -> Codes:
        level = ask.topology.required
        nodes = self.snapshot.nodes
        return codes_of(nodes, self.survey.context.key(level)) if level else np.zeros_like(nodes.taint_ids)


class Rearranged:
    """The cluster with some units elsewhere: one trial for all the tries for a group."""

    def __init__(self, mover: Mover, tries: Sequence[Attempt]) -> None:
        self.mover, self.survey, self.units = mover, mover.survey, mover.units
        self.bound = mover.bound
        pods = [pod for each in tries for unit in each.units for pod in mover.pods_of(unit)]
        self._snapshot, self._shape_of = self._with_shapes_of(pods)
        self.trial: Trial = self.survey.settle(self._snapshot)

    def _with_shapes_of(self, pods: Sequence[int]) -> tuple[Snapshot, dict[tuple[int, int], int]]:
        """The snapshot with the shapes of pods that run, which it has of those who wait only."""
        snapshot, numbers = self.mover.snapshot, dict[tuple[int, int], int]()
        for pod in pods:
            key = (int(self.bound.needs[pod]), int(self.bound.labels[pod]))
            numbers.setdefault(key, len(snapshot.shapes) + len(numbers))
        shapes = (*snapshot.shapes, *(Shape(needs, labels) for needs, labels in numbers))
        return replace(snapshot, shapes=shapes), numbers

    # -- one try ---------------------------------------------------------------------------------------

    def tried(self, each: Attempt, ranked: RankedGroup, ask: Ask) -> Move | None:
        """First the group takes its seats, so that those who move keep out of its way; then for certain."""
        checkpoint = self.trial.checkpoint()
        self.trial.evict(self.units.pods_of(self.units.chosen(each.units)))
        seats = self._seats(ask)
        if seats:
            commit(self.trial, ask, quorum_of(ask, seats))
        targets = self._elsewhere(each) if seats else None
        self.trial.rollback(checkpoint)
        if targets is None or not self._works(targets, ranked):
            return None
        return self._move(each, targets)

    def _seats(self, ask: Ask) -> Assignment:
        return self.survey.rehearsal.seats(self.trial, ask, self.survey.quick_context)

    def _elsewhere(self, each: Attempt) -> dict[int, int] | None:
        """Where every pod that moves goes; None if there is no room for one."""
        targets = dict[int, int]()
        for unit in each.units:
            pods = self.mover.pods_of(unit)
            ask = self._ask_again(pods)
            seats = self._seats(ask)
            if len(seats) < len(pods):
                return None
            commit(self.trial, ask, seats)
            targets |= {pods[member]: row for member, row in seats}
        return targets

    def _ask_again(self, pods: list[int]) -> Ask:
        """What pods that run ask for: all of them, near those of their group who stay."""
        shapes = tuple(self._shape(pod) for pod in pods)
        orders = tuple((place, 0.0, "") for place in range(len(pods)))
        group = self.survey.evictable.group_of(pods[0])
        if group is None:
            return Ask(shapes, orders, len(pods), TopologyRequest())
        staying = (self.bound.group == self.bound.group[pods[0]]) & ~self.bound.terminating
        staying[pods] = False
        rows = sorted(self.bound.node[staying].tolist())
        seated = tuple(RunningMember((0, 0.0, ""), row) for row in rows)
        return Ask(shapes, orders, len(pods), group.topology, seated)

    def _shape(self, pod: int) -> int:
        return self._shape_of[int(self.bound.needs[pod]), int(self.bound.labels[pod])]

    # -- for certain -----------------------------------------------------------------------------------

    def _works(self, targets: dict[int, int], ranked: RankedGroup) -> bool:
        """Whether the group is seated once the pods are elsewhere and all ahead of it have had their turn."""
        checkpoint = self.trial.checkpoint()
        pods = np.array(list(targets), dtype=np.intp)
        self.trial.evict(pods)
        for pod, row in targets.items():
            self.trial.seat(self._shape(pod), np.array([row], dtype=np.intp), np.ones(1, dtype=np.int64))
        self._serve_those_ahead(ranked, np.unique(self.bound.node[pods]))
        works = bool(self._seats(ask_of(ranked.view)))
        self.trial.rollback(checkpoint)
        return works

    def _serve_those_ahead(self, ranked: RankedGroup, freed: Codes) -> None:
        """Groups ahead of it, and members that others lack, as far as they can use a node with new room."""
        rehearsal, too_large = self.survey.rehearsal, set[Hashable]()
        for other in rehearsal.ranked_groups[: ranked.place]:
            ask = self.survey.still_asks(other)
            useful = any(self.trial.columns.copies(shape)[freed].any() for shape in ask.distinct)
            if not useful or rehearsal.kin(other) in too_large:
                continue
            seats = self._seats(ask)
            if seats:
                whole = not ask.need or other.turn.surplus < ranked.turn
                first = seats if whole else quorum_of(ask, seats)
                commit(self.trial, ask, first)
            elif rehearsal.plain(other):
                too_large.add(rehearsal.kin(other))

    # -- in words --------------------------------------------------------------------------------------

    def _move(self, each: Attempt, targets: dict[int, int]) -> Move:
        """Units that could stay after all are left out; then the node is not drained."""
        names, node = self.mover.snapshot.nodes.names, self.bound.node
        pods_of = {unit: self.mover.pods_of(unit) for unit in each.units}
        moving = [unit for unit, pods in pods_of.items() if any(targets[pod] != node[pod] for pod in pods)]
        drained = None if each.node is None or len(moving) < len(each.units) else names[each.node]
        chosen = self.units.chosen(moving)
        return Move(
            kind="migration" if drained is None else "drain",
            units=tuple(self.units.names(chosen)),
            node=drained,
            pods=tuple(
                PodMove(self.bound.occupants[pod].key, names[node[pod]], names[targets[pod]])
                for unit in moving
                for pod in pods_of[unit]
            ),
            lost_device_hours=self.units.toll(chosen).work_lost_device_hours,
        )


def is_cut(group: Group) -> bool:
    """Whether its members may not sit anywhere near each other: slices, and parts of trees, have more domains
    than its own."""
    return bool(group.topology.slice_size or group.parent)
