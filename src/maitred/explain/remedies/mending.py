"""Nodes and devices brought back as a remedy: which of those that are unwell, and how few of them will do.

`{"kind": "health", "nodes": ["n2"], "taints": ["node.kubernetes.io/unschedulable"]}`: the nodes, and the
taints of theirs that are to go, whether the node controller, an operator or a monitor has set them.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from maitred.cluster.nodes import NodeView
from maitred.cluster.selection import tainted_nodes
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.decide.ask import Assignment
from maitred.explain.remedies.changes import Change, available, with_cost
from maitred.explain.remedies.mended_devices import NodeDevices, OfferedAgain, tainted_devices_back
from maitred.explain.remedies.rehearsal import RankedGroup, Rehearsal
from maitred.model.node import UNSCHEDULABLE
from maitred.model.plan import Remedy
from maitred.model.policy import health_taints
from maitred.model.unwell import UnwellDevices

MOST_NODES = 64
MOST_PRUNED = 8
NAMES_SHOWN = 5
VIEW_UNITS = 30
"""What it takes to make another view of the nodes, in units of effort."""


@dataclass(frozen=True, slots=True)
class Mended:
    """Some nodes are open and well again."""

    names: tuple[str, ...]
    keys: frozenset[str]
    """Taints that speak of health."""
    taints: tuple[str, ...]
    """Those that the nodes have."""
    share: float
    drains: tuple[str, ...] = ()
    """Requests by which some of them are drained."""

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        rows = [snapshot.nodes.rows[name] for name in self.names]
        return replace(snapshot, nodes=with_mended(snapshot.nodes, rows, self.keys))

    def remedy(self, view: GroupView) -> Remedy:
        shown = ", ".join(self.names[:NAMES_SHOWN])
        more = f" and {len(self.names) - NAMES_SHOWN} more" if len(self.names) > NAMES_SHOWN else ""
        states = ", ".join(key.rpartition("/")[2] for key in self.taints)
        cordoned = self.taints == (UNSCHEDULABLE,)
        if self.drains and cordoned:
            named = ", ".join(self.drains[:NAMES_SHOWN])
            change = f"take back the drain of {shown}{more}: maitred drain --cancel {named}"
            return Remedy(change, {"kind": "health", "nodes": list(self.names), "taints": list(self.taints)})
        change = f"uncordon {shown}{more}" if cordoned else f"bring back {shown}{more} ({states})"
        return Remedy(change, {"kind": "health", "nodes": list(self.names), "taints": list(self.taints)})


def with_mended(nodes: NodeView, rows: list[int], keys: frozenset[str]) -> NodeView:
    """The same nodes, with the taints of these keys lifted from some of them."""
    sets, ids = list(nodes.taint_sets), nodes.taint_ids.copy()
    for row in rows:
        left = tuple(taint for taint in sets[ids[row]] if taint.key not in keys)
        if left not in sets:
            sets.append(left)
        ids[row] = sets.index(left)
    return replace(nodes, taint_ids=ids, taint_sets=tuple(sets), cache={})


Making = Callable[[RankedGroup, list[int]], Change]
"""Makes the nodes of these rows well for a group."""


class Mending:
    """Tries to bring nodes and devices back for groups of one cycle."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self.rehearsal, self.nodes = rehearsal, rehearsal.snapshot.nodes
        self.keys = health_taints(rehearsal.policy)

    def brought_back(self, ranked: RankedGroup) -> list[Change]:
        """Nodes that are closed or unwell, devices that these do not offer, and devices that are tainted."""
        health = [one for one in self.rehearsal.blockers(ranked) if one.category == "Health"]
        if not health:
            return []
        found = [self._fewest(ranked, self._unwell(), self._nodes)]
        resources = {one["resource"] for blocker in health for one in blocker.detail.get("devices", ())}
        if resources:
            offered = partial(self._devices, resources)
            found.append(self._fewest(ranked, self._with_unwell_devices(resources), offered))
        found += [self._working(ranked, one) for one in tainted_devices_back(ranked.view, tuple(health))]
        return [change for change in found if change is not None]

    def _fewest(self, ranked: RankedGroup, everyone: list[int], make: Making) -> Change | None:
        """As few of these nodes as will do, made well."""
        useful = self._used(ranked, everyone, make) if everyone else []
        if not useful:
            return None
        fewest = self._pruned(ranked, useful[: self._enough(ranked, useful, make)], make)
        tried = (
            self._working(ranked, make(ranked, rows)) for rows in (fewest, useful, everyone[:MOST_NODES])
        )
        return next((works for works in tried if works is not None), None)

    def _working(self, ranked: RankedGroup, change: Change) -> Change | None:
        """Whoever waits may want what comes back too."""
        outcome = self.rehearsal.works(change.applied, ranked, self._rivals(ranked), first=0)
        return None if outcome is None else with_cost(change, outcome.lost)

    def _unwell(self) -> list[int]:
        rows = np.flatnonzero(tainted_nodes(self.nodes, self.keys) & self.nodes.alive)
        return self._by_name(rows.tolist())

    def _with_unwell_devices(self, resources: set[str]) -> list[int]:
        """Where somebody says how many there are."""
        unwell = self.nodes.unwell.items()
        return self._by_name([row for row, found in unwell if _counted(found, resources)])

    def _by_name(self, rows: list[int]) -> list[int]:
        return sorted(rows, key=lambda row: int(self.nodes.name_rank[row]))

    def _used(self, ranked: RankedGroup, rows: list[int], make: Making) -> list[int]:
        """Those on which the group would sit if all were back, who takes most members first."""
        seats = self._probe(ranked, rows, make)
        seated = Counter(row for _, row in seats[: ranked.view.missing or 1])
        unwell = [row for row in rows if row in seated]
        return sorted(unwell, key=lambda row: -seated[row])[:MOST_NODES]

    def _enough(self, ranked: RankedGroup, rows: list[int], make: Making) -> int:
        """How many of these will do, taken from the first on."""
        low, high = 0, len(rows)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._probe(ranked, rows[:middle], make) else (middle, high)
        return high

    def _pruned(self, ranked: RankedGroup, rows: list[int], make: Making) -> list[int]:
        for row in list(rows) if len(rows) <= MOST_PRUNED else ():
            others = [other for other in rows if other != row]
            if others and self._probe(ranked, others, make):
                rows = others
        return rows

    def _probe(self, ranked: RankedGroup, rows: list[int], make: Making) -> Assignment:
        self.rehearsal.effort.spend(VIEW_UNITS)
        changed = make(ranked, rows).applied(self.rehearsal.snapshot, ranked.number)
        return self.rehearsal.probe(changed, ranked) if self.rehearsal.effort.allows() else []

    def _nodes(self, ranked: RankedGroup, rows: list[int]) -> Change:
        """The share is that of these nodes among as many as there are members."""
        sets, ids = self.nodes.taint_sets, self.nodes.taint_ids
        taints = {taint.key for row in rows for taint in sets[ids[row]] if taint.key in self.keys}
        names = tuple(sorted(self.nodes.names[row] for row in rows))
        share = len(rows) / max(len(rows), available(ranked.view))
        return Mended(names, self.keys, tuple(sorted(taints)), share, self._drains(rows))

    def _devices(self, resources: set[str], ranked: RankedGroup, rows: list[int]) -> Change:
        found = tuple(
            NodeDevices(self.nodes.names[row], resource, count)
            for row in self._by_name(rows)
            for resource, count in _counted(self.nodes.unwell[row], resources)
        )
        return OfferedAgain(found, len(rows) / max(len(rows), available(ranked.view)))

    def _drains(self, rows: list[int]) -> tuple[str, ...]:
        drained = self.rehearsal.snapshot.drained
        return tuple(sorted({drained[row].name for row in rows if row in drained}))

    def _rivals(self, ranked: RankedGroup) -> list[RankedGroup]:
        """Whoever waits may want the nodes too."""
        last = self.rehearsal.last_to_matter(ranked)
        return [other for other in self.rehearsal.ranked_groups[:last] if other.waits and other is not ranked]


def _counted(unwell: Mapping[str, UnwellDevices], resources: set[str]) -> list[tuple[str, int]]:
    return [
        (name, unwell[name].unwell) for name in sorted(resources & unwell.keys()) if unwell[name].is_counted
    ]
