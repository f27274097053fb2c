"""Whether a group that preempts fits once some units have left, and where its members would sit then."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maitred.cluster.journal import Rows, Selection
from maitred.cluster.nodes import Codes, Ints, Mask
from maitred.cluster.supply.fit import Room
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment, hand_out
from maitred.decide.attempt import attempt, quorum_of
from maitred.decide.bounds import Floats, most_in
from maitred.decide.compile import looks_of_rules, make_rules
from maitred.decide.context import FULL_RULES, Context
from maitred.decide.levels import Ladder, codes_of
from maitred.decide.place import place
from maitred.decide.preemption.units import Price, Units
from maitred.decide.queues.admission import is_limited
from maitred.decide.rules import Rules
from maitred.decide.scoring import has_soft_company
from maitred.decide.seating import make_ladder, required_domain, rules_for
from maitred.decide.seats import PASS, Steps
from maitred.model.quantity import LARGEST_AMOUNT

EVERYTHING = slice(None)


@dataclass(frozen=True, slots=True)
class Option:
    """Units that, once gone, make room, and where the group would then sit."""

    chosen: Mask
    seats: Assignment
    price: Price


@dataclass(frozen=True, slots=True)
class NodesAfter:
    """Some nodes once pods have left them: what is free there of the resources that members ask for."""

    rows: Rows
    free: Ints
    measures: Ints
    most: int
    """A bound on the members who could sit in one domain then."""


class Feasibility:
    def __init__(self, trial: Trial, emptied: Trial, ask: Ask, context: Context, units: Units) -> None:
        """`trial`: the cluster once those who leave anyway have left; `emptied`: without any candidate."""
        self.trial, self.emptied, self.context, self.units = trial, emptied, context, units
        self.ask = only_quorum(ask)
        self.exhausted = False
        self._known = dict[bytes, Assignment | None]()
        """Seats for sets of units that were asked about before."""

    def goes_on(self) -> bool:
        """Whether more may be tried for this group in this cycle."""
        self.exhausted |= self.context.meter.over
        return not self.context.meter.over

    def seats(self, chosen: Mask) -> Assignment | None:
        """Where the quorum would sit if these units left; None if that is not enough."""
        entries = self.units.entries_of(chosen)
        self.context.meter.take(PASS + len(entries))
        key = entries.tobytes()
        if key not in self._known:
            self._known[key] = self._seats(entries)
        return self._known[key]

    def _seats(self, entries: Ints) -> Assignment | None:
        steps = self.context.steps()
        found = self._seats_by_sums(entries, steps) if self.by_sums else self._seats_tried(entries, steps)
        self.exhausted |= steps.exhausted
        return None if found is None else quorum_of(self.ask, found)

    def too_few(self, chosen: Mask) -> bool:
        """Whether sums tell that there is too little room if these units left, or only some of them."""
        return self.plain and self._after(self.units.entries_of(chosen)).most < self.ask.need

    # -- members to whom it is all the same who leaves -------------------------------------------------

    @cached_property
    def by_sums(self) -> bool:
        """Whether all that changes for the members is how much room there is: then no pod has to be evicted
        to see where they would sit."""
        soft = any(has_soft_company(self.trial.needs(shape)) for shape in self.ask.distinct)
        if soft or self.ask.intricate or is_limited(self.trial, self.ask):
            return False
        return self.plain or not any(map(self._minds_candidates, self.ask.distinct))

    def _minds_candidates(self, shape: int) -> bool:
        """Whether some candidate is more to a member than the room that it takes: one that it must be near
        or away from, or that has what it asks for."""
        before, after, needs = self.trial.neighbours, self.emptied.neighbours, self.trial.needs(shape)
        selections = [Selection((term,), True, True) for term in needs.anti_affinity]
        selections += [Selection((constraint.pods,), False) for constraint in needs.spread]
        selections += [Selection(needs.affinity, True)] if needs.affinity else []
        if any((before.matching(each) != after.matching(each)).any() for each in selections):
            return True
        foes = dict(after.foes_of(shape))
        if any((held != foes[term]).any() for term, held in before.foes_of(shape)):
            return True
        others = (supply for supply in self.trial.supplies if supply is not self.trial.columns)
        candidates = np.flatnonzero(self._candidates)
        return any(supply.asked_by(shape) and supply.held_by(candidates) for supply in others)

    @cached_property
    def _lasting(self) -> Rules:
        """What the members may do as far as it is the same whoever leaves; `copies` are as many as there may
        be on each node, however much room there is."""
        if self.plain:
            return self.empty
        columns = self.trial.columns
        endless = columns.with_free(np.full_like(columns.free, LARGEST_AMOUNT))
        return make_rules(self.trial.with_supply(endless), self.ask.distinct, self.context.policy)

    def _seats_by_sums(self, entries: Ints, steps: Steps) -> Assignment | None:
        after, within = self._after(entries), self._within
        if after.most < self.ask.need or within is None:
            return None
        self.context.meter.take(self._looks)
        free, copies = self.trial.columns.free.copy(), self._before[0][: len(self.ask.distinct)].copy()
        for column, amounts in zip(self.columns.tolist(), after.free, strict=True):
            free[column, after.rows] = amounts
        for column, amounts in zip(copies, after.measures[: len(copies)], strict=True):
            column[after.rows] = amounts
        rooms = [
            Room(free[column], tuple(use))
            for column, use in zip(self.columns, self.uses.T.tolist(), strict=True)
        ]
        trial = self.trial.with_supply(self.trial.columns.with_free(free))
        rules = replace(self._lasting, trial=trial, copies=list(copies), rooms=rooms)
        seats = place(rules, within, self._ladder, self.ask.demand(), self.context.policy, steps)
        return None if seats is None else hand_out(self.ask, seats, any_order=not rules.ordered)

    @cached_property
    def _looks(self) -> int:
        """What it takes to make rules for the members."""
        return looks_of_rules(self.trial, self.ask.distinct)

    def _after(self, entries: Ints) -> NodesAfter:
        """What there is once these pods have left, on those of their nodes that could take a member."""
        bounded = self._bounded
        entries = entries[bounded[self.nodes[entries]]]
        rows, nodes = places_among(self.nodes[entries], len(bounded))
        free = self.free_on(rows)
        for column, freed in zip(free, self.freed(entries), strict=True):
            np.add.at(column, nodes, freed)
        measures, (before, sums) = self._measures(rows, free), self._before
        return NodesAfter(
            rows, free, measures, self._most(sums + self._by_domain(rows, measures - before[:, rows]))
        )

    @cached_property
    def _before(self) -> tuple[Ints, Floats]:
        """The measures of every node before any pod has left, and what they add up to in each domain."""
        rows = np.flatnonzero(self._bounded)
        found = self._measures(rows, self.free_on(rows))
        measures = np.zeros((len(found), len(self._bounded)), dtype=np.int64)
        measures[:, rows] = found
        return measures, self._by_domain(rows, found)

    @cached_property
    def _bounded(self) -> Mask:
        """Nodes that could take a member once all candidates have left, and are in a domain."""
        if self._within is None:
            return np.zeros(len(self.domains), dtype=np.bool_)
        most = zip(self._lasting.copies, self.ask.distinct, strict=True)
        fits = [(copies > 0) & (self.emptied.columns.copies(shape) > 0) for copies, shape in most]
        bounded: Mask = self._within & (self.domains >= 0) & np.logical_or.reduce(fits)
        return bounded

    def _measures(self, rows: Rows, free: Ints) -> Ints:
        """On each of these nodes the members of each shape for which so much is enough, and, where there are
        several shapes, how much it is: they share it."""
        copies = list[Ints]()
        for most, use in zip(self._lasting.copies, self.uses, strict=True):
            fit = [each // used for each, used in zip(free, use.tolist(), strict=True) if used]
            copies.append(np.maximum(least_of([*fit, most[rows]]), 0))
        if len(copies) == 1:
            return np.array(copies)
        hospitable = np.logical_or.reduce([each > 0 for each in copies])
        return np.concatenate((copies, np.where(hospitable, np.maximum(free, 0), 0)))

    def _by_domain(self, rows: Rows, measures: Ints) -> Floats:
        domains, count = self.domains[rows], max(1, int(self.domains.max(initial=0)) + 1)
        return np.array([np.bincount(domains, weights=each, minlength=count) for each in measures])

    def _most(self, sums: Floats) -> int:
        """A bound on the members who could sit in the best of the domains that come to these sums."""
        counts = self.ask.demand().counts
        most = np.minimum(sums[: len(counts)], np.array(counts)[:, None]).sum(axis=0).astype(np.int64)
        if len(counts) > 1:
            for room, use in zip(sums[len(counts) :], self.uses.T, strict=True):
                np.minimum(most, most_in(room, use.tolist(), counts), out=most)
        return int(most.max(initial=0))

    # -- members who mind others -----------------------------------------------------------------------

    def _seats_tried(self, entries: Ints, steps: Steps) -> Assignment | None:
        if self.plain and self._after(entries).most < self.ask.need:
            return None
        trial, checkpoint = self._once_left(self.units.pods[entries])
        found = attempt(trial, self.ask, self.context, steps)
        trial.rollback(checkpoint)
        return found

    def _once_left(self, pods: Rows) -> tuple[Trial, int]:
        """The cluster once these pods have left, and what to roll it back to. Where most of those leave who
        could, it is the one without any of them, to which the others come back."""
        if 2 * len(pods) > self._how_many:
            checkpoint, stay = self.emptied.checkpoint(), self._candidates.copy()
            stay[pods] = False
            self.emptied.bring_back(np.flatnonzero(stay))
            return self.emptied, checkpoint
        checkpoint = self.trial.checkpoint()
        self.trial.evict(pods)
        return self.trial, checkpoint

    @cached_property
    def _candidates(self) -> Mask:
        """Pods that are gone only where all have left who could."""
        return self.trial.here & ~self.emptied.here

    @cached_property
    def _how_many(self) -> int:
        return int(np.count_nonzero(self._candidates))

    # -- what there is ---------------------------------------------------------------------------------

    @cached_property
    def empty(self) -> Rules:
        """What the group may do once all candidates have left."""
        return rules_for(self.emptied, self.ask, self.context, FULL_RULES)

    @cached_property
    def useful(self) -> Mask:
        """Nodes that could take a member then."""
        if self._within is None:
            return np.zeros(len(self.trial.nodes.names), dtype=np.bool_)
        return self._within & self.empty.hospitable

    @cached_property
    def _within(self) -> Mask | None:
        return required_domain(self.trial, self.ask, self.context, FULL_RULES)

    @cached_property
    def _ladder(self) -> Ladder:
        return make_ladder(self.trial.nodes, self.ask, self.context, FULL_RULES)

    @cached_property
    def plain(self) -> bool:
        """Whether room is all that the members take from others: then arithmetic tells who may stay."""
        trial = self.trial
        if is_limited(trial, self.ask):
            return False
        for shape in self.ask.distinct:
            needs = trial.needs(shape)
            if needs.affinity or needs.anti_affinity or needs.spread:
                return False
            if any(supply.asked_by(shape) for supply in trial.supplies if supply is not trial.columns):
                return False
            if trial.neighbours.foes_of(shape):
                return False
        return True

    @cached_property
    def company(self) -> Mask:
        """Units with pods that a member must be near."""
        near = np.zeros(len(self.units), dtype=np.bool_)
        for shape in self.ask.distinct:
            terms = self.trial.needs(shape).affinity
            if terms:
                wanted = self.trial.neighbours.pods_matching(Selection(terms, True))
                near[self.units.unit[wanted[self.units.pods]]] = True
        return near

    @cached_property
    def columns(self) -> Rows:
        """The resources that members ask for."""
        nodes = self.trial.nodes
        asked = {resource for shape in self.ask.distinct for resource, _ in self.trial.needs(shape).requests}
        found = (nodes.resource_column(resource) for resource in sorted(asked))
        return np.array([column for column in found if column is not None], dtype=np.intp)

    @cached_property
    def uses(self) -> Ints:
        """What a member of each shape takes of those."""
        needs = [self.trial.needs(shape) for shape in self.ask.distinct]
        return np.array([self.trial.columns.request_column(each)[self.columns] for each in needs])

    def free_on(self, rows: Rows) -> Ints:
        """What some nodes have free of those, as long as no pod has left."""
        free = self.trial.columns.free
        return np.array([free[column].take(rows) for column in self.columns.tolist()], dtype=np.int64)

    def freed(self, entries: Ints | slice, of: Mask | slice = EVERYTHING) -> Ints:
        """What these entries free of the resources that members ask for, or of some of them."""
        return np.take(self.freed_by_needs[of], self.units.needs[entries], axis=1)

    @cached_property
    def freed_by_needs(self) -> Ints:
        """The same by the number of their needs."""
        return np.ascontiguousarray(self.trial.columns.amounts_by_needs[:, self.columns].T)

    @property
    def nodes(self) -> Rows:
        """The node of each entry of `units.pods`."""
        return self.units.nodes

    @cached_property
    def domains(self) -> Codes:
        """Where the group must stay together; one domain for all nodes if it need not."""
        required = self.ask.topology.required
        if required:
            return codes_of(self.trial.nodes, self.context.key(required))
        return np.zeros(len(self.trial.nodes.names), dtype=np.int32)

    def each_domain(self) -> Iterator[int]:
        if self.ask.topology.required:
            yield from np.unique(self.domains[self.useful]).tolist()
        elif self.useful.any():
            yield 0

    def touching(self, chosen: Mask, within: Mask) -> Mask:
        """Those of some units that have a pod on one of these nodes."""
        touching, (entries, _) = np.zeros_like(chosen), self.units.on_nodes(np.flatnonzero(within))
        touching[self.units.unit[entries]] = True
        touching &= chosen
        return touching

    @cached_property
    def helpful(self) -> Mask:
        """Units that would free something that members ask for, on a node that could take one."""
        present = self.units.present
        if not self.plain:
            return present
        some: Mask = np.any(self.freed_by_needs > 0, axis=0)
        entries, _ = self.units.on_nodes(np.flatnonzero(self.useful))
        helpful = np.zeros(len(self.units), dtype=np.bool_)
        helpful[self.units.unit[entries[some[self.units.needs[entries]]]]] = True
        return helpful & present


def places_among(nodes: Rows, count: int) -> tuple[Rows, Rows]:
    """Each of these nodes once, in order, and for each of all of them where it is among those; `count`: how
    many nodes there are."""
    there = np.zeros(count, dtype=np.bool_)
    there[nodes] = True
    rows, place = np.flatnonzero(there), np.empty(count, dtype=np.intp)
    place[rows] = np.arange(len(rows))
    return rows, place[nodes]


def least_of(columns: list[Ints]) -> Ints:
    """The least of each row of some columns."""
    least, *others = columns
    for column in others:
        least = np.minimum(least, column)
    return least


def only_quorum(ask: Ask) -> Ask:
    """Without members above the quorum, for which no pod leaves, where it does not matter which these are."""
    if len(ask.distinct) > 1 or ask.intricate:
        return ask
    return replace(ask, shapes=ask.shapes[: ask.need], orders=ask.orders[: ask.need])
