"""Pools of devices, as drivers publish them: of each the newest generation, if all of it is there.

A pool is made from its slices once and kept as long as none of them changes, so that a change of one node's
devices costs as much as there are of them. What is worked out about a pool is kept with it.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from maitred.cluster.devices.findings import Bounded
from maitred.model.cel import is_version
from maitred.model.devices.slices import (
    REPELLING,
    CapacityRequestPolicy,
    Device,
    DeviceAttribute,
    DeviceTaint,
    DeviceTaintRule,
    ResourceSlice,
)
from maitred.model.pod import NodeSelector
from maitred.model.quantity import QuantityError, parse_nano

Value = frozenset[tuple[str, int | str]]
"""An attribute as constraints compare it: a list is a set of its items, anything else a set of one. Each has
the type with it."""
CounterName = tuple[str, str]
"""Counter set, counter."""
OPTIONAL_OPERATIONS = "DRAOptionalNodeOperations"
"""What a kubelet declares that can do without the operations that a slice says are to be skipped."""
MOST_DERIVED = 64
"""Things that are kept with a pool: there are many pools."""


class DeviceId(NamedTuple):
    driver: str
    pool: str
    device: str

    def __str__(self) -> str:
        return "/".join(self)


class PoolId(NamedTuple):
    driver: str
    pool: str

    def __str__(self) -> str:
        return "/".join(self)


class Reach(NamedTuple):
    """The nodes that can use a device: one, those of a selector, or all."""

    node: str = ""
    selector: NodeSelector | None = None
    everywhere: bool = False
    feature: str = ""
    """Of these, only nodes that declare this feature."""


@dataclass(frozen=True, slots=True)
class PooledCapacity:
    """In billionths."""

    value: int
    policy: CapacityRequestPolicy | None


@dataclass(frozen=True, slots=True, eq=False)
class PooledDevice:
    id: DeviceId
    source: Device
    reach: Reach
    capacity: Mapping[str, PooledCapacity]
    """By the names that the driver gave them, which requests repeat."""
    taints: tuple[DeviceTaint, ...]
    """Those that keep it from being allocated."""
    counters: tuple[tuple[CounterName, int], ...]
    """What it uses up of the counters of its pool, in billionths."""
    skips: tuple[str, ...] = ()

    @property
    def is_shared(self) -> bool:
        return self.source.allow_multiple_allocations

    def value(self, attribute: str) -> Value:
        """Of an attribute by its full name; empty if it has none."""
        found = self.source.attributes.get(attribute)
        domain, _, name = attribute.partition("/")
        if found is None and domain == self.id.driver:
            found = self.source.attributes.get(name)
        return frozenset() if found is None else value_of(found)


@dataclass(frozen=True, slots=True, eq=False)
class DevicePool:
    id: PoolId
    devices: tuple[PooledDevice, ...]
    counters: Mapping[CounterName, int]
    node: str
    """The node that all of its devices are on; empty if there is no such node."""
    problem: str = ""
    """Why none of them can be allocated: not all slices are there, or they contradict each other."""
    reaches: tuple[Reach, ...] = ()
    """Of what is published, if none of it can be allocated."""
    derived: Bounded[Hashable, Any] = field(default_factory=lambda: Bounded(MOST_DERIVED), compare=False)

    @property
    def order(self) -> tuple[bool, PoolId]:
        """Devices that must be made ready first come last."""
        return any(device.source.binding_conditions for device in self.devices), self.id

    def __reduce__(self) -> tuple[Any, ...]:
        """What was worked out is not passed on to other processes."""
        return DevicePool, (self.id, self.devices, self.counters, self.node, self.problem, self.reaches)


def pool_of(
    id: PoolId, slices: Iterable[ResourceSlice], rules: Sequence[DeviceTaintRule]
) -> DevicePool | None:
    """None if there are no devices in it."""
    ordered = sorted(slices, key=lambda one: one.metadata.name)
    newest = max(one.spec.pool.generation for one in ordered)
    current = [one for one in ordered if one.spec.pool.generation == newest]
    expected = current[0].spec.pool.resource_slice_count
    with_devices = [one for one in current if one.spec.devices]
    home = _home(with_devices or current)

    def unusable(problem: str) -> DevicePool:
        reaches = {_reach(one, device) for one in with_devices for device in one.spec.devices}
        return DevicePool(id, (), {}, home, f"pool {id} {problem}", tuple(sorted(reaches, key=repr)))

    if len(current) != expected:
        return unusable(f"is being updated: {len(current)} of its {expected} slices are published")
    if not with_devices:
        return None
    problem = next((said for one in with_devices for said in map(_unreadable, one.spec.devices) if said), "")
    if problem:
        return unusable(f"is not valid: {problem}")
    try:
        devices = tuple(
            _pooled(id, one, device, rules) for one in with_devices for device in one.spec.devices
        )
        counters = _counters(current)
    except QuantityError as error:
        return unusable(f"is not valid: {error}")
    problem = _contradiction(devices, counters)
    return unusable(f"is not valid: {problem}") if problem else DevicePool(id, devices, counters, home)


def _home(slices: Iterable[ResourceSlice]) -> str:
    """The node that they are all of. Of slices that not every kubelet can handle, it depends on the nodes."""
    homes = {"" if one.spec.skip_node_operations else one.spec.node_name or "" for one in slices}
    return homes.pop() if len(homes) == 1 else ""


def _unreadable(device: Device) -> str:
    """What of a device cannot be taken into account."""
    if any(one.compatibility_groups for one in device.consumes_counters):
        return f"device {device.name} has compatibility groups, which maitred does not know"
    for name, attribute in device.attributes.items():
        for version in (attribute.version, *attribute.versions):
            if version is not None and not is_version(version):
                return f"attribute {name} of device {device.name}: {version!r} is not a semantic version"
    return ""


def _counters(slices: Iterable[ResourceSlice]) -> dict[CounterName, int]:
    found = dict[CounterName, int]()
    named = set[str]()
    for counter_set in (one for piece in slices for one in piece.spec.shared_counters):
        if counter_set.name in named:
            raise QuantityError(f"two counter sets are called {counter_set.name}")
        named.add(counter_set.name)
        for name, counter in counter_set.counters.items():
            found[counter_set.name, name] = parse_nano(counter.value)
    return found


def _contradiction(devices: Sequence[PooledDevice], counters: Mapping[CounterName, int]) -> str:
    names = set[str]()
    for device in devices:
        if device.id.device in names:
            return f"two devices are called {device.id.device}"
        names.add(device.id.device)
        for (counter_set, counter), _ in device.counters:
            if (counter_set, counter) not in counters:
                return f"device {device.id.device} uses counter {counter_set}/{counter}, which does not exist"
    return ""


def _pooled(
    id: PoolId, published: ResourceSlice, device: Device, rules: Sequence[DeviceTaintRule]
) -> PooledDevice:
    name = DeviceId(*id, device.name)
    return PooledDevice(
        id=name,
        source=device,
        reach=_reach(published, device),
        capacity={
            key: PooledCapacity(parse_nano(one.value), one.request_policy)
            for key, one in device.capacity.items()
        },
        taints=tuple(taint for taint in _taints(name, device, rules) if taint.effect in REPELLING),
        counters=tuple(
            ((consumption.counter_set, counter), parse_nano(amount.value))
            for consumption in device.consumes_counters
            for counter, amount in sorted(consumption.counters.items())
        ),
        skips=published.spec.skip_node_operations,
    )


def _reach(published: ResourceSlice, device: Device) -> Reach:
    """A selector of several terms cannot be said together with those of other devices in an allocation, so
    nobody can use what has such a one."""
    spec = published.spec
    where = device if spec.per_device_node_selection else spec
    if where.node_selector is not None and len(where.node_selector.node_selector_terms) != 1:
        return Reach()
    feature = OPTIONAL_OPERATIONS if spec.skip_node_operations else ""
    return Reach(where.node_name or "", where.node_selector, where.all_nodes, feature)


def _taints(id: DeviceId, device: Device, rules: Sequence[DeviceTaintRule]) -> Iterable[DeviceTaint]:
    yield from device.taints
    for rule in rules:
        chosen = rule.spec.device_selector
        if chosen is not None and all(
            wanted in (None, own)
            for wanted, own in zip((chosen.driver, chosen.pool, chosen.device), id, strict=True)
        ):
            yield rule.spec.taint


def value_of(attribute: DeviceAttribute) -> Value:
    """As Kubernetes compares attributes: by type, and versions by their text."""
    for kind, items in (
        ("int", attribute.ints),
        ("bool", attribute.bools),
        ("string", attribute.strings),
        ("version", attribute.versions),
        ("int", attribute.int_value),
        ("bool", attribute.bool_value),
        ("string", attribute.string),
        ("version", attribute.version),
    ):
        if isinstance(items, tuple):
            if items:
                return frozenset((kind, item) for item in items)
        elif items is not None:
            return frozenset({(kind, items)})
    return frozenset()
