"""What pods and PodGroups say in other schedulers' languages: read, or Invalid with the reason."""

from typing import Any

import pytest

from maitred.verify import verify
from tests.oracle import builders as b
from tests.support import Obj, decide

VOLCANO, KAI = "scheduling.volcano.sh/v1beta1", "scheduling.run.ai/v2alpha2"
IN_VOLCANO, IN_KAI = {"scheduling.volcano.sh/group-name": "g"}, {"pod-group-name": "g"}
FOUR = {**IN_KAI, "kai.scheduler/batch-min-member": "4"}
LEAST, SEGMENT = "scheduling.volcano.sh/group-min-member", "kai.scheduler/segment-"
APP = {"yunikorn.apache.org/app-id": "g", "yunikorn.apache.org/task-group-name": "w"}
TASKS = "yunikorn.apache.org/task-groups"
LAYERS = "kueue.x-k8s.io/podset-slice-required-topology-constraints"
KAI_LEVEL = "kai.scheduler/topology-required-placement"


def pod_group(api_version: str, **spec: Any) -> Obj:
    return {"apiVersion": api_version, "kind": "PodGroup", "metadata": {"name": "g"}, "spec": spec}


def judged(*objects: Obj, annotations: Obj | None = None, labels: Obj | None = None, count: int = 4) -> Obj:
    """The only group of so many pods, on two racks of three nodes with room for one each."""
    nodes = [b.node(f"n{n}", cpu="1", labels={"rack": f"r{n // 3}"}) for n in range(6)]
    pods = [b.pod(f"p{n}", cpu="1") for n in range(count)]
    for pod in pods:
        pod["metadata"] |= {"annotations": annotations or {}, "labels": labels or {}}
    everything = [*nodes, *pods, *objects]
    plan = decide(everything)
    assert verify(everything, plan) == []
    (group,) = plan["groups"]
    assert group["verdict"] != "Invalid" or not plan["binds"]
    return {**group, "nodes": {bind["pod"]: bind["node"] for bind in plan["binds"]}}


def reasons(group: Obj) -> str:
    assert group["verdict"] == "Invalid"
    return " ".join(blocker["message"] for blocker in group["blockers"])


TORN: dict[str, tuple[Obj, list[Obj], list[str]]] = {
    "two keys": ({**IN_VOLCANO, "scheduling.k8s.io/group-name": "h", LEAST: "2"}, [], ["g", "h"]),
    "pods and PodGroup": (
        {**IN_VOLCANO, LEAST: "2"},
        [pod_group(VOLCANO, minMember=3)],
        ["3", f"{LEAST} says 2"],
    ),
    "levels": (
        {**IN_KAI, KAI_LEVEL: "kubernetes.io/hostname"},
        [pod_group(KAI, minMember=2, topologyConstraint={"requiredTopologyLevel": "rack"})],
        ["is kubernetes.io/hostname", "require rack"],
    ),
    "layers and a size": (
        {**FOUR, LAYERS: '[{"topology": "rack", "size": 2}]', "kueue.x-k8s.io/podset-slice-size": "4"},
        [],
        ["podset-slice-size is 4", f"{LAYERS} is 2"],
    ),
}


@pytest.mark.parametrize("case", TORN)
def test_two_places_that_disagree_are_both_named(case: str) -> None:
    annotations, objects, words = TORN[case]
    said = reasons(judged(*objects, annotations=annotations))
    assert all(word in said for word in words), said


@pytest.mark.parametrize("key", ["pod-group-name", "kai.scheduler/batch-min-member", "maitred.dev/min-count"])
def test_a_label_and_an_annotation_that_disagree_are_both_named(key: str) -> None:
    said = reasons(judged(annotations={**FOUR, key: "4"}, labels={key: "3"}))
    assert f"label {key} is 3 and annotation {key} is 4" in said


def test_a_job_that_contradicts_itself_is_invalid_though_its_template_says_nothing() -> None:
    job = b.job("j", parallelism=2, completions=2, completionMode="Indexed")
    job["metadata"]["annotations"] = {KAI_LEVEL: "rack", "kueue.x-k8s.io/podset-required-topology": "zone"}
    pods = [b.pod(f"j-{n}", cpu="1") for n in range(2)]
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "", "controller": True}
    for pod in pods:
        pod["metadata"]["ownerReferences"] = [owner]
    plan = decide([b.node("n", cpu="4"), job, *pods])
    assert "remove one of the two" in reasons(plan["groups"][0])
    assert not plan["binds"]


NONSENSE: dict[str, tuple[Obj, list[Obj], str]] = {
    "no number": ({**IN_VOLCANO, LEAST: "two"}, [], "'two' is not a whole number of at least 1"),
    "huge": ({**IN_VOLCANO, LEAST: "1000001"}, [], "'1000001' is more than 1000000"),
    "huge PodGroup": (IN_VOLCANO, [pod_group(VOLCANO, minMember=2**31 - 1)], "more than 1000000"),
    "no quorum": (
        IN_VOLCANO,
        [pod_group(VOLCANO, minMember=0)],
        "no PodGroup of this name that can be read says",
    ),
    "tasks": ({**APP, TASKS: "[1]"}, [], "is not a list of task groups"),
    "negative task": ({**APP, TASKS: '[{"minMember": 3}, {"minMember": -1}]'}, [], "3, -1 as minMember"),
    "no tasks": ({**APP, TASKS: "[]"}, [], "nothing as minMember"),
    "empty level": ({**FOUR, KAI_LEVEL: ""}, [], f"{KAI_LEVEL} cannot be read: it is empty"),
    "mode": (
        IN_VOLCANO,
        [pod_group(VOLCANO, minMember=2, networkTopology={"mode": "firm", "highestTierName": "rack"})],
        "'firm' is not hard or soft",
    ),
    "uneven layers": (
        {**FOUR, LAYERS: '[{"topology": "zone", "size": 3}, {"topology": "rack", "size": 2}]'},
        [],
        f"{LAYERS} cannot be read",
    ),
    "size as text": ({**FOUR, LAYERS: '[{"topology": "rack", "size": "2"}]'}, [], f"{LAYERS} cannot be read"),
    "half a slice": ({**FOUR, f"{SEGMENT}size": "2"}, [], "slices need a size and a level"),
    "parts in a circle": (
        IN_KAI,
        [
            pod_group(
                KAI, minSubGroup=1, subGroups=[{"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}]
            )
        ],
        "it is not known how many members",
    ),
    "too few parts": (
        IN_KAI,
        [pod_group(KAI, minSubGroup=2, subGroups=[{"name": "a", "minMember": 1}])],
        "spec.minSubGroup is 2, and it has 1 subgroup",
    ),
    "members and parts": (IN_KAI, [pod_group(KAI, minMember=1, minSubGroup=1)], "remove one of the two"),
}


@pytest.mark.parametrize("case", NONSENSE)
def test_nonsense_is_invalid_with_the_reason(case: str) -> None:
    annotations, objects, words = NONSENSE[case]
    assert words in reasons(judged(*objects, annotations=annotations))


def racks(group: Obj, pods: range) -> set[int]:
    return {int(group["nodes"][f"default/p{n}"][1:]) // 3 for n in pods}


def test_segments_of_kai_are_slices() -> None:
    wanted = {**FOUR, f"{SEGMENT}size": "2", f"{SEGMENT}topology-required-placement": "rack"}
    group = judged(annotations=wanted)
    assert [len(racks(group, part)) for part in (range(2), range(2, 4))] == [1, 1]
    assert judged(annotations={**wanted, f"{SEGMENT}size": "4"})["verdict"] != "Scheduled"


def test_segments_that_are_only_preferred_are_no_slices() -> None:
    wanted = {**FOUR, f"{SEGMENT}size": "4", f"{SEGMENT}topology-preferred-placement": "rack"}
    assert judged(annotations=wanted)["verdict"] == "Scheduled"


def test_of_layers_of_kueue_the_last_are_slices() -> None:
    zone = '{"topology": "zone", "size": 4}'
    assert judged(annotations={**FOUR, LAYERS: f'[{zone}, {{"topology": "rack", "size": 2}}]'})["placed"] == 4
    assert judged(annotations={**FOUR, LAYERS: '[{"topology": "rack", "size": 4}]'})["placed"] == 0


@pytest.mark.parametrize(("size", "placed"), [(2, 4), (4, 0)])
def test_the_subgroups_of_a_leader_worker_set_are_the_segments_of_kai(size: int, placed: int) -> None:
    template = {"metadata": {"annotations": {f"{SEGMENT}topology-required-placement": "rack"}}}
    spec = {"size": 4, "workerTemplate": template, "subGroupPolicy": {"subGroupSize": size}}
    owner = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "s"},
    }
    labels = {"leaderworkerset.sigs.k8s.io/name": "s", "leaderworkerset.sigs.k8s.io/group-index": "0"}
    assert judged({**owner, "spec": {"leaderWorkerTemplate": spec}}, labels=labels)["placed"] == placed


PARTS = [
    {"name": "a", "minMember": 3},
    {"name": "b", "minSubGroup": 1},
    {"name": "c", "parent": "b", "minMember": 2},
    {"name": "d", "parent": "b", "minMember": 1},
]


@pytest.mark.parametrize(
    ("spec", "quorum"),
    [
        ({"minMember": 0}, 1),
        ({"minSubGroup": 1, "subGroups": PARTS}, 1),
        ({"minSubGroup": 2, "subGroups": PARTS}, 4),
        ({"minSubGroup": 0, "subGroups": PARTS}, 1),
        (
            {"minSubGroup": 1, "subGroups": [{"name": f"p{n}", "parent": f"p{n + 1}"} for n in range(1000)]},
            None,
        ),
    ],
)
def test_the_quorum_of_a_pod_group_of_kai(spec: Obj, quorum: int | None) -> None:
    group = judged(pod_group(KAI, **spec), annotations=IN_KAI)
    assert group["quorum"] == quorum if quorum else group["verdict"] == "Invalid"


def test_a_pod_group_leaves_to_its_pods_what_it_does_not_say() -> None:
    prefers = pod_group(
        KAI, minMember=4, topologyConstraint={"preferredTopologyLevel": "kubernetes.io/hostname"}
    )
    assert judged(prefers, annotations={**IN_KAI, KAI_LEVEL: "rack"})["verdict"] != "Scheduled"


def test_pods_of_a_pod_group_that_a_controller_made_say_their_topology_themselves() -> None:
    made = pod_group(KAI, minMember=4)
    made["metadata"]["ownerReferences"] = [{"apiVersion": "v1", "kind": "Thing", "name": "t", "uid": "t"}]
    assert judged(made, annotations={**IN_KAI, KAI_LEVEL: "rack"})["verdict"] != "Scheduled"
    assert "remove one of the two" in reasons(judged(made, annotations={**FOUR, FEWER: "3"}))


FEWER = "kai.scheduler/batch-min-member"
