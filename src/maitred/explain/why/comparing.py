"""Why one group rather than another: the rules by which their turns are compared, and what that comes to."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from maitred.cluster.snapshot import Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.agenda import Turn, as_compared, goes_by_priority, rules_of
from maitred.decide.record import TriedGroup
from maitred.explain.cycle import ExplainedCycle
from maitred.explain.receipts import group_words
from maitred.explain.situation import Situation
from maitred.explain.verdicts import verdict_words
from maitred.explain.why.answer import Comparison, Point, Winner
from maitred.explain.why.names import Names
from maitred.explain.why.rules import BECAUSE, WORDS
from maitred.explain.why.seated import placement_of, priority_of
from maitred.explain.why.seen import NOTHING_SEEN, Seen
from maitred.explain.why.why import why
from maitred.model.group import Group
from maitred.model.manifest.errors import InputError
from maitred.model.plan import Eviction, GroupVerdict
from maitred.model.policy import Rule

RIGHTS: tuple[Rule, ...] = ("paying", "entitled")
UNKNOWN_HERE: tuple[Rule, ...] = ("rotation", "measure")
"""An answer is worked out anew, with no earlier cycle and without what only simulations know."""


@dataclass(frozen=True)
class Side:
    """One of the two."""

    key: str
    stands: str
    priority: int | None
    runs: bool = False
    since: str | None = None
    group: TriedGroup | None = None
    turn: Turn | None = None
    verdict: GroupVerdict | None = None

    @property
    def is_barred(self) -> bool:
        return self.group is not None and self.group.blocked

    @property
    def waits(self) -> bool:
        return self.verdict is not None and self.verdict.verdict != "Scheduled"


def compare(situation: Situation, group: str, other: str, seen: Seen = NOTHING_SEEN) -> Comparison:
    """Both are keys as `find` gives them. Raises InputError if they are the same."""
    if group == other:
        raise InputError("", "", "", f"{group} cannot be compared with itself; name another group")
    names = Names(situation.snapshot, seen)
    cycle = situation.cycle()
    one, two = (_side(situation, cycle, names, key, seen) for key in (group, other))
    taken = _taken(cycle, one, two)
    points = tuple(_points(situation, one, two, taken))
    alone = _without(situation, names, one, two) if one.waits else None
    return Comparison(
        group=group,
        other=other,
        summary=_summary(one, two, points, alone, taken),
        points=points,
        group_stands=one.stands,
        other_stands=two.stands,
        without_other="" if alone is None else verdict_words(alone),
        fits_without_other=None if alone is None else alone.verdict == "Scheduled",
        preemption=_preemption(cycle, one, two),
        cause=next((eviction.cause for eviction in _evicted_for(cycle, one)), None),
    )


def _side(situation: Situation, cycle: ExplainedCycle, names: Names, key: str, seen: Seen) -> Side:
    group = cycle.group(key)
    rows = names.rows_of(key)
    if group is None:
        stands = why(situation, key, seen).summary.removeprefix(f"{key} ")
        if not len(rows):
            return Side(key, stands, None)
        where = placement_of(situation, Group(key), rows)
        return Side(key, stands, priority_of(situation, rows), True, where.since if where else None)
    verdict = cycle.verdict(key)
    turn = None if group.blocked else cycle.turn_of(group)
    runs = verdict.verdict == "Scheduled" and not group.seated
    stands = verdict_words(verdict)
    return Side(key, stands, group.screening.rank.priority, runs, None, group, turn, verdict)


# -- rule by rule --------------------------------------------------------------------------------------


def _points(
    situation: Situation, one: Side, two: Side, taken: tuple[Winner, Eviction] | None
) -> Iterator[Point]:
    """In the order in which decisions look at them; the first that tells the two apart decides."""
    if taken is not None:
        by, leaves = f"by {taken[1].cause}", "leaves"
        here, there = (by, leaves) if taken[0] == "group" else (leaves, by)
        yield Point("takes its places", here, there, taken[0], decides=True)
    decided = taken is not None
    for rule, here, there, first in _compared(situation, one, two):
        yield Point(rule, here, there, first, decides=first is not None and not decided)
        decided |= first is not None


def _taken(cycle: ExplainedCycle, one: Side, two: Side) -> tuple[Winner, Eviction] | None:
    """Who of them makes the other leave by the current plan: then it matters little who runs."""
    sides: tuple[tuple[Winner, Side, Side], ...] = (("group", one, two), ("other", two, one))
    for first, taker, victim in sides:
        for eviction in _evicted_for(cycle, taker):
            if _leaves(eviction, victim):
                return first, eviction
    return None


def _evicted_for(cycle: ExplainedCycle, side: Side) -> list[Eviction]:
    return [eviction for eviction in cycle.decided.evictions if eviction.preemptor == side.key]


def _leaves(eviction: Eviction, side: Side) -> bool:
    return (eviction.group or eviction.pod) == side.key


def _compared(situation: Situation, one: Side, two: Side) -> Iterator[tuple[str, str, str, Winner | None]]:
    yield "runs already", _seat(one), _seat(two), _first(one.runs, two.runs)
    yield "may start", _may_start(one), _may_start(two), _first(not one.is_barred, not two.is_barred)
    turns = one.turn is not None and two.turn is not None and as_compared(one.turn, two.turn)
    if turns and situation.policy.queues:
        rights = (rule for rule in RIGHTS if rule in rules_of(situation.policy))
        yield from (_by_rule(rule, *turns) for rule in rights)
    if goes_by_priority(situation.policy.order) and one.priority is not None and two.priority is not None:
        higher = _first(one.priority > two.priority, two.priority > one.priority)
        yield WORDS["priority"].title, str(one.priority), str(two.priority), higher
    if turns:
        for rule in rules_of(situation.policy):
            if rule == "override":
                yield from _by_override(one, two, *turns)
            elif rule not in (*RIGHTS, "priority", *UNKNOWN_HERE):
                yield _by_rule(rule, *turns)


def _by_rule(rule: Rule, mine: Turn, theirs: Turn) -> tuple[str, str, str, Winner | None]:
    words = WORDS[rule]
    earlier = _first(mine.by(rule) < theirs.by(rule), theirs.by(rule) < mine.by(rule))
    return words.title, words.shown(mine), words.shown(theirs), earlier


def _by_override(
    one: Side, two: Side, mine: Turn, theirs: Turn
) -> Iterator[tuple[str, str, str, Winner | None]]:
    """Who has lifted either of them, and why. Where nobody has, it is no rule."""
    if mine.in_line and theirs.in_line:
        return
    title, _, _, first = _by_rule("override", mine, theirs)
    yield title, _override(one), _override(two), first


def _override(side: Side) -> str:
    override = None if side.group is None else side.group.view.override
    return "no" if override is None else override.words


def _first(mine: bool, theirs: bool) -> Winner | None:
    return None if mine == theirs else "group" if mine else "other"


def _seat(side: Side) -> str:
    return (f"since {side.since}" if side.since else "yes") if side.runs else "no"


def _may_start(side: Side) -> str:
    if side.group is None:
        return "runs" if side.runs else "not decided"
    screening = side.group.screening
    if screening.problems:
        return f"no: {screening.problems[0]}"
    return f"no: {screening.obstacles[0].message}" if screening.obstacles else "yes"


# -- what it comes to ----------------------------------------------------------------------------------


def _without(situation: Situation, names: Names, one: Side, two: Side) -> GroupVerdict | None:
    alone = situation.on(without_group(situation.snapshot, names, two.key))
    cycle = alone.cycle()
    return None if cycle.group(one.key) is None else cycle.verdict(one.key)


def without_group(snapshot: Snapshot, names: Names, key: str) -> Snapshot:
    """As if the group had never come: what its members hold is free."""
    groups = tuple(view for view in snapshot.groups if view.group.key != key)
    rows = names.rows_of(key)
    stays = np.ones(len(snapshot.bound.node), dtype=np.bool_)
    stays[rows] = False
    used = snapshot.used.copy()
    np.subtract.at(used.T, snapshot.bound.node[rows], Trial.of(snapshot).columns.amounts_of(rows))
    in_use = {claim: list(places) for claim, places in snapshot.claims_in_use.items()}
    for row in rows:
        for claim in snapshot.bound.occupants[row].claims:
            in_use[claim].remove(int(snapshot.bound.node[row]))
    claims = {claim: tuple(places) for claim, places in in_use.items() if places}
    return replace(
        snapshot, groups=groups, used=used, bound=snapshot.bound.where(stays), claims_in_use=claims
    )


def _preemption(cycle: ExplainedCycle, one: Side, two: Side) -> str:
    leaving = _evicted_for(cycle, one)
    if theirs := [eviction for eviction in leaving if _leaves(eviction, two)]:
        return f"{two.key} will be {group_words(theirs)}"
    if not one.waits or not two.runs:
        return ""
    if leaving:
        return f"other pods will be evicted for it, and {two.key} stays"
    refusals = [
        b.detail["preemption"]
        for b in (one.verdict.blockers if one.verdict else ())
        if "preemption" in b.detail
    ]
    return refusals[0] if refusals else ""


def _summary(
    one: Side,
    two: Side,
    points: tuple[Point, ...],
    alone: GroupVerdict | None,
    taken: tuple[Winner, Eviction] | None,
) -> str:
    if taken is not None:
        first, second = (one, two) if taken[0] == "group" else (two, one)
        cause, rule = taken[1].cause, taken[1].receipt.rule
        return f"{first.key} comes before {second.key}, which leaves for it ({cause}): {rule}"
    decisive = next((point for point in points if point.decides), None)
    if decisive is None:
        return f"{one.key} and {two.key} cannot be compared: neither of them runs or waits to be scheduled"
    first, second = (one, two) if decisive.first == "group" else (two, one)
    words = f"{first.key} comes before {second.key}: {_reason(decisive, first)}"
    if alone is None or decisive.first == "group":
        return words
    if alone.verdict == "Scheduled":
        return f"{words}; without {two.key}, {one.key} would fit"
    return f"{words}; but without {two.key}, {one.key} would not fit either"


def _reason(point: Point, first: Side) -> str:
    mine, theirs = (point.group, point.other) if point.first == "group" else (point.other, point.group)
    match point.rule:
        case "runs already":
            return f"it runs already{f', since {first.since}' if first.since else ''}"
        case "may start":
            return f"the other may not start ({theirs.removeprefix('no: ')})"
        case rule:
            return BECAUSE[rule].format(mine=mine, theirs=theirs)
