"""What preemption keeps to: budgets, promises, and protection that was asked for; and what bad input does."""

from typing import Any

import pytest

from maitred.model.manifest.errors import InputError
from maitred.model.manifest.settings import read_policy
from tests.decide.preempting import (
    NOW,
    band,
    budget,
    decided,
    evicted,
    gang,
    job,
    leaving,
    lone,
    low,
    nominated,
    nominations,
    party,
    receipt,
    running,
    tolls,
)
from tests.decide.reading import seated, seats, verdict
from tests.oracle.builders import Obj, moment, node, pod, pod_group, pods, priority_class

LOWS = ["low-0", "low-1", "low-2"]
N3 = node("n1", cpu=3)
ONES = [node("n1", cpu=1), node("n2", cpu=1), node("n3", cpu=1)]
HOUR = 3600
MIDNIGHT = 24 * HOUR
"""NOW, as `moment` counts."""


# ---- budgets

WEB: Any = {"labels": {"app": "web"}}


def test_a_budget_that_can_be_kept_is_kept() -> None:
    """Although the one who leaves in its place has more to lose."""
    others = low(1, name="plain", gpu=1)
    objects = [node("n1", cpu=3, gpu=1), budget({"app": "web"}, minAvailable=2), *low(2, **WEB), *others]
    plan = decided([*objects, *gang(2, "500m")])
    assert evicted(plan) == ["plain-0"]
    assert [toll["violations"] for toll in tolls(plan)] == [0]


def test_a_budget_is_no_hard_stop() -> None:
    plan = decided([N3, budget({"app": "web"}, minAvailable=2), *low(3, **WEB), *gang(3)])
    assert evicted(plan) == LOWS
    assert [toll["violations"] for toll in tolls(plan)] == [2]
    assert receipt(plan, "low-0")["budgets"] == ["default/budget"]


def test_a_budget_weighs_more_than_a_priority() -> None:
    guarded = [budget({"app": "web"}, allowed=0), *low(1, **WEB)]
    plan = decided([*ONES[:2], *guarded, running("mid", "n2", priority=50), *gang(1)])
    assert evicted(plan) == ["mid"]


def test_one_guarded_member_guards_its_atomic_group() -> None:
    v = band("v", ["n1", "n2"], disruption="all")
    v[2]["metadata"]["labels"] = {"app": "web"}
    objects = [*ONES, budget({"app": "web"}, allowed=0), *v, *low(1, "n3", priority=50), *gang(1)]
    assert evicted(decided(objects)) == ["low-0"]


@pytest.mark.parametrize(
    ("made", "violations"),
    [
        (budget({"app": "web"}, allowed=1), 1),
        (budget({"app": "web"}, allowed=2), 0),
        (budget({"app": "web"}, allowed=1, disrupted=["low-0"]), 0),
        (budget({"app": "web"}, minAvailable="50%"), 1),
        (budget({"app": "web"}, maxUnavailable=2), 0),
        (budget({"app": "web"}, maxUnavailable="0%"), 2),
        (budget({}, maxUnavailable=0), 2),
        (budget(None, maxUnavailable=0), 0),
        (budget({"app": "nobody"}, maxUnavailable=0), 0),
    ],
    ids=["status", "enough", "disrupted", "percent", "number", "none", "all pods", "no selector", "nobody's"],
)
def test_violations_are_counted(made: Obj, violations: int) -> None:
    """Two of two pods leave. Whose eviction was granted before is not counted again."""
    plan = decided([node("n1", cpu=2), made, *low(2, **WEB), *gang(2)])
    assert evicted(plan) == LOWS[:2]
    assert [toll["violations"] for toll in tolls(plan)] == [violations]


def test_a_budget_that_matches_no_running_pod_is_warned_of_where_there_are_pods() -> None:
    told = "PodDisruptionBudget default/budget matches no running pod, so it protects none"
    objects = [N3, *low(3, **WEB), *gang(3)]
    assert told in decided([*objects, budget({"app": "wbe"}, allowed=1)])["warnings"]
    assert told not in decided([*objects, budget({"app": "web"}, allowed=3)])["warnings"]


# ---- promises: victims that leave, and places that are held


def test_the_plan_is_kept_while_victims_leave() -> None:
    objects = [N3, *leaving(low(3)), *nominated(gang(3), "n1", "n1", "n1")]
    plan = decided(objects)
    assert (verdict(plan), evicted(plan)) == ("Preempting", [])
    assert nominations(plan) == {"g-0": "n1", "g-1": "n1", "g-2": "n1"}


def test_the_plan_is_kept_while_one_of_the_victims_is_still_there() -> None:
    """The others had gone before the first member could have been bound."""
    plan = decided([N3, *leaving(low(1)), *nominated(gang(3), "n1", "n1", "n1")])
    assert (verdict(plan), evicted(plan), seated(plan)) == ("Preempting", [], [])


@pytest.mark.parametrize(("priority", "told"), [(10, "Preempting"), (500, "Waiting")])
def test_who_leaves_anyway_is_waited_for(priority: int, told: str) -> None:
    """For whatever reason, and though others could be evicted at once. The place of a lesser pod is held."""
    plan = decided([*ONES[:2], *leaving(low(1, priority=priority)), *low(1, "n2", name="more"), *gang(1)])
    assert (verdict(plan), evicted(plan)) == (told, [])


TEN_YEARS = 10 * 365 * 24 * HOUR


@pytest.mark.parametrize(
    ("limit", "grace", "lingers"),
    [
        *(("1h", HOUR, False), ("1h", HOUR + 1, True), ("1h", 2**63 - 1, True)),
        *(("500d", TEN_YEARS, True), ("1500ms", 2, False), ("none", TEN_YEARS, False)),
    ],
)
def test_who_was_given_longer_to_leave_than_the_policy_allows_is_hurried(
    limit: str, grace: int, lingers: bool
) -> None:
    """Its room is not waited for: it is evicted like one that runs, although others deleted it before."""
    objects = [ONES[0], *leaving(low(1), grace), *gang(1)]
    plan = decided(objects, policy={"preemption": {"graceLimit": limit}})
    assert (verdict(plan), evicted(plan)) == ("Preempting", ["low-0"] if lingers else [])
    if lingers:
        departure = receipt(plan, "low-0")["departure"]
        assert departure["by"] == "delete"
        assert departure["words"].endswith(f"with a grace period that is cut to {limit}")


def test_who_lingers_yields_to_higher_priority_only_and_counts_for_no_quorum() -> None:
    """One of a gang of two lingers. It leaves alone, and nothing of its work is lost by that."""
    assert evicted(decided([ONES[0], *leaving(low(1, priority=100), TEN_YEARS), *gang(1)])) == []
    v = band("v", ["n1", "n2"], quorum=2, gpu=1)
    leaving(v[-1:], TEN_YEARS)
    plan = decided([*GPU_NODES, *v, *gang(1, gpu=1)])
    assert evicted(plan) == ["v-1"]
    told = receipt(plan, "v-1")
    assert (told["unit"], told["workLostDeviceHours"]) == ("default/v-1", 0)


def test_a_job_one_of_whose_pods_lingers_is_suspended_for_the_others() -> None:
    pods_of_job = low(2, owner="Job/train")
    pods_of_job[1]["spec"]["nodeName"] = "n2"
    leaving(pods_of_job[1:], TEN_YEARS)
    plan = decided([*ONES[:2], job("train", 2), *pods_of_job, *gang(2)])
    assert evicted(plan) == ["low-0", "low-1"]
    assert [receipt(plan, name)["departure"]["by"] for name in ("low-0", "low-1")] == ["suspend", "delete"]


@pytest.mark.parametrize(("now", "stuck"), [("2026-01-02T00:00:59Z", False), ("2026-01-02T00:01:00Z", True)])
@pytest.mark.parametrize("grace", [30, TEN_YEARS])
def test_who_should_be_gone_for_a_minute_is_neither_waited_for_nor_evicted(
    now: str, stuck: bool, grace: int
) -> None:
    """Another deletion would change nothing. The group that was promised its place gets another one."""
    objects = [*ONES[:2], *leaving(low(1), grace), *low(1, "n2", name="more"), *nominated(gang(1), "n1")]
    plan = decided(objects, now=now, policy={"preemption": {"graceLimit": "none"}})
    place, victims = ("n2", ["more-0"]) if stuck else ("n1", [])
    assert (nominations(plan), evicted(plan)) == ({"g-0": place}, victims)
    assert plan["wakeAt"] == (None if stuck else "2026-01-02T00:01:00Z"), "then it is looked at again"
    told = f"pod default/low-0 was to be gone by {NOW} and is still there: no group waits for its room"
    assert (told in plan["warnings"]) == stuck


def test_who_leaves_a_lost_node_is_not_waited_for() -> None:
    """No kubelet stops it, whatever time it was given, not even for a group that would go to that node."""
    lost, brave = node("n1", 1, ready=None), gang(1, tolerations=[{"operator": "Exists"}])
    plan = decided([lost, *leaving(low(1)), *nominated(brave, "n1")])
    assert (verdict(plan), nominations(plan), evicted(plan)) == ("Waiting", {}, [])
    assert any("its node does not answer" in warning for warning in plan["warnings"])


def test_only_what_those_who_leave_do_not_free_is_evicted() -> None:
    """A quorum of two, one pod is leaving: one more has to, and both members are told where they will sit."""
    plan = decided([*ONES[:2], *leaving(low(1)), *low(1, "n2", name="more"), *gang(2)])
    assert (verdict(plan), evicted(plan)) == ("Preempting", ["more-0"])
    assert sorted(nominations(plan).values()) == ["n1", "n2"]


def test_a_promise_is_kept_once_there_is_room() -> None:
    plan = decided([*ONES[:2], *nominated(gang(2), "n2", "n1")])
    assert (verdict(plan), seated(plan), nominations(plan)) == ("Scheduled", ["g-0", "g-1"], {})


def test_room_elsewhere_is_taken_although_victims_still_leave() -> None:
    plan = decided([*ONES[:2], *leaving(low(1)), *nominated(gang(1), "n1")])
    assert (verdict(plan), seats(plan)) == ("Scheduled", {"g-0": "n2"})


def test_a_node_that_is_gone_was_promised_in_vain() -> None:
    plan = decided([*ONES[:2], *low(1), *low(1, "n2", name="more"), *nominated(gang(2), "n1", "n9")])
    assert (verdict(plan), evicted(plan)) == ("Preempting", ["low-0", "more-0"])
    assert sorted(nominations(plan).values()) == ["n1", "n2"]


def test_a_place_that_someone_took_was_promised_in_vain() -> None:
    taken = running("top", "n1", priority=500)
    plan = decided([*ONES[:2], taken, *low(1, "n2"), *nominated(gang(1), "n1")])
    assert (verdict(plan), evicted(plan), nominations(plan)) == ("Preempting", ["low-0"], {"g-0": "n2"})


def test_a_promise_in_vain_costs_nobody_anything_where_there_is_no_other_place() -> None:
    taken = running("top", "n1", priority=500)
    plan = decided([ONES[0], taken, *nominated(gang(1), "n1")])
    assert (verdict(plan), evicted(plan), nominations(plan)) == ("Waiting", [], {})


@pytest.mark.parametrize(("priority", "gets_it"), [(50, False), (100, False), (101, True)])
def test_a_promise_holds_against_equal_and_lower_rank(priority: int, gets_it: bool) -> None:
    """One of two CPUs is free while the victim on the other leaves; an older pod would like to have it."""
    waiting = nominated(gang(2), "n1", "n1")
    other = pod("other", 1, priority=priority, created=0)
    plan = decided([node("n1", cpu=2), *leaving(low(1)), *waiting, other])
    assert seated(plan, "other") == (["other"] if gets_it else [])
    assert evicted(plan) == []


def test_what_a_promise_does_not_need_is_free() -> None:
    other = pod("other", 1, priority=50)
    plan = decided([N3, *leaving(low(2)), *nominated(gang(2), "n1", "n1"), other])
    assert seats(plan) == {"other": "n1"}


def test_a_promise_of_another_scheduler_holds_too() -> None:
    theirs = nominated([lone(scheduler="theirs")], "n1")
    ours = pod("ours", 1, priority=100, scheduler="maitred")
    plan = decided([*ONES[:1], *theirs, ours], scheduler="maitred")
    assert (verdict(plan, "ours"), seated(plan)) == ("Waiting", [])
    above = pod("above", 1, priority=200, scheduler="maitred")
    assert seated(decided([*ONES[:1], *theirs, above], scheduler="maitred")) == ["above"]


def test_two_preemptors_do_not_share_a_victim() -> None:
    first = gang(2)
    second = [pod_group("h", 2, priority=100), *pods("h", 2, 1, group="h", priority=100, created=2)]
    plan = decided([N3, *low(3), *first, *second])
    assert (verdict(plan), verdict(plan, "h")) == ("Preempting", "Waiting")
    assert len(evicted(plan)) == 2
    roomy = decided([N3, node("n2", cpu=1), *low(3), *low(1, "n2", name="more"), *first, *second])
    assert len(evicted(roomy, "g")) == len(evicted(roomy, "h")) == 2
    assert len(evicted(roomy)) == 4


def test_who_was_promised_a_place_may_lose_it_to_a_higher_rank_and_nobody_is_evicted_twice() -> None:
    """The victim leaves already; the higher one takes its place, and the lower one looks for another."""
    top = [pod_group("top", 1, priority=1000), pod("top-0", 1, group="top", priority=1000)]
    objects = [*ONES[:2], *leaving(low(1)), *low(1, "n2", name="more"), *nominated(gang(1), "n1"), *top]
    plan = decided(objects)
    assert evicted(plan, "top") == []
    assert evicted(plan, "g") in ([], ["more-0"])


def test_a_victim_that_is_back_does_not_evict_its_evictor() -> None:
    seated_now = [pod_group("g", 1, priority=100), running("g-0", "n1", group="g", priority=100)]
    plan = decided([ONES[0], *seated_now, pod("low-0", 1, priority=10)])
    assert (verdict(plan, "low-0"), evicted(plan)) == ("Waiting", [])


# ---- late members and surplus


@pytest.mark.parametrize("quorum", [1, None], ids=["gang", "basic"])
def test_late_members_never_evict(quorum: int | None) -> None:
    """Upstream preempts for them."""
    at_work = [pod_group("g", quorum, priority=100), running("g-0", "n1", group="g", priority=100)]
    late = pods("g", 1, 1, start=1, group="g", priority=100)
    plan = decided([*ONES[:2], *at_work, *low(1, "n2"), *late])
    assert (verdict(plan), evicted(plan)) == ("Scheduled", [])


def test_the_quorum_is_bound_and_the_surplus_evicts_nobody() -> None:
    plan = decided([N3, *low(2), *party(1, 3)])
    assert (verdict(plan), seated(plan), evicted(plan)) == ("Scheduled", ["g-0"], [])


# ---- who is never a victim


def static(name: str) -> Obj:
    return running(name, "n1", annotations={"kubernetes.io/config.mirror": "x"}, owner="Node/n1")


@pytest.mark.parametrize(
    "spared",
    [
        running("low", "n1", owner="DaemonSet/agent"),
        static("low"),
        running("low", "n1", annotations={"maitred.dev/non-preemptible": "true"}),
        running("low", "n1", labels={"maitred.dev/non-preemptible": "true"}),
        running("low", "n1", annotations={"volcano.sh/preemptable": "false"}),
        running("low", "n1", labels={"kai.scheduler/preemptibility": "non-preemptible"}),
        running("low", "n1", started=MIDNIGHT - 60, annotations={"maitred.dev/min-runtime": "30m"}),
        running("low", "n1", started=None, annotations={"maitred.dev/min-runtime": "30m"}),
    ],
    ids=[
        "DaemonSet",
        "static",
        "annotation",
        "label",
        "Volcano",
        "KAI",
        "min-runtime",
        "min-runtime without a start",
    ],
)
def test_spared(spared: Obj) -> None:
    plan = decided([ONES[0], spared, *gang(1)])
    assert (verdict(plan) in ("Waiting", "Impossible"), evicted(plan)) == (True, [])


FORGED: dict[str, Obj] = {
    "no controller": {"apiVersion": "apps/v1", "kind": "DaemonSet"},
    "another API group": {"apiVersion": "example.com/v1", "kind": "DaemonSet", "controller": True},
    "a node of another API group": {"apiVersion": "example.com/v1", "kind": "Node", "controller": True},
}


@pytest.mark.parametrize("forged", FORGED.values(), ids=FORGED.keys())
def test_who_only_says_to_belong_to_a_node_is_not_spared(forged: Obj) -> None:
    """Nor does it make anything impossible for others."""
    liar = running("low", "n1")
    liar["metadata"]["ownerReferences"] = [{"name": "x", "uid": "x", **forged}]
    plan = decided([ONES[0], liar, *gang(1)])
    assert (verdict(plan), evicted(plan)) == ("Preempting", ["low"])


def test_a_minimal_run_time_ends() -> None:
    marks = {"maitred.dev/min-runtime": "30m"}
    young = decided([ONES[0], running("low", "n1", started=MIDNIGHT - 60, annotations=marks), *gang(1)])
    assert (evicted(young), young["wakeAt"]) == ([], moment(MIDNIGHT - 60 + HOUR // 2))
    assert evicted(decided([ONES[0], running("low", "n1", annotations=marks), *gang(1)])) == ["low"]


def test_protection_of_a_group_is_that_of_its_members_unless_they_say_otherwise() -> None:
    v = band("v", ["n1", "n2"], annotations={"maitred.dev/non-preemptible": "true"})
    assert evicted(decided([*ONES[:2], *v, *gang(1)])) == []
    v[2]["metadata"]["annotations"] = {"maitred.dev/non-preemptible": "false"}
    assert evicted(decided([*ONES[:2], *v, *gang(1)])) == ["v-1"]


FOREIGN = {
    "Volcano": ("scheduling.volcano.sh/v1beta1", "scheduling.volcano.sh/group-name"),
    "KAI": ("scheduling.run.ai/v2alpha2", "pod-group-name"),
}


def foreign(scheduler: str, name: str, annotations: Obj, **spec: str) -> Obj:
    version, _ = FOREIGN[scheduler]
    metadata = {"name": name, "annotations": annotations}
    return {"apiVersion": version, "kind": "PodGroup", "metadata": metadata, "spec": {"minMember": 1, **spec}}


@pytest.mark.parametrize("scheduler", FOREIGN)
def test_what_another_schedulers_pod_group_says_of_preemption_and_priority_counts(scheduler: str) -> None:
    marks = {FOREIGN[scheduler][1]: "v"}
    low = running("low", "n1", annotations=marks)
    exempt, spec = {"volcano.sh/preemptable": "false"}, dict[str, str]()
    if scheduler == "KAI":
        exempt, spec = {}, {"preemptibility": "non-preemptible"}
    assert evicted(decided([ONES[0], low, foreign(scheduler, "v", {}), *gang(1)])) == ["low"]
    asking = [ONES[0], low, foreign(scheduler, "v", exempt, **spec), *gang(1)]
    assert evicted(decided(asking)) == []
    nobody: Obj = {"preemption": {"protection": {"namespaces": {"matchLabels": {"trusted": "yes"}}}}}
    assert evicted(decided(asking, policy=nobody)) == ["low"]
    classes = [priority_class("top", 10_000)]
    ranked = foreign(scheduler, "v", {}, priorityClassName="top")
    assert evicted(decided([ONES[0], low, ranked, *gang(1), *classes])) == [], "it ranks as its group says"
    assert evicted(decided([ONES[0], low, ranked, *gang(1)])) == ["low"], "there is no such class"
    odd = [foreign(scheduler, "v", {}, priorityClassName="top"), *pods("w", 1, 1, annotations=marks)]
    plan = decided([ONES[0], *odd, *classes])
    assert "they must agree" in str(plan["groups"])
    assert plan["binds"] == []
    assert len(decided([ONES[0], *odd])["binds"]) == 1


def test_one_protected_member_protects_its_unit() -> None:
    v = band("v", ["n1", "n2"], disruption="all")
    v[1]["metadata"]["annotations"] = {"maitred.dev/non-preemptible": "true"}
    assert evicted(decided([*ONES[:2], *v, *gang(1)])) == []


# ---- the policy


def test_a_policy_of_no_preemption() -> None:
    plan = decided([N3, *low(3), *gang(3)], policy={"preemption": {"mode": "never"}})
    assert (verdict(plan), evicted(plan)) == ("Waiting", [])


def test_first_come_first_served_displaces_nobody() -> None:
    assert evicted(decided([N3, *low(3), *gang(3)], policy={"order": "fifo"})) == []


def test_victims_of_our_own_only() -> None:
    ours, theirs = low(1, scheduler="maitred"), low(1, "n2", name="theirs", scheduler="other", priority=1)
    objects = [*ONES[:2], *ours, *theirs, *gang(1, scheduler="maitred")]
    assert evicted(decided(objects)) == ["theirs-0"]
    assert evicted(decided(objects, policy={"preemption": {"victims": "own"}})) == ["low-0"]


def test_a_delay_is_kept() -> None:
    """It counts from the youngest member that waits."""
    late = pods("g", 1, 1, start=1, group="g", priority=100, created=MIDNIGHT - 60)
    objects = [*ONES[:2], *low(1), *low(1, "n2", name="more"), *party(2, 1), *late]
    policy = {"preemption": {"delay": "5m"}}
    plan = decided(objects, policy=policy)
    assert (verdict(plan), evicted(plan), plan["wakeAt"]) == ("Waiting", [], moment(MIDNIGHT - 60 + 300))
    assert len(evicted(decided(objects, policy=policy, now=plan["wakeAt"]))) == 2


# ---- what an eviction costs


def gpus(name: str, on: str, started: int, **fields: Any) -> Obj:
    return running(name, on, started=started, gpu=1, **fields)


GPU_NODES = [node("n1", cpu=1, gpu=1), node("n2", cpu=1, gpu=1)]


def test_less_work_is_lost() -> None:
    objects = [*GPU_NODES, gpus("long", "n1", 0), gpus("short", "n2", MIDNIGHT - HOUR), *gang(1, gpu=1)]
    plan = decided(objects)
    assert evicted(plan) == ["short"]
    assert receipt(plan, "short")["workLostDeviceHours"] == 1.0
    assert [toll["workLostSteps"] for toll in tolls(plan)] == [6]


@pytest.mark.parametrize(
    "saved",
    [{"maitred.dev/last-checkpoint": "2026-01-01T23:59:00Z"}, {"maitred.dev/checkpoint-interval": "7m"}],
    ids=["last", "interval"],
)
def test_work_that_is_saved_is_not_lost(saved: dict[str, str]) -> None:
    """The one who has run for longer has a checkpoint: with an interval of 7 minutes, 5 minutes ago."""
    long = gpus("long", "n1", 0, annotations=saved)
    plan = decided([*GPU_NODES, long, gpus("short", "n2", MIDNIGHT - HOUR), *gang(1, gpu=1)])
    assert evicted(plan) == ["long"]
    assert [toll["workLostSteps"] for toll in tolls(plan)] == [0]


def test_lost_work_is_told_to_a_ten_thousandth_of_an_hour() -> None:
    plan = decided([GPU_NODES[0], gpus("short", "n1", MIDNIGHT - 1000), *gang(1, gpu=1)])
    assert receipt(plan, "short")["workLostDeviceHours"] == 0.2778


def test_differences_of_less_than_ten_minutes_are_noise() -> None:
    """Of 5 and 9 minutes lost neither counts; the younger leaves."""
    older, younger = gpus("older", "n1", MIDNIGHT - 540), gpus("younger", "n2", MIDNIGHT - 300)
    assert evicted(decided([*GPU_NODES, older, younger, *gang(1, gpu=1)])) == ["younger"]


# ---- whose protection counts


def limited(**limits: Any) -> Obj:
    return {"preemption": {"protection": limits}}


EXEMPT = {"maitred.dev/non-preemptible": "true"}
ODD = {"maitred.dev/min-runtime": "for ever"}
TEAM_A = {"matchLabels": {"kubernetes.io/metadata.name": "team-a"}}


@pytest.mark.parametrize("marks", [EXEMPT, ODD, {"maitred.dev/min-runtime": "100d"}])
def test_a_namespace_that_may_not_protect_its_pods_does_not(marks: dict[str, str]) -> None:
    objects = [*ONES[:1], running("low", "n1", annotations=marks), *gang(1)]
    assert evicted(decided(objects)) == []
    plan = decided(objects, policy=limited(namespaces=TEAM_A))
    assert evicted(plan) == ["low"]
    words = "does not count: namespace default may not protect pods (policy.preemption.protection)"
    assert receipt(plan, "low")["rule"].endswith(f"; its {next(iter(marks))} {words}")
    assert any(warning.endswith(words) for warning in plan["warnings"])
    assert evicted(decided(objects, policy=limited(namespaces={}))) == [], "an empty selector is for all"


def test_of_those_who_ask_for_protection_the_first_to_start_have_it() -> None:
    """Nobody has devices, so each counts as one, and two may be protected."""
    low = [
        running(name, f"n{number}", started=MIDNIGHT - age, annotations=EXEMPT)
        for number, (name, age) in enumerate((("young", 60), ("old", 900), ("oldest", 901)), 1)
    ]
    objects = [*ONES, *low, *gang(1)]
    assert evicted(decided(objects, policy=limited(devicesPerNamespace=3))) == []
    plan = decided(objects, policy=limited(devicesPerNamespace=2))
    assert evicted(plan) == ["young"]
    assert "namespace default may protect only 2 devices, and other pods of it already do" in str(
        plan["warnings"]
    )


def test_devices_are_counted_and_a_group_is_protected_as_a_whole() -> None:
    crew = band("crew", ["n1", "n2"], 2, started=MIDNIGHT - 900, annotations=EXEMPT, gpu=4)
    late = running("late", "n3", started=MIDNIGHT - 60, annotations=EXEMPT, gpu=4)
    nodes = [node(f"n{number}", cpu=8, gpu=4) for number in (1, 2, 3)]
    objects = [*nodes, *crew, late, *gang(1, gpu=4)]
    assert evicted(decided(objects, policy=limited(devicesPerNamespace=12))) == []
    assert evicted(decided(objects, policy=limited(devicesPerNamespace=8))) == ["late"]
    assert evicted(decided(objects, policy=limited(devicesPerNamespace=7))) == ["crew-0", "crew-1"]


# ---- how a victim leaves


def job_band(size: int, **spec: Any) -> list[Obj]:
    """A Job and all of its pods, each on a node of its own, as one gang."""
    return [job("work", size, **spec), *band("work", ["n1", "n2", "n3"][:size], size, owner="Job/work")]


def test_a_job_that_leaves_whole_is_suspended() -> None:
    plan = decided([*ONES[:2], *job_band(2), *gang(1)])
    assert evicted(plan) == ["work-0", "work-1"]
    departure = receipt(plan, "work-0")["departure"]
    assert (departure["owner"], departure["by"], departure["survives"]) == ("Job work", "suspend", True)


def test_a_job_that_another_controller_manages_is_not_suspended() -> None:
    """Nobody knows whether its pods would leave for that."""
    for manager, by in (("example.com/another", "delete"), ("kubernetes.io/job-controller", "suspend")):
        plan = decided([*ONES[:2], *job_band(2, managedBy=manager), *gang(1)])
        assert receipt(plan, "work-0")["departure"]["by"] == by


def test_a_job_of_the_system_is_not_suspended() -> None:
    low = [{**item, "metadata": {**item["metadata"], "namespace": "kube-system"}} for item in job_band(2)]
    plan = decided([*ONES[:2], *low, *gang(1)])
    assert {eviction["receipt"]["departure"]["by"] for eviction in plan["evictions"]} == {"delete"}


def test_a_policy_that_deletes_counts_against_the_job() -> None:
    """With as many failures as its backoffLimit allows it lives, with one more it does not."""
    for limit, survives in ((2, True), (1, False)):
        objects = [*ONES[:2], *job_band(2, backoffLimit=limit), *gang(1)]
        plan = decided(objects, policy={"preemption": {"jobs": "delete"}})
        departure = receipt(plan, "work-0")["departure"]
        assert (departure["by"], departure["survives"]) == ("delete", survives)


def test_a_pod_without_an_owner_is_deleted() -> None:
    departure = receipt(decided([ONES[0], *low(1), *gang(1)]), "low-0")["departure"]
    assert (departure["owner"], departure["by"]) == ("", "delete")


# ---- bad input


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("maitred.dev/min-runtime", "-30m"),
        ("maitred.dev/min-runtime", "soon"),
        ("maitred.dev/checkpoint-interval", "-10m"),
        ("maitred.dev/checkpoint-interval", "0s"),
        ("maitred.dev/last-checkpoint", "yesterday"),
        ("maitred.dev/last-checkpoint", "2026-01-01"),
        ("maitred.dev/last-checkpoint", "2027-01-01T00:00:00Z"),
        ("maitred.dev/non-preemptible", "maybe"),
        ("volcano.sh/preemptable", "no"),
        ("kai.scheduler/preemptibility", "semi-preemptible"),
    ],
)
def test_a_mark_that_cannot_be_read_protects_and_is_told(key: str, text: str) -> None:
    plan = decided([ONES[0], running("low", "n1", annotations={key: text}), *gang(1)])
    assert (verdict(plan), evicted(plan)) == ("Waiting", [])
    assert any("low" in warning and key in warning for warning in plan["warnings"]), plan["warnings"]


def test_a_victim_whose_priority_nobody_knows_stays() -> None:
    odd = running("low", "n1", priority=None, priority_class="no-such-class")
    plan = decided([ONES[0], odd, *gang(1)])
    assert (verdict(plan), evicted(plan)) == ("Waiting", [])
    assert any("default/low" in warning for warning in plan["warnings"]), plan["warnings"]


def test_a_preemptor_whose_priority_nobody_knows_is_invalid() -> None:
    odd = [pod_group("g", 1), *pods("g", 1, 1, group="g", priority_class="no-such-class")]
    plan = decided([ONES[0], *low(1), *odd])
    assert (verdict(plan), evicted(plan)) == ("Invalid", [])


@pytest.mark.parametrize("delay", ["-5m", "soon", "", "5"])
def test_a_delay_that_is_none_is_refused(delay: str) -> None:
    with pytest.raises(InputError, match=r"preemption\.delay"):
        read_policy(f"preemption: {{delay: '{delay}'}}".encode(), "policy.yaml")


@pytest.mark.parametrize(
    "text", ["{mode: sometimes}", "{victims: all}", "{jobs: kill}", "{delays: 5m}"], ids=lambda text: text
)
def test_a_policy_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="preemption"):
        read_policy(f"preemption: {text}".encode(), "policy.yaml")


def test_now_is_the_same_for_all() -> None:
    """A checkpoint at this very moment is not in the future."""
    saved = running("low", "n1", annotations={"maitred.dev/last-checkpoint": NOW})
    assert evicted(decided([ONES[0], saved, *gang(1)])) == ["low"]
