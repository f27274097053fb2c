"""Why a request gets no devices: how many there are, and what keeps each of them from it.

Every device is counted once, under the first thing that excludes it: its class, a selector, a taint, its
node, those who use it, too little of a capacity or a counter.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from maitred.cluster.devices.allocated import Allocated, PoolUse
from maitred.cluster.devices.book import Book
from maitred.cluster.devices.capacity import Amounts, consumption
from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.looks import reads_of
from maitred.cluster.devices.matching import SelectorProblem, kinds_of, matching
from maitred.cluster.devices.menus import claimed, has_taints, wide_devices
from maitred.cluster.devices.pools import CounterName, DeviceId, DevicePool, PooledDevice, PoolId
from maitred.cluster.devices.requests import DeviceAsk, program_of, tolerated
from maitred.cluster.nodes import Mask


class Failure(NamedTuple):
    """A selector that cannot be evaluated for some devices, which it excludes so."""

    expression: str
    devices: int
    message: str


@dataclass(slots=True)
class Funnel:
    """The devices of one request, and how many of them each thing excludes."""

    published: int = 0
    other_class: int = 0
    rejected: Counter[str] = field(default_factory=Counter)
    """By the selectors of the request, each device by the first that does not select it."""
    failures: list[Failure] = field(default_factory=list)
    tainted: int = 0
    elsewhere: int = 0
    """No node that accepts the pod reaches them."""
    crowded: int = 0
    """Those nodes have no room for the pod itself."""
    in_use: int = 0
    promised: int = 0
    """To other members of the group."""
    short: Counter[str] = field(default_factory=Counter)
    """Too little is left of a capacity."""
    beyond: Counter[str] = field(default_factory=Counter)
    """They never give a request so much of a capacity, or do not have it."""
    spent: Counter[str] = field(default_factory=Counter)
    """Too little is left of a counter: other partitions of the same hardware are in use."""
    left: int = 0
    by_node: Counter[str] = field(default_factory=Counter)
    """What is left, by the nodes that reach it."""

    @property
    def of_class(self) -> int:
        return self.published - self.other_class

    @property
    def selected(self) -> int:
        return self.of_class - self.rejected.total()


@dataclass(frozen=True, slots=True, eq=False)
class Stock:
    """What is taken of all devices: by allocated claims, and by those that pods were promised."""

    taken: set[DeviceId] = field(default_factory=set)
    shares: dict[DeviceId, Amounts] = field(default_factory=dict)
    counters: dict[PoolId, Counter[CounterName]] = field(default_factory=dict)

    def take(self, device: PooledDevice, consumed: tuple[tuple[str, int], ...] | None) -> None:
        id = device.id
        if id not in self.taken and id not in self.shares:
            used = self.counters.setdefault(PoolId(id.driver, id.pool), Counter())
            used.update(dict(device.counters))
        if consumed is None:
            self.taken.add(id)
            return
        share = self.shares.setdefault(id, {})
        for name, amount in consumed:
            share[name] = share.get(name, 0) + amount

    def lacks(self, ask: DeviceAsk, device: PooledDevice) -> str:
        """The capacity of which too little is left for a request; empty if there is enough."""
        share = self.shares.get(device.id, {})
        if consumption(ask.capacity, device.capacity, share) is not None:
            return ""
        for name in sorted(device.capacity.keys() | ask.capacity.keys()):
            known = {name: device.capacity[name]} if name in device.capacity else {}
            wanted = {name: ask.capacity[name]} if name in ask.capacity else {}
            if consumption(wanted, known, share) is None:
                return name
        return "capacity"

    def spent(self, pool: DevicePool, device: PooledDevice) -> str:
        """The counter of which too little is left for a device; empty if there is enough."""
        if device.id in self.shares:
            return ""
        used = self.counters.get(pool.id, Counter())
        short = (name for name, amount in device.counters if pool.counters[name] - used[name] < amount)
        return "/".join(next(short, ()))


def stock_of(book: Book) -> Stock:
    stock = Stock()
    for id, uses in book.allocated.by_pool.items():
        for use in uses:
            device = None if use.claim in book.gone else book.inventory.device(id, use.device)
            if device is not None:
                stock.take(device, use.consumed)
    for grant in book.promised():
        for part in grant.parts:
            if not part.ask.is_admin:
                stock.take(part.device, part.consumed)
    return stock


def tainted_for(spec: bytes, inventory: Inventory) -> Iterator[PooledDevice]:
    """Devices that a claim selects, and whose taints it does not tolerate."""
    program = program_of(spec, inventory)
    for pool in inventory.pools.values():
        if not has_taints(pool):
            continue
        sight = claimed(program, (pool,), inventory)
        kept_out = 0
        for suiting, selected in zip(sight.suiting, sight.selected, strict=True):
            kept_out |= selected & ~suiting
        yield from (pool.devices[number] for number in _bits(kept_out))


def gone_for(specs: Iterable[bytes], inventory: Inventory, allocated: Allocated) -> list[DeviceId]:
    """Devices that claims have, and that no slice has any more, of the classes that these ask for. What else
    they were is not known."""
    wanted = {one for spec in specs for one in _classes(spec, inventory)}
    if not inventory.pools or not wanted:
        return []
    return sorted(
        {
            DeviceId(*id, use.device)
            for id, uses in allocated.by_pool.items()
            for use in _gone(inventory.pools.get(id), uses)
            if not wanted.isdisjoint(_classes(allocated.sought.get(use.claim, b""), inventory))
        }
    )


def _gone(pool: DevicePool | None, uses: PoolUse) -> PoolUse:
    """Of a pool that is being updated, or is not valid, nothing is known."""
    if pool is None:
        return uses
    if pool.problem:
        return ()
    known: tuple[PoolUse, PoolUse] | None = pool.derived.get("gone")
    if known is None or known[0] is not uses:
        names = {device.id.device for device in pool.devices}
        known = pool.derived["gone"] = (uses, tuple(use for use in uses if use.device not in names))
    return known[1]


def _classes(spec: bytes, inventory: Inventory) -> set[str]:
    return {ask.source.device_class_name for ask in program_of(spec, inventory).asks} if spec else set()


class AcceptingNodes(NamedTuple):
    """The nodes that come into question for a pod."""

    accepting: Mask
    roomy: Mask
    """Those of them with room for all but its devices."""


def funnel_of(ask: DeviceAsk, book: Book, places: AcceptingNodes, before: Stock) -> Funnel:
    """What becomes of every device that is published; `before`: what was taken when the first member of the
    group came."""
    return _Counting(ask, book, places, before).funnel()


class _Counting:
    def __init__(self, ask: DeviceAsk, book: Book, places: AcceptingNodes, before: Stock) -> None:
        self.ask, self.places, self.before, self.stock = ask, places, before, stock_of(book)
        self.nodes, self.inventory = book.load.nodes, book.inventory
        self.found = Funnel()
        self._reads = reads_of(one for one in ask.expressions if one not in self.inventory.hidden)
        self._sifted = dict[Hashable, _Sifted]()
        """Pools whose devices are alike are sifted once."""
        self._shared_left = set[DeviceId]()
        """What is left of devices that several nodes can use."""

    def funnel(self) -> Funnel:
        wide = wide_devices(self.nodes, self.inventory)
        near, roomy = (self._reached(mask) for mask in self.places)
        start = 0
        for pool in self.inventory.pools.values():
            if pool.node:
                row = self.nodes.rows.get(pool.node)
                there = [row is not None and bool(mask[row]) for mask in self.places]
                self._count(pool, *(-1 if one else 0 for one in there))
        for pool in wide.pools:
            self._count(pool, near >> start, roomy >> start)
            start += len(pool.devices)
        self._count_by_node()
        return self.found

    def _reached(self, mask: Mask) -> int:
        """The devices that several nodes can use, as far as one of these can."""
        wide, bits = wide_devices(self.nodes, self.inventory), 0
        for code in np.unique(wide.codes[mask]).tolist():
            bits |= wide.reached[code]
        return bits

    def _count(self, pool: DevicePool, near: int, roomy: int) -> None:
        found = self.found
        found.published += len(pool.devices)
        bits = self._selected(pool)
        if bits and has_taints(pool):
            open_ = sum(1 << n for n, one in enumerate(pool.devices) if tolerated(self.ask, one))
            found.tainted += (bits & ~open_).bit_count()
            bits &= open_
        found.elsewhere += (bits & ~near).bit_count()
        found.crowded += (bits & near & ~roomy).bit_count()
        for number in _bits(bits & near & roomy):
            self._count_one(pool, number)

    def _count_one(self, pool: DevicePool, number: int) -> None:
        device, found = pool.devices[number], self.found
        if device.id in self.stock.taken and not self.ask.is_admin:
            before = device.id in self.before.taken
            found.in_use += before
            found.promised += not before
        elif lacking := self.stock.lacks(self.ask, device):
            never = consumption(self.ask.capacity, device.capacity, {}) is None
            (found.beyond if never else found.short)[lacking] += 1
        elif spent := self.stock.spent(pool, device):
            found.spent[spent] += 1
        else:
            found.left += 1
            if pool.node:
                found.by_node[pool.node] += 1
            else:
                self._shared_left.add(device.id)

    def _count_by_node(self) -> None:
        """Devices that several nodes reach are left on each of them."""
        if not self._shared_left:
            return
        wide = wide_devices(self.nodes, self.inventory)
        bits = sum(1 << n for n, device in enumerate(wide.offer.devices) if device.id in self._shared_left)
        for row in np.flatnonzero(self.places.roomy).tolist():
            count = (wide.reach(row)[0] & bits).bit_count()
            if count:
                self.found.by_node[self.nodes.names[row]] += count

    def _selected(self, pool: DevicePool) -> int:
        """The devices of a pool that the class and all selectors select; the others are counted."""
        found, ask = self.found, self.ask
        if ask.source.device_class_name not in self.inventory.classes or ask.problem:
            found.other_class += len(pool.devices)
            return 0
        hidden = self.inventory.hidden
        unknown = tuple(hidden[one].get(pool.id, 0) for one in ask.expressions if one in hidden)
        key = (kinds_of(pool, self._reads), unknown)
        if key not in self._sifted:
            self._sifted[key] = _sifted(ask, pool, self.inventory)
        sifted = self._sifted[key]
        found.other_class += sifted.other_class
        found.rejected.update(sifted.rejected)
        if sifted.failures:
            found.failures = _joined([*found.failures, *sifted.failures])
        return sifted.bits


class _Sifted(NamedTuple):
    """What the selectors of a request make of the devices of a pool."""

    bits: int
    other_class: int
    rejected: Counter[str]
    failures: Sequence[Failure]


def _sifted(ask: DeviceAsk, pool: DevicePool, inventory: Inventory) -> _Sifted:
    own = len(ask.expressions) - len(ask.source.selectors)
    everything = (1 << len(pool.devices)) - 1
    matched = matching(ask.expressions[:own], pool, inventory)
    bits, failures, rejected = (
        matched.bits,
        list(_failures(matched.problems, everything, pool)),
        Counter[str](),
    )
    other_class = (everything & ~bits).bit_count()
    for expression in ask.expressions[own:]:
        matched = matching((expression,), pool, inventory)
        failures += _failures(matched.problems, bits, pool)
        rejected[expression] += (bits & ~matched.bits).bit_count()
        bits &= matched.bits
    return _Sifted(bits, other_class, rejected, _joined(failures))


def _failures(problems: Sequence[SelectorProblem], bits: int, pool: DevicePool) -> Iterator[Failure]:
    """Those for devices that nothing else excluded."""
    names = {device.id for number, device in enumerate(pool.devices) if bits >> number & 1}
    for problem in problems:
        if problem.device is None or problem.device in names:
            yield Failure(problem.expression, 1, problem.message)


def _joined(failures: Sequence[Failure]) -> list[Failure]:
    """Those of one selector are told once, with the message that comes first."""
    found = dict[str, Failure]()
    for one in failures:
        known = found.get(one.expression)
        found[one.expression] = one if known is None else known._replace(devices=known.devices + one.devices)
    return list(found.values())


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
