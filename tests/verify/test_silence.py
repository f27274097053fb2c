"""Law 7: who must be told why, and which numbers are wrong."""

from typing import Any

import pytest

from maitred.verify import verify

from .make import (
    Raw,
    affinity,
    anti_affinity,
    bind,
    blocker,
    claim,
    entry,
    gang_seating,
    judged,
    members,
    node,
    plan,
    pod,
    pod_group,
    spread,
    taint,
    term,
    topology,
    uses,
    volume,
)

NODES = [node("n1"), node("n2")]


def waiting(*blockers: Raw, verdict: str = "Waiting", **more: Any) -> Raw:
    """A Plan in which the group g of three members, all of them its quorum, is not seated."""
    return plan([], [entry("g", verdict, 3, 3, 0, *blockers)], **more)


def room(category: str, **changes: Any) -> Raw:
    """What is true of three members of 3 CPUs each on two nodes of 4."""
    right = {"resource": "cpu", "requested": "9", "free": "8", "eligibleNodes": 2, "holds": 2, "needed": 3}
    return blocker(category, **{k: v for k, v in (right | changes).items() if v is not None})


# Three members of 3 CPUs: two fit, and 9 CPUs are more than there are.
SHORT = [*NODES, pod_group("g", 3), *members("g", 3, "3")]
CAPACITY: dict[str, tuple[Raw, bool]] = {
    "all right": (room("Capacity"), True),
    "in another notation": (room("Capacity", requested="9000m", free="8.0"), True),
    "requested is for one": (room("Capacity", requested="3"), False),
    "free is for one node": (room("Capacity", free="4"), False),
    "too many nodes": (room("Capacity", eligibleNodes=3), False),
    "holds too few": (room("Capacity", holds=1), False),
    "holds as many as needed": (room("Capacity", holds=3), False),
    "needed is wrong": (room("Capacity", needed=2), False),
    "needed is wrong the other way": (room("Capacity", needed=4), False),
    "a resource that nobody asks for": (room("Capacity", resource="memory"), False),
    "no numbers": (room("Capacity", requested=None, free=None), False),
    "no holds": (room("Capacity", holds=None), False),
    "enough in total, it says": (room("Fragmentation"), False),
    "an unknown category": (room("Fullness"), False),
    "no message": (room("Capacity") | {"message": " "}, False),
}


@pytest.mark.parametrize(("told", "right"), CAPACITY.values(), ids=CAPACITY.keys())
def test_capacity(told: Raw, right: bool) -> None:
    assert judged(SHORT, waiting(told)) == ([] if right else [7])


def test_no_blocker_at_all() -> None:
    assert judged(SHORT, waiting()) == [7]


def test_an_unknown_verdict() -> None:
    assert judged(SHORT, waiting(room("Capacity"), verdict="Sleeping")) == [7]


def test_every_blocker_is_judged() -> None:
    second = blocker("Topology", holds=2, needed=3)
    assert judged(SHORT, waiting(room("Capacity"), second)) == []
    second["detail"]["needed"] = 2
    assert judged(SHORT, waiting(room("Capacity"), second)) == [7]


def test_capacity_not_fragmentation() -> None:
    """Three members of 2500m: 7500m of 8 CPUs, but one to a node."""
    objects = [*NODES, pod_group("g", 3), *members("g", 3, "2500m")]
    assert judged(objects, waiting(room("Fragmentation", requested="7500m"))) == []
    assert judged(objects, waiting(room("Capacity", requested="7500m"))) == [7]


def test_just_enough_in_total_is_fragmentation() -> None:
    objects = [node("n1", "3"), node("n2", "3"), pod_group("g", 3), *members("g", 3, "2")]
    numbers = {"requested": "6", "free": "6"}
    assert judged(objects, waiting(room("Fragmentation", **numbers))) == []
    assert judged(objects, waiting(room("Capacity", **numbers))) == [7]


ELIGIBLE: dict[str, tuple[list[Raw], Raw]] = {
    "a tainted node is not eligible": ([node("n3", taints=[taint("x")])], room("Capacity")),
    "a cordoned node is not eligible": ([node("n3", unschedulable=True)], room("Capacity")),
    "a full node is eligible": (
        [node("n3"), pod("a", "4", on="n3")],
        room("Capacity", eligibleNodes=3),
    ),
    "an overcommitted node has nothing free, not less": (
        [node("n3"), pod("a", "9", on="n3")],
        room("Capacity", eligibleNodes=3),
    ),
    "terminating pods take room": (
        [node("n3"), pod("a", "4", on="n3", deletionTimestamp="2026-01-01T00:00:00Z")],
        room("Capacity", eligibleNodes=3),
    ),
    "anti-affinity of a running pod": (
        [
            node("n3", labels={"rack": "x"}),
            pod("a", "1", on="n3", affinity=anti_affinity(term({"app": "g"}, "rack"))),
        ],
        room("Capacity"),
    ),
}


@pytest.mark.parametrize(("more", "told"), ELIGIBLE.values(), ids=ELIGIBLE.keys())
def test_eligible_nodes(more: list[Raw], told: Raw) -> None:
    objects = [*NODES, *more, pod_group("g", 3), *members("g", 3, "3", labels={"app": "g"})]
    assert judged(objects, waiting(told)) == []


@pytest.mark.parametrize(
    ("other", "free"),
    [
        ({"priority": 1}, ["7"]),
        ({"priority": -1}, ["8"]),
        ({"creationTimestamp": "2026-01-01T00:00:00Z"}, ["7"]),
        ({"creationTimestamp": "2026-01-01T02:00:00Z"}, ["8"]),
        ({"creationTimestamp": "2026-01-01T01:00:00Z"}, ["7", "8"]),
    ],
)
def test_free_is_what_those_ahead_of_it_leave(other: Raw, free: list[str]) -> None:
    """Of two of one age there is no telling who came first."""
    gang = members("g", 3, "3", creationTimestamp="2026-01-01T01:00:00Z")
    objects = [*NODES, pod_group("g", 3), *gang, pod("p", "1", **other)]
    for amount in ("6", "7", "8"):
        told = entry("g", "Waiting", 3, 3, 0, room("Capacity", free=amount))
        plans = plan([bind("p", "n1")], [told, entry("p", "Scheduled", 1, 1, 1)])
        assert judged(objects, plans) == ([] if amount in free else [7])


def test_who_comes_after_it_took_no_room_from_it() -> None:
    objects = [*NODES, pod_group("g", 3), *members("g", 3, "2"), pod("p", "3", priority=-1)]
    told = entry("g", "Waiting", 3, 3, 0, PRIORITY)
    assert judged(objects, plan([bind("p", "n1")], [told, entry("p", "Scheduled", 1, 1, 1)])) == [7]


def test_running_members_are_not_needed_again() -> None:
    runs = pod("g-9", "3", group="g", on="n1")
    objects = [*NODES, pod_group("g", 3), runs, *members("g", 2, "3")]
    numbers = {"requested": "6", "free": "5", "holds": 1, "needed": 2}
    assert judged(objects, plan([], [entry("g", "Waiting", 3, 3, 1, room("Capacity", **numbers))])) == []
    assert judged(objects, plan([], [entry("g", "Waiting", 3, 3, 1, room("Capacity"))])) == [7]


def test_members_that_wait_although_they_fit() -> None:
    fits = [*NODES, pod_group("g", 3), *members("g", 3, "2")]
    told = room("Capacity", requested="9")
    assert judged(fits, waiting(told)) == [7]
    assert judged(fits, waiting(blocker("Affinity", holds=2, needed=3))) == [7]
    assert judged(fits, waiting(blocker("Quota"))) == []
    assert judged(fits, waiting(blocker("Affinity", holds=2, needed=3), searchExhausted=True)) == []


def test_room_that_is_held_for_others() -> None:
    """A nomination, old or new, holds room; the one who has it waits for somebody to leave."""
    going = pod("old", "1", on="n1", deletionTimestamp="2026-01-01T00:00:00Z")
    fits = [*NODES, going, pod_group("g", 3), *members("g", 3, "2")]
    here = {"nodeSelector": {"kubernetes.io/hostname": "n1"}}
    told = entry("g", "Waiting", 3, 3, 0, blocker("Affinity", holds=2, needed=3))
    other = entry("p", "Preempting", 1, 1, 0, blocker("Affinity", holds=0, needed=1))
    held = plan([], [told, other], nominations=[bind("p", "n1")])
    assert judged([*fits, pod("p", "4", **here)], held) == []
    foreign = pod("p", "4", schedulerName="other", **here)
    ours = {"scheduler": "default-scheduler"}
    assert judged([*fits, foreign], plan([], [told]), **ours) == [7]
    foreign["status"]["nominatedNodeName"] = "n1"
    assert judged([*fits, foreign], plan([], [told]), **ours) == []


def test_a_nomination_is_no_reason_to_wait() -> None:
    """Whoever can be seated now is seated, with a nomination or without."""
    alone = [*NODES, pod("p", "4", nominatedNodeName="n1")]
    told = entry("p", "Preempting", 1, 1, 0, blocker("Affinity", holds=0, needed=1))
    assert judged(alone, plan([], [told], nominations=[bind("p", "n1")])) == [7]


LATER: dict[str, Raw] = {
    "the company came later": {"affinity": affinity(term({"app": "db"}, "rack"))},
    "the balance came later": {
        "topologySpreadConstraints": [spread("rack", {"app": "db"})],
        "labels": {"app": "db"},
    },
}


@pytest.mark.parametrize("about", LATER.values(), ids=LATER.keys())
def test_what_opened_after_its_turn_is_not_held_against_it(about: Raw) -> None:
    """p was bound after g had its turn; only the next cycle can seat g."""
    racks = [node("n1", labels={"rack": "a"}), node("n2", labels={"rack": "b"})]
    objects = [*racks, pod_group("g", 3), *members("g", 3, **about), pod("p", labels={"app": "db"})]
    told = entry("g", "Waiting", 3, 3, 0, blocker("Affinity", holds=2, needed=3))
    seated = [bind("p", "n1")], [told, entry("p", "Scheduled", 1, 1, 1)]
    assert judged(objects, plan(*seated)) == []
    plain = [*racks, pod_group("g", 3), *members("g", 3), pod("p", labels={"app": "db"})]
    assert judged(plain, plan(*seated)) == [7]


def test_members_that_run_where_nobody_looked() -> None:
    one = pod_group("g", 3, schedulingConstraints=topology("rack"))
    runs = pod("x", group="g", on="elsewhere")
    told = entry("g", "Waiting", 3, 3, 1, blocker("Topology", holds=0, needed=2))
    assert judged([node("n1", labels={"rack": "a"}), one, runs, *members("g", 2)], plan([], [told])) == []


def test_they_would_fit_but_for_the_topology() -> None:
    racks = [node("n1", labels={"rack": "a"}), node("n2", labels={"rack": "b"})]
    one = pod_group("g", 3, schedulingConstraints=topology("rack"))
    told = waiting(blocker("Topology", holds=2, needed=3))
    assert judged([*racks, one, *members("g", 3, "2")], told) == []
    assert judged([*racks, pod_group("g", 3), *members("g", 3, "2")], told) == [7]


def test_they_would_fit_but_for_a_volume() -> None:
    storage = [claim("c", "v", ("ReadWriteOncePod",)), volume("v")]
    objects = [*NODES, *storage, pod_group("g", 3), *members("g", 3, volumes=uses("c"))]
    assert judged(objects, waiting(blocker("Volume", holds=1, needed=3))) == []


PRIORITY = blocker("Priority", holds=2, needed=3, ahead=["default/p"])


def test_others_went_first() -> None:
    """p takes 3 of the 8 CPUs; g would have had room for its three members of 2."""
    objects = [*NODES, pod_group("g", 3), *members("g", 3, "2"), pod("p", "3")]
    seated = [entry("p", "Scheduled", 1, 1, 1)]
    told = entry("g", "Waiting", 3, 3, 0, PRIORITY)
    assert judged(objects, plan([bind("p", "n1")], [*seated, told])) == []
    numbers = {"requested": "6", "free": "5", "holds": 2}
    wrong = entry("g", "Waiting", 3, 3, 0, room("Capacity", **numbers))
    assert judged(objects, plan([bind("p", "n1")], [*seated, wrong])) == [7]
    for ahead in (["default/q"], ["default/p", "default/g"], []):
        wrong = entry("g", "Waiting", 3, 3, 0, blocker("Priority", holds=2, needed=3, ahead=ahead))
        assert judged(objects, plan([bind("p", "n1")], [*seated, wrong])) == [7]


def test_others_went_first_and_it_had_fitted_exactly() -> None:
    objects = [node("n1"), node("n2", "2"), pod_group("g", 3), *members("g", 3, "2"), pod("p", "1")]
    told = entry("g", "Waiting", 3, 3, 0, PRIORITY)
    assert judged(objects, plan([bind("p", "n1")], [told, entry("p", "Scheduled", 1, 1, 1)])) == []


def test_more_may_follow_after_priority() -> None:
    objects = [*NODES, pod_group("g", 3), *members("g", 3, "2"), pod("p", "3")]
    numbers = {"requested": "6", "free": "5", "holds": 2}
    told = entry("g", "Waiting", 3, 3, 0, PRIORITY, room("Capacity", **numbers))
    assert judged(objects, plan([bind("p", "n1")], [told, entry("p", "Scheduled", 1, 1, 1)])) == []


def test_others_went_first_but_it_did_not_fit_anyway() -> None:
    objects = [*SHORT, pod("p", "1")]
    told = entry("g", "Waiting", 3, 3, 0, PRIORITY)
    assert judged(objects, plan([bind("p", "n1")], [told, entry("p", "Scheduled", 1, 1, 1)])) == [7]


def test_holds_may_pass_needed_where_others_went_first() -> None:
    objects = [*NODES, pod_group("g", 3), *members("g", 3, "2"), pod("p", "3")]
    told = entry("g", "Waiting", 3, 3, 0, blocker("Priority", holds=4, needed=3, ahead=["default/p"]))
    assert judged(objects, plan([bind("p", "n1")], [told, entry("p", "Scheduled", 1, 1, 1)])) == []


MEMBERS: dict[str, tuple[int, Raw, bool]] = {
    "two of three": (2, blocker("Members", created=2, quorum=3), True),
    "two of three, miscounted": (2, blocker("Members", created=1, quorum=3), False),
    "two of four, it says": (2, blocker("Members", created=2, quorum=4), False),
    "told of room instead": (2, blocker("Affinity", holds=2, needed=3), False),
    "all there": (3, blocker("Members", created=3, quorum=3), False),
}


@pytest.mark.parametrize(("count", "told", "right"), MEMBERS.values(), ids=MEMBERS.keys())
def test_members(count: int, told: Raw, right: bool) -> None:
    objects = [*NODES, pod_group("g", 3), *members("g", count, "3")]
    assert (judged(objects, plan([], [entry("g", "Waiting", count, 3, 0, told)])) == []) == right


def test_failed_members_have_to_be_created_again() -> None:
    objects = [*NODES, pod_group("g", 3), pod("x", group="g", on="n1", phase="Failed"), *members("g", 2)]
    told = blocker("Members", created=2, quorum=3)
    assert judged(objects, plan([], [entry("g", "Waiting", 3, 3, 0, told)])) == []


GATE: Raw = {"schedulingGates": [{"name": "example.com/wait"}]}


@pytest.mark.parametrize(
    ("told", "right"),
    [
        (blocker("Gated", gated=2), True),
        (blocker("Gated", gated=3), False),
        (blocker("Affinity", holds=2, needed=3), False),
    ],
)
def test_gated(told: Raw, right: bool) -> None:
    gated = [pod("g-0", group="g", **GATE), pod("g-1", group="g", **GATE), pod("g-2", group="g")]
    assert (judged([*NODES, pod_group("g", 3), *gated], waiting(told)) == []) == right


def test_not_gated() -> None:
    assert judged(SHORT, waiting(blocker("Gated", gated=0))) == [7]


def request(**changes: Any) -> Raw:
    right = {"resource": "cpu", "requested": "9", "largest": "4", "node": "n1"}
    return blocker("Request", **(right | changes))


REQUEST: dict[str, tuple[Raw, bool]] = {
    "all right": (request(), True),
    "not what is asked for": (request(requested="27"), False),
    "not the largest": (request(largest="8"), False),
    "a problem in words": (blocker("Request", problem="no such class"), True),
    "nothing": (blocker("Request"), False),
}


@pytest.mark.parametrize(("told", "right"), REQUEST.values(), ids=REQUEST.keys())
def test_request(told: Raw, right: bool) -> None:
    objects = [*NODES, pod_group("g", 3), *members("g", 3, "9")]
    assert judged(objects, waiting(told, verdict="Impossible")) == ([] if right else [7])


def test_request_is_no_larger_than_a_node() -> None:
    assert 7 in judged(SHORT, waiting(request(requested="3")))


def test_request_equal_to_the_largest_node() -> None:
    objects = [*NODES, pod_group("g", 3), *members("g", 3, "4")]
    assert judged(objects, waiting(request(requested="4"), verdict="Impossible")) == [7]


LARGEST: dict[str, tuple[list[Raw], Raw, str, bool]] = {
    "of all nodes": ([node("n3", "8")], {}, "8", True),
    "of the nodes that it may choose": (
        [node("n3", "8", labels={"pool": "x"})],
        {"nodeSelector": {"pool": "y"}},
        "0",
        True,
    ),
    "of a node that is not ready": ([node("n3", "8", ready="False")], {}, "8", True),
    "of nobody": ([node("n3", "8")], {}, "4", False),
    "of a node without its daemons": (
        [node("n3", "8"), pod("d", "1", on="n3", ownerReferences=[{"kind": "DaemonSet"}])],
        {},
        "7",
        True,
    ),
    "of a node without its pods": ([node("n3", "8"), pod("d", "1", on="n3")], {}, "7", False),
}


@pytest.mark.parametrize(("more", "about", "largest", "right"), LARGEST.values(), ids=LARGEST.keys())
def test_largest_node(more: list[Raw], about: Raw, largest: str, right: bool) -> None:
    objects = [*NODES, *more, pod_group("g", 3), *members("g", 3, "9", **about)]
    assert judged(objects, waiting(request(largest=largest), verdict="Impossible")) == ([] if right else [7])


def test_largest_of_what_could_be_added() -> None:
    policy = {"nodeTemplates": [{"name": "big", "allocatable": {"cpu": "8"}}]}
    objects = [*NODES, pod_group("g", 3), *members("g", 3, "9")]
    for largest, broken in (("8", []), ("4", []), ("6", [7])):
        told = waiting(request(largest=largest), verdict="Impossible")
        assert judged(objects, told, policy=policy) == broken


def test_request_of_what_no_node_has() -> None:
    objects = [*NODES, pod_group("g", 3), *members("g", 3, amounts={"nvidia.com/gpu": "1"})]
    told = request(resource="nvidia.com/gpu", requested="1", largest="0", node=None)
    assert judged(objects, waiting(told, verdict="Impossible")) == []


def test_the_rest_of_a_scheduled_group() -> None:
    objects = [*NODES, pod_group("g", 2), *members("g", 3, "4")]
    seats = [bind("g-0", "n1", "g"), bind("g-1", "n2", "g")]
    assert judged(objects, plan(seats, [entry("g", "Scheduled", 3, 2, 2)])) == [7]
    rest = room("Capacity", requested="4", free="0", holds=0, needed=1)
    assert judged(objects, plan(seats, [entry("g", "Scheduled", 3, 2, 2, rest)])) == []
    rest["detail"]["free"] = "1"
    assert judged(objects, plan(seats, [entry("g", "Scheduled", 3, 2, 2, rest)])) == [7]
    for told in (blocker("Capacity"), blocker("Capacity", holds=0, needed=1), blocker("Quota")):
        assert judged(objects, plan(seats, [entry("g", "Scheduled", 3, 2, 2, told)])) == []
    for told in (blocker("Affinity", holds=0, needed=2), blocker("Affinity", holds=1, needed=1)):
        assert judged(objects, plan(seats, [entry("g", "Scheduled", 3, 2, 2, told)])) == [7]


def test_failed_members_of_a_scheduled_group_are_no_rest() -> None:
    objects = [*NODES, pod_group("g", 2), *members("g", 2), pod("x", group="g", on="n1", phase="Failed")]
    assert judged(objects, gang_seating("g", 2, {"g-0": "n1", "g-1": "n1"}, 3)) == [2]
    made = gang_seating("g", 2, {"g-0": "n1", "g-1": "n1"}, 3)
    made["groups"][0]["placed"] = 2
    assert judged(objects, made) == []


def test_a_group_without_pending_members_is_not_spoken_of() -> None:
    objects = [*NODES, pod_group("g", 2), *members("g", 2, on="n1")]
    assert judged(objects, plan([], [])) == []
    assert judged(objects, plan([], [entry("g", "Scheduled", 2, 2, 2)])) == [7]


def test_a_group_that_mixes_schedulers_may_be_spoken_of_by_each() -> None:
    pods = [pod("g-0", group="g", schedulerName="x"), pod("g-1", group="g", schedulerName="y")]
    objects = [*NODES, pod_group("g", 2), *pods]
    told = plan([], [entry("g", "Invalid", 2, 2, 0, blocker("Request", problem="schedulers"))])
    for scheduler in (None, "x", "y"):
        assert judged(objects, told, scheduler=scheduler) == []
    assert judged(objects, plan([], []), scheduler="x") == []
    assert judged(objects, plan([], [])) == [7]
    assert judged(objects, told, scheduler="z") == [7]


def test_domains_are_those_of_the_members() -> None:
    racks = [node("n1", labels={"rack": "a"}), node("n2", labels={"rack": "b"})]
    objects = [*racks, pod_group("g", 2), *members("g", 2)]
    made = gang_seating("g", 2, {"g-0": "n1", "g-1": "n1"})
    made["groups"][0]["domains"] = {"cabinet": "a"}
    policy = {"topology": {"levels": [{"name": "cabinet", "key": "rack"}]}}
    assert judged(objects, made, policy=policy) == []
    made["groups"][0]["domains"] = {"cabinet": "b"}
    assert judged(objects, made, policy=policy) == [7]


RACKED = [node("n1", labels={"rack": "a"}), node("n2", labels={"rack": "b"})]
APP = {"app": "g"}
TIES: dict[str, tuple[Raw, Raw]] = {
    "affinity": ({}, {"labels": APP, "affinity": affinity(term(APP, "rack"))}),
    "anti-affinity": ({}, {"labels": APP, "affinity": anti_affinity(term(APP, "rack"))}),
    "spread": ({}, {"labels": APP, "topologySpreadConstraints": [spread("rack", APP)]}),
    "ports": ({}, {"hostNetwork": True}),
    "volumes": ({}, {"volumes": uses("c")}),
    "topology": ({"schedulingConstraints": topology("rack")}, {}),
    "slices": ({"annotations": {"maitred.dev/slice-size": "3", "maitred.dev/slice-topology": "rack"}}, {}),
}


@pytest.mark.parametrize(("group", "member"), TIES.values(), ids=TIES.keys())
def test_what_ties_members_together_is_not_summed_up(group: Raw, member: Raw) -> None:
    """Which nodes are eligible then depends on who is where: only what can be known is judged."""
    pods = members("g", 3, "3", **member)
    for item in pods:
        item["spec"]["containers"][0]["ports"] = [{"containerPort": 80}]
    storage = [claim("c", "v"), volume("v")]
    told = room("Capacity", requested="6", free="4", eligibleNodes=1, holds=1)
    assert judged([*RACKED, *storage, pod_group("g", 3, **group), *pods], waiting(told)) == []
    plain = members("g", 3, "3")
    assert judged([*RACKED, *storage, pod_group("g", 3), *plain], waiting(told)) == [7]


def test_members_that_may_go_to_different_nodes_are_not_summed_up() -> None:
    picky = [pod("g-0", "3", group="g", nodeSelector={"rack": "a"}), *members("g", 3, "3")[1:]]
    told = room("Capacity", requested="6", free="4", eligibleNodes=1, holds=1)
    assert judged([*RACKED, pod_group("g", 3), *picky], waiting(told)) == []


def test_a_domain_that_running_members_fix() -> None:
    """There is room in rack b, but the group is in rack a."""
    one = pod_group("g", 3, schedulingConstraints=topology("rack"))
    runs = pod("x", "4", group="g", on="n1")
    big = [RACKED[0], node("n2", "16", labels={"rack": "b"})]
    told = entry("g", "Waiting", 3, 3, 1, blocker("Topology", holds=0, needed=2))
    assert judged([*big, one, runs, *members("g", 2, "2")], plan([], [told])) == []
    runs["spec"]["nodeName"] = "n2"
    assert judged([*big, one, runs, *members("g", 2, "2")], plan([], [told])) == [7]


def test_room_on_nodes_that_are_not_managed() -> None:
    policy = {"nodes": {"managed": {"matchLabels": {"rack": "a"}}}}
    objects = [*RACKED, pod_group("g", 3), *members("g", 3, "2")]
    told = room("Capacity", requested="6", free="4", eligibleNodes=1)
    assert judged(objects, waiting(told), policy=policy) == []
    assert judged(objects, waiting(told)) == [7]


@pytest.mark.parametrize("free", ["8", "4"])
def test_what_is_impossible_may_be_measured_on_the_empty_cluster(free: str) -> None:
    """Another pod takes one of two nodes; three members of 3 CPUs do not fit even without it."""
    objects = [*SHORT, pod("a", "4", on="n1")]
    told = room("Capacity", free=free, holds=2 if free == "8" else 1)
    assert judged(objects, waiting(told, verdict="Impossible")) == []
    assert judged(objects, waiting(room("Capacity", free="6"), verdict="Impossible")) == [7]
    if free == "8":
        assert judged(objects, waiting(told)) == [7]


def test_what_is_impossible_may_count_running_members_anew() -> None:
    objects = [*NODES, pod_group("g", 3), pod("x", "3", group="g", on="n1"), *members("g", 2, "3")]
    for needed, requested, broken in ((2, "6", []), (3, "9", []), (1, "3", [7])):
        told = room("Capacity", requested=requested, free="5", holds=0, needed=needed)
        told["detail"]["holds"] = 1 if needed > 1 else 0
        assert judged(objects, plan([], [entry("g", "Impossible", 3, 3, 1, told)])) == broken


def test_two_shapes_are_not_summed_up() -> None:
    """What the largest subset of unlike members is, the checker does not claim to know."""
    unlike = [pod("g-0", "3", group="g"), pod("g-1", "3", group="g"), pod("g-2", "4", group="g")]
    told = room("Capacity", requested="10")
    assert judged([*NODES, pod_group("g", 3), *unlike], waiting(told)) == []


def test_what_a_breach_says() -> None:
    [breach] = verify(SHORT, waiting(room("Capacity", free="7")))
    assert breach.name == "No silence"
    assert breach.message == "Capacity: free is 7000 of cpu, should be 8000"
