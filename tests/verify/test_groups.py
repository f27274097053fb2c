"""What is read of a group: who belongs to it, what it counts, and when it is invalid or may be."""

from typing import Any

import pytest

from maitred.verify.group_reading import read_groups
from maitred.verify.groups import Group
from maitred.verify.objects import read_cluster
from maitred.verify.policy import read_policy

from .make import Raw, members, pod, pod_group, priority_class

GONE = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
DONE = {"phase": "Succeeded"}
INDEX = "batch.kubernetes.io/job-completion-index"


def read(*objects: Raw, policy: Raw | None = None) -> list[Group]:
    rules = read_policy(policy)
    return read_groups(read_cluster(objects), rules)


def the_group(*objects: Raw, policy: Raw | None = None) -> Group:
    [group] = read(*objects, policy=policy)
    return group


def test_each_pod_is_in_one_group() -> None:
    mark = {"maitred.dev/group": "l"}
    groups = read(
        pod_group("g", 2),
        pod("a", group="g", labels=mark),
        pod("b", labels=mark),
        pod("c", annotations=mark),
        pod("d"),
        pod("e", labels=mark, namespace="other"),
    )
    found = {group.key: [member.key for member in group.members] for group in groups}
    assert found == {
        "default/g": ["default/a"],
        "default/l": ["default/b", "default/c"],
        "default/d": ["default/d"],
        "other/l": ["other/e"],
    }


def test_the_label_goes_before_the_annotation() -> None:
    both = pod("a", labels={"maitred.dev/group": "l"}, annotations={"maitred.dev/group": "m"})
    assert the_group(both).key == "default/l"


def test_counts() -> None:
    group = the_group(
        pod_group("g", 5),
        pod("runs", group="g", on="n"),
        pod("leaves", group="g", on="n", **GONE),
        pod("done", group="g", on="n", **DONE),
        pod("done-and-gone", group="g", on="n", **DONE, **GONE),
        pod("failed", group="g", on="n", phase="Failed"),
        pod("waits", group="g"),
        pod("waits-and-leaves", group="g", **GONE),
        pod("gated", group="g", schedulingGates=[{"name": "x"}]),
    )
    assert (len(group.members), group.counted, group.created, group.needed, group.gated) == (8, 3, 5, 2, 1)


def test_a_missing_group() -> None:
    group = the_group(pod("a", group="g"))
    assert (group.missing, group.quorum, group.needed) == (True, None, None)


def test_member_order() -> None:
    def at(hour: int) -> str:
        return f"2026-01-01T{hour:02}:00:00Z"

    group = the_group(
        pod_group("g", 1),
        pod("z-new", group="g", creationTimestamp=at(9)),
        pod("a-unknown", group="g"),
        pod("y-old", group="g", creationTimestamp=at(8)),
        pod("b-old", group="g", creationTimestamp=at(8)),
        pod("tenth", group="g", labels={INDEX: "10"}, creationTimestamp=at(1)),
        pod("second", group="g", annotations={INDEX: "2"}, creationTimestamp=at(9)),
    )
    names = [member.name for member in group.members]
    assert names == ["second", "tenth", "b-old", "y-old", "z-new", "a-unknown"]


@pytest.mark.parametrize(
    "key",
    [
        INDEX,
        "apps.kubernetes.io/pod-index",
        "training.kubeflow.org/replica-index",
        "leaderworkerset.sigs.k8s.io/worker-index",
    ],
)
def test_index_labels(key: str) -> None:
    group = the_group(pod_group("g", 1), pod("a", group="g", labels={key: "7"}))
    assert group.members[0].index == 7


def test_slices_by_index_and_by_place() -> None:
    marks = {"maitred.dev/slice-size": "2", "maitred.dev/slice-topology": "rack"}
    group = pod_group("g", 1, annotations=marks)
    indexed = [pod(f"p{i}", group="g", labels={INDEX: str(i)}) for i in (0, 3, 5)]
    by_index = the_group(group, *indexed)
    assert [by_index.slice_of(member) for member in by_index.members] == [0, 1, 2]
    by_place = the_group(group, *indexed, pod("x", group="g"))
    assert [by_place.slice_of(member) for member in by_place.members] == [0, 0, 1, 1]


@pytest.mark.parametrize(
    ("marks", "size", "problems", "doubts"),
    [
        ({"maitred.dev/slice-size": "2", "maitred.dev/slice-topology": "rack"}, 2, 0, 0),
        ({"maitred.dev/slice-size": "1", "maitred.dev/slice-topology": "rack"}, 1, 0, 0),
        ({"maitred.dev/slice-size": "0", "maitred.dev/slice-topology": "rack"}, 0, 1, 0),
        ({"maitred.dev/slice-size": "two", "maitred.dev/slice-topology": "rack"}, 0, 1, 0),
        ({"maitred.dev/slice-size": "2"}, 0, 1, 0),
        ({"maitred.dev/slice-topology": "rack"}, 0, 1, 0),
    ],
)
def test_slice_annotations(marks: Raw, size: int, problems: int, doubts: int) -> None:
    levels = {"topology": {"levels": [{"name": "block", "key": "block"}, {"name": "rack", "key": "rack"}]}}
    whole = pod_group("g", 1, annotations=marks, schedulingConstraints={"topology": [{"key": "block"}]})
    group = the_group(whole, pod("a", group="g"), policy=levels)
    assert (group.slice_size, len(group.problems), len(group.doubts)) == (size, problems, doubts)


@pytest.mark.parametrize("where", ["labels", "annotations"])
def test_marks_of_lone_pods_count(where: str) -> None:
    marks: Raw = {where: {"maitred.dev/topology-required": "rack"}}
    group = the_group(pod("a", **marks))
    assert group.topology == "rack"


@pytest.mark.parametrize(
    ("levels", "problems", "doubts"), [("block rack", 0, 0), ("rack block", 1, 0), ("", 0, 1)]
)
def test_slices_wider_than_the_group(levels: str, problems: int, doubts: int) -> None:
    """Which of two levels is the wider one only the policy knows."""
    policy = {"topology": {"levels": [{"name": name, "key": name} for name in levels.split()]}}
    marks = {"maitred.dev/slice-size": "2", "maitred.dev/slice-topology": "rack"}
    marks["maitred.dev/topology-required"] = "block"
    group = the_group(pod_group("g", 1, annotations=marks), pod("a", group="g"), policy=policy)
    assert (len(group.problems), len(group.doubts)) == (problems, doubts)


def test_what_may_be_wrong_with_preferred_levels_is_not_judged() -> None:
    marks = {"maitred.dev/topology-preferred": "rack,rack"}
    group = the_group(pod_group("g", 1, annotations=marks), pod("a", group="g"))
    assert (group.problems, len(group.doubts)) == ([], 1)


@pytest.mark.parametrize(("other", "doubts"), [("g", 0), ("h", 1)])
def test_a_member_that_names_another_group_as_well(other: str, doubts: int) -> None:
    group = the_group(pod_group("g", 1), pod("a", group="g", labels={"maitred.dev/group": other}))
    assert (len(group.problems), len(group.doubts)) == (doubts, doubts)


def test_annotations_of_members_of_a_pod_group_do_not() -> None:
    group = the_group(
        pod_group("g", 1), pod("a", group="g", annotations={"maitred.dev/topology-required": "rack"})
    )
    assert group.topology == ""


def said(value: str | None, **more: Any) -> Raw:
    marks = {"maitred.dev/group": "g"} | ({"maitred.dev/min-count": value} if value else {})
    return pod(f"p{value}", labels=marks, **more)


@pytest.mark.parametrize(
    ("pods", "quorum", "problems", "doubts"),
    [
        ([said("2")], 2, 0, 0),
        ([said("1")], 1, 0, 0),
        ([said(None)], 1, 0, 0),
        ([said("0")], None, 1, 0),
        ([said("many")], None, 1, 0),
        ([said("2"), said("3")], 2, 1, 0),
        ([said("2"), said(None)], 2, 0, 1),
        ([said("3"), said("2", **DONE)], 3, 0, 1),
        ([said("3"), said("2", on="n", **GONE)], 3, 0, 1),
        ([said(None), said("2", **DONE)], 2, 0, 1),
    ],
)
def test_what_members_say(pods: list[Raw], quorum: int | None, problems: int, doubts: int) -> None:
    group = the_group(*pods)
    assert (group.quorum, len(group.problems), len(group.doubts)) == (quorum, problems, doubts)


HIGH = priority_class("high", 7, preemptionPolicy="Never")
USUAL = priority_class("usual", 3, globalDefault=True, preemptionPolicy="Never")
TEMPLATE = {"workload": {"workloadName": "w", "podGroupTemplateName": "t"}}
PRIORITIES: dict[str, tuple[list[Raw], int | None, str]] = {
    "none": ([pod("a")], 0, "PreemptLowerPriority"),
    "a number": ([pod("a", priority=4)], 4, "PreemptLowerPriority"),
    "a class": ([HIGH, pod("a", priorityClassName="high")], 7, "Never"),
    "a number goes before its class": ([HIGH, pod("a", priority=4, priorityClassName="high")], 4, "Never"),
    "the default class": ([USUAL, pod("a")], 3, "Never"),
    "not the default class": ([USUAL, HIGH, pod("a", priorityClassName="high")], 7, "Never"),
    "the pod's own policy": (
        [HIGH, pod("a", priorityClassName="high", preemptionPolicy="PreemptLowerPriority")],
        7,
        "PreemptLowerPriority",
    ),
    "a built-in class": (
        [pod("a", priorityClassName="system-cluster-critical")],
        2000000000,
        "PreemptLowerPriority",
    ),
    "an unknown class": ([pod("a", priorityClassName="x")], None, "PreemptLowerPriority"),
    "the group's": (
        [pod_group("g", 1, priority=5), pod("a", group="g", priority=5)],
        5,
        "PreemptLowerPriority",
    ),
    "the group's class": (
        [HIGH, pod_group("g", 1, priorityClassName="high"), pod("a", group="g", priority=7)],
        7,
        "PreemptLowerPriority",
    ),
    "not the group's, since 1.36 wrote it there": (
        [pod_group("g", 1, priority=0, podGroupTemplateRef=TEMPLATE), pod("a", group="g", priority=5)],
        5,
        "PreemptLowerPriority",
    ),
    "the group's, though it comes from a template": (
        [pod_group("g", 1, priority=5, podGroupTemplateRef=TEMPLATE), pod("a", group="g", priority=5)],
        5,
        "PreemptLowerPriority",
    ),
    "all finished": ([pod("a", priority=5, **DONE)], 5, "PreemptLowerPriority"),
}


@pytest.mark.parametrize(("objects", "priority", "policy"), PRIORITIES.values(), ids=PRIORITIES.keys())
def test_priority(objects: list[Raw], priority: int | None, policy: str) -> None:
    group = the_group(*objects)
    assert (group.priority, group.preemption_policy) == (priority, policy)
    assert len(group.problems) == (priority is None)
    assert group.doubts == []


GROUP = pod_group("g", 1)
FIVE = pod("a", group="g", priority=5)
BLANK = pod_group("g", 1, priority=0)
CLASSED = pod_group("g", 1, priority=0, priorityClassName="high", podGroupTemplateRef=TEMPLATE)
DOUBTS: dict[str, tuple[list[Raw], int, int]] = {
    "all agree": ([GROUP, FIVE, pod("b", group="g", priority=5)], 0, 0),
    "the group says 0": ([BLANK, FIVE], 1, 0),
    "the group says 0 and a class": ([HIGH, CLASSED, FIVE], 1, 0),
    "one does not": ([GROUP, FIVE, pod("b", group="g", priority=6)], 1, 0),
    "one that runs does not": ([GROUP, FIVE, pod("b", group="g", priority=6, on="n")], 1, 0),
    "one that is finished does not": ([GROUP, FIVE, pod("b", group="g", priority=6, **DONE)], 0, 0),
    "one that leaves does not": ([GROUP, FIVE, pod("b", group="g", priority=6, on="n", **GONE)], 0, 1),
    "one that leaves has another policy": (
        [GROUP, FIVE, pod("b", group="g", priority=5, preemptionPolicy="Never", on="n", **GONE)],
        0,
        1,
    ),
    "one that leaves agrees": ([GROUP, FIVE, pod("b", group="g", priority=5, on="n", **GONE)], 0, 0),
    "one that leaves has another scheduler": (
        [GROUP, FIVE, pod("b", group="g", priority=5, schedulerName="x", on="n", **GONE)],
        0,
        1,
    ),
    "one that is finished had another scheduler": (
        [GROUP, FIVE, pod("b", group="g", priority=5, schedulerName="x", **DONE)],
        0,
        0,
    ),
    "the group has another policy": ([pod_group("g", 1, preemptionPolicy="Never"), FIVE], 0, 1),
    "the group has the same policy": (
        [pod_group("g", 1, preemptionPolicy="PreemptLowerPriority"), FIVE],
        0,
        0,
    ),
    "all finished, and none agree": (
        [GROUP, *members("g", 1, **DONE), pod("b", group="g", priority=9, preemptionPolicy="Never", **DONE)],
        0,
        0,
    ),
}


@pytest.mark.parametrize(("objects", "problems", "doubts"), DOUBTS.values(), ids=DOUBTS.keys())
def test_problems_and_doubts(objects: list[Raw], problems: int, doubts: int) -> None:
    group = the_group(*objects)
    assert (len(group.problems), len(group.doubts)) == (problems, doubts)


def test_a_topology_said_twice_alike() -> None:
    policy = {"topology": {"levels": [{"name": "cabinet", "key": "rack"}]}}
    marks = {"maitred.dev/topology-required": "cabinet"}
    group = pod_group("g", 1, annotations=marks, schedulingConstraints={"topology": [{"key": "rack"}]})
    assert the_group(group, pod("a", group="g"), policy=policy).problems == []
    assert len(the_group(group, pod("a", group="g")).problems) == 1
