"""Who must leave nodes that are being drained, or is asked to make room, each as a whole: gangs, and pods on
their own one by one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.snapshot import GroupView, Occupant, Snapshot
from maitred.decide.ask import Ask, ask_anew
from maitred.decide.maintenance.timing import Timing, Timings, shield_words
from maitred.decide.preemption.evictable import NOT_KNOWN, EvictablePods
from maitred.model.drain import Drain
from maitred.model.words import counted

NAMES_SHOWN = 3
Asks = tuple[tuple[GroupView, Ask], ...]


@dataclass(frozen=True, slots=True)
class LeavingUnit:
    """Pods that leave together."""

    name: str
    drain: Drain
    pods: Rows
    """Of those that are bound,"""
    there: int
    """and how many of them are on nodes that are drained."""
    asks: Asks
    """What they need elsewhere, by group."""
    is_whole: bool
    """A gang, or all that one owner has made; else one pod."""
    priority: int
    timing: Timing
    shield: str
    """What would protect it from preemption."""
    bare: tuple[str, ...]
    """Pods of it that nobody makes anew."""
    devices: int

    @property
    def stays(self) -> str:
        """Why it does not leave by itself; empty if it does."""
        if not self.bare or self.drain.request.force:
            return ""
        if self.drain.request.room:
            return f"no controller would recreate {', '.join(self.bare[:NAMES_SHOWN])}"
        named = "it" if self.bare == (self.name,) else ", ".join(self.bare[:NAMES_SHOWN])
        more = f" and {len(self.bare) - NAMES_SHOWN} more" if len(self.bare) > NAMES_SHOWN else ""
        them = "it" if len(self.bare) == 1 else "them"
        return f"no controller would recreate {named}{more}: delete {them}, or use --force"

    @property
    def groups(self) -> list[GroupView]:
        return [view for view, _ in self.asks]


@dataclass(frozen=True, slots=True)
class RoomMakers:
    """Those who move together, so that one group that waits finds room."""

    drain: Drain
    units: tuple[LeavingUnit, ...]

    @property
    def first(self) -> LeavingUnit:
        """Whose time it is that counts: who has most to lose."""
        return max(self.units, key=lambda unit: (unit.devices, unit.name))

    @property
    def stays(self) -> str:
        """Why they do not move by themselves; empty if they may."""
        protected = (f"{unit.name} {unit.shield}" for unit in self.units if unit.shield)
        return next((unit.stays for unit in self.units if unit.stays), "") or next(protected, "")


class LeavingUnits:
    """Of one snapshot."""

    def __init__(self, snapshot: Snapshot, evictable: EvictablePods) -> None:
        self.snapshot, self.evictable = snapshot, evictable
        self.timings = Timings(evictable)
        rows = np.array(sorted(snapshot.drained), dtype=np.int64)
        bound = snapshot.bound
        self._may_leave = ~(bound.fixed | bound.terminating)
        self.there = np.isin(bound.node, rows) & ~bound.fixed
        """All that is to leave, also what is leaving already."""

    @cached_property
    def _views(self) -> Mapping[str, GroupView]:
        return {view.group.key: view for view in self.snapshot.leaving}

    def all(self) -> list[LeavingUnit]:
        """In the order in which they get places: by rank, then by name."""
        family, there = self.evictable.family, self.there & self._may_leave
        families = np.unique(family[there])
        among = np.flatnonzero(np.isin(family, families) & self._may_leave)
        order = among[np.argsort(family[among], kind="stable")]
        parts = np.split(order, np.flatnonzero(np.diff(family[order])) + 1) if len(order) else []
        on_nodes = ((pods, pods[there[pods]]) for pods in parts)
        found = [self._unit(pods, self._drain_of(inside), len(inside)) for pods, inside in on_nodes]
        return sorted(found, key=lambda one: (-one.priority, one.name))

    def _drain_of(self, pods: Rows) -> Drain:
        drains = (self.snapshot.drained[row] for row in self.snapshot.bound.node[pods].tolist())
        return min(drains, key=lambda one: (one.request.by, one.name))

    def making_room(self, now: datetime) -> dict[str, list[RoomMakers]]:
        """By the groups that they make room for, as far as they are all there and none of them has to leave
        its node anyway."""
        found = dict[str, list[RoomMakers]]()
        for drain in self.snapshot.drains:
            is_open = not drain.is_done and now < drain.request.by
            for making in drain.request.room if is_open else ():
                rows = [self._rows_of(name) for name in making.units]
                if all(len(pods) and not self.there[pods].any() for pods in rows):
                    units = tuple(self._unit(pods, drain, len(pods)) for pods in rows)
                    found.setdefault(making.group, []).append(RoomMakers(drain, units))
        return found

    def _rows_of(self, name: str) -> Rows:
        """The pods of a family, or one pod."""
        family = self._families_by_name.get(name)
        if family is not None:
            return np.flatnonzero((self.evictable.family == family) & self._may_leave)
        pod = self._lone_by_name.get(name)
        return np.array([] if pod is None else [pod], dtype=np.intp)

    @cached_property
    def _families_by_name(self) -> Mapping[str, int]:
        return {name: family for family, name in self.evictable.names.items()}

    @cached_property
    def _lone_by_name(self) -> Mapping[str, int]:
        """Pods that leave without others."""
        family, names, bound = self.evictable.family.tolist(), self.evictable.names, self.snapshot.bound
        pods = np.flatnonzero(self._may_leave).tolist()
        return {bound.occupants[pod].key: pod for pod in pods if family[pod] not in names}

    def _unit(self, pods: Rows, drain: Drain, there: int) -> LeavingUnit:
        evictable, bound = self.evictable, self.snapshot.bound
        occupants: list[Occupant] = bound.occupants[pods].tolist()
        name = evictable.names.get(int(evictable.family[pods[0]]), "")
        asks = tuple(self._asks(pods, occupants) if name else self._ask_alone(int(pods[0]), occupants[0]))
        shield = shield_words(evictable, pods)
        by = round(drain.request.by.timestamp() * 1000)
        return LeavingUnit(
            name=name or occupants[0].key,
            drain=drain,
            pods=pods,
            there=there,
            asks=asks,
            is_whole=bool(name),
            priority=max(int(evictable.priority[pods].max()), NOT_KNOWN + 2),
            timing=self.timings.of(pods, [view for view, _ in asks], by, shield),
            shield=shield,
            bare=tuple(sorted(one.key for one in occupants if not one.owner[0])),
            devices=int(evictable.devices[pods].sum()),
        )

    def _asks(self, pods: Rows, occupants: list[Occupant]) -> Iterator[tuple[GroupView, Ask]]:
        groups = [self.evictable.group_of(pod) for pod in pods.tolist()]
        keys = {
            one.key if group is None else self.snapshot.tree_of(group)
            for one, group in zip(occupants, groups, strict=True)
        }
        for key in sorted(keys & self._views.keys()):
            yield self._views[key], ask_anew(self._views[key])

    def _ask_alone(self, pod: int, occupant: Occupant) -> Iterator[tuple[GroupView, Ask]]:
        """Of a pod that leaves without the others of its group, which stay where they are."""
        group = self.evictable.group_of(pod)
        view = self._views.get(occupant.key if group is None else self.snapshot.tree_of(group))
        name = occupant.key.partition("/")[2]
        orders = [] if view is None else [member.order[2] for member in view.running]
        if view is None or name not in orders:
            return
        place = orders.index(name)
        others = tuple(member for member in view.running if member.order[2] != name)
        order, shape = view.running[place].order, int(view.running_shapes[place])
        yield view, Ask((shape,), (order,), 1, view.group.topology, others)


def pods_words(mover: LeavingUnit) -> str:
    """`8 pods, 4 of them there`."""
    count = len(mover.pods)
    if mover.there == count:
        return counted(count, "pod")
    return f"{counted(count, 'pod')}, {mover.there} of them there"
