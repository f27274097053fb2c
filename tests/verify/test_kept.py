"""Devices that stand idle in room that a Plan keeps: what it tells of them, and who pays."""

import json
from copy import deepcopy
from typing import Any

import msgspec
import pytest

from maitred.model.meta import Timestamp
from maitred.verify import verify
from tests.decide.healing import LATER, lost, train
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import decide

QUEUE = {"maitred.dev/queue": "team"}
POLICY: Obj = {
    "queues": [
        {
            "name": "team",
            "budget": {"deviceHours": 10_000, "period": "month", "onSpent": "scavenge"},
            "runtime": {"default": "48h"},
        }
    ]
}
GPU = "nvidia.com/gpu"


def hurt(**more: Any) -> list[Obj]:
    """A gang that has lost a member with its node, and another node that is free, but for some devices."""
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    return [*nodes, *train("n1", "n2", "n3", "n4", annotations=QUEUE, **more)]


def faults(objects: list[Obj], plan: Obj, policy: Obj | None = POLICY) -> list[str]:
    return [str(one) for one in verify(objects, plan, policy, now=msgspec.convert(LATER, Timestamp))]


def remembered(**fields: Any) -> Obj:
    meta = b.metadata("maitred-budgets", "maitred-system", {"maitred.dev/record": "budgets"})
    record = {"at": LATER, "queues": [], **fields}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"record": json.dumps(record)}}


def test_room_for_a_member_that_was_lost_is_paid_by_its_queue() -> None:
    plan = decide(hurt(), POLICY, LATER)
    assert [(hold["node"], hold["devices"]) for hold in plan["holds"]] == [("n5", {GPU: 8})]
    [queue] = plan["budgets"]["queues"]
    assert (queue["queue"], queue["kept"]) == ("team", 8)
    assert faults(hurt(), plan) == []


def test_without_queues_it_is_told_too() -> None:
    plan = decide(hurt(), None, LATER)
    assert [hold["devices"] for hold in plan["holds"]] == [{GPU: 8}]
    assert faults(hurt(), plan, None) == []


def test_what_those_have_who_leave_is_paid_by_them() -> None:
    """Three of the eight devices are still held by a pod that is on its way out."""
    leaving = b.pod("old", gpu=3, node="n5")
    leaving["metadata"]["deletionTimestamp"] = LATER
    objects = [*hurt(), leaving]
    plan = decide(objects, POLICY, LATER)
    assert [hold["devices"] for hold in plan["holds"]] == [{GPU: 5}]
    assert plan["budgets"]["queues"][0]["kept"] == 5
    assert faults(objects, plan) == []


def test_who_does_not_pay_for_what_it_has_does_not_pay_for_what_is_kept() -> None:
    group = {"group": "default/train", "pods": [f"train-{number}" for number in range(4)]}
    objects = hurt()
    uids = [one["metadata"].get("uid", "") for one in objects if one["kind"] == "Pod"]
    names = [f"default/{name}" for name in group["pods"]]
    group["pods"] = [uid or name for uid, name in zip(uids, names, strict=True)]
    objects.append(remembered(scavengers=[group]))
    plan = decide(objects, POLICY, LATER)
    assert [hold["devices"] for hold in plan["holds"]] == [{GPU: 8}]
    assert plan["budgets"] is None or plan["budgets"]["queues"] == []
    assert faults(objects, plan) == []


def test_who_does_not_pay_pays_for_no_place_that_it_was_promised() -> None:
    objects = [b.node(f"n{i}", gpu=8) for i in range(1, 3)] + train("n1", "", quorum=2, annotations=QUEUE)
    runs, waits = objects[-2:]
    waits["status"] = {"nominatedNodeName": "n2"}
    pod = runs["metadata"].get("uid") or "default/train-0"
    paid = decide([*objects, remembered()], POLICY, LATER)
    assert paid["budgets"]["queues"][0]["kept"] == 8
    objects.append(remembered(scavengers=[{"group": "default/train", "pods": [pod]}]))
    plan = decide(objects, POLICY, LATER)
    assert plan["budgets"] is None or plan["budgets"]["queues"] == []
    assert faults(objects, plan) == []


@pytest.mark.parametrize("devices", [{}, {GPU: 7}, {GPU: 9}, {GPU: 8, "cpu": 1}])
def test_a_plan_that_tells_other_devices_is_found_out(devices: dict[str, int]) -> None:
    plan = deepcopy(decide(hurt(), None, LATER))
    plan["holds"][0]["devices"] = devices
    assert any("stand idle for it on n5" in fault for fault in faults(hurt(), plan, None))


def test_a_plan_that_lets_it_be_kept_for_nothing_is_found_out() -> None:
    plan = deepcopy(decide(hurt(), POLICY, LATER))
    plan["budgets"]["queues"][0]["kept"] = 0
    assert any("keeps idle by the hour 0, and it is 8" in fault for fault in faults(hurt(), plan))
