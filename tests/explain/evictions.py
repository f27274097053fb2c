"""Evictions with all that a receipt has, of which a test says only what matters to it."""

from typing import Any

from maitred.model.plan import Departure, Eviction, Receipt, Toll

FOR_GOOD = Departure("", "delete", None, "it has no controller, so it is not created again")


def eviction(pod: str, group: str | None, preemptor: str, **receipt: Any) -> Eviction:
    said: dict[str, Any] = {
        "unit": group or pod,
        "rule": "priority 100 is higher than 10",
        "priority": 10,
        "preemptor_priority": 100,
        "work_lost_device_hours": 0.0,
        "lost_since": None,
        "budgets": (),
        "departure": FOR_GOOD,
        "toll": Toll(),
    }
    return Eviction(pod, "", group, preemptor, "Preemption", Receipt(**{**said, **receipt}))
