"""Devices that pods of lower priority have by their claims: who leaves for them, and at what cost."""

from datetime import UTC, datetime, timedelta

import pytest

from maitred.verify import verify
from tests.oracle.builders import Obj, node, pod
from tests.oracle.device_builders import (
    claim_spec,
    claim_template,
    consumer,
    device,
    device_class,
    exactly,
    resource_claim,
    resource_slice,
    use,
    wish,
)
from tests.support import NOON, decide

NOW = datetime.fromisoformat(NOON).astimezone(UTC)
DRIVER, RESOURCE = "gpu.nvidia.com", "nvidia.com/gpu"
CLASS = device_class("gpu", resource=RESOURCE)
ONE = claim_spec(exactly("gpu", wish("gpu")))
ASKS_BY = {
    "a claim": {"spec": {"resourceClaims": [use("gpu", template="one")]}},
    "a resource that a class serves": {"requests": {RESOURCE: 1}},
}


def machine(name: str) -> list[Obj]:
    return [node(name), resource_slice(name, DRIVER, [device("gpu-0")], node=name)]


def running(name: str, on: str, hours: int, **fields: object) -> list[Obj]:
    """A pod that has the device of a node since so many hours."""
    made = pod(name, node=on, phase="Running", priority=1, **fields)  # type: ignore[arg-type]
    made["status"]["startTime"] = (NOW - timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")
    field = {"key": "metadata.name", "operator": "In", "values": [on]}
    allocation = {
        "devices": {"results": [{"request": "gpu", "driver": DRIVER, "pool": on, "device": "gpu-0"}]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }
    return [made, resource_claim(f"{name}-gpu", ONE, allocation, [consumer(made)])]


@pytest.mark.parametrize("by", ASKS_BY)
def test_the_device_whose_user_loses_least_work_is_freed(by: str) -> None:
    claiming = {"spec": {"resourceClaims": [use("gpu", claim="old-gpu")]}}
    objects = [CLASS, claim_template("one", ONE), *machine("n1"), *machine("n2")]
    objects += running("old", "n1", hours=9, **claiming)
    objects += running("young", "n2", hours=1, requests={RESOURCE: 1})
    objects.append(pod("urgent", priority=10, **ASKS_BY[by]))  # type: ignore[arg-type]
    plan = decide(objects)
    assert [(one["pod"], one["for"]) for one in plan["evictions"]] == [("default/young", "default/urgent")]
    assert plan["evictions"][0]["receipt"]["workLostDeviceHours"] == 1.0
    assert [(one["pod"], one["node"]) for one in plan["nominations"]] == [("default/urgent", "n2")]
    assert verify(objects, plan, None, now=NOW) == []


def test_nobody_leaves_for_a_device_that_does_not_become_free_by_it() -> None:
    objects = [CLASS, claim_template("one", ONE), *machine("n1")]
    shared = running("one", "n1", hours=1, spec={"resourceClaims": [use("gpu", claim="one-gpu")]})
    other = pod("two", node="n1", phase="Running", priority=20)
    shared[1]["status"]["reservedFor"].append(consumer(other))
    objects += [*shared, other, pod("urgent", priority=10, **ASKS_BY["a claim"])]  # type: ignore[arg-type]
    plan = decide(objects)
    assert (plan["evictions"], plan["groups"][0]["verdict"]) == ([], "Waiting")
