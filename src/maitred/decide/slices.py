"""Slices: every N members of a group together in one domain of a narrower level.

Members are cut into slices by their index, or else by their place in the member order. A slice is seated
whole or not at all; one that has members seated already stays in their domain.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from maitred.cluster.nodes import Codes, Mask
from maitred.cluster.snapshot import JOB_SPAN, MemberOrder, RunningMember
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.context import Context, Waiver
from maitred.decide.levels import codes_inside, codes_of
from maitred.decide.place import candidates
from maitred.decide.seating import commit, make_ladder, rules_for, seat_within
from maitred.decide.seats import Demand, Steps
from maitred.model.group import TopologyRequest


@dataclass(slots=True)
class Slice:
    members: list[int] = field(default_factory=list)
    seated: list[RunningMember] = field(default_factory=list)


def seat_slices(
    trial: Trial, ask: Ask, within: Mask, context: Context, steps: Steps, waiver: Waiver
) -> Assignment | None:
    """Whole slices in one required domain: in the one that takes most of them, and that they fill best."""
    best: Assignment | None = None
    for domain, preferred in _domains(trial, ask, context, waiver, within):
        if not steps.goes_on():
            break
        found = _Slicing(trial, ask, context, steps, waiver, domain).seat()
        complete = found is not None and len(found) == len(ask.shapes)
        if found is not None and (complete or not preferred) and (best is None or len(found) > len(best)):
            best = found
        if complete:
            break
    if best is None and not _countable(trial, ask, context, waiver):
        steps.exhausted = True  # slices were tried one after the other, which proves nothing
    return best


def _countable(trial: Trial, ask: Ask, context: Context, waiver: Waiver) -> bool:
    """Whether slices are alike and do not touch each other, so that counting them is a proof."""
    rules = rules_for(trial, ask, context, waiver)
    return len(ask.distinct) == 1 and rules.simple


def whole_slices(ask: Ask, found: Assignment) -> Assignment:
    """The first of the seats that make up the quorum, without leaving a slice in part."""
    taken: Assignment = []
    seats = dict(found)
    for piece in cut(ask):
        if len(taken) < ask.need:
            taken += [(member, seats[member]) for member in piece.members if member in seats]
    return taken


def cut(ask: Ask) -> list[Slice]:
    """The slices that wait, those begun first."""
    size = ask.topology.slice_size
    everyone = sorted([*ask.orders, *(member.order for member in ask.seated)])
    number = dict(zip(everyone, slice_numbers(everyone, size), strict=True))
    slices: dict[int, Slice] = {}
    for member, order in enumerate(ask.orders):
        slices.setdefault(number[order], Slice()).members.append(member)
    for seated in ask.seated:
        if number[seated.order] in slices:
            slices[number[seated.order]].seated.append(seated)
    return [slices[n] for n in sorted(slices, key=lambda n: (not slices[n].seated, n))]


def slice_numbers(everyone: Sequence[MemberOrder], size: int) -> list[int]:
    """The slice of each member, given all of them in their order: by index; by place in that order where one
    has none, or where they are of several Jobs."""
    indexed = all(order[0] < JOB_SPAN for order in everyone)
    return [(order[0] if indexed else place) // size for place, order in enumerate(everyone)]


def _domains(
    trial: Trial, ask: Ask, context: Context, waiver: Waiver, within: Mask
) -> Iterator[tuple[Mask, bool]]:
    """Where all slices could be: preferred domains that hold everyone, then those of the required level."""
    rules = rules_for(trial, ask, context, waiver)
    ladder, demand = make_ladder(trial.nodes, ask, context, waiver), ask.demand()
    everyone = Demand(demand.counts, demand.want, demand.want)
    for codes in ladder.rungs if ask.topology.preferred else ():
        for domain, _ in candidates(rules, within, codes, ladder.anchors, everyone, context.policy):
            yield within & (codes == domain), True
    for domain, _ in candidates(rules, within, ladder.widest, ladder.anchors, demand, context.policy):
        yield within & (ladder.widest == domain), False


class _Slicing:
    """Seats slice by slice, taking back when a later one finds no place."""

    def __init__(
        self, trial: Trial, ask: Ask, context: Context, steps: Steps, waiver: Waiver, within: Mask
    ) -> None:
        self.trial, self.ask, self.context, self.steps, self.waiver = trial, ask, context, steps, waiver
        self.within = within
        self.codes = self._slice_codes()
        self.slices = cut(ask)

    def seat(self) -> Assignment | None:
        if self._too_many():
            return None
        found = self._seat_from(0, [])
        return found if found else None

    def _too_many(self) -> bool:
        """Whether slices of so many members, of one shape, are more than the domains have room for."""
        free = [len(piece.members) for piece in self.slices if not piece.seated]
        if len(self.ask.distinct) > 1 or not free:
            return False
        rules = rules_for(self.trial, self.ask, self.context, self.waiver)
        inside = self.within & (self.codes >= 0)
        room = np.bincount(self.codes[inside], weights=rules.copies[0][inside], minlength=1).astype(np.int64)
        size = max(free)
        whole = min(free.count(size), int((room // size).sum())) * size
        begun = sum(len(piece.members) for piece in self.slices if piece.seated)
        return begun + whole + sum(length for length in free if length < size) < max(1, self.ask.need)

    def _slice_codes(self) -> Codes:
        request, nodes = self.ask.topology, self.trial.nodes
        key = self.context.key(request.slice_level)
        if not request.required:
            return codes_of(nodes, key)
        return codes_inside(nodes, key, self.context.key(request.required))

    def _seat_from(self, index: int, seated: Assignment) -> Assignment | None:
        """Slices from `index` on, beside those seated: each in the best domain, or left out if it must be."""
        waiting = sum(len(piece.members) for piece in self.slices[index:])
        if len(seated) + waiting < max(1, self.ask.need):
            return None
        if index == len(self.slices):
            return seated
        piece = self.slices[index]
        for domain in self._domains_for(piece):
            if not self.steps.take():
                return None
            checkpoint = self.trial.checkpoint()
            taken = self._seat_slice(piece, domain)
            found = self._seat_from(index + 1, [*seated, *taken]) if taken else None
            self.trial.rollback(checkpoint)
            if found is not None:
                return found
        return self._seat_from(index + 1, seated)

    def _piece(self, piece: Slice) -> Ask:
        return replace(
            self.ask,
            shapes=tuple(self.ask.shapes[member] for member in piece.members),
            orders=tuple(self.ask.orders[member] for member in piece.members),
            need=len(piece.members),
            topology=TopologyRequest(),
            seated=tuple(piece.seated),
        )

    def _domains_for(self, piece: Slice) -> list[Mask]:
        if piece.seated:
            taken = np.unique(self.codes[[member.node for member in piece.seated]])
            return [self.within & (self.codes == taken[0])] if len(taken) == 1 and taken[0] >= 0 else []
        ask = self._piece(piece)
        rules = rules_for(self.trial, ask, self.context, self.waiver)
        demand = Demand(ask.demand().counts, ask.need, ask.need)
        found = candidates(rules, self.within, self.codes, ask.anchors(), demand, self.context.policy)
        return [self.within & (self.codes == domain) for domain, _ in found]

    def _seat_slice(self, piece: Slice, domain: Mask) -> Assignment:
        ask = self._piece(piece)
        found = seat_within(self.trial, ask, domain, self.context, self.steps, self.waiver)
        if found is None:
            return []
        commit(self.trial, ask, found)
        return [(piece.members[member], row) for member, row in found]
