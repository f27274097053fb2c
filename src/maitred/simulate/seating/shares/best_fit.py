"""`best-fit`: the node on which least is left, as in the experiments with which FGD was published."""

import numpy as np

from maitred.cluster.nodes import Ints
from maitred.simulate.jobs import WHOLE
from maitred.simulate.seating.columns import Rows
from maitred.simulate.seating.shares.asks import ShareRequest
from maitred.simulate.seating.shares.room import DeviceRoom
from maitred.simulate.seating.shares.rule import Opinion

FULL = 100


class BestFit:
    """What is left of CPUs and devices is measured by the largest node, half and half. A share goes to the
    device that it fits most tightly."""

    def __init__(self, room: DeviceRoom) -> None:
        self._room = room
        everywhere = np.arange(len(room))
        self._most_cpu = max(int(room.cpu(everywhere).max(initial=0)), 1)
        self._most_devices = max(room.devices.shape[1] * WHOLE, 1)

    def judge(self, ask: ShareRequest, rows: Rows) -> Opinion:
        free = self._room.devices[rows]
        cpu = (self._room.cpu(rows) - ask.cpu) / self._most_cpu
        devices = (free.sum(axis=1) - ask.load) / self._most_devices
        return Opinion(np.floor((1 - (cpu + devices) / 2) * FULL), tightest(ask, free))


def tightest(ask: ShareRequest, free: Ints) -> Rows:
    left: Ints = np.where(free >= ask.each, free, WHOLE + 1)
    device: Rows = left.argmin(axis=1)
    return device
