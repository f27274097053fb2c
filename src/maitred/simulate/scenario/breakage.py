"""What breaks, and when, for as long as anyone asks."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from maitred.model.node import Node
from maitred.model.policy import Policy
from maitred.simulate.clock import DAY
from maitred.simulate.faults import Breakdown, Breakdowns
from maitred.simulate.nodes import devices_of
from maitred.simulate.scenario.document import Faulty, Lemons, RepairTimes
from maitred.simulate.scenario.streams import Generator, Streams
from maitred.simulate.scenario.values import DrawnTime
from maitred.simulate.traces.causes import Breaks, Cause

Shares: TypeAlias = NDArray[np.float64]


def faults_of(
    faulty: Faulty, causes: Sequence[Cause], nodes: Sequence[Node], rack: str, streams: Streams
) -> Breakdowns:
    """A Poisson process for each node. `rack` is the label that nodes behind one switch have in common."""
    chance, mending, reports = streams.of("faults"), streams.of("repairs"), streams.of("reports")
    silent = faulty.reaction.silent if faulty.reaction else 0.0
    names = [node.metadata.name for node in nodes]
    likely = shares([cause.count for cause in causes])
    unlucky = luck(faulty.lemons, len(nodes), streams.of("lemons"))
    switches, bare = neighbours(nodes, rack), {node.metadata.name for node in nodes if not device_count(node)}
    repairs = by_class(faulty.repair)
    gap, now = 1000 * DAY / (faulty.per_thousand_node_days * len(nodes)), 0.0
    while (now := now + chance.exponential(gap)) < math.inf:
        node = names[chance.choice(len(names), p=unlucky)]
        cause = causes[chance.choice(len(causes), p=likely)]
        device, lasts = chance.random(), int(repairs[cause.breaks].draw(mending, 1)[0])
        if cause.breaks == "device" and node in bare:
            continue
        yield Breakdown(
            time=round(now),
            nodes=switches[node] if cause.breaks == "rack" else (node,),
            repaired=round(now) + lasts,
            cause=cause.name,
            device=device if cause.breaks == "device" else None,
            process=cause.breaks == "software",
            silent=cause.breaks == "device" and reports.random() < silent,
        )


def by_class(repair: RepairTimes) -> Mapping[Breaks, DrawnTime]:
    return {
        "device": repair.device,
        "node": repair.node,
        "rack": repair.rack,
        "software": repair.software,
    }


def luck(lemons: Lemons | None, nodes: int, chance: Generator) -> Shares:
    """The part of all faults that each node has."""
    count = max(1, round(lemons.share * nodes)) if lemons else nodes
    if lemons is None or count >= nodes:
        return shares(np.ones(nodes))
    parts = np.full(nodes, (1 - lemons.carry) / (nodes - count))
    parts[chance.choice(nodes, count, replace=False)] = lemons.carry / count
    return shares(parts)


def shares(weights: Sequence[int] | Shares) -> Shares:
    """They add up to 1."""
    return np.asarray(weights, dtype=np.float64) / np.sum(weights)


def neighbours(nodes: Sequence[Node], rack: str) -> dict[str, tuple[str, ...]]:
    """All nodes behind the switch of each node; the node alone where nobody knows."""
    racks = defaultdict[str, list[str]](list)
    for node in nodes:
        racks[node.metadata.labels.get(rack, "")].append(node.metadata.name)
    named = {name: tuple(names) for key, names in racks.items() if key for name in names}
    return named | {name: (name,) for name in racks.get("", ())}


def device_count(node: Node) -> int:
    return sum(devices_of(node, Policy()).values())
