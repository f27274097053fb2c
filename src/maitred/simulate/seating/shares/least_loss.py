"""`least-loss`: maitred's own rule, `decide.shares.least_loss`, for pods whose whole demand is known."""

from collections import Counter

import numpy as np

from maitred.cluster.nodes import Ints
from maitred.decide.shares.least_loss import (
    DIGITS,
    UNTOUCHED,
    Expected,
    PodAsk,
    commonest,
    sizes_of,
    sought_after,
    worth_of_rest,
)
from maitred.decide.shares.prices import WHOLE, Floats
from maitred.simulate.seating.columns import Rows
from maitred.simulate.seating.shares.asks import ShareRequest
from maitred.simulate.seating.shares.room import DeviceRoom
from maitred.simulate.seating.shares.rule import Opinion


class LeastLoss:
    def __init__(self, room: DeviceRoom, demand: Counter[ShareRequest]) -> None:
        self._room = room
        self._seen = 0
        kinds = Counter({ask: count for ask, count in commonest(demand).items() if ask.devices})
        asks = [PodAsk(ask.cpu, ask.memory, ask.devices, ask.each) for ask in kinds]
        counts = list(kinds.values())
        self._expected = Expected.of(asks, counts, worth_of_rest(sizes_of(asks, counts)))
        reach = room.reach(kinds)
        self._weights: Floats = self._expected.parts * reach
        self._sought = sought_after(self._expected.parts * self._expected.load, reach, room.free() / WHOLE)
        self._worth_on: Floats = np.zeros(len(room))
        self._whole_on: Ints = np.zeros(len(room), dtype=np.int64)
        """The worth of the devices of each node, and how many are untouched."""
        self._now: Floats = np.zeros(len(room))
        """The worth of each node."""

    def judge(self, ask: ShareRequest, rows: Rows) -> Opinion:
        self._look()
        room, worth, whole = self._room, self._worth_on[rows], self._whole_on[rows]
        if ask.shares:
            free = room.devices[rows]
            devices, drop = self._expected.best_devices(ask.each, free)
            worth, whole = worth - drop, whole - (free[np.arange(len(rows)), devices] == WHOLE)
        else:
            devices = np.zeros_like(rows)
            worth, whole = worth - ask.devices * UNTOUCHED, whole - ask.devices
        then = self._value(rows, room.cpu(rows) - ask.cpu, room.memory(rows) - ask.memory, worth, whole)
        return Opinion(-(self._sought[rows] * (self._now[rows] - then)).round(DIGITS), devices)

    def _value(self, rows: Rows, cpu: Ints, memory: Ints, worth: Floats, whole: Ints) -> Floats:
        return self._expected.value(self._weights[rows], cpu, memory, worth, whole)

    def _look(self) -> None:
        room, rows = self._room, self._room.changed_since(self._seen)
        self._seen = room.changes
        devices = room.devices[rows]
        self._worth_on[rows] = self._expected.worth[devices].sum(axis=1)
        self._whole_on[rows] = (devices == WHOLE).sum(axis=1)
        self._now[rows] = self._value(
            rows, room.cpu(rows), room.memory(rows), self._worth_on[rows], self._whole_on[rows]
        )
