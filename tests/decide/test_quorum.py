"""Who counts for a quorum, who belongs to a group, and which members are seated when not all fit."""

import pytest

from tests.decide.reading import categories, detail, entry, first, has, seated, verdict
from tests.oracle.builders import GROUP, INDEX, MIN_COUNT, Obj, gang, node, pod, pod_group, pods
from tests.support import decide


def numbers(plan: Obj, group: str = "g") -> tuple[int, int, int]:
    told = entry(plan, group)
    return told["members"], told["quorum"], told["placed"]


# ---- who counts


def with_former(state: Obj, waiting: int = 2, quorum: int = 3, cpu: int = 8) -> Obj:
    """A gang of which one member is in some state already and the others wait."""
    return decide(
        [
            node("n1", cpu=cpu),
            pod_group("g", quorum),
            pod("old", 1, group="g", **state),
            *pods("g", waiting, 1, group="g"),
        ]
    )


COUNTED: dict[str, Obj] = {
    "running": {"node": "n1"},
    "succeeded": {"phase": "Succeeded", "node": "n1"},
    "succeeded without a node on record": {"phase": "Succeeded"},
    "succeeded and being deleted": {"phase": "Succeeded", "node": "n1", "deleted": True},
}


@pytest.mark.parametrize("state", COUNTED.values(), ids=COUNTED.keys())
def test_members_that_run_or_have_succeeded_count(state: Obj) -> None:
    plan = with_former(state)
    assert (verdict(plan), seated(plan)) == ("Scheduled", ["g-0", "g-1"])
    assert numbers(plan) == (3, 3, 3)


UNCOUNTED: dict[str, Obj] = {
    "failed": {"phase": "Failed", "node": "n1"},
    "failed and being deleted": {"phase": "Failed", "node": "n1", "deleted": True},
    "terminating": {"node": "n1", "deleted": True},
    "being deleted before it was bound": {"deleted": True},
}


@pytest.mark.parametrize("state", UNCOUNTED.values(), ids=UNCOUNTED.keys())
def test_members_that_failed_or_are_being_deleted_do_not_count(state: Obj) -> None:
    plan = with_former(state)
    assert (verdict(plan), seated(plan), first(plan)) == ("Waiting", [], "Members")
    assert detail(plan, "Members") == {"created": 2, "quorum": 3}
    assert numbers(plan) == (3, 3, 0)


@pytest.mark.parametrize("state", UNCOUNTED.values(), ids=UNCOUNTED.keys())
def test_a_replacement_makes_up_for_a_member_that_does_not_count(state: Obj) -> None:
    plan = with_former(state, waiting=3)
    assert (verdict(plan), seated(plan)) == ("Scheduled", ["g-0", "g-1", "g-2"])
    assert numbers(plan) == (4, 3, 3)


HOLDING: dict[str, tuple[Obj, bool]] = {
    "running": ({"node": "n1"}, True),
    "terminating": ({"node": "n1", "deleted": True}, True),
    "being deleted before it was bound": ({"deleted": True}, False),
    "succeeded": ({"node": "n1", "phase": "Succeeded"}, False),
    "failed": ({"node": "n1", "phase": "Failed"}, False),
    "of unknown phase": ({"node": "n1", "phase": "Unknown"}, True),
    "bound and not started": ({"node": "n1", "phase": "Pending"}, True),
}


@pytest.mark.parametrize(("state", "holds"), HOLDING.values(), ids=HOLDING.keys())
def test_pods_hold_their_room_until_they_are_finished(state: Obj, holds: bool) -> None:
    plan = decide([node("n1", cpu=2), pod("old", 1, **state), pod("g", 2)])
    assert (verdict(plan), first(plan)) == (("Waiting", "Capacity") if holds else ("Scheduled", None))


def test_the_quorum_may_be_made_of_all_three_kinds() -> None:
    plan = decide(
        [
            node("n1", cpu=2),
            pod_group("g", 3),
            pod("g-done", 1, group="g", phase="Succeeded", node="n1"),
            pod("g-runs", 1, group="g", node="n1"),
            pod("g-waits", 1, group="g"),
        ]
    )
    assert (verdict(plan), seated(plan), numbers(plan)) == ("Scheduled", ["g-waits"], (3, 3, 3))


def test_a_quorum_that_has_succeeded_lets_late_members_come_one_by_one() -> None:
    done = pods("g", 2, 1, group="g", phase="Succeeded", node="n1")
    plan = decide([node("n1", cpu=1), pod_group("g", 2), *done, *pods("g", 2, 1, group="g", start=2)])
    assert (verdict(plan), seated(plan), numbers(plan)) == ("Scheduled", ["g-2"], (4, 2, 3))


def test_a_gang_is_not_split_while_its_quorum_is_short() -> None:
    """One of three runs; of the two that are missing only one fits."""
    plan = decide(
        [
            node("n1", cpu=2),
            pod_group("g", 3),
            pod("g-runs", 1, group="g", node="n1"),
            *pods("g", 2, 1, group="g"),
        ]
    )
    assert (verdict(plan), seated(plan), numbers(plan)) == ("Impossible", [], (3, 3, 1))
    assert has(detail(plan, "Capacity"), requested="2", free="1", holds=1, needed=2)


def test_a_group_without_waiting_members_is_not_spoken_of() -> None:
    plan = decide(
        [
            node("n1"),
            pod_group("g", 3),
            pod("g-0", 1, group="g", node="n1"),
            pod("g-1", 1, group="g", deleted=True),
            pod("lone", 1, node="n1"),
            pod("done", 1, phase="Succeeded"),
        ]
    )
    assert plan["groups"] == plan["binds"] == []


def test_a_late_member_that_does_not_fit_leaves_its_group_scheduled() -> None:
    running = pods("g", 2, 1, group="g", node="n1")
    plan = decide([node("n1", cpu=2), pod_group("g", 2), *running, pod("late", 1, group="g")])
    assert (verdict(plan), numbers(plan), first(plan)) == ("Scheduled", (3, 2, 2), "Capacity")


def test_one_gated_member_keeps_late_members_out() -> None:
    running = pods("g", 2, 1, group="g", node="n1")
    late = [pod("late-0", 1, group="g"), pod("late-1", 1, group="g", gates=["example.com/wait"])]
    plan = decide([node("n1"), pod_group("g", 2), *running, *late])
    assert (verdict(plan), seated(plan), categories(plan)) == ("Scheduled", [], ["Gated"])


def test_a_gate_on_a_member_that_no_longer_waits_gates_nobody() -> None:
    gone = pod("gone", 1, group="g", gates=["example.com/wait"], deleted=True)
    plan = decide([node("n1"), pod_group("g", 2), gone, *pods("g", 2, 1, group="g")])
    assert seated(plan) == ["g-0", "g-1"]


# ---- surplus, and who goes first


def test_as_many_members_are_seated_as_fit() -> None:
    plan = decide([node("n1", cpu=4), pod_group("g", 2), *pods("g", 5, 1, group="g")])
    assert (verdict(plan), seated(plan)) == ("Scheduled", ["g-0", "g-1", "g-2", "g-3"])
    assert (numbers(plan), first(plan)) == ((5, 2, 4), "Capacity")


def test_the_quorum_just_fits() -> None:
    plan = decide([node("n1", cpu=2), pod_group("g", 2), *pods("g", 5, 1, group="g")])
    assert seated(plan) == ["g-0", "g-1"]


def test_the_quorum_just_misses() -> None:
    plan = decide([node("n1", cpu="1999m"), pod_group("g", 2), *pods("g", 5, 1, group="g")])
    assert seated(plan) == []


def lowest_two(*members: Obj) -> list[str]:
    return seated(decide([node("n1", cpu=2), pod_group("g", 2), *members]))


def member(name: str, index: str | None = None, created: int | None = None, key: str = INDEX) -> Obj:
    labels = {} if index is None else {key: index}
    return pod(name, 1, group="g", labels=labels, created=created)


def test_the_lowest_index_is_seated_first() -> None:
    assert lowest_two(member("a", "10"), member("b", "9"), member("c", "2", created=99)) == ["b", "c"]


def test_members_without_an_index_come_after_those_with_one() -> None:
    assert lowest_two(member("a", created=1), member("b", "7", created=2), member("c", "5")) == ["b", "c"]


def test_without_an_index_the_oldest_are_seated_first() -> None:
    assert lowest_two(member("a", created=3), member("b", created=1), member("c", created=2)) == ["b", "c"]


def test_members_without_a_creation_time_come_last() -> None:
    assert lowest_two(member("a"), member("b", created=1), member("c", created=2)) == ["b", "c"]


def test_of_equal_age_the_first_by_name_are_seated_first() -> None:
    assert lowest_two(member("c", created=1), member("b", created=1), member("a", created=1)) == ["a", "b"]


def test_of_equal_index_the_oldest_are_seated_first() -> None:
    members = [member("a", "0", created=3), member("b", "0", created=1), member("c", "0", created=2)]
    assert lowest_two(*members) == ["b", "c"]


INDEX_KEYS = [
    "batch.kubernetes.io/job-completion-index",
    "apps.kubernetes.io/pod-index",
    "training.kubeflow.org/replica-index",
    "leaderworkerset.sigs.k8s.io/worker-index",
]


@pytest.mark.parametrize("key", INDEX_KEYS)
def test_the_index_is_read_from_the_labels_of_each_controller(key: str) -> None:
    assert lowest_two(*(member(name, i, key=key) for name, i in zip("abc", "210", strict=True))) == ["b", "c"]


@pytest.mark.parametrize("key", INDEX_KEYS)
def test_the_index_is_read_from_annotations_too(key: str) -> None:
    members = [pod(name, 1, group="g", annotations={key: i}) for name, i in zip("abc", "210", strict=True)]
    assert lowest_two(*members) == ["b", "c"]


def test_an_index_that_is_no_number_is_none() -> None:
    assert lowest_two(member("a", "x"), member("b", "1"), member("c", "0")) == ["b", "c"]


# ---- several shapes


def test_any_subset_of_the_quorum_will_do() -> None:
    """The member with the lowest index does not fit; the other two are a quorum."""
    large, small = pod("g-0", 8, group="g", index=0), pods("g", 2, 1, group="g", start=1)
    plan = decide([node("n1", cpu=4), pod_group("g", 2), large, *small])
    assert (verdict(plan), seated(plan)) == ("Scheduled", ["g-1", "g-2"])


def test_shapes_share_the_room_so_that_most_fit() -> None:
    """Either the large member or the three small ones: the more members the better."""
    large, small = pod("g-0", 3, group="g", index=0), pods("g", 3, 1, group="g", start=1)
    plan = decide([node("n1", cpu=3), pod_group("g", 1), large, *small])
    assert seated(plan) == ["g-1", "g-2", "g-3"]


def test_a_leader_and_workers_of_different_kinds_are_seated_together() -> None:
    nodes = [node("cpu", cpu=4), node("gpu", cpu=8, gpu=8)]
    leader, workers = pod("lead", 4, group="g"), pods("work", 2, 1, gpu=4, group="g")
    plan = decide([*nodes, pod_group("g", 3), leader, *workers])
    assert seated(plan) == ["lead", "work-0", "work-1"]


def test_a_puzzle_of_shapes_is_solved() -> None:
    """6+4 and 5+5: putting the largest on the first node that takes them leaves one out."""
    sizes = {"a": 6, "b": 5, "c": 5, "d": 4}
    members = [pod(name, size, group="g") for name, size in sizes.items()]
    plan = decide([node("n1", cpu=10), node("n2", cpu=10), pod_group("g", 4), *members])
    assert seated(plan) == ["a", "b", "c", "d"]


def test_none_of_a_mixed_gang_is_seated_when_its_quorum_does_not_fit() -> None:
    members = [pod("big", 4, group="g"), *pods("g", 2, 1, group="g")]
    plan = decide([node("n1", cpu=5), pod_group("g", 3), *members])
    assert (verdict(plan), seated(plan)) == ("Impossible", [])


# ---- basic groups


def test_a_basic_group_is_seated_as_far_as_it_fits() -> None:
    plan = decide([node("n1", cpu=2), pod_group("g"), *pods("g", 3, 1, group="g")])
    assert (verdict(plan), seated(plan), numbers(plan)) == ("Scheduled", ["g-0", "g-1"], (3, 1, 2))


def test_a_basic_group_of_which_nobody_fits_waits() -> None:
    plan = decide([node("n1", cpu=1), pod("old", 1, node="n1"), pod_group("g"), *pods("g", 3, 1, group="g")])
    assert (verdict(plan), seated(plan), first(plan)) == ("Waiting", [], "Capacity")


# ---- groups by marks, shorthand and lone pods


def marked(count: int, labels: Obj, annotations: Obj, cpu: int = 2) -> Obj:
    return decide([node("n1", cpu=cpu), *pods("g", count, 1, labels=labels, annotations=annotations)])


MARKS: dict[str, tuple[Obj, Obj]] = {
    "labels": (gang("g", 3), {}),
    "annotations": ({}, gang("g", 3)),
    "a label and an annotation": ({GROUP: "g"}, {MIN_COUNT: "3"}),
    "an annotation and a label": ({MIN_COUNT: "3"}, {GROUP: "g"}),
}


@pytest.mark.parametrize(("labels", "annotations"), MARKS.values(), ids=MARKS.keys())
def test_pods_name_their_group_by(labels: Obj, annotations: Obj) -> None:
    short, whole = marked(3, labels, annotations), marked(3, labels, annotations, cpu=3)
    assert (seated(short), numbers(short)) == ([], (3, 3, 0))
    assert (seated(whole), numbers(whole)) == (["g-0", "g-1", "g-2"], (3, 3, 3))


def test_a_group_by_mark_without_a_count_is_basic() -> None:
    plan = marked(3, {GROUP: "g"}, {})
    assert (verdict(plan), seated(plan), numbers(plan)) == ("Scheduled", ["g-0", "g-1"], (3, 1, 2))


def test_one_member_may_name_the_count_for_all() -> None:
    members = [pod("g-0", 1, labels=gang("g", 3)), *pods("g", 2, 1, labels={GROUP: "g"}, start=1)]
    plan = decide([node("n1", cpu=2), *members])
    assert (verdict(plan), seated(plan), numbers(plan)) == ("Impossible", [], (3, 3, 0))


def test_a_group_by_mark_waits_for_its_members() -> None:
    plan = marked(2, gang("g", 3), {})
    assert detail(plan, "Members") == {"created": 2, "quorum": 3}


def test_marks_of_one_name_in_two_namespaces_are_two_groups() -> None:
    one, two = (pods("p", 1, 1, labels=gang("g", 2), namespace=space) for space in ("a", "b"))
    plan = decide([node("n1"), *one, *two])
    assert [told["group"] for told in plan["groups"]] == ["a/g", "b/g"]
    assert seated(plan) == []


def test_a_pod_group_is_found_in_the_namespace_of_the_pod_only() -> None:
    plan = decide([node("n1"), pod_group("g", 1, namespace="other"), pod("g-0", 1, group="g")])
    assert (verdict(plan), first(plan)) == ("Waiting", "Members")


def test_a_count_on_pods_that_contradicts_their_pod_group_makes_it_invalid() -> None:
    def planned(count: str) -> Obj:
        members = pods("g", 2, 1, group="g", labels={MIN_COUNT: count})
        return decide([node("n1"), pod_group("g", 2), *members])

    assert (seated(planned("2")), numbers(planned("2"))) == (["g-0", "g-1"], (2, 2, 2))
    plan = planned("5")
    assert (verdict(plan), seated(plan)) == ("Invalid", [])
    message = entry(plan)["blockers"][0]["message"]
    assert "PodGroup group default/g has a quorum of 2" in message
    assert f"{MIN_COUNT} says 5" in message


def test_a_lone_pod_is_a_group_of_one() -> None:
    plan = decide([node("n1"), pod("p", 1)])
    assert plan["binds"] == [{"pod": "default/p", "uid": "default-p", "node": "n1", "group": "default/p"}]
    assert numbers(plan, "p") == (1, 1, 1)


def test_a_lone_pod_has_a_quorum_of_one_whatever_count_it_carries() -> None:
    """A count without a group says nothing: nobody else could ever join."""
    plan = decide([node("n1"), pod("p", 1, labels={MIN_COUNT: "3"})])
    assert (seated(plan), numbers(plan, "p")) == (["p"], (1, 1, 1))


def test_min_member_is_read_as_a_gang_and_said_to_be_a_shorthand() -> None:
    group = pod_group("g")
    group["spec"] = {"minMember": 3}
    short = decide([node("n1", cpu=2), group, *pods("g", 3, 1, group="g")])
    whole = decide([node("n1", cpu=3), group, *pods("g", 3, 1, group="g")])
    assert (seated(short), numbers(short)) == ([], (3, 3, 0))
    assert (seated(whole), numbers(whole)) == (["g-0", "g-1", "g-2"], (3, 3, 3))
    [warning] = whole["warnings"]
    assert "minMember" in warning
    assert "schedulingPolicy.gang.minCount: 3" in warning


def test_only_groups_whose_waiting_members_name_the_scheduler_are_decided() -> None:
    objects = [
        node("n1"),
        pod("ours", 1, scheduler="maitred"),
        pod("theirs", 1),
        pod_group("g", 1),
        pod("g-0", 1, group="g", node="n1", scheduler="maitred"),
        pod("g-1", 1, group="g", scheduler="maitred"),
    ]
    assert seated(decide(objects, scheduler="maitred")) == ["g-1", "ours"]
    assert seated(decide(objects, scheduler="default-scheduler")) == ["theirs"]
    assert seated(decide(objects)) == ["g-1", "ours", "theirs"]
    assert decide(objects, scheduler="nobody")["groups"] == []
