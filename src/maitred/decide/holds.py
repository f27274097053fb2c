"""Holds: places that are kept for a group until it can take them.

There is one kind, whatever the reason: others were told to leave for the group, or a Job that was suspended
is on its way back. A hold says who, where and against which rank: a group of higher rank may take the places,
its equals and lesser ones may not. The API says until when: a hold lasts as long as the pods are nominated to
the nodes. Why they are is known to whoever nominated them.

A hold counts while it is of use: while the nodes are what the group needs, and there are enough of them for
what its quorum lacks.
"""

from dataclasses import dataclass, replace

import numpy as np

from maitred.cluster.nodes import Mask
from maitred.cluster.parts import Parts
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.context import FULL_RULES, Context, Waiver
from maitred.decide.levels import codes_of
from maitred.decide.queues.admission import is_admitted
from maitred.decide.seating import commit, required_domain, rules_for, seat_within
from maitred.decide.trees import quorum_of_tree
from maitred.model.priority import Rank

IN_PLACE = Waiver(frozenset({"Topology"}))
"""For members whose nodes are given: their domains were looked at before."""


@dataclass(frozen=True, slots=True)
class Hold:
    group: str
    ask: Ask
    """What its members ask for who have no seat."""
    places: Assignment
    """Of these members, and the rows of their nodes."""
    rank: Rank

    @property
    def needed(self) -> Assignment:
        """As many of the places as it needs; none if they are too few by now."""
        need, parts = self.ask.need, self.ask.parts
        if parts is not None:
            enough = parts.root.met(parts.have(member for member, _ in self.places))
            return quorum_of_tree(parts, self.places) if enough else []
        return self.places[:need] if len(self.places) >= need else []


def still_kept(ahead: Trial, hold: Hold, context: Context) -> Assignment | None:
    """The places, if they are still what the group needs; else others of those nodes; None if there are none.

    `ahead` is the trial once those who leave have left.
    """
    needed = hold.needed
    if not needed or fits(ahead, hold, needed, context):
        return needed or None
    theirs, within = _of(hold.ask, needed), _within(ahead, hold.ask, needed, context)
    if within is None or hold.ask.intricate:
        return None
    found = seat_within(ahead, theirs, within, context, context.steps(), FULL_RULES)
    if found is None or len(found) < theirs.need:
        return None
    others = [(needed[place][0], row) for place, row in found]
    return others if is_admitted(ahead, hold.ask, others, True) else None


def fits(trial: Trial, hold: Hold, seats: Assignment, context: Context) -> bool:
    """Whether these members can sit on these very nodes."""
    if _within(trial, hold.ask, seats, context) is None or not is_admitted(trial, hold.ask, seats, True):
        return False
    theirs = _of(hold.ask, seats)
    rules = rules_for(trial, theirs, context, IN_PLACE)
    if not rules.simple:
        return _fit_in_turn(trial, hold.ask, seats, context)
    counts = np.zeros((len(rules.shapes), len(trial.nodes.names)), dtype=np.int64)
    places = [rules.shapes.index(shape) for shape in theirs.shapes]
    np.add.at(counts, (places, [row for _, row in seats]), 1)
    taken = (counts.T @ np.array(room.use) <= np.maximum(room.free, 0) for room in rules.rooms)
    return bool((counts <= np.array(rules.copies)).all()) and all(fitting.all() for fitting in taken)


def _fit_in_turn(trial: Trial, ask: Ask, seats: Assignment, context: Context) -> bool:
    """The same for members who mind others: one node after the other."""
    fit, checkpoint = True, trial.checkpoint()
    for row in sorted({row for _, row in seats}):
        there = [(member, place) for member, place in seats if place == row]
        theirs, alone = _of(ask, there), np.zeros(len(trial.nodes.names), dtype=np.bool_)
        alone[row] = True
        found = seat_within(trial, theirs, alone, context, context.steps(), IN_PLACE)
        fit = found is not None and len(found) == len(there)
        if found is None or not fit:
            break
        commit(trial, theirs, found)
    trial.rollback(checkpoint)
    return fit


def _of(ask: Ask, seats: Assignment) -> Ask:
    """What these members ask for, all of them."""
    members = [member for member, _ in seats]
    return replace(
        ask,
        shapes=tuple(ask.shapes[member] for member in members),
        orders=tuple(ask.orders[member] for member in members),
        need=len(members),
        parts=None,
    )


def _within(trial: Trial, ask: Ask, seats: Assignment, context: Context) -> Mask | None:
    """The nodes of these seats, if all of them are where the group must be, and in one domain."""
    rows, required = [row for _, row in seats], ask.topology.required
    within = required_domain(trial, ask, context, FULL_RULES)
    if within is None or not within[rows].all():
        return None
    if required and len(np.unique(codes_of(trial.nodes, context.key(required))[rows])) > 1:
        return None
    if ask.parts is not None and not _together(trial, ask, ask.parts, seats, context):
        return None
    there = np.zeros_like(within)
    there[rows] = True
    return there


def _together(trial: Trial, ask: Ask, parts: Parts, seats: Assignment, context: Context) -> bool:
    """Whether every part of a tree would be in one domain of its level."""
    placed = [*zip(parts.seated, (member.node for member in ask.seated), strict=True)]
    placed += [(parts.waiting[member], row) for member, row in seats]
    for branch, _ in parts.root.walk():
        if branch.topology.required:
            leaves, codes = branch.leaves(), codes_of(trial.nodes, context.key(branch.topology.required))
            domains = {int(codes[row]) for leaf, row in placed if leaf in leaves}
            if len(domains) > 1 or any(domain < 0 for domain in domains):
                return False
    return True
