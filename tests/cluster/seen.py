"""What a snapshot and a trial say, in names instead of rows and numbers, so that they can be compared."""

from collections import Counter
from typing import Any

import msgspec

from maitred.cluster.journal import Selection
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.state import ClusterState, Delete, Put
from maitred.cluster.supply.ports import Ports
from maitred.cluster.supply.volumes import Volumes
from maitred.cluster.trial import Trial
from maitred.decide import decide
from maitred.model.meta import Timestamp, key_of
from maitred.model.objects import Object
from maitred.model.policy import Policy
from maitred.model.storage import PersistentVolumeClaim
from tests.oracle.builders import Obj
from tests.support import NOON, read

NAMESPACED = (
    *("Job", "Pod", "PodGroup", "CompositePodGroup", "Workload"),
    *("PersistentVolumeClaim", "PodDisruptionBudget"),
)


def name_of(item: Object) -> tuple[type[Object], str]:
    """Kind and key, as a Delete names an object."""
    namespaced = type(item).__name__ in NAMESPACED
    return type(item), key_of(item.metadata) if namespaced else item.metadata.name


def put(state: ClusterState, *objects: Obj) -> None:
    for item in read(list(objects)):
        state.apply(Put(item))


def delete(state: ClusterState, *objects: Obj) -> None:
    for item in read(list(objects)):
        state.apply(Delete(*name_of(item)))


def plan_of(snapshot: Snapshot) -> bytes:
    return msgspec.json.encode(decide(snapshot, Policy(), msgspec.convert(NOON, Timestamp)))


# ---- snapshots


def seen(snapshot: Snapshot) -> dict[str, Any]:
    return {
        "nodes": _nodes(snapshot),
        "bound": _bound(snapshot),
        "groups": [_group(snapshot, view) for view in snapshot.groups],
        "claims in use": {
            claim: sorted(snapshot.nodes.names[row] for row in rows)
            for claim, rows in snapshot.claims_in_use.items()
        },
        "namespaces": dict(snapshot.namespaces),
        "priority classes": dict(snapshot.priority_classes),
        "counts": counts(Trial.of(snapshot)),
    }


def _nodes(snapshot: Snapshot) -> dict[str, Any]:
    nodes, found = snapshot.nodes, {}
    for row, name in enumerate(nodes.names):
        amounts = {
            resource: tuple(
                int(table[column, row]) for table in (nodes.allocatable, snapshot.used, snapshot.fixed)
            )
            for column, resource in enumerate(nodes.resources)
        }
        taints = nodes.taint_sets[nodes.taint_ids[row]]
        if nodes.alive[row] or any(any(amount) for amount in amounts.values()):
            known = {resource: amount for resource, amount in amounts.items() if any(amount)}
            found[name] = (bool(nodes.alive[row]), known, dict(nodes.labels[row]), taints, nodes.images[row])
    return found


def _bound(snapshot: Snapshot) -> "Counter[Any]":
    """Everyone on a node, by where, what and with which labels that somebody reads."""
    bound = snapshot.bound
    return Counter(
        (
            snapshot.nodes.names[node],
            snapshot.needs[needs],
            _labels(snapshot, labels),
            bool(dying),
            bool(fixed),
            snapshot.payers[payer],
            repr(snapshot.stays[stay]),
        )
        for node, needs, labels, dying, fixed, payer, stay in zip(
            *(bound.node, bound.needs, bound.labels, bound.terminating, bound.fixed, bound.payer, bound.stay),
            strict=True,
        )
    )


def _labels(snapshot: Snapshot, number: int) -> Any:
    found = snapshot.classes[number]
    return found.namespace, frozenset(found.labels.items())


def _group(snapshot: Snapshot, view: GroupView) -> Any:
    shapes = [snapshot.shapes[number] for number in (*view.shapes, *view.running_shapes)]
    meant = [(snapshot.needs[s.needs], _labels(snapshot, s.labels), s.volumes) for s in shapes]
    running = [(member.order, snapshot.nodes.names[member.node]) for member in view.running]
    told = (
        view.group,
        view.pods,
        view.uids,
        view.orders,
        view.gates,
        view.members,
        view.succeeded,
        view.created,
        view.payer,
        view.runtime,
        view.any_model,
    )
    return told, (view.ranks, view.schedulers, view.pending_schedulers), running, meant


# ---- trials


def selections(snapshot: Snapshot) -> list[Selection]:
    """Everything that pods which run or wait may want to have counted."""
    waiting = [snapshot.shapes[number].needs for view in snapshot.groups for number in view.shapes]
    found = {
        Selection(terms, leaving)
        for number in {*snapshot.bound.needs.tolist(), *waiting}
        for terms in [snapshot.needs[number].affinity, *((t,) for t in snapshot.needs[number].pod_terms())]
        for leaving in (True, False)
        if terms
    }
    return sorted(found, key=repr)


def counts(trial: Trial) -> dict[Any, Any]:
    """How many pods each selection means, and who holds which port or domain: per node, by name."""
    names = trial.nodes.names
    found: dict[Any, Any] = {
        s: _per_node(names, trial.neighbours.matching(s)) for s in selections(trial.snapshot)
    }
    held: dict[Any, Any] = {**trial.supply(Ports).held(), **trial.neighbours.kept_away()}
    found |= {key: _per_node(names, column) for key, column in held.items()}
    return {key: value for key, value in found.items() if value}


def _per_node(names: tuple[str, ...], column: Any) -> dict[str, int]:
    return {names[row]: int(amount) for row, amount in enumerate(column) if amount}


def measured(trial: Trial) -> dict[str, Any]:
    """All that a trial keeps account of."""
    attachments = trial.supply(Volumes).attachments
    return {
        "free": trial.columns.free.tolist(),
        "copies": [trial.columns.copies(shape).tolist() for shape in range(len(trial.snapshot.shapes))],
        "counts": counts(trial),
        "attach room": {driver: free.tolist() for driver, free in attachments.free.items()},
        "attached": {handle: sorted(rows) for handle, rows in attachments.attached.items() if rows},
        "claims taken": sorted(attachments.claims_taken),
        "volumes taken": sorted(attachments.volumes_taken),
    }


def has_waiting_claims(objects: list[Object]) -> bool:
    return any(isinstance(o, PersistentVolumeClaim) and not o.spec.volume_name for o in objects)
