"""What makes a group Invalid, and beside each cause the near case that does not."""

from typing import Any

import pytest

from tests.decide.reading import categories, entry, seated, verdict
from tests.oracle.builders import (
    GROUP,
    MIN_COUNT,
    TOPOLOGY,
    Obj,
    gang,
    node,
    pod,
    pod_group,
    pods,
    priority_class,
)
from tests.support import decide

PREFERRED = "maitred.dev/topology-preferred"
SLICE_SIZE = "maitred.dev/slice-size"
SLICE_LEVEL = "maitred.dev/slice-topology"

CLUSTER = [
    node("n1", cpu=8, rack="r1", zone="z1"),
    priority_class("high", 100),
    priority_class("meek", 100, preemption="Never"),
]
LEVELS: Obj = {
    "topology": {
        "levels": [
            {"name": "zone", "key": "topology.kubernetes.io/zone"},
            {"name": "rack", "key": "example.com/rack"},
        ]
    }
}


def group_of(*members: Obj, **fields: Any) -> list[Obj]:
    """A gang of two with these members."""
    return [pod_group("g", 2, **fields), *(pod(f"g-{i}", 1, group="g", **m) for i, m in enumerate(members))]


def annotated(annotations: Obj, topology: str | None = None) -> list[Obj]:
    return [pod_group("g", 2, topology, annotations=annotations), *pods("g", 2, 1, group="g")]


def marked(*annotations: Obj) -> list[Obj]:
    """Members that say themselves what group they are of."""
    return [pod(f"g-{i}", 1, annotations={GROUP: "g", **more}) for i, more in enumerate(annotations)]


RUNS: Obj = {"node": "n1"}
DONE: Obj = {"phase": "Succeeded", "node": "n1"}
LOST: Obj = {"phase": "Failed", "node": "n1"}
DYING: Obj = {"node": "n1", "deleted": True}

INVALID: dict[str, tuple[list[Obj], str]] = {
    "members name different schedulers": (group_of({"scheduler": "a"}, {"scheduler": "b"}), "scheduler"),
    "one member leaves the scheduler to the default": (group_of({}, {"scheduler": "b"}), "scheduler"),
    "a running member names another scheduler": (
        group_of({}, {}, {"scheduler": "b", **RUNS}),
        "scheduler",
    ),
    "a terminating member names another scheduler": (
        group_of({}, {}, {"scheduler": "b", **DYING}),
        "scheduler",
    ),
    "members of a marked group name different schedulers": (
        [pod("g-0", 1, labels=gang("g", 2)), pod("g-1", 1, labels=gang("g", 2), scheduler="b")],
        "scheduler",
    ),
    "members differ in priority": (group_of({"priority": 1}, {"priority": 2}), "priorit"),
    "one member has a priority, the other none": (group_of({"priority": 1}, {}), "priorit"),
    "a running member differs in priority": (group_of({}, {}, {"priority": 2, **RUNS}), "priorit"),
    "a terminating member differs in priority": (group_of({}, {}, {"priority": 2, **DYING}), "priorit"),
    "the group has another priority": (group_of({"priority": 1}, {"priority": 1}, priority=2), "priorit"),
    "the group has a priority, its members none": (group_of({}, {}, priority=2), "priorit"),
    "the group has another priority class": (
        group_of({"priority": 1}, {"priority": 1}, priority_class="high"),
        "priorit",
    ),
    "a member names a class that does not exist": (
        group_of({"priority_class": "ghost"}, {"priority_class": "ghost"}),
        "ghost",
    ),
    "the group names a class that does not exist": (group_of({}, {}, priority_class="ghost"), "ghost"),
    "a lone pod names a class that does not exist": ([pod("g", 1, priority_class="ghost")], "ghost"),
    "members differ in preemption policy": (
        group_of({"preemption": "Never"}, {"preemption": "PreemptLowerPriority"}),
        "preemption",
    ),
    "one member has a preemption policy other than the default": (
        group_of({"preemption": "Never"}, {}),
        "preemption",
    ),
    "the classes of members differ in preemption policy": (
        group_of({"priority_class": "high"}, {"priority_class": "meek"}),
        "preemption",
    ),
    "the topology annotation contradicts the spec": (annotated({TOPOLOGY: "zone"}, "rack"), TOPOLOGY),
    "the count annotation contradicts the spec": (annotated({MIN_COUNT: "3"}), MIN_COUNT),
    "the count annotation contradicts a basic group": (
        [pod_group("g", annotations={MIN_COUNT: "2"}), *pods("g", 2, 1, group="g")],
        MIN_COUNT,
    ),
    "its members have different values of the count": (marked({MIN_COUNT: "1"}, {MIN_COUNT: "2"}), MIN_COUNT),
    "its members have different values of the required level": (
        marked({TOPOLOGY: "rack"}, {TOPOLOGY: "zone"}),
        TOPOLOGY,
    ),
    "its members have different values of the preferred levels": (
        marked({PREFERRED: "rack"}, {PREFERRED: "zone"}),
        PREFERRED,
    ),
    "a slice size without a level": (annotated({SLICE_SIZE: "2"}), SLICE_LEVEL),
    "a slice level without a size": (annotated({SLICE_LEVEL: "rack"}), SLICE_SIZE),
    "a slice size of nothing": (annotated({SLICE_SIZE: "0", SLICE_LEVEL: "rack"}), SLICE_SIZE),
    "a slice size that is no number": (annotated({SLICE_SIZE: "two", SLICE_LEVEL: "rack"}), SLICE_SIZE),
    "members that bring a slice size without a level": (
        marked({SLICE_SIZE: "2"}, {SLICE_SIZE: "2"}),
        SLICE_LEVEL,
    ),
    "an empty required level": (annotated({TOPOLOGY: ""}), TOPOLOGY),
    "an empty preferred level": (annotated({PREFERRED: "rack,,zone"}), PREFERRED),
    "a level that is preferred twice": (annotated({PREFERRED: "rack,zone,rack"}), PREFERRED),
}
INVALID |= {
    f"a count of {text!r}": (marked({MIN_COUNT: text}, {MIN_COUNT: text}), MIN_COUNT)
    for text in ("", "0", "-1", "two", "1.5", "2 ", "0x2", "1e1", "٢", "99999999999999999999")
}


@pytest.mark.parametrize(("objects", "word"), INVALID.values(), ids=INVALID.keys())
def test_invalid(objects: list[Obj], word: str) -> None:
    plan = decide([*CLUSTER, *objects])
    assert (verdict(plan), seated(plan)) == ("Invalid", [])
    told = entry(plan)["blockers"]
    assert {blocker["category"] for blocker in told} == {"Request"}
    assert any(word in blocker["detail"]["problem"] for blocker in told), told
    assert all(blocker["message"] for blocker in told)


VALID: dict[str, list[Obj]] = {
    "the default scheduler, named or not": group_of({"scheduler": "default-scheduler"}, {}),
    "a scheduler that a finished member named": group_of({}, {}, {"scheduler": "b", **DONE}),
    "a scheduler that a failed member named": group_of({}, {}, {"scheduler": "b", **LOST}),
    "a priority of 0, written or not": group_of({"priority": 0}, {}),
    "a priority that a finished member had": group_of({}, {}, {"priority": 7, **DONE}),
    "a priority that a failed member had": group_of({}, {}, {"priority": 7, **LOST}),
    "a class that a finished member named": group_of({}, {}, {"priority_class": "ghost", **DONE}),
    "the same priority by number and by class": group_of({"priority": 100}, {"priority_class": "high"}),
    "a group of the same priority as its members": group_of({"priority": 5}, {"priority": 5}, priority=5),
    "a group of the same class as its members": group_of(
        {"priority_class": "high"}, {"priority_class": "high"}, priority_class="high"
    ),
    "a group whose class means the number of its members": group_of(
        {"priority": 100}, {"priority": 100}, priority_class="high"
    ),
    "a built-in class": group_of(*({"priority_class": "system-node-critical"},) * 2),
    "the default preemption policy, written or not": group_of({"preemption": "PreemptLowerPriority"}, {}),
    "a preemption policy by class and by hand": group_of(
        {"priority_class": "meek"}, {"priority": 100, "preemption": "Never"}
    ),
    "the topology annotation agrees with the spec": annotated({TOPOLOGY: "rack"}, "rack"),
    "the count annotation agrees with the spec": annotated({MIN_COUNT: "2"}),
    "the count annotation agrees with a basic group": [
        pod_group("g", annotations={MIN_COUNT: "1"}),
        *pods("g", 2, 1, group="g"),
    ],
    "a count that only one member names": marked({MIN_COUNT: "2"}, {}),
    "a slice size with a level": annotated({SLICE_SIZE: "2", SLICE_LEVEL: "rack"}),
    "levels in turn": annotated({PREFERRED: "rack,zone"}),
    "levels in turn, with spaces": annotated({PREFERRED: "rack, zone"}),
}


@pytest.mark.parametrize("objects", VALID.values(), ids=VALID.keys())
def test_valid(objects: list[Obj]) -> None:
    plan = decide([*CLUSTER, *objects])
    assert (verdict(plan), seated(plan), categories(plan)) == ("Scheduled", ["g-0", "g-1"], [])


def with_levels(annotations: Obj, topology: str | None = None) -> Obj:
    members = pods("g", 2, 1, group="g")
    racked = node("n1", labels={"example.com/rack": "r1"}, zone="z1")
    return decide([racked, pod_group("g", 2, topology, annotations=annotations), *members], LEVELS)


CONTRADICTING: dict[str, tuple[Obj, str | None]] = {
    "slices wider than the required level": (
        {TOPOLOGY: "rack", SLICE_SIZE: "2", SLICE_LEVEL: "zone"},
        None,
    ),
    "preferred from wide to narrow": ({PREFERRED: "zone,rack"}, None),
    "preferred wider than required": ({TOPOLOGY: "rack", PREFERRED: "zone"}, None),
    "another level by name than by key": ({TOPOLOGY: "zone"}, "example.com/rack"),
}


@pytest.mark.parametrize(("annotations", "topology"), CONTRADICTING.values(), ids=CONTRADICTING.keys())
def test_levels_that_contradict_each_other_are_invalid(annotations: Obj, topology: str | None) -> None:
    assert verdict(with_levels(annotations, topology)) == "Invalid"


AGREEING: dict[str, tuple[Obj, str | None]] = {
    "slices narrower than the required level": (
        {TOPOLOGY: "zone", SLICE_SIZE: "2", SLICE_LEVEL: "rack"},
        None,
    ),
    "slices of the required level": ({TOPOLOGY: "rack", SLICE_SIZE: "2", SLICE_LEVEL: "rack"}, None),
    "preferred from narrow to wide": ({PREFERRED: "rack,zone"}, None),
    "preferred narrower than required": ({TOPOLOGY: "zone", PREFERRED: "rack"}, None),
    "the same level by name and by key": ({TOPOLOGY: "rack"}, "example.com/rack"),
}


@pytest.mark.parametrize(("annotations", "topology"), AGREEING.values(), ids=AGREEING.keys())
def test_levels_that_agree_are_valid(annotations: Obj, topology: str | None) -> None:
    plan = with_levels(annotations, topology)
    assert (verdict(plan), seated(plan)) == ("Scheduled", ["g-0", "g-1"])


def test_an_invalid_group_takes_no_room_from_others() -> None:
    objects = [node("n1", cpu=2), *group_of({"scheduler": "a"}, {"scheduler": "b"}), pod("p", 2, created=9)]
    assert seated(decide(objects)) == ["p"]


def test_invalid_goes_before_every_other_verdict() -> None:
    """Members are missing, one is gated, and none would fit: what has to be put right comes first."""
    members: list[Obj] = [
        {"priority": 1, "gates": ["example.com/wait"]},
        {"priority": 2, "where": {"no": "such"}},
    ]
    objects = [node("n1", cpu=0), *group_of(*members)]
    objects[1]["spec"]["schedulingPolicy"]["gang"]["minCount"] = 3
    plan = decide(objects)
    assert (verdict(plan), categories(plan)) == ("Invalid", ["Request"])


def test_every_cause_is_named() -> None:
    plan = decide([*CLUSTER, *group_of({"scheduler": "a", "priority": 1}, {"scheduler": "b", "priority": 2})])
    problems = " ".join(blocker["detail"]["problem"] for blocker in entry(plan)["blockers"])
    assert "scheduler" in problems
    assert "priorit" in problems
