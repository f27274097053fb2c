"""Laws 1, 2 and 3 over whole Plans: a correct one, and everything that can be wrong with it."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from maitred.verify import verify

from .make import (
    Raw,
    bind,
    blocker,
    entry,
    gang_seating,
    judged,
    members,
    node,
    plan,
    pod,
    pod_group,
    priority_class,
    seating,
    topology,
)

NODES = [node("n1"), node("n2")]
GANG = [*NODES, pod_group("g", 3), *members("g", 3, "2")]
SEATED = gang_seating("g", 3, {"g-0": "n1", "g-1": "n1", "g-2": "n2"})


def test_a_correct_plan() -> None:
    assert verify(GANG, SEATED) == []


def test_the_order_of_the_input_does_not_matter() -> None:
    assert verify(GANG[::-1], SEATED) == []


def test_lists_and_json_numbers() -> None:
    pods: Raw = {
        "kind": "PodList",
        "apiVersion": "v1",
        "items": [dict(o) for o in GANG if o["kind"] == "Pod"],
    }
    for item in pods["items"]:
        del item["kind"], item["apiVersion"]
    rest = {"kind": "List", "apiVersion": "v1", "items": [o for o in GANG if o["kind"] != "Pod"]}
    assert verify([pods, rest], SEATED) == []


def test_what_a_breach_says() -> None:
    [breach] = verify([node("n1"), pod("p", "5")], seating({"p": "n1"}))
    assert (breach.law, breach.name, breach.subject) == (1, "No overcommit", "n1")
    assert breach.message == "5000 thousandths of a CPU are given away, it has 4000"


def doctored(change: Callable[[Raw], Any]) -> Raw:
    twin = deepcopy(SEATED)
    change(twin)
    return twin


DOCTORED: dict[str, tuple[Callable[[Raw], Any], list[int]]] = {
    "nothing": (lambda p: None, []),
    "too much on one node": (lambda p: p["binds"][2].update(node="n1"), [1]),
    "no such node": (lambda p: p["binds"][2].update(node="n9"), [1, 2, 7]),
    "no such pod": (lambda p: p["binds"][2].update(pod="default/x"), [1, 2, 7]),
    "another uid": (lambda p: p["binds"][2].update(uid="x"), [1]),
    "another group": (lambda p: p["binds"][2].update(group="default/h"), [1]),
    "twice the same": (lambda p: p["binds"].append(p["binds"][0]), [1]),
    "twice, to two nodes": (lambda p: p["binds"].append(bind("g-0", "n2", "g")), [1]),
    "one bind short": (lambda p: p["binds"].pop(), [2, 7]),
    "one bind short, and honest about it": (
        lambda p: p.update(
            binds=p["binds"][:2],
            groups=[entry("g", "Waiting", 3, 3, 2, blocker("Backoff"))],
        ),
        [2],
    ),
    "wrong verdict": (lambda p: p["groups"][0].update(verdict="Waiting", blockers=[blocker("Backoff")]), [2]),
    "wrong members": (lambda p: p["groups"][0].update(members=4), [2]),
    "wrong quorum": (lambda p: p["groups"][0].update(quorum=2), [2]),
    "wrong placed": (lambda p: p["groups"][0].update(placed=2), [2]),
    "no entry": (lambda p: p["groups"].clear(), [7]),
    "two entries": (lambda p: p["groups"].append(p["groups"][0]), [7]),
    "an entry for nobody": (lambda p: p["groups"].append(entry("x", "Scheduled", 1, 1, 1)), [7]),
}


@pytest.mark.parametrize(("change", "broken"), DOCTORED.values(), ids=DOCTORED.keys())
def test_doctored(change: Callable[[Raw], Any], broken: list[int]) -> None:
    assert judged(GANG, doctored(change)) == broken


@pytest.mark.parametrize(("change", "broken"), DOCTORED.values(), ids=DOCTORED.keys())
def test_doctored_with_another_group_beside(change: Callable[[Raw], Any], broken: list[int]) -> None:
    made = doctored(change)
    made["binds"].append(bind("solo", "n2"))
    made["groups"].append(entry("solo", "Scheduled", 1, 1, 1))
    assert judged([*GANG, pod("solo")], made) == broken


PORT: Raw = {"containers": [{"name": "c", "ports": [{"hostPort": 80}]}]}
OVERCOMMIT: dict[str, tuple[list[Raw], dict[str, str], list[int]]] = {
    "exactly full": ([pod("a", "1", on="n1"), pod("p", "3")], {"p": "n1"}, []),
    "one thousandth over": ([pod("a", "1", on="n1"), pod("p", "3001m")], {"p": "n1"}, [1]),
    "together over": ([pod("p", "2"), pod("q", "2500m")], {"p": "n1", "q": "n1"}, [1]),
    "others overcommitted it, and we add none of that": (
        [pod("a", "9", on="n1"), pod("p", "0")],
        {"p": "n1"},
        [],
    ),
    "others overcommitted it, and we add to it": ([pod("a", "9", on="n1"), pod("p", "1m")], {"p": "n1"}, [1]),
    "others overcommitted another node": ([pod("a", "9", on="n1"), pod("p", "1")], {"p": "n2"}, []),
    "terminating pods hold": (
        [pod("a", "3", on="n1", deletionTimestamp="2026-01-01T00:00:00Z"), pod("p", "2")],
        {"p": "n1"},
        [1],
    ),
    "ports": ([pod("p", **PORT), pod("q", **PORT)], {"p": "n1", "q": "n1"}, [1]),
    "ports, apart": ([pod("p", **PORT), pod("q", **PORT)], {"p": "n1", "q": "n2"}, []),
    "a port that runs": ([pod("a", on="n1", **PORT), pod("p", **PORT)], {"p": "n1"}, [1]),
    "ports of others": (
        [pod("a", on="n1", **PORT), pod("b", on="n1", **PORT), pod("p")],
        {"p": "n1"},
        [],
    ),
    "a pod that runs already": ([pod("p", on="n1")], {"p": "n1"}, [1, 7]),
    "a pod that is finished": ([pod("p", phase="Failed")], {"p": "n1"}, [1, 2, 7]),
    "a pod that is being deleted": (
        [pod("p", deletionTimestamp="2026-01-01T00:00:00Z")],
        {"p": "n1"},
        [1, 2, 7],
    ),
}


@pytest.mark.parametrize(("pods", "seats", "broken"), OVERCOMMIT.values(), ids=OVERCOMMIT.keys())
def test_overcommit(pods: list[Raw], seats: dict[str, str], broken: list[int]) -> None:
    assert judged([*NODES, *pods], seating(seats)) == broken


def test_one_pod_too_many() -> None:
    small = node("n1", amounts={"pods": "2"})
    pods = [pod(name, "0") for name in "pqr"]
    assert judged([small, *pods[:2]], seating({"p": "n1", "q": "n1"})) == []
    assert judged([small, *pods], seating({"p": "n1", "q": "n1", "r": "n1"})) == [1]


RUNS = pod("g-0", "2", group="g", on="n1")
DONE = pod("g-0", "2", group="g", on="n1", phase="Succeeded")
LOST = pod("g-0", "2", group="g", on="n1", phase="Failed")
LEAVING = pod("g-0", "2", group="g", on="n1", deletionTimestamp="2026-01-01T00:00:00Z")
TWO_MORE = {"g-1": "n2", "g-2": "n2"}
QUORUMS: dict[str, tuple[Raw, list[int]]] = {
    "a running member counts": (RUNS, []),
    "a member that succeeded counts": (DONE, []),
    "one that succeeded and is being deleted counts": (
        DONE | {"metadata": DONE["metadata"] | {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        [],
    ),
    "a failed member does not": (LOST, [2]),
    "a terminating member does not": (LEAVING, [2]),
}


@pytest.mark.parametrize(("first", "broken"), QUORUMS.values(), ids=QUORUMS.keys())
def test_quorum(first: Raw, broken: list[int]) -> None:
    objects = [*NODES, pod_group("g", 3), first, *members("g", 3, "2")[1:]]
    assert judged(objects, gang_seating("g", 3, TWO_MORE, 3)) == broken


def test_a_group_may_stay_below_its_quorum_if_nothing_is_bound() -> None:
    objects = [*NODES, pod_group("g", 3), RUNS, *members("g", 2, "2")[1:]]
    wait = entry("g", "Waiting", 2, 3, 1, blocker("Members", created=2, quorum=3))
    assert judged(objects, plan([], [wait])) == []


@pytest.mark.parametrize("version", ["v1alpha2", "v1beta1", "v1alpha3"])
def test_every_version_of_the_group_api(version: str) -> None:
    objects = [*NODES, pod_group("g", 3, version), *members("g", 3, "2")]
    assert judged(objects, SEATED) == []
    objects[2] = pod_group("g", 4, version)
    assert judged(objects, gang_seating("g", 4, {"g-0": "n1", "g-1": "n1", "g-2": "n2"})) == [2]


def test_basic_groups_and_the_shorthand() -> None:
    basic = pod_group("g", 1)
    basic["spec"] = {"schedulingPolicy": {"basic": {}}}
    two = [*NODES, basic, *members("g", 2)]
    assert judged(two, gang_seating("g", 1, {"g-0": "n1", "g-1": "n1"})) == []
    short = pod_group("g", 1)
    short["spec"] = {"minMember": 3}
    assert judged([*NODES, short, *members("g", 3, "2")], SEATED) == []
    assert judged(
        [*NODES, short, *members("g", 2, "2")], gang_seating("g", 3, {"g-0": "n1", "g-1": "n1"})
    ) == [2]


def test_groups_of_other_projects_are_not_meant() -> None:
    theirs = pod_group("g", 3) | {"apiVersion": "scheduling.volcano.sh/v1beta1"}
    assert 2 in judged([*NODES, theirs, *members("g", 3, "2")], SEATED)


def labelled(count: int, minimum: str | None, where: str = "labels") -> list[Raw]:
    marks = {"maitred.dev/group": "g"} | ({"maitred.dev/min-count": minimum} if minimum else {})
    return [pod(f"g-{i}", "2", **{where: marks}) for i in range(count)]


@pytest.mark.parametrize("where", ["labels", "annotations"])
def test_groups_by_label(where: str) -> None:
    assert judged([*NODES, *labelled(3, "3", where)], SEATED) == []
    two = {"g-0": "n1", "g-1": "n1"}
    assert judged([*NODES, *labelled(2, "3", where)], gang_seating("g", 3, two)) == [2]
    assert judged([*NODES, *labelled(2, None, where)], gang_seating("g", 1, two)) == []


GROUP_OF = gang_seating("g", 2, {"g-0": "n1", "g-1": "n2"})
INVALID = plan([], [entry("g", "Invalid", 2, 2, 0, blocker("Request", problem="x"))])


def pair(a: Raw, b: Raw, **spec: Any) -> list[Raw]:
    group = pod_group("g", 2, **spec)
    return [*NODES, group, pod("g-0", group="g", **a), pod("g-1", group="g", **b)]


LEVEL = "maitred.dev/topology-required"
INVALIDS: dict[str, tuple[list[Raw], bool]] = {
    "all agree": (pair({"priority": 5}, {"priority": 5}), True),
    "two schedulers": (pair({"schedulerName": "x"}, {"schedulerName": "y"}), False),
    "one scheduler, once by default": (pair({"schedulerName": "default-scheduler"}, {}), True),
    "two priorities": (pair({"priority": 5}, {"priority": 6}), False),
    "not the group's priority": (pair({"priority": 5}, {"priority": 5}, priority=6), False),
    "the group's priority": (pair({"priority": 5}, {"priority": 5}, priority=5), True),
    "by class": (
        [
            *pair({"priorityClassName": "high"}, {"priority": 7}, priorityClassName="high"),
            priority_class("high", 7),
        ],
        True,
    ),
    "by the default class": (
        [*pair({}, {"priority": 7}), priority_class("usual", 7, globalDefault=True)],
        True,
    ),
    "a class that nobody knows": (pair({"priorityClassName": "x"}, {"priorityClassName": "x"}), False),
    "a class that everybody knows": (
        pair({"priorityClassName": "system-node-critical"}, {"priority": 2000001000}),
        True,
    ),
    "two preemption policies": (pair({"preemptionPolicy": "Never"}, {}), False),
    "two preemption policies, once by default": (
        pair({"preemptionPolicy": "PreemptLowerPriority"}, {}),
        True,
    ),
    "topology said twice, differently": (
        pair({}, {}, schedulingConstraints=topology("rack"), annotations={LEVEL: "zone"}),
        False,
    ),
}


@pytest.mark.parametrize(("objects", "valid"), INVALIDS.values(), ids=INVALIDS.keys())
def test_invalid_groups(objects: list[Raw], valid: bool) -> None:
    """Of a valid group Invalid is a false verdict; of an invalid one a bind and any other verdict are."""
    assert (judged(objects, GROUP_OF) == []) == valid
    assert judged(objects, INVALID) == ([7] if valid else [])


def test_where_the_rules_leave_it_open_both_verdicts_pass() -> None:
    leaving = pod("g-2", group="g", on="n1", priority=9, deletionTimestamp="2026-01-01T00:00:00Z")
    objects = [*pair({}, {}), leaving]
    made = gang_seating("g", 2, {"g-0": "n1", "g-1": "n2"}, 3)
    made["groups"][0]["placed"] = 2
    assert judged(objects, made) == []
    assert judged(objects, plan([], [entry("g", "Invalid", 3, 2, 0, blocker("Request", problem="x"))])) == []


@pytest.mark.parametrize(("verdict", "broken"), [("Waiting", []), ("Invalid", []), ("Impossible", [2])])
def test_a_missing_group_may_be_invalid_too(verdict: str, broken: list[int]) -> None:
    objects = [*NODES, pod("g-0", group="g", priority=1), pod("g-1", group="g", priority=2)]
    told = entry("g", verdict, 2, 1, 0, blocker("Members", created=2))
    assert judged(objects, plan([], [told])) == broken


def test_members_that_contradict_each_other() -> None:
    pods = [*labelled(1, "1"), pod("g-1", labels={"maitred.dev/group": "g", "maitred.dev/min-count": "2"})]
    assert judged([*NODES, *pods], gang_seating("g", 1, {"g-0": "n1", "g-1": "n2"})) == [2, 7]
    silent = [*labelled(1, "2"), pod("g-1", labels={"maitred.dev/group": "g"})]
    assert judged([*NODES, *silent], GROUP_OF) == []


def test_nothing_is_bound_for_a_group_that_does_not_exist() -> None:
    objects = [*NODES, *members("g", 2)]
    assert judged(objects, gang_seating("g", 1, {"g-0": "n1", "g-1": "n2"})) == [2]
    wait = entry("g", "Waiting", 2, 1, 0, blocker("Members", created=2, quorum=0))
    assert judged(objects, plan([], [wait])) == []


def test_one_gated_member_gates_all() -> None:
    gate: Raw = {"schedulingGates": [{"name": "wait"}]}
    objects = [*NODES, pod_group("g", 1), pod("g-0", group="g"), pod("g-1", group="g", **gate)]
    wait = entry("g", "Waiting", 2, 1, 0, blocker("Gated", gated=1))
    assert judged(objects, plan([], [wait])) == []
    rest = entry("g", "Scheduled", 2, 1, 1, blocker("Gated", gated=1))
    assert judged(objects, plan([bind("g-0", "n1", "g")], [rest])) == [3]


RACKS = [node(f"{r}{i}", "8", labels={"rack": r, "zone": z}) for r, z in ("ay", "by", "cz") for i in (1, 2)]
RACKS.append(node("bare", "8"))
ONE_RACK = [pod_group("g", 2, schedulingConstraints=topology("rack"))]
NAMED = {"topology": {"levels": [{"name": "cabinet", "key": "rack"}]}}
TOPOLOGIES: dict[str, tuple[list[Raw], dict[str, str], list[int]]] = {
    "one rack": ([*ONE_RACK, *members("g", 2)], {"g-0": "a1", "g-1": "a2"}, []),
    "two racks": ([*ONE_RACK, *members("g", 2)], {"g-0": "a1", "g-1": "b1"}, [3]),
    "no rack": ([*ONE_RACK, *members("g", 2)], {"g-0": "bare", "g-1": "bare"}, [3]),
    "where the others run": (
        [*ONE_RACK, pod("g-2", group="g", on="b1"), *members("g", 2)],
        {"g-0": "b1", "g-1": "b2"},
        [],
    ),
    "not where the others run": (
        [*ONE_RACK, pod("g-2", group="g", on="b1"), *members("g", 2)],
        {"g-0": "a1", "g-1": "a2"},
        [3],
    ),
    "a terminating member fixes nothing": (
        [
            *ONE_RACK,
            pod("g-2", group="g", on="b1", deletionTimestamp="2026-01-01T00:00:00Z"),
            *members("g", 2),
        ],
        {"g-0": "a1", "g-1": "a2"},
        [],
    ),
    "by annotation": (
        [pod_group("g", 2, annotations={LEVEL: "rack"}), *members("g", 2)],
        {"g-0": "a1", "g-1": "b1"},
        [3],
    ),
    "by the name of a level": (
        [pod_group("g", 2, annotations={LEVEL: "cabinet"}), *members("g", 2)],
        {"g-0": "a1", "g-1": "b1"},
        [3],
    ),
    "by the name of a level, kept": (
        [pod_group("g", 2, annotations={LEVEL: "cabinet"}), *members("g", 2)],
        {"g-0": "a1", "g-1": "a2"},
        [],
    ),
}


@pytest.mark.parametrize(("objects", "seats", "broken"), TOPOLOGIES.values(), ids=TOPOLOGIES.keys())
def test_topology(objects: list[Raw], seats: dict[str, str], broken: list[int]) -> None:
    count = sum(o["kind"] == "Pod" for o in objects)
    running = sum(o["spec"].get("nodeName") is not None for o in objects)
    leaving = sum("deletionTimestamp" in o["metadata"] for o in objects)
    made = gang_seating("g", 2, seats, count)
    made["groups"][0]["placed"] = len(seats) + running - leaving
    assert judged([*RACKS, *objects], made, policy=NAMED) == broken


SLICES = {"maitred.dev/slice-size": "2", "maitred.dev/slice-topology": "rack"}
INDEX = "batch.kubernetes.io/job-completion-index"


def indexed(*indexes: int, **more: Any) -> list[Raw]:
    return [pod(f"g-{n}", group="g", labels={INDEX: str(i)}, **more) for n, i in enumerate(indexes)]


SLICED: dict[str, tuple[list[Raw], str, list[int]]] = {
    "each slice in a rack": (members("g", 4), "a1 a2 b1 b2", []),
    "a slice over two racks": (members("g", 4), "a1 b1 b2 b2", [3]),
    "a last slice that is not full": (members("g", 3), "a1 a2 c1", []),
    "by index": (indexed(0, 2, 1, 3), "a1 b1 a2 b2", []),
    "by index, not by name": (indexed(0, 2, 1, 3), "a1 a2 b1 b2", [3]),
    "by index with a gap": (indexed(0, 3, 4), "a1 b1 c1", []),
    "one without an index: by place": ([*indexed(5, 4), *members("g", 4)[2:]], "a1 a2 b1 b2", []),
    "a slice on a node without a rack": (members("g", 4), "a1 a2 bare bare", [3]),
}


@pytest.mark.parametrize(("pods", "seats", "broken"), SLICED.values(), ids=SLICED.keys())
def test_slices(pods: list[Raw], seats: str, broken: list[int]) -> None:
    objects = [*RACKS, pod_group("g", len(pods), annotations=SLICES), *pods]
    places = {p["metadata"]["name"]: to for p, to in zip(pods, seats.split(), strict=True)}
    assert judged(objects, gang_seating("g", len(pods), places)) == broken


@pytest.mark.parametrize(("bound", "broken"), [(2, []), (3, [3]), (4, [])])
def test_slices_are_bound_whole(bound: int, broken: list[int]) -> None:
    objects = [*RACKS, pod_group("g", 2, annotations=SLICES), *members("g", 4)]
    rest = [blocker("Quota")] if bound < 4 else []
    binds = [bind(f"g-{i}", "a1", "g") for i in range(bound)]
    assert judged(objects, plan(binds, [entry("g", "Scheduled", 4, 2, bound, *rest)])) == broken


def test_a_slice_that_began_before_is_completed() -> None:
    runs = pod("g-0", group="g", on="a1")
    objects = [*RACKS, pod_group("g", 2, annotations=SLICES), runs, *members("g", 4)[1:]]
    told = entry("g", "Scheduled", 4, 2, 2, blocker("Quota"))
    assert judged(objects, plan([bind("g-1", "a2", "g")], [told])) == []
    assert judged(objects, plan([bind("g-1", "b1", "g")], [told])) == [3]


@pytest.mark.parametrize(("seats", "broken"), [("a1 a2 b1 b2", []), ("a1 a2 c1 c2", [3])])
def test_slices_inside_one_zone(seats: str, broken: list[int]) -> None:
    both = pod_group("g", 4, annotations=SLICES, schedulingConstraints=topology("zone"))
    places = {f"g-{i}": to for i, to in enumerate(seats.split())}
    assert judged([*RACKS, both, *members("g", 4)], gang_seating("g", 4, places)) == broken


def test_a_slice_broken_before_is_not_the_plans_doing() -> None:
    pods = [pod("g-0", group="g", on="a1"), pod("g-1", group="g", on="b1"), *members("g", 4)[2:]]
    objects = [*RACKS, pod_group("g", 4, annotations=SLICES), *pods]
    assert judged(objects, gang_seating("g", 4, {"g-2": "c1", "g-3": "c2"}, 4)) == []


def test_managed_nodes() -> None:
    policy = {"nodes": {"managed": {"matchLabels": {"rack": "a"}}}}
    assert judged([*RACKS, pod("p")], seating({"p": "a1"}), policy=policy) == []
    assert judged([*RACKS, pod("p")], seating({"p": "b1"}), policy=policy) == [3]


def test_another_scheduler() -> None:
    objects = [*NODES, pod("p", schedulerName="maitred"), pod("q")]
    assert judged(objects, seating({"p": "n1"}), scheduler="maitred") == []
    assert judged(objects, seating({"p": "n1"})) == [7]
    assert judged(objects, seating({"p": "n1", "q": "n2"})) == []
    assert judged(objects, seating({"p": "n1", "q": "n2"}), scheduler="maitred") == [1, 7]


def test_a_lone_pod_and_a_group_of_the_same_name() -> None:
    objects = [*NODES, pod_group("g", 2), *members("g", 2), pod("g")]
    binds = [bind("g-0", "n1", "g"), bind("g-1", "n1", "g"), bind("g", "n2")]
    both = [entry("g", "Scheduled", 2, 2, 2), entry("g", "Scheduled", 1, 1, 1)]
    assert judged(objects, plan(binds, both)) == []
    assert judged(objects, plan(binds, both[:1])) == [7]


def test_a_group_that_waits_and_one_of_the_same_name_that_runs() -> None:
    """The Plan speaks only of the one that has members to decide."""
    objects = [*NODES, pod_group("g", 2), *members("g", 2), pod("g", on="n1")]
    binds = [bind("g-0", "n1", "g"), bind("g-1", "n2", "g")]
    assert judged(objects, plan(binds, [entry("g", "Scheduled", 2, 2, 2)])) == []
    assert judged(objects, plan(binds, [entry("g", "Scheduled", 1, 1, 1)])) == [2]
