"""One decision for a group under which hardware fails."""

from copy import deepcopy

import pytest

from tests.decide.healing import LATER, MARK, SINCE, SOON, again, healed, lost, remembered, train
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import decide


def test_a_member_on_a_lost_node_is_deleted_and_its_room_is_kept() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    newcomer = b.pod("other", gpu=8)
    plan, [one] = healed([*nodes, *train("n1", "n2", "n3", "n4"), newcomer])
    assert one["group"] == "default/train"
    assert (one["rule"], one["family"]) == ("replace", "Infrastructure")
    assert [(pod["pod"], pod["delete"]) for pod in one["pods"]] == [("default/train-0", True)]
    assert one["heldUntil"] == "2026-01-31T12:10:00Z"
    assert plan["binds"] == []
    [hold] = plan["holds"]
    assert (hold["group"], hold["node"], hold["cause"]) == ("default/train", "n5", "Healing")
    [waiting] = [group for group in plan["groups"] if group["group"] == "default/other"]
    assert waiting["blockers"][0]["category"] == "Priority"
    assert "room for 1 member of default/train is kept" in waiting["blockers"][0]["message"]


def test_within_the_grace_nothing_changes() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    plan, found = healed([*nodes, *train("n1", "n2", "n3", "n4"), b.pod("other", gpu=8)], SOON)
    assert (found, plan["holds"], plan["memory"]["incidents"]) == ([], [], [])
    assert [bind["node"] for bind in plan["binds"]] == ["n5"]
    assert plan["wakeAt"] == "2026-01-31T11:59:00Z"


def test_what_its_owner_makes_anew_is_seated_before_older_equals() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    before = [*nodes, *train("n1", "n2", "n3", "n4"), b.pod("other", gpu=8, created=-1000)]
    plan, _ = healed(before)
    remade = again([*nodes, *train("", "n2", "n3", "n4"), b.pod("other", gpu=8, created=-1000)], plan)
    after = decide(remade, None, "2026-01-31T12:00:10Z")
    assert [(bind["pod"], bind["node"]) for bind in after["binds"]] == [("default/train-0", "n5")]


def test_room_is_kept_for_as_long_as_the_policy_says() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    objects = [*nodes, *train("n2", "n3", "n4", quorum=4), b.pod("other", gpu=8)]
    plan, _ = healed([*nodes, *train("n1", "n2", "n3", "n4"), b.pod("other", gpu=8)])
    objects = again(objects, plan)
    assert decide(objects, None, "2026-01-31T12:09:59Z")["binds"] == []
    assert decide(objects, None, "2026-01-31T12:10:01Z")["binds"][0]["node"] == "n5"


def test_a_higher_rank_may_take_the_room() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    plan, _ = healed([*nodes, *train("n1", "n2", "n3", "n4"), b.pod("other", gpu=8, priority=9)])
    assert [bind["node"] for bind in plan["binds"]] == ["n5"]


def test_two_nodes_at_once_and_room_for_one() -> None:
    nodes = [lost("n1", gpu=8), lost("n2", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(3, 6))]
    plan, [one] = healed([*nodes, *train("n1", "n2", "n3", "n4"), b.pod("other", gpu=8)])
    assert [pod["delete"] for pod in one["pods"]] == [True, True]
    assert [(hold["node"], hold["pods"]) for hold in plan["holds"]] == [("n5", 1)]
    assert plan["binds"] == []


def test_pods_without_a_controller_are_not_deleted() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    _, [one] = healed([*nodes, *train("n1", "n2", "n3", "n4", owner=None)])
    assert [pod["delete"] for pod in one["pods"]] == [False]
    assert "no controller" in one["pods"][0]["why"]


def test_a_group_may_ask_to_be_left_alone() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    members = train("n1", "n2", "n3", "n4", annotations={MARK: "none"})
    plan, [one] = healed([*nodes, *members, b.pod("other", gpu=8)])
    assert (one["rule"], one["heldUntil"], plan["holds"]) == ("none", None, [])
    assert [pod["delete"] for pod in one["pods"]] == [False]
    assert [bind["node"] for bind in plan["binds"]] == ["n5"]


def test_hold_keeps_the_room_and_deletes_nothing() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    members = train("n1", "n2", "n3", "n4", annotations={MARK: "hold"})
    plan, [one] = healed([*nodes, *members])
    assert (one["rule"], [pod["delete"] for pod in one["pods"]]) == ("hold", [False])
    assert [hold["node"] for hold in plan["holds"]] == ["n5"]


def test_an_elastic_group_may_go_on_without() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    members = train("n1", "n2", "n3", "n4", quorum=3, annotations={MARK: "shrink"})
    plan, [one] = healed([*nodes, *members])
    assert (one["rule"], one["heldUntil"], plan["holds"]) == ("shrink", None, [])
    assert [pod["delete"] for pod in one["pods"]] == [False]


def test_surplus_is_made_anew_and_no_room_is_kept_for_it() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    plan, [one] = healed([*nodes, *train("n1", "n2", "n3", "n4", quorum=3)])
    assert (one["heldUntil"], plan["holds"]) == (None, [])
    assert [pod["delete"] for pod in one["pods"]] == [True]


def test_what_cannot_be_read_asks_for_nothing() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    _, [one] = healed([*nodes, *train("n1", "n2", "n3", "n4", annotations={MARK: "panic"})])
    assert one["rule"] == "none"
    assert f"{MARK} is 'panic', and must be one of" in one["does"]


def contradicting() -> dict[str, list[Obj]]:
    torn = train("n1", "n2", "n3", "n4", annotations={MARK: "restart"}, labels={MARK: "replace"})
    differing = train("n1", "n2", "n3", "n4")
    for pod, rule in zip(differing[1:], ("replace", "restart", "replace", "none"), strict=True):
        pod["metadata"].setdefault("annotations", {})[MARK] = rule
    return {"remove one of the two": torn, "have different values of": differing}


@pytest.mark.parametrize("words", contradicting())
def test_what_contradicts_itself_asks_for_nothing(words: str) -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    plan, [one] = healed([*nodes, *contradicting()[words]])
    assert (one["rule"], [pod["delete"] for pod in one["pods"]]) == ("none", [False])
    assert (plan["evictions"], plan["holds"], one["restart"]) == ([], [], None)
    assert words in one["does"]


def noise(kind: str, where: list[Obj]) -> None:
    """What nobody understands, said of every node and pod."""
    for one in where:
        if one["kind"] == "Node" and kind == "condition":
            one["status"]["conditions"].append(
                {"type": "example.com/Odd", "status": "True", "message": "Xid 79"}
            )
        if one["kind"] == "Pod" and kind != "condition":
            one["metadata"].setdefault("annotations", {})["maitred.dev/step-time"] = kind


@pytest.mark.parametrize("kind", ["condition", "quite fast", "nan", "-1", "1e999", "", "9.5"])
def test_what_nobody_understands_changes_no_decision(kind: str) -> None:
    objects = [*(b.node(f"n{i}", gpu=8) for i in range(1, 6)), *train("n1", "n2", "n3", "n4")]
    before, _ = healed(deepcopy(objects))
    noise(kind, objects)
    after, found = healed(objects)
    assert (after, found) == (before, [])


def test_what_was_remembered_by_a_clock_that_was_ahead_is_forgotten() -> None:
    """Else room would be kept for a year, and nothing would be done until then."""
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    objects = [*nodes, *train("n1", "n2", "n3", "n4")]
    first, [healing] = healed(objects)
    [incident] = first["memory"]["incidents"]
    ahead = {**incident, "begun": "2027-01-31T12:00:00Z", "heldUntil": "2027-01-31T12:10:00Z"}
    plan, found = healed([*objects, remembered(ahead)])
    assert found == [healing]
    assert plan["memory"]["incidents"] == [incident]
    assert {hold["until"] for hold in plan["holds"]} == {hold["until"] for hold in first["holds"]}


def test_clocks_that_differ_by_seconds_are_believed() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    objects = [*nodes, *train("n1", "n2", "n3", "n4")]
    first, _ = healed(objects, "2026-01-31T12:00:30Z")
    plan, _ = healed(again(objects, first), LATER)
    assert plan["memory"] is None


def test_a_group_of_one_is_left_to_kubernetes() -> None:
    plan, found = healed([lost("n1", gpu=8), b.pod("lone", gpu=8, node="n1", owner="ReplicaSet/web")])
    assert (found, plan["memory"]["incidents"]) == ([], [])


def test_a_node_that_was_lost_in_the_future_is_a_wrong_clock() -> None:
    nodes = [lost("n1", "2027-01-01T00:00:00Z", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    _, found = healed([*nodes, *train("n1", "n2", "n3", "n4")])
    assert found == []


def test_whoever_is_healed_again_and_again_is_left_alone() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    objects = [*nodes, *train("n1", "n2", "n3", "n4")]
    policy = {"healing": {"most": 1}}
    plan, _ = healed(objects, LATER, policy)
    others = [lost("n2", SINCE, gpu=8), b.node("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(3, 6))]
    whole = again([b.node("n1", gpu=8), *nodes[1:], *train("n5", "n2", "n3", "n4", created=10)], plan)
    plan = decide(whole, policy, "2026-01-31T12:05:00Z")
    assert plan["memory"]["incidents"][0]["how"] == "its quorum works again"
    once_more = again([*others, *train("n5", "n2", "n3", "n4", created=10)], plan)
    [one] = decide(once_more, policy, "2026-01-31T12:06:00Z")["healing"]
    assert one["rule"] == "none"
    assert "healed 1 time within 1h" in one["does"]


def test_a_pod_that_cannot_be_stopped_keeps_its_name_until_its_node_is_fenced() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    plan, _ = healed([*nodes, *train("n1", "n2", "n3", "n4")])
    members = train("n1", "n2", "n3", "n4")
    members[1] = b.pod(
        "train-0", gpu=8, group="train", index=0, node="n1", owner="StatefulSet/train", deleted=True
    )
    [one] = decide(again([*nodes, *members], plan), None, "2026-01-31T12:02:00Z")["healing"]
    assert "fence the node, with the taint node.kubernetes.io/out-of-service" in one["does"]
    assert one["pods"] == []


def test_all_members_of_a_lost_rack_leave_and_room_is_kept_for_all_of_them() -> None:
    """Before their owner has made others, nobody of the gang runs or waits."""
    nodes = [lost(f"n{i}", gpu=8) for i in range(1, 5)] + [b.node(f"n{i}", gpu=8) for i in range(5, 9)]
    before = [*nodes, *train("n1", "n2", "n3", "n4"), b.pod("other", gpu=8, created=-1000)]
    plan, [one] = healed(before)
    assert [pod["delete"] for pod in one["pods"]] == [True] * 4
    assert sorted(hold["node"] for hold in plan["holds"]) == ["n5", "n6", "n7", "n8"]
    leaving = [*nodes, *train("n1", "n2", "n3", "n4", deleted=True), before[-1]]
    later = decide(again(leaving, plan), None, "2026-01-31T12:00:01Z")
    assert sorted(hold["node"] for hold in later["holds"]) == ["n5", "n6", "n7", "n8"]
    assert later["binds"] == []


def test_room_for_all_is_kept_while_only_the_pod_on_the_lost_node_is_left() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    plan, _ = healed([*nodes, *train("n1", "n2", "n3", "n4")])
    [first, *_] = [pod for pod in train("n1", deleted=True) if pod["kind"] == "Pod"]
    left = [*nodes, train()[0], first, b.pod("other", gpu=8)]
    later = decide(again(left, plan), None, "2026-01-31T12:00:05Z")
    assert (sum(hold["pods"] for hold in later["holds"]), later["binds"]) == (4, [])


def test_nodes_of_a_rack_fall_silent_one_after_the_other_and_it_is_decided_once() -> None:
    nodes = [lost("n1", gpu=8), lost("n2", "2026-01-31T11:59:30Z", gpu=8), lost("n3", LATER, gpu=8)]
    nodes += [b.node(f"n{i}", gpu=8) for i in range(4, 9)]
    _, [one] = healed([*nodes, *train("n1", "n2", "n3", "n4")])
    assert [pod["delete"] for pod in one["pods"]] == [True] * 3
    _, [one] = healed([*nodes, *train("n1", "n2", "n3", "n4", quorum=3)])
    assert [pod["delete"] for pod in one["pods"]] == [True], "it works on, so the others may come back"


def test_where_nobody_is_left_the_owner_is_suspended_instead_of_each_pod_deleted() -> None:
    nodes = [lost(f"n{i}", gpu=8) for i in range(1, 5)] + [b.node(f"n{i}", gpu=8) for i in range(5, 9)]
    _, [one] = healed([*nodes, b.job("train", 4), *train("n1", "n2", "n3", "n4", created=0)])
    assert (one["rule"], one["restart"]["pods"]) == ("restart", 4)


RESTART: Obj = {"annotations": {MARK: "restart"}}


def test_all_members_start_anew_together_if_the_group_asks_for_it() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    job = b.job("train", 4)
    plan, [one] = healed([*nodes, job, *train("n1", "n2", "n3", "n4", created=0, **RESTART)])
    assert (one["rule"], [pod["delete"] for pod in one["pods"]]) == ("restart", [False])
    stops = {"kind": "Job", "owner": "default/train", "uid": job["metadata"]["uid"], "pods": 4, "members": 4}
    assert {**one["restart"], "pod": ""} == {**stops, "pod": ""}
    assert "its Job is suspended, so that 4 pods stop" in one["does"]
    came_later = [*nodes, job, *train("n5", "n2", "n3", "n4", created=60, **RESTART)]
    assert decide(again(came_later, plan), None, "2026-01-31T12:02:00Z")["healing"] == []


def test_a_group_whose_owner_cannot_be_suspended_is_replaced_and_that_is_said() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 6))]
    of_set = train("n1", "n2", "n3", "n4", owner="StatefulSet/train", created=0, **RESTART)
    _, [one] = healed([*nodes, *of_set])
    assert (one["restart"], [pod["delete"] for pod in one["pods"]]) == (None, [True])
    assert one["does"].startswith(
        "no owner of its members can be suspended, so what was lost is replaced; 1 pod"
    )
    shared = [b.job("train", 5), *train("n1", "n2", "n3", "n4", created=0, **RESTART)]
    beside = b.pod("beside", node="n5", owner="Job/train")
    _, [one] = healed([*nodes, *shared, beside])
    assert (one["restart"], [pod["delete"] for pod in one["pods"]]) == (None, [True])
    assert one["does"].startswith("its owner has pods beside this group")


def test_a_quorum_that_grows_after_the_failure_keeps_no_more_room() -> None:
    """Whoever may write a PodGroup could else keep a whole cluster without a single pod."""
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 9))]
    plan, _ = healed([*nodes, *train("n1", "n2", "n3", "n4")])
    assert sum(hold["pods"] for hold in plan["holds"]) == 1
    grown = [*nodes, *train("", "n2", "n3", "n4", quorum=7)[:1], *train("n1", "n2", "n3", "n4")[2:]]
    after = decide(again(grown, plan), None, "2026-01-31T12:00:10Z")
    assert sum(hold["pods"] for hold in after["holds"]) == 1


def test_a_quorum_that_was_never_met_keeps_room_for_no_more_than_there_were() -> None:
    nodes = [lost("n1", gpu=8), *(b.node(f"n{i}", gpu=8) for i in range(2, 9))]
    plan, _ = healed([*nodes, *train("n1", "n2", quorum=8)])
    assert sum(hold["pods"] for hold in plan["holds"]) == 1


def test_one_namespace_does_not_make_others_be_forgotten() -> None:
    nodes = [lost("n1", gpu=1000), b.node("n2", gpu=1000)]
    gangs = [
        one
        for number in range(102)
        for one in (
            b.pod_group(f"g{number}", 1),
            b.pod(f"g{number}-0", gpu=1, group=f"g{number}", node="n1", owner=f"Job/g{number}"),
        )
    ]
    plan = decide([*nodes, *gangs], None, LATER)
    assert len(plan["memory"]["incidents"]) == 100
    left = [one for one in plan["healing"] if one["rule"] == "none"]
    assert [one["does"] for one in left] == ["too many other groups of its namespace are being healed"] * 2
