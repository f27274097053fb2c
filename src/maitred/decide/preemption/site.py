"""The site: the cluster as the group that preempts sees it, once all who could leave for it have left."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from maitred.cluster.nodes import Codes, Ints, Mask
from maitred.cluster.trial import Rows, Selection, Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.attempt import attempt, quorum_of
from maitred.decide.bounds import most_per_domain
from maitred.decide.house import FULL_RULES, House
from maitred.decide.levels import codes_of
from maitred.decide.preemption.units import Price, Units
from maitred.decide.rules import Room, Rules
from maitred.decide.seating import required_domain, rules_for
from maitred.decide.seats import PASS


@dataclass(frozen=True, slots=True)
class Option:
    """Units that, once gone, make room, and where the group would then sit."""

    chosen: Mask
    seats: Assignment
    price: Price


class Site:
    def __init__(self, trial: Trial, emptied: Trial, ask: Ask, house: House, units: Units) -> None:
        """`trial`: the cluster once those who leave anyway have left; `emptied`: without any candidate."""
        self.trial, self.emptied, self.house, self.units = trial, emptied, house, units
        self.ask = only_quorum(ask)
        self.exhausted = False

    def goes_on(self) -> bool:
        """Whether more may be tried for this group in this cycle."""
        self.exhausted |= self.house.meter.over
        return not self.house.meter.over

    def seats(self, chosen: Mask) -> Assignment | None:
        """Where the quorum would sit if these units left; None if that is not enough."""
        entries = self.units.entries_of(chosen)
        self.house.meter.take(PASS + len(entries))
        if self._too_few(entries):
            return None
        checkpoint = self.trial.checkpoint()
        self.trial.evict(self.units.pods[entries])
        steps = self.house.steps()
        found = attempt(self.trial, self.ask, self.house, steps)
        self.trial.rollback(checkpoint)
        self.exhausted |= steps.exhausted
        return None if found is None else quorum_of(self.ask, found)

    def too_few(self, chosen: Mask) -> bool:
        """Whether sums tell that there is too little room if these units left, or only some of them."""
        return self._too_few(self.units.entries_of(chosen))

    def _too_few(self, entries: Ints) -> bool:
        return self.plain and self._most_after(entries) < self.ask.need

    def _most_after(self, entries: Ints) -> int:
        """A bound on the members who could sit in one domain once these pods have left."""
        free = self.trial.free[self.columns]
        freed = self.freed_by(entries)[:, self.columns]
        for column, each in zip(free, freed.T, strict=True):
            np.add.at(column, self.nodes[entries], each)
        uses, copies = self.uses, list[Ints]()
        for mask, use in zip(self.empty.masks, uses, strict=True):
            asked = use > 0
            fit = (free[asked] // use[asked, None]).min(axis=0)
            copies.append(np.where(mask, np.maximum(fit, 0), 0))
        rooms = [Room(each, tuple(uses[:, place].tolist())) for place, each in enumerate(free)]
        rules = replace(self.empty, copies=copies, rooms=rooms)
        counts = [self.ask.shapes.count(shape) for shape in self.ask.distinct]
        return int(most_per_domain(rules, self.useful, self.domains, counts)[0].max(initial=0))

    @cached_property
    def empty(self) -> Rules:
        """What the group may do once all candidates have left."""
        return rules_for(self.emptied, self.ask, self.house, FULL_RULES)

    @cached_property
    def useful(self) -> Mask:
        """Nodes that could take a member then."""
        within = required_domain(self.trial, self.ask, self.house, FULL_RULES)
        if within is None:
            return np.zeros(len(self.trial.nodes.names), dtype=np.bool_)
        return within & self.empty.hospitable

    @cached_property
    def plain(self) -> bool:
        """Whether room is all that the members take from others: then arithmetic tells who may stay."""
        trial = self.trial
        for shape in self.ask.distinct:
            needs = trial.needs(shape)
            if needs.affinity or needs.anti_affinity or needs.spread or needs.host_ports:
                return False
            if trial.shape(shape).volumes:
                return False
            if trial.foes_of(shape):
                return False
        return True

    @cached_property
    def company(self) -> Mask:
        """Units with pods that a member must be near."""
        near = np.zeros(len(self.units), dtype=np.bool_)
        for shape in self.ask.distinct:
            terms = self.trial.needs(shape).affinity
            if terms:
                wanted = self.trial.pods_matching(Selection(terms, True))
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
        return np.array([self.trial.request_column(each)[self.columns] for each in needs])

    def freed_by(self, entries: Ints | slice) -> Ints:
        """What these entries of `units.pods` free of every resource, one row for each."""
        return self.trial.amounts_of(self.units.pods[entries])

    @property
    def nodes(self) -> Codes:
        """The node of each entry of `units.pods`."""
        return self.units.nodes

    @cached_property
    def domains(self) -> Codes:
        """Where the group must stay together; one domain for all nodes if it need not."""
        required = self.ask.topology.required
        if required:
            return codes_of(self.trial.nodes, self.house.key(required))
        return np.zeros(len(self.trial.nodes.names), dtype=np.int32)

    def each_domain(self) -> Iterator[int]:
        yield from np.unique(self.domains[self.useful]).tolist()

    def touching(self, chosen: Mask, within: Mask) -> Mask:
        """Those of some units that have a pod on one of these nodes."""
        touching, entries = np.zeros(len(self.units), dtype=np.bool_), self.units.entries_of(chosen)
        touching[self.units.unit[entries[within[self.nodes[entries]]]]] = True
        return touching

    @cached_property
    def helpful(self) -> Mask:
        """Units that would free something that members ask for, on a node that could take one."""
        present = self.units.present
        if not self.plain:
            return present
        some: Mask = np.any(self.trial.amounts_by_needs[:, self.columns] > 0, axis=1)
        frees = some[self.units.needs] & self.useful[self.nodes]
        helpful = np.zeros(len(self.units), dtype=np.bool_)
        helpful[self.units.unit[frees]] = True
        return helpful & present


def only_quorum(ask: Ask) -> Ask:
    """Without the members above the quorum, for whom nobody leaves, where it does not matter who they are."""
    if len(ask.distinct) > 1 or ask.topology.slice_size:
        return ask
    return replace(ask, shapes=ask.shapes[: ask.need], orders=ask.orders[: ask.need])
