"""Families told apart: whose fault it is that a group is hurt, and which nodes are unwell."""

import msgspec
import pytest

from maitred.decide.healing.judging import FEWEST_NAMESPACES
from maitred.explain.health.naming import about
from maitred.model.manifest import InputError
from tests.decide.healing import lost, remembered
from tests.explain.healths import OLD, RECENT, crew, failed, health_of, hurt, nodes, unwell
from tests.explain.whys import situation_of
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.device_builders import (
    claim_spec,
    consumer,
    device,
    exactly,
    resource_claim,
    resource_slice,
    taint_rule,
    wish,
)

DRIVER = "gpu.example.com"


def test_a_cluster_that_is_well() -> None:
    found = health_of([*nodes(), *crew("n0", "n1")])
    assert (found.unwell, found.hurt, found.ignored, found.unknown) == ((), (), (), ())
    assert (found.kind, found.at, found.nodes, found.pods) == ("Health", "2026-01-31T12:00:00Z", 4, 2)


# -- infrastructure and devices ------------------------------------------------------------------------


@pytest.mark.parametrize("ready", [False, None])
def test_a_gang_with_a_member_on_a_lost_node_is_below_its_quorum(ready: bool | None) -> None:
    found = health_of([b.node("n0"), b.node("n1", ready=ready), *crew("n0", "n1")])
    group = hurt(found)
    assert (group.working, group.members, group.quorum, group.below) == (1, 2, 2, True)
    assert (group.family, group.certainty) == ("Infrastructure", "certain")
    assert "1 member on n1" in group.words
    node = unwell(found, "n1")
    assert (node.state, node.groups) == ("Lost", ("default/crew",))


def test_a_gang_with_members_to_spare_is_hurt_and_not_below_its_quorum() -> None:
    found = health_of([b.node("n0"), b.node("n1", ready=None), *crew("n0", "n1", quorum=1)])
    assert (hurt(found).below, hurt(found).family) == (False, "Infrastructure")


def test_a_tree_is_below_its_quorum_if_a_part_of_it_is() -> None:
    parts = [b.pod_group(name, 2, spec={"parentCompositePodGroupName": "tree"}) for name in ("left", "right")]
    pods = [
        b.pod(f"{name}-{n}", cpu=1, node=f"n{n}", group=name) for name in ("left", "right") for n in (0, 1)
    ]
    objects = [b.composite("tree", 2), *parts, *pods]
    assert health_of([*nodes(), *objects]).hurt == ()
    found = hurt(health_of([*nodes(), *objects[:-1]]), "default/tree")
    assert (found.below, found.working, found.quorum) == (True, 3, 4)


def test_a_member_on_a_node_that_is_gone_is_lost() -> None:
    group = hurt(health_of([b.node("n0"), *crew("n0", "n1")]))
    assert (group.below, group.family, group.certainty) == (True, "Infrastructure", "certain")
    assert [signal.kind for signal in group.signals] == ["NodeLost"]


def test_exits_that_follow_the_loss_of_a_node_are_not_the_fault_of_the_code() -> None:
    """The others of a gang end when one of them is lost."""
    gang = crew("n0", "n1", "n2", quorum=3)
    ended = failed("crew-2", "n2", group="crew", index=2)
    found = health_of([b.node("n0"), b.node("n1", ready=None), b.node("n2"), *gang[:3], ended])
    assert (hurt(found).family, hurt(found).certainty) == ("Infrastructure", "certain")


def test_a_node_with_broken_devices_is_unwell() -> None:
    found = health_of([b.node("n0", gpu=8, broken=3), b.node("n1", gpu=8)])
    node = unwell(found, "n0")
    assert (node.state, node.family, node.certainty) == ("Unwell", "Device", "certain")
    assert [one.node for one in found.unwell] == ["n0"]
    assert "3 of its 8 nvidia.com/gpu" in node.words


def test_a_failure_on_a_node_that_reports_a_broken_gpu_is_the_devices() -> None:
    sick = b.node("n1", gpu=8)
    xid = {"type": "GpuXidError", "status": "True", "message": "Xid 79", "lastTransitionTime": RECENT}
    sick["status"]["conditions"].append(xid)
    gang = crew("n0", quorum=2)
    found = health_of([b.node("n0"), sick, *gang, failed("crew-1", "n1", group="crew", index=1)])
    assert (hurt(found).family, hurt(found).certainty) == ("Device", "certain")
    assert hurt(found).more == "reboot the node or replace the GPU"


def test_what_the_kubelet_reports_of_a_device_is_about_its_node_too() -> None:
    gang = crew("n0", "n1")
    reports = [{"name": "claim:mine", "resources": [{"resourceID": "GPU-7", "health": "Unhealthy"}]}]
    gang[1]["status"]["containerStatuses"] = [{"name": "main", "allocatedResourcesStatus": reports}]
    found = health_of([*nodes(), *gang])
    assert (hurt(found).family, hurt(found).certainty) == ("Device", "certain")
    node = unwell(found, "n0")
    assert (node.state, node.signals[0].device, node.signals[0].pod) == ("Unwell", "GPU-7", "")
    assert "claim:mine" not in str(node.signals[0])


def test_refusals_of_the_kubelet_are_of_the_infrastructure() -> None:
    refused = b.pod("crew-1", node="n1", phase="Failed", group="crew", index=1)
    refused["status"].update(reason="UnexpectedAdmissionError", startTime=RECENT)
    found = health_of([*nodes(), *crew("n0", quorum=2), refused])
    assert (hurt(found).family, hurt(found).below) == ("Infrastructure", True)
    assert found.unwell == ()


# -- claimed devices -----------------------------------------------------------------------------------


def claim(name: str, device: str, owner: Obj | None = None) -> Obj:
    results = [{"request": "r", "driver": DRIVER, "pool": "n0", "device": device}]
    spec = claim_spec(exactly("r", wish("gpu")))
    users = [consumer(owner or b.pod("crew-0"))]
    return resource_claim(name, spec, {"devices": {"results": results}}, users)


def test_a_tainted_device_hurts_who_has_claimed_it() -> None:
    bad = device("gpu-0", taints=["example.com/broken:NoExecute"])
    slices = [resource_slice("n0", DRIVER, [bad, device("gpu-1")], node="n0")]
    found = health_of([*nodes(), *crew("n0", "n1"), *slices, claim("c0", "gpu-0")])
    assert (hurt(found).family, hurt(found).certainty) == ("Device", "certain")
    assert hurt(found).words.startswith(f"crew-0 on n0: has device {DRIVER}/n0/gpu-0 with the taint")
    assert unwell(found, "n0").signals[0].device == f"{DRIVER}/n0/gpu-0"


def test_a_device_that_a_whole_group_has_claimed_hurts_the_group() -> None:
    bad = device("gpu-0", taints=["example.com/broken:NoExecute"])
    slices = [resource_slice("n0", DRIVER, [bad], node="n0")]
    found = health_of([*nodes(), *crew("n0", "n1"), *slices, claim("c0", "gpu-0", b.pod_group("crew", 2))])
    assert hurt(found).family == "Device"
    assert hurt(found).words.startswith("the group on n0: has device")


def test_a_taint_by_a_rule_counts_like_that_of_a_slice() -> None:
    rule = taint_rule("r", "example.com/broken:NoSchedule", driver=DRIVER, pool="n0", device="gpu-0")
    slices = [resource_slice("n0", DRIVER, [device("gpu-0")], node="n0")]
    assert unwell(health_of([*nodes(), *slices, rule]), "n0").signals[0].kind == "DeviceTainted"


def test_a_device_that_vanished_from_its_slice_hurts_who_has_claimed_it() -> None:
    slices = [resource_slice("n0", DRIVER, [device("gpu-1")], node="n0")]
    found = health_of([*nodes(), *crew("n0", "n1"), *slices, claim("c0", "gpu-0")])
    assert (hurt(found).family, hurt(found).signals[0].kind) == ("Device", "DeviceGone")
    assert unwell(found, "n0").state == "Unwell"


def test_a_pool_that_is_gone_speaks_against_its_driver() -> None:
    slices = [resource_slice("n1", DRIVER, [device("gpu-1")], node="n1")]
    found = health_of([*nodes(), *crew("n0", "n1"), *slices, claim("c0", "gpu-0")])
    assert (hurt(found).family, hurt(found).signals[0].kind) == ("Infrastructure", "DeviceGone")


@pytest.mark.parametrize("of", [1, 2])
def test_of_a_pool_that_is_being_updated_and_of_a_dump_without_slices_nothing_is_said(of: int) -> None:
    slices = [resource_slice("n0", DRIVER, [device("gpu-1")], node="n0", of=2)] if of == 2 else []
    assert health_of([*nodes(), *crew("n0", "n1"), *slices, claim("c0", "gpu-0")]).hurt == ()


# -- own code ------------------------------------------------------------------------------------------


def test_a_member_that_fails_on_different_nodes_has_a_fault_of_its_own() -> None:
    gang = crew("n0", quorum=2)
    again = [failed(f"crew-1-{n}", f"n{n}", group="crew", index=1) for n in (1, 2)]
    found = health_of([*nodes(), *gang, *again])
    assert (hurt(found).family, hurt(found).certainty) == ("OwnCode", "certain")
    assert "member 1 failed on n1, n2" in hurt(found).words
    assert found.unwell == ()
    assert found == health_of([*nodes(), *gang, *reversed(again)])


def test_of_two_nodes_of_which_one_is_broken_only_one_speaks_against_the_code() -> None:
    again = [failed(f"crew-1-{n}", f"n{n}", group="crew", index=1) for n in (1, 2)]
    found = health_of([b.node("n0"), b.node("n1", ready=None), b.node("n2"), *crew("n0", quorum=2), *again])
    assert hurt(found).family == "Infrastructure"


def test_members_that_fail_alike_on_several_nodes_are_likely_to_share_a_bug() -> None:
    ended = [failed(f"crew-{n}", f"n{n}", code=3, group="crew", index=n) for n in (1, 2)]
    found = health_of([*nodes(), *crew("n0", quorum=3), *ended])
    assert (hurt(found).family, hurt(found).certainty) == ("OwnCode", "likely")


def test_a_failure_on_one_node_is_only_possibly_the_codes() -> None:
    found = health_of([*nodes(), *crew("n0", quorum=2), failed("crew-1", "n1", group="crew", index=1)])
    assert (hurt(found).family, hurt(found).certainty) == ("OwnCode", "possible")
    assert "another node" in hurt(found).more


@pytest.mark.parametrize("owner", ["Job/sweep", "StatefulSet/sweep"])
def test_pods_of_one_workload_are_looked_at_together(owner: str) -> None:
    again = [failed(f"sweep-{n}", f"n{n}", owner=owner, index=4) for n in (1, 2)]
    group = hurt(health_of([*nodes(), *again]), "default/sweep")
    assert (group.family, group.certainty, group.members) == ("OwnCode", "certain", 1)


def test_a_member_that_was_replaced_and_works_hurts_nobody() -> None:
    gang = crew("n0", "n1")
    assert health_of([*nodes(), *gang, failed("crew-1-old", "n2", group="crew", index=1)]).hurt == ()


def test_what_failed_long_ago_counts_only_while_the_member_is_missed() -> None:
    gone = failed("crew-1", "n1", at=OLD, group="crew", index=1)
    found = hurt(health_of([*nodes(), *crew("n0", quorum=2), gone]))
    assert (found.below, found.family) == (True, "OwnCode")
    assert health_of([*nodes(), *crew("n0", quorum=1), gone]).hurt == ()
    assert health_of([*nodes(), failed("alone", "n1", at=OLD)]).hurt == ()


def test_a_gang_that_lacks_members_without_any_signal_says_so() -> None:
    found = hurt(health_of([*nodes(), *crew("n0", quorum=2)]))
    assert (found.family, found.certainty, found.below) == ("Unknown", "possible", True)
    assert found.more == "ask what it waits for: maitred why default/crew"


def test_a_gang_that_has_not_started_is_not_hurt() -> None:
    waiting = [b.pod(f"crew-{i}", cpu=100, group="crew") for i in range(2)]
    assert health_of([*nodes(), b.pod_group("crew", 2), *waiting]).hurt == ()


# -- broken nodes --------------------------------------------------------------------------------------


def failing_on(node: str, *namespaces: str) -> list[Obj]:
    return [failed(f"job-{i}", node, namespace=space) for i, space in enumerate(namespaces)]


def test_groups_of_three_namespaces_that_fail_on_one_node_speak_against_it() -> None:
    found = health_of([*nodes(), *failing_on("n1", "a", "b", "c")])
    node = unwell(found, "n1")
    assert (node.state, node.family, node.certainty) == ("Suspected", "Infrastructure", "likely")
    assert node.signals[0].evidence == {"groups": 3, "namespaces": 3, "running": 0}
    assert {one.family for one in found.hurt} == {"Infrastructure"}
    assert "groups of other namespaces fail too" in found.hurt[0].words


def test_many_groups_of_two_namespaces_do_not() -> None:
    assert FEWEST_NAMESPACES == 3
    assert health_of([*nodes(), *failing_on("n1", *("a", "b") * 10)]).unwell == ()


def test_groups_that_run_well_on_the_node_speak_for_it() -> None:
    well = [b.pod(f"well-{i}", node="n1", namespace=f"team-{i}") for i in range(4)]
    node = unwell(health_of([*nodes(), *failing_on("n1", "a", "b", "c"), *well]), "n1")
    assert node.certainty == "possible"


def test_groups_that_fail_elsewhere_too_do_not_count_against_the_node() -> None:
    elsewhere = [failed("job-0-again", "n2", namespace="a", owner="Job/x")]
    here = [failed("job-0", "n1", namespace="a", owner="Job/x"), *failing_on("n1", "b", "c")]
    assert health_of([*nodes(), *here, *elsewhere]).unwell == ()


def test_failures_of_long_ago_do_not_count_against_the_node() -> None:
    old = [failed(f"job-{i}", "n1", namespace=space, at=OLD) for i, space in enumerate("abc")]
    assert health_of([*nodes(), *old]).unwell == ()


# -- degradation and notices ---------------------------------------------------------------------------


def timed(*times: str) -> list[Obj]:
    gang = crew(*(f"n{i}" for i in range(len(times))))
    for pod, time in zip(gang[1:], times, strict=True):
        pod["metadata"]["annotations"] = {"maitred.dev/step-time": time}
    return gang


def test_one_slow_member_is_a_degradation_and_no_fault_of_its_node() -> None:
    found = health_of([*nodes(), *timed("2", "2.1", "9")])
    assert (hurt(found).family, hurt(found).signals[0].pod) == ("Degradation", "default/crew-2")
    assert found.unwell == ()


def test_what_is_wrong_with_the_node_of_a_slow_member_is_said_beside_it() -> None:
    sick = b.node("n2", gpu=8, broken=1)
    found = health_of([b.node("n0"), b.node("n1"), sick, *timed("2", "2.1", "9")])
    assert hurt(found).family == "Degradation"
    assert "n2 no longer offers 1 of its 8" in hurt(found).words


def test_a_notice_reaches_the_groups_on_the_node() -> None:
    leaving = b.node("n0", taints=["aws-node-termination-handler/spot-itn:NoSchedule"])
    found = health_of([leaving, b.node("n1"), *crew("n0", "n1")])
    assert (unwell(found, "n0").state, hurt(found).family, hurt(found).below) == ("Leaving", "Notice", False)
    assert hurt(found).working == 2


def test_a_cordon_hurts_nobody() -> None:
    found = health_of([b.node("n0", cordoned=True), b.node("n1"), *crew("n0", "n1")])
    assert (unwell(found, "n0").state, found.hurt) == ("Leaving", ())


# -- what counts for nothing ---------------------------------------------------------------------------


def test_unknown_conditions_are_counted_and_change_nothing() -> None:
    odd = nodes(2)
    for node in odd:
        node["status"]["conditions"].append({"type": "FanNoise", "status": "True"})
    found = health_of(odd)
    assert found.unwell == ()
    assert [(one.condition, one.status, one.nodes, one.node) for one in found.unknown] == [
        ("FanNoise", "True", 2, "n0")
    ]


def test_xids_of_programs_do_not_count_against_a_node() -> None:
    node = b.node("n0")
    node["status"]["conditions"].append({"type": "GpuXidError", "status": "True", "message": "Xid 13"})
    found = health_of([node])
    assert found.unwell == ()
    assert [one.name for one in found.ignored] == ["n0"]
    assert "XID 13" in found.ignored[0].words


def test_a_time_in_the_future_is_said_and_not_believed() -> None:
    node = b.node("n0", ready=None)
    node["status"]["conditions"][0]["lastTransitionTime"] = "2031-01-01T00:00:00Z"
    found = health_of([node])
    assert (unwell(found, "n0").state, unwell(found, "n0").since) == ("Lost", None)
    assert "in the future" in found.ignored[0].words


def test_no_tenant_fills_the_answer_with_nonsense() -> None:
    pods = [
        b.pod(f"p{i}", node="n0", namespace=space, annotations={"maitred.dev/step-time": "x" * 5000})
        for space in ("a", "b")
        for i in range(50)
    ]
    found = health_of([*nodes(), *pods])
    assert len(found.ignored) == 10
    assert len(msgspec.json.encode(found)) < 5000


# -- by name -------------------------------------------------------------------------------------------


def test_one_node_and_one_group() -> None:
    objects = [b.node("n0"), b.node("n1", ready=None), *crew("n0", "n1"), *crew("n0", name="calm")]
    found, situation = health_of(objects), situation_of(objects)
    lost = about(found, situation, "n1", "default")
    assert (lost.about, len(lost.unwell), len(lost.hurt)) == ("node n1", 1, 1)
    well = about(found, situation, "n0", "default")
    assert (well.about, well.unwell, well.hurt) == ("node n0", (), ())
    for name in ("crew", "default/crew", "crew-0"):
        assert about(found, situation, name, "default").hurt[0].group == "default/crew"
    assert about(found, situation, "calm", "default").hurt == ()


def test_an_unknown_name_is_refused_with_those_that_are_like_it() -> None:
    objects = [*nodes(), *crew("n0", "n1")]
    with pytest.raises(InputError, match=r"there is no node crow, and .*did you mean default/crew"):
        about(health_of(objects), situation_of(objects), "crow", "default")


def test_what_the_scheduler_does_about_a_hurt_group_is_told_with_it() -> None:
    found = health_of([lost("n0"), *nodes()[1:], *crew("n0", "n1", "n2")])
    assert hurt(found).healing.startswith("room for 1 member is kept until ")
    assert "no controller would recreate it" in hurt(found).healing


def test_a_group_that_nothing_is_decided_about_has_no_such_words() -> None:
    found = health_of([*nodes(), *crew("n1", "n2", quorum=2), failed("crew-1x", "n1", group="crew", index=1)])
    assert all(one.healing == "" for one in found.hurt)


def test_lemons_are_named_with_their_last_failure_first() -> None:
    score = {"node": "n1", "score": 2.0, "at": RECENT, "lemonSince": OLD, "evidence": ["first", "last"]}
    memory = remembered(scores=[score, {"node": "n2", "score": 0.5, "at": RECENT}])
    [one] = health_of([*nodes(), memory]).lemons
    assert (one.node, one.tainted, one.evidence) == ("n1", False, ("last", "first"))
