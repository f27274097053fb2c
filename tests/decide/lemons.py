"""Nodes that fail, and a memory of scores: one cycle after the other, as time goes by."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.decide.healing import lost
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import decide

NOON = "2026-01-31T12:00:00Z"
TAINT = "maitred.dev/lemon"
TAINTED: Obj = {"healing": {"lemons": {"taint": True}}}


def at(minutes: float) -> str:
    """Minutes after noon of the last day of January."""
    found = datetime(2026, 1, 31, 12, tzinfo=UTC) + timedelta(minutes=minutes)
    return found.strftime("%Y-%m-%dT%H:%M:%SZ")


DAY = 24 * 60.0


def memory(*scores: Obj, incidents: tuple[Obj, ...] = ()) -> Obj:
    text = json.dumps({"incidents": list(incidents), "scores": list(scores)})
    meta = b.metadata("maitred-health", "maitred-system", {"maitred.dev/record": "health"})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"record": text}}


def score(node: str, value: float, when: str = NOON, **more: Any) -> Obj:
    return {"node": node, "score": value, "at": when, **more}


class Story:
    """The same memory from one cycle to the next."""

    def __init__(self, policy: Obj | None = None) -> None:
        self.policy, self.kept = policy, memory()
        self.writes = 0
        self.plan: Obj = {}

    def goes_on(self, objects: list[Obj], now: str) -> Obj:
        self.plan = decide([*objects, self.kept], self.policy, now)
        if self.plan["memory"] is not None:
            found = self.plan["memory"]
            self.kept = memory(*found["scores"], incidents=tuple(found["incidents"]))
            self.writes += 1
        return self.plan

    @property
    def scores(self) -> dict[str, float]:
        found = json.loads(self.kept["data"]["record"])["scores"]
        return {one["node"]: one["score"] for one in found}

    def of(self, node: str) -> Obj:
        found = json.loads(self.kept["data"]["record"])["scores"]
        return next(one for one in found if one["node"] == node)


def fleet(count: int = 20, **more: Any) -> list[Obj]:
    return [b.node(f"n{number:02}", gpu=8, **more) for number in range(count)]


def with_lost(nodes: list[Obj], *names: str, since: str) -> list[Obj]:
    return [
        lost(node["metadata"]["name"], since, gpu=8) if node["metadata"]["name"] in names else node
        for node in nodes
    ]


def condition(node: Obj, type: str, since: str, **more: Any) -> Obj:
    said = {"type": type, "status": "True", "lastTransitionTime": since, **more}
    node["status"]["conditions"].append(said)
    return node
