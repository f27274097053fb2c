"""Gangs on claimed devices that are healed or moved: room is kept where the next member gets its device."""

from copy import deepcopy
from typing import Any

import msgspec
import pytest

from maitred.decide import decide as decide_snapshot
from maitred.model.meta import Timestamp
from maitred.model.plan import Plan
from maitred.model.policy import Policy
from tests.decide.draining import drain
from tests.decide.healing import LATER, again
from tests.oracle import builders as b
from tests.oracle.builders import Obj
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
from tests.support import decide, read, state_of

DRIVER = "gpu.example.com"
ASKED = claim_spec(exactly("one", wish("gpu")))
SOON_AFTER = "2026-01-31T12:00:05Z"
TAINTED_AWAY = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "DeletionByDeviceTaintManager",
    "lastTransitionTime": "2026-01-31T11:59:58Z",
}
SIZE = 3


def fleet(*with_device: int, count: int = SIZE + 1) -> list[Obj]:
    """Nodes with room for one pod each; that of `n0` is tainted, if it is among those with a device."""
    slices = [
        resource_slice(
            f"slice-{number}",
            DRIVER,
            [device("gpu-0", taints=["example.com/unhealthy:NoExecute"] if number == 0 else [])],
            node=f"n{number}",
        )
        for number in with_device
    ]
    nodes = [b.node(f"n{number}", cpu=1) for number in range(count)]
    return [*nodes, *slices, device_class("gpu"), claim_template("gpu", ASKED)]


def claiming(name: str, node: str | None = None, **more: Any) -> list[Obj]:
    """A pod with a claim from the template. Once it has a node, the claim has the device of that node, and
    can be used there only."""
    pod = b.pod(name, cpu=1, node=node, spec={"resourceClaims": [use("gpu", template="gpu")]}, **more)
    pod["metadata"]["uid"] = f"uid-{name}"
    pod["status"]["resourceClaimStatuses"] = [{"name": "gpu", "resourceClaimName": f"{name}-gpu"}]
    got = {"request": "one", "driver": DRIVER, "pool": node, "device": "gpu-0"}
    only_there = {"nodeSelectorTerms": [b.on_nodes(node)]} if node else {}
    allocation = {"devices": {"results": [got]}, "nodeSelector": only_there} if node else None
    claim = resource_claim(f"{name}-gpu", ASKED, allocation, [consumer(pod)] if node else [])
    return [pod, claim]


def member(index: int, node: str | None, name: str = "train", **more: Any) -> list[Obj]:
    return claiming(f"{name}-{index}", node, group="train", index=index, owner="Job/train", **more)


def others() -> list[Obj]:
    """Of the gang: the members that run well."""
    running = [item for index in range(1, SIZE) for item in member(index, f"n{index}", created=0)]
    return [b.pod_group("train", SIZE), *running]


NEWCOMER = claiming("newcomer", created=10)
"""Of the same rank, and it is there before the member that is made anew."""


def leaving() -> list[Obj]:
    """The member whose device was tainted, on its way out."""
    pod, claim = member(0, "n0", created=0, deleted=True)
    pod["status"]["conditions"] = [TAINTED_AWAY]
    return [pod, claim]


def healed(*objects: Obj) -> Obj:
    """What is decided once the member is gone, and nobody has made another one."""
    first = decide([*objects, *leaving()], None, LATER)
    assert [one["group"] for one in first["memory"]["incidents"]] == ["default/train"]
    return decide(again(list(objects), first), None, SOON_AFTER)


@pytest.mark.parametrize("more", [SIZE + 1, SIZE + 3])
def test_room_is_kept_where_there_is_a_device(more: int) -> None:
    """And not on a node that has none, where an equal would leave it."""
    plan = healed(*fleet(*range(SIZE), more - 1, count=more), *others(), *NEWCOMER)
    assert [(hold["group"], hold["node"]) for hold in plan["holds"]] == [("default/train", f"n{more - 1}")]
    assert plan["binds"] == []


def test_no_room_is_kept_where_no_device_is_left() -> None:
    """That of the node that the member has left is tainted."""
    plan = healed(*fleet(*range(SIZE)), *others(), *NEWCOMER)
    assert (plan["holds"], plan["binds"]) == ([], [])


def test_what_is_made_anew_is_seated_there_before_an_older_equal() -> None:
    objects = [*fleet(*range(SIZE + 1)), *others(), *NEWCOMER]
    first = decide([*objects, *leaving()], None, LATER)
    anew = member(0, None, "again", created=100)
    plan = decide(again([*objects, *anew], first), None, SOON_AFTER)
    assert [(bind["pod"], bind["node"]) for bind in plan["binds"]] == [("default/again-0", f"n{SIZE}")]


def decided_live(objects: list[Obj]) -> Plan:
    """By a scheduler, for which a claim that is not there yet will be made."""
    snapshot = state_of(read(objects), waits_for_owners=True).snapshot()
    return decide_snapshot(snapshot, Policy(), msgspec.convert(SOON_AFTER, Timestamp))


def test_its_room_is_kept_until_its_claim_is_made() -> None:
    """A pod is there a moment before its claim. An equal whose claim is made gets nothing of it."""
    objects = [*fleet(*range(SIZE + 1), SIZE + 2, count=SIZE + 3), *others(), *NEWCOMER]
    first = decide([*objects, *leaving()], None, LATER)
    [pod, claim] = member(0, None, "again", created=100)
    waiting = deepcopy(pod)
    waiting["status"].pop("resourceClaimStatuses")
    plan = decided_live(again([*objects, waiting], first))
    assert [(hold.group, hold.node) for hold in plan.holds] == [("default/train", f"n{SIZE}")]
    assert [(bind.pod, bind.node) for bind in plan.binds] == [("default/newcomer", f"n{SIZE + 2}")]
    plan = decided_live(again([*objects, pod, claim], first))
    assert ("default/again-0", f"n{SIZE}") in [(bind.pod, bind.node) for bind in plan.binds]


def test_a_member_on_its_way_out_is_counted_once() -> None:
    """Room is kept for no more members than there were."""
    first = decide([*fleet(*range(SIZE + 1)), *others(), *leaving()], None, LATER)
    assert [one["had"] for one in first["memory"]["incidents"]] == [SIZE]


@pytest.mark.parametrize("devices", [SIZE, SIZE + 1])
def test_a_gang_that_is_drained_leaves_once_there_is_a_device_for_each_member(devices: int) -> None:
    """Its claims go with its pods, and others are made where it comes back."""
    cluster = [*fleet(*range(1, devices + 1), count=SIZE + 2), b.pod_group("train", SIZE)]
    cluster += [item for index in range(SIZE) for item in member(index, f"n{index + 1}", created=1)]
    plan = decide([*cluster, drain("n1")], None, LATER)
    there = {"n2", "n3", "n4"} if devices > SIZE else set()
    assert {hold["node"] for hold in plan["holds"]} == there
    assert len(plan["evictions"]) == len(there)
