"""Where members would be: nodes, and the domains of every level."""

from collections import Counter
from collections.abc import Iterable

from maitred.decide.house import House
from maitred.decide.levels import known_levels
from maitred.explain.proposal.answer import Where
from maitred.explain.scene import Scene
from maitred.model.plan import Bind


def house_of(scene: Scene) -> House:
    return House(scene.policy, known_levels(scene.policy, scene.snapshot))


def where(scene: Scene, binds: Iterable[Bind]) -> Where:
    nodes, on = scene.snapshot.nodes, Counter(bind.node for bind in binds)
    rows = [nodes.rows[name] for name in on]
    domains = {}
    for level in house_of(scene).levels:
        column = nodes.column(level.key)
        codes = sorted({code for code in column.codes[rows].tolist() if code >= 0})
        if codes:
            domains[level.name] = tuple(column.values[code] for code in codes)
    return Where(dict(sorted(on.items())), domains)
