"""Lemons: nodes that fail more often than others. When a node is one, when it is none any more, and which are
tainted.

A taint that is missing is added and one that is too many is removed, as often as it takes: what was written
before a crash is not written twice, and nothing is left behind.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cached_property

import numpy as np
from msgspec.structs import replace

from maitred.cluster.nodes import Codes
from maitred.cluster.snapshot import Snapshot
from maitred.decide.healing.scores import Scoring
from maitred.decide.levels import codes_of, key_of_level
from maitred.model.duration import span
from maitred.model.memory import NodeScore
from maitred.model.node import LEMON, LEMON_EFFECT
from maitred.model.plan import NodeTaint
from maitred.model.policy import Policy
from maitred.model.times import after

ONE_IN = 10
RELEASED_AT = 0.5
"""Of the score above which a node is a lemon."""
A_MOMENT = timedelta(seconds=1)
"""What is awaited has come for certain a moment later."""
FOUND_SO = "it had the taint, and nothing was remembered of it"


def tainted_nodes(snapshot: Snapshot) -> frozenset[str]:
    """Nodes that have the taint of lemons now."""
    nodes = snapshot.nodes
    sets = [
        number
        for number, taints in enumerate(nodes.taint_sets)
        if any((taint.key, taint.effect) == (LEMON, LEMON_EFFECT) for taint in taints)
    ]
    if not sets:
        return frozenset()
    rows = np.flatnonzero(np.isin(nodes.taint_ids, sets) & nodes.alive)
    return frozenset(nodes.names[row] for row in rows.tolist())


class Lemonade:
    """What becomes of the scores of one cycle, once failures are counted."""

    def __init__(self, scoring: Scoring, snapshot: Snapshot, policy: Policy, actual: frozenset[str]) -> None:
        """`actual` are the nodes that are tainted now."""
        self.scoring, self.snapshot, self.policy, self.actual = scoring, snapshot, policy, actual
        self.lemons, self.now = policy.healing.lemons, scoring.now
        self._release = span(self.lemons.release)

    def taints(self) -> tuple[NodeTaint, ...]:
        """Names and releases lemons, and says which taints are to be added or removed."""
        self._adopt()
        for node, one in self.scoring.by_node.items():
            self.scoring.by_node[node] = self._judged(one)
        wanted = self._wanted()
        found = list[NodeTaint]()
        if not wanted and not self.actual and not any(one.tainted for one in self.scoring.by_node.values()):
            return ()
        for node, one in sorted(self.scoring.by_node.items()):
            there, known = node in self.actual, node in self.snapshot.nodes.rows
            if node in wanted and not there and known:
                found.append(NodeTaint(node, LEMON, _value(one), True, _words(one)))
            elif node not in wanted and there and one.tainted:
                found.append(NodeTaint(node, LEMON, _value(one), False, self._why_released(one)))
            tainted = node in wanted or (there and one.tainted)
            if tainted != one.tainted:
                self.scoring.by_node[node] = replace(one, tainted=tainted)
        return tuple(found)

    def _adopt(self) -> None:
        """Nodes that are tainted and of which nothing is remembered must prove themselves like others."""
        for node in self.actual if self.lemons.taint else ():
            known = self.scoring.by_node.get(node)
            if known is None or not known.tainted:
                score = max(self.lemons.above, 0.0 if known is None else self.scoring.of(known))
                known = known or NodeScore(node, 0.0, self.now, (FOUND_SO,))
                since = known.lemon_since or self.now
                self.scoring.by_node[node] = replace(
                    known, score=score, at=self.now, tainted=True, lemon_since=since
                )

    def _judged(self, one: NodeScore) -> NodeScore:
        score, good = self.scoring.of(one), self._ran_well(one)
        if one.lemon_since is None and score > self.lemons.above and not good:
            return replace(one, lemon_since=self.now)
        if one.lemon_since is not None and (good or score <= RELEASED_AT * self.lemons.above):
            return replace(one, lemon_since=None)
        return one

    def _ran_well(self, one: NodeScore) -> bool:
        """Without failing, and with nothing wrong with it now."""
        return self.now - one.at >= self._release and all(fault.over for fault in one.faults)

    # -- which of them are tainted ---------------------------------------------------------------------

    def _wanted(self) -> set[str]:
        """Of each domain so many; those that are tainted already before others, then the worst."""
        if not self.lemons.taint:
            return set()
        found = [one for one in self.scoring.by_node.values() if one.lemon_since is not None]
        found.sort(key=lambda one: (not one.tainted, -self.scoring.of(one), one.node))
        limits, wanted = self._limits(), set[str]()
        for one in found:
            domain = self._domain(one.node)
            if domain is not None and limits.get(domain, 0) > 0:
                limits[domain] -= 1
                wanted.add(one.node)
        return wanted

    def _domain(self, node: str) -> int | None:
        row = self.snapshot.nodes.rows.get(node)
        return None if row is None else int(self._codes[row])

    @cached_property
    def _codes(self) -> Codes:
        nodes = self.snapshot.nodes
        if not self.lemons.level:
            return np.zeros(len(nodes.names), dtype=np.int32)
        return codes_of(nodes, key_of_level(self.lemons.level, self.policy.topology.levels))

    def _limits(self) -> dict[int, int]:
        codes = self._codes[self.snapshot.nodes.alive]
        domains, sizes = np.unique(codes, return_counts=True)
        most = self.lemons.per_domain
        return {
            domain: size // ONE_IN if most is None else most
            for domain, size in zip(domains.tolist(), sizes.tolist(), strict=True)
        }

    # -- when, and why ---------------------------------------------------------------------------------

    def wake_at(self) -> Iterable[datetime]:
        """When time alone releases a lemon."""
        for one in self.scoring.by_node.values():
            if one.lemon_since is not None:
                decayed = after(self.scoring.decay.until(one, RELEASED_AT * self.lemons.above), A_MOMENT)
                lasts = any(not fault.over for fault in one.faults)
                yield decayed if lasts else min(decayed, after(one.at, self._release))

    def _why_released(self, one: NodeScore) -> str:
        if not self.lemons.taint:
            return "the policy does not taint lemons"
        if one.lemon_since is not None:
            return "as many nodes of its domain are tainted as the policy allows"
        return f"it has not failed since {one.at:%Y-%m-%dT%H:%M:%SZ}"


def _value(one: NodeScore) -> str:
    """Of the taint: the last fault, by its kind."""
    return max(one.faults, key=lambda fault: (fault.at, fault.what)).what if one.faults else ""


def _words(one: NodeScore) -> str:
    return f"it fails more often than others (score {one.score:.2f}): {'; '.join(one.evidence)}"
