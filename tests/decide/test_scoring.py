"""Which of several nodes is taken: devices kept free, little broken up, wishes among equals, then names."""

from typing import Any

import pytest

from tests.decide.reading import nodes_used, seated, seats
from tests.oracle.builders import ZONE, Obj, expr, near, node, pod, pod_group, pods, spread
from tests.support import decide

WISHES = "preferredDuringSchedulingIgnoredDuringExecution"


def where(*objects: Obj, policy: Obj | None = None) -> str | None:
    """Where the pod ``p`` goes."""
    return seats(decide(list(objects), policy)).get("p")


# ---- devices and packing


def test_pods_without_devices_keep_off_nodes_with_devices() -> None:
    assert where(node("a", cpu=1, gpu=8), node("b", cpu=64), pod("p", 1)) == "b"


def test_pods_without_devices_keep_off_nodes_with_devices_even_if_those_are_used() -> None:
    assert where(node("a", gpu=8), node("b"), pod("busy", 1, node="a"), pod("p", 1)) == "b"


def test_pods_without_devices_go_to_nodes_with_devices_if_they_must() -> None:
    assert where(node("a", gpu=8), node("b", cpu=0), pod("p", 1)) == "a"


def test_what_counts_as_a_device_is_told_by_the_policy() -> None:
    nodes = [node("a", allocatable={"example.com/fpga": 1}), node("b")]
    assert where(*nodes, pod("p", 1)) == "a"
    assert where(*nodes, pod("p", 1), policy={"devices": {"resources": ["example.com/*"]}}) == "b"


@pytest.mark.parametrize(
    "device",
    ["nvidia.com/gpu", "amd.com/gpu", "google.com/tpu", "nvidia.com/mig-1g.5gb", "gpu.intel.com/gpu"],
)
def test_devices_of_every_maker_are_known(device: str) -> None:
    assert where(node("a", allocatable={device: 4}), node("b"), pod("p", 1)) == "b"


def test_devices_are_packed() -> None:
    nodes = [node("a", gpu=8), node("b", gpu=8), node("c", gpu=8)]
    busy = [pod("x", gpu=4, node="b"), pod("y", gpu=6, node="c")]
    assert where(*nodes, *busy, pod("p", gpu=2)) == "c"
    assert where(*nodes, *busy, pod("p", gpu=3)) == "b"
    assert where(*nodes, *busy, pod("p", gpu=5)) == "a"


def test_members_with_devices_share_a_node_that_holds_them_all() -> None:
    nodes = [node("a", gpu=4), node("b", gpu=4), node("c", gpu=8)]
    plan = decide([*nodes, pod_group("g", 4), *pods("g", 4, gpu=2, group="g")])
    assert nodes_used(plan) == {"c"}


def test_groups_fill_nodes_one_after_the_other() -> None:
    nodes = [node(name, gpu=8) for name in "abc"]
    plan = decide([*nodes, *(pod(f"p{i}", gpu=2, created=i) for i in range(8))])
    assert sorted(seats(plan).values()) == ["a"] * 4 + ["b"] * 4


def test_no_idle_node_is_broken_up_while_a_used_one_will_do() -> None:
    assert where(node("a"), node("b"), pod("busy", 1, node="b"), pod("p", 1)) == "b"


def test_a_node_with_only_its_own_pods_is_idle() -> None:
    agents = [pod(f"agent-{name}", 1, node=name, owner="DaemonSet/agent") for name in "ab"]
    assert where(node("a"), node("b"), node("c"), *agents, pod("busy", 1, node="c"), pod("p", 1)) == "c"


def test_of_used_nodes_the_tightest_is_taken() -> None:
    busy = [pod("x", 1, node="a"), pod("y", 5, node="b"), pod("z", 3, node="c")]
    assert where(node("a"), node("b"), node("c"), *busy, pod("p", 2)) == "b"


def test_of_idle_nodes_the_smallest_that_will_do_is_taken() -> None:
    assert where(node("a", cpu=16), node("b", cpu=2), node("c", cpu=4), pod("p", 3)) == "c"


def test_the_scarcest_resource_says_what_is_tight() -> None:
    """b has more CPUs left, but memory for one only."""
    nodes = [node("a", cpu=4, memory="64Gi"), node("b", cpu=8, memory="8Gi")]
    assert where(*nodes, pod("p", 1, "8Gi")) == "b"


def test_members_fill_the_tightest_nodes() -> None:
    nodes = [node("a", cpu=9), node("b", cpu=2), node("c", cpu=3), node("d", cpu=9)]
    plan = decide([*nodes, pod_group("g", 5), *pods("g", 5, 1, group="g")])
    assert len(nodes_used(plan)) == 1
    plan = decide([*nodes[1:3], pod_group("g", 4), *pods("g", 4, 1, group="g")])
    assert list(seats(plan).values()) == ["b", "b", "c", "c"]


def test_a_gang_takes_the_tightest_rack() -> None:
    nodes = [
        *(node(f"a{i}", gpu=8, rack="r1") for i in range(4)),
        *(node(f"b{i}", gpu=8, rack="r2") for i in range(3)),
        *(node(f"c{i}", gpu=8, rack="r3") for i in range(4)),
    ]
    plan = decide([*nodes, pod_group("g", 3, "rack"), *pods("g", 3, gpu=8, group="g")])
    assert nodes_used(plan) == {"b0", "b1", "b2"}


def test_of_equal_nodes_the_first_by_name_is_taken() -> None:
    assert where(*(node(name) for name in ("n2", "n10", "n1", "n3")), pod("p", 1)) == "n1"
    assert where(*(node(name) for name in ("n2", "n10")), pod("p", 1)) == "n10"


# ---- wishes


def wishing(kind: str, *wishes: Obj, **more: Any) -> Obj:
    """A pod with wishes that no constraint enforces."""
    return pod("p", 1, spec={"affinity": {kind: {WISHES: list(wishes)}}}, **more)


def for_nodes(weight: int, *exprs: Obj) -> Obj:
    return {"weight": weight, "preference": {"matchExpressions": list(exprs)}}


def for_pods(weight: int, key: str, **labels: str) -> Obj:
    return {"weight": weight, "podAffinityTerm": near(key, labels)}


THREE = [node("a", zone="z1"), node("b", zone="z2"), node("c", zone="z3", labels={"disk": "ssd"})]
HERMITS = [pod("x", 1, node="a", labels={"app": "x"}), pod("y", 1, node="b", labels={"app": "y"})]

NODE_WISHES: dict[str, tuple[list[Obj], str]] = {
    "none": ([], "a"),
    "a label": ([for_nodes(1, expr("disk", "In", "ssd"))], "c"),
    "another zone": ([for_nodes(1, expr(ZONE, "NotIn", "z1"))], "b"),
    "the heavier of two": (
        [for_nodes(10, expr(ZONE, "In", "z2")), for_nodes(11, expr("disk", "Exists"))],
        "c",
    ),
    "wishes add up": (
        [
            for_nodes(10, expr(ZONE, "In", "z2")),
            for_nodes(6, expr("disk", "Exists")),
            for_nodes(5, expr(ZONE, "In", "z3")),
        ],
        "c",
    ),
    "a wish that no node meets": ([for_nodes(100, expr("disk", "In", "tape"))], "a"),
    "an empty wish, which no node meets": ([for_nodes(100), for_nodes(1, expr("disk", "Exists"))], "c"),
}


@pytest.mark.parametrize(("wishes", "right"), NODE_WISHES.values(), ids=NODE_WISHES.keys())
def test_preferred_nodes(wishes: list[Obj], right: str) -> None:
    assert where(*THREE, wishing("nodeAffinity", *wishes)) == right


def test_a_preferred_node_by_name() -> None:
    wish = {"weight": 1, "preference": {"matchFields": [expr("metadata.name", "In", "b")]}}
    assert where(*THREE, wishing("nodeAffinity", wish)) == "b"


def test_the_company_that_a_pod_prefers() -> None:
    assert where(*THREE, *HERMITS, wishing("podAffinity", for_pods(1, "zone", app="y"))) == "b"
    assert where(*THREE, *HERMITS, wishing("podAffinity", for_pods(1, "zone", app="x"))) == "a"


def test_the_company_that_a_pod_would_rather_avoid() -> None:
    assert where(*THREE, *HERMITS, wishing("podAntiAffinity", for_pods(1, "zone", app="x"))) == "b"
    assert where(*THREE, *HERMITS, wishing("podAntiAffinity", for_pods(1, "zone", app="y"))) == "a"


def test_company_is_known_by_its_domain() -> None:
    """The friend is on a full node; the node beside it, in the same zone, is as good."""
    nodes = [node("a", zone="z1"), node("b", zone="z2"), node("full", cpu=1, zone="z2")]
    friend = pod("friend", 1, node="full", labels={"app": "y"})
    assert where(*nodes, friend, wishing("podAffinity", for_pods(1, "zone", app="y"))) == "b"


def test_a_spread_that_is_only_wished_for() -> None:
    crowd = [pod(f"c{i}", 1, node=on, labels={"app": "w"}) for i, on in enumerate(("a", "a", "b", "c", "c"))]
    nodes = [node(name, zone=f"z-{name}") for name in "abc"]
    soft = spread("zone", {"app": "w"}, soft=True)
    even = [pod(f"even{i}", 1, node=on) for i, on in enumerate(("b",))]
    assert where(*nodes, *crowd, *even, pod("p", 1, labels={"app": "w"}, spread=[soft])) == "b"


def test_a_node_that_would_rather_have_others() -> None:
    shy = node("a", taints=["team=ml:PreferNoSchedule"])
    assert where(shy, node("b"), pod("p", 1)) == "b"
    assert where(shy, node("b"), pod("p", 1, tolerations=["team=ml:PreferNoSchedule"])) == "a"
    assert where(shy, node("b", cpu=0), pod("p", 1)) == "a"


def with_image(name: str, *images: tuple[str, int]) -> Obj:
    found = node(name)
    found["status"]["images"] = [{"names": [image], "sizeBytes": size} for image, size in images]
    return found


def running_image(*images: str) -> Obj:
    found = pod("p", 1)
    found["spec"]["containers"] = [
        {"name": f"c{i}", "image": image, "resources": {"requests": {"cpu": "1"}}}
        for i, image in enumerate(images)
    ]
    return found


GIB = 2**30
IMAGES: dict[str, tuple[list[Obj], Obj, str]] = {
    "the image is there": ([node("a"), with_image("b", ("app:1", GIB))], running_image("app:1"), "b"),
    "another version is there": ([node("a"), with_image("b", ("app:2", GIB))], running_image("app:1"), "a"),
    "no tag means latest": ([node("a"), with_image("b", ("app:latest", GIB))], running_image("app"), "b"),
    "by digest": ([node("a"), with_image("b", ("app@sha256:0", GIB))], running_image("app@sha256:0"), "b"),
    "a registry with a port": (
        [node("a"), with_image("b", ("registry:5000/app:latest", GIB))],
        running_image("registry:5000/app"),
        "b",
    ),
    "the larger image counts for more": (
        [with_image("a", ("small:1", GIB)), with_image("b", ("large:1", 40 * GIB))],
        running_image("small:1", "large:1"),
        "b",
    ),
}


@pytest.mark.parametrize(("nodes", "asking", "right"), IMAGES.values(), ids=IMAGES.keys())
def test_images_that_are_there_already(nodes: list[Obj], asking: Obj, right: str) -> None:
    assert where(*nodes, asking) == right


def test_wishes_keep_nobody_waiting() -> None:
    wish = for_pods(100, "zone", app="x")
    full = [node("a", cpu=2, zone="z1", taints=["x:PreferNoSchedule"])]
    lonely = wishing("podAntiAffinity", wish, labels={"app": "x"})
    assert where(*full, pod("x", 1, node="a", labels={"app": "x"}), lonely) == "a"


# ---- wishes of groups


def used(*names: str) -> list[Obj]:
    """Nodes of one size that are in use already, so that packing has no opinion."""
    return [thing for name in names for thing in (node(name), pod(f"old-{name}", 1, node=name))]


def group_wishing(kind: str, count: int, *wishes: Obj, topology: str | None = None) -> list[Obj]:
    spec = {"affinity": {kind: {WISHES: list(wishes)}}}
    members = pods("g", count, 1, group="g", labels={"app": "g"}, spec=spec)
    return [pod_group("g", count, topology), *members]


def test_the_nodes_that_members_prefer() -> None:
    nodes = [node("a", cpu=2), node("b", cpu=2), node("c", cpu=2, labels={"disk": "ssd"})]
    plan = decide([*nodes, *group_wishing("nodeAffinity", 2, for_nodes(1, expr("disk", "Exists")))])
    assert nodes_used(plan) == {"c"}


def test_of_equal_domains_the_one_whose_nodes_members_prefer() -> None:
    racks = {"r1": "hdd", "r2": "ssd"}
    nodes = [
        node(f"{rack}-{i}", cpu=2, rack=rack, labels={"disk": disk})
        for rack, disk in racks.items()
        for i in range(2)
    ]
    wish = for_nodes(1, expr("disk", "In", "ssd"))
    plan = decide([*nodes, *group_wishing("nodeAffinity", 3, wish, topology="rack")])
    assert nodes_used(plan) == {"r2-0", "r2-1"}


def test_members_that_would_rather_be_apart_take_a_node_each_among_equals() -> None:
    wish = for_pods(100, "hostname", app="g")
    plan = decide([*used("a", "b", "c"), *group_wishing("podAntiAffinity", 3, wish)])
    assert nodes_used(plan) == {"a", "b", "c"}


def test_members_that_would_rather_be_spread_are_spread_among_equals() -> None:
    soft = spread("hostname", {"app": "g"}, soft=True)
    members = pods("g", 4, 1, group="g", labels={"app": "g"}, spread=[soft])
    plan = decide([*used("a", "b"), pod_group("g", 4), *members])
    assert sorted(seats(plan).values()) == ["a", "a", "b", "b"]


def test_members_that_would_rather_be_together_stay_where_the_first_went() -> None:
    nodes = [node("a", cpu=2, zone="z1"), node("b", cpu=2, zone="z2"), node("c", cpu=2, zone="z1")]
    wish = for_pods(100, "zone", app="g")
    plan = decide([*nodes, *group_wishing("podAffinity", 3, wish)])
    assert nodes_used(plan) == {"a", "c"}


def test_groups_honour_wishes_about_groups_seated_before_them() -> None:
    one = pod("one", 1, created=1, labels={"app": "x"})
    two = wishing("podAntiAffinity", for_pods(100, "hostname", app="x"), created=2)
    plan = decide([*used("a", "b"), one, two])
    assert seats(plan) == {"one": "a", "p": "b"}


def test_everybody_is_seated_whatever_the_wishes() -> None:
    wish = for_pods(100, "hostname", app="g")
    plan = decide([node("a"), *group_wishing("podAntiAffinity", 3, wish)])
    assert len(seated(plan)) == 3


def test_a_gang_without_devices_keeps_off_nodes_with_devices() -> None:
    """Although the one node with devices would hold them all."""
    nodes = [node("a", cpu=64, gpu=8), node("b", cpu=2), node("c", cpu=2)]
    members = [pod_group("g", 4), *pods("g", 4, 1, group="g")]
    assert nodes_used(decide([*nodes, *members])) == {"b", "c"}
