"""Worlds in which starts are booked."""

import json
from typing import Any

from tests.decide.holding import SYSTEM, after_noon, waits
from tests.oracle import builders as b
from tests.support import Obj

START_BY = "maitred.dev/start-by"


def asks(name: str, by: float, **more: Any) -> list[Obj]:
    """A group that wants to start so many minutes after noon at the latest."""
    pods = waits(name, **more)
    for pod in pods:
        pod["metadata"].setdefault("annotations", {})[START_BY] = after_noon(by)
    return pods


def kept(bookings: Obj) -> Obj:
    meta = b.metadata("maitred-bookings", SYSTEM, {"maitred.dev/record": "bookings"})
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": meta,
        "data": {"record": json.dumps(bookings)},
    }


def booked(plan: Obj) -> dict[str, tuple[str, list[str]]]:
    """By group: when it starts at the latest, and on which nodes."""
    found = plan["bookings"] or {"bookings": []}
    return {
        one["group"].partition("/")[2]: (one["at"], [node for node, _ in one["nodes"]])
        for one in found["bookings"]
    }
