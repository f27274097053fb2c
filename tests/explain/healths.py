"""Clusters that are unwell, as tests write them: raw objects in, the answer out."""

from typing import Any

import msgspec

from maitred.explain.health.answer import FleetHealth, GroupHealth, NodeHealth
from maitred.explain.health.look import FleetLook
from maitred.explain.health.survey import health
from maitred.model.group import PodGroup
from maitred.model.manifest.parsing import without_nulls
from maitred.model.node import Node
from maitred.model.pod import Pod
from tests.explain.whys import situation_of
from tests.oracle import builders as b
from tests.oracle.builders import Obj

RECENT = "2026-01-31T11:50:00Z"
OLD = "2026-01-31T06:00:00Z"


def look_of(objects: list[Obj]) -> FleetLook:
    def all_of(kind: str, type: Any) -> tuple[Any, ...]:
        return tuple(msgspec.convert(without_nulls(one), type) for one in objects if one["kind"] == kind)

    return FleetLook(all_of("Node", Node), all_of("Pod", Pod), all_of("PodGroup", PodGroup))


def health_of(objects: list[Obj], policy: Obj | None = None) -> FleetHealth:
    return health(situation_of(objects, policy), look_of(objects))


def hurt(found: FleetHealth, group: str = "default/crew") -> GroupHealth:
    return next(one for one in found.hurt if one.group == group)


def unwell(found: FleetHealth, node: str) -> NodeHealth:
    return next(one for one in found.unwell if one.node == node)


def failed(name: str, node: str, code: int = 1, at: str = RECENT, **fields: Any) -> Obj:
    """A pod whose container has ended with this code."""
    made = b.pod(name, node=node, phase="Failed", **fields)
    end = {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": at}
    made["status"]["containerStatuses"] = [{"name": "main", "state": {"terminated": end}}]
    return made


def crew(*nodes: str, quorum: int | None = None, namespace: str = "default", name: str = "crew") -> list[Obj]:
    """A gang with a member on each of these nodes."""
    group = b.pod_group(name, quorum or len(nodes), namespace=namespace)
    members = [
        b.pod(f"{name}-{i}", cpu=1, node=node, group=name, index=i, namespace=namespace)
        for i, node in enumerate(nodes)
    ]
    return [group, *members]


def nodes(count: int = 4) -> list[Obj]:
    return [b.node(f"n{i}") for i in range(count)]
