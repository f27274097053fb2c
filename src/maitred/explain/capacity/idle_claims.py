"""Why devices are idle that claims are for, and with them all devices of the cluster."""

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property

import numpy as np

from maitred.cluster.devices.counted import ClaimableDevices
from maitred.cluster.devices.hardware import DeviceKind, units_of
from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.looks import reading_of
from maitred.cluster.devices.matching import kinds_of
from maitred.cluster.devices.menus import menu_column
from maitred.cluster.devices.needs import ClaimNeed
from maitred.cluster.devices.pools import DeviceId, PoolId
from maitred.cluster.devices.requests import program_of, suiting
from maitred.cluster.nodes import Ints, NodeView
from maitred.cluster.supply.devices import DeviceSupply, Granted
from maitred.decide.holding.waiting import PlannedGroup
from maitred.decide.shares.placing import device_worth
from maitred.explain.capacity.document import Idle, IdlePart, IdleReason
from maitred.explain.capacity.idle import IdleCount, Sorting, idle_by_model, shown_parts, uncounted
from maitred.explain.capacity.survey import Survey
from maitred.explain.remedies.rehearsal import RankedGroup

MOST_TAINTS = 4


def idle(survey: Survey) -> tuple[Idle, ...]:
    survey.notes.extend(uncounted(survey))
    survey.notes.extend(survey.snapshot.inventory.problems)
    plugins = (part for resource in survey.resources for part in idle_by_model(survey, resource))
    if not survey.claimable:
        return tuple(plugins)
    claimed = ClaimedDevices(survey)
    return (*plugins, *(_of_kind(ClaimSorting(survey, kind, claimed)) for kind in survey.claimable))


def _of_kind(sorting: "ClaimSorting") -> Idle:
    kind, everything = sorting.kind, sorting.found.everything
    price = sorting.survey.price_of(*kind)
    everywhere = np.ones(len(sorting.idle), dtype=np.bool_)
    on_nodes = shown_parts(list(sorting.parts()), everywhere, price)
    return Idle(
        kind.driver,
        kind.model,
        everything.total,
        everything.tainted,
        everything.total - everything.used,
        (*on_nodes, *sorting.beyond(price)),
        everything.partly,
    )


class ClaimedDevices:
    """What claims of groups that start now, or wait, have to do with which devices."""

    def __init__(self, survey: Survey) -> None:
        trial, self.snapshot = survey.trial, survey.snapshot
        self._kinds: dict[bytes, frozenset[DeviceKind]] = {}
        supply, seated = trial.supply(DeviceSupply), list(trial.load.seated())
        claiming = [entry for entry in seated if supply.asked_by(entry.shape)]
        held = [entry for entry in claiming if entry.held]
        starting = [entry for entry in claiming if not entry.held]
        worth = device_worth(trial, survey.policy) if claiming else ()
        self.starting = self._counted(supply.granted(starting, worth)) if starting else {}
        """By kind and row."""
        self.promised = self._counted(supply.granted(held, worth)) if held else {}

    def kinds_of(self, spec: bytes) -> frozenset[DeviceKind]:
        """The kinds of devices that suit some request of a claim."""
        if spec not in self._kinds:
            self._kinds[spec] = frozenset(_kinds_of(spec, self.snapshot.nodes, self.snapshot.inventory))
        return self._kinds[spec]

    def _counted(self, granted: Granted) -> dict[DeviceKind, Ints]:
        found = dict[DeviceKind, Ints]()
        grants = [*granted.shared.values(), *(one for some in granted.own.values() for one in some)]
        chosen = {part.device.id for grant in grants for part in grant.parts if not part.ask.is_admin}
        nodes, inventory, allocated = self.snapshot.nodes, self.snapshot.inventory, self.snapshot.allocated
        for id in sorted({PoolId(one.driver, one.pool) for one in chosen}):
            pool = inventory.pools[id]
            taken = {use.device for use in allocated.by_pool.get(id, ())}
            for unit in units_of(pool):
                names = [pool.devices[place].id.device for place in unit.devices]
                new = any(DeviceId(*id, name) in chosen for name in names) and taken.isdisjoint(names)
                if new and pool.node in nodes.rows:
                    column = found.setdefault(unit.kind, np.zeros(len(nodes.names), dtype=np.int64))
                    column[nodes.rows[pool.node]] += 1
        return found


class ClaimSorting(Sorting):
    """Of one kind of devices that claims are for."""

    def __init__(self, survey: Survey, kind: DeviceKind, claimed: ClaimedDevices) -> None:
        self.kind, self.claimed = kind, claimed
        self.found: ClaimableDevices = survey.claimable[kind]
        super().__init__(survey, self.found.free + self.found.unwell)

    def _given(self) -> tuple[Ints, Ints]:
        nothing: Ints = np.zeros_like(self.idle)
        return self.claimed.starting.get(self.kind, nothing), self.claimed.promised.get(self.kind, nothing)

    def _unwell(self) -> Iterator[IdleCount]:
        yield self._take("DeviceTainted", ", ".join(self._taint_keys), self.found.unwell)

    @cached_property
    def _taint_keys(self) -> list[str]:
        """Of devices of the kind."""
        if not self.found.everything.unwell:
            return []
        pools = self.snapshot.inventory.pools.values()
        units = ((pool, unit) for pool in pools for unit in units_of(pool) if unit.tainted)
        found = (
            pool.devices[place] for pool, unit in units if unit.kind == self.kind for place in unit.devices
        )
        keys = sorted({taint.key for device in found for taint in device.taints})
        return [*keys[:MOST_TAINTS], *(["other taints"] if len(keys) > MOST_TAINTS else [])]

    def _numbers_of(self, groups: Sequence[RankedGroup]) -> set[int]:
        waiting = (set(ranked.view.shapes.tolist()) for ranked in groups)
        shapes = [self.snapshot.shapes[number] for number in set[int]().union(*waiting)]
        return {shape.needs for shape in shapes if any(map(self._asks, shape.devices))}

    def _asked_by(self, ranked: RankedGroup) -> int:
        return self.survey.counted_of(ranked) if self._numbers_of([ranked]) else 0

    def _each_of(self, plan: PlannedGroup, shape: int) -> int:
        """A like part of what the group asks for in all."""
        ranked = next((one for one in self.survey.waiting if one.view.group.key == plan.key), None)
        asks = any(map(self._asks, self.snapshot.shapes[shape].devices))
        return self.survey.counted_of(ranked) // plan.kept.ask.need if ranked is not None and asks else 0

    def _asks(self, need: ClaimNeed) -> bool:
        return bool(need.spec) and self.kind in self.claimed.kinds_of(need.spec)

    def _using_numbers(self) -> set[int]:
        bound = self.snapshot.bound
        return {int(bound.needs[pod]) for pod, kinds in self.survey.held.items() if kinds[self.kind]}

    def beyond(self, price: float | None) -> Iterator[IdlePart]:
        """Devices that belong to no single node."""
        tally, reason, detail = self.found.beyond, *self._why_beyond()
        parts: tuple[tuple[IdleReason, str, int], ...] = (
            ("DeviceTainted", ", ".join(self._taint_keys), tally.unwell),
            (reason, detail, tally.free),
        )
        for reason, detail, count in parts:
            if count:
                yield IdlePart(reason, detail, count, 0, None if price is None else round(count * price, 2))

    def _why_beyond(self) -> tuple[IdleReason, str]:
        if self._numbers_of(self._for_room):
            return "Fragmented", ""
        held = next(((reason, queue) for reason, queue, _ in self._held_groups), None)
        return held or ("Free", "")


def _kinds_of(spec: bytes, nodes: NodeView, inventory: Inventory) -> Iterator[DeviceKind]:
    """Kinds of devices that a claim selects. Worked out once for pools that are alike in what it reads."""
    program = program_of(spec, inventory)
    if program.problem or menu_column(spec, nodes, inventory).is_too_dear:
        return
    reading, known = reading_of(program, inventory), dict[Hashable, int]()
    for pool in inventory.pools.values():
        hidden = tuple(inventory.hidden[one].get(pool.id, 0) for one in reading.hidden)
        key = (kinds_of(pool, reading.reads), hidden)
        if key not in known:
            known[key] = 0
            for ask in program.asks:
                known[key] |= suiting(ask, pool, inventory).bits
        bits = known[key]
        for unit in units_of(pool) if bits else ():
            if any(bits >> place & 1 for place in unit.devices):
                yield unit.kind
