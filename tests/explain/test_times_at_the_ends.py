"""The first and the last times that there are, wherever objects have times: all is decided and answered as
ever."""

import json
from collections.abc import Callable
from copy import deepcopy
from datetime import datetime
from typing import Any

import pytest

from maitred.verify import verify
from tests.decide.draining import drain
from tests.decide.healing import lost, remembered, train
from tests.explain.healths import crew, failed, health_of
from tests.explain.whys import why_of
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import NOON, decide

ENDS = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.9-14:00")
"""And beyond: these are no dates where the clocks of the world are."""
EARLY = "2026-01-31T11:50:00Z"
POLICY: Obj = {
    "healing": {
        "hold": "36500d",
        "window": "36500d",
        "lemons": {"halfLife": "36500d", "release": "36500d", "taint": True},
    }
}


def world() -> list[Obj]:
    """Everything that healing, scores, drains and health read a time of."""
    gone = b.pod("crew-9", node="n4", group="crew", index=9, phase="Failed")
    gone["metadata"] |= {"deletionTimestamp": EARLY, "deletionGracePeriodSeconds": 2**62}
    gone["status"]["containerStatuses"] = failed("x", "n4", at=EARLY)["status"]["containerStatuses"]
    gang = train("n1", "n2", "n3", "n5", created=1)
    for pod in gang[1:]:
        pod["status"]["startTime"] = EARLY
    incident: Obj = {
        "group": "default/train",
        "source": ["podgroup", "default/train", ""],
        "begun": EARLY,
        "rule": "restart",
        "family": "Infrastructure",
        "words": "a node",
        "since": EARLY,
        "heldUntil": EARLY,
        "youngest": EARLY,
    }
    fault = {"what": "NotReady", "at": EARLY, "weight": 1.0}
    score = {"node": "n1", "score": 4.0, "at": EARLY, "lemonSince": EARLY, "hour": EARLY, "faults": [fault]}
    moved = {"unit": "train", "begun": EARLY, "pods": 1, "groups": [], "heldUntil": EARLY}
    notice = lost("n6")
    notice["metadata"]["creationTimestamp"] = EARLY
    return [
        lost("n1", EARLY, gpu=8),
        notice,
        *(b.node(f"n{number}", gpu=8) for number in (2, 3, 4, 5)),
        *gang,
        *crew("n4", "n6"),
        gone,
        remembered(incident, {**incident, "group": "default/crew", "ended": EARLY}, scores=[score]),
        drain("n5", progress={"moves": [moved], "done": None}),
        drain("n6", name="drain-2", progress={"moves": [], "done": EARLY}),
    ]


def times_replaced(item: Any, by: Callable[[str], str]) -> Any:
    if isinstance(item, dict):
        return {key: times_replaced(one, by) for key, one in item.items()}
    if isinstance(item, list):
        return [times_replaced(one, by) for one in item]
    if isinstance(item, str) and item.startswith("{"):
        return json.dumps(times_replaced(json.loads(item), by))
    return by(item) if isinstance(item, str) and item[:2] == "20" and item.endswith("Z") else item


def number_of_times() -> int:
    count = iter(range(10_000))
    times_replaced(world(), lambda time: f"{time}{next(count)}")
    return next(count)


def with_time(which: int | None, end: str) -> list[Obj]:
    """All of them, or one."""
    count = iter(range(10_000))
    return deepcopy(times_replaced(world(), lambda time: end if which in (None, next(count)) else time))


@pytest.mark.parametrize("end", ENDS)
def test_times_at_the_ends_are_no_error_anywhere(end: str) -> None:
    assert number_of_times() > 20
    for which in (None, *range(number_of_times())):
        objects = with_time(which, end)
        plan = decide(objects, POLICY)
        assert len(plan["drains"]) == 2
        assert verify(objects, plan, POLICY, now=datetime.fromisoformat(NOON)) == []
        assert health_of(objects, POLICY).hurt
        assert why_of(objects, "default/train", policy=POLICY).group == "default/train"
