"""Law 8: Impossible is disproved by one placement on the empty healthy cluster."""

import pytest

from .make import (
    Raw,
    affinity,
    anti_affinity,
    blocker,
    claim,
    entry,
    judged,
    members,
    node,
    plan,
    pod,
    pod_group,
    spread,
    storage_class,
    taint,
    term,
    topology,
    uses,
    volume,
)

NODES = [node("n1", labels={"rack": "a"}), node("n2", labels={"rack": "b"})]
DAEMON = {"ownerReferences": [{"kind": "DaemonSet", "name": "d"}]}
MIRROR = {"annotations": {"kubernetes.io/config.mirror": "x"}}
BIG_TEMPLATE = {"nodeTemplates": [{"name": "big", "allocatable": {"cpu": "32"}}]}
ONE_BIG = {"nodeTemplates": [{"name": "big", "allocatable": {"cpu": "9"}, "max": 1}]}

DONE = pod("g-9", "4", group="g", phase="Succeeded")


def gang(count: int, cpu: str, **more: object) -> list[Raw]:
    return [pod_group("g", count), *members("g", count, cpu, **more)]


def claims_of(waits: bool) -> list[Raw]:
    return [claim("c", storage_class="s"), storage_class("s", waits, "kubernetes.io/no-provisioner")]


# Objects besides the two nodes, and whether the quorum of g could be seated some day.
CASES: dict[str, tuple[list[Raw], bool]] = {
    "fits as it is": (gang(2, "4"), True),
    "larger than a node": (gang(2, "5"), False),
    "more than all nodes": (gang(3, "3"), False),
    "others are in the way": ([*gang(2, "4"), pod("a", "4", on="n1")], True),
    "a daemon is in the way": ([*gang(2, "4"), pod("a", "1", on="n1", **DAEMON)], False),
    "a static pod is in the way": ([*gang(2, "4"), pod("a", "1", on="n1", **MIRROR)], False),
    "its own running members move": (
        [pod_group("g", 2), pod("g-0", "4", group="g", on="n1"), pod("g-1", "4", group="g")],
        True,
    ),
    "one that runs needs a seat with the others": (
        [pod_group("g", 3), pod("g-2", "4", group="g", on="n1"), *members("g", 2, "4")],
        False,
    ),
    "one that runs ends as another has": (
        [pod_group("g", 4), pod("g-2", "4", group="g", on="n1"), DONE, *members("g", 2, "4")],
        True,
    ),
    "one that runs ends and the others are too many still": (
        [pod_group("g", 5), pod("g-3", "4", group="g", on="n1"), DONE, *members("g", 3, "4")],
        False,
    ),
    "one that succeeded needs no seat": (
        [
            pod_group("g", 3),
            pod("g-2", "4", group="g", on="n1", phase="Succeeded"),
            *members("g", 2, "4"),
        ],
        True,
    ),
    "its largest member may stay out": (
        [pod_group("g", 2), *members("g", 2, "4"), pod("huge", "99", group="g")],
        True,
    ),
    "anti-affinity, enough nodes": (
        gang(2, "1", labels={"app": "g"}, affinity=anti_affinity(term({"app": "g"}))),
        True,
    ),
    "anti-affinity, too few nodes": (
        gang(3, "1", labels={"app": "g"}, affinity=anti_affinity(term({"app": "g"}))),
        False,
    ),
    "affinity to somebody who may come": (gang(2, "1", affinity=affinity(term({"app": "db"}, "rack"))), True),
    "affinity to nobody": (gang(2, "1", affinity=affinity(term(None, "rack"))), False),
    "affinity to somebody who may come, and a spread that counts all nodes": (
        [
            node("bare"),
            *gang(
                5,
                "1",
                labels={"app": "g"},
                affinity=affinity(term({"app": "db"}, "rack")),
                topologySpreadConstraints=[spread("kubernetes.io/hostname", {"app": "g"})],
            ),
        ],
        False,
    ),
    "affinity where no node has the key": (
        gang(2, "1", affinity=affinity(term({"app": "db"}, "row"))),
        False,
    ),
    "affinity to each other": (
        gang(2, "2", labels={"app": "g"}, affinity=affinity(term({"app": "g"}, "rack"))),
        True,
    ),
    "affinity to each other, no rack large enough": (
        gang(2, "3", labels={"app": "g"}, affinity=affinity(term({"app": "g"}, "rack"))),
        False,
    ),
    "a claim that does not exist": (gang(1, "1", volumes=uses("c")), True),
    "a claim that will be bound": ([*claims_of(waits=False), *gang(1, "1", volumes=uses("c"))], True),
    "a claim that waits for its pod, and for which there is no volume": (
        [*claims_of(waits=True), *gang(1, "1", volumes=uses("c"))],
        False,
    ),
    "a claim whose class makes volumes elsewhere": (
        [
            claim("c", storage_class="s"),
            storage_class(
                "s", allowedTopologies=[{"matchLabelExpressions": [{"key": "rack", "values": ["z"]}]}]
            ),
            *gang(1, "1", volumes=uses("c")),
        ],
        False,
    ),
    "a claim that is lost": (
        [claim("c") | {"status": {"phase": "Lost"}}, *gang(1, "1", volumes=uses("c"))],
        False,
    ),
    "an unbound claim that only one may use": (
        [
            claim("c", storage_class="s", modes=("ReadWriteOncePod",)),
            storage_class("s", waits=False),
            *gang(2, "1", volumes=uses("c")),
        ],
        False,
    ),
    "a volume that no node reaches": (
        [claim("c", "v"), volume("v", "nowhere"), *gang(1, "1", volumes=uses("c"))],
        False,
    ),
    "a bound claim stays where it is": (
        [
            claim("c", "v", storage_class="s"),
            storage_class("s", waits=False),
            volume("v", "nowhere"),
            *gang(1, "1", volumes=uses("c")),
        ],
        False,
    ),
    "a claim of a class that does not exist": (
        [claim("c", storage_class="x"), *gang(1, "1", volumes=uses("c"))],
        True,
    ),
    "an invalid group is not judged": (
        [pod_group("g", 1), pod("g-0", group="g", priority=1), pod("g-1", group="g", priority=2)],
        False,
    ),
    "devices are not known": (gang(1, "1", resourceClaims=[{"name": "x", "resourceClaimName": "y"}]), False),
    "not all members are there": ([pod_group("g", 3), *members("g", 2)], False),
    "gated members may be let go": (gang(2, "4", schedulingGates=[{"name": "x"}]), True),
}


def impossible(objects: list[Raw]) -> Raw:
    pods = [o for o in objects if o["kind"] == "Pod" and "schedulingGroup" in o["spec"]]
    quorum = next(o for o in objects if o["kind"] == "PodGroup")["spec"]["schedulingPolicy"]["gang"][
        "minCount"
    ]
    placed = sum("nodeName" in p["spec"] for p in pods)
    return plan([], [entry("g", "Impossible", len(pods), quorum, placed, blocker("Topology"))])


@pytest.mark.parametrize(("objects", "possible"), CASES.values(), ids=CASES.keys())
def test_impossible(objects: list[Raw], possible: bool) -> None:
    assert (8 in judged([*NODES, *objects], impossible(objects))) == possible


def test_a_missing_group_is_not_judged() -> None:
    objects = [*NODES, *members("g", 1)]
    assert judged(objects, plan([], [entry("g", "Impossible", 1, 1, 0, blocker("Members"))])) == [2]


def test_a_group_of_another_scheduler_is_not_judged() -> None:
    made = impossible(gang(1, "1"))
    assert judged([*NODES, *gang(1, "1")], made) == [8]
    assert judged([*NODES, *gang(1, "1")], made, scheduler="other") == [7]


HEALTH: dict[str, tuple[Raw, Raw, bool]] = {
    "cordoned": ({"unschedulable": True}, {}, True),
    "not ready": ({"ready": "False"}, {}, True),
    "unreachable": ({"ready": "Unknown"}, {}, True),
    "under pressure": ({"taints": [taint("node.kubernetes.io/disk-pressure")]}, {}, True),
    "shut down": ({"taints": [taint("node.cloudprovider.kubernetes.io/shutdown")]}, {}, True),
    "another taint stays": ({"taints": [taint("example.com/sick")]}, {}, False),
    "a taint that the policy calls health": (
        {"taints": [taint("example.com/sick")]},
        {"health": {"taints": ["example.com/sick"]}},
        True,
    ),
}


@pytest.mark.parametrize(("about", "policy", "possible"), HEALTH.values(), ids=HEALTH.keys())
def test_health(about: Raw, policy: Raw, possible: bool) -> None:
    objects = [node("n1", **about), *gang(1, "4")]
    assert judged(objects, impossible(objects), policy=policy) == ([8] if possible else [])


@pytest.mark.parametrize(
    ("policy", "possible"), [({}, False), (BIG_TEMPLATE, True), (ONE_BIG, False)], ids=["none", "any", "one"]
)
def test_nodes_yet_to_come(policy: Raw, possible: bool) -> None:
    objects = [*NODES, *gang(2, "9")]
    assert judged(objects, impossible(objects), policy=policy) == ([8] if possible else [])


@pytest.mark.parametrize(("cpu", "possible"), [("2", True), ("3", False)])
def test_topology(cpu: str, possible: bool) -> None:
    group = pod_group("g", 2, schedulingConstraints=topology("rack"))
    objects = [*NODES, group, *members("g", 2, cpu)]
    assert judged(objects, impossible(objects)) == ([8] if possible else [])


def test_unmanaged_nodes_do_not_count() -> None:
    policy = {"nodes": {"managed": {"matchLabels": {"rack": "a"}}}}
    assert judged([*NODES, *gang(2, "4")], impossible(gang(2, "4")), policy=policy) == []
    assert judged([*NODES, *gang(2, "2")], impossible(gang(2, "2")), policy=policy) == [8]


def test_a_placement_that_greedy_search_misses() -> None:
    """Members of 6, 6, 9, 8 and 2 fill nodes of 16 and 15 to the brim, and in one way only."""
    pods = [pod(f"g-{i}", size, group="g") for i, size in enumerate("66982")]
    objects = [node("n1", "16"), node("n2", "15"), pod_group("g", 5), *pods]
    assert judged(objects, impossible(objects)) == [8]
    objects[0] = node("n1", "15")
    assert judged(objects, impossible(objects)) == []


@pytest.mark.parametrize(("cpu", "possible"), [("2", True), ("3", False)])
def test_slices(cpu: str, possible: bool) -> None:
    """Four racks of one node: four members of 3 CPUs fit, two in one rack do not."""
    racks = [node(f"n{i}", labels={"rack": str(i)}) for i in range(4)]
    marks = {"maitred.dev/slice-size": "2", "maitred.dev/slice-topology": "rack"}
    objects = [*racks, pod_group("g", 4, annotations=marks), *members("g", 4, cpu)]
    assert judged(objects, impossible(objects)) == ([8] if possible else [])


@pytest.mark.parametrize(("room", "possible"), [("4", True), ("2", False)])
def test_slices_are_seated_whole(room: str, possible: bool) -> None:
    """A quorum of three in slices of two takes both slices, so the second rack needs room for two."""
    racks = [node("n1", labels={"rack": "a"}), node("n2", room, labels={"rack": "b"})]
    marks = {"maitred.dev/slice-size": "2", "maitred.dev/slice-topology": "rack"}
    objects = [*racks, pod_group("g", 3, annotations=marks), *members("g", 4, "2")]
    assert judged(objects, impossible(objects)) == ([8] if possible else [])


def test_slices_of_unlike_members() -> None:
    """Slices of 1 and 3, of 2 and 1, and of 2: the first and the last fit together, all three do not."""
    racks = [node("n1", "2", labels={"rack": "a"}), node("n2", "6", labels={"rack": "b"})]
    marks = {"maitred.dev/slice-size": "2", "maitred.dev/slice-topology": "rack"}
    pods = [pod(f"g-{i}", size, group="g") for i, size in enumerate("13212")]
    objects = [*racks, pod_group("g", 3, annotations=marks), *pods]
    assert judged(objects, impossible(objects)) == [8]
    objects[-1] = pod("g-4", "7", group="g")
    objects[2] = pod_group("g", 4, annotations=marks)
    assert judged(objects, impossible(objects)) == []
