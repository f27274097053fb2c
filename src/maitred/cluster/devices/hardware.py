"""Devices as people count them: by driver and model, and every piece of hardware once.

A driver may publish the partitions of a device beside the device itself, and several claims may have shares
of one device. Whatever is cut from the same hardware counts as one device here. It is in use as soon as a
claim has any part of it, and in use *in part* while more of it can be had.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from maitred.cluster.devices.allocated import PoolUse
from maitred.cluster.devices.pools import CounterName, DevicePool, PooledDevice

MODEL_ATTRIBUTES = ("model", "productName", "product")
"""Under which drivers tell the model of a device; the first that a device has counts."""


class DeviceKind(NamedTuple):
    driver: str
    model: str
    """Empty if its driver does not say."""


class Tally(NamedTuple):
    """Devices of one kind. Each is in use, unwell or free; `total` is all of them."""

    total: int = 0
    used: int = 0
    partly: int = 0
    """Of those in use."""
    unwell: int = 0
    """Tainted, and not in use."""
    tainted: int = 0
    """In use or not."""

    @property
    def free(self) -> int:
        return self.total - self.used - self.unwell

    def plus(self, other: "Tally") -> "Tally":
        return Tally(*map(sum, zip(self, other, strict=True)))


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """A piece of hardware: a device, or all devices that are cut from it."""

    kind: DeviceKind
    devices: tuple[int, ...]
    """Their places in the pool; the one first that all others are cut from."""
    tainted: bool
    """None of them can be had."""


# -- what a device is --------------------------------------------------------------------------------------


def kind_of(device: PooledDevice) -> DeviceKind:
    return DeviceKind(device.id.driver, _model(device)[1])


def model_expression(device: PooledDevice) -> str:
    """In CEL: selects the devices of the same driver and model; empty if it has no model."""
    attribute, model = _model(device)
    if not attribute:
        return ""
    driver, value = (msgspec.json.encode(text).decode() for text in (device.id.driver, model))
    return f"device.driver == {driver} && device.attributes[{driver}].{attribute} == {value}"


def _model(device: PooledDevice) -> tuple[str, str]:
    """The attribute that says it, and the model."""
    attributes = device.source.attributes
    for name in MODEL_ATTRIBUTES:
        found = attributes.get(name) or attributes.get(f"{device.id.driver}/{name}")
        if found is not None and found.string:
            return name, found.string
    return "", ""


# -- what is cut from what ---------------------------------------------------------------------------------


def units_of(pool: DevicePool) -> tuple[Unit, ...]:
    """Worked out once for each pool."""
    if "units" not in pool.derived:
        pool.derived["units"] = tuple(_units(pool.devices))
    found: tuple[Unit, ...] = pool.derived["units"]
    return found


def unit_of(pool: DevicePool, device: str) -> Unit | None:
    """The unit that a device of this name belongs to; None if there is no such device."""
    if "unit of" not in pool.derived:
        pool.derived["unit of"] = {
            pool.devices[place].id.device: unit for unit in units_of(pool) for place in unit.devices
        }
    found: Unit | None = pool.derived["unit of"].get(device)
    return found


def _units(devices: Sequence[PooledDevice]) -> Iterator[Unit]:
    for places in _cut_from_one(devices):
        first = devices[places[0]]
        yield Unit(kind_of(first), places, all(devices[place].taints for place in places))


def _cut_from_one(devices: Sequence[PooledDevice]) -> list[tuple[int, ...]]:
    """Sets of devices. Two are cut from one if all that the smaller uses up of shared counters, the larger
    uses up too, and more. Devices that only draw on one budget, as equals, are not."""
    if not any(device.counters for device in devices):
        return [(place,) for place in range(len(devices))]
    root = list(range(len(devices)))

    def top(place: int) -> int:
        while root[place] != place:
            root[place] = root[root[place]]
            place = root[place]
        return place

    for sharing in _by_counter_set(devices):
        alike = dict[tuple[tuple[CounterName, int], ...], list[int]]()
        for place in sharing:
            alike.setdefault(devices[place].counters, []).append(place)
        for small, parts in alike.items():
            for large, wholes in alike.items():
                if small != large and _covers(dict(large), small):
                    for place in (*parts, *wholes):
                        low, high = sorted((top(place), top(parts[0])))
                        root[high] = low
    found = dict[int, list[int]]()
    for place in range(len(devices)):
        found.setdefault(top(place), []).append(place)
    return [tuple(sorted(places, key=lambda place: -_drawn(devices[place]))) for places in found.values()]


def _drawn(device: PooledDevice) -> int:
    return sum(amount for _, amount in device.counters)


def _by_counter_set(devices: Sequence[PooledDevice]) -> Collection[list[int]]:
    found = dict[str, list[int]]()
    for place, device in enumerate(devices):
        for counter_set in {name[0] for name, _ in device.counters}:
            found.setdefault(counter_set, []).append(place)
    return found.values()


def _covers(large: Mapping[CounterName, int], small: tuple[tuple[CounterName, int], ...]) -> bool:
    return all(large.get(name, -1) >= amount for name, amount in small)


# -- what is in use ----------------------------------------------------------------------------------------


def tallies(pool: DevicePool, uses: PoolUse) -> Mapping[DeviceKind, Tally]:
    """Kept with the pool until one of its claims changes."""
    known: tuple[PoolUse, Mapping[DeviceKind, Tally]] | None = pool.derived.get("tallies")
    if known is None or known[0] is not uses:
        known = pool.derived["tallies"] = (uses, _tallies(pool, uses))
    return known[1]


def _tallies(pool: DevicePool, uses: PoolUse) -> Mapping[DeviceKind, Tally]:
    taken = {use.device for use in uses}
    left = _left(pool, uses) if uses else None
    found = dict[DeviceKind, list[int]]()
    for unit in units_of(pool):
        used = bool(taken) and any(pool.devices[place].id.device in taken for place in unit.devices)
        counts = found.get(unit.kind)
        if counts is None:
            counts = found[unit.kind] = [0] * len(Tally._fields)
        counts[0] += 1
        counts[1] += used
        counts[2] += used and left is not None and any(left(pool.devices[place]) for place in unit.devices)
        counts[3] += unit.tainted and not used
        counts[4] += unit.tainted
    return {kind: Tally(*counts) for kind, counts in found.items()}


def _left(pool: DevicePool, uses: PoolUse) -> Callable[[PooledDevice], bool]:
    """Whether something can be had of a device that is in use, or that is cut from one."""
    whole = {use.device for use in uses if use.consumed is None}
    shares, drawn = dict[str, Counter[str]](), Counter[CounterName]()
    for use in uses:
        shares.setdefault(use.device, Counter()).update(dict(use.consumed or ()))
    for device in pool.devices:
        if device.id.device in shares:
            drawn.update(dict(device.counters))

    def has(device: PooledDevice) -> bool:
        name = device.id.device
        if name in whole or device.taints:
            return False
        if name in shares:
            consumed = shares[name]
            return device.is_shared and all(
                consumed[of] < capacity.value for of, capacity in device.capacity.items()
            )
        return all(drawn[of] + amount <= pool.counters[of] for of, amount in device.counters)

    return has
