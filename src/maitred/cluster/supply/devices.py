"""Devices that are asked for by resource claims: nodes have so many that suit, and claims share some."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from maitred.cluster.devices.allocator import Answer
from maitred.cluster.devices.book import Book, Grant, Specs
from maitred.cluster.devices.consumers import claims_without_users, kept_when_empty
from maitred.cluster.devices.menus import menu_column, wide_devices
from maitred.cluster.devices.needs import UNLIMITED, ClaimNeed
from maitred.cluster.devices.pools import DeviceId
from maitred.cluster.devices.reasons import gone_for, tainted_for
from maitred.cluster.devices.requests import choices, preferred, program_of
from maitred.cluster.devices.served import ResourceByClass, nodes_without, served_resources
from maitred.cluster.devices.shares import FreeShares
from maitred.cluster.journal import Moved, Rows, Seated
from maitred.cluster.load import Load
from maitred.cluster.nodes import NODE_NAME, Codes, Ints, Mask
from maitred.cluster.selection import in_any_term
from maitred.cluster.supply.fit import Company, Fit, Quota, Room
from maitred.cluster.supply.interface import Lift, Supply
from maitred.model.devices.claims import MOST_CONSUMERS, MOST_DEVICES

PLENTY = 2**31
LOOKS = 50
"""A step of the search for devices, or of a selector, takes as long as so many looks at a node."""
MOST_STEPS_IN_ALL = 500_000
"""To find out how many pods of one shape all nodes have devices for."""


class SoughtClaims(NamedTuple):
    """The claims of a shape that are not allocated, by what they ask for."""

    own: Specs
    shared: tuple[tuple[str, bytes], ...]
    """Claims that several pods share, by name."""
    served: tuple[ResourceByClass, ...] = ()
    """Resources that are claims of their own on nodes that do not offer them."""

    @property
    def specs(self) -> Specs:
        return (*self.own, *(spec for _, spec in self.shared), *(one.spec for one in self.served))


@dataclass(slots=True)
class Granted:
    """Devices that claims got."""

    own: dict[tuple[int, bytes], list[Grant]] = field(default_factory=dict)
    """Of claims that pods on a row have of their own: which of them gets which does not matter."""
    shared: dict[str, Grant] = field(default_factory=dict)

    def add(self, grants: Iterable[Grant]) -> None:
        for grant in grants:
            if grant.claim:
                self.shared[grant.claim] = grant
            else:
                self.own.setdefault((grant.rows[0], grant.program.spec), []).append(grant)


class DeviceSupply(Supply):
    category = "Devices"

    def __init__(self, load: Load) -> None:
        super().__init__(load)
        self._book: Book | None = None
        """Made when first asked for: most trials seat no pod with claims."""
        self._counted: dict[Hashable, tuple[Ints, int]] = {}
        self._counted_at = -1
        self._first_choices = 0
        self._served: dict[int, tuple[ResourceByClass, ...]] = {}
        self._free: FreeShares | None = None

    @contextmanager
    def first_choices(self, count: int) -> Iterator[None]:
        """In this block there are devices only for so many alternatives of every request, the first."""
        self._first_choices = count
        try:
            yield
        finally:
            self._first_choices = 0

    def choices(self, shape: int) -> int:
        """How many alternatives a request of a shape has at most."""
        needs = self.load.shape(shape).devices
        return max((choices(need.spec) for need in needs if need.spec), default=0)

    def choice_ranks(self, shape: int) -> Ints | None:
        """For each node the number of the first alternative with which it has devices, from 0 on; of several
        requests the last such number. None if there is no choice."""
        count = self.choices(shape)
        if count < 2:
            return None
        sought, ranks = self._sought(shape), np.full(len(self.load.nodes.names), count - 1, dtype=np.int64)
        for known in reversed(range(1, count)):
            copies, _ = self._copies(self._preferred(sought, known), lifted=False, others_may_help=False)
            ranks[copies > 0] = known - 1
        return ranks

    @property
    def book(self) -> Book:
        if self._book is None:
            self._book = Book(self.load, self._gone())
            for entry in self.load.seated():
                self.take(entry)
        return self._book

    def _gone(self) -> Collection[str]:
        """Allocated claims that nobody uses on this load."""
        allocated = self.load.snapshot.allocated
        if not allocated.claims:
            return ()
        if not self.load.occupied:
            return allocated.claims.keys() - kept_when_empty(self.load)
        return claims_without_users(self.load, np.flatnonzero(~self.load.here))

    # -- change and undo -------------------------------------------------------------------------------

    def take(self, entry: Seated) -> None:
        self._change(entry, 1)

    def give_back(self, entry: Seated) -> None:
        self._change(entry, -1)

    def _change(self, entry: Seated, sign: int) -> None:
        if self._book is None or not self.asked_by(entry.shape):
            return
        sought = self._sought(entry.shape)
        for row, copies in zip(entry.rows.tolist(), entry.copies.tolist(), strict=True):
            own = (*sought.own, *(one.spec for one in self.made_on(row, sought.served)))
            if own:
                self._book.add(row, own, sign * copies)
            for claim, spec in sought.shared:
                self._book.share(claim, spec, row, sign * copies)

    def move(self, entry: Moved, gone: bool) -> None:
        if self._book is not None and self.load.occupied and self.load.snapshot.allocated.claims:
            self._book.release(claims_without_users(self.load, entry.pods, gone), gone)

    # -- how many fit ----------------------------------------------------------------------------------

    def served(self, shape: int) -> tuple[ResourceByClass, ...]:
        if shape not in self._served:
            self._served[shape] = served_resources(self.load, shape)
        return self._served[shape]

    def made_on(self, row: int, served: Iterable[ResourceByClass]) -> list[ResourceByClass]:
        """Those resources that devices of a class serve on a node."""
        return [one for one in served if nodes_without(self.load.nodes, one.resource)[row]]

    def specs(self, shape: int) -> list[bytes]:
        """All that pods of a shape claim and that is not allocated, whatever the node."""
        claims = [need.spec for need in self.load.shape(shape).devices if need.spec]
        return [*claims, *(one.spec for one in self.served(shape))]

    def evaluations(self, shape: int) -> int:
        """How often selectors are evaluated for the claims of a shape, at most."""
        nodes, inventory = self.load.nodes, self.load.snapshot.inventory
        return sum(menu_column(spec, nodes, inventory).evaluations for spec in self.specs(shape))

    def asked_by(self, shape: int) -> bool:
        return bool(self.load.shape(shape).devices or self.served(shape))

    def held_by(self, pods: Rows) -> bool:
        return bool(self.load.snapshot.allocated.claims)

    def never_serves(self, shape: int) -> bool:
        nodes, needs = self.load.nodes, self.load.shape(shape).devices
        return any(need.problem or (need.spec and self._is_hopeless(need.spec)) for need in needs) or any(
            self._is_hopeless(one.spec) and bool((nodes_without(nodes, one.resource) == nodes.alive).all())
            for one in self.served(shape)
        )

    def _is_hopeless(self, spec: bytes) -> bool:
        inventory = self.load.snapshot.inventory
        if not inventory.pools or program_of(spec, inventory).problem:
            return True
        return menu_column(spec, self.load.nodes, inventory).is_too_dear

    def minds_taints(self, shape: int) -> bool:
        """Whether tainted devices would do for pods of a shape, were they well."""
        inventory = self.load.snapshot.inventory
        return inventory.is_tainted and any(
            next(tainted_for(spec, inventory), None) is not None
            for spec in self.specs(shape)
            if not menu_column(spec, self.load.nodes, inventory).is_too_dear
        )

    def gone(self, shape: int) -> list[DeviceId]:
        """Devices that others have by claims, and that are not published any more: pods of a shape might have
        them, were they well."""
        specs, snapshot = self.specs(shape), self.load.snapshot
        return gone_for(specs, snapshot.inventory, snapshot.allocated) if specs else []

    def is_open(self, shape: int) -> bool:
        """Whether it is not known yet what there will be for a shape: a class that it names is not made, a
        pool is not published in full, or not any more."""
        inventory, specs = self.load.snapshot.inventory, self.specs(shape)
        if not specs:
            return False
        asks = (ask for spec in specs for ask in program_of(spec, inventory).asks)
        unknown = inventory.problems or self.gone(shape)
        return bool(unknown) or any(ask.source.device_class_name not in inventory.classes for ask in asks)

    def passes(self, shape: int) -> int:
        return len(self.load.shape(shape).devices) + len(self.served(shape))

    def fit(self, shapes: Sequence[int], lift: Lift, others_may_help: bool) -> Fit:
        fit, lifted = Fit.without_limits(len(shapes)), "Health" in lift
        by_claims = dict[SoughtClaims, list[int]]()
        for position, shape in enumerate(shapes):
            if self.asked_by(shape):
                fit.masks[position] = self._open_to(self.load.shape(shape).devices, others_may_help)
                by_claims.setdefault(self._sought(shape), []).append(position)
        for sought, positions in by_claims.items():
            if not sought.specs:
                continue
            wanted = self._preferred(sought, self._first_choices) if self._first_choices else sought
            copies, sure_up_to = self._copies(wanted, lifted, others_may_help)
            for position in positions:
                fit.copies[position] = copies
            if sought.own or sought.served:
                use = tuple(int(position in positions) for position in range(len(shapes)))
                fit.rooms.append(Room(copies, use))
            fit.sure_up_to = min(fit.sure_up_to, sure_up_to)
        self._tie(shapes, fit)
        seeking = [sought for sought in by_claims if sought.specs]
        if len({(one.own, one.shared) for one in seeking}) > 1:
            members = {position: one for one in seeking for position in by_claims[one]}
            fit.rooms.append(self._room_of_all(members, len(shapes), lifted, others_may_help))
        entangled = any(self.book.is_wide(spec) for sought in seeking for spec in sought.specs)
        if not lifted and not others_may_help and (len(seeking) > 1 or entangled):
            fit.sure = False
        fit.kinds = None if fit.sure else self._kinds(seeking)
        return fit

    def _open_to(self, needs: Sequence[ClaimNeed], others_may_help: bool) -> Mask:
        nodes = self.load.nodes
        mask = nodes.alive.copy()
        for need in needs:
            if need.problem and not others_may_help:
                mask[:] = False
            elif need.reach is not None and not others_may_help:
                mask &= in_any_term(nodes, need.reach.node_selector_terms)
        return mask

    def _copies(self, sought: SoughtClaims, lifted: bool, others_may_help: bool) -> tuple[Ints, int]:
        """How many pods each node has devices for, and up to how many that is certain."""
        book = self.book
        if self._counted_at != book.changes:
            self._counted, self._counted_at = {}, book.changes
        key = (sought, lifted, others_may_help)
        if key not in self._counted:
            found = self._count_copies(sought, lifted, others_may_help)
            if self.load.meter.over:
                return found  # there was no time for all of them
            self._counted[key] = found
        return self._counted[key]

    def _count_copies(self, sought: SoughtClaims, lifted: bool, others_may_help: bool) -> tuple[Ints, int]:
        nodes, inventory = self.load.nodes, self.load.snapshot.inventory
        copies: Ints = np.zeros(len(nodes.names), dtype=np.int64)
        sure_up_to = UNLIMITED
        for spec in sought.specs:
            self.load.meter.take_once(spec, LOOKS * menu_column(spec, nodes, inventory).cost)
        for there, own in self._by_offer(sought):
            if there.any():
                found, sure = self._count_alike(own, sought.shared, lifted)
                copies, sure_up_to = np.where(there, found, copies), min(sure_up_to, sure)
        if others_may_help:  # of nodes that are not there nobody knows the devices
            copies = np.where(_not_there(self.load), PLENTY, copies)
        return copies, sure_up_to

    def _by_offer(self, sought: SoughtClaims) -> Iterator[tuple[Mask, Specs | None]]:
        """Nodes by the resources that they offer themselves: for each kind of node the claims that pods have
        there; None if they would have more devices than a claim can have."""
        nodes = self.load.nodes
        kinds: list[tuple[Mask, tuple[ResourceByClass, ...]]] = [(nodes.alive, ())]
        for one in sought.served:
            without = nodes_without(nodes, one.resource)
            kinds = [
                kind
                for there, made in kinds
                for kind in ((there & ~without, made), (there & without, (*made, one)))
            ]
        for there, made in kinds:
            fits = sum(one.devices for one in made) <= MOST_DEVICES
            yield there, tuple(sorted((*sought.own, *(one.spec for one in made)))) if fits else None

    def _count_alike(
        self, own: Specs | None, shared: tuple[tuple[str, bytes], ...], lifted: bool
    ) -> tuple[Ints | int, int]:
        """How many pods with these claims nodes have devices for, and up to how many that is certain."""
        if own is None:
            return 0, UNLIMITED
        book, ranks, meter = self.book, self.load.nodes.name_rank, self.load.meter
        unshared = tuple(spec for name, spec in shared if name not in book.shared)
        if not own and not unshared:
            return PLENTY, UNLIMITED
        numbers, firsts = book.states((*own, *unshared))
        found, left = np.zeros(len(firsts), dtype=np.int64), MOST_STEPS_IN_ALL
        sure_up_to = UNLIMITED
        for state in sorted(range(len(firsts)), key=lambda state: int(ranks[firsts[state]])):
            if meter.over or left < 0:
                sure_up_to = 0
                break
            most = book.most(firsts[state], own, unshared, lifted)
            meter.take(LOOKS * most.steps)
            left -= most.steps
            found[state] = most.copies
            if not most.sure:
                sure_up_to = min(sure_up_to, most.copies)
        copies: Ints = found[numbers]
        return copies, sure_up_to

    def _room_of_all(
        self, members: Mapping[int, SoughtClaims], shapes: int, lifted: bool, others_may_help: bool
    ) -> Room:
        """Members with different claims take devices from each other: one by one, each of them would fit on a
        node that others have filled."""
        book, meter, inventory = self.book, self.load.meter, self.load.snapshot.inventory
        own = {position: one.own for position, one in members.items()}
        users = Counter(name for one in members.values() for name, _ in one.shared)
        shared = {
            position: tuple(
                spec
                for name, spec in one.shared
                if users[name] == 1 and name not in book.shared and not book.is_wide(spec)
            )
            for position, one in members.items()
        }
        specs = tuple(sorted({spec for each in (*own.values(), *shared.values()) for spec in each}))
        numbers, firsts = book.states(specs)
        found = np.full(len(firsts), PLENTY, dtype=np.int64)
        for state, row in enumerate(firsts):
            if meter.over:
                break
            meter.take(LOOKS * len(specs))
            found[state] = book.left_for(row, specs, lifted)
        free: Ints = found[numbers]
        if others_may_help:
            free = np.where(_not_there(self.load), PLENTY, free)
        least = {spec: min(program_of(spec, inventory).fewest, MOST_DEVICES + 1) for spec in specs}
        use, once = (
            tuple(sum(least[spec] for spec in by.get(place, ())) for place in range(shapes))
            for by in (own, shared)
        )
        return Room(free, use, once)

    def _preferred(self, sought: SoughtClaims, count: int) -> SoughtClaims:
        """The same with so many alternatives of every request. A claim that costs too much with all of them
        gets nothing, whatever the first are."""

        def first(spec: bytes) -> bytes:
            return spec if self._is_hopeless(spec) else preferred(spec, count)

        own = tuple(sorted(map(first, sought.own)))
        return SoughtClaims(own, tuple((name, first(spec)) for name, spec in sought.shared), sought.served)

    def _tie(self, shapes: Sequence[int], fit: Fit) -> None:
        """Those who share a claim must be where its devices can be used."""
        shared, limits = dict[str, tuple[bytes, list[int]]](), dict[str, tuple[int, list[int]]]()
        for position, shape in enumerate(shapes):
            for need in self.load.shape(shape).devices:
                if need.claim and need.spec:
                    shared.setdefault(need.claim, (need.spec, []))[1].append(position)
                if need.claim and need.consumers < UNLIMITED:  # nobody else uses it in an empty cluster
                    left = need.consumers if self.load.occupied else MOST_CONSUMERS
                    limits.setdefault(need.claim, (left, []))[1].append(position)
        for consumers, positions in limits.values():
            everywhere: Codes = np.zeros(len(self.load.nodes.names), dtype=np.int32)
            use = tuple(int(position in positions) for position in range(len(shapes)))
            fit.quotas.append(Quota(everywhere, np.array([consumers], dtype=np.int64), use))
        for claim, (spec, positions) in shared.items():
            codes = self._scopes(spec)
            known = self.book.shared.get(claim)
            present = np.zeros(int(codes.max(initial=0)) + 2, dtype=np.bool_)
            if known is not None:
                present[codes[list(known.rows)]] = True
            provided = tuple(position in positions for position in range(len(shapes)))
            company = Company((codes,), (present,), bool(present.any()), provided, own=True)
            for position in positions:
                fit.companies[position] += (company,)

    def _scopes(self, spec: bytes) -> Codes:
        """Nodes that can use the same device. Where only some of them can, it is asked later (`serves`)."""
        nodes = self.load.nodes
        alone = nodes.column(NODE_NAME).codes
        if not self.book.is_wide(spec):
            return alone
        wide = wide_devices(nodes, self.load.snapshot.inventory)
        groups = _connected(wide.reached)
        codes: Codes = np.array(groups, dtype=np.int32)[wide.codes]
        return np.where(codes < 0, len(groups) + alone, codes).astype(np.int32)

    def _kinds(self, seeking: Sequence[SoughtClaims]) -> Codes:
        codes = self.book.states(tuple(sorted({spec for sought in seeking for spec in sought.specs})))[0]
        resources = sorted({one.resource for sought in seeking for one in sought.served})
        for resource in resources:
            codes = codes * 2 + nodes_without(self.load.nodes, resource)
        return np.unique(codes, return_inverse=True)[1].astype(np.int32) if resources else codes

    # -- for seats that are chosen ---------------------------------------------------------------------

    def serves(self, seats: Sequence[tuple[int, int, int]]) -> bool:
        """Whether every claim gets its devices: the pods are seated, and taken back."""
        book, changes = self.book, list[Seated]()
        for shape, row, copies in seats:
            if self.asked_by(shape):
                entry = Seated(shape, np.array([row], dtype=np.intp), np.array([copies], dtype=np.int64))
                changes.append(entry)
                self.take(entry)
        rows, entangled = {entry.rows.item() for entry in changes}, book.entangled()
        served = self._hold_alone() and all(
            self._charged(book.answer(row, book.demands(row))) for row in rows.difference(entangled)
        )
        if served and not rows.isdisjoint(entangled):
            served = self._charged(book.together(entangled).answer)
        for entry in reversed(changes):
            self.give_back(entry)
        return served

    def _charged(self, answer: Answer) -> bool:
        """Whether there are devices. What it took to find out counts, whether or not it was known before."""
        self.load.meter.take(LOOKS * answer.steps)
        return answer.solution is not None

    def granted(self, entries: Iterable[Seated], worth: tuple[float, ...]) -> "Granted":
        """The devices that the pods of some entries get, if nobody else comes. `worth`: of what is left of a
        device that is shared, by thousandths; where it loses least, a share is taken."""
        alone, entries = DeviceSupply(self.load), list(entries)
        found = Granted()
        # In another order a search may be given up. What is promised was found in the usual one.
        for order in (worth, ()) if worth else ((),):
            book = alone._book = Book(self.load, self._gone(), order)
            for entry in entries:
                alone.take(entry)
            promised = list(book.promised())
            if len(promised) == book.claims or not order:
                found.add(promised)
                break
        return found

    def free_shares(self) -> Ints:
        """How much is free of the devices of each node, in thousandths."""
        if self._free is None:
            self._free = FreeShares(self.book)
        return self._free.table()

    def _hold_alone(self) -> bool:
        """Whether claims that no wide device suits are used on one node only."""
        return all(len(one.rows) == 1 or self.book.is_wide(one.spec) for one in self.book.shared.values())

    def _sought(self, shape: int) -> SoughtClaims:
        needs = self.load.shape(shape).devices
        own = tuple(sorted(need.spec for need in needs if need.spec and not need.claim))
        shared = tuple(sorted((need.claim, need.spec) for need in needs if need.spec and need.claim))
        return SoughtClaims(own, shared, self.served(shape))


def _not_there(load: Load) -> Mask:
    known = load.snapshot.nodes.names
    mask = np.zeros(len(load.nodes.names), dtype=np.bool_)
    mask[len(known) :] = True
    return mask


def _connected(reached: Sequence[int]) -> list[int]:
    """Sets of devices that have some in common, directly or through others, have one number; -1 for none."""
    numbers, unions = list(range(len(reached))), list(reached)
    for place, bits in enumerate(reached):
        for other in range(place):
            if bits & unions[numbers[other]] and numbers[place] != numbers[other]:
                kept, merged = numbers[other], numbers[place]
                unions[kept] |= unions[merged]
                numbers = [kept if number == merged else number for number in numbers]
    return [number if bits else -1 for number, bits in zip(numbers, reached, strict=True)]
