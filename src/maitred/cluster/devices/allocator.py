"""The search for devices: which ones several claims get at once, if they can be served together.

Claims are served one after the other, request by request, device by device, and whatever was chosen is taken
back where it leads nowhere, so a solution is found if there is one. Of devices that are alike only one is
tried, and a situation that has failed is not tried again. The search is bounded by steps, and says so where
it gave up. The same input gives the same devices.

What is preferred: the first alternative of a request; devices of which a part is taken already, so that whole
ones stay whole; the smallest partition; and devices of which fewest others are left that go together with
them.
"""

from collections import Counter
from collections.abc import Generator, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from maitred.cluster.devices.capacity import Amounts, consumption
from maitred.cluster.devices.pools import CounterName, PooledDevice, Value
from maitred.cluster.devices.requests import DeviceAsk, Program
from maitred.model.devices.claims import MOST_DEVICES

MOST_STEPS = 50_000
"""For one question. A look at a device is one, and so is every choice that is tried or taken back."""
MOST_CHOSEN = 256
"""Devices in one answer."""
WHOLE = 1000
"""Shares are counted in thousandths of a device."""
SetName = tuple[int, str]
"""Pool, and its counter set."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceOffer:
    """The devices that a question is about, as the search sees them."""

    devices: Sequence[PooledDevice]
    pools: Sequence[int]
    """The number of the pool of each."""
    counters: Mapping[tuple[int, CounterName], int]
    """What there is of each counter of each pool."""


@dataclass(frozen=True, slots=True)
class DeviceUsage:
    """What is taken of an offer, by the numbers of its devices."""

    taken: frozenset[int] = frozenset()
    shares: tuple[tuple[int, tuple[tuple[str, int], ...]], ...] = ()
    """Devices that are shared, with what is taken of each."""


@dataclass(frozen=True, slots=True, eq=False)
class Claimed:
    """A claim that is to be served, with the devices that each of its asks may have, as bits."""

    program: Program
    suiting: tuple[int, ...]
    selected: tuple[int, ...]
    """The same with those that are tainted: who wants all devices wants these too."""
    complete: bool = True
    """All devices within its reach are known. It cannot have all of them while a pool is being updated, or is
    not valid."""
    cost: int = 0
    """What it takes to evaluate its selectors."""
    evaluations: int = 0
    """How often that is done."""


@dataclass(frozen=True, slots=True)
class Given:
    """A device that a claim got."""

    ask: int
    """Its number among the asks of the program."""
    device: int
    consumed: tuple[tuple[str, int], ...] | None = None
    """What it takes of a device that is shared."""


Solution = tuple[tuple[Given, ...], ...]
"""For each claim what it got."""
Attempt = Generator["Attempt", bool, bool]
"""A part of the search. It yields the part that comes after its choice, and gets to know whether that led
anywhere: hundreds of calls within each other would be more than Python allows."""


class _ExhaustedError(Exception):
    """There are no steps left."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Devices for some claims at once; None if there are none."""

    solution: Solution | None
    exhausted: bool = False
    """The search was given up: there may be a solution that was not found."""
    steps: int = 0
    """What it took."""


def allocate(
    offer: DeviceOffer, usage: DeviceUsage, claims: Sequence[Claimed], worth: Sequence[float] = ()
) -> Answer:
    """`worth`: of what is left of a device that is shared, by thousandths.

    If the search with all alternatives is given up, fewer of them are tried: the first of each request, the
    first two, and so on. A wrong device costs a search less if there are fewer ways to go on from it.
    """
    answer = _attempted(_DeviceSearch(offer, usage, claims, worth))
    most = max((len(request) for one in claims for request in one.program.requests), default=0)
    for count in range(1, most):
        if not answer.exhausted:
            break
        again = _attempted(_DeviceSearch(offer, usage, claims, worth, count, MOST_STEPS // most))
        found = again.solution is not None
        answer = Answer(again.solution, exhausted=not found, steps=answer.steps + again.steps)
    return answer


def _attempted(search: "_DeviceSearch") -> Answer:
    most = search.left
    try:
        return Answer(search.run(), steps=most - search.left)
    except _ExhaustedError:
        return Answer(None, exhausted=True, steps=most)


@dataclass(slots=True)
class _Common:
    """What the devices of a claim have in common so far, for one constraint."""

    values: list[Value] = field(default_factory=list)


class _DeviceSearch:
    def __init__(
        self,
        offer: DeviceOffer,
        usage: DeviceUsage,
        claims: Sequence[Claimed],
        worth: Sequence[float],
        alternatives: int | None = None,
        steps: int = MOST_STEPS,
    ) -> None:
        """`alternatives`: so many of each request are tried."""
        self._alternatives = alternatives
        self._offer, self._claims, self._worth = offer, claims, worth
        self._taken = set(usage.taken)
        self._shares: dict[int, Amounts] = {number: dict(amounts) for number, amounts in usage.shares}
        self._sharers = Counter({number: 1 for number, _ in usage.shares})
        self._counters = dict(offer.counters)
        self._broken = Counter[SetName]()
        for number in (*usage.taken, *self._shares):
            self._count(number, 1)
        self._given: list[list[Given]] = [[] for _ in claims]
        self._watches = [any(ask.is_admin for ask in claim.program.asks) for claim in claims]
        self._common = [[_Common() for _ in claim.program.constraints] for claim in claims]
        self.left = steps
        """Steps."""
        self._failed: set[Hashable] = set()
        attributes = {one.attribute for claim in claims for one in claim.program.constraints}
        self._values = {one: [device.value(one) for device in offer.devices] for one in sorted(attributes)}
        programs = {id(claim.program): claim for claim in claims}.values()
        self._suits = [suits for claim in programs for suits in (*claim.suiting, *claim.selected)]
        numbers = dict[Hashable, int]()
        self._kinds = [
            numbers.setdefault(self._kind(number), len(numbers)) for number in range(len(offer.devices))
        ]

    def run(self) -> Solution | None:
        return tuple(map(tuple, self._given)) if _succeeds(self._claim(0)) else None

    # -- one after the other ---------------------------------------------------------------------------

    def _claim(self, index: int) -> Attempt:
        if index == len(self._claims):
            return True
        if self._claims[index].program.problem:
            return False
        self._step(len(self._taken))
        situation = (index, self._situation())
        if situation in self._failed:
            return False
        if (yield self._request(index, 0)):
            return True
        self._failed.add(situation)
        return False

    def _request(self, index: int, request: int) -> Attempt:
        program = self._claims[index].program
        if request == len(program.requests):
            return (yield self._claim(index + 1))
        first = sum(map(len, program.requests[:request]))
        for number, ask in enumerate(program.requests[request][: self._alternatives], first):
            if (yield self._alternative(index, request, number, ask)):
                return True
        return False

    def _alternative(self, index: int, request: int, number: int, ask: DeviceAsk) -> Attempt:
        if ask.wants_all:
            wanted = list(self._all(index, number, ask)) if self._claims[index].complete else []
            return bool(wanted) and (yield self._each(index, request, number, ask, wanted))
        if len(self._given[index]) + ask.count > MOST_DEVICES:
            return False
        candidates = self._candidates(index, number, ask)
        return (yield self._some(index, request, number, ask, candidates, ask.count))

    def _some(
        self, index: int, request: int, number: int, ask: DeviceAsk, candidates: Sequence[int], missing: int
    ) -> Attempt:
        """So many more devices of one request, in the order of the candidates: each choice is tried once."""
        if not missing:
            return (yield self._request(index, request + 1))
        tried = set[Hashable]()
        for place in range(len(candidates) - missing + 1):
            self._step(0)
            situation = self._device_situation(candidates[place]), self._has_watched(index, candidates[place])
            if situation in tried:
                continue
            tried.add(situation)
            given = self._take(index, number, ask, candidates[place])
            if given is None:
                continue
            if (yield self._some(index, request, number, ask, candidates[place + 1 :], missing - 1)):
                return True
            self._give_back(index, ask, given)
        return False

    def _each(self, index: int, request: int, number: int, ask: DeviceAsk, wanted: Sequence[int]) -> Attempt:
        """All of these devices, or none."""
        if not wanted:
            return (yield self._request(index, request + 1))
        if len(self._given[index]) + len(wanted) > MOST_DEVICES:
            return False
        self._step(0)
        given = self._take(index, number, ask, wanted[0])
        if given is None:
            return False
        if (yield self._each(index, request, number, ask, wanted[1:])):
            return True
        self._give_back(index, ask, given)
        return False

    def _step(self, looks: int) -> None:
        self.left -= 1 + looks
        if self.left < 0:
            raise _ExhaustedError

    # -- candidates ------------------------------------------------------------------------------------

    def _all(self, index: int, number: int, ask: DeviceAsk) -> Iterator[int]:
        """Everything that the request selects, but for shared devices that never have so much."""
        self._step(self._claims[index].selected[number].bit_count())
        for device in _bits(self._claims[index].selected[number]):
            if consumption(ask.capacity, self._offer.devices[device].capacity, {}) is not None:
                yield device

    def _candidates(self, index: int, number: int, ask: DeviceAsk) -> list[int]:
        """Devices that are not taken, the preferred first."""
        free = [
            device
            for device in _bits(self._claims[index].suiting[number])
            if ask.is_admin or device not in self._taken
        ]
        self._step(len(free))
        program = self._claims[index].program
        attributes = [
            program.constraints[one].attribute
            for one in ask.constraints
            if not program.constraints[one].distinct
        ]
        together = [
            Counter(value for device in free for value in self._values[attribute][device])
            for attribute in attributes
        ]

        def order(device: int) -> tuple[float, ...]:
            beside = sum(
                min((counts[value] for value in self._values[attribute][device]), default=0)
                for attribute, counts in zip(attributes, together, strict=True)
            )
            known = self._offer.devices[device]
            partition = sum(amount for _, amount in known.counters)
            whole = any(not self._broken[name] for name in self._sets(device))
            last = bool(known.source.binding_conditions)
            loss, left = self._loss(ask, device) if known.is_shared else (0.0, 0)
            return (last, loss, device not in self._sharers, whole, partition, beside, left, device)

        return sorted(free, key=order)

    def _loss(self, ask: DeviceAsk, device: int) -> tuple[float, int]:
        """What a shared device loses of its worth with a share, and what is left of it in thousandths."""
        known = self._offer.devices[device]
        share = self._shares.get(device, {})
        wanted = consumption(ask.capacity, known.capacity, share) or {}
        before, after = WHOLE, WHOLE
        for name, one in known.capacity.items():
            if one.value > 0:
                left = one.value - share.get(name, 0)
                before = min(before, max(0, left * WHOLE // one.value))
                after = min(after, max(0, (left - wanted.get(name, 0)) * WHOLE // one.value))
        return (round(self._worth[before] - self._worth[after], 9) if self._worth else 0.0), after

    # -- take and give back ----------------------------------------------------------------------------

    def _take(self, index: int, number: int, ask: DeviceAsk, device: int) -> Given | None:
        known = self._offer.devices[device]
        if device in self._taken and not ask.is_admin:
            return None
        if not known.is_shared and self._has(index, device):
            return None  # with admin access, or the other way round
        if not self._claims[index].suiting[number] >> device & 1:
            return None  # it is tainted
        consumed = consumption(ask.capacity, known.capacity, self._shares.get(device, {}))
        if consumed is None or not self._has_counters(device):
            return None
        if not self._hold_together(index, ask, device):
            return None
        shared = tuple(sorted(consumed.items())) if known.is_shared else None
        given = Given(number, device, shared)
        self._given[index].append(given)
        self._mark(ask, given, 1)
        return given

    def _has(self, index: int, device: int) -> bool:
        """Whether a claim has got a device already."""
        return any(given.device == device for given in self._given[index])

    def _has_watched(self, index: int, device: int) -> bool:
        """Whether a claim has got a device with admin access, which leaves it free for all but this claim."""
        return self._watches[index] and self._has(index, device)

    def _give_back(self, index: int, ask: DeviceAsk, given: Given) -> None:
        self._given[index].pop()
        self._mark(ask, given, -1)
        for constraint in ask.constraints:
            self._common[index][constraint].values.pop()

    def _mark(self, ask: DeviceAsk, given: Given, sign: int) -> None:
        device = given.device
        if given.consumed is None:
            if not ask.is_admin:
                (self._taken.add if sign > 0 else self._taken.discard)(device)
            self._count(device, sign)
            return
        first = not self._sharers[device] if sign > 0 else self._sharers[device] == 1
        self._sharers[device] += sign
        share = self._shares.setdefault(device, {})
        for name, amount in given.consumed:
            share[name] = share.get(name, 0) + sign * amount
        if first:
            self._count(device, sign)
        if sign < 0 and first:
            del self._shares[device], self._sharers[device]

    def _count(self, device: int, sign: int) -> None:
        """What a device uses of counters, once, however many share it."""
        pool = self._offer.pools[device]
        for name, amount in self._offer.devices[device].counters:
            self._counters[pool, name] -= sign * amount
        for set_name in self._sets(device):
            self._broken[set_name] += sign

    def _sets(self, device: int) -> set[SetName]:
        pool = self._offer.pools[device]
        return {(pool, name) for (name, _), _ in self._offer.devices[device].counters}

    def _has_counters(self, device: int) -> bool:
        if device in self._sharers:
            return True  # they are taken already
        pool = self._offer.pools[device]
        used = self._offer.devices[device].counters
        return all(self._counters[pool, name] >= amount for name, amount in used)

    def _hold_together(self, index: int, ask: DeviceAsk, device: int) -> bool:
        """Whether the constraints hold with this device too; if so, it counts from now on."""
        added = list[_Common]()
        for number in ask.constraints:
            constraint, common = self._claims[index].program.constraints[number], self._common[index][number]
            value = self._values[constraint.attribute][device]
            if value and constraint.distinct:
                value = value if all(value.isdisjoint(other) for other in common.values) else frozenset()
            elif value and common.values:
                value = value & common.values[-1]
            if not value:
                for one in added:
                    one.values.pop()
                return False
            common.values.append(value)
            added.append(common)
        return True

    # -- sameness --------------------------------------------------------------------------------------

    def _kind(self, number: int) -> Hashable:
        """Devices of one kind are interchangeable as long as nothing is taken of them."""
        device = self._offer.devices[number]
        bits = tuple([suits >> number & 1 for suits in self._suits])
        values = tuple(known[number] for known in self._values.values())
        pool = self._offer.pools[number] if device.counters else -1
        capacity = tuple(
            sorted((name, one.value, one.policy is None) for name, one in device.capacity.items())
        )
        policies = device.source.capacity if any(one.policy for one in device.capacity.values()) else None
        return bits, values, pool, device.counters, capacity, repr(policies), device.is_shared

    def _device_situation(self, number: int) -> Hashable:
        share = self._shares.get(number)
        pool = self._offer.pools[number]
        left = tuple(self._counters[pool, name] for name, _ in self._offer.devices[number].counters)
        return self._kinds[number], left, number in self._taken, _frozen(share)

    def _situation(self) -> Hashable:
        """All that the claims which are left depend on."""
        taken = Counter(self._kinds[number] for number in self._taken)
        shares = Counter((self._kinds[number], _frozen(share)) for number, share in self._shares.items())
        return frozenset(taken.items()), frozenset(shares.items()), tuple(self._counters.values())


def _succeeds(attempt: Attempt) -> bool:
    parts, found = [attempt], False
    start = True
    while parts:
        try:
            parts.append(next(parts[-1]) if start else parts[-1].send(found))
            start = True
        except StopIteration as end:
            parts.pop()
            found, start = end.value, False
    return found


def _frozen(share: Amounts | None) -> Hashable:
    return None if share is None else tuple(sorted(share.items()))


def _bits(number: int) -> Iterator[int]:
    while number:
        lowest = number & -number
        yield lowest.bit_length() - 1
        number ^= lowest
