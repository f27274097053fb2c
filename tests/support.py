"""The engine as tests call it: raw Kubernetes dicts in, the Plan as a dict out, as files are read."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from maitred.cluster.snapshot import Snapshot
from maitred.cluster.state import ClusterState, Put
from maitred.decide import Scope
from maitred.decide import decide as decide_snapshot
from maitred.model.manifest import Reader
from maitred.model.meta import Timestamp
from maitred.model.objects import Object
from maitred.model.policy import Policy

Obj = dict[str, Any]
NOON = "2026-01-31T12:00:00Z"


def decide(
    objects: list[Obj], policy: Obj | None = None, now: str | None = None, scheduler: str | None = None
) -> Obj:
    moment = msgspec.convert(now or NOON, Timestamp)
    plan = decide_snapshot(snapshot_of(objects, policy), policy_of(policy), moment, Scope(scheduler))
    decided: Obj = msgspec.json.decode(msgspec.json.encode(plan))
    return decided


def listed(objects: Sequence[Obj]) -> bytes:
    return msgspec.json.encode({"kind": "List", "apiVersion": "v1", "items": objects})


def read(objects: Sequence[Obj]) -> list[Object]:
    reader = Reader()
    reader.read(listed(objects), "test")
    return list(reader.objects)


def state_of(objects: Iterable[Object], **options: Any) -> ClusterState:
    state = ClusterState(**options)
    for item in objects:
        state.apply(Put(item))
    return state


def snapshot_of(objects: list[Obj], policy: Obj | None = None) -> Snapshot:
    return state_of(read(objects), workloads=policy_of(policy).workloads).snapshot()


def policy_of(policy: Obj | None) -> Policy:
    return Policy() if policy is None else msgspec.convert(policy, Policy)
