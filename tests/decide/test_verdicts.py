"""What a group is told: the verdict, the first blocker, and numbers that are right."""

from typing import Any

import pytest

from tests.decide.reading import categories, detail, entry, first, has, seated, verdict
from tests.oracle.builders import GPU, Obj, near, node, pod, pod_group, pods, pvc, storage_class
from tests.support import decide

GATE = "example.com/wait"


def gang(count: int, quorum: int, cpu: int | str = 1, topology: str | None = None, **more: Any) -> list[Obj]:
    return [pod_group("g", quorum, topology), *pods("g", count, cpu, group="g", **more)]


def busy(cpu: int | str, on: str, **more: Any) -> Obj:
    return pod(f"busy-{on}-{cpu}", cpu, node=on, **more)


# ---- one situation for each category


def claiming() -> Obj:
    """Members that ask for devices by a claim."""
    claims = [{"name": "gpu", "resourceClaimTemplateName": "one-gpu"}]
    containers = [{"name": "c", "resources": {"claims": [{"name": "gpu"}]}}]
    return {"resourceClaims": claims, "containers": containers}


Situation = tuple[list[Obj], str, str, Obj]
"""What there is, the verdict, the first blocker, and what its detail says at least."""

SITUATIONS: dict[str, Situation] = {
    "Members": (
        [node("n1"), *gang(2, 3)],
        "Waiting",
        "Members",
        {"created": 2, "quorum": 3},
    ),
    "Members, some of them running": (
        [node("n1"), *gang(1, 3), pod("g-9", 1, group="g", node="n1")],
        "Waiting",
        "Members",
        {"created": 2, "quorum": 3},
    ),
    "Gated": (
        [node("n1"), *gang(2, 3), pod("g-x", 1, group="g", gates=[GATE, "example.com/b"])],
        "Waiting",
        "Gated",
        {"gated": 1, "gates": ["example.com/b", GATE], "pods": ["default/g-x"]},
    ),
    "Request": (
        [node("n1", cpu=4), node("n2", cpu=8), *gang(2, 2, 9)],
        "Impossible",
        "Request",
        {"resource": "cpu", "requested": "9", "largest": "8", "node": "n2"},
    ),
    "Request, in quantities": (
        [node("n1", memory="32Gi"), pod("g", memory="40Gi")],
        "Impossible",
        "Request",
        {"resource": "memory", "requested": "40Gi", "largest": "32Gi", "node": "n1"},
    ),
    "Request, in thousandths": (
        [node("n1", cpu="1500m"), pod("g", "1501m")],
        "Impossible",
        "Request",
        {"resource": "cpu", "requested": "1501m", "largest": "1500m", "node": "n1"},
    ),
    "Request for what no node has": (
        [node("n1"), pod("g", gpu=1)],
        "Impossible",
        "Request",
        {"resource": GPU, "requested": "1", "largest": "0", "node": None},
    ),
    "Capacity": (
        [node("n1", cpu=4), node("n2", cpu=4), busy(3, "n1"), busy(2, "n2"), *gang(4, 4)],
        "Waiting",
        "Capacity",
        {"resource": "cpu", "requested": "4", "free": "3", "eligibleNodes": 2, "holds": 3, "needed": 4},
    ),
    "Capacity, of the scarcest resource": (
        [node("n1", cpu=64, gpu=8), pod("busy", gpu=6, node="n1"), *gang(2, 2, 1, requests={GPU: 2})],
        "Waiting",
        "Capacity",
        {"resource": GPU, "requested": "4", "free": "2", "eligibleNodes": 1, "holds": 1, "needed": 2},
    ),
    "Capacity of pods": (
        [node("n1", pods=3), busy(1, "n1"), *gang(3, 3)],
        "Waiting",
        "Capacity",
        {"resource": "pods", "requested": "3", "free": "2", "eligibleNodes": 1, "holds": 2, "needed": 3},
    ),
    "Fragmentation": (
        [*(thing for n in ("n1", "n2", "n3") for thing in (node(n, cpu=2), busy(1, n))), *gang(1, 1, 2)],
        "Waiting",
        "Fragmentation",
        {"resource": "cpu", "requested": "2", "free": "3", "eligibleNodes": 3, "holds": 0, "needed": 1},
    ),
    "Topology": (
        [
            node("n1", cpu=4, rack="r1"),
            node("n2", cpu=4, rack="r2"),
            busy(2, "n1"),
            busy(1, "n2"),
            *gang(4, 4, topology="rack"),
        ],
        "Waiting",
        "Topology",
        {
            "level": "rack",
            "domain": "r2",
            "domains": 2,
            "holds": 3,
            "needed": 4,
            "resource": "cpu",
            "node": "n2",
        },
    ),
    "Devices": (
        [node("n1"), *gang(2, 2, spec=claiming())],
        "Waiting",
        "Devices",
        {"claims": ["gpu"]},
    ),
    "Health: a cordoned node": (
        [node("n1", cpu=1), node("n2", cpu=2, cordoned=True), *gang(3, 3)],
        "Waiting",
        "Health",
        {"nodes": ["n2"], "holds": 1, "needed": 3},
    ),
    "Health: a node that is not ready": (
        [node("n1", cpu=1), node("n2", cpu=2, ready=False), *gang(3, 3)],
        "Waiting",
        "Health",
        {"nodes": ["n2"], "holds": 1, "needed": 3},
    ),
    "Affinity: a selector": (
        [node("n1", cpu=1, labels={"disk": "ssd"}), node("n2"), *gang(2, 2, where={"disk": "ssd"})],
        "Impossible",
        "Affinity",
        {"holds": 1, "needed": 2, "excluded": {"node selector or affinity": 1}},
    ),
    "Affinity: taints": (
        [
            node("n1", cpu=1),
            node("n2", taints=["x:NoSchedule"]),
            node("n3", taints=["y:NoExecute"]),
            *gang(2, 2),
        ],
        "Impossible",
        "Affinity",
        {"holds": 1, "needed": 2, "excluded": {"taints": 2}},
    ),
    "Affinity: a node that is kept out twice counts once": (
        [
            node("n1", cpu=1, labels={"disk": "ssd"}),
            node("n2", taints=["x:NoSchedule"]),
            node("n3", taints=["x:NoSchedule"], labels={"disk": "ssd"}),
            *gang(2, 2, where={"disk": "ssd"}),
        ],
        "Impossible",
        "Affinity",
        {"holds": 1, "needed": 2, "excluded": {"node selector or affinity": 1, "taints": 1}},
    ),
    "Affinity: other pods": (
        [
            node("n1"),
            pod("enemy", labels={"app": "x"}, node="n1"),
            *gang(2, 2, anti_affinity=[near("hostname", {"app": "x"})]),
        ],
        "Waiting",
        "Affinity",
        {"holds": 0, "needed": 2, "excluded": {"other pods": 1}},
    ),
    "Volume: a claim that is missing": (
        [node("n1"), pod("g", 1, claims=["disk"])],
        "Waiting",
        "Volume",
        {"holds": 0, "needed": 1},
    ),
    "Volume: a volume in another zone": (
        [
            node("n1", zone="z1"),
            storage_class("late", zones=["z2"]),
            pvc("disk", storage_class="late"),
            pod("g", 1, claims=["disk"]),
        ],
        "Impossible",
        "Volume",
        {"holds": 0, "needed": 1},
    ),
    "Priority": (
        [node("n1", cpu=4), pod("first", 2, priority=5), *gang(3, 3)],
        "Waiting",
        "Priority",
        {"ahead": ["default/first"], "holds": 2, "needed": 3},
    ),
    "Priority: an older group": (
        [node("n1", cpu=4), pod("first", 2, created=1), *gang(3, 3, created=2)],
        "Waiting",
        "Priority",
        {"ahead": ["default/first"], "holds": 2, "needed": 3},
    ),
}


@pytest.mark.parametrize(("objects", "told", "blocker", "says"), SITUATIONS.values(), ids=SITUATIONS.keys())
def test_first_blocker(objects: list[Obj], told: str, blocker: str, says: Obj) -> None:
    plan = decide(objects)
    assert (verdict(plan), seated(plan, "g"), first(plan)) == (told, [], blocker)
    found = entry(plan)["blockers"][0]
    assert has(found["detail"], **says), found["detail"]
    assert found["message"].strip()
    assert not plan["searchExhausted"]


def test_a_pod_group_that_does_not_exist() -> None:
    plan = decide([node("n1"), *pods("g", 3, 1, group="g")])
    assert (verdict(plan), first(plan), entry(plan)["members"]) == ("Waiting", "Members", 3)
    assert detail(plan, "Members")["created"] == 3


def test_a_scheduled_group_has_no_blockers() -> None:
    plan = decide([node("n1"), *gang(3, 3)])
    assert (verdict(plan), categories(plan), entry(plan)["remedies"]) == ("Scheduled", [], [])


def test_the_blockers_of_a_scheduled_group_speak_of_the_rest() -> None:
    plan = decide([node("n1", cpu=3), *gang(5, 2)])
    assert (verdict(plan), first(plan)) == ("Scheduled", "Capacity")
    assert has(detail(plan, "Capacity"), resource="cpu", free="0", eligibleNodes=1, holds=0)


def test_priority_speaks_of_others_only() -> None:
    """The group's own members took the room: nobody went first."""
    plan = decide([node("n1", cpu=3), *gang(5, 2)])
    assert "Priority" not in categories(plan)


def test_surplus_that_would_have_fitted_before_others_is_told_so() -> None:
    """The quorum of another group came before this one's surplus."""
    other = [pod_group("h", 2), *pods("h", 2, 1, group="h", created=2)]
    plan = decide([node("n1", cpu=3), *gang(2, 1, created=1), *other])
    assert (verdict(plan), seated(plan)) == ("Scheduled", ["g-0", "h-0", "h-1"])
    assert (first(plan), detail(plan, "Priority")["ahead"]) == ("Priority", ["default/h"])


# ---- which of several comes first


RANKS: dict[str, tuple[list[Obj], list[str]]] = {
    "Members before Gated": ([node("n1"), *gang(2, 3, gates=[GATE])], ["Members", "Gated"]),
    "Members before Request": ([node("n1"), *gang(2, 3, 99)], ["Members"]),
    "Gated before Request": ([node("n1"), *gang(3, 3, 99, gates=[GATE])], ["Gated", "Request"]),
    "Gated before Capacity": ([node("n1", cpu=1), *gang(3, 3, gates=[GATE])], ["Gated", "Capacity"]),
    "Request before Affinity": ([node("n1"), *gang(3, 3, 99, where={"no": "such"})], ["Request", "Affinity"]),
    "Request before Priority": ([node("n1"), pod("first", 1, priority=9), *gang(1, 1, 99)], ["Request"]),
    "Priority before Health": (
        [node("n1", cpu=2), node("n2", cpu=2, cordoned=True), pod("first", 1, priority=9), *gang(2, 2)],
        ["Priority", "Health"],
    ),
    "Topology before Health": (
        [
            node("n1", cpu=2, rack="r1"),
            node("n2", cpu=2, rack="r2"),
            node("n3", cpu=4, rack="r1", cordoned=True),
            *gang(4, 4, topology="rack"),
        ],
        ["Topology", "Health"],
    ),
    "Health before Affinity": (
        [
            node("n1", cpu=2, labels={"disk": "ssd"}, cordoned=True),
            node("n2", cpu=2),
            *gang(2, 2, where={"disk": "ssd"}),
        ],
        ["Health", "Affinity"],
    ),
    "Affinity before Volume": (
        [
            node("n1", zone="z1", labels={"disk": "ssd"}),
            node("n2", zone="z2"),
            storage_class("late", zones=["z2"]),
            pvc("disk", storage_class="late"),
            pod("g", 1, claims=["disk"], where={"disk": "ssd"}),
        ],
        ["Affinity", "Volume"],
    ),
    "Capacity when no single constraint is in the way": (
        [
            node("n1", cpu=2, rack="r1", labels={"disk": "ssd"}),
            node("n2", cpu=2, rack="r2"),
            node("n3", cpu=4, rack="r2", cordoned=True),
            busy(1, "n1"),
            *gang(3, 3, where={"disk": "ssd"}, topology="rack"),
        ],
        ["Capacity", "Topology", "Affinity"],
    ),
}


@pytest.mark.parametrize(("objects", "order"), RANKS.values(), ids=RANKS.keys())
def test_the_order_of_blockers(objects: list[Obj], order: list[str]) -> None:
    assert categories(decide(objects)) == order


def test_one_constraint_that_is_not_in_the_way_is_not_named() -> None:
    """Lifting the selector would not help, and were the nodes empty there would be no need to."""
    nodes = [node("n1", cpu=3, labels={"disk": "ssd"}), node("n2", cpu=2), busy(2, "n1"), busy(1, "n2")]
    assert categories(decide([*nodes, *gang(3, 3, where={"disk": "ssd"})])) == ["Capacity"]


def test_a_constraint_that_would_be_next_is_named_beside_the_room() -> None:
    """The nodes are too full, and were they empty, those with the label would be too small."""
    nodes = [node("n1", cpu=2, labels={"disk": "ssd"}), node("n2", cpu=2), busy(1, "n1"), busy(1, "n2")]
    plan = decide([*nodes, *gang(3, 3, where={"disk": "ssd"})])
    assert categories(plan) == ["Capacity", "Affinity"]
    assert detail(plan, "Affinity")["besides"] == ["Capacity"]


def test_a_group_that_has_its_gates_only_is_told_nothing_else() -> None:
    assert categories(decide([node("n1"), *gang(3, 3, gates=[GATE])])) == ["Gated"]


# ---- numbers


def test_needed_is_what_the_quorum_still_lacks() -> None:
    former = [pod("g-run", 1, group="g", node="n1"), pod("g-done", 1, group="g", phase="Succeeded")]
    plan = decide([node("n1", cpu=3), busy(1, "n1"), *gang(4, 5), *former])
    assert has(detail(plan, "Capacity"), requested="3", free="1", holds=1, needed=3)
    assert (entry(plan)["members"], entry(plan)["quorum"], entry(plan)["placed"]) == (6, 5, 2)


def test_what_is_requested_is_the_sum_over_the_shapes_of_the_quorum() -> None:
    members = [pod("g-0", 3, group="g"), pod("g-1", "1500m", group="g")]
    plan = decide([node("n1", cpu=6), busy(2, "n1"), pod_group("g", 2), *members])
    assert has(detail(plan, "Capacity"), requested="4500m", free="4", holds=1, needed=2)


def test_an_overcommitted_node_has_nothing_free_and_not_less() -> None:
    plan = decide([node("n1", cpu=2), node("n2", cpu=2), busy(5, "n1"), *gang(3, 3)])
    assert has(detail(plan, "Capacity"), requested="3", free="2", eligibleNodes=2, holds=2, needed=3)


def test_terminating_pods_are_not_free_room() -> None:
    plan = decide([node("n1", cpu=2), busy(1, "n1", deleted=True), *gang(2, 2)])
    assert has(detail(plan, "Capacity"), requested="2", free="1", holds=1)


def test_only_nodes_that_pass_every_filter_are_eligible() -> None:
    nodes = [
        node("n1", cpu=1, labels={"disk": "ssd"}),
        node("n2", cpu=1, labels={"disk": "ssd"}, taints=["x:NoSchedule"]),
        node("n3", cpu=1),
        node("n4", cpu=1, labels={"disk": "ssd"}, cordoned=True),
    ]
    plan = decide([*nodes, *gang(5, 5, where={"disk": "ssd"})])
    assert has(detail(plan, "Capacity"), requested="5", free="1", eligibleNodes=1, holds=1, needed=5)


def test_what_others_took_in_this_plan_is_not_free() -> None:
    """Neither before this Plan's other binds nor after them was there room for three."""
    plan = decide([node("n1", cpu=3), busy(1, "n1"), pod("first", 1, priority=9), *gang(3, 3)])
    assert (seated(plan), first(plan)) == (["first"], "Capacity")
    assert has(detail(plan, "Capacity"), requested="3", free="1", holds=1, needed=3)


def test_fragmentation_names_the_node_that_lacks_least() -> None:
    nodes = [node("n1", cpu=4), node("n2", cpu=4), busy(3, "n1"), busy(2, "n2")]
    plan = decide([*nodes, pod("g", 3)])
    assert has(detail(plan, "Fragmentation"), requested="3", free="3", eligibleNodes=2, holds=0, needed=1)
    assert has(detail(plan, "Fragmentation"), resource="cpu", node="n2")


def test_the_gates_of_all_members_are_told() -> None:
    members = [
        pod("g-0", group="g", gates=["b", "a"]),
        pod("g-1", group="g", gates=["a"]),
        pod("g-2", group="g"),
    ]
    plan = decide([node("n1"), pod_group("g", 3), *members])
    assert detail(plan, "Gated") == {"gated": 2, "gates": ["a", "b"], "pods": ["default/g-0", "default/g-1"]}


def test_a_policy_that_manages_no_node_is_named() -> None:
    policy = {"nodes": {"managed": {"matchLabels": {"pool": "ours"}}}}
    plan = decide([node("n1"), node("n2"), pod("p", 1)], policy=policy)
    assert entry(plan, "default/p")["blockers"][0]["message"].endswith(
        "; nodes excluded: 2 by nodes.managed of the policy"
    )


@pytest.mark.parametrize("pool", ["ours", "theirs"])
def test_where_there_is_nothing_left_devices_are_told(pool: str) -> None:
    """Whether the nodes are full or closed, of cpu there is as little as of devices."""
    full = [node("n1", cpu=8, gpu=8, labels={"pool": pool}), pod("old", 8, gpu=8, node="n1")]
    policy = {"nodes": {"managed": {"matchLabels": {"pool": "ours"}}}}
    plan = decide([*full, *gang(2, 2, 1, gpu=4)], policy)
    assert has(detail(plan, "Capacity"), resource=GPU, requested="8", free="0")


def test_no_more_nodes_are_excluded_than_there_are() -> None:
    """None is of the pool that members are for, and one has a taint that only the launcher tolerates."""
    nodes = [node("n1", labels={"pool": "cpu"}), node("n2", taints=["gpu:NoSchedule"])]
    launcher = pod("g-0", 1, group="g", where={"pool": "gpu"}, tolerations=["gpu:NoSchedule"])
    plan = decide([*nodes, pod_group("g", 2), launcher, pod("g-1", 1, group="g", where={"pool": "gpu"})])
    counts = [one["detail"].get("excluded", {}) for one in entry(plan, "default/g")["blockers"]]
    assert max(sum(reasons.values()) for reasons in counts) == 2


def test_what_one_group_is_told_does_not_depend_on_whom_the_cycle_explains_first() -> None:
    """g has two members seated and lacks one. What it would have found without a must leave no trace in what
    h, whose turn came before, would have found."""
    a, h = pod("a", 2, priority=10), pod("h", 3, priority=7)
    plan = decide([node("n1", cpu=4), a, h, pod_group("g", 1), *pods("g", 3, 1, group="g", priority=5)])
    assert entry(plan, "g")["placed"] == 2
    assert first(plan, "g") == "Priority"
    assert first(plan, "h") == "Priority"


def test_devices_that_are_broken_are_named_where_the_group_would_fit_with_them() -> None:
    half_broken = node("n", gpu=8, broken=4)
    assert categories(decide([half_broken, pod("g", gpu=8)]), "g") == ["Health"]
    first_come = pod("a", gpu=2, created=1)
    assert categories(decide([half_broken, first_come, pod("g", gpu=4, created=2)]), "g") == [
        "Priority",
        "Health",
    ]
