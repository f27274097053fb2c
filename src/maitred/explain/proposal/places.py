"""Where members would be: nodes, and the domains of every level."""

from collections import Counter
from collections.abc import Iterable

from maitred.decide.context import Context
from maitred.decide.levels import known_levels
from maitred.explain.proposal.answer import Where
from maitred.explain.situation import Situation
from maitred.model.plan import Bind


def context_of(situation: Situation) -> Context:
    return Context(situation.policy, known_levels(situation.policy, situation.snapshot))


def where(situation: Situation, binds: Iterable[Bind]) -> Where:
    nodes, on = situation.snapshot.nodes, Counter(bind.node for bind in binds)
    rows = [nodes.rows[name] for name in on]
    domains = {}
    for level in context_of(situation).levels:
        column = nodes.column(level.key)
        codes = sorted({code for code in column.codes[rows].tolist() if code >= 0})
        if codes:
            domains[level.name] = tuple(column.values[code] for code in codes)
    return Where(dict(sorted(on.items())), domains)
