"""`least-loss`: every pod goes where it costs the cluster least of what the expected demand could still use.

What is left of a device is worth the dearest set of shares that fits there, at the prices that shares have
when the demand is packed as well as it can be; an untouched device is worth a little more than its parts. A
node is worth its devices, and once more as much of them as the pods of the demand could use with the CPUs and
memory that are left there. What a pod takes away of that is its loss on this node, the greater the more
sought-after its devices are.
"""

from collections import Counter

import numpy as np

from maitred.cluster.nodes import Ints, Mask
from maitred.simulate.jobs import WHOLE
from maitred.simulate.seating.columns import Rows
from maitred.simulate.seating.shares.asks import DeviceRequest, commonest
from maitred.simulate.seating.shares.prices import worths
from maitred.simulate.seating.shares.room import DeviceRoom
from maitred.simulate.seating.shares.rule import Floats, Opinion

UNTOUCHED = 1.02
"""The worth of a device that nobody uses. Its parts come to 1."""
SQUARINGS = 3
"""Kinds of pods are averaged by a power mean of the eighth power: those that could use most count most, yet
several that could use a node count more than one."""
FULLER = 1e-9
"""What each thousandth that is free speaks against a device, where the loss is the same otherwise."""
DIGITS = 9
"""Of a loss. Beyond them there is only noise, which should not break ties."""


class LeastLoss:
    """Kinds of pods of the demand are the last axis of every table."""

    def __init__(self, room: DeviceRoom, demand: Counter[DeviceRequest]) -> None:
        self._room = room
        self._seen = 0
        kinds = Counter({ask: count for ask, count in commonest(demand).items() if ask.devices})
        self._cpu: Floats = np.array([max(ask.cpu, 1) for ask in kinds], dtype=np.float64)
        self._memory: Floats = np.array([max(ask.memory, 1) for ask in kinds], dtype=np.float64)
        self._devices: Ints = np.array([ask.devices for ask in kinds], dtype=np.int64)
        self._load: Floats = np.array([ask.load / WHOLE for ask in kinds], dtype=np.float64)
        self._shares = np.array([ask.shares for ask in kinds], dtype=np.bool_)
        self._worth = worths(sizes_of(kinds))
        """Of what is free of a device, by thousandths."""
        self._worth[WHOLE] = UNTOUCHED
        parts = np.array(list(kinds.values()), dtype=np.float64) / max(kinds.total(), 1)
        reach = room.reach(kinds)
        self._weights: Floats = parts * reach
        self._sought = sought_after(parts * self._load, reach, room.free() / WHOLE)
        self._worth_on: Floats = np.zeros(len(room))
        self._whole_on: Ints = np.zeros(len(room), dtype=np.int64)
        """The worth of the devices of each node, and how many are untouched."""
        self._now: Floats = np.zeros(len(room))
        """The worth of each node."""

    def judge(self, ask: DeviceRequest, rows: Rows) -> Opinion:
        self._look()
        room, worth, whole = self._room, self._worth_on[rows], self._whole_on[rows]
        if ask.shares:
            free = room.devices[rows]
            devices, drop = self._best_devices(ask, free)
            worth, whole = worth - drop, whole - (free[np.arange(len(rows)), devices] == WHOLE)
        else:
            devices = np.zeros_like(rows)
            worth, whole = worth - ask.devices * UNTOUCHED, whole - ask.devices
        then = self._value(rows, room.cpu(rows) - ask.cpu, room.memory(rows) - ask.memory, worth, whole)
        return Opinion(-(self._sought[rows] * (self._now[rows] - then)).round(DIGITS), devices)

    def _best_devices(self, ask: DeviceRequest, free: Ints) -> tuple[Rows, Floats]:
        """The device of each node that loses least of its worth with the share, and how much that is."""
        drop = self._worth[free] - self._worth[np.maximum(free - ask.each, 0)]
        drop[free < ask.each] = np.inf
        best = np.argmin(drop + FULLER * free, axis=1)
        return best, drop[np.arange(len(best)), best]

    def _value(self, rows: Rows, cpu: Ints, memory: Ints, worth: Floats, whole: Ints) -> Floats:
        pods = np.floor(np.minimum(cpu[:, None] / self._cpu, memory[:, None] / self._memory))
        rest = np.where(self._shares, worth[:, None], whole[:, None] // self._devices * self._devices)
        usable = np.minimum(pods * self._load, rest)
        for _ in range(SQUARINGS):
            usable *= usable
        value: Floats = np.einsum("ij,ij->i", usable, self._weights[rows]) ** (0.5**SQUARINGS) + worth
        return value

    def _look(self) -> None:
        room, rows = self._room, self._room.changed_since(self._seen)
        self._seen = room.changes
        devices = room.devices[rows]
        self._worth_on[rows] = self._worth[devices].sum(axis=1)
        self._whole_on[rows] = (devices == WHOLE).sum(axis=1)
        self._now[rows] = self._value(
            rows, room.cpu(rows), room.memory(rows), self._worth_on[rows], self._whole_on[rows]
        )


def sizes_of(kinds: Counter[DeviceRequest]) -> Counter[int]:
    """How often shares of each size are asked for."""
    found: Counter[int] = Counter()
    for ask, count in kinds.items():
        if ask.shares:
            found[ask.each] += count
    return found


def sought_after(demand: Floats, reach: Mask, devices: Floats) -> Floats:
    """How much of the demand comes to a device of each node, if pods spread evenly over all that they may go
    to; 1 is the average."""
    open_to = devices @ reach
    on_each = reach @ np.divide(demand, open_to, out=np.zeros_like(demand), where=open_to > 0)
    average = on_each @ devices / max(devices.sum(), 1.0)
    return on_each / average if average else np.ones(len(devices))
