"""Nodes that are asked for: who asks, for what, and once; and nodes that have come are for who asked."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from maitred.model.meta import Timestamp
from maitred.model.provisioning import ATOMIC_SCALE_UP, name_of
from maitred.verify import verify
from tests.oracle import builders as b
from tests.oracle.builders import GROUP, MIN_COUNT
from tests.support import NOON, Obj, decide

NOW = msgspec.convert(NOON, Timestamp)
TEMPLATE: Obj = {"name": "gpu", "allocatable": {"cpu": "64", "memory": "1Ti", "pods": "110", b.GPU: "8"}}
ASKING: Obj = {"class": ATOMIC_SCALE_UP, "after": "30s", "keep": "30m"}
POLICY: Obj = {"provisioning": ASKING, "nodeTemplates": [TEMPLATE]}


def at(minutes: float) -> str:
    return (NOW + timedelta(minutes=minutes)).isoformat().replace("+00:00", "Z")


def crew(name: str = "crew", count: int = 2, gpu: int = 8, created: float = -5, **fields: Any) -> list[Obj]:
    marks = {GROUP: name, MIN_COUNT: str(count), **fields.pop("marks", {})}
    pods = [b.pod(f"{name}-{i}", gpu=gpu, annotations=marks, **fields) for i in range(count)]
    for pod in pods:
        pod["metadata"]["creationTimestamp"] = at(created)
    return pods


def node(name: str, made: float = -600, gpu: int = 8) -> Obj:
    found = b.node(name, gpu=gpu)
    found["metadata"]["creationTimestamp"] = at(made)
    return found


def full(name: str = "n") -> list[Obj]:
    """A node and a pod that has all of it."""
    return [node(name), b.pod(f"on-{name}", gpu=8, node=name)]


def request(group: str = "crew", made: float = -4, **conditions: str) -> Obj:
    said = [{"type": type, "status": "True", "message": words} for type, words in conditions.items()]
    return {
        "apiVersion": "autoscaling.x-k8s.io/v1",
        "kind": "ProvisioningRequest",
        "metadata": {**b.metadata(name_of(f"default/{group}")), "creationTimestamp": at(made)},
        "spec": {"provisioningClassName": ATOMIC_SCALE_UP, "podSets": []},
        "status": {"conditions": said},
    }


def decided(objects: list[Obj], policy: Obj = POLICY) -> Obj:
    """The checker finds nothing wrong with it."""
    plan = decide(objects, policy)
    assert [str(one) for one in verify(objects, plan, policy, now=NOW)] == []
    return plan


def asked(plan: Obj) -> list[tuple[str, list[tuple[str, int]]]]:
    return [
        (one["group"], [(some["pod"], some["count"]) for some in one["pods"]]) for one in plan["provisioning"]
    ]


# -- who asks ----------------------------------------------------------------------------------------------


def test_who_lacks_room_asks_for_all_of_its_members_once() -> None:
    objects = [*full(), *crew()]
    plan = decided(objects)
    assert asked(plan) == [("default/crew", [("default/crew-0", 2)])]
    assert plan["provisioning"][0]["name"] == name_of("default/crew")
    assert asked(decided([*objects, request()])) == []
    assert asked(decided([*objects, request(Failed="no such machines")])) == []
    assert asked(decided(objects, {"nodeTemplates": [TEMPLATE]})) == []


def test_members_of_different_shapes_are_asked_for_each_with_an_example() -> None:
    mixed = [*crew(count=3)[:2], *crew(count=3, gpu=4)[2:]]
    assert asked(decided([*full(), *mixed])) == [
        ("default/crew", [("default/crew-0", 2), ("default/crew-2", 1)])
    ]


def test_it_asks_after_it_has_waited() -> None:
    plan = decided([*full(), *crew(created=-0.25)])
    assert asked(plan) == []
    assert plan["wakeAt"] == at(0.25)


QUEUES: Obj = {"queues": [{"name": "team", "limits": [{"resource": b.GPU, "cap": 8}]}]}
BUDGET: Obj = {"queues": [{"name": "team", "budget": {"deviceHours": 1}, "runtime": {"default": "2h"}}]}
MINE = {"maitred.dev/queue": "team"}


@pytest.mark.parametrize(
    ("pods", "more"),
    [
        (crew(marks=MINE), QUEUES),
        (crew(marks=MINE), BUDGET),
        (crew(marks={"maitred.dev/topology-required": b.RACK}), {}),
        (crew(gates=("example.com/gate",)), {}),
        (crew(count=1, gpu=9), {}),
    ],
    ids=["quota", "budget", "topology", "gated", "too large"],
)
def test_nothing_is_asked_for_what_would_not_start_on_new_nodes(pods: list[Obj], more: Obj) -> None:
    plan = decided([*full(), *pods], {**POLICY, **more})
    assert asked(plan) == []
    assert any(one["verdict"] != "Scheduled" for one in plan["groups"])


def test_the_checker_finds_who_asks_and_should_not_or_does_not_and_should() -> None:
    objects = [*full(), *crew()]
    plan = decide(objects, POLICY)

    def told(**changes: Any) -> list[str]:
        return [one.message for one in verify(objects, {**plan, **changes}, POLICY, now=NOW)]

    [one] = plan["provisioning"]
    assert told(provisioning=[]) == ["lacks nothing but room, and no nodes are asked for"]
    assert told(provisioning=[{**one, "name": "other"}]) == ["asks for nodes a second time"]
    more = [{**one["pods"][0], "count": 3}]
    assert told(provisioning=[{**one, "pods": more}]) == ["asks for nodes for 3 pods, and 2 wait"]
    assert "asks for nodes, and lacks something else than room" in told(
        provisioning=[{**one, "group": "default/nobody"}]
    )
    assert [found.message for found in verify(objects, plan, {"nodeTemplates": [TEMPLATE]}, now=NOW)] == [
        "asks for nodes, and the policy does not say so"
    ]


# -- what comes --------------------------------------------------------------------------------------------


def stranger(gpu: int = 8) -> Obj:
    pod = b.pod("stranger", gpu=gpu, priority=1000)
    pod["metadata"]["creationTimestamp"] = at(-1)
    return pod


def test_what_has_come_is_kept_for_who_asked_whatever_the_priority() -> None:
    objects = [*full(), *crew(), request(Accepted="soon"), node("new-0", made=-2), stranger()]
    plan = decided(objects)
    assert plan["binds"] == []
    [kept] = plan["reservations"]
    assert (kept["for"], kept["nodes"], kept["until"]) == ("group default/crew", ["new-0"], at(26))
    verdicts = {one["group"]: one for one in plan["groups"]}
    assert verdicts["default/stranger"]["blockers"][0]["category"] == "Reservation"
    whole = decided([*objects, node("new-1", made=-1)])
    assert {bind["pod"] for bind in whole["binds"]} == {"default/crew-0", "default/crew-1"}


@pytest.mark.parametrize(
    ("answer", "made"),
    [
        (request(Failed="no such machines"), -2),
        (request(Provisioned="", CapacityRevoked="spot"), -2),
        (request(made=-31), -2),  # half an hour is over
        (request(), -5),  # it was there before anybody asked
        (request("other"), -2),
    ],
    ids=["failed", "revoked", "late", "before", "of another"],
)
def test_nothing_else_is_kept(answer: Obj, made: float) -> None:
    plan = decided([*full(), *crew(), answer, node("new-0", made=made), stranger()])
    assert [bind["pod"] for bind in plan["binds"]] == ["default/stranger"]
    assert plan["reservations"] == []


def test_no_more_is_kept_than_all_members_need_and_only_what_suits_them() -> None:
    came = [node("new-0", made=-2, gpu=4), *(node(f"new-{i}", made=-2) for i in (1, 2, 3))]
    plan = decided([*full(), *crew(count=3, gpu=8), request(), *came[:3], stranger(gpu=4)])
    assert [one["nodes"] for one in plan["reservations"]] == [["new-1", "new-2"]]
    assert [(bind["pod"], bind["node"]) for bind in plan["binds"]] == [("default/stranger", "new-0")]
    taken = b.pod("taken", gpu=1, node="new-1")
    plan = decided([*full(), *crew(count=3, gpu=8), request(), *came[1:3], taken])
    assert [one["nodes"] for one in plan["reservations"]] == [["new-2"]]


def test_two_who_asked_each_have_what_they_need() -> None:
    pods = [*crew("one", 2, created=-6), *crew("two", 2, created=-5)]
    requests = [request("one", made=-4), request("two", made=-3)]
    came = [node(f"new-{i}", made=-2) for i in range(3)]
    plan = decided([*full(), *pods, *requests, *came])
    assert {bind["pod"] for bind in plan["binds"]} == {"default/one-0", "default/one-1"}
    assert {one["for"]: one["nodes"] for one in plan["reservations"]} == {
        "group default/one": ["new-0", "new-1"],
        "group default/two": ["new-2"],
    }


def test_the_checker_finds_what_is_taken_from_who_asked() -> None:
    objects = [*full(), *crew(), request(), node("new-0", made=-2), stranger()]
    plan = decide(objects, POLICY)
    wrong = decide(objects, {"nodeTemplates": [TEMPLATE]})
    taken = {**plan, "binds": wrong["binds"], "groups": wrong["groups"]}
    told = [str(one) for one in verify(objects, taken, POLICY, now=NOW)]
    assert any("starts on new-0, which has come for default/crew" in one for one in told)
    other = [{**plan["reservations"][0], "nodes": ["n"]}]
    told = [str(one) for one in verify(objects, {**plan, "reservations": other}, POLICY, now=NOW)]
    assert any("keeps n, which did not come for default/crew" in one for one in told)
