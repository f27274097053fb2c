"""Shares of devices, in thousandths: how much is free of each device of a node, and what a claim takes.

A device that several can share counts by the capacity of which least is left. Devices that are partitions of
the same hardware are counted together, by the counter of which least is left.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np

from maitred.cluster.devices.allocator import WHOLE, Answer, Claimed
from maitred.cluster.devices.book import Book
from maitred.cluster.devices.capacity import Amounts, consumption
from maitred.cluster.devices.menus import NO_MENU, menu_column, sight_of
from maitred.cluster.devices.pools import CounterName, DevicePool, PooledDevice
from maitred.cluster.devices.requests import DeviceAsk
from maitred.cluster.nodes import Ints


class DeviceShare(NamedTuple):
    """What a pod takes of devices."""

    devices: int
    each: int
    """Thousandths."""


# -- what claims take ----------------------------------------------------------------------------------------


def share_of(book: Book, specs: Iterable[bytes]) -> DeviceShare | None:
    """What a pod with these claims takes where there is something for it. None if it takes whole devices of
    which no other pod can have a part, or several parts that differ."""
    taken, divisible = set[int](), False
    devices = 0
    for spec in specs:
        codes = menu_column(spec, book.load.nodes, book.inventory).codes
        if not (codes != NO_MENU).any():
            return None
        name = book.load.nodes.names[int((codes != NO_MENU).argmax())]
        pools = book.inventory.on_node.get(name, ())
        for ask, device, pool in _first_choices(sight_of(spec, pools, book.inventory), pools):
            devices += ask.count
            taken.add(_part(ask, device, pool))
            divisible |= is_divisible(device)
    if not divisible or len(taken) != 1:
        return None
    (each,) = taken
    return DeviceShare(devices, each) if devices == 1 or each == WHOLE else None


def _first_choices(
    sight: Claimed, pools: tuple[DevicePool, ...]
) -> Iterable[tuple[DeviceAsk, PooledDevice, DevicePool]]:
    """The first alternative of each request, with the first device of a node that suits it."""
    places = [(device, pool) for pool in pools for device in pool.devices]
    first = 0
    for request in sight.program.requests:
        selected = sight.selected[first]
        if selected:
            yield request[0], *places[(selected & -selected).bit_length() - 1]
        first += len(request)


def is_divisible(device: PooledDevice) -> bool:
    return device.is_shared or bool(device.counters)


def _part(ask: DeviceAsk, device: PooledDevice, pool: DevicePool) -> int:
    if device.counters:
        totals = [(amount, pool.counters[name]) for name, amount in device.counters]
        return _most((amount, total) for amount, total in totals)
    amounts = consumption(ask.capacity, device.capacity, {}) if device.is_shared else None
    if amounts is None:
        return WHOLE
    return _most((amount, device.capacity[name].value) for name, amount in amounts.items())


def _most(parts: Iterable[tuple[int, int]]) -> int:
    found = [min(WHOLE, -(-part * WHOLE // total)) for part, total in parts if total > 0]
    return max(found, default=0)


# -- what is free --------------------------------------------------------------------------------------------


class FreeShares:
    """By the rows of nodes: how much is free of each device, or set of partitions, of the pools in which
    there are some to be shared. Kept true as pods are seated."""

    def __init__(self, book: Book) -> None:
        self._book, self._seen = book, len(book.noted)
        found = [_free_on(book, row, name) for row, name in enumerate(book.load.nodes.names)]
        self._table: Ints = np.zeros((len(found), max(map(len, found), default=0)), dtype=np.int64)
        for row, free in enumerate(found):
            self._table[row, : len(free)] = free

    def table(self) -> Ints:
        noted, names = self._book.noted, self._book.load.nodes.names
        for row in set(noted[self._seen :]):
            free = _free_on(self._book, row, names[row])
            self._table[row, : len(free)] = free
        self._seen = len(noted)
        return self._table


def whole_shares(book: Book) -> Ints:
    """How many devices there are of these on each node."""
    on_node, names = book.inventory.on_node, book.load.nodes.names
    counts = [sum(len(_all_free(pool)) for pool in on_node.get(name, ())) for name in names]
    return np.array(counts, dtype=np.int64)


def _free_on(book: Book, row: int, name: str) -> tuple[int, ...]:
    pools = book.inventory.on_node.get(name, ())
    if not any(map(_has_shares, pools)):
        return ()
    demands = book.demands(row)
    answer = book.answer(row, demands) if demands else Answer(())
    usage = book.usage(row)
    if not usage.taken and not usage.shares and not demands:
        return tuple(part for pool in pools for part in _all_free(pool))
    taken, shares = set(usage.taken), {number: dict(amounts) for number, amounts in usage.shares}
    for given in (one for claim in answer.solution or () for one in claim):
        if given.consumed is None:
            taken.add(given.device)
        else:
            share = shares.setdefault(given.device, {})
            for resource, amount in given.consumed:
                share[resource] = share.get(resource, 0) + amount
    found, start = list[int](), 0
    for pool in pools:
        if _has_shares(pool):
            numbers = range(start, start + len(pool.devices))
            mine = {number - start: shares[number] for number in numbers if number in shares}
            found += _free_in(pool, {number - start for number in numbers if number in taken}, mine)
        start += len(pool.devices)
    return tuple(found)


def _all_free(pool: DevicePool) -> tuple[int, ...]:
    if "all free" not in pool.derived:
        pool.derived["all free"] = tuple(_free_in(pool, set(), {})) if _has_shares(pool) else ()
    found: tuple[int, ...] = pool.derived["all free"]
    return found


def _has_shares(pool: DevicePool) -> bool:
    if "has shares" not in pool.derived:
        pool.derived["has shares"] = any(map(is_divisible, pool.devices))
    return bool(pool.derived["has shares"])


def _free_in(pool: DevicePool, taken: set[int], shares: Mapping[int, Amounts]) -> Iterable[int]:
    left: dict[CounterName, int] = dict(pool.counters)
    for number, device in enumerate(pool.devices):
        if device.counters:
            for name, amount in device.counters if number in taken or number in shares else ():
                left[name] -= amount
        elif number in taken:
            yield 0
        elif device.is_shared and number in shares:
            yield min(
                (
                    max(0, (one.value - shares[number].get(name, 0)) * WHOLE // one.value)
                    for name, one in device.capacity.items()
                    if one.value > 0
                ),
                default=WHOLE,
            )
        else:
            yield WHOLE
    by_set = dict[str, int]()
    for (counter_set, counter), total in pool.counters.items():
        part = max(0, left[counter_set, counter] * WHOLE // total) if total > 0 else WHOLE
        by_set[counter_set] = min(by_set.get(counter_set, WHOLE), part)
    yield from by_set.values()
