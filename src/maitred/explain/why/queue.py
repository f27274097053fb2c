"""Whose turn comes first, and by which rule."""

from collections import Counter

from maitred.decide.agenda import RULES, Turn, goes_before, rule_between
from maitred.decide.record import TriedGroup
from maitred.explain.cycle import ExplainedCycle
from maitred.explain.why.answer import Earlier, OrderPlace
from maitred.model.plan import Verdict

MOST_NAMED = 5


def queue_of(cycle: ExplainedCycle, asked: TriedGroup) -> OrderPlace | None:
    """None if it has no turn: it is not valid, or may not start yet."""
    if asked.blocked:
        return None
    own = cycle.turn_of(asked)
    turns = [
        (cycle.turn_of(group), group, found.verdict)
        for group, found in zip(cycle.groups, cycle.decided.decisions, strict=True)
        if not group.blocked and group is not asked
    ]
    ahead = sorted((one for one in turns if goes_before(one[0], own)), key=lambda one: one[0])
    seated = [one for one in ahead if one[1].seated]
    promised = [one for one in ahead if one[1].promised and not one[1].seated]
    waiting = [one for one in ahead if not (one[1].seated or one[1].promised)]
    rules = Counter(rule_between(turn, own) for turn, _, _ in ahead)
    return OrderPlace(
        turn=len(ahead) + 1,
        of=len(turns) + 1,
        waiting=len(waiting),
        seated=len(seated),
        promised=len(promised),
        rules={rule: rules[rule] for rule in RULES if rules[rule]},
        first=tuple(earlier(one, own) for kind in (seated, promised, waiting) for one in kind[:MOST_NAMED]),
    )


def earlier(one: tuple[Turn, TriedGroup, Verdict], own: Turn) -> Earlier:
    turn, group, verdict = one
    return Earlier(group.key, rule_between(turn, own), verdict, group.screening.rank.priority)
