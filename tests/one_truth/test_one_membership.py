"""One membership: a pod belongs to one group, whoever asks."""

import copy
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
from hypothesis import assume, given
from hypothesis import strategies as st

from maitred.cluster.state import Delete, Put
from maitred.explain.audit.auditing import audit
from maitred.explain.audit.observer import Observer
from maitred.explain.audit.seen import SeenPod
from maitred.explain.floorplan import Declared, FloorGroup, FloorPod, member_of
from maitred.explain.proposal.supposition import MARK, Supposition
from maitred.explain.why.names import Names
from maitred.explain.why.seen import Seen
from maitred.model.group import PodGroup
from maitred.model.manifest import InputError
from maitred.model.meta import Timestamp, key_of
from maitred.model.objects import Object
from maitred.model.operators.podgroups import ForeignGroup
from maitred.model.pod import Pod
from maitred.model.policy import Policy, Workloads
from maitred.verify.group_reading import read_groups
from maitred.verify.objects import read_cluster
from maitred.verify.policy import read_policy
from tests.oracle import builders as b
from tests.oracle.builders import GROUP, MIN_COUNT, Obj
from tests.oracle.effort import examples
from tests.support import NOON, decide, read, state_of

JOBS = ("a", "b")
SET, LWS = "jobset.sigs.k8s.io/", "leaderworkerset.sigs.k8s.io/"
EXCLUSIVE = "alpha.jobset.sigs.k8s.io/exclusive-topology"
INDEX = "batch.kubernetes.io/job-completion-index"
MARKS = st.sampled_from([{}, {}, {}, {GROUP: "g", MIN_COUNT: "2"}, {MIN_COUNT: "2"}, {GROUP: "a"}])
ABOVE = {
    "JobSet": "jobset.x-k8s.io/v1alpha2",
    "TrainJob": "trainer.kubeflow.org/v1alpha1",
    "LeaderWorkerSet": "leaderworkerset.x-k8s.io/v1",
    "RayCluster": "ray.io/v1",
    "RayJob": "ray.io/v1",
    "PyTorchJob": "kubeflow.org/v1",
    "MPIJob": "kubeflow.org/v2beta1",
    "Thing": "acme.dev/v1",
    "Job": "batch/v1",
    "ReplicaSet": "apps/v1",
}
FOREIGN = {
    "scheduling.x-k8s.io/v1alpha1": {"scheduling.x-k8s.io/pod-group": "g"},
    "scheduling.volcano.sh/v1beta1": {"scheduling.volcano.sh/group-name": "g"},
    "scheduling.run.ai/v2alpha2": {"pod-group-name": "g"},
}
LANGUAGES = [
    *FOREIGN.values(),
    {"scheduling.x-k8s.io/pod-group": "h", "kai.scheduler/topology-required-placement": "rack"},
    {"gang.scheduling.koordinator.sh/name": "g", "gang.scheduling.koordinator.sh/min-available": "2"},
    {"yunikorn.apache.org/app-id": "g", "yunikorn.apache.org/task-group-name": "w"},
    {
        "yunikorn.apache.org/app-id": "g",
        "yunikorn.apache.org/task-group-name": "w",
        "yunikorn.apache.org/task-groups": '[{"minMember": 2}]',
    },
    {"kueue.x-k8s.io/pod-group-name": "g", "kueue.x-k8s.io/pod-group-total-count": "2"},
    {"kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/podset-required-topology": "rack"},
    {"armadaproject.io/gangId": "g", "armadaproject.io/gangCardinality": "two"},
    {"godel.bytedance.com/pod-group-name": "g"},
    {"scheduling.volcano.sh/group-name": "g", "scheduling.k8s.io/group-name": "h"},
    {"scheduling.volcano.sh/group-name": "g", "scheduling.volcano.sh/group-min-member": "3"},
    {"pod-group-name": "g", "kai.scheduler/batch-min-member": "2", "kai.scheduler/segment-size": "2"},
]
SPEECH = st.sampled_from([{}, {}, {}, *LANGUAGES])


def owners(kind: str, name: str) -> list[Obj]:
    uid = f"{kind}-{name}".lower()
    return [{"apiVersion": ABOVE[kind], "kind": kind, "name": name, "uid": uid, "controller": True}]


def above(kind: str, name: str, spec: Obj, **annotations: str) -> Obj:
    about = {"name": name, "uid": f"{kind}-{name}".lower(), "annotations": annotations}
    return {"apiVersion": ABOVE[kind], "kind": kind, "metadata": about, "spec": spec}


@st.composite
def jobs(draw: st.DrawFn, name: str) -> Obj:
    spec: Obj = {"parallelism": draw(st.integers(1, 3)), "completions": draw(st.integers(1, 3))}
    spec["completionMode"] = draw(st.sampled_from(["Indexed", "Indexed", "NonIndexed"]))
    policies: list[Any] = [None, None, None, {"basic": {}}, {"gang": {"minCount": 2}}, {"gang": {}}]
    if policy := draw(st.sampled_from(policies)):
        spec["scheduling"] = {"schedulingPolicy": policy}
    made = b.job(name, **spec)
    made["metadata"]["annotations"] = draw(MARKS)
    kind = draw(st.sampled_from([None, "JobSet", "JobSet", "MPIJob", "RayJob"]))
    if kind is not None:
        made["metadata"]["ownerReferences"] = owners(kind, "s")
        made["metadata"]["labels"] = {f"{SET}replicatedjob-name": draw(st.sampled_from(["w", "d", "x"]))}
    if draw(st.booleans()):
        made["status"] = {"succeeded": draw(st.integers(0, 3))}
        made["status"]["completedIndexes"] = draw(st.sampled_from(["", "0", "1-2", "x"]))
        made["status"]["failedIndexes"] = draw(st.sampled_from(["", "", "0", "2"]))
    return made


@st.composite
def job_sets(draw: st.DrawFn) -> list[Obj]:
    several: list[Obj] = []
    for name in ("w", "d"):
        template: Obj = {"spec": {"parallelism": draw(st.integers(1, 2))}}
        template["metadata"] = {"annotations": draw(MARKS)}
        several.append({"name": name, "replicas": draw(st.integers(1, 2)), "template": template})
    if draw(st.booleans()):
        several[1]["dependsOn"] = [{"name": "w", "status": draw(st.sampled_from(["Ready", "Complete"]))}]
    marks = draw(st.sampled_from([{}, {}, {"maitred.dev/gang": "replicated-job"}, {"maitred.dev/gang": "x"}]))
    marks |= draw(st.sampled_from([{}, {}, {EXCLUSIVE: "rack"}])) | draw(MARKS)
    spec: Obj = {"replicatedJobs": several}
    if draw(st.booleans()):
        spec["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
    made = above("JobSet", "s", spec, **marks)
    made["status"] = {"replicatedJobsStatus": [{"name": "w", "succeeded": draw(st.integers(0, 2))}]}
    if not draw(st.booleans()):
        return [made]
    made["metadata"]["ownerReferences"] = owners("TrainJob", "s")
    return [made, above("TrainJob", "s", {}, **draw(MARKS))] if draw(st.booleans()) else [made]


@st.composite
def others(draw: st.DrawFn) -> list[Obj]:
    """Objects of operators, each with a quorum of two or three."""
    worker = {"replicas": draw(st.integers(0, 2)), "minReplicas": draw(st.integers(0, 2)), "numOfHosts": 1}
    scaling = draw(st.booleans())
    roles = {"Launcher": {"replicas": 1}, "Worker": {"replicas": draw(st.integers(1, 2))}}
    policy = draw(st.sampled_from(["AtStartup", "WaitForWorkersReady"]))
    elastic = draw(st.sampled_from([{}, {"elasticPolicy": {"minReplicas": 1}}]))
    available = {"runPolicy": {"schedulingPolicy": {"minAvailable": 2}}}
    startup = draw(st.sampled_from(["LeaderCreated", "LeaderReady"]))
    size = {"leaderWorkerTemplate": {"size": draw(st.integers(1, 3))}, "startupPolicy": startup}
    exclusive = draw(st.sampled_from([{}, {f"{LWS}exclusive-topology": "rack"}]))
    cluster = {"workerGroupSpecs": [worker], "enableInTreeAutoscaling": scaling}
    made = [
        above("RayCluster", "s", cluster, **draw(MARKS)),
        above("RayJob", "s", {"rayClusterSpec": cluster}),
        above("PyTorchJob", "s", {"pytorchReplicaSpecs": {"Master": {}, "Worker": {}}, **elastic}),
        above("MPIJob", "s", {"mpiReplicaSpecs": roles, "launcherCreationPolicy": policy}),
        above("LeaderWorkerSet", "s", size, **exclusive, **draw(MARKS)),
    ]
    if draw(st.booleans()):
        made[2]["spec"] |= available
    return [one for one in made if draw(st.booleans())]


@st.composite
def groups(draw: st.DrawFn, name: str) -> Obj:
    made = b.pod_group(name, draw(st.sampled_from([None, 1, 2])))
    if owner := draw(st.sampled_from([None, *JOBS])):
        made["metadata"]["ownerReferences"] = owners("Job", owner)
    return made


@st.composite
def foreign_groups(draw: st.DrawFn) -> list[Obj]:
    found = []
    for version in FOREIGN:
        if draw(st.booleans()):
            spec: Obj = {"minMember": draw(st.integers(0, 2))}
            if "volcano" in version and draw(st.booleans()):
                spec["networkTopology"] = draw(st.sampled_from([{}, {"highestTierName": "rack"}]))
            about: Obj = {"name": "g"}
            if draw(st.booleans()):
                about["ownerReferences"] = owners("Job", "a")
            found.append({"apiVersion": version, "kind": "PodGroup", "metadata": about, "spec": spec})
    return found


@st.composite
def pods(draw: st.DrawFn, number: int) -> Obj:
    group = draw(st.sampled_from([None, None, "g", "h"]))
    kinds = ("RayCluster", "PyTorchJob", "MPIJob", "Thing", "ReplicaSet")
    choices = [None, *(("Job", name) for name in (*JOBS, *JOBS)), *((kind, "s") for kind in kinds)]
    owner = draw(st.sampled_from(choices))
    annotations = {**draw(MARKS), **draw(SPEECH)}
    if draw(st.booleans()):
        annotations |= {EXCLUSIVE: "rack", INDEX: draw(st.sampled_from(["0", "1"]))}
    made = b.pod(f"p{number}", cpu=1, group=group, created=1, annotations=annotations)
    if owner is not None:
        made["metadata"]["ownerReferences"] = owners(*owner)
    elif draw(st.booleans()):
        worker = draw(st.sampled_from(["0", "1"]))
        made["metadata"]["labels"] = {
            f"{LWS}name": "s",
            f"{LWS}group-index": "0",
            f"{LWS}worker-index": worker,
        }
    return made


@st.composite
def mixtures(draw: st.DrawFn) -> list[Obj]:
    """Pods that name PodGroups, marks and groups of other schedulers, below Jobs and operators' objects, in
    any mixture, with or without the objects."""
    found = [draw(jobs(name)) for name in JOBS if draw(st.booleans())]
    found += [draw(groups(name)) for name in ("g", "h") if draw(st.booleans())]
    found += draw(job_sets()) if draw(st.booleans()) else []
    found += [*draw(others()), *draw(foreign_groups())]
    return [*found, *(draw(pods(number)) for number in range(draw(st.integers(1, 5))))]


OPERATED = {*(version for kind, version in ABOVE.items() if kind not in ("Job", "Thing")), *FOREIGN}


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every value inside, as what it is in and where."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, key
        if isinstance(inner, dict | list):
            yield from places(inner)


@st.composite
def spoiled(draw: st.DrawFn) -> list[Obj]:
    """A mixture with values in operators' objects that are of another type than their API says."""
    raw = copy.deepcopy(draw(mixtures()))
    for one in raw:
        if one["apiVersion"] in OPERATED and draw(st.booleans()):
            within, key = draw(st.sampled_from([*places({part: one[part] for part in ("metadata", "spec")})]))
            wrong = draw(st.sampled_from(["x", -1, 7, True, None, [], [3], {}, {"x": 1}, 2**40]))
            if key in ("metadata", "spec"):
                within = one
            within[key] = wrong
    return raw


@examples(300)
@given(spoiled())
def test_an_object_of_the_wrong_form_is_missing_for_the_checker_too(raw: list[Obj]) -> None:
    try:
        objects = read(raw)
    except InputError:
        assume(False)
    state = state_of(objects)
    checked = read_groups(read_cluster(raw), read_policy(None))
    keys = [key_of(item.metadata) for item in objects if isinstance(item, Pod)]
    assert {pod.key: group.key for group in checked for pod in group.members} == {
        key: state.group_key(key) for key in keys
    }
    views = {(view.group.key, *view.pods): view for view in state.snapshot().groups}
    for group in checked:
        view = views[group.key, *(pod.key for pod in group.pending)]
        if not view.group.problems and not group.missing and not group.doubts:
            assert (view.group.quorum, view.members) == (group.quorum, group.size), group.key


def groups_on_floor(raw: list[Obj], objects: list[Object]) -> dict[str, str]:
    tables: dict[type[Object], dict[str, Object]] = {}
    for item in objects:
        tables.setdefault(type(item), {})[key_of(item.metadata)] = item
    floor_groups = (msgspec.convert(one, FloorGroup) for one in raw if is_pod_group(one))
    declared = Declared({key_of(group.metadata): group for group in floor_groups}, tables)
    members = [member_of(msgspec.convert(one, FloorPod)) for one in raw if one["kind"] == "Pod"]
    found = {member.key: declared.settled(member).id for member in members}
    return {key: key if id is None else id.key for key, id in found.items()}


def is_pod_group(one: Obj) -> bool:
    return bool(one["kind"] == "PodGroup" and one["apiVersion"].startswith("scheduling.k8s.io/"))


RULES = st.builds(
    lambda jobs, owners: {"jobs": jobs, "owners": owners}, *(st.sampled_from(["gang", "as-written"]),) * 2
)


@examples(400)
@given(mixtures(), RULES)
def test_a_pod_belongs_to_one_group_whoever_asks(raw: list[Obj], rules: Obj) -> None:
    """The scheduler, the checker by its own code, an answer about pods, a plan, the floor and an audit."""
    policy: Obj = {"workloads": rules}
    objects = read(raw)
    state = state_of(objects)
    state.follow(msgspec.convert(policy, Policy).workloads)
    keys = [key_of(item.metadata) for item in objects if isinstance(item, Pod)]
    group_of = {key: state.group_key(key) for key in keys}

    checked = read_groups(read_cluster(raw), read_policy(policy))
    assert {pod.key: group.key for group in checked for pod in group.members} == group_of
    views = {(view.group.key, *view.pods): view for view in state.snapshot().groups}
    for group in checked:
        view = views[group.key, *(pod.key for pod in group.pending)]
        assert view.group.exists != group.missing
        assert bool(view.group.problems) == bool(group.problems) or group.doubts, (view.group, group.problems)
        if not view.group.problems and not group.missing:
            assert (view.group.quorum, view.members) == (group.quorum, group.size), group.key

    plan = decide([b.node("n", cpu=8), *raw], policy)
    assert sorted({group["group"] for group in plan["groups"]}) == sorted(set(group_of.values()))
    assert all(bind["group"] == group_of[bind["pod"]] for bind in plan["binds"])

    seen = Seen(
        pods=tuple(msgspec.convert(one, Pod) for one in raw if one["kind"] == "Pod"),
        groups=tuple(item for item in objects if isinstance(item, PodGroup)),
    )
    told = Names(state.snapshot(), seen).seen_members
    assert {key_of(pod.metadata): key for key, pods in told.items() for pod in pods} == group_of

    declared = [item for item in objects if isinstance(item, PodGroup | ForeignGroup)]
    if not any(group.metadata.owner_references for group in declared):  # as manifests are
        planned = Supposition(tuple(objects)).proposed_groups(msgspec.convert(rules, Workloads))
        assert {unmarked(key) for one in planned for key in one.groups} == set(group_of.values())

    if rules == {"jobs": "gang", "owners": "gang"}:
        watched = state_of(objects, waits_for_owners=True)
        assert groups_on_floor(raw, objects) == {key: watched.group_key(key) for key in keys}
        observer, now = Observer(Policy()), msgspec.convert(NOON, Timestamp)
        for item in objects:
            observer.see(item, now.timestamp()) if not isinstance(item, Pod) else None
        for one in raw:
            if one["kind"] == "Pod":
                observer.see(msgspec.convert(one, SeenPod), now.timestamp())
        audited = {kind.by: kind.groups for kind in audit(observer, now).groups}
        ids = {state.group_of(key) for key in keys}
        assert audited == Counter(id.source for id in ids if id is not None)


def unmarked(key: str) -> str:
    return key.replace(MARK, "")


@examples(200)
@given(mixtures(), st.randoms(use_true_random=False))
def test_the_group_of_a_pod_does_not_depend_on_what_came_first(raw: list[Obj], chance: Random) -> None:
    objects = read(raw)
    state = state_of(objects)
    keys = [key_of(item.metadata) for item in objects if isinstance(item, Pod)]
    chance.shuffle(objects)
    other = state_of(objects)
    for item in chance.sample(objects, chance.randint(0, len(objects))):
        other.apply(Delete(type(item), key_of(item.metadata)))
        other.apply(Put(item))
    assert [other.group_of(key) for key in keys] == [state.group_of(key) for key in keys]
    assert [view.group for view in other.snapshot().groups] == [
        view.group for view in state.snapshot().groups
    ]
