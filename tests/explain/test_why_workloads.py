"""`why` about what makes pods: a Job, a Deployment, a JobSet, by whatever kubectl calls it."""

from typing import Any

import pytest

from maitred.explain.why.answer import KINDS, Why, kind_called
from maitred.explain.why.tables import why_lines
from maitred.explain.why.why import why_named
from maitred.model.manifest import InputError
from maitred.model.owners import BY_NAME
from tests.explain.whys import seen_of, situation_of, why_of
from tests.oracle import builders as b
from tests.support import Obj

HASH = {"pod-template-hash": "5d9c7"}
NODES = [b.node("n0", gpu=4, cpu=64), b.node("n1", gpu=1, cpu=64)]


AS_WRITTEN: Obj = {"workloads": {"jobs": "as-written"}}


def asked(objects: list[Obj], kind: str, name: str, policy: Obj | None = None) -> Why:
    situation = situation_of(objects, policy)
    return why_named(situation, name, "default", kind_called(kind), seen_of(objects))


def owned(kind: str, version: str, name: str, count: int, running: int = 0, **fields: Any) -> list[Obj]:
    """Pods of one owner that ask for a device each; the first of them run on n0."""
    pods = [
        b.pod(f"{name}-{i}-x", gpu=1, created=0, node="n0" if i < running else None, **fields)
        for i in range(count)
    ]
    for pod in pods:
        reference = {
            "apiVersion": version,
            "kind": kind,
            "name": name,
            "uid": f"uid-{name}",
            "controller": True,
        }
        pod["metadata"]["ownerReferences"] = [reference]
    return pods


def job(name: str, members: int, **spec: Any) -> Obj:
    said = {"parallelism": members, "completions": members, "completionMode": "Indexed", **spec}
    about = {"name": name, "namespace": "default", "uid": f"uid-{name}"}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": about, "spec": said}


# -- kinds -------------------------------------------------------------------------------------------------


def test_every_kind_that_makes_pods_can_be_asked_about() -> None:
    assert set(KINDS) == {"group", "pod", *BY_NAME}


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("job", "job"),
        ("Jobs", "job"),
        ("job.batch", "job"),
        ("jobs.v1.batch", "job"),
        ("jobs.batch.volcano.sh", "vcjob"),
        ("job.v1alpha1.batch.volcano.sh", "vcjob"),
        ("vcjob", "vcjob"),
        ("deploy", "deployment"),
        ("Deployment.apps", "deployment"),
        ("sts", "statefulset"),
        ("rs", "replicaset"),
        ("ds", "daemonset"),
        ("rc", "replicationcontroller"),
        ("replicationcontrollers.v1", "replicationcontroller"),
        ("cj", "cronjob"),
        ("jobsets.jobset.x-k8s.io", "jobset"),
        ("lws", "leaderworkerset"),
        ("pytorchjobs.kubeflow.org", "pytorchjob"),
        ("po", "pod"),
        ("podgroups.scheduling.k8s.io", "group"),
        ("deployment.example.com", None),
        ("svc", None),
        ("team-a", None),
    ],
)
def test_kinds_are_called_as_kubectl_calls_them(said: str, meant: str | None) -> None:
    assert kind_called(said) == meant


OWNED: dict[str, list[Obj]] = {
    "job/x": owned("Job", "batch/v1", "x", 6, 5),
    "vcjob/x": owned("Job", "batch.volcano.sh/v1alpha1", "x", 6, 5),
    "sts/x": owned("StatefulSet", "apps/v1", "x", 6, 5),
    "rs/x": owned("ReplicaSet", "apps/v1", "x", 6, 5),
    "ds/x": owned("DaemonSet", "apps/v1", "x", 6, 5),
    "rc/x": owned("ReplicationController", "v1", "x", 6, 5),
    "deploy/x": owned("ReplicaSet", "apps/v1", "x-5d9c7", 6, 5, labels=HASH),
    "jobset/x": owned("Job", "batch/v1", "x-w-0", 6, 5, labels={"jobset.sigs.k8s.io/jobset-name": "x"}),
    "lws/x": owned("StatefulSet", "apps/v1", "x-0", 6, 5, labels={"leaderworkerset.sigs.k8s.io/name": "x"}),
}
GANGS: dict[str, list[Obj]] = {
    "pytorchjob/x": owned("PyTorchJob", "kubeflow.org/v1", "x", 6, 5),
    "raycluster/x": owned("RayCluster", "ray.io/v1", "x", 6, 5),
    "rayjob/x": owned(
        "RayCluster",
        "ray.io/v1",
        "x-7k2",
        6,
        5,
        labels={"ray.io/originated-from-cr-name": "x", "ray.io/originated-from-crd": "RayJob"},
    ),
}


@pytest.mark.parametrize("what", OWNED)
def test_the_pods_of_a_workload_are_found_and_told_of_as_a_whole(what: str) -> None:
    kind, _, name = what.partition("/")
    answer = asked([*NODES, b.pod("other", gpu=1, node="n1"), *OWNED[what][1:]], kind, name)
    assert (answer.members, answer.placed, answer.quorum) == (5, 4, 1)
    assert str(answer.workload).endswith(" default/x")
    assert (answer.state, answer.verdict) == ("Waiting", "Waiting")
    assert answer.summary.startswith(f"{answer.workload}: 4 of 5 pods are placed, each decided by itself; ")
    assert "the next one waits: " in answer.summary


@pytest.mark.parametrize("what", GANGS)
def test_a_gang_whose_object_is_not_in_the_dump_is_all_of_its_pods(what: str) -> None:
    kind, _, name = what.partition("/")
    answer = asked([*NODES, *GANGS[what][1:]], kind, name)
    assert (answer.members, answer.placed, answer.quorum) == (5, 5, 5)
    assert answer.group in ("default/x", "default/x-7k2")
    assert str(answer.quorum_from).endswith("itself is not known")


def test_a_cron_job_has_the_pods_of_its_jobs() -> None:
    made = job("nightly-1", 2, completionMode="NonIndexed")
    reference = {"apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly", "controller": True}
    made["metadata"]["ownerReferences"] = [reference]
    answer = asked([*NODES, made, *owned("Job", "batch/v1", "nightly-1", 2, 2)], "cj", "nightly")
    assert (answer.workload, answer.members, answer.placed) == ("CronJob default/nightly", 2, 2)


def test_pods_of_an_earlier_job_of_the_same_name_are_not_its_pods() -> None:
    """They name the UID of the Job that was there before."""
    now, left = job("train", 2), owned("Job", "batch/v1", "train", 2, 2)
    now["metadata"]["uid"] = "now"
    for pod in left:
        pod["metadata"]["ownerReferences"][0]["uid"] = "before"
    answer = asked([*NODES, now, *left], "job", "train")
    assert (answer.state, answer.placed) == ("NoPods", 0)
    for pod in left:
        pod["metadata"]["ownerReferences"][0]["uid"] = "now"
    assert asked([*NODES, now, *left], "job", "train").placed == 2


def test_kinds_of_one_name_are_told_apart() -> None:
    objects = [*NODES, *owned("StatefulSet", "apps/v1", "x", 2, 2)]
    assert asked(objects, "sts", "x").workload == "StatefulSet default/x"
    for kind in ("deploy", "job", "vcjob", "rayservice"):
        with pytest.raises(InputError, match=r"^there is no "):
            asked(objects, kind, "x")
    volcano = owned("Job", "batch.volcano.sh/v1alpha1", "x", 2, 2)
    assert asked([*NODES, *volcano], "vj", "x").workload == "Job.batch.volcano.sh default/x"
    with pytest.raises(InputError, match=r"^there is no Job default/x"):
        asked([*NODES, *volcano], "job", "x")


def test_without_a_kind_a_workload_is_found_too() -> None:
    objects = [*NODES, *owned("ReplicaSet", "apps/v1", "web-5d9c7", 2, 2, labels=HASH)]
    answer = why_named(situation_of(objects), "web", "default", None, seen_of(objects))
    assert answer.workload == "Deployment default/web"


def test_a_namespace_that_is_not_there_is_told_apart_from_a_name() -> None:
    objects = [*NODES, b.namespace("team-a"), *owned("StatefulSet", "apps/v1", "store", 1, 1)]
    with pytest.raises(
        InputError, match=r"^there is no namespace service; write a namespace before the slash"
    ):
        why_named(situation_of(objects), "service/web", "default", None, seen_of(objects))
    with pytest.raises(InputError, match=r"^there is no group, pod or workload team-a/web"):
        why_named(situation_of(objects), "team-a/web", "default", None, seen_of(objects))
    with pytest.raises(
        InputError, match=r"^there is no pod of a StatefulSet default/stroe; did you mean default/store"
    ):
        asked(objects, "sts", "stroe")


def test_a_workload_whose_pods_are_a_gang_is_that_group() -> None:
    objects = [*NODES, *owned("PyTorchJob", "kubeflow.org/v1", "x", 6, annotations=b.gang("crew", 6))]
    answer = asked(objects, "pytorchjob", "x")
    assert (answer.group, answer.workload, answer.quorum) == ("default/crew", None, 6)


def test_a_workload_in_several_groups_tells_which_one_is_meant() -> None:
    some = owned("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1", "x", 6, annotations=b.gang("one", 6))
    for pod in some[3:]:
        pod["metadata"]["annotations"] = b.gang("two", 3)
    answer = asked([*NODES, *some], "lws", "x")
    assert answer.notes[-1] == (
        "its pods are in 2 groups: default/one, default/two; this answer is about default/one"
    )


# -- a Job whose pods name no group ------------------------------------------------------------------------


def test_a_job_that_needs_all_its_pods_is_told_what_it_holds_in_vain() -> None:
    nodes = [b.node("n0", gpu=5, cpu=64)]
    objects = [*nodes, job("train", 6), *owned("Job", "batch/v1", "train", 6, 5)]
    answer = asked(objects, "job", "train", AS_WRITTEN)
    assert answer.summary == (
        "Job default/train: 5 of 6 pods are placed, each decided by itself; the next one waits: needs 1 "
        "nvidia.com/gpu for 1 member, 0 free on 1 eligible node: 0 of 1 would fit"
    )
    consequence, advice = answer.notes[:2]
    assert consequence.endswith(
        "though the Job runs all 6 at once and needs them all; until then 5 pods hold 5 nvidia.com/gpu "
        "without working"
    )
    assert advice == (
        "to start its pods as one gang, set the annotation maitred.dev/min-count: '6' on the Job"
    )
    table = "\n".join(line.plain for line in why_lines(answer, 400))
    assert "State       Waiting, 5 of 6 pods placed, each decided by itself, priority 0" in table


def test_pods_of_a_job_that_can_do_without_each_other() -> None:
    queue = job("train", 6, completions=60)
    objects = [b.node("n0", gpu=5, cpu=64), queue, *owned("Job", "batch/v1", "train", 6, 5)]
    consequence = asked(objects, "job", "train").notes[0]
    assert consequence == (
        "it names no group and is no gang by itself (its spec.completions is 60, and its spec.parallelism is "
        "6: they differ), so each pod is decided alone and starts as soon as it fits"
    )


def test_pods_of_one_job_are_not_in_each_others_way() -> None:
    objects = [b.node("n0", gpu=4, cpu=64), job("train", 6), *owned("Job", "batch/v1", "train", 6)]
    answer = asked(objects, "job", "train", AS_WRITTEN)
    assert (answer.members, answer.placed) == (6, 4)
    assert [blocker.category for blocker in answer.blockers] == ["Capacity"]
    assert answer.notes[0].endswith("the first of 2 waiting pods")


def test_a_job_all_of_whose_pods_run() -> None:
    objects = [b.node("n0", gpu=8, cpu=64), job("train", 2), *owned("Job", "batch/v1", "train", 2, 2)]
    answer = asked(objects, "job", "train", AS_WRITTEN)
    assert (answer.state, answer.verdict, answer.placed) == ("Running", "Scheduled", 2)
    assert answer.summary.startswith(
        "Job default/train: 2 of 2 pods are placed on n0, each decided by itself"
    )
    assert not any("in vain" in note for note in answer.notes)


MISSED: dict[str, tuple[Obj, Obj]] = {
    "its spec.parallelism is 1, and a gang has more than 1 pod": ({"parallelism": 1, "completions": 1}, {}),
    "its spec.completionMode is NonIndexed, and not Indexed": ({"completionMode": "NonIndexed"}, {}),
    "its spec.completions is 6, and its spec.parallelism is 3: they differ": ({"completions": 6}, {}),
    "its template names a group": (
        {"template": {"metadata": {"labels": {"maitred.dev/group": "crew"}}, "spec": {"containers": []}}},
        {"labels": {"maitred.dev/group": "crew"}},
    ),
}


@pytest.mark.parametrize("words", MISSED)
def test_a_job_that_misses_one_condition_to_be_a_gang_is_told_which(words: str) -> None:
    spec, fields = MISSED[words]
    made = job("train", 3, **spec)
    objects = [b.node("n0", gpu=8, cpu=64), made]
    objects += owned("Job", "batch/v1", "train", made["spec"]["parallelism"], **fields)
    answer = asked(objects, "job", "train")
    assert any(f"({words})" in note for note in answer.notes)
    assert answer.quorum == 1


def test_a_job_that_misses_none_is_told_that_its_quorum_is_all_of_its_pods() -> None:
    objects = [b.node("n0", gpu=8, cpu=64), job("train", 3), *owned("Job", "batch/v1", "train", 3)]
    answer = asked(objects, "job", "train")
    assert answer.quorum == 3
    assert answer.quorum_from == "Job default/train, which runs all of its indexes at once"
    assert not any("gang" in note for note in answer.notes)


def test_the_quorum_of_a_job_without_pods_is_told_too() -> None:
    answer = asked([b.node("n0", gpu=8, cpu=64), job("train", 3)], "job", "train")
    assert (answer.state, answer.quorum) == ("NoPods", 3)
    assert answer.quorum_from == "Job default/train, which runs all of its indexes at once"


def test_a_job_of_one_pod_that_is_not_indexed_is_told_no_more_than_that() -> None:
    made = job("train", 1, completionMode="NonIndexed")
    objects = [b.node("n0", gpu=8, cpu=64), made, *owned("Job", "batch/v1", "train", 1, 1)]
    assert not any("gang" in note for note in asked(objects, "job", "train").notes)


@pytest.mark.parametrize(("scheduling", "told"), [(None, True), ({"schedulingPolicy": {"basic": {}}}, False)])
def test_a_group_that_kubernetes_made_of_a_job_does_not_hide_what_the_job_needs(
    scheduling: Obj | None, told: bool
) -> None:
    objects = [
        b.node("n0", gpu=5, cpu=64),
        b.pod_group("train-1", None),
        job("train", 6, **({"scheduling": scheduling} if scheduling else {})),
        *owned("Job", "batch/v1", "train", 6, 5, group="train-1"),
    ]
    answer = asked(objects, "job", "train", AS_WRITTEN)
    assert (answer.group, answer.quorum, answer.placed) == ("default/train-1", 1, 5)
    vain = "and needs them all; until then 5 pods hold 5 nvidia.com/gpu without working"
    assert any(vain in note for note in answer.notes) is told
    assert any("to start its pods as one gang" in note for note in answer.notes) is told


def test_what_the_owner_of_pods_that_name_a_group_would_imply_is_said_to_be_overruled() -> None:
    spec = {"pytorchReplicaSpecs": {"Worker": {"replicas": 3}}}
    about = {"name": "t", "namespace": "default", "uid": "t"}
    owner = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": about, "spec": spec}
    pods = [b.pod(f"t-{number}", cpu=1) for number in range(3)]
    for pod in pods:
        pod["metadata"]["annotations"] = {"pod-group-name": "g", "kai.scheduler/batch-min-member": "2"}
        pod["metadata"]["ownerReferences"] = [
            {
                "apiVersion": "kubeflow.org/v1",
                "kind": "PyTorchJob",
                "name": "t",
                "uid": "t",
                "controller": True,
            }
        ]
    answer = why_of([b.node("n", cpu=8), owner, *pods], "default/g")
    words = "would be a gang of 3; that does not count, because its pods name a group"
    assert [note for note in answer.notes if words in note]
    assert answer.quorum == 2


def test_a_pod_on_a_lost_node_does_not_run() -> None:
    pods = [*owned("ReplicaSet", "apps/v1", "web", 1, 1), *owned("ReplicaSet", "apps/v1", "web", 2)[1:]]
    pods[1]["spec"]["nodeName"] = "n9"
    for pod in pods:
        pod["status"] = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
    answer = asked([*NODES, b.node("n9", gpu=1, ready=None), *pods], "rs", "web")
    assert (answer.placed, answer.members, answer.state, answer.verdict) == (1, 2, "Running", "Scheduled")
    assert "1 member is on nodes that are lost: n9 does not answer" in answer.notes
    assert answer.progress is not None
    assert [(one.cause, one.pod) for one in answer.progress.slow] == [("Lost", "default/web-1-x")]


def job_set(**spec: Any) -> Obj:
    several = [{"name": "w", "template": {"spec": {"parallelism": 2, "completions": 2}}}]
    about = {"name": "train", "namespace": "default", "uid": "uid-train"}
    body = {"replicatedJobs": several, **spec}
    return {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "metadata": about, "spec": body}


def test_an_operators_object_without_pods_is_told_from_one_that_does_not_exist() -> None:
    answer = asked([*NODES, job_set()], "jobset", "train")
    assert (answer.state, answer.notes) == (
        "NoPods",
        (
            "JobSet train exists, and has no pods: its operator has created none, and has not written to its "
            "status: check that the operator for JobSet runs",
        ),
    )
    assert asked([*NODES, job_set(suspend=True)], "jobset", "train").state == "Suspended"
    with pytest.raises(InputError, match="there is no pod of a JobSet default/other"):
        asked([*NODES, job_set()], "jobset", "other")


def test_what_its_job_met_with_is_told_of_an_object_without_pods() -> None:
    job = b.job("train-w-0", 2)
    owner = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "train", "uid": "uid-train"}
    job["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    about = {"kind": "Job", "namespace": "default", "name": "train-w-0"}
    refused = {"involvedObject": about, "reason": "FailedCreate", "message": "exceeded quota: q"}
    objects = [*NODES, job_set(), job]
    answer = why_named(
        situation_of(objects), "train", "default", kind_called("jobset"), seen_of(objects, refused)
    )
    assert answer.notes == ("Job train-w-0 cannot create its pods: exceeded quota: q (1 time)",)


def test_of_a_job_set_it_is_said_which_replicated_job_is_short() -> None:
    """A driver and four workers, of which two have room beside it; and one of whose Jobs nothing was made."""
    roles = [("driver", 1, 1), ("w", 2, 2)]
    jobs, pods = list[Obj](), list[Obj]()
    for role, replicas, each in roles:
        for number in range(replicas):
            name = f"s-{role}-{number}"
            labels = {"jobset.sigs.k8s.io/replicatedjob-name": role}
            about: Obj = {"name": name, "namespace": "default", "uid": name, "labels": labels}
            above = [{"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "name": "s", "uid": "s"}]
            about["ownerReferences"] = [{**above[0], "controller": True}]
            jobs.append({"apiVersion": "batch/v1", "kind": "Job", "metadata": about, "spec": {}})
            for index in range(each):
                pod = b.pod(f"{name}-{index}-x", cpu=1)
                own = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": name, "controller": True}
                pod["metadata"]["ownerReferences"] = [own]
                pods.append(pod)
    several = [
        {"name": role, "replicas": replicas, "template": {"spec": {"parallelism": each, "completions": each}}}
        for role, replicas, each in roles
    ]
    owner: Obj = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    owner["metadata"] = {"name": "s", "namespace": "default", "uid": "s"}
    owner["spec"] = {"replicatedJobs": several}
    answer = why_of([b.node("n", cpu=3), owner, *jobs, *pods], "default/s")
    assert "with as many members as fit now, replicated job w has 2 of 4" in answer.notes
    answer = why_of([b.node("n", cpu=8), owner, *jobs, *pods[:3]], "default/s")
    assert "of the pods that were created, replicated job w has 2 of 4" in answer.notes
