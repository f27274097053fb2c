"""Looser constraints as a remedy: one that the members of a group have, dropped or widened.

- `{"kind": "selector", "requirement": {"key": "disk", "operator": "In", "values": ["ssd"]}, "to": null}`: of
  the node selector or the node affinity; `to` is another value to ask for, null for none;
- `{"kind": "taint", "key": "pool", "value": "infra", "effect": "NoSchedule"}`: a taint to be tolerated;
- `{"kind": "pods", "constraint": "affinity", "position": 0, "topologyKey": "rack"}`: a term of required pod
  affinity or `anti-affinity` to be dropped, by its place in the list;
- `{"kind": "spread", "position": 0, "topologyKey": "zone", "from": 1, "to": 2}`: the maxSkew of a hard spread
  constraint, by its place among these; `to` is null for none;
- `{"kind": "port", "port": 8080}`: a host port to do without, or to replace by one that is free.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import msgspec

from maitred.cluster.selection import REPELLING
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.decide.alike import needs_of
from maitred.explain.remedies.changes import with_members_like
from maitred.explain.remedies.rehearsal import Rehearsal
from maitred.model.needs import HostPort, Needs, NodeRequirements, PodTerm
from maitred.model.node import Taint, tolerates_all
from maitred.model.plan import Detail, Remedy
from maitred.model.pod import NodeSelectorTerm, Toleration
from maitred.model.policy import health_taints
from maitred.model.selector import Requirement, canonical

MOST_VALUES = 3
MOST_TAINTS = 4


class Loosening(Protocol):
    """What is given up, and how it is told."""

    def of(self, needs: Needs) -> Needs: ...

    @property
    def words(self) -> str: ...

    @property
    def detail(self) -> Detail: ...


@dataclass(frozen=True, slots=True)
class Loosened:
    """Members have one constraint less, or a wider one."""

    loosening: Loosening
    share: float

    def applied(self, snapshot: Snapshot, number: int) -> Snapshot:
        return with_members_like(snapshot, number, lambda shape, needs: (shape, self.loosening.of(needs)))

    def remedy(self, view: GroupView) -> Remedy:
        return Remedy(self.loosening.words, self.loosening.detail)


@dataclass(frozen=True, slots=True)
class Selecting:
    """A requirement on the labels of nodes, wherever it stands; with another value, or dropped."""

    requirement: Requirement
    instead: str = ""

    def of(self, needs: Needs) -> Needs:
        selector, terms = self._changed(needs.node.selector), needs.node.terms
        if terms is not None:
            kept = tuple(
                NodeSelectorTerm(self._changed(term.match_expressions), term.match_fields) for term in terms
            )
            terms = None if any(term == NodeSelectorTerm() for term in kept) else kept
        return replace(needs, node=NodeRequirements(canonical(selector), terms, needs.node.features))

    def _changed(self, requirements: tuple[Requirement, ...]) -> tuple[Requirement, ...]:
        other = msgspec.structs.replace(self.requirement, values=(self.instead,)) if self.instead else None
        changed = [other if one == self.requirement else one for one in requirements]
        return tuple(one for one in changed if one is not None)

    @property
    def words(self) -> str:
        if self.instead:
            before = ", ".join(self.requirement.values)
            return f"select nodes with {self.requirement.key}={self.instead} instead of {before}"
        return f"do not select nodes by {_asked(self.requirement)}"

    @property
    def detail(self) -> Detail:
        asked = {
            "key": self.requirement.key,
            "operator": self.requirement.operator,
            "values": list(self.requirement.values),
        }
        return {"kind": "selector", "requirement": asked, "to": self.instead or None}


def _asked(requirement: Requirement) -> str:
    key, values = requirement.key, ", ".join(requirement.values)
    if requirement.operator == "In" and len(requirement.values) == 1:
        return f"{key}={values}"
    return f"{key} {requirement.operator} {values}".rstrip()


@dataclass(frozen=True, slots=True)
class Tolerating:
    taint: Taint

    def of(self, needs: Needs) -> Needs:
        taint = self.taint
        added = Toleration(taint.key, "Equal", taint.value, taint.effect)
        return replace(needs, tolerations=tuple(sorted({*needs.tolerations, added}, key=repr)))

    @property
    def words(self) -> str:
        value = f"={self.taint.value}" if self.taint.value else ""
        return f"tolerate the taint {self.taint.key}{value}:{self.taint.effect}"

    @property
    def detail(self) -> Detail:
        taint = self.taint
        return {"kind": "taint", "key": taint.key, "value": taint.value, "effect": taint.effect}


@dataclass(frozen=True, slots=True)
class Parting:
    """A term of pod affinity or anti-affinity is dropped."""

    constraint: Literal["affinity", "anti-affinity"]
    position: int
    key: str

    def of(self, needs: Needs) -> Needs:
        if self.constraint == "affinity":
            return replace(needs, affinity=self._kept(needs.affinity))
        return replace(needs, anti_affinity=self._kept(needs.anti_affinity))

    def _kept(self, terms: tuple[PodTerm, ...]) -> tuple[PodTerm, ...]:
        dropped = (self.position, self.key)
        return tuple(term for place, term in enumerate(terms) if (place, term.topology_key) != dropped)

    @property
    def words(self) -> str:
        if self.constraint == "affinity":
            return f"do not require pod affinity by {self.key}"
        return f"do not require pod anti-affinity by {self.key}"

    @property
    def detail(self) -> Detail:
        place = {"position": self.position, "topologyKey": self.key}
        return {"kind": "pods", "constraint": self.constraint, **place}


@dataclass(frozen=True, slots=True)
class Skewing:
    """A spread may be less even, or need not be."""

    position: int
    key: str
    before: int
    after: int
    """0 for none."""

    def of(self, needs: Needs) -> Needs:
        spread = list(needs.spread)
        if self.position < len(spread) and spread[self.position].pods.topology_key == self.key:
            if self.after:
                spread[self.position] = msgspec.structs.replace(spread[self.position], max_skew=self.after)
            else:
                del spread[self.position]
        return replace(needs, spread=tuple(spread))

    @property
    def words(self) -> str:
        if self.after:
            return f"allow maxSkew {self.after} instead of {self.before} over {self.key}"
        return f"do not require a topology spread over {self.key}"

    @property
    def detail(self) -> Detail:
        place = {"position": self.position, "topologyKey": self.key}
        return {"kind": "spread", **place, "from": self.before, "to": self.after or None}


@dataclass(frozen=True, slots=True)
class Porting:
    port: HostPort

    def of(self, needs: Needs) -> Needs:
        return replace(needs, host_ports=tuple(port for port in needs.host_ports if port != self.port))

    @property
    def words(self) -> str:
        return f"do not use host port {self.port.port}, or use a free one"

    @property
    def detail(self) -> Detail:
        return {"kind": "port", "port": self.port.port}


# -- what there is to loosen ---------------------------------------------------------------------------


def loosenings(rehearsal: Rehearsal, view: GroupView) -> list[Loosened]:
    """Each constraint of the group, loosened; what gives up least comes first."""
    needs = needs_of(rehearsal.snapshot, view)
    terms = list(dict.fromkeys(term for need in needs for term in _terms(need)))
    share = 1 / (len(terms) + 1) if terms else 1 / 2
    found = list[Loosened]()
    for term in terms:
        found.append(Loosened(term, share))
        if isinstance(term, Selecting):
            values = _other_values(rehearsal.snapshot, term.requirement)
            found += [Loosened(Selecting(term.requirement, value), share / 2) for value in values]
        if isinstance(term, Skewing):
            wider = range(term.before + 1, max(term.before + 1, view.missing) + 1)
            found += [
                Loosened(replace(term, after=skew), share * (skew - term.before) / skew) for skew in wider
            ]
    found += [Loosened(Tolerating(taint), share) for taint in _taints(rehearsal, needs)]
    return sorted(found, key=lambda change: change.share)


def _terms(needs: Needs) -> Iterator[Loosening]:
    for requirement in (
        *needs.node.selector,
        *(r for t in needs.node.terms or () for r in t.match_expressions),
    ):
        yield Selecting(requirement)
    for position, term in enumerate(needs.affinity):
        yield Parting("affinity", position, term.topology_key)
    for position, term in enumerate(needs.anti_affinity):
        yield Parting("anti-affinity", position, term.topology_key)
    for position, constraint in enumerate(needs.spread):
        yield Skewing(position, constraint.pods.topology_key, constraint.max_skew, 0)
    for port in needs.host_ports:
        yield Porting(port)


def _other_values(snapshot: Snapshot, requirement: Requirement) -> list[str]:
    """Values that most nodes have, where one value is asked for: such as another model of a device."""
    if requirement.operator != "In" or len(requirement.values) != 1:
        return []
    column = snapshot.nodes.column(requirement.key)
    counts = Counter(column.codes[column.codes >= 0].tolist())
    common = sorted(counts, key=lambda code: (-counts[code], column.values[code]))
    values = [column.values[code] for code in common]
    return [value for value in values if value not in requirement.values][:MOST_VALUES]


def _taints(rehearsal: Rehearsal, needs: list[Needs]) -> list[Taint]:
    """Those that keep a member from most nodes; health is another matter."""
    nodes, health = rehearsal.snapshot.nodes, health_taints(rehearsal.policy)
    counts = Counter[Taint]()
    for number, count in Counter(nodes.taint_ids[nodes.alive].tolist()).items():
        for taint in nodes.taint_sets[number]:
            refused = not all(tolerates_all(need.tolerations, (taint,), REPELLING) for need in needs)
            if refused and taint.key not in health:
                counts[taint] += count
    order = sorted(counts, key=lambda taint: (-counts[taint], taint.key, taint.value, taint.effect))
    return order[:MOST_TAINTS]
