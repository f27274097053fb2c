"""What maitred says of the same objects: the engine, and the checker that shares no code with it."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from maitred.cluster.supposing import supposing
from maitred.cluster.trial import Trial
from maitred.decide.compile import make_rules
from maitred.decide.open_nodes import OpenNodes
from maitred.model.policy import Policy
from maitred.verify.filters import why_not
from maitred.verify.objects import read_cluster
from maitred.verify.world import world_of
from tests.support import read, state_of

Obj = dict[str, Any]
Nodes = frozenset[str]
"""Those that a pod could be put on, were it the only one that waits."""


class Engine:
    def __init__(self, objects: Sequence[Obj]) -> None:
        self._state = state_of(read(objects))

    def nodes_for(self, pod: Obj) -> Nodes:
        snapshot = supposing(self._state, read([pod]))
        [view] = [view for view in snapshot.groups if _key(pod) in view.pods]
        place = view.pods.index(_key(pod))
        if view.gates[place]:
            return frozenset()
        names, trial = snapshot.nodes.names, Trial.of(snapshot)
        rules = make_rules(trial, (int(view.shapes[place]),), Policy())
        open_to = OpenNodes(rules, np.arange(len(names), dtype=np.intp)).open_to(0)
        return frozenset(names[row] for row in np.flatnonzero(open_to))


class Checker:
    def __init__(self, objects: Sequence[Obj]) -> None:
        self._objects = objects

    def nodes_for(self, pod: Obj) -> Nodes:
        cluster = read_cluster([*self._objects, pod])
        world, asking = world_of(cluster, cluster.pods.values()), cluster.pods[_key(pod)]
        if asking.gates:
            return frozenset()
        return frozenset(n for n, node in cluster.nodes.items() if why_not(world, asking, node) is None)


def _key(pod: Obj) -> str:
    return f"{pod['metadata'].get('namespace', 'default')}/{pod['metadata']['name']}"
