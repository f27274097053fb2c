"""The devices of a load: what is allocated, what is promised to pods that were seated, and what is left.

Pods that are seated in a trial get no particular devices: it is only kept in mind how many claims of which
kind are on each node, and the devices for all of them are looked for together. So whoever comes later never
finds a device taken that somebody else could have done without.
"""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from maitred.cluster.devices.allocated import Allocated, DeviceUse, PoolUse
from maitred.cluster.devices.allocator import MOST_CHOSEN, Answer, Claimed, DeviceOffer, DeviceUsage, allocate
from maitred.cluster.devices.capacity import shares_of
from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.menus import (
    WideDevices,
    claimed,
    menu_column,
    offer_of,
    sight_of,
    wide_devices,
)
from maitred.cluster.devices.needs import UNLIMITED
from maitred.cluster.devices.pools import DevicePool, PooledDevice
from maitred.cluster.devices.requests import DeviceAsk, Program, program_of
from maitred.cluster.devices.usages import joined, places, usage_of
from maitred.cluster.load import Load
from maitred.cluster.nodes import Codes, Ints

Specs = tuple[bytes, ...]
"""Claims, by what they ask for; sorted."""
MOST_COPIES = 4096
FEW_COPIES = 16
"""So many are first asked for at once."""
MOST_MIXED = 2**62
UNUSED = DeviceUsage()


class SharedClaim(NamedTuple):
    spec: bytes
    rows: Counter[int]
    """Where pods that share it were seated, and how many."""


class Most(NamedTuple):
    """How many pods there are devices for."""

    copies: int
    sure: bool
    """Whether it is certain that there are no more."""
    steps: int
    """What it took to find that out."""


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """What allocated claims have of the devices of nodes."""

    usages: dict[int, DeviceUsage]
    codes: Codes
    """Rows of which the same is taken have the same number; 0 if nothing is."""
    numbers: dict[Hashable, int]


class Book:
    def __init__(self, load: Load, gone: Iterable[str] = (), worth: tuple[float, ...] = ()) -> None:
        self.load = load
        self.worth = worth
        """Of what is left of a device that is shared, by thousandths; empty if any of them will do."""
        self.gone = set(gone)
        """Allocated claims that nobody uses any more."""
        self.own: dict[int, Counter[bytes]] = {}
        """Claims of their own that seated pods have, by row."""
        self.shared: dict[str, SharedClaim] = {}
        """Claims that several share and that are not allocated, by name."""
        self.changes = 0
        """Grows whenever there may be more or less left than before."""
        self.noted: list[int] = []
        """Rows on which something was different, one after the other."""
        self._shared_on: dict[int, Counter[bytes]] = {}
        """Of these, by the row that they are counted on."""
        self._codes: Codes | None = None
        self._numbers: dict[Hashable, int] = {}
        self._usages: dict[int, DeviceUsage] = {}
        """Of the rows where claims are gone."""
        self._wide_usage: DeviceUsage | None = None
        for row in self._rows_of(self.gone):
            self._note(row)

    @property
    def inventory(self) -> Inventory:
        return self.load.snapshot.inventory

    @property
    def allocated(self) -> Allocated:
        return self.load.snapshot.allocated

    # -- who is there ----------------------------------------------------------------------------------

    def add(self, row: int, specs: Iterable[bytes], copies: int) -> None:
        """So many more pods with these claims; or fewer, if it is negative."""
        counts = self.own.setdefault(row, Counter())
        for spec in specs:
            counts[spec] += copies
            if not counts[spec]:
                del counts[spec]
        if not counts:
            del self.own[row]
        self._note(row)

    def share(self, claim: str, spec: bytes, row: int, copies: int) -> None:
        known = self.shared.setdefault(claim, SharedClaim(spec, Counter()))
        before = min(known.rows, default=None)
        known.rows[row] += copies
        if not known.rows[row]:
            del known.rows[row]
        if not known.rows:
            del self.shared[claim]
        now = min(known.rows, default=None)
        for place, sign in ((before, -1), (now, 1)) if before != now else ():
            if place is not None:
                counts = self._shared_on.setdefault(place, Counter())
                counts[spec] += sign
                self._shared_on[place] = +counts
        for changed in {row, row if before is None else before, row if now is None else now}:
            self._note(changed)

    def release(self, claims: Iterable[str], gone: bool) -> None:
        """These are used by nobody any more; or they are again."""
        claims = set(claims)
        self.gone = self.gone | claims if gone else self.gone - claims
        self._wide_usage = None
        self.changes += 1
        for row in self._rows_of(claims):
            self._note(row)

    def demands(self, row: int) -> Counter[bytes]:
        """Claims that are promised devices of one node, or of the pools that it can reach."""
        own, shared = self.own.get(row), self._shared_on.get(row)
        return (own or Counter()) + (shared or Counter()) if shared else Counter(own)

    @property
    def claims(self) -> int:
        """How many there are in all."""
        return sum(counts.total() for counts in self.own.values()) + len(self.shared)

    # -- what is taken ---------------------------------------------------------------------------------

    def usage(self, row: int) -> DeviceUsage:
        """Of the devices of one node, by allocated claims."""
        known = self._usages.get(row)
        return self._taken.usages.get(row, UNUSED) if known is None else known

    def wide_usage(self, wide: WideDevices) -> DeviceUsage:
        if self._wide_usage is None:
            self._wide_usage = self._usage_of(wide.pools, self.gone)
        return self._wide_usage

    def _usage_of(self, pools: tuple[DevicePool, ...], gone: Collection[str]) -> DeviceUsage:
        if len(pools) == 1 and not gone:
            return self._pool_usage(pools[0])
        uses, start = list[tuple[int, DeviceUse]](), 0
        for pool in pools:
            found = self.allocated.by_pool.get(pool.id, ())
            uses += places(pool.devices, start, found, gone)
            start += len(pool.devices)
        return usage_of(uses) if uses else UNUSED

    def _pool_usage(self, pool: DevicePool) -> DeviceUsage:
        """Kept with the pool until one of its claims changes."""
        uses = self.allocated.by_pool.get(pool.id, ())
        known: tuple[PoolUse, DeviceUsage] | None = pool.derived.get("usage")
        if known is None or known[0] is not uses:
            known = pool.derived["usage"] = (uses, usage_of(places(pool.devices, 0, uses, ())))
        return known[1] if uses else UNUSED

    @property
    def _taken(self) -> Taken:
        """Worked out once for all trials on the same nodes."""
        return self.load.nodes.derived_with(self.allocated, ("taken", self.inventory), self._take_stock)

    def _take_stock(self) -> Taken:
        nodes, inventory = self.load.nodes, self.inventory
        usages, numbers = dict[int, DeviceUsage](), dict[Hashable, int]()
        codes: Codes = np.zeros(len(nodes.names), dtype=np.int32)
        known = (inventory.pools.get(id) for id in self.allocated.by_pool)
        for name in sorted({pool.node for pool in known if pool is not None and pool.node in nodes.rows}):
            row = nodes.rows[name]
            usages[row] = self._usage_of(inventory.on_node[name], gone=())
            codes[row] = numbers.setdefault((usages[row], (), ()), len(numbers) + 1)
        return Taken(usages, codes, numbers)

    def _rows_of(self, claims: Collection[str]) -> set[int]:
        """Rows with devices that some of these claims have."""
        if not claims:
            return set()
        nodes, found = self.load.nodes, set[int]()
        for id, uses in self.allocated.by_pool.items():
            pool = self.inventory.pools.get(id)
            row = None if pool is None else nodes.rows.get(pool.node)
            if row is not None and any(use.claim in claims for use in uses):
                found.add(row)
        return found

    def _note(self, row: int) -> None:
        """Something is different on a row."""
        self.changes += 1
        self.noted.append(row)
        if self._codes is None:
            self._codes, self._numbers = self._taken.codes.copy(), dict(self._taken.numbers)
        if self.gone or row in self._usages:
            pools = self.inventory.on_node.get(self.load.nodes.names[row], ())
            self._usages[row] = self._usage_of(pools, self.gone)
        demands = tuple(sorted(self.demands(row).items()))
        situation = (self.usage(row), demands, self._menus(row, [spec for spec, _ in demands]))
        unused = (UNUSED, (), ())
        number = 0 if situation == unused else self._numbers.setdefault(situation, len(self._numbers) + 1)
        self._codes[row] = number

    # -- how many more ---------------------------------------------------------------------------------

    def states(self, specs: Specs) -> tuple[Codes, list[int]]:
        """Rows by what they have for these claims and what is taken of it: a number for each, and of every
        number the first row."""
        columns = [menu_column(spec, self.load.nodes, self.inventory).codes for spec in sorted({*specs})]
        columns.append(wide_devices(self.load.nodes, self.inventory).codes)
        columns.append(self._taken.codes if self._codes is None else self._codes)
        mixed: Ints = np.zeros(len(self.load.nodes.names), dtype=np.int64)
        size = 1
        for column in columns:
            values = int(column.max(initial=0)) + 1
            if size * values > MOST_MIXED:
                mixed = np.unique(mixed, return_inverse=True)[1]
                size = len(mixed)
            mixed, size = mixed * values + column, size * values
        _, first, numbers = np.unique(mixed, return_index=True, return_inverse=True)
        return numbers.astype(np.int32), first.tolist()

    def _menus(self, row: int, specs: Iterable[bytes]) -> tuple[int, ...]:
        nodes, inventory = self.load.nodes, self.inventory
        return tuple([int(menu_column(spec, nodes, inventory).codes[row]) for spec in specs])

    def most(self, row: int, own: Specs, shared: Specs, lifted: bool) -> Most:
        """How many pods with these claims of their own, and with these that they share, a node has devices
        for."""
        fixed = self.demands(row) + Counter(shared)
        asked = tuple(sorted(fixed.items()))
        key = (own, asked, self._scene_key(row, sorted({*own, *fixed}), lifted))
        known = self.inventory.findings.most
        found = known.get(key)
        if found is None:
            found = known[key] = self._most(row, own, fixed, lifted)
        return found

    def _most(self, row: int, own: Specs, fixed: Counter[bytes], lifted: bool) -> Most:
        steps = 0

        def ask(copies: int) -> Answer:
            nonlocal steps
            answer = self.answer(row, fixed + _times(own, copies), lifted)
            steps += answer.steps
            return answer

        if not own:
            answer = ask(0)
            return Most(MOST_COPIES if answer.solution is not None else 0, not answer.exhausted, steps)
        low, high = 0, self._ceiling(row, own, lifted) + 1
        if 2 < high <= FEW_COPIES and ask(high - 1).solution is not None:
            return Most(high - 1, True, steps)
        probe = 1
        while probe < high:
            answer = ask(probe)
            if answer.exhausted:
                return Most(low, False, steps)
            low, high = (probe, high) if answer.solution is not None else (low, probe)
            probe = min(2 * low, (low + high) // 2) if low else high
            if high - low <= 1:
                break
        return Most(low, True, steps)

    def _ceiling(self, row: int, own: Specs, lifted: bool) -> int:
        """No more pods than that have devices: by what each request could have of the devices that suit it,
        if nobody else took any, and by the number of devices that suit any of the claims."""
        scene = Scene(self, (row,), lifted, with_wide=bool(self._reach(row)[0]))
        most, fewest, bits, countable = MOST_COPIES, 0, 0, True
        for claim in (scene.claimed(spec, (row,)) for spec in own):
            if claim.program.problem or any(ask.is_admin for ask in claim.program.asks):
                return MOST_COPIES
            fewest += claim.program.fewest
            first = 0
            for request in claim.program.requests:
                least = min(1 if ask.wants_all else ask.count for ask in request)
                uses = 0
                for place, ask in enumerate(request, first):
                    uses += scene.uses(ask, claim.suiting[place])
                    bits |= claim.suiting[place]
                first += len(request)
                most = min(most, uses // least)
        for number, device in enumerate(scene.offer.devices):
            countable &= not (bits >> number & 1 and device.is_shared)
        return min(most, bits.bit_count() // fewest) if countable and fewest else most

    def left_for(self, row: int, specs: Specs, lifted: bool) -> int:
        """How many devices suit any of these claims, or of those that are promised some here, less what the
        latter take at least. Where devices are shared, there is no such number."""
        demands = self.demands(row)
        every = sorted({*specs, *demands})
        key = ("left", specs, tuple(sorted(demands.items())), self._scene_key(row, every, lifted))
        known = self.inventory.findings.most
        if key not in known:
            promised = sum(program_of(spec, self.inventory).fewest * count for spec, count in demands.items())
            scene = Scene(self, (row,), lifted, with_wide=bool(self._reach(row)[0]))
            free = scene.free_for(every)
            known[key] = UNLIMITED if free is None else max(0, free - promised)
        found: int = known[key]
        return found

    # -- devices for claims ----------------------------------------------------------------------------

    def answer(self, row: int, claims: Counter[bytes], lifted: bool = False) -> Answer:
        """Devices for these claims on one node; `lifted`: with those that are tainted."""
        specs = tuple(sorted(claims.elements()))
        key = (specs, self._scene_key(row, dict.fromkeys(specs), lifted), self.worth)
        known = self.inventory.findings.answers
        answer: Answer | None = known.get(key)
        if answer is None:
            scene = Scene(self, (row,), lifted, with_wide=bool(self._reach(row)[0]))
            answer = scene.answer([(spec, (row,)) for spec in specs])
            known[key] = answer
        return answer

    def _reach(self, row: int) -> tuple[int, bool]:
        """Devices that several nodes can use, and this one too, as bits; and whether that is all of them."""
        return wide_devices(self.load.nodes, self.inventory).reach(row)

    def _scene_key(self, row: int, specs: Iterable[bytes], lifted: bool) -> Hashable:
        """All that the devices for claims of these depend on. The same wherever it is the same."""
        reach = self._reach(row)
        wide = wide_devices(self.load.nodes, self.inventory)
        beyond = self.wide_usage(wide) if reach[0] else UNUSED
        return self._menus(row, specs), self.usage(row), reach, beyond, lifted

    def is_wide(self, spec: bytes) -> bool:
        """Whether a claim may get devices that several nodes can use."""
        wide = wide_devices(self.load.nodes, self.inventory)
        if not wide.pools:
            return False
        known = self.inventory.findings.wide
        found = known.get(spec)
        if found is None:
            sight = claimed(program_of(spec, self.inventory), wide.pools, self.inventory)
            found = known[spec] = any(sight.selected)
        return found

    def entangled(self) -> list[int]:
        """Rows whose claims are looked at together: some of them may have devices of the same pools."""
        rows = {row for row, counts in self.own.items() if any(map(self.is_wide, counts))}
        rows.update(row for one in self.shared.values() if self.is_wide(one.spec) for row in one.rows)
        return sorted(rows)

    def together(self, rows: Sequence[int]) -> "JointAnswer":
        """Devices for everything that is promised on these rows."""
        asked = list[tuple[bytes, tuple[int, ...], str]]()
        for row in rows:
            asked += [(spec, (row,), "") for spec in sorted(self.own.get(row, Counter()).elements())]
        for name, claim in sorted(self.shared.items()):
            if not claim.rows.keys().isdisjoint(rows):
                asked.append((claim.spec, tuple(sorted(claim.rows)), name))
        scene = Scene(self, tuple(rows), lifted=False, with_wide=True)
        if len(rows) == 1 and not self._shared_on.get(rows[0]) and not scene.has_wide:
            return JointAnswer(
                scene, asked, self.answer(rows[0], self.demands(rows[0]))
            )  # it is known by now
        return JointAnswer(scene, asked, scene.answer([(spec, where) for spec, where, _ in asked]))

    def promised(self) -> Iterator["Grant"]:
        """The devices that claims of seated pods get, if nobody else comes."""
        entangled = self.entangled()
        for row in sorted(self.own.keys() | {row for one in self.shared.values() for row in one.rows}):
            if row not in entangled:
                yield from self.grants([row])
        if entangled:
            yield from self.grants(entangled)

    def grants(self, rows: Sequence[int]) -> Iterator["Grant"]:
        """The same, claim by claim; nothing if there are no devices for all of them."""
        asked = self.together(rows)
        devices = asked.scene.offer.devices
        for (spec, where, name), given in zip(asked.claims, asked.answer.solution or (), strict=False):
            program = program_of(spec, self.inventory)
            parts = tuple(
                GrantedDevice(program.asks[one.ask], devices[one.device], one.consumed) for one in given
            )
            yield Grant(name, where, program, parts)


class GrantedDevice(NamedTuple):
    ask: DeviceAsk
    device: PooledDevice
    consumed: tuple[tuple[str, int], ...] | None


@dataclass(frozen=True, slots=True)
class Grant:
    """The devices that one claim gets."""

    claim: str
    """The name of one that is shared."""
    rows: tuple[int, ...]
    program: Program
    parts: tuple[GrantedDevice, ...]


class JointAnswer(NamedTuple):
    scene: "Scene"
    claims: list[tuple[bytes, tuple[int, ...], str]]
    """What is asked for, from where, and the name of a claim that is shared."""
    answer: Answer


class Scene:
    """The devices of some nodes, and those that several can use, as one offer."""

    def __init__(self, book: Book, rows: tuple[int, ...], lifted: bool, with_wide: bool) -> None:
        self._book, self._rows, self._lifted = book, rows, lifted
        nodes, inventory = book.load.nodes, book.inventory
        self._nodes = nodes
        self._pools = [inventory.on_node.get(nodes.names[row], ()) for row in rows]
        self._wide = wide_devices(nodes, inventory)
        usages, starts, start = list[DeviceUsage](), list[int](), 0
        for row, pools in zip(rows, self._pools, strict=True):
            usages.append(book.usage(row))
            starts.append(start)
            start += sum(len(pool.devices) for pool in pools)
        self._starts, self._wide_start = starts, start
        every = [pool for pools in self._pools for pool in pools]
        if with_wide:
            every += self._wide.pools
            usages.append(book.wide_usage(self._wide))
            starts = [*starts, start]
        self.offer: DeviceOffer = offer_of(every)
        self._usage = joined(usages, starts)
        self._with_wide = with_wide

    @property
    def has_wide(self) -> bool:
        return bool(self._wide.pools)

    def answer(self, claims: Sequence[tuple[bytes, tuple[int, ...]]]) -> Answer:
        ready = [self.claimed(spec, rows) for spec, rows in claims]
        if sum(one.program.fewest for one in ready if not one.program.problem) > MOST_CHOSEN:
            return Answer(None, exhausted=True)
        found = allocate(self.offer, self._usage, ready, self._book.worth)
        if found.exhausted and self._book.worth:  # in another order it may be found sooner
            return allocate(self.offer, self._usage, ready)
        return found

    def free_for(self, specs: Iterable[bytes]) -> int | None:
        """How many devices suit any of these claims and are not taken; None where several may have one."""
        bits = 0
        for spec in specs:
            claim = self.claimed(spec, self._rows)
            if any(ask.is_admin for ask in claim.program.asks):
                return None
            for suiting in claim.suiting:
                bits |= suiting
        suit = [number for number in range(len(self.offer.devices)) if bits >> number & 1]
        if any(self.offer.devices[number].is_shared for number in suit):
            return None
        return len(set(suit) - self._usage.taken)

    def uses(self, ask: DeviceAsk, suiting: int) -> int:
        """How many devices, or shares of them, a request could have of these, if nobody else took any."""
        found = 0
        for number, device in enumerate(self.offer.devices):
            if suiting >> number & 1:
                found += shares_of(ask.capacity, device.capacity) if device.is_shared else 1
        return found

    def claimed(self, spec: bytes, rows: tuple[int, ...]) -> Claimed:
        inventory = self._book.inventory
        program = program_of(spec, inventory)
        suiting, selected = [0] * len(program.asks), [0] * len(program.asks)
        if menu_column(spec, self._nodes, inventory).is_too_dear:
            return Claimed(program, tuple(suiting), tuple(selected), complete=False)

        def add(found: Claimed, start: int, within: int) -> None:
            for number in range(len(program.asks)):
                suiting[number] |= (found.suiting[number] & within) << start
                selected[number] |= (found.selected[number] & within) << start

        near = True
        if len(rows) == 1 and rows[0] in self._rows:
            place = self._rows.index(rows[0])
            sight = sight_of(spec, self._pools[place], inventory)
            add(sight, self._starts[place], -1)
            near = sight.complete
        within, complete = -1, True
        for row in rows:
            reached, known = self._wide.reach(row)
            within, complete = within & reached, complete and known
        if self._with_wide:
            add(claimed(program, self._wide.pools, inventory), self._wide_start, within)
        chosen = tuple(selected)
        return Claimed(program, chosen if self._lifted else tuple(suiting), chosen, near and complete)


def _times(specs: Specs, copies: int) -> Counter[bytes]:
    return Counter({spec: count * copies for spec, count in Counter(specs).items()})
