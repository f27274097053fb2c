"""The topology as the labels of nodes tell it: levels, domains, what is free in each, and what is wrong.

As data (`maitred topology -o json`):

    {"apiVersion": "maitred.dev/v1alpha1", "kind": "Topology",
     "nodes": 64, "unwell": 1,
     "levels":   [{"name": "rack", "key": "example.com/rack", "domains": 4,
                   "largestFree": {"domain": "r3", "free": {"nvidia.com/gpu": "16", "cpu": "200"}}}],
     "domains":  [{"level": "rack", "domain": "r1", "nodes": 16, "unwell": 1,
                   "allocatable": {"nvidia.com/gpu": "128", "cpu": "1536"},
                   "free": {"nvidia.com/gpu": "8", "cpu": "120"}, "domains": []}],
     "problems": [{"kind": "Unlabelled", "level": "rack", "message": "", "nodes": ["n7"],
                   "domain": null, "parents": {}},
                  {"kind": "Misnested", "level": "rack", "message": "", "nodes": ["n1", "n2"],
                   "domain": "r1", "parents": {"b1": ["n1"], "b2": ["n2"]}}],
     "candidates": [{"key": "topology.kubernetes.io/zone", "domains": 3, "nodes": 64}],
     "warnings": []}

Levels go from wide to narrow, and the domains of a level are inside those of the level before it; `domain` is
null for nodes that lack the label of a level but have that of a narrower one. Amounts are Kubernetes
quantities, the most telling resource first. What is free counts on nodes that are open and well, the others
are `unwell`. `candidates` are label keys that look like levels, looked for only where no level is known.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.devices.counted import by_driver, claimable_devices
from maitred.cluster.nodes import Ints, Mask, NodeView
from maitred.cluster.selection import REPELLING, tainted_nodes
from maitred.cluster.snapshot import Snapshot
from maitred.decide.levels import known_levels
from maitred.model.node import HOSTNAME
from maitred.model.plan import Record
from maitred.model.policy import API_VERSION, Level, Policy, health_taints, is_device
from maitred.model.quantity import CPU, MEMORY, text
from maitred.model.words import counted

Rows = NDArray[np.intp]
NAMES_SHOWN = 5

PLACE_WORDS = frozenset(
    (
        *("region", "zone", "datacenter", "hall", "room", "row", "block", "subblock", "rack", "chassis"),
        *("spine", "leaf", "switch", "fabric", "clique", "superpod", "nvlink", "topology"),
    )
)
"""Words in the keys of labels that say where a node is."""


class LargestFree(Record, frozen=True):
    domain: str
    free: dict[str, str]


class LevelSummary(Record, frozen=True):
    name: str
    key: str
    domains: int
    largest_free: LargestFree | None = None


class Domain(Record, frozen=True):
    level: str
    domain: str | None
    nodes: int
    unwell: int
    allocatable: dict[str, str]
    free: dict[str, str]
    domains: tuple["Domain", ...] = ()
    unwell_devices: dict[str, int] = {}
    """By driver, devices that claims are for, that are tainted and not in use; by resource, those that nodes
    have and do not offer. `allocatable` is with them."""


class Problem(Record, frozen=True):
    kind: Literal["Unlabelled", "Misnested"]
    level: str
    message: str
    nodes: tuple[str, ...]
    domain: str | None = None
    parents: dict[str, tuple[str, ...]] = {}


class LevelCandidate(Record, frozen=True):
    key: str
    domains: int
    nodes: int


class TopologyReport(Record, frozen=True):
    api_version: str = API_VERSION
    kind: str = "Topology"
    nodes: int = 0
    unwell: int = 0
    levels: tuple[LevelSummary, ...] = ()
    domains: tuple[Domain, ...] = ()
    problems: tuple[Problem, ...] = ()
    candidates: tuple[LevelCandidate, ...] = ()
    warnings: tuple[str, ...] = ()


def topology_of(snapshot: Snapshot, policy: Policy) -> TopologyReport:
    survey = DomainSums(snapshot, policy)
    everyone = np.flatnonzero(snapshot.nodes.alive)
    levels = known_levels(policy, snapshot)
    return TopologyReport(
        nodes=len(everyone),
        unwell=survey.count_unwell(everyone),
        levels=tuple(survey.summary(level) for level in levels),
        domains=survey.tree(levels, everyone),
        problems=(*survey.unlabelled(levels), *survey.misnested(levels)),
        candidates=() if levels else tuple(candidates(snapshot.nodes)),
    )


class DomainSums:
    """Sums over sets of nodes, given by their rows."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        self.nodes, self.policy = snapshot.nodes, policy
        self.well = open_and_well(snapshot.nodes, health_taints(policy))
        left: Ints = np.maximum(snapshot.nodes.allocatable - snapshot.used, 0)
        claimable = by_driver(claimable_devices(snapshot))
        self.whole = snapshot.nodes.whole().allocatable
        self.have: Ints = np.vstack((self.whole, *(one.total for one in claimable.values())))
        self.free: Ints = np.vstack((left, *(one.free for one in claimable.values()))) * self.well
        missing = zip(snapshot.nodes.resources, self.whole - snapshot.nodes.allocatable, strict=True)
        self.unwell = {name: amount for name, amount in missing if amount.any()}
        self.unwell |= {driver: one.unwell for driver, one in claimable.items() if one.unwell.any()}
        self.columns = self._telling_columns(list(claimable))

    def _telling_columns(self, drivers: Sequence[str]) -> dict[str, int]:
        """The resources that tell most of a domain, and where they stand: devices, then cpu and memory."""
        nodes = self.nodes
        there = [name for name, have in zip(nodes.resources, self.whole, strict=True) if have.any()]
        devices = sorted(name for name in there if is_device(self.policy, name))
        claimed = {driver: len(nodes.resources) + place for place, driver in enumerate(drivers)}
        others = (name for name in (CPU, MEMORY) if name in there)
        return {
            **{name: nodes.resources.index(name) for name in devices},
            **claimed,
            **{name: nodes.resources.index(name) for name in others},
        }

    def amounts(self, columns: Ints, rows: Rows) -> dict[str, str]:
        return {name: text(name, int(columns[place, rows].sum())) for name, place in self.columns.items()}

    def count_unwell(self, rows: Rows) -> int:
        return int(np.count_nonzero(~self.well[rows]))

    def names(self, rows: Rows) -> tuple[str, ...]:
        return tuple(sorted(self.nodes.names[row] for row in rows))

    # -- levels and domains ----------------------------------------------------------------------------

    def summary(self, level: Level) -> LevelSummary:
        """The level and its domain with most free of what tells most; ties by other resources, by name."""
        column, largest = self.nodes.column(level.key), None
        if column.values:
            inside = column.codes >= 0
            sums = [
                np.bincount(column.codes[inside], weights=self.free[place, inside])
                for place in self.columns.values()
            ]
            order = np.lexsort((np.arange(len(column.values)), *(-total for total in reversed(sums))))
            best = int(order[0])
            free = self.amounts(self.free, np.flatnonzero(column.codes == best))
            largest = LargestFree(column.values[best], free)
        return LevelSummary(level.name, level.key, len(column.values), largest)

    def tree(self, levels: tuple[Level, ...], rows: Rows) -> tuple[Domain, ...]:
        if not levels:
            return ()
        column = self.nodes.column(levels[0].key)
        codes, domains = column.codes[rows], []
        for code in np.unique(codes).tolist():
            inside = rows[codes == code]
            inner = self.tree(levels[1:], inside)
            if code >= 0 or inner:
                name = column.values[code] if code >= 0 else None
                domains.append((code < 0, self._domain(levels[0], name, inside, inner)))
        return tuple(domain for _, domain in sorted(domains, key=lambda item: item[0]))

    def _domain(self, level: Level, name: str | None, rows: Rows, inner: tuple[Domain, ...]) -> Domain:
        return Domain(
            level=level.name,
            domain=name,
            nodes=len(rows),
            unwell=self.count_unwell(rows),
            allocatable=self.amounts(self.have, rows),
            free=self.amounts(self.free, rows),
            domains=inner,
            unwell_devices=self._unwell_devices(rows),
        )

    def _unwell_devices(self, rows: Rows) -> dict[str, int]:
        found = {driver: int(unwell[rows].sum()) for driver, unwell in self.unwell.items()}
        return {driver: count for driver, count in found.items() if count}

    # -- what is wrong ---------------------------------------------------------------------------------

    def unlabelled(self, levels: Iterable[Level]) -> Iterable[Problem]:
        for level in levels:
            column = self.nodes.column(level.key)
            lacking = np.flatnonzero(self.nodes.alive & (column.codes < 0))
            if len(lacking):
                lack = f"{counted(len(lacking), 'node')} lack{'s' if len(lacking) == 1 else ''}"
                who = lack if column.values else "no node has"
                message = f"{who} the label {level.key} of level {level.name}"
                yield Problem("Unlabelled", level.name, message, self.names(lacking))

    def misnested(self, levels: tuple[Level, ...]) -> Iterable[Problem]:
        for position, level in enumerate(levels):
            column = self.nodes.column(level.key)
            for code, value in enumerate(column.values):
                rows = np.flatnonzero(column.codes == code)
                problem = self._astray(level, value, rows, levels[:position])
                if problem is not None:
                    yield problem

    def _astray(self, level: Level, value: str, rows: Rows, wider: tuple[Level, ...]) -> Problem | None:
        """A domain that is in two domains of a wider level: told for the nearest such level only."""
        for outer in reversed(wider):
            parents = self._parents(outer, rows)
            if len(parents) > 1:
                where = ", ".join(f"{name} ({some(nodes)})" for name, nodes in parents.items())
                inside = f"{len(parents)} domains of level {outer.name}"
                message = f"{level.name} {value} is in {inside}: {where}"
                return Problem("Misnested", level.name, message, self.names(rows), value, parents)
        return None

    def _parents(self, outer: Level, rows: Rows) -> dict[str, tuple[str, ...]]:
        column = self.nodes.column(outer.key)
        codes = column.codes[rows]
        return {
            column.values[code]: self.names(rows[codes == code])
            for code in np.unique(codes[codes >= 0]).tolist()
        }


def open_and_well(nodes: NodeView, unwell: frozenset[str]) -> Mask:
    """Nodes that no taint of health closes."""
    return ~tainted_nodes(nodes, unwell, REPELLING)


def candidates(nodes: NodeView) -> list[LevelCandidate]:
    """Label keys that look like levels, widest first: their words say so, and nodes share their values."""
    rows = np.flatnonzero(nodes.alive)
    keys = {key for row in rows for key in nodes.labels[row]} - {HOSTNAME}
    found = []
    for key in sorted(filter(speaks_of_place, keys)):
        column = nodes.column(key)
        labelled = int(np.count_nonzero(column.codes >= 0))
        if len(column.values) < labelled or labelled == 1:
            found.append(LevelCandidate(key, len(column.values), labelled))
    return sorted(found, key=lambda candidate: (candidate.domains, candidate.key))


def speaks_of_place(key: str) -> bool:
    return not PLACE_WORDS.isdisjoint(re.split(r"[^a-z]+", key.lower()))


def some(names: tuple[str, ...]) -> str:
    """The names, or the first few of many."""
    rest = len(names) - NAMES_SHOWN
    shown = ", ".join(names[:NAMES_SHOWN])
    return shown if rest <= 0 else f"{shown} and {rest} more"
