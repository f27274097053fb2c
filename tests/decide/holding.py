"""Worlds in which groups wait for others that have ends."""

import json
from datetime import datetime, timedelta
from typing import Any

from maitred.verify import verify
from tests.oracle import builders as b
from tests.support import NOON, Obj, decide

SYSTEM = "maitred-system"


def after_noon(minutes: float) -> str:
    moment = datetime.fromisoformat(NOON) + timedelta(minutes=minutes)
    return moment.isoformat().replace("+00:00", "Z")


def runs(name: str, node: str, cpu: int = 4, until: float | None = None, **more: Any) -> Obj:
    """A pod that started an hour before noon, and ends so many minutes after noon at the latest."""
    pod = b.pod(name, cpu=cpu, node=node, **more)
    if until is not None:
        pod["spec"]["activeDeadlineSeconds"] = round((60 + until) * 60)
    pod["status"] = {"phase": "Running", "startTime": after_noon(-60)}
    return pod


def waits(
    name: str, cpu: int = 4, minutes: float | None = None, since: float = -30, size: int = 1, **more: Any
) -> list[Obj]:
    """A group that came so many minutes after noon, and runs for so many at most."""
    marks = {} if size == 1 else {"maitred.dev/group": name, "maitred.dev/min-count": str(size)}
    pods = [
        b.pod(
            name if size == 1 else f"{name}-{index}",
            cpu=cpu,
            created=after_noon(since),
            annotations=marks,
            **more,
        )
        for index in range(size)
    ]
    for pod in pods if minutes is not None else ():
        pod["spec"]["activeDeadlineSeconds"] = round((minutes or 0) * 60)
    return pods


def remembered(planned: Obj) -> Obj:
    meta = b.metadata("maitred-holds", SYSTEM, {"maitred.dev/record": "holds"})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta,
        "data": {"record": json.dumps(planned)},
    }


def judged(objects: list[Obj], plan: Obj, policy: Obj, now: str = NOON) -> list[str]:
    """What an independent checker has to say."""
    return [fault.message for fault in verify(objects, plan, policy, None, datetime.fromisoformat(now))]


def decided(objects: list[Obj], policy: Obj, now: str = NOON) -> Obj:
    plan = decide(objects, policy, now)
    assert judged(objects, plan, policy, now) == []
    return plan


def holds(plan: Obj) -> dict[str, tuple[str | None, list[str]]]:
    """By group: when its hold begins, and on which nodes."""
    planned = plan["planned"] or {"holds": []}
    return {
        one["group"].partition("/")[2]: (one["begins"], [node for node, _ in one["nodes"]])
        for one in planned["holds"]
    }
