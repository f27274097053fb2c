"""Least loss: every pod goes where it costs the cluster least of what the expected demand could still use.

What is left of a device is worth the dearest set of shares that fits there, at the prices that shares have
when the demand is packed as well as it can be; an untouched device is worth a little more than its parts. A
node is worth its devices, and once more as much of them as the pods of the demand could use with the CPUs and
memory that are left there. What a pod takes away of that is its loss on this node, the greater the more
sought-after its devices are.

This is the rule alone, as functions of numbers: the engine and the simulator each know where they come from.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Ints, Mask
from maitred.decide.shares.prices import WHOLE, Floats, worths

TYPICAL = 0.95
"""The part of all pods that the commonest asks have to cover to stand for the whole demand."""
UNTOUCHED = 1.02
"""The worth of a device that nobody uses. Its parts come to 1."""
SQUARINGS = 3
"""Kinds of pods are averaged by a power mean of the eighth power: those that could use most count most, yet
several that could use a node count more than one."""
FULLER = 1e-9
"""What each thousandth that is free speaks against a device, where the loss is the same otherwise."""
DIGITS = 9
"""Of a loss. Beyond them there is only noise, which should not break ties."""

K = TypeVar("K", bound=Hashable)


class PodAsk(NamedTuple):
    """What a pod takes of a node, as far as the rule goes."""

    cpu: int
    memory: int
    devices: int
    """How many it takes of: several only as a whole."""
    each: int
    """Thousandths that it takes of each of them."""

    @property
    def load(self) -> int:
        return self.devices * self.each

    @property
    def shares(self) -> bool:
        return 0 < self.each < WHOLE


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """The pods that are to be expected, kind by kind: the last axis of every table."""

    cpu: Floats
    memory: Floats
    devices: Ints
    load: Floats
    shares: Mask
    parts: Floats
    """Of all pods."""
    worth: Floats
    """Of what is free of a device, by thousandths."""

    @classmethod
    def of(cls, asks: list[PodAsk], counts: list[int], worth: Floats) -> "Expected":
        """Kinds that take devices, and how many pods there are of each."""
        return cls(
            cpu=np.array([max(ask.cpu, 1) for ask in asks], dtype=np.float64),
            memory=np.array([max(ask.memory, 1) for ask in asks], dtype=np.float64),
            devices=np.array([ask.devices for ask in asks], dtype=np.int64),
            load=np.array([ask.load / WHOLE for ask in asks], dtype=np.float64),
            shares=np.array([ask.shares for ask in asks], dtype=np.bool_),
            parts=np.array(counts, dtype=np.float64) / max(sum(counts), 1),
            worth=worth,
        )

    def best_devices(self, each: int, free: Ints) -> tuple[Rows, Floats]:
        """The device of each node that loses least of its worth with a share, and how much that is."""
        drop = self.worth[free] - self.worth[np.maximum(free - each, 0)]
        drop[free < each] = np.inf
        best = np.argmin(drop + FULLER * free, axis=1)
        return best, drop[np.arange(len(best)), best]

    def value(self, weights: Floats, cpu: Ints, memory: Ints, worth: Floats, whole: Ints) -> Floats:
        """Of nodes with so much left: CPUs, memory, the worth of devices, and how many are untouched.
        `weights` says for each node which part of all pods every kind is, if it may go there."""
        pods = np.floor(np.minimum(cpu[:, None] / self.cpu, memory[:, None] / self.memory))
        rest = np.where(self.shares, worth[:, None], whole[:, None] // self.devices * self.devices)
        usable = np.minimum(pods * self.load, rest)
        for _ in range(SQUARINGS):
            usable *= usable
        value: Floats = np.einsum("ij,ij->i", usable, weights) ** (0.5**SQUARINGS) + worth
        return value


def sizes_of(asks: list[PodAsk], counts: list[int]) -> Counter[int]:
    """How often shares of each size are asked for."""
    found = Counter[int]()
    for ask, count in zip(asks, counts, strict=True):
        if ask.shares:
            found[ask.each] += count
    return found


def worth_of_rest(sizes: Counter[int]) -> Floats:
    """What is free of a device is worth, by thousandths, if shares of these sizes are asked for so often."""
    worth = worths(sizes)
    worth[WHOLE] = UNTOUCHED
    return worth


def commonest(counts: Counter[K]) -> Counter[K]:
    """Those that come most often, as few as are typical of the whole."""
    found, covered, total = Counter[K](), 0, counts.total()
    for key, count in counts.most_common():
        if covered >= TYPICAL * total:
            break
        found[key] = count
        covered += count
    return found


def sought_after(demand: Floats, reach: Mask, devices: Floats) -> Floats:
    """How much of the demand comes to a device of each node, if pods spread evenly over all that they may go
    to; 1 is the average."""
    open_to = devices @ reach
    on_each = reach @ np.divide(demand, open_to, out=np.zeros_like(demand), where=open_to > 0)
    average = on_each @ devices / max(devices.sum(), 1.0)
    return on_each / average if average else np.ones(len(devices))
