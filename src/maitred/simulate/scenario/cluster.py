"""The nodes of a scenario."""

from collections.abc import Mapping, Sequence

from maitred.model.manifest.errors import InputError
from maitred.model.node import NOT_READY, UNREACHABLE, UNSCHEDULABLE, Node, effective_taints
from maitred.model.policy import Level
from maitred.model.words import counted
from maitred.model.world import BLOCK, KIND, RACK, USUAL, Levels, NodeKind, NodePlace, places
from maitred.simulate.scenario.breakage import device_count
from maitred.simulate.scenario.document import ClusterTrace, ScenarioCluster
from maitred.simulate.traces.kubectl import read_nodes
from maitred.simulate.traces.nodes import node, read_lingjun, read_openb_nodes
from maitred.simulate.traces.record import read_recorded_nodes

CLOSED = (UNSCHEDULABLE, NOT_READY, UNREACHABLE)


def nodes_of(cluster: ScenarioCluster, files: Mapping[str, bytes]) -> tuple[Node, ...]:
    if cluster.trace is None:
        kinds: Sequence[NodeKind] = cluster.kinds or (USUAL,)
        return tuple(placed(place, cluster.levels) for place in places(kinds))
    nodes = traced(cluster.trace, files[cluster.trace.file], cluster.levels)
    if not nodes:
        raise InputError(cluster.trace.file, "", "", "has no nodes")
    return nodes


def traced(trace: ClusterTrace, data: bytes, levels: Levels) -> tuple[Node, ...]:
    match trace.format:
        case "lingjun":
            return read_lingjun(data, trace.file, trace.resources or USUAL.resources, levels)
        case "openb":
            return read_openb_nodes(data, trace.file)
        case "kubectl":
            return read_nodes(data, trace.file)
        case "record":
            return read_recorded_nodes(data, trace.file)


def warnings_of(cluster: ScenarioCluster, nodes: Sequence[Node]) -> list[str]:
    """Nobody in a run opens a node that a dump found closed."""
    closed = [node for node in nodes if any(taint.key in CLOSED for taint in effective_taints(node))]
    if not closed or cluster.trace is None:
        return []
    devices = counted(sum(map(device_count, closed)), "device")
    what = f"{counted(len(closed), 'node')} cordoned or not ready: {devices} unused for the whole run"
    return [f"{cluster.trace.file}: {what}"]


def placed(place: NodePlace, levels: Levels) -> Node:
    kind = place.kind
    labels = {KIND: kind.name, levels.block: place.block, levels.rack: place.rack, **kind.labels}
    return node(place.name, kind.resources, labels, kind.taints)


def levels_of(levels: Levels, nodes: Sequence[Node]) -> tuple[Level, ...]:
    """The levels that the nodes are labelled with, wide to narrow."""
    both = (Level(BLOCK.name, levels.block), Level(RACK.name, levels.rack))
    return tuple(level for level in both if any(level.key in node.metadata.labels for node in nodes))
