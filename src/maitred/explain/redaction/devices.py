"""Claims of strangers for devices, and what their pods need of them.

Devices, classes and taints are the cluster's, and keep their names. What a stranger's claim selects by an
expression is told by its result alone: which devices it selects, and not how. If a claim costs too much to
evaluate, it gets nothing, and so it is told.
"""

from collections.abc import Hashable, Iterator
from hashlib import sha256

from maitred.cluster.devices.allocated import Allocated, DeviceUse
from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.looks import reads_of
from maitred.cluster.devices.matching import kinds_of, matching
from maitred.cluster.devices.menus import menu_column
from maitred.cluster.devices.needs import ClaimNeed, spec_bytes, spec_of
from maitred.cluster.devices.pools import PoolId
from maitred.cluster.devices.requests import program_of
from maitred.cluster.snapshot import Snapshot
from maitred.explain.redaction.aliases import MARK, Aliases
from maitred.explain.redaction.vocabulary import Vocabulary
from maitred.model.devices.claims import (
    Allocation,
    CapacityRequirements,
    Consumer,
    DeviceClaim,
    DeviceConstraint,
    DeviceRequest,
    DeviceToleration,
    ExactRequest,
    ResourceClaimStatus,
)
from maitred.model.devices.classes import CelSelector, DeviceSelector
from maitred.model.devices.counting import DevicesByClass

NOT_READY = "one of its claims is not ready"


class DeviceFields:
    def __init__(self, snapshot: Snapshot, names: Aliases, words: Vocabulary) -> None:
        inventory, allocated = snapshot.inventory, snapshot.allocated
        self._names, self._words, self._inventory, self._nodes = names, words, inventory, snapshot.nodes
        self._hidden: dict[str, dict[PoolId, int]] = {}
        self._specs: dict[bytes, bytes] = {}
        self.allocated = Allocated(
            by_pool={
                pool: tuple(self._use(use) for use in uses if inventory.device(pool, use.device) is not None)
                for pool, uses in allocated.by_pool.items()
                if pool in inventory.pools
            },
            claims={names.key(key): self._status(key, status) for key, status in allocated.claims.items()},
            sought={
                names.key(key): spec if names.is_own(key) else self._spec(spec)
                for key, spec in allocated.sought.items()
            },
            held={
                names.key(key): held if names.is_own(key) else self._held(held)
                for key, held in allocated.held.items()
            },
        )

    def _use(self, use: DeviceUse) -> DeviceUse:
        consumed = use.consumed and tuple((self._words.told(name), amount) for name, amount in use.consumed)
        return DeviceUse(self._names.key(use.claim), use.device, consumed)

    @property
    def inventory(self) -> Inventory:
        """To be asked for when all needs have been told."""
        return Inventory(self._inventory.pools, self._inventory.classes, self._hidden)

    def _status(self, key: str, status: ResourceClaimStatus) -> ResourceClaimStatus:
        if self._names.is_own(key):
            return status
        namespace = key.partition("/")[0]
        consumers = tuple(self._consumer(namespace, one) for one in status.reserved_for)
        return ResourceClaimStatus(Allocation(), consumers)

    def _consumer(self, namespace: str, one: Consumer) -> Consumer:
        """Pods of strangers are known by their new names."""
        key = self._names.key(f"{namespace}/{one.name}")
        resource = one.resource if one.resource in ("pods", "podgroups") else MARK
        return Consumer(resource, key.partition("/")[2], key if resource == "pods" else "")

    def need(self, need: ClaimNeed) -> ClaimNeed:
        return ClaimNeed(
            problem=need.problem and NOT_READY,
            spec=self._spec(need.spec),
            claim=self._names.key(need.claim),
            allocated=need.allocated,
            reach=self._words.selector(need.reach),
            group=None if need.group is None else (MARK, self._names.other(need.group[1])),
            consumers=need.consumers,
            held=self._held(need.held),
        )

    def _held(self, held: DevicesByClass) -> DevicesByClass:
        return tuple([(self._words.told(name), count) for name, count in held])

    def _spec(self, spec: bytes) -> bytes:
        if not spec:
            return spec
        found = self._specs.get(spec)
        if found is None:
            claim = spec_of(spec)
            serves = not self._is_hopeless(spec)
            found = self._specs[spec] = spec_bytes(
                DeviceClaim(
                    requests=tuple(self._request(one, serves) for one in claim.requests),
                    constraints=tuple(map(self._constraint, claim.constraints)),
                )
            )
        return found

    def _is_hopeless(self, spec: bytes) -> bool:
        """Its selectors are not evaluated: they are too many, or cost too much."""
        if program_of(spec, self._inventory).problem:
            return True
        return menu_column(spec, self._nodes, self._inventory).is_too_dear

    def _request(self, request: DeviceRequest, serves: bool) -> DeviceRequest:
        return DeviceRequest(
            name=self._word(request.name),
            exactly=None if request.exactly is None else self._exact(request.exactly, serves),
            first_available=tuple(self._exact(one, serves) for one in request.first_available),
        )

    def _exact(self, one: ExactRequest, serves: bool) -> ExactRequest:
        return ExactRequest(
            device_class_name=self._words.told(one.device_class_name),
            selectors=tuple(map(self._selector, one.selectors)) if serves else (self._nothing(),),
            allocation_mode=one.allocation_mode,
            count=one.count,
            admin_access=one.admin_access,
            tolerations=tuple(map(self._toleration, one.tolerations)),
            capacity=None if one.capacity is None else self._capacity(one.capacity),
            name=self._word(one.name),
            derived_attributes=(MARK,) if one.derived_attributes else (),
        )

    def _selector(self, one: DeviceSelector) -> DeviceSelector:
        """An expression that stands for what it selects."""
        if one.cel is None:
            return one
        sign = f"{MARK}{sha256(one.cel.expression.encode()).hexdigest()}"
        if sign not in self._hidden:
            self._hidden[sign] = {id: bits for id, bits in self._chosen(one.cel.expression) if bits}
        return DeviceSelector(CelSelector(sign))

    def _chosen(self, expression: str) -> Iterator[tuple[PoolId, int]]:
        """Worked out once for pools of which the devices are alike in what the expression reads."""
        reads, known = reads_of((expression,)), dict[Hashable, int]()
        for pool in self._inventory.pools.values():
            kinds = kinds_of(pool, reads)
            if kinds not in known:
                known[kinds] = matching((expression,), pool, self._inventory).bits
            yield pool.id, known[kinds]

    def _nothing(self) -> DeviceSelector:
        self._hidden[MARK] = {}
        return DeviceSelector(CelSelector(MARK))

    def _toleration(self, one: DeviceToleration) -> DeviceToleration:
        return DeviceToleration(
            self._words.told(one.key), one.operator, self._words.told(one.value), one.effect
        )

    def _capacity(self, one: CapacityRequirements) -> CapacityRequirements:
        return CapacityRequirements({self._words.told(name): amount for name, amount in one.requests.items()})

    def _constraint(self, one: DeviceConstraint) -> DeviceConstraint:
        return DeviceConstraint(
            requests=tuple("/".join(map(self._word, name.split("/"))) for name in one.requests),
            match_attribute=self._words.told(one.match_attribute),
            distinct_attribute=self._words.told(one.distinct_attribute),
        )

    def _word(self, text: str) -> str:
        return self._names.other(text)
