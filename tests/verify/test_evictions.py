"""Law 4: whom a Plan may evict, for whom, and who goes with whom."""

from collections.abc import Callable
from copy import deepcopy
from datetime import datetime
from typing import Any

import pytest

from .make import (
    Raw,
    bind,
    blocker,
    composite,
    entry,
    eviction,
    judged,
    members,
    node,
    owned,
    plan,
    pod,
    pod_group,
    priority_class,
    settled,
)

NODES = [node("n1"), node("n2")]
LOW = [pod("low1", "4", on="n1", priority=1), pod("low2", "4", on="n2", priority=1)]
IDLE = pod("idle", "0", schedulingGates=[{"name": "x"}])
GANG = [pod_group("g", 2), *members("g", 2, "3", priority=10)]
OBJECTS = [*NODES, *LOW, *GANG, IDLE]
PREEMPTING = plan(
    [],
    [
        entry("g", "Preempting", 2, 2, 0, blocker("Affinity", holds=0, needed=2)),
        entry("idle", "Waiting", 1, 1, 0, blocker("Gated", gated=1)),
    ],
    nominations=[bind("g-0", "n1", "g"), bind("g-1", "n2", "g")],
    evictions=[eviction("low1", "g"), eviction("low2", "g")],
)
NOON = datetime.fromisoformat("2026-01-31T12:00:00Z")


def evicting(*evictions: Raw) -> Raw:
    return settled(PREEMPTING | {"evictions": list(evictions)})


def change(path: str, number: int, **fields: Any) -> Callable[[Raw], Any]:
    return lambda p: p[path][number].update(fields)


DOCTORED: dict[str, tuple[Callable[[Raw], Any], list[int]]] = {
    "nothing": (lambda p: None, []),
    "no cause": (change("evictions", 0, cause=""), [4]),
    "no receipt": (change("evictions", 0, receipt={}), [4]),
    "for nobody": (change("evictions", 0, **{"for": "default/x"}), [4]),
    "another uid": (change("evictions", 0, uid="x"), [4]),
    "another group": (change("evictions", 0, group="default/x"), [4]),
    "no such pod": (change("evictions", 0, pod="default/x"), [4, 5]),
    "a pod that does not run": (change("evictions", 0, pod="default/idle", uid="uid-idle"), [4, 5]),
    "twice": (lambda p: p["evictions"].append(p["evictions"][0]), [4]),
    "bound already": (
        lambda p: (
            p["binds"].append(bind("g-0", "n1", "g")),
            p["groups"][0].update(placed=1),
        ),
        [1, 2, 4, 5],
    ),
}


@pytest.mark.parametrize(("doctor", "broken"), DOCTORED.values(), ids=DOCTORED.keys())
def test_doctored(doctor: Callable[[Raw], Any], broken: list[int]) -> None:
    twin = deepcopy(PREEMPTING)
    doctor(twin)
    assert judged(OBJECTS, settled(twin)) == broken


def victims(*pods: Raw) -> list[Raw]:
    """The usual objects with other pods in the place of the first victim."""
    return [*NODES, *pods, LOW[1], *GANG, IDLE]


# ---- rank


@pytest.mark.parametrize(("rank", "broken"), [(9, []), (10, [4]), (11, [4])])
def test_rank(rank: int, broken: list[int]) -> None:
    twin = evicting(eviction("low1", "g", priority=rank), eviction("low2", "g"))
    assert judged(victims(pod("low1", "4", on="n1", priority=rank)), twin) == broken


def test_a_group_that_never_preempts() -> None:
    shy = members("g", 2, "3", priority=10, preemptionPolicy="Never")
    assert judged([*NODES, *LOW, pod_group("g", 2), *shy, IDLE], settled(PREEMPTING)) == [4]


@pytest.mark.parametrize(("own", "broken"), [(2, []), (9, []), (10, [4])])
def test_a_pod_of_a_group_at_odds_with_itself_ranks_by_itself(own: int, broken: list[int]) -> None:
    odd = pod("low3", "0", on="n1", group="v", priority=11)
    objects = victims(pod_group("v", 1), pod("low1", "4", on="n1", group="v", priority=own), odd)
    twin = evicting(eviction("low1", "g", group="v", priority=own), eviction("low2", "g"))
    assert judged(objects, twin) == broken


@pytest.mark.parametrize(("said", "broken"), [(1, []), (10, [4])])
def test_the_rank_of_a_group_is_what_it_says(said: int, broken: list[int]) -> None:
    objects = victims(pod_group("v", 1, priority=said), pod("low1", "4", on="n1", group="v", priority=5))
    twin = evicting(eviction("low1", "g", group="v", priority=said), eviction("low2", "g"))
    assert judged(objects, twin) == broken


@pytest.mark.parametrize(
    ("said", "broken"), [({"priority": 10}, [4]), ({"priorityClassName": "top"}, [4]), ({}, [])]
)
def test_the_rank_of_a_composite_is_that_of_all_below_it(said: Raw, broken: list[int]) -> None:
    group = pod_group("v", 1, priority=1, parentCompositePodGroupName="middle")
    above = [composite("middle", parentCompositePodGroupName="top"), composite("top", **said)]
    objects = victims(
        *above, group, pod("low1", "4", on="n1", group="v", priority=1), priority_class("top", 10)
    )
    rank = 10 if said else 1
    twin = evicting(eviction("low1", "g", group="top", priority=rank), eviction("low2", "g"))
    assert judged(objects, twin) == broken


def test_a_rank_that_nobody_knows_is_not_lower() -> None:
    assert judged(victims(pod("low1", "4", on="n1", priorityClassName="x")), settled(PREEMPTING)) == [4]


# ---- who may preempt, and whom


@pytest.mark.parametrize(
    ("policy", "broken"),
    [
        ({}, []),
        ({"preemption": {"mode": "priority"}}, []),
        ({"preemption": {"mode": "never"}}, [4]),
        ({"order": "priority"}, []),
        ({"order": "fifo"}, [4]),
    ],
)
def test_the_policy_says_whether_anybody_may(policy: Raw, broken: list[int]) -> None:
    assert judged(OBJECTS, settled(PREEMPTING), policy=policy) == broken


@pytest.mark.parametrize(("delay", "broken"), [("9m", []), ("10m", []), ("11m", [4]), ("1h", [4])])
def test_the_delay_counts_from_the_youngest_that_waits(delay: str, broken: list[int]) -> None:
    ages = ["2026-01-31T10:00:00Z", "2026-01-31T11:50:00Z"]
    waiting = [pod(f"g-{i}", "3", group="g", priority=10, creationTimestamp=at) for i, at in enumerate(ages)]
    objects = [*NODES, *LOW, pod_group("g", 2), *waiting, IDLE]
    policy = {"preemption": {"delay": delay}}
    assert judged(objects, settled(PREEMPTING), policy=policy, now=NOON) == broken
    assert judged(objects, settled(PREEMPTING), policy=policy) == []


@pytest.mark.parametrize(("mine", "broken"), [("maitred", []), ("other", [4])])
def test_only_own_victims(mine: str, broken: list[int]) -> None:
    waiting = members("g", 2, "3", priority=10, schedulerName="maitred")
    low = [pod(f"low{i}", "4", on=f"n{i}", priority=1, schedulerName=mine) for i in (1, 2)]
    objects = [*NODES, *low, pod_group("g", 2), *waiting, IDLE]
    twin = settled(PREEMPTING)
    assert judged(objects, twin, policy={"preemption": {"victims": "own"}}) == broken
    assert judged(objects, twin, policy={"preemption": {"victims": "any"}}) == []


@pytest.mark.parametrize(
    ("fields", "broken"),
    [
        ({"ownerReferences": owned("ReplicaSet", "r")}, []),
        ({"ownerReferences": owned("DaemonSet", "d")}, [4]),
        ({"ownerReferences": owned("Node", "n1")}, [4]),
        ({"annotations": {"kubernetes.io/config.mirror": "x"}}, [4]),
    ],
)
def test_what_belongs_to_a_node_stays(fields: Raw, broken: list[int]) -> None:
    twin = settled(PREEMPTING)
    twin["evictions"][0]["receipt"]["departure"]["survives"] = "ownerReferences" in fields or None
    assert judged(victims(pod("low1", "4", on="n1", priority=1, **fields)), twin) == broken


PROTECTION: dict[str, tuple[Raw, list[int]]] = {
    "not exempt": ({"maitred.dev/non-preemptible": "false"}, []),
    "exempt": ({"maitred.dev/non-preemptible": "true"}, [4]),
    "neither": ({"maitred.dev/non-preemptible": "yes"}, [4]),
    "ran long enough": ({"maitred.dev/min-runtime": "30m"}, []),
    "has to run longer": ({"maitred.dev/min-runtime": "1h0.5m"}, [4]),
    "runs for ever": ({"maitred.dev/min-runtime": "2w"}, [4]),
    "no duration": ({"maitred.dev/min-runtime": "-5m"}, [4]),
    "longer than anybody counts": ({"maitred.dev/checkpoint-interval": "36501d"}, [4]),
    "saved": ({"maitred.dev/last-checkpoint": "2026-01-31T11:59:00Z"}, []),
    "saved tomorrow": ({"maitred.dev/last-checkpoint": "2026-02-01T12:00:00Z"}, [4]),
    "saved sometime": ({"maitred.dev/last-checkpoint": "2026-01-31"}, [4]),
    "saved nowhere": ({"maitred.dev/last-checkpoint": "2026-01-31T11:00:00"}, [4]),
    "saved every ten minutes": ({"maitred.dev/checkpoint-interval": "10m"}, []),
    "saved all the time": ({"maitred.dev/checkpoint-interval": "0"}, [4]),
}


@pytest.mark.parametrize("where", ["pod", "label", "group"])
@pytest.mark.parametrize(("marks", "broken"), PROTECTION.values(), ids=PROTECTION.keys())
def test_protection(marks: Raw, broken: list[int], where: str) -> None:
    own = {"pod": {"annotations": marks}, "label": {"labels": marks}, "group": {}}[where]
    group = pod_group("v", 1, annotations=marks if where == "group" else {})
    low = pod("low1", "4", on="n1", group="v", priority=1, startTime="2026-01-31T11:00:00Z", **own)
    twin = evicting(eviction("low1", "g", group="v"), eviction("low2", "g"))
    assert judged(victims(group, low), twin, now=NOON) == broken


@pytest.mark.parametrize("mark", ["non-preemptible", "min-runtime"])
@pytest.mark.parametrize(
    ("said", "own", "broken"),
    [
        ("true", {"non-preemptible": "false"}, []),
        ("perhaps", {"non-preemptible": "false"}, []),
        ("perhaps", {"last-checkpoint": "2026-01-31T11:00:00Z"}, [4]),
        ("false", {"non-preemptible": "perhaps"}, [4]),
    ],
)
def test_what_a_pod_says_itself_counts(mark: str, said: str, own: Raw, broken: list[int]) -> None:
    """Also if what its group says cannot be read."""
    times = {"true": "2w", "false": "0", "perhaps": "perhaps"}
    value = said if mark == "non-preemptible" else times[said]
    group = pod_group("v", 1, annotations={f"maitred.dev/{mark}": value})
    marks = {
        f"maitred.dev/{mark if name == 'non-preemptible' else name}": text
        if name != "non-preemptible" or mark == name
        else times[text]
        for name, text in own.items()
    }
    twin = evicting(eviction("low1", "g", group="v"), eviction("low2", "g"))
    low = pod(
        "low1", "4", on="n1", group="v", priority=1, annotations=marks, startTime="2026-01-31T11:00:00Z"
    )
    assert judged(victims(group, low), twin, now=NOON) == broken


@pytest.mark.parametrize(("label", "broken"), [("false", []), ("true", [4])])
def test_a_label_and_an_annotation_that_differ_cannot_be_read(label: str, broken: list[int]) -> None:
    key = "maitred.dev/non-preemptible"
    low = pod("low1", "4", on="n1", priority=1, labels={key: label}, annotations={key: "false"})
    assert judged(victims(low), settled(PREEMPTING)) == broken
    torn = pod("low1", "4", on="n1", priority=1, labels={key: "false"}, annotations={key: "true"})
    assert judged(victims(torn), settled(PREEMPTING)) == [4]


def test_times_are_not_judged_where_nobody_knows_the_time() -> None:
    marks = {"maitred.dev/last-checkpoint": "2026-02-01T12:00:00Z", "maitred.dev/min-runtime": "2w"}
    low = pod("low1", "4", on="n1", priority=1, annotations=marks)
    started = pod("low1", "4", on="n1", priority=1, annotations=marks, startTime="2026-01-31T11:00:00Z")
    assert judged(victims(started), settled(PREEMPTING)) == []
    assert judged(victims(low), settled(PREEMPTING)) == [4], "nobody knows when it started"


# ---- units


@pytest.mark.parametrize(
    ("mode", "version", "whole"),
    [
        ({"all": {}}, "v1beta1", True),
        ({"single": {}}, "v1beta1", False),
        ("PodGroup", "v1alpha2", True),
        ("Pod", "v1alpha2", False),
    ],
)
def test_units_are_evicted_together(mode: Any, version: str, whole: bool) -> None:
    """A group of three, one of them on a node that nobody wants."""
    extra = [node("n3"), *(pod(f"v{i}", "4", on=f"n{i}", priority=1, group="v") for i in (1, 2, 3))]
    group = pod_group("v", 1, version, disruptionMode=mode)
    objects = [*NODES, *extra, group, *GANG, IDLE]
    unit = {"unit": "default/v"} if whole else {}
    two = [eviction(f"v{i}", "g", group="v", **unit) for i in (1, 2)]
    assert judged(objects, evicting(*two)) == ([4] if whole else [])
    three = [eviction(f"v{i}", "g", group="v", unit="default/v") for i in (1, 2, 3)]
    assert judged(objects, evicting(*three)) == ([] if whole else [5])


@pytest.mark.parametrize(("quorum", "whole"), [(1, False), (2, True), (3, True)])
@pytest.mark.parametrize("declared", ["PodGroup", "label"])
def test_a_gang_that_would_fall_below_its_quorum_goes_whole(quorum: int, whole: bool, declared: str) -> None:
    """Three run and two are in the way."""
    named: Raw = {"group": "v"}
    if declared == "label":
        named = {"labels": {"maitred.dev/group": "v", "maitred.dev/min-count": str(quorum)}}
    pods = [pod(f"v{i}", "4", on=f"n{i}", priority=1, **named) for i in (1, 2, 3)]
    objects = [*NODES, node("n3"), *pods, pod_group("v", quorum), *GANG, IDLE]
    unit = {"unit": "default/v"} if whole else {}
    two = [eviction(f"v{i}", "g", group="v", **unit) for i in (1, 2)]
    assert judged(objects, evicting(*two)) == ([4] if whole else [])
    three = [eviction(f"v{i}", "g", group="v", unit="default/v") for i in (1, 2, 3)]
    assert judged(objects, evicting(*three)) == ([] if whole else [5])


def test_members_that_succeeded_count_for_the_quorum() -> None:
    done = pod("v0", "4", on="n3", phase="Succeeded", priority=1, group="v")
    pods = [pod(f"v{i}", "4", on=f"n{i}", priority=1, group="v") for i in (1, 2)]
    two = [eviction(f"v{i}", "g", group="v") for i in (1, 2)]
    objects = [*NODES, node("n3"), done, *pods, *GANG, IDLE]
    assert judged([*objects, pod_group("v", 1)], evicting(*two)) == []
    assert judged([*objects, pod_group("v", 2)], evicting(*two)) == [4], "they are one unit now"


def test_a_basic_group_is_single_pods() -> None:
    pods = [pod(f"v{i}", "4", on=f"n{i}", priority=1, group="v") for i in (1, 2, 3)]
    basic = pod_group("v", 1)
    basic["spec"]["schedulingPolicy"] = {"basic": {}}
    objects = [*NODES, node("n3"), *pods, basic, *GANG, IDLE]
    assert judged(objects, evicting(*(eviction(f"v{i}", "g", group="v") for i in (1, 2)))) == []


@pytest.mark.parametrize(("mode", "whole"), [({"all": {}}, True), ({"single": {}}, False)])
def test_a_composite_may_break_as_a_whole(mode: Raw, whole: bool) -> None:
    above = [
        composite("top", disruptionMode=mode),
        composite("middle", parentCompositePodGroupName="top", disruptionMode={"single": {}}),
    ]
    groups = [pod_group(f"v{i}", 1, parentCompositePodGroupName="middle") for i in (1, 2, 3)]
    pods = [pod(f"p{i}", "4", on=f"n{i}", priority=1, group=f"v{i}") for i in (1, 2, 3)]
    objects = [*NODES, node("n3"), *above, *groups, *pods, *GANG, IDLE]

    def unit(i: int) -> Raw:
        return {"unit": "default/top" if whole else f"default/v{i}"}

    two = [eviction(f"p{i}", "g", group="top", **unit(i)) for i in (1, 2)]
    assert judged(objects, evicting(*two)) == ([4] if whole else [])
    assert judged(objects, evicting(*two, eviction("p3", "g", group="top", **unit(3)))) == (
        [] if whole else [5]
    )


def test_a_unit_goes_for_one_group() -> None:
    """Two preemptors share what breaks as a whole between them."""
    alone = [pod(f"h{i}", "3", priority=10) for i in (1, 2)]
    pods = [pod(f"v{i}", "4", on=f"n{i}", priority=1, group="v") for i in (1, 2)]
    objects = [*NODES, *pods, pod_group("v", 1, disruptionMode={"all": {}}), *alone]
    entries = [entry(f"h{i}", "Preempting", 1, 1, 0, blocker("Affinity", holds=0, needed=1)) for i in (1, 2)]
    twin = plan(
        [],
        entries,
        nominations=[bind(f"h{i}", f"n{i}") for i in (1, 2)],
        evictions=[eviction(f"v{i}", f"h{i}", group="v", unit="default/v") for i in (1, 2)],
    )
    assert judged(objects, settled(twin)) == [4]
    for one in twin["evictions"]:
        one["for"] = "default/h1"
    assert judged(objects, settled(twin)) == [], "the second finds what the first one's victims leave"


def test_an_eviction_names_the_group_of_its_victim() -> None:
    objects = victims(pod_group("v", 1), pod("low1", "4", on="n1", group="v", priority=1))
    twin = settled(PREEMPTING)
    assert judged(objects, twin) == [4]
    twin["evictions"][0]["group"] = "default/v"
    assert judged(objects, twin) == []
    twin["evictions"][1]["group"] = "default/low2"
    assert judged(objects, twin) == []


def test_a_group_that_nobody_touches_is_not_split() -> None:
    whole = pod_group("w", 1, disruptionMode={"all": {}})
    others = [pod(f"w{i}", "0", on=f"n{i}", priority=1, group="w") for i in (1, 2)]
    assert judged([*OBJECTS, whole, *others], settled(PREEMPTING)) == []


def test_other_causes_break_no_unit_either() -> None:
    whole = pod_group("w", 1, disruptionMode={"all": {}})
    others = [pod(f"w{i}", "0", on=f"n{i}", priority=1, group="w") for i in (1, 2)]
    objects = [*OBJECTS, whole, *others]
    sick = [eviction(f"w{i}", "g", cause="Healing", group="w") for i in (1, 2)]
    twin = evicting(*PREEMPTING["evictions"], sick[0])
    assert judged(objects, twin) == [4]
    assert judged(objects, evicting(*PREEMPTING["evictions"], *sick)) == []
