"""Clusters of others: the topology of Lingjun and the nodes of openb."""

from collections.abc import Iterable, Mapping

from maitred.model.manifest.checks import name_problem
from maitred.model.manifest.errors import InputError
from maitred.model.meta import ObjectMeta
from maitred.model.node import HOSTNAME, Node, NodeSpec, NodeStatus, Taint
from maitred.model.pod import Resources
from maitred.model.world import MOST_NODES, Levels
from maitred.simulate.traces.rows import TraceRow, rows
from maitred.simulate.traces.traced import JobNames
from maitred.simulate.traces.workers import DEVICE, MODEL


def read_lingjun(data: bytes, source: str, resources: Resources, levels: Levels) -> tuple[Node, ...]:
    """Hosts are numbered in the order of the file. Switches have their names within the one above them."""
    hosts, seen = list[Node](), dict[str, int]()
    for row in bounded(rows(data, source, ("ip", "DSW", "PSW", "ASW")), source):
        first = seen.setdefault(row.text("ip"), row.line)
        if first != row.line:
            raise row.refuse("ip", f"{row.text('ip')[:40]} is already used in line {first}")
        block = f"{label_value(row, 'DSW')}-{label_value(row, 'PSW')}"
        labels = {levels.block: block, levels.rack: f"{block}-{label_value(row, 'ASW')}"}
        hosts.append(node(f"h{len(hosts) + 1:04}", resources, labels))
    return tuple(hosts)


def read_openb_nodes(data: bytes, source: str) -> tuple[Node, ...]:
    names, nodes = JobNames(), list[Node]()
    for row in bounded(rows(data, source, ("sn", "cpu_milli", "memory_mib", "gpu", "model")), source):
        gpus = row.whole("gpu")
        resources: Resources = {
            "cpu": row.quantity("cpu_milli", "cpu", "m"),
            "memory": row.quantity("memory_mib", "memory", "Mi"),
            **({DEVICE: gpus} if gpus else {}),
        }
        nodes.append(node(names.of(row, "sn"), resources, {MODEL: label_value(row, "model")} if gpus else {}))
    return tuple(nodes)


def node(name: str, resources: Resources, labels: Mapping[str, str], taints: tuple[Taint, ...] = ()) -> Node:
    return Node(
        ObjectMeta(name=name, labels={HOSTNAME: name, **labels}),
        NodeSpec(taints=taints),
        NodeStatus(allocatable=resources, capacity=resources),
    )


def bounded(table: Iterable[TraceRow], source: str) -> Iterable[TraceRow]:
    for number, row in enumerate(table):
        if number == MOST_NODES:
            raise InputError(source, "", "", f"has more than {MOST_NODES} nodes, which is the limit")
        yield row


def label_value(row: TraceRow, column: str) -> str:
    value = row.text(column)
    if problem := name_problem(value, 40):
        raise row.refuse(column, problem)
    return value
