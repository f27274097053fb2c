"""Who is never a victim, whose protection counts, and what marks that cannot be read do."""

from typing import Any

import pytest

from maitred.model.manifest.errors import InputError
from maitred.model.manifest.settings import read_policy
from tests.decide.preempting import (
    NOW,
    band,
    decided,
    evicted,
    gang,
    low,
    receipt,
    running,
)
from tests.decide.reading import verdict
from tests.oracle.builders import Obj, moment, node, pod_group, pods, priority_class

ONES = [node("n1", cpu=1), node("n2", cpu=1), node("n3", cpu=1)]
HOUR = 3600
MIDNIGHT = 24 * HOUR
"""NOW, as `moment` counts."""


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
