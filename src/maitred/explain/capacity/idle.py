"""Why devices are idle: each of them under exactly one reason, the first of these that holds.

- Starting, Promised: a group sits down on them now, or will once others have left;
- NotManaged: the policy gives the node to others;
- NotReady, Cordoned, Unhealthy: a taint of health closes the node;
- Unwell, NotAnswering, NotRegistered: the device plugin of the node reports that some of its devices are
  unhealthy, offers none of them, or is not registered;
- DeviceTainted: of devices that claims are for, those that are tainted themselves;
- Tainted: nobody who waits for such devices tolerates a taint of the node. Where nobody waits, those count
  who have some;
- Reserved: a reservation has begun, and nobody for whom it is has taken them yet;
- Held: a group that waits has a hold on them;
- Stranded: the node has too little of something else for any pod that asks for such devices;
- Quota, Budget: a limit, or a budget, of their queue is what keeps groups waiting that could use such a
  device on that node: as many as these ask for;
- Fragmented: groups that wait for room could use such a device on that node, but too few are left together;
- Free: nobody who waits asks for them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.selection import REPELLING, required_nodes, tainted_nodes, tolerated_nodes
from maitred.decide.holding.waiting import PlannedGroup
from maitred.decide.holding.words import said
from maitred.explain.capacity.document import Idle, IdlePart, IdleReason
from maitred.explain.capacity.survey import CORE, Survey
from maitred.explain.remedies.rehearsal import RankedGroup
from maitred.explain.tables import listed
from maitred.model.needs import Needs
from maitred.model.node import NOT_READY, UNREACHABLE, UNSCHEDULABLE
from maitred.model.pod import Toleration
from maitred.model.policy import health_taints
from maitred.model.quantity import CPU, PODS
from maitred.model.unwell import Cause
from maitred.model.words import counted, moment

MOST_MODELS = 12
MOST_DETAILS = 4
CAUSES: dict[Cause, IdleReason] = {
    "Unhealthy": "Unwell",
    "NotAnswering": "NotAnswering",
    "NotRegistered": "NotRegistered",
}
"""`Unhealthy` is said of nodes."""


@dataclass(frozen=True, slots=True)
class IdleCount:
    """So many on each node, for one reason."""

    reason: IdleReason
    detail: str
    amounts: Ints
    until: str | None = None


def uncounted(survey: Survey) -> Iterator[str]:
    """Devices that labels tell of, and not how many there are."""
    nodes = survey.snapshot.nodes
    found = [
        (name, row) for row, some in nodes.unwell.items() for name, o in some.items() if not o.is_counted
    ]
    for resource in sorted({resource for resource, _ in found}):
        names = sorted(nodes.names[row] for name, row in found if name == resource)
        shown = listed(names[:MOST_DETAILS], "node", len(names))
        yield (
            f"{counted(len(names), 'node')} ({shown}) may have {resource} that are not counted here: the "
            f"device plugin is not registered, and no label says how many there are"
        )


def idle_by_model(survey: Survey, resource: str) -> Iterator[Idle]:
    """Of what device plugins offer, or of cpu: by the models of nodes."""
    sorting = PluginSorting(survey, resource)
    parts, codes, names = list(sorting.parts()), survey.models.codes, survey.models.names
    have = sorting.have
    largest = sorted(
        np.unique(codes[have > 0]).tolist(), key=lambda code: (-int(have[codes == code].sum()), names[code])
    )
    for place, code in enumerate(largest[:MOST_MODELS]):
        rest = place == MOST_MODELS - 1 and len(largest) > MOST_MODELS
        inside = np.isin(codes, largest[place:]) if rest else codes == code
        model = f"{len(largest) - place} other models" if rest else names[code]
        price = None if rest else survey.price_of(resource, names[code])
        yield Idle(
            resource,
            model,
            int(have[inside].sum()),
            int((have - sorting.offered)[inside].sum()),
            int(sorting.idle[inside].sum()),
            tuple(shown_parts(parts, inside, _unit_price(resource, price))),
        )


def _unit_price(resource: str, price: float | None) -> float | None:
    return price if price is None or resource != CPU else price / CORE


def shown_parts(parts: Sequence[IdleCount], inside: Mask, price: float | None) -> Iterator[IdlePart]:
    for part in parts:
        amounts = part.amounts[inside]
        total = int(amounts.sum())
        if total:
            cost = None if price is None else round(total * price, 2)
            nodes = int(np.count_nonzero(amounts))
            yield IdlePart(part.reason, part.detail, total, nodes, cost, part.until)


class Sorting(ABC):
    """Takes what is idle of one kind of devices apart: every step takes its part of what the steps before
    left."""

    def __init__(self, survey: Survey, idle: Ints) -> None:
        self.survey, self.snapshot = survey, survey.snapshot
        self.nodes = self.snapshot.nodes
        self.idle = idle
        self._left = idle.copy()

    def parts(self) -> Iterator[IdleCount]:
        starting, promised = self._given()
        yield self._take("Starting", "", starting)
        yield self._take("Promised", "", promised)
        yield self._take("NotManaged", "", ~self.survey.managed)
        yield from self._closed()
        yield from self._unwell()
        yield from self._tainted()
        yield from self._reserved()
        yield from self._planned()
        yield from self._stranded()
        yield from self._held()
        yield self._take("Fragmented", "", self._accepted_by(self._for_room))
        yield self._take("Free", "", np.ones(len(self._left), dtype=np.bool_))

    @abstractmethod
    def _given(self) -> tuple[Ints, Ints]:
        """What groups get that start now, and what is held for others."""

    @abstractmethod
    def _unwell(self) -> Iterator[IdleCount]:
        """By what their device plugins or drivers say of them."""

    @abstractmethod
    def _numbers_of(self, groups: Sequence[RankedGroup]) -> set[int]:
        """The needs of members of these that still wait, and ask for such devices."""

    @abstractmethod
    def _asked_by(self, ranked: RankedGroup) -> int:
        """How many such devices the members ask for that a group lacks for its quorum."""

    @abstractmethod
    def _each_of(self, plan: PlannedGroup, shape: int) -> int:
        """How many such devices a member of this shape asks for of a group that has a hold."""

    @abstractmethod
    def _using_numbers(self) -> set[int]:
        """The needs of those who have some, or are about to."""

    @property
    def _usual_tolerations(self) -> tuple[Toleration, ...]:
        """Of pods that ask for such devices, where nobody does."""
        return ()

    def _take(
        self, reason: IdleReason, detail: str, what: "Mask | Ints", until: str | None = None
    ) -> IdleCount:
        """All that is left on some nodes, or at most so much on each."""
        taken = np.where(what, self._left, 0) if what.dtype == np.bool_ else np.minimum(self._left, what)
        self._left = self._left - taken
        return IdleCount(reason, detail, taken, until)

    # -- what is kept for somebody ---------------------------------------------------------------------

    def _reserved(self) -> Iterator[IdleCount]:
        """By reservations that have begun."""
        for one in self.survey.reserved:
            mask = np.zeros(len(self._left), dtype=np.bool_)
            mask[one.rows] = True
            yield self._take("Reserved", str(one.said.beneficiary), mask, moment(one.span[1] // 1000))

    def _planned(self) -> Iterator[IdleCount]:
        """What groups that have holds are to have there; the first of them by name."""
        told = 0
        for plan in self.survey.planned:
            amounts = np.zeros_like(self._left)
            for member, row in plan.place.seats:
                amounts[row] += self._each_of(plan, plan.kept.ask.shapes[member])
            if not np.minimum(amounts, self._left).any():
                continue
            told += 1
            key, begins = (plan.key, begin_of(plan)) if told <= MOST_DETAILS else ("", None)
            yield self._take("Held", key, amounts, begins)

    # -- nodes that nobody can be seated on ------------------------------------------------------------

    def _closed(self) -> Iterator[IdleCount]:
        health = health_taints(self.survey.policy)
        lost = (NOT_READY, UNREACHABLE)
        yield self._take("NotReady", "", self._with_taint(frozenset(lost)))
        yield self._take("Cordoned", "", self._with_taint(frozenset((UNSCHEDULABLE,))))
        yield from self._by_taint("Unhealthy", health, np.ones(len(self._left), dtype=np.bool_))

    def _tainted(self) -> Iterator[IdleCount]:
        repelled = ~np.logical_or.reduce([tolerated_nodes(self.nodes, t) for t in self._tolerations])
        yield from self._by_taint("Tainted", None, repelled)

    def _by_taint(self, reason: IdleReason, keys: frozenset[str] | None, among: Mask) -> Iterator[IdleCount]:
        """One part for each taint that keeps most away, and one for the rest."""
        repelling = {
            taint.key for taints in self.nodes.taint_sets for taint in taints if taint.effect in REPELLING
        }
        found = []
        for key in sorted(repelling if keys is None else repelling & keys):
            mask = self._with_taint(frozenset((key,))) & among
            if self._left[mask].any():
                found.append((-int(self._left[mask].sum()), key, mask))
        for _, key, mask in sorted(found, key=lambda each: each[:2])[:MOST_DETAILS]:
            yield self._take(reason, key, mask)
        everyone = among if keys is None else self._with_taint(keys) & among
        yield self._take(reason, "other taints", everyone)

    def _with_taint(self, keys: frozenset[str]) -> Mask:
        return tainted_nodes(self.nodes, keys, REPELLING) & self.nodes.alive

    # -- who could use it ------------------------------------------------------------------------------

    @cached_property
    def _waiting(self) -> list[Needs]:
        return [self.snapshot.needs[number] for number in sorted(self._numbers_of(self.survey.waiting))]

    @cached_property
    def _known(self) -> list[Needs]:
        """Of those who wait; or else of those who run, or are about to."""
        return self._waiting or [self.snapshot.needs[number] for number in sorted(self._using_numbers())]

    @cached_property
    def _tolerations(self) -> list[tuple[Toleration, ...]]:
        return [*dict.fromkeys(needs.tolerations for needs in self._known)] or [self._usual_tolerations]

    @cached_property
    def _held_groups(self) -> list[tuple[IdleReason, str, list[RankedGroup]]]:
        """Groups that wait for a limit or a budget, by whose it is; those that ask for most, first."""
        found = dict[tuple[IdleReason, str], list[RankedGroup]]()
        for ranked in self.survey.waiting if self.survey.kept_back else ():
            blocker = self.survey.kept_back.get(self.survey.rehearsal.kin(ranked))
            if blocker is not None and self._asked_by(ranked):
                reason: IdleReason = "Budget" if blocker.category == "Budget" else "Quota"
                found.setdefault((reason, str(blocker.detail.get("queue", ""))), []).append(ranked)
        return sorted(
            ((*whose, groups) for whose, groups in found.items()),
            key=lambda one: (-sum(map(self._asked_by, one[2])), *one[:2]),
        )

    @cached_property
    def _for_room(self) -> list[RankedGroup]:
        """Groups that wait, and for no limit of their queue."""
        held, kin = self.survey.kept_back, self.survey.rehearsal.kin
        return [ranked for ranked in self.survey.waiting if not held or kin(ranked) not in held]

    def _held(self) -> Iterator[IdleCount]:
        """No more than they ask for, where most is left together."""
        told, others = self._held_groups[:MOST_DETAILS], self._held_groups[MOST_DETAILS:]
        for reason, queue, groups in told:
            yield self._take(reason, queue, self._enough_for(groups))
        for reason in dict.fromkeys(reason for reason, _, _ in others):
            groups = [one for other, _, own in others if other == reason for one in own]
            yield self._take(reason, "", self._enough_for(groups))

    def _enough_for(self, groups: Sequence[RankedGroup]) -> Ints:
        """On each node, what these could use there: together as many as they ask for."""
        there = np.where(self._accepted_by(groups), self._left, 0)
        order = np.argsort(-there, kind="stable")
        before = np.cumsum(there[order]) - there[order]
        amounts = np.zeros_like(there)
        amounts[order] = np.clip(sum(map(self._asked_by, groups)) - before, 0, there[order])
        return amounts

    def _accepted_by(self, groups: Sequence[RankedGroup]) -> Mask:
        """Nodes that some of these groups would accept."""
        accepted = np.zeros(len(self._left), dtype=np.bool_)
        asked = [self.snapshot.needs[number] for number in sorted(self._numbers_of(groups))]
        for node, tolerations in dict.fromkeys((needs.node, needs.tolerations) for needs in asked):
            accepted |= required_nodes(self.nodes, node) & tolerated_nodes(self.nodes, tolerations)
        return accepted

    def _stranded(self) -> Iterator[IdleCount]:
        """By the first resource of which the node has less than the most modest pod asks for."""
        room = self.survey.trial.columns.room
        asked = [dict(needs.requests) for needs in self._known] or [{PODS: 1}]
        for resource in sorted(set.intersection(*(set(each) for each in asked)) - self._own):
            least, column = min(each[resource] for each in asked), self.nodes.resource_column(resource)
            if column is not None:
                yield self._take("Stranded", resource, room[column] < least)

    @property
    def _own(self) -> set[str]:
        """The resource that is looked at."""
        return set()


def begin_of(plan: PlannedGroup) -> str | None:
    return None if plan.basis == "age" else said(plan.place.tenure.begin)


class PluginSorting(Sorting):
    """Of a resource of the nodes."""

    def __init__(self, survey: Survey, resource: str) -> None:
        nodes, self.resource = survey.snapshot.nodes, resource
        self.column = nodes.resources.index(resource)
        self.offered: Ints = nodes.allocatable[self.column] * nodes.alive
        self.have: Ints = nodes.whole().allocatable[self.column] * nodes.alive
        free = self.have - survey.snapshot.used[self.column]
        super().__init__(survey, np.maximum(free, 0) * nodes.alive)

    def _given(self) -> tuple[Ints, Ints]:
        trial, column = self.survey.trial, self.column
        free, room = trial.columns.free[column], trial.columns.room[column]
        before = self.nodes.allocatable[column] - self.snapshot.used[column]
        return np.maximum(before - free, 0), np.maximum(free - room, 0)

    def _unwell(self) -> Iterator[IdleCount]:
        for cause, reason in CAUSES.items():
            amounts = np.zeros_like(self._left)
            for row, unwell in self.nodes.unwell.items():
                if self.resource in unwell and unwell[self.resource].cause == cause:
                    amounts[row] = unwell[self.resource].unwell
            yield self._take(reason, "", amounts)

    def _numbers_of(self, groups: Sequence[RankedGroup]) -> set[int]:
        shapes = {shape for ranked in groups for shape in np.unique(ranked.view.shapes).tolist()}
        return {n for n in (self.snapshot.shapes[shape].needs for shape in shapes) if self._asks(n)}

    def _asked_by(self, ranked: RankedGroup) -> int:
        shapes = (self.snapshot.shapes[shape].needs for shape in ranked.view.shapes.tolist())
        each = sorted(dict(self.snapshot.needs[number].requests).get(self.resource, 0) for number in shapes)
        return sum(each[: ranked.view.missing])

    def _each_of(self, plan: PlannedGroup, shape: int) -> int:
        requests = self.snapshot.needs[self.snapshot.shapes[shape].needs].requests
        return dict(requests).get(self.resource, 0)

    def _using_numbers(self) -> set[int]:
        starting = {self.snapshot.shapes[s].needs for v in self.snapshot.groups for s in v.shapes.tolist()}
        running = set(np.unique(self.snapshot.bound.needs).tolist())
        return {number for number in starting | running if self._asks(number)}

    def _asks(self, number: int) -> bool:
        return any(resource == self.resource for resource, _ in self.snapshot.needs[number].requests)

    @property
    def _usual_tolerations(self) -> tuple[Toleration, ...]:
        return (Toleration(key=self.resource, operator="Exists"),)

    @property
    def _own(self) -> set[str]:
        return {self.resource}
