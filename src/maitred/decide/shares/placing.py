"""Least loss in the engine: what each node loses if a pod takes a share of its devices.

The pods that are to be expected are those that wait and those that run: what they ask for, and where they may
go. The rule speaks only of pods that take one share, or whole devices of which others could have a share.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from maitred.cluster.devices.consumers import claims_by_pod
from maitred.cluster.devices.menus import NO_MENU, menu_column
from maitred.cluster.devices.shares import DeviceShare, share_of, whole_shares
from maitred.cluster.journal import Rows
from maitred.cluster.nodes import BASE_RESOURCES, Mask
from maitred.cluster.supply.devices import DeviceSupply
from maitred.cluster.trial import Trial
from maitred.decide.compile import acceptable_to
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
from maitred.model.needs import Needs
from maitred.model.policy import Policy
from maitred.model.quantity import CPU, MEMORY

CPU_ROW, MEMORY_ROW = BASE_RESOURCES.index(CPU), BASE_RESOURCES.index(MEMORY)


PARTS = 64
"""Of all shares that are asked for."""
NO_DEVICE = DeviceShare(0, 0)
"""What a pod without claims takes. It may still take the CPUs and the memory without which devices are of no
use."""


class ExpectedKind(NamedTuple):
    needs: int
    """Its number in the snapshot."""
    specs: tuple[bytes, ...]
    """Its claims, by what they ask for."""


@dataclass(frozen=True, slots=True, eq=False)
class ShareDemand:
    """What is to be expected on the nodes of one snapshot."""

    expected: Expected
    weights: Floats
    sought: Floats


def share_loss(trial: Trial, shape: int, rows: Rows, policy: Policy) -> Floats | None:
    """What each of these nodes loses; None for a pod of which the rule does not speak."""
    if not trial.snapshot.inventory.has_shares:
        return None
    devices = trial.supply(DeviceSupply)
    specs = devices.specs(shape)
    share = share_of(devices.book, specs) if specs else NO_DEVICE
    demand = None if share is None else demand_of(trial, policy)
    if share is None or demand is None:
        return None
    needs, expected, free = trial.needs(shape), demand.expected, devices.free_shares()[rows]
    worth, whole = expected.worth[free].sum(axis=1), (free == WHOLE).sum(axis=1)
    cpu, memory = (trial.columns.free[column][rows] for column in (CPU_ROW, MEMORY_ROW))
    weights, ask = demand.weights[rows], _ask(needs, share)
    now = expected.value(weights, cpu, memory, worth, whole)
    if ask.shares:
        best, drop = expected.best_devices(ask.each, free)
        worth = worth - np.where(np.isinf(drop), 0, drop)
        whole = whole - (free[np.arange(len(rows)), best] == WHOLE)
    else:
        worth, whole = worth - ask.devices * UNTOUCHED, whole - ask.devices
    then = expected.value(weights, cpu - ask.cpu, memory - ask.memory, worth, whole)
    return (demand.sought[rows] * (now - then)).round(DIGITS)


def device_worth(trial: Trial, policy: Policy) -> tuple[float, ...]:
    """What is left of a device is worth, by thousandths; empty if nobody shares any."""
    demand = demand_of(trial, policy) if trial.snapshot.inventory.has_shares else None
    return () if demand is None else tuple(demand.expected.worth.tolist())


def demand_of(trial: Trial, policy: Policy) -> ShareDemand | None:
    """Worked out once for a snapshot. None if nobody who waits or runs takes shares."""
    snapshot = trial.snapshot
    known = snapshot.allocated.derived
    key = ("demand", id(snapshot.groups), id(trial.nodes))
    if known.get("demand", (None,))[0] != key:
        known["demand"] = (key, _demand_of(trial, policy), snapshot.groups, trial.nodes)
    found: ShareDemand | None = known["demand"][1]
    return found


def _demand_of(trial: Trial, policy: Policy) -> ShareDemand | None:
    book, nodes = trial.supply(DeviceSupply).book, trial.nodes
    counts = Counter(_kinds(trial))
    shares = {kind: share_of(book, kind.specs) for kind in counts}
    kinds = commonest(Counter({kind: count for kind, count in counts.items() if shares[kind]}))
    if not kinds:
        return None
    asks, reach = list[PodAsk](), list[Mask]()
    for kind in kinds:
        needs, share = trial.snapshot.needs[kind.needs], shares[kind]
        assert share is not None
        asks.append(_ask(needs, share))
        there = acceptable_to(nodes, needs, policy)
        for spec in kind.specs:
            there = there & (menu_column(spec, nodes, book.inventory).codes != NO_MENU)
        reach.append(there)
    pods, reached = list(kinds.values()), np.stack(reach, axis=1)
    expected = Expected.of(asks, pods, _worth(_rounded(sizes_of(asks, pods))))
    sought = sought_after(expected.parts * expected.load, reached, whole_shares(book).astype(np.float64))
    return ShareDemand(expected, expected.parts * reached, sought)


def _rounded(sizes: Counter[int]) -> tuple[tuple[int, int], ...]:
    """With whole parts of all: one pod more or less does not change what shares are worth."""
    total = max(1, sizes.total())
    return tuple(sorted((size, max(1, round(PARTS * count / total))) for size, count in sizes.items()))


@lru_cache(maxsize=64)
def _worth(sizes: tuple[tuple[int, int], ...]) -> Floats:
    """To set prices takes a while, and few cycles need others than the one before."""
    return worth_of_rest(Counter(dict(sizes)))


def _ask(needs: Needs, share: DeviceShare) -> PodAsk:
    requests = dict(needs.requests)
    return PodAsk(requests.get(CPU, 0), requests.get(MEMORY, 0), *share)


def _kinds(trial: Trial) -> Iterator[ExpectedKind]:
    """Of all pods with claims that wait or run."""
    snapshot, load = trial.snapshot, trial.load
    for view in snapshot.groups:
        for shape in view.shapes.tolist() if view.device_claims else ():
            specs = tuple(sorted(need.spec for need in load.shape(shape).devices if need.spec))
            if specs:
                yield ExpectedKind(load.shape(shape).needs, specs)
    sought = snapshot.allocated.sought
    for place, claims in claims_by_pod(load).items():
        specs = tuple(sorted(sought[claim] for claim in claims if sought.get(claim)))
        if specs:
            yield ExpectedKind(int(load.bound.needs[place]), specs)
