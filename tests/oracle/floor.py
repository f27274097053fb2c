"""The floor of the oracle: nodes, who sits where, and kube-scheduler's filters for the next guest.

Plain and slow next to the engine, but exact, and quick enough to be asked a few thousand times per example.
It shares no code with the engine.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.oracle.builders import Obj
from tests.oracle.disks import Disks
from tests.oracle.guests import Amounts, Guest, Spread, Term, guest
from tests.oracle.reading import running
from tests.oracle.selectors import amount, node_terms_match, selector_matches, tolerated

_KUBE = "node.kubernetes.io/"
_CLOUD = "node.cloudprovider.kubernetes.io/"
_AILMENTS = "not-ready unreachable unschedulable out-of-service network-unavailable"
_PRESSURES = "memory-pressure disk-pressure pid-pressure"
HEALTH = frozenset(
    {_KUBE + ailment for ailment in f"{_AILMENTS} {_PRESSURES}".split()}
    | {_CLOUD + "uninitialized", _CLOUD + "shutdown"}
)


@dataclass(eq=False)
class Table:
    """One node."""

    name: str
    labels: dict[str, str]
    room: Amounts
    taints: list[Obj]
    features: frozenset[str] = frozenset()
    used: Amounts = field(default_factory=dict)
    guests: list[Guest] = field(default_factory=list)


def table(node: Obj) -> Table:
    spec, status = node.get("spec", {}), node.get("status", {})
    listed = status.get("allocatable") or status.get("capacity") or {}
    room = {name: amount(name, value) for name, value in listed.items()}
    taints = [taint for taint in spec.get("taints", ()) if taint["effect"] != "PreferNoSchedule"]
    ready = next((c["status"] for c in status.get("conditions", ()) if c["type"] == "Ready"), "True")
    implied = [
        ("unschedulable", spec.get("unschedulable")),
        ("not-ready", ready == "False"),
        ("unreachable", ready == "Unknown"),
    ]
    taints += [{"key": _KUBE + name, "effect": "NoSchedule"} for name, so in implied if so]
    meta = node["metadata"]
    declared = frozenset(status.get("declaredFeatures", ()))
    return Table(meta["name"], meta.get("labels", {}), {"pods": 110, **room}, taints, declared)


class Floor:
    """Nodes with what runs on them; ``passes`` asks whether a guest may sit down, ``seat`` lets it."""

    def __init__(self, nodes: Iterable[Obj], pods: Iterable[Obj], objects: Iterable[Obj]) -> None:
        listed = list(objects)
        self.tables = [table(node) for node in nodes]
        self.disks = Disks.of(listed)
        self.spaces = {
            o["metadata"]["name"]: o["metadata"].get("labels", {}) for o in listed if o["kind"] == "Namespace"
        }
        self._welcome: dict[tuple[Guest, Table], bool] = {}
        self._meant: dict[tuple[Term, Guest], bool] = {}
        self._counted: dict[tuple[Spread, Guest], bool] = {}
        by_name = {table.name: table for table in self.tables}
        for pod in pods:
            if running(pod) and pod["spec"]["nodeName"] in by_name:
                self.seat(guest(pod), by_name[pod["spec"]["nodeName"]])

    def seat(self, guest: Guest, table: Table) -> None:
        table.guests.append(guest)
        for name, value in guest.requests.items():
            table.used[name] = table.used.get(name, 0) + value
        self.disks.take(guest, table.name, table.labels)

    def unseat(self, guest: Guest, table: Table) -> None:
        table.guests.remove(guest)
        for name, value in guest.requests.items():
            table.used[name] -= value
        self.disks.give_back(guest)

    def passes(self, guest: Guest, table: Table) -> bool:
        return (
            self.welcome(guest, table)
            and self.has_room(guest, table)
            and self.ports_free(guest, table)
            and self._volumes_fit(guest, table)
            and self.kept_apart(guest, table)
            and self.kept_together(guest, table)
            and all(self.level(guest, table, constraint) for constraint in guest.spread)
        )

    # ---- the node alone

    def welcome(self, guest: Guest, table: Table) -> bool:
        """Node selector, node affinity, taints and features: what no other pod can change."""
        found = self._welcome.get((guest, table))
        if found is None:
            found = self._wanted(guest, table) and _bearable(guest, table)
            found = found and guest.features <= table.features
            self._welcome[guest, table] = found
        return found

    @staticmethod
    def _wanted(guest: Guest, table: Table) -> bool:
        if any(table.labels.get(name) != value for name, value in guest.where.items()):
            return False
        return guest.node_terms is None or node_terms_match(guest.node_terms, table.labels, table.name)

    @staticmethod
    def has_room(guest: Guest, table: Table) -> bool:
        used, room = table.used, table.room
        return all(v == 0 or used.get(name, 0) + v <= room.get(name, 0) for name, v in guest.requests.items())

    @staticmethod
    def ports_free(guest: Guest, table: Table) -> bool:
        taken = [port for other in table.guests for port in other.ports]
        return not any(
            number == other_number
            and protocol == other_protocol
            and (ip == other_ip or "0.0.0.0" in (ip, other_ip))
            for ip, protocol, number in guest.ports
            for other_ip, other_protocol, other_number in taken
        )

    def _volumes_fit(self, guest: Guest, table: Table) -> bool:
        if not guest.claims:
            return True
        seated = [other for each in self.tables for other in each.guests]
        used = {claim for other in seated for claim in self.disks.exclusive(other)}
        if not used.isdisjoint(self.disks.exclusive(guest)):
            return False
        limits = self.disks.limits.get(table.name, {})
        new = set(self.disks.attached(guest))
        attached = {volume for other in table.guests for volume in self.disks.attached(other)}
        left = self.disks.left.get(table.name, set())
        full = any(
            any(d == driver for d, _ in new - attached)
            and sum(d == driver for d, _ in [*(attached | left), *(new - attached)]) > limit
            for driver, limit in limits.items()
        )
        if any(driver in self.disks.strict and driver not in limits for driver, _ in new):
            return False
        return not full and self.disks.allow(guest, table.name, table.labels)

    # ---- other pods

    def means(self, term: Term, guest: Guest) -> bool:
        found = self._meant.get((term, guest))
        if found is None:
            found = self._meant[term, guest] = term.matches(guest, self.spaces)
        return found

    def kept_apart(self, guest: Guest, table: Table) -> bool:
        return not any(
            self._clash(guest.apart, other, table, each) or self._clash(other.apart, guest, each, table)
            for each in self.tables
            for other in each.guests
        )

    def _clash(self, terms: tuple[Term, ...], subject: Guest, owner_at: Table, subject_at: Table) -> bool:
        return any(
            term.key in owner_at.labels
            and owner_at.labels[term.key] == subject_at.labels.get(term.key)
            and self.means(term, subject)
            for term in terms
        )

    def kept_together(self, guest: Guest, table: Table) -> bool:
        terms = guest.together
        if not terms:
            return True
        if any(term.key not in table.labels for term in terms):
            return False
        friends = [
            each
            for each in self.tables
            if any(all(self.means(term, other) for term in terms) for other in each.guests)
        ]
        if all(any(each.labels.get(t.key) == table.labels[t.key] for each in friends) for t in terms):
            return True
        alone = not any(term.key in each.labels for each in friends for term in terms)
        return alone and all(self.means(term, guest) for term in terms)

    def level(self, guest: Guest, table: Table, constraint: Spread) -> bool:
        here = table.labels.get(constraint.key)
        if here is None:
            return False
        counts: dict[str, int] = {}
        for each in self.tables:
            if self.looks_at(guest, each, constraint):
                value = each.labels[constraint.key]
                found = sum(self.counted_by(constraint, guest.namespace, other) for other in each.guests)
                counts[value] = counts.get(value, 0) + found
        least = 0 if len(counts) < constraint.min_domains else min(counts.values())
        own = selector_matches(constraint.selector, guest.labels)
        return counts.get(here, 0) + own - least <= constraint.skew

    def looks_at(self, guest: Guest, table: Table, constraint: Spread) -> bool:
        """Whether the node's pods and domain are looked at for this constraint of the guest."""
        return (
            all(other.key in table.labels for other in guest.spread)
            and (not constraint.heeds_affinity or self._wanted(guest, table))
            and (not constraint.heeds_taints or _bearable(guest, table))
        )

    def counted_by(self, constraint: Spread, namespace: str, other: Guest) -> bool:
        if other.terminating or other.namespace != namespace:
            return False
        found = self._counted.get((constraint, other))
        if found is None:
            found = self._counted[constraint, other] = selector_matches(constraint.selector, other.labels)
        return found


def _bearable(guest: Guest, table: Table) -> bool:
    return all(tolerated(taint, guest.tolerations) for taint in table.taints)
