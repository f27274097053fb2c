"""Devices that pods have by resource claims, as limits of queues count them.

A limit names devices of a class as a resource: the one that the class serves, or that of its own name. Each
device that a claim asks for counts as one, for the pod that has the claim. A claim that several pods may
share counts once, for the first that it was reserved for, as long as any of them uses it.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from maitred.cluster.devices.consumers import claim_users
from maitred.cluster.devices.needs import ClaimNeed, spec_bytes
from maitred.cluster.devices.pools import DevicePool
from maitred.cluster.devices.requests import DeviceAsk, program_of, suiting
from maitred.cluster.devices.served import nodes_without
from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Ints, Mask, NodeView
from maitred.cluster.snapshot import BoundPods, Snapshot
from maitred.model.devices.claims import MOST_DEVICES, DeviceClaim, DeviceRequest, ExactRequest
from maitred.model.devices.counting import DevicesByClass, resources_of_class
from maitred.model.needs import Needs


@dataclass(frozen=True, slots=True, eq=False)
class DevicesInCommon:
    """What bound pods have by a claim that several may share."""

    users: Rows
    """Their places among the bound pods."""
    payer: int
    """For which of them it counts."""
    amounts: Ints


@dataclass(frozen=True, eq=False)
class DevicesByClaims:
    own: Ints
    """What each bound pod has by claims that nobody else uses, of every resource that counts."""
    shared: Mapping[str, DevicesInCommon]

    @cached_property
    def by_pod(self) -> Ints:
        """What each bound pod has, with the claims that count for it though others use them too."""
        found = self.own.copy()
        for one in self.shared.values():
            found[one.payer] += one.amounts
        return found

    @cached_property
    def shared_by(self) -> Mapping[int, tuple[str, ...]]:
        """The claims of pods that share some, by their places."""
        found = dict[int, tuple[str, ...]]()
        for claim, one in self.shared.items():
            for place in one.users.tolist():
                found[place] = (*found.get(place, ()), claim)
        return found


class ClaimCounter:
    """Counts resources by their places among those that limits speak of."""

    def __init__(self, snapshot: Snapshot, resources: tuple[str, ...]) -> None:
        self.snapshot, self.resources = snapshot, resources
        self._place = {resource: place for place, resource in enumerate(resources)}
        self._of_request: dict[str, list[int]] = {}
        self._of_class: dict[str, list[int]] = {}
        self._amounts: dict[DevicesByClass, Ints] = {}
        self._asked: dict[bytes, Ints] = {}

    # -- names -----------------------------------------------------------------------------------------

    def of_class(self, name: str) -> list[int]:
        """For what devices of a class count."""
        known = self._of_class.get(name)
        if known is None:
            names = resources_of_class(name, self.snapshot.inventory.classes)
            known = self._of_class[name] = [self._place[one] for one in names if one in self._place]
        return known

    def of_request(self, resource: str) -> list[int]:
        """For what a resource counts that a pod requests: for itself, and for the class that serves it."""
        known = self._of_request.get(resource)
        if known is None:
            own = {self._place[resource]} if resource in self._place else set[int]()
            served = self.snapshot.device_classes.get(resource)
            known = sorted(own.union(() if served is None else self.of_class(served)))
            self._of_request[resource] = known
        return known

    # -- what is asked for -----------------------------------------------------------------------------

    def requested(self, needs: Needs) -> Ints:
        found = np.zeros(len(self.resources), dtype=np.int64)
        for resource, count in needs.requests:
            found[self.of_request(resource)] += count
        return found

    def claimed(self, need: ClaimNeed) -> Ints:
        """What one claim asks for, or has."""
        if need.allocated:
            return self._by_class(need.held)
        if need.spec not in self._asked:
            self._asked[need.spec] = self._by_class(self._asked_for(need.spec))
        return self._asked[need.spec]

    def _by_class(self, counts: DevicesByClass) -> Ints:
        known = self._amounts.get(counts)
        if known is None:
            known = self._amounts[counts] = np.zeros(len(self.resources), dtype=np.int64)
            for name, count in counts:
                known[self.of_class(name)] += count
        return known

    def _asked_for(self, spec: bytes) -> DevicesByClass:
        """Of alternatives, of each class the most that any of them asks for."""
        found = dict[str, int]()
        if spec:
            for request in program_of(spec, self.snapshot.inventory).requests:
                most = dict[str, int]()
                for ask in request:
                    name = ask.source.device_class_name
                    if not ask.is_admin and self.of_class(name):
                        most[name] = max(most.get(name, 0), self._count(ask))
                for name, count in most.items():
                    found[name] = found.get(name, 0) + count
        return tuple(sorted(found.items()))

    def _count(self, ask: DeviceAsk) -> int:
        """Of all devices, the most that a node has."""
        if not ask.wants_all:
            return ask.count
        inventory = self.snapshot.inventory
        beyond = sum(selected(ask, pool, self.snapshot) for pool in inventory.wide)
        on_nodes = (sum(selected(ask, pool, self.snapshot) for pool in p) for p in inventory.on_node.values())
        return min(MOST_DEVICES, beyond + max(on_nodes, default=0))

    # -- what bound pods have --------------------------------------------------------------------------

    def held(self, named: frozenset[str], last: Mask | None = None) -> DevicesByClaims | None:
        """None if nobody has devices that count. `named` are allocated claims that pods name which wait;
        `last`: pods for which a claim counts only if no other uses it."""
        snapshot, bound = self.snapshot, self.snapshot.bound
        kinds = {held for held in set(snapshot.allocated.held.values()) if self._by_class(held).any()}
        counting = (
            {claim for claim, held in snapshot.allocated.held.items() if held in kinds} if kinds else ()
        )
        if not counting:
            return None
        own = np.zeros((len(bound.node), len(self.resources)), dtype=np.int64)
        shared = dict[str, DevicesInCommon]()
        for claim, users, others in claim_users(snapshot, bound):
            if claim not in counting or not users:
                continue
            amounts = self._by_class(snapshot.allocated.held[claim])
            if len(users) == 1 and not others and claim not in named:
                own[next(iter(users))] += amounts
            else:
                places = np.array(sorted(users), dtype=np.intp)
                first = users if last is None else {one for one in users if not last[one]} or users
                shared[claim] = DevicesInCommon(places, _payer(snapshot, claim, first), amounts)
        own = np.maximum(own - self._made(bound), 0)
        return DevicesByClaims(own, shared)

    def _made(self, bound: BoundPods) -> Ints:
        """What pods have by the claims that were made for what they request: that counts already."""
        snapshot, found = self.snapshot, np.zeros((len(bound.node), len(self.resources)), dtype=np.int64)
        for resource in snapshot.device_classes:
            places = self.of_request(resource)
            if places:
                counts = (dict(needs.requests).get(resource, 0) for needs in snapshot.needs)
                asked = np.fromiter(counts, dtype=np.int64, count=len(snapshot.needs))
                made = np.where(nodes_without(snapshot.nodes, resource)[bound.node], asked[bound.needs], 0)
                found[:, places] += made[:, None]
        return found

    # -- what there is ---------------------------------------------------------------------------------

    def published(self, nodes: NodeView) -> Ints:
        """Devices in slices that count for each resource, by the rows of nodes; the last column has those of
        no single node."""
        key = ("published", self.resources)
        return nodes.derived_with(self.snapshot.inventory, key, lambda: self._published(nodes))

    def publishing(self, nodes: NodeView, resources: Collection[str]) -> Mask:
        """Nodes that have devices of classes that are known as any of these resources."""
        inventory, found = self.snapshot.inventory, np.zeros(len(nodes.names), dtype=np.bool_)
        classes = inventory.classes
        names = [one for one in classes if not set(resources).isdisjoint(resources_of_class(one, classes))]
        asks = [_ask_for(name, self.snapshot) for name in names]
        for node, pools in inventory.on_node.items() if asks else ():
            row = nodes.rows.get(node)
            if row is not None:
                found[row] = any(selected(ask, pool, self.snapshot) for pool in pools for ask in asks)
        return found

    def classes_of(self, needs: Collection[ClaimNeed]) -> set[str]:
        """The classes of what claims ask for, or have."""
        sought = (program_of(need.spec, self.snapshot.inventory) for need in needs if need.spec)
        asked = {ask.source.device_class_name for program in sought for ask in program.asks}
        return asked | {name for need in needs for name, _ in need.held}

    def _published(self, nodes: NodeView) -> Ints:
        inventory = self.snapshot.inventory
        found = np.zeros((len(self.resources), len(nodes.names) + 1), dtype=np.int64)
        asks = dict[int, list[DeviceAsk]]()
        for name in sorted(inventory.classes):
            for place in self.of_class(name):
                asks.setdefault(place, []).append(_ask_for(name, self.snapshot))
        for pool in inventory.pools.values() if asks else ():
            column = nodes.rows.get(pool.node) if pool.node else len(nodes.names)
            for place, some in asks.items() if column is not None else ():
                bits = 0
                for ask in some:
                    bits |= suiting(ask, pool, inventory).bits
                found[place, column] += bits.bit_count()
        return found


def _payer(snapshot: Snapshot, claim: str, users: set[int]) -> int:
    """The first that the claim was reserved for; of a PodGroup, the first pod by name."""
    names = {snapshot.bound.occupants[place].key: place for place in sorted(users)}
    namespace = claim.partition("/")[0]
    for consumer in snapshot.allocated.claims[claim].reserved_for:
        if consumer.resource != "pods":
            break
        if (place := names.get(f"{namespace}/{consumer.name}")) is not None:
            return place
    return names[min(names)]


def _ask_for(name: str, snapshot: Snapshot) -> DeviceAsk:
    """Any device of a class."""
    spec = spec_bytes(DeviceClaim((DeviceRequest("any", ExactRequest(name)),)))
    return program_of(spec, snapshot.inventory).requests[0][0]


def selected(ask: DeviceAsk, pool: DevicePool, snapshot: Snapshot) -> int:
    return suiting(ask, pool, snapshot.inventory).bits.bit_count()


def shared_needs(needs: tuple[ClaimNeed, ...]) -> Iterator[ClaimNeed]:
    """The claims that pods may share with others, each once."""
    seen = set[str]()
    for need in needs:
        if need.claim and need.claim not in seen:
            seen.add(need.claim)
            yield need
