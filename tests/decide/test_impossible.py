"""Impossible is proven on the empty healthy cluster, with the nodes that an autoscaler could add to it."""

from typing import Any

import pytest

from tests.decide.reading import detail, first, has, verdict
from tests.oracle.builders import Obj, csi_node, near, node, pod, pod_group, pods, pv, pvc, storage_class
from tests.support import decide

GATE = "example.com/wait"
CSI = "csi.example.com"


def gang(count: int, quorum: int, cpu: int | str = 1, topology: str | None = None, **more: Any) -> list[Obj]:
    return [pod_group("g", quorum, topology), *pods("g", count, cpu, group="g", **more)]


def busy(cpu: int | str, on: str, **more: Any) -> Obj:
    return pod(f"busy-{on}-{cpu}", cpu, node=on, **more)


def judged(*objects: Obj, policy: Obj | None = None) -> str:
    return verdict(decide(list(objects), policy))


def disks(*handles: str) -> list[Obj]:
    """Claims `disk-0` and so on, each bound to a volume of its own with this handle."""
    found = list[Obj]()
    for number, handle in enumerate(handles):
        volume = pv(f"pv-{number}", claim=f"default/disk-{number}", driver=CSI)
        volume["spec"]["csi"]["volumeHandle"] = handle
        found += [pvc(f"disk-{number}", volume=f"pv-{number}"), volume]
    return found


MIRROR = {"kubernetes.io/config.mirror": "1"}
POSSIBLE: dict[str, tuple[list[Obj], str]] = {
    "other pods may go": ([node("n1", cpu=2), busy(1, "n1"), *gang(2, 2)], "Waiting"),
    "pods of higher priority may go": (
        [node("n1", cpu=2), busy(1, "n1", priority=9), *gang(2, 2)],
        "Waiting",
    ),
    "DaemonSet pods stay": (
        [node("n1", cpu=2), busy(1, "n1", owner="DaemonSet/agent"), *gang(2, 2)],
        "Impossible",
    ),
    "static pods stay": ([node("n1", cpu=2), busy(1, "n1", owner="Node/n1"), *gang(2, 2)], "Impossible"),
    "mirror pods stay": ([node("n1", cpu=2), busy(1, "n1", annotations=MIRROR), *gang(2, 2)], "Impossible"),
    "pods of a Job may go": ([node("n1", cpu=2), busy(1, "n1", owner="Job/j"), *gang(2, 2)], "Waiting"),
    "the cluster is too small": ([node("n1", cpu=2), *gang(3, 3)], "Impossible"),
    "the nodes are too small": ([node("n1", cpu=2), node("n2", cpu=2), pod("g", 3)], "Impossible"),
    "there are no nodes": ([pod("g", 1)], "Impossible"),
    "a cordon may be lifted": ([node("n1", cordoned=True), pod("g", 1)], "Waiting"),
    "a node may become ready": ([node("n1", ready=False), pod("g", 1)], "Waiting"),
    "a node may speak again": ([node("n1", ready=None), pod("g", 1)], "Waiting"),
    "other taints stay": ([node("n1", taints=["x:NoSchedule"]), pod("g", 1)], "Impossible"),
    "a selector that no node meets": ([node("n1"), pod("g", 1, where={"no": "such"})], "Impossible"),
    "a claim may be made": ([node("n1"), pod("g", 1, claims=["ghost"])], "Waiting"),
    "a claim may be bound": (
        [
            node("n1"),
            storage_class("now", wait=False),
            pvc("d", storage_class="now"),
            pod("g", 1, claims=["d"]),
        ],
        "Waiting",
    ),
    "volumes that only some members share may be fewer than counted": (
        [
            *(node(name) for name in ("n1", "n2")),
            *(csi_node(name, {CSI: 1}) for name in ("n1", "n2")),
            *disks("shared", "shared", "own"),
            pod_group("g", 3),
            *(pod(f"g-{i}", 1, group="g", index=i, claims=[f"disk-{i}"]) for i in range(3)),
        ],
        "Waiting",
    ),
    "company may come": (
        [node("n1", rack="r1"), pod("g", 1, affinity=[near("rack", {"app": "x"})])],
        "Waiting",
    ),
    "company may come, but no node has the key": (
        [node("n1"), pod("g", 1, affinity=[near("rack", {"app": "x"})])],
        "Impossible",
    ),
    "enemies may go": (
        [
            node("n1"),
            busy(1, "n1", labels={"app": "x"}),
            pod("g", 1, anti_affinity=[near("hostname", {"app": "x"})]),
        ],
        "Waiting",
    ),
    "enemies that belong to the node stay": (
        [
            node("n1"),
            busy(1, "n1", labels={"app": "x"}, owner="DaemonSet/x"),
            pod("g", 1, anti_affinity=[near("hostname", {"app": "x"})]),
        ],
        "Impossible",
    ),
    "ports may be freed": ([node("n1"), busy(1, "n1", ports=[80]), pod("g", 1, ports=[80])], "Waiting"),
    "devices may be allocated": (
        [node("n1"), pod("g", 1, spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "mine"}]})],
        "Waiting",
    ),
    "a member may fail and start anew elsewhere": (
        [
            node("n1", cpu=1, rack="r1"),
            node("n2", cpu=2, rack="r2"),
            *gang(1, 2, topology="rack"),
            pod("g-9", 1, group="g", node="n1"),
        ],
        "Waiting",
    ),
    "members that have succeeded need no room": (
        [node("n1", cpu=1), busy(1, "n1"), *gang(1, 2), pod("g-9", 1, group="g", phase="Succeeded")],
        "Waiting",
    ),
    "members that run need room too": (
        [node("n1", cpu=2), *gang(2, 3), pod("g-9", 1, group="g", node="n1")],
        "Impossible",
    ),
    "where some have ended the others will, and leave their room": (
        [
            node("n1", cpu=1),
            *gang(1, 4),
            pod("g-7", 1, group="g", node="n1"),
            *(pod(f"g-{n}", 1, group="g", phase="Succeeded") for n in (8, 9)),
        ],
        "Waiting",
    ),
    "too few end for those that wait to have room": (
        [
            node("n1", cpu=2),
            *gang(3, 5),
            pod("g-8", 1, group="g", node="n1"),
            pod("g-9", 1, group="g", phase="Succeeded"),
        ],
        "Impossible",
    ),
    "no rack is large enough": (
        [node("n1", cpu=2, rack="r1"), node("n2", cpu=2, rack="r2"), *gang(3, 3, topology="rack")],
        "Impossible",
    ),
    "members that are missing are not judged": ([node("n1", cpu=1), *gang(2, 9)], "Waiting"),
    "members that are gated are not judged": ([node("n1", cpu=1), *gang(2, 2, gates=[GATE])], "Waiting"),
}
HEALTH = (
    "memory-pressure",
    "disk-pressure",
    "pid-pressure",
    "network-unavailable",
    "out-of-service",
    "not-ready",
)
POSSIBLE |= {
    f"{name} may pass": (
        [node("n1", taints=[f"node.kubernetes.io/{name}:NoSchedule"]), pod("g", 1)],
        "Waiting",
    )
    for name in HEALTH
}
POSSIBLE |= {
    f"the cloud's {name} may pass": (
        [node("n1", taints=[f"node.cloudprovider.kubernetes.io/{name}:NoSchedule"]), pod("g", 1)],
        "Waiting",
    )
    for name in ("uninitialized", "shutdown")
}


@pytest.mark.parametrize(("objects", "told"), POSSIBLE.values(), ids=POSSIBLE.keys())
def test_impossible_is_what_no_empty_healthy_cluster_could_seat(objects: list[Obj], told: str) -> None:
    assert judged(*objects) == told


def test_the_policy_may_name_more_taints_that_speak_of_health() -> None:
    objects = [node("n1", taints=["example.com/ecc-errors:NoSchedule"]), pod("g", 1)]
    assert judged(*objects) == "Impossible"
    plan = decide(objects, {"health": {"taints": ["example.com/ecc-errors"]}})
    assert (verdict(plan), first(plan)) == ("Waiting", "Health")


def test_surplus_that_can_never_be_seated_leaves_the_group_scheduled() -> None:
    plan = decide([node("n1", cpu=2), *gang(2, 2), pod("g-big", 9, group="g")])
    assert (verdict(plan), first(plan)) == ("Scheduled", "Request")


# ---- node templates


def template(cpu: int | str, name: str = "pool", **more: Any) -> Obj:
    return {"nodeTemplates": [{"name": name, "allocatable": {"cpu": str(cpu), "memory": "64Gi"}, **more}]}


TEMPLATES: dict[str, tuple[list[Obj], Obj, str]] = {
    "one is large enough": ([node("n1", cpu=2), pod("g", 4)], template(4), "Waiting"),
    "one is too small": ([node("n1", cpu=2), pod("g", 4)], template(3), "Impossible"),
    "as many as members": ([node("n1", cpu=2), *gang(3, 3, 4)], template(4), "Waiting"),
    "no more than there may be": ([node("n1", cpu=2), *gang(3, 3, 4)], template(4, max=2), "Impossible"),
    "as many as there may be": ([node("n1", cpu=2), *gang(3, 3, 4)], template(4, max=3), "Waiting"),
    "beside the nodes there are": ([node("n1", cpu=4), *gang(3, 3, 4)], template(4, max=2), "Waiting"),
    "with labels": (
        [node("n1"), pod("g", 1, where={"disk": "ssd"})],
        template(4, labels={"disk": "ssd"}),
        "Waiting",
    ),
    "with other labels": (
        [node("n1"), pod("g", 1, where={"disk": "ssd"})],
        template(4, labels={"disk": "hdd"}),
        "Impossible",
    ),
    "with taints": (
        [node("n1", cpu=2), pod("g", 4)],
        template(4, taints=[{"key": "x", "effect": "NoSchedule"}]),
        "Impossible",
    ),
    "with a domain": (
        [node("n1", cpu=2, rack="r1"), *gang(3, 3, topology="rack")],
        template(2, labels={"rack": "r1"}),
        "Waiting",
    ),
    "without a domain": (
        [node("n1", cpu=2, rack="r1"), *gang(3, 3, topology="rack")],
        template(8),
        "Impossible",
    ),
    "in a cluster without nodes": ([pod("g", 4)], template(4), "Waiting"),
}


@pytest.mark.parametrize(("objects", "policy", "told"), TEMPLATES.values(), ids=TEMPLATES.keys())
def test_node_templates_are_nodes_that_could_be(objects: list[Obj], policy: Obj, told: str) -> None:
    assert judged(*objects, policy=policy) == told


def test_a_template_does_not_stand_in_for_a_node_of_that_name() -> None:
    """The autoscaler's nodes are called after their pool: the large one that is there stays large."""
    assert judged(node("pool-0", cpu=8), busy(1, "pool-0"), pod("g", 8), policy=template(4)) == "Waiting"


def test_a_request_is_larger_than_any_node_there_could_be() -> None:
    plan = decide([node("n1", cpu=2), pod("g", 9)], template(4))
    assert has(detail(plan, "Request"), requested="9", largest="4")
    plan = decide([node("n1", cpu=2), pod("g", 4)], template(4))
    assert first(plan) == "Capacity"


def test_templates_seat_nobody() -> None:
    assert decide([pod("g", 4)], template(4))["binds"] == []
