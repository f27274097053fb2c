"""A snapshot with more nodes of a kind that it has: copies of a node that run only what belongs to it."""

from dataclasses import dataclass, replace

import msgspec
import numpy as np

from maitred.cluster.devices.inventory import Inventory
from maitred.cluster.devices.pools import DeviceId, DevicePool, PoolId, Reach
from maitred.cluster.nodes import Codes, Ints
from maitred.cluster.snapshot import BoundPods, Snapshot
from maitred.cluster.volumes import StorageView
from maitred.model.meta import ObjectMeta
from maitred.model.node import HOSTNAME, Node, NodeSpec, NodeStatus, Taint
from maitred.model.quantity import text


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a new node is like: an existing one, with its lasting taints only, and maybe somewhere else."""

    row: int
    taints: tuple[Taint, ...]
    moved: tuple[tuple[str, str], ...] = ()
    """Labels that differ from those of the node."""


FIRST, LAST = "-", "~"
"""What the names of new nodes begin with, to come before or after all names that nodes can have."""


def with_copies(snapshot: Snapshot, pattern: Pattern, count: int, prefix: str = LAST) -> Snapshot:
    """`count` more nodes at the end of every column.

    They run what belongs to a node, the DaemonSet and static pods of the one that they are like.
    """
    like, nodes = snapshot.nodes.names[pattern.row], snapshot.nodes
    names = [f"{prefix}{number:03}" for number in range(count)]
    return replace(
        snapshot,
        nodes=nodes.with_nodes([_copy(snapshot, pattern, name) for name in names]),
        used=_widened(snapshot.used, snapshot.fixed[:, pattern.row], count),
        fixed=_widened(snapshot.fixed, snapshot.fixed[:, pattern.row], count),
        bound=_with_fixed_pods(snapshot.bound, pattern.row, len(nodes.names), count),
        storage=_with_limits(snapshot.storage, like, names),
        inventory=_with_devices(snapshot.inventory, like, names),
    )


def _copy(snapshot: Snapshot, pattern: Pattern, name: str) -> Node:
    nodes = snapshot.nodes
    labels = {**nodes.labels[pattern.row], **dict(pattern.moved)}
    if HOSTNAME in labels:
        labels[HOSTNAME] = name
    have = nodes.whole().allocatable[:, pattern.row].tolist()
    allocatable: dict[str, str | int | float] = {
        resource: text(resource, amount) for resource, amount in zip(nodes.resources, have, strict=True)
    }
    features = nodes.feature_sets[nodes.feature_ids[pattern.row]]
    status = NodeStatus(allocatable, declared_features=features)
    return Node(ObjectMeta(name=name, labels=labels), NodeSpec(pattern.taints), status)


def _widened(columns: Ints, column: Ints, count: int) -> Ints:
    added: Ints = np.repeat(column[:, None], count, axis=1)
    return np.concatenate((columns, added), axis=1)


def _with_fixed_pods(bound: BoundPods, row: int, first: int, count: int) -> BoundPods:
    own = np.flatnonzero(bound.fixed & (bound.node == row))
    pods = np.concatenate((np.arange(len(bound.node)), np.tile(own, count)))
    seats: Codes = np.repeat(np.arange(first, first + count, dtype=np.int32), len(own))
    return replace(bound.where(pods), node=np.concatenate((bound.node, seats)))


def _with_devices(inventory: Inventory, like: str, names: list[str]) -> Inventory:
    """New nodes have devices like those of the one that they are like, all of them well."""
    models = inventory.on_node.get(like, ())
    if not models:
        return inventory
    pools = dict(inventory.pools)
    for name in names:
        for model in models:
            id = PoolId(model.id.driver, f"{name}/{model.id.pool}")  # no real pool can be called so
            devices = tuple(
                replace(one, id=DeviceId(*id, one.id.device), reach=Reach(name), taints=())
                for one in model.devices
            )
            pools[id] = DevicePool(id, devices, model.counters, name, model.problem)
    return Inventory(pools, inventory.classes)


def _with_limits(storage: StorageView, like: str, names: list[str]) -> StorageView:
    """New nodes attach as many volumes as the one that they are like."""
    limits = storage.csi_nodes.get(like)
    if limits is None:
        return storage
    added = {
        name: msgspec.structs.replace(limits, metadata=msgspec.structs.replace(limits.metadata, name=name))
        for name in names
    }
    return replace(storage, csi_nodes={**storage.csi_nodes, **added})
