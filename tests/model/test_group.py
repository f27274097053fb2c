"""Groups from every shape they come in, as one model."""

import msgspec
import pytest

from maitred.model.group import Group, PodGroup, group_from_marks, group_from_pod_group, marks_of
from maitred.model.membership import group_key
from maitred.model.pod import Pod
from maitred.model.priority import PriorityClass, Rank, rank_of
from tests.oracle.builders import GROUP, MIN_COUNT, TOPOLOGY, Obj, gang, pod, pod_group, priority_class

PREFERRED = "maitred.dev/topology-preferred"
SLICE_SIZE = "maitred.dev/slice-size"
SLICE_LEVEL = "maitred.dev/slice-topology"
APIS = ("v1alpha2", "v1alpha3", "v1beta1")


def read(raw: Obj) -> Group:
    return group_from_pod_group(msgspec.convert(raw, PodGroup))


# ---- PodGroups


@pytest.mark.parametrize("api", APIS)
def test_a_gang(api: str) -> None:
    group = read(pod_group("g", 4, api=api, namespace="ml"))
    assert (group.key, group.quorum, group.gang, group.exists) == ("ml/g", 4, True, True)
    assert (group.problems, group.warnings, group.parent) == ((), (), "")


@pytest.mark.parametrize("api", APIS)
def test_a_basic_group(api: str) -> None:
    group = read(pod_group("g", api=api))
    assert (group.quorum, group.gang) == (1, False)


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(("mode", "right"), [(None, "Pod"), ("single", "Pod"), ("all", "PodGroup")])
def test_the_disruption_mode_of_every_version(api: str, mode: str | None, right: str) -> None:
    assert read(pod_group("g", 2, api=api, disruption=mode)).disruption == right


@pytest.mark.parametrize("api", APIS)
def test_the_required_level(api: str) -> None:
    assert read(pod_group("g", 2, "rack", api=api)).topology.required == "rack"


@pytest.mark.parametrize("api", APIS)
def test_rank(api: str) -> None:
    group = read(pod_group("g", 2, api=api, priority=7, priority_class="high", preemption="Never"))
    assert (group.priority, group.priority_class_name, group.preemption_policy) == (7, "high", "Never")


def test_a_parent_is_in_the_same_namespace() -> None:
    spec = {"parentCompositePodGroupName": "root", "workloadRef": {"workloadName": "w", "templateName": "t"}}
    assert read(pod_group("g", 2, namespace="ml", spec=spec)).parent == "ml/root"


def test_min_member_is_a_shorthand_for_a_gang() -> None:
    raw = pod_group("g")
    raw["spec"] = {"minMember": 8}
    group = read(raw)
    assert (group.quorum, group.gang) == (8, True)
    [warning] = group.warnings
    assert "default/g" in warning
    assert "schedulingPolicy.gang.minCount: 8" in warning


def test_min_member_beside_the_same_min_count_is_no_shorthand() -> None:
    group = read(pod_group("g", 8, spec={"minMember": 8}))
    assert (group.quorum, group.warnings) == (8, ())


def test_a_group_without_a_namespace_is_in_default() -> None:
    raw = pod_group("g", 2)
    del raw["metadata"]["namespace"]
    assert read(raw).key == "default/g"


def test_annotations_of_a_pod_group() -> None:
    marks = {PREFERRED: "rack, zone", SLICE_SIZE: "4", SLICE_LEVEL: "rack", TOPOLOGY: "zone"}
    request = read(pod_group("g", 8, annotations=marks)).topology
    assert (request.required, request.preferred) == ("zone", ("rack", "zone"))
    assert (request.slice_size, request.slice_level) == (4, "rack")


PROBLEMS: dict[str, Obj] = {
    "a count that contradicts": {MIN_COUNT: "3"},
    "a slice without a level": {SLICE_SIZE: "4"},
    "a level without a slice": {SLICE_LEVEL: "rack"},
    "a slice of nothing": {SLICE_SIZE: "0", SLICE_LEVEL: "rack"},
    "an empty level": {PREFERRED: "rack,"},
    "a level twice": {PREFERRED: "rack,rack"},
}


@pytest.mark.parametrize("marks", PROBLEMS.values(), ids=PROBLEMS.keys())
def test_annotations_that_make_no_sense(marks: Obj) -> None:
    assert len(read(pod_group("g", 2, annotations=marks)).problems) == 1


# ---- marks on pods


def marked(*annotations: Obj) -> Group:
    pods = [msgspec.convert(pod("p", annotations=marks), Pod) for marks in annotations]
    return group_from_marks("default/g", [marks_of(p.metadata) for p in pods])


def test_a_marked_gang() -> None:
    group = marked({GROUP: "g", MIN_COUNT: "3"}, {GROUP: "g", MIN_COUNT: "3"})
    assert (group.key, group.quorum, group.gang, group.problems) == ("default/g", 3, True, ())


def test_a_marked_basic_group() -> None:
    group = marked({GROUP: "g"}, {GROUP: "g"})
    assert (group.quorum, group.gang, group.problems) == (1, False, ())


def test_a_count_that_some_members_leave_out() -> None:
    group = marked({MIN_COUNT: "3"}, {})
    assert (group.quorum, group.problems) == (3, ())


@pytest.mark.parametrize("count", ["", "0", "-3", "+3", "three", "3.0", " 3", "1e1", "²", "1000001"])
def test_a_count_that_is_none(count: str) -> None:
    [problem] = marked({MIN_COUNT: count}).problems
    assert MIN_COUNT in problem


def test_members_that_contradict_each_other() -> None:
    assert any(MIN_COUNT in p for p in marked({MIN_COUNT: "2"}, {MIN_COUNT: "3"}).problems)
    assert any(TOPOLOGY in p for p in marked({TOPOLOGY: "rack"}, {TOPOLOGY: "zone"}).problems)


def test_marks_are_read_the_same_in_any_order() -> None:
    one, other = {MIN_COUNT: "2", TOPOLOGY: "rack"}, {MIN_COUNT: "3"}
    assert marked(one, other) == marked(other, one)


# ---- which group a pod is of


GROUPS: dict[str, tuple[Obj, str | None]] = {
    "a lone pod": (pod("p"), None),
    "a PodGroup": (pod("p", group="g"), "default/g"),
    "a PodGroup of its namespace": (pod("p", group="g", namespace="ml"), "ml/g"),
    "a label": (pod("p", labels=gang("g")), "default/g"),
    "an annotation": (pod("p", annotations=gang("g")), "default/g"),
    "a label before an annotation": (pod("p", labels=gang("g"), annotations=gang("h")), "default/g"),
    "the spec before a label": (pod("p", group="g", labels=gang("h")), "default/g"),
    "an empty schedulingGroup": (pod("p", spec={"schedulingGroup": {}}), None),
}


@pytest.mark.parametrize(("raw", "right"), GROUPS.values(), ids=GROUPS.keys())
def test_the_group_of_a_pod(raw: Obj, right: str | None) -> None:
    assert group_key(msgspec.convert(raw, Pod)) == right


# ---- ranks


CLASSES = {
    raw["metadata"]["name"]: msgspec.convert(raw, PriorityClass)
    for raw in (priority_class("high", 100, preemption="Never"), priority_class("usual", 5, default=True))
}
RANKS: dict[str, tuple[tuple[int | None, str, str], Rank | None]] = {
    "a number": ((7, "", ""), Rank(7)),
    "a class": ((None, "high", ""), Rank(100, "Never")),
    "a number beside a class": ((7, "high", ""), Rank(7, "Never")),
    "a policy beside a class": ((None, "high", "PreemptLowerPriority"), Rank(100)),
    "neither, with a default": ((None, "", ""), Rank(5)),
    "a class that does not exist": ((None, "ghost", ""), None),
    "a system class": ((None, "system-cluster-critical", ""), Rank(2_000_000_000)),
    "a class for nodes": ((None, "system-node-critical", ""), Rank(2_000_001_000)),
}


@pytest.mark.parametrize(("fields", "right"), RANKS.values(), ids=RANKS.keys())
def test_the_rank_that_fields_mean(fields: tuple[int | None, str, str], right: Rank | None) -> None:
    assert rank_of(*fields, CLASSES) == right


def test_without_any_class_the_rank_is_0() -> None:
    assert rank_of(None, "", "", {}) == Rank(0)


def test_of_several_defaults_the_lowest_counts() -> None:
    classes = {
        name: msgspec.convert(priority_class(name, value, default=True), PriorityClass)
        for name, value in (("a", 9), ("b", 3))
    }
    assert rank_of(None, "", "", classes) == Rank(3)
