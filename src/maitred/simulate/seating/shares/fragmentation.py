"""`fragmentation-gradient`: FGD (Weng et al., ATC '23), against which others are measured.

The fragmentation of a node is what the next pod could not use of the devices that are free there, on average
over the target workload. A pod goes where it adds least to it.
"""

from collections import Counter
from dataclasses import replace

import numpy as np

from maitred.cluster.nodes import Ints
from maitred.decide.shares.least_loss import commonest
from maitred.decide.shares.prices import Floats
from maitred.simulate.jobs import WHOLE
from maitred.simulate.seating.columns import Rows
from maitred.simulate.seating.shares.asks import ShareRequest
from maitred.simulate.seating.shares.room import DeviceRoom
from maitred.simulate.seating.shares.rule import NO_ROOM, Opinion

STEPS = 100


class FragmentationGradient:
    """Specs of the target workload are the last axis of every table. Sums are of whole numbers, so that they
    come out the same in whichever company a node is looked at."""

    def __init__(self, room: DeviceRoom, demand: Counter[ShareRequest]) -> None:
        self._room = room
        self._seen = 0
        target = commonest(without_memory(demand))
        self._cpu: Ints = np.array([ask.cpu for ask in target], dtype=np.int64)
        self._devices: Ints = np.array([ask.devices for ask in target], dtype=np.int64)
        self._counts: Ints = np.array(list(target.values()), dtype=np.int64)
        self._reach = room.reach(target) & (self._devices > 0)
        free, each = np.arange(WHOLE + 1)[:, None], np.array([ask.each for ask in target], dtype=np.int64)
        self._stranded: Ints = np.where(free < each, free, 0)
        """By what is free of a device: how much of that is of no use to each spec."""
        self._fit: Ints = (free >= np.maximum(each, 1)).astype(np.int64)
        """By what is free of a device: whether each spec fits."""
        self._stranded_on: Ints = np.zeros(self._reach.shape, dtype=np.int64)
        self._fit_on: Ints = np.zeros(self._reach.shape, dtype=np.int64)
        """Both summed up over the devices of each node."""
        self._now: Ints = np.zeros(len(room), dtype=np.int64)
        """The fragmentation of each node, times the number of pods in the target workload."""

    def judge(self, ask: ShareRequest, rows: Rows) -> Opinion:
        self._look()
        if ask.shares:
            return self._judge_devices(ask, rows)
        fit = self._fit_on[rows] - ask.devices * self._fit[WHOLE]
        return Opinion(self._score(ask, rows, self._stranded_on[rows], fit), np.zeros_like(rows))

    def _judge_devices(self, ask: ShareRequest, rows: Rows) -> Opinion:
        free = self._room.devices[rows]
        place, device = np.nonzero(free >= ask.each)
        nodes, before = rows[place], free[place, device]
        stranded = self._stranded_on[nodes] + self._stranded[before - ask.each] - self._stranded[before]
        fit = self._fit_on[nodes] + self._fit[before - ask.each] - self._fit[before]
        scores = np.full(free.shape, NO_ROOM)
        scores[place, device] = self._score(ask, nodes, stranded, fit)
        return Opinion(scores.max(axis=1), scores.argmax(axis=1))

    def _score(self, ask: ShareRequest, rows: Rows, stranded: Ints, fit: Ints) -> Floats:
        """In steps, as it was published: 100 times the logistic function of the fragmentation that goes."""
        cpu, free = self._room.cpu(rows) - ask.cpu, self._room.free(rows) - ask.load
        gone = (self._now[rows] - self._fragmentation(rows, cpu, free, stranded, fit)) / self._counts.sum()
        score: Floats = np.floor(STEPS * (1 + np.tanh(gone / WHOLE / 2)) / 2)
        return score

    def _fragmentation(self, rows: Rows, cpu: Ints, free: Ints, stranded: Ints, fit: Ints) -> Ints:
        hosts = self._reach[rows] & (cpu[:, None] >= self._cpu) & (fit >= self._devices)
        found: Ints = np.where(hosts, stranded, free[:, None]) @ self._counts
        return found

    def _look(self) -> None:
        room, rows = self._room, self._room.changed_since(self._seen)
        self._seen = room.changes
        devices = room.devices[rows]
        self._stranded_on[rows] = self._stranded[devices].sum(axis=1)
        self._fit_on[rows] = self._fit[devices].sum(axis=1)
        self._now[rows] = self._fragmentation(
            rows, room.cpu(rows), room.free(rows), self._stranded_on[rows], self._fit_on[rows]
        )


def without_memory(demand: Counter[ShareRequest]) -> Counter[ShareRequest]:
    """FGD does not look at memory: specs that differ in nothing else are one."""
    found: Counter[ShareRequest] = Counter()
    for ask, count in demand.items():
        kind = replace(ask.kind, requests=(), scored=(0, 0))
        found[replace(ask, kind=kind, memory=0)] += count
    return found
