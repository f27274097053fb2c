"""Which devices the selectors of a request select.

A selector is evaluated once for all devices that are alike in what it reads: of 80,000 devices, each with a
number of its own, it sees as many as there are models.
"""

from collections.abc import Hashable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.pools import DeviceId, DevicePool, PooledDevice
from maitred.model.cel import (
    AttributeValue,
    DeviceFacts,
    Quantity,
    Reads,
    SelectorError,
    Version,
    selector,
)
from maitred.model.devices.slices import DeviceAttribute

USUAL_COST = 10
"""Of an expression that compares an attribute or two, for one device."""
EVALUATION = 10
"""What it takes to evaluate an expression for a device, beside its own cost."""
FREE_EVALUATIONS = 3
"""For each device: more expressions of a claim count, unless devices are alike in what these read."""
MOST_COST_IN_ALL = 200_000
"""Of the expressions of a claim beyond that, for all devices together."""
TOO_DEAR = f"its selectors cost more than {MOST_COST_IN_ALL} for all devices together"


class SelectorProblem(NamedTuple):
    """A selector could not be evaluated."""

    expression: str
    device: DeviceId | None
    """None if it fails for all."""
    message: str


class Matched(NamedTuple):
    bits: int
    """The devices of a pool that are selected."""
    problems: list[SelectorProblem]
    cost: int
    """What the expressions cost, beyond what is usual: the same whether it was known before or not."""
    evaluations: int
    """How often they have to be evaluated."""


def total_cost(cost: int, evaluations: int, devices: int) -> int:
    """What it takes to find out which of so many devices are selected, beyond what is usual."""
    return cost + EVALUATION * max(0, evaluations - FREE_EVALUATIONS * devices)


def matching(expressions: tuple[str, ...], pool: DevicePool, inventory: Inventory) -> Matched:
    """The devices of a pool that all of these select."""
    known = inventory.findings.selected
    chosen, problems = (1 << len(pool.devices)) - 1, list[SelectorProblem]()
    counted, total = set[Hashable](), 0
    for expression in expressions:
        if expression in inventory.hidden:
            chosen &= inventory.hidden[expression].get(pool.id, 0)
            continue
        try:
            compiled = selector(expression)
        except SelectorError as error:
            return Matched(0, [SelectorProblem(expression, None, str(error))], 0, 0)
        for number, device in enumerate(pool.devices):
            if not chosen >> number & 1:
                continue
            kind = (expression, kind_of(device, compiled.reads))
            if kind not in known:
                known[kind] = compiled.examine(facts_of(device))
            answer, cost = known[kind]
            if kind not in counted:
                counted.add(kind)
                total += max(0, cost - USUAL_COST)
                if total_cost(total, len(counted), len(pool.devices)) > MOST_COST_IN_ALL:
                    return Matched(0, [SelectorProblem(expression, None, TOO_DEAR)], total, len(counted))
            if answer is not True:
                chosen &= ~(1 << number)
            if isinstance(answer, str):
                problems.append(SelectorProblem(expression, device.id, answer))
    return Matched(chosen, problems, total, len(counted))


def kind_of(device: PooledDevice, reads: Reads) -> Hashable:
    """What a selector that reads this can tell of a device: equal for those that it cannot tell apart."""
    source, driver = device.source, device.id.driver
    attributes, capacity = read_names(driver, tuple(source.attributes), tuple(source.capacity), reads)
    return (
        driver,
        source.allow_multiple_allocations,
        attributes,
        tuple([source.attributes[name] for name in attributes]),
        capacity,
        tuple([source.capacity[name].value for name in capacity]),
    )


def kinds_of(pool: DevicePool, reads: Reads) -> Hashable:
    """Equal for pools of which the devices, in their order, cannot be told apart by what reads this."""
    key = ("kinds", reads)
    if key not in pool.derived:
        pool.derived[key] = tuple([kind_of(device, reads) for device in pool.devices])
    found: Hashable = pool.derived[key]
    return found


@lru_cache(maxsize=1024)
def read_names(
    driver: str, attributes: tuple[str, ...], capacity: tuple[str, ...], reads: Reads
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The attributes and the capacities of a device that are read. Few devices differ in their names."""

    def are_read(names: tuple[str, ...], wanted: frozenset[str]) -> tuple[str, ...]:
        known = [(name, *_qualified(name, driver)) for name in names]
        return tuple(
            name
            for name, domain, full in known
            if reads.everything or domain in reads.domains or full in wanted
        )

    return are_read(attributes, reads.attributes), are_read(capacity, reads.capacity)


class _Item(NamedTuple):
    """An attribute or a capacity of a device."""

    name: str
    """In full."""
    is_capacity: bool
    value: Any


def _items(device: PooledDevice) -> Iterator[_Item]:
    driver = device.id.driver
    for name, attribute in device.source.attributes.items():
        yield _Item(_qualified(name, driver)[1], False, attribute)
    for name, capacity in device.source.capacity.items():
        yield _Item(_qualified(name, driver)[1], True, capacity.value)


def _qualified(name: str, driver: str) -> tuple[str, str]:
    """The domain and the full name. A name without a domain is in that of the driver."""
    domain, slash, _ = name.partition("/")
    return (domain, name) if slash else (driver, f"{driver}/{name}")


def facts_of(device: PooledDevice) -> DeviceFacts:
    items = list(_items(device))
    return DeviceFacts(
        driver=device.id.driver,
        attributes={item.name: _value(item.value) for item in items if not item.is_capacity},
        capacity={item.name: Quantity.parse(str(item.value)) for item in items if item.is_capacity},
        allow_multiple_allocations=device.source.allow_multiple_allocations,
    )


def _value(attribute: DeviceAttribute) -> AttributeValue:
    if attribute.ints or attribute.bools or attribute.strings:
        return [*attribute.ints] or [*attribute.bools] or [*attribute.strings]
    if attribute.versions:
        return [Version.parse(one) for one in attribute.versions]
    if attribute.version is not None:
        return Version.parse(attribute.version)
    for value in (attribute.int_value, attribute.bool_value, attribute.string):
        if value is not None:
            return value
    return ""
