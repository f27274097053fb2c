"""What counts against a node, how much, and what counts against none."""

from typing import Any

import pytest

from tests.decide.healing import train
from tests.decide.lemons import DAY, Story, at, condition, fleet, memory, score, with_lost
from tests.explain.healths import failed
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import decide


def test_a_lost_node_has_failed_once_however_many_groups_it_hurts() -> None:
    story = Story()
    nodes = with_lost(fleet(), "n00", since=at(-5))
    gangs = [
        pod
        for space in ("a", "b", "c")
        for pod in (
            b.pod_group("g", 2, namespace=space),
            *(b.pod(f"g-{i}", namespace=space, group="g", index=i, node=f"n0{i}") for i in range(2)),
        )
    ]
    story.goes_on([*nodes, *gangs], at(0))
    assert story.scores == {"n00": 1.0}
    assert story.of("n00")["evidence"] == ["2026-01-31T12:00:00Z does not answer"]


def test_what_was_counted_is_not_counted_again_while_it_lasts() -> None:
    story = Story()
    for minutes in (0, 1, 59, 61, 300, DAY, 2 * DAY):
        story.goes_on(with_lost(fleet(), "n00", since=at(-5)), at(minutes))
    assert story.scores == {"n00": 1.0}
    assert story.writes == 1


def test_a_node_that_comes_back_within_the_grace_counts_a_little_and_once_an_hour() -> None:
    story = Story()
    for minutes in range(0, 50, 5):
        story.goes_on(with_lost(fleet(), "n00", since=at(minutes)), at(minutes + 0.5))
        story.goes_on(fleet(), at(minutes + 1))
    assert story.scores == {"n00": 0.25}
    assert story.writes == 2  # that it fell silent, and that it answers again
    story.goes_on(with_lost(fleet(), "n00", since=at(90)), at(90.5))
    assert story.scores["n00"] == pytest.approx(0.5, abs=0.01)


def test_a_silent_node_that_is_lost_in_the_end_has_failed_once() -> None:
    story = Story()
    story.goes_on(with_lost(fleet(), "n00", since=at(0)), at(0.5))
    assert story.scores == {"n00": 0.25}
    story.goes_on(with_lost(fleet(), "n00", since=at(0)), at(1.5))
    assert story.scores["n00"] == pytest.approx(1.0, abs=0.001)


def test_an_older_failure_counts_for_less() -> None:
    story = Story()
    story.goes_on(with_lost(fleet(), "n00", since=at(-5)), at(0))
    story.goes_on(fleet(), at(10))
    story.goes_on(with_lost(fleet(), "n00", since=at(7 * DAY)), at(7 * DAY + 2))
    assert story.scores["n00"] == pytest.approx(1.5, abs=0.001)


def test_a_score_that_has_decayed_is_forgotten() -> None:
    assert decide([*fleet(), memory(score("n00", 1.0, "2025-12-01T12:00:00Z"))])["memory"]["scores"] == []
    assert decide([*fleet(), memory(score("n00", 1.0, "2026-01-30T12:00:00Z"))])["memory"] is None


def test_unwell_devices_count_for_the_node_and_for_each_of_themselves() -> None:
    story = Story()
    nodes = fleet()
    nodes[3] = b.node("n03", gpu=8, broken=1)
    story.goes_on(nodes, at(0))
    assert story.scores == {"n03": 1.0}
    assert story.of("n03")["devices"] == [["nvidia.com/gpu", 1.0]]
    story.goes_on(fleet(), at(30))
    story.goes_on(nodes, at(120))
    assert story.scores["n03"] == pytest.approx(2.0, abs=0.01)


def test_a_device_that_its_kubelet_says_is_unhealthy() -> None:
    members = train("n00", "n01", "n02", "n03", quorum=4)
    health = {"resourceID": "GPU-7", "health": "Unhealthy"}
    said = {"name": "main", "allocatedResourcesStatus": [{"name": "nvidia.com/gpu", "resources": [health]}]}
    members[1]["status"]["containerStatuses"] = [{**said, "state": {"running": {}}}]
    plan = decide([*fleet(), *members])
    [one] = plan["memory"]["scores"]
    assert (one["node"], one["score"], one["devices"]) == ("n00", 1.0, [["GPU-7", 1.0]])


def test_a_fault_of_a_device_in_a_condition() -> None:
    story = Story()
    nodes = fleet()
    condition(nodes[2], "GpuNvswitchFatalWatch", at(-1))
    story.goes_on(nodes, at(0))
    assert story.scores == {"n02": 1.0}


@pytest.mark.parametrize(
    ("type", "more"),
    [
        ("MemoryPressure", {}),
        ("DiskPressure", {}),
        ("GpuXidError", {"message": "XID 13 on GPU 0"}),
        ("NobodyKnowsThis", {}),
    ],
)
def test_conditions_that_pods_bring_about_count_against_no_node(type: str, more: Obj) -> None:
    nodes = fleet()
    condition(nodes[2], type, at(-1), **more)
    assert decide(nodes)["memory"] is None


def test_a_node_that_is_worked_at_does_not_fail() -> None:
    nodes = fleet()
    nodes[0] = b.node("n00", gpu=8, ready=False, cordoned=True)
    nodes[0]["status"]["conditions"][0]["lastTransitionTime"] = at(-5)
    assert decide(nodes)["memory"] is None


def test_a_node_that_starts_does_not_fail() -> None:
    nodes = fleet()
    nodes[0] = b.node("n00", gpu=8, ready=False, created=at(-4))
    nodes[0]["status"]["conditions"][0]["lastTransitionTime"] = at(-4)
    assert decide(nodes)["memory"] is None


def test_what_many_nodes_have_at_once_is_no_fault_of_theirs() -> None:
    many = with_lost(fleet(), "n00", "n01", "n02", "n03", since=at(-5))
    assert decide(many)["memory"] is None
    few = with_lost(fleet(), "n00", "n01", "n02", since=at(-5))
    assert len(decide(few)["memory"]["scores"]) == 3


def test_what_most_of_a_rack_has_at_once_is_the_rack() -> None:
    nodes = with_lost(fleet(40), "n00", "n01", "n02", since=at(-5))
    for number, node in enumerate(nodes):
        node["metadata"]["labels"]["rack"] = f"r{number // 4}"
    policy = {"topology": {"levels": [{"name": "rack", "key": "rack"}]}}
    assert decide(nodes, policy)["memory"] is None
    assert len(decide(nodes)["memory"]["scores"]) == 3


def test_a_node_that_was_removed_under_its_pods_has_failed() -> None:
    plan = decide([*fleet(), *train("n00", "n01", "n02", "gone", quorum=4)])
    assert [(one["node"], one["score"]) for one in plan["memory"]["scores"]] == [("gone", 1.0)]


def test_a_clock_that_is_set_back_changes_nothing() -> None:
    story = Story()
    story.goes_on(with_lost(fleet(), "n00", since=at(-600)), at(0))
    story.goes_on(with_lost(fleet(), "n00", since=at(-600)), at(-60))
    assert (story.scores, story.writes) == ({"n00": 1.0}, 1)


def tenants(spaces: str, **more: Any) -> list[Obj]:
    """A group of each, of which a member failed on n00, and another still runs elsewhere."""
    made = list[Obj]()
    for space in spaces:
        made.append(b.pod_group("g", 2, namespace=space))
        made.append(failed("g-0", "n00", 1, at(-1), namespace=space, group="g", index=0))
        made.append(b.pod("g-1", namespace=space, group="g", index=1, node="n01", **more))
    return made


def test_groups_of_three_namespaces_that_fail_there_and_nowhere_else_speak_against_a_node() -> None:
    assert decide([*fleet(), *tenants("ab")])["memory"] is None
    [one] = decide([*fleet(), *tenants("abc")])["memory"]["scores"]
    assert (one["node"], one["score"]) == ("n00", 1.0)
    assert one["evidence"][0].endswith("3 groups of 3 namespaces fail on it and nowhere else")


def test_where_as_many_groups_run_well_the_node_is_not_to_blame() -> None:
    others = [
        pod
        for space in "xyz"
        for pod in (
            b.pod_group("h", 1, namespace=space),
            b.pod("h-0", namespace=space, group="h", index=0, node="n00"),
        )
    ]
    assert decide([*fleet(), *tenants("abc"), *others])["memory"] is None


def test_refusals_of_one_tenant_count_against_no_node() -> None:
    """A tenant may write the node of a pod, and so have it refused as often as it likes."""
    members = train("n00", "n01", "n02", "n03", quorum=4)
    members[1]["status"].update(phase="Failed", reason="UnexpectedAdmissionError", startTime=at(-1))
    plan = decide([*fleet(), *members])
    assert plan["memory"] is None or plan["memory"]["scores"] == []
