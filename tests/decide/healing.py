"""Gangs that hardware fails under: nodes that are lost since a time, members, and what is remembered."""

import json
from typing import Any

from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import decide

MARK = "maitred.dev/on-failure"
SINCE, SOON, LATER = "2026-01-31T11:58:00Z", "2026-01-31T11:58:30Z", "2026-01-31T12:00:00Z"
"""Since when a node is lost; a time within the grace of a minute; and one after it."""


def lost(name: str, since: str = SINCE, **more: Any) -> Obj:
    """A node whose kubelet does not answer."""
    node = b.node(name, ready=None, **more)
    node["status"]["conditions"][0]["lastTransitionTime"] = since
    return node


def train(*nodes: str, quorum: int = 4, gpu: int = 8, **more: Any) -> list[Obj]:
    """A gang whose members run on these nodes; those without a node wait."""
    more = {"owner": "Job/train", **more}
    return [
        b.pod_group("train", quorum),
        *(
            b.pod(f"train-{i}", gpu=gpu, group="train", index=i, node=node or None, **more)
            for i, node in enumerate(nodes)
        ),
    ]


def remembered(*incidents: Obj, scores: list[Obj] | None = None) -> Obj:
    text = json.dumps({"incidents": list(incidents), "scores": scores or []})
    meta = b.metadata("maitred-health", "maitred-system", {"maitred.dev/record": "health"})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"record": text}}


def again(objects: list[Obj], plan: Obj) -> list[Obj]:
    """The same cluster, with what the Plan says is to be remembered."""
    if plan["memory"] is None:
        return objects
    rest = [one for one in objects if one["kind"] != "ConfigMap"]
    return [*rest, remembered(*plan["memory"]["incidents"], scores=plan["memory"]["scores"])]


def healed(objects: list[Obj], now: str = LATER, policy: Obj | None = None) -> tuple[Obj, list[Obj]]:
    plan = decide(objects, policy, now)
    return plan, plan["healing"]
