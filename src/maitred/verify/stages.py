"""What owners create once others of theirs are scheduled or ready: stage by stage, from their objects."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import sha1
from typing import Any

from .conventions import TOPOLOGY
from .fields import Doc
from .membership import LWS, Place, above_owner, in_gang
from .objects import Cluster
from .owners import (
    EXCLUSIVE_GROUPS,
    EXCLUSIVE_JOBS,
    INDEX,
    LABELLED_NODES,
    SET,
    Above,
    gang_of,
    marks_above,
    members,
    waits_for_first,
)
from .pods import Pod, read_pod
from .suspending import RULES
from .workloads import MIN_COUNT, names_a_group

MOST_OF_OWNER = 5_000
"""Pods of one owner. Beyond that nobody keeps room, and nothing is judged."""
HOSTNAME = "kubernetes.io/hostname"
SUBMITTER = {"requests": {"cpu": "500m", "memory": "200Mi"}, "limits": {"cpu": "1", "memory": "1Gi"}}
"""What KubeRay asks for the pod that submits a job, where nobody says anything else."""

Raw = dict[str, Any]


class Unclear(Exception):
    """What an owner will create cannot be told for certain."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Pods that one controller makes from one template. `bond`: the level of which they must be in the domain
    that the first pod of the same controller is in."""

    controller: str
    like: Pod
    count: int
    bond: str = ""


@dataclass(eq=False)
class Stage:
    """A group of an owner, and the groups that must have their places first."""

    place: Place
    before: tuple[str, ...]
    batches: list[Batch] = field(default_factory=list)
    beside: str = ""
    """The level of which it must be in one domain with those before it."""

    @property
    def quorum(self) -> int:
        if self.place.gang is None:
            return 1
        said = marks_above(self.place.above, self.place.gang)[0].get(MIN_COUNT, "")
        return int(said) if said.isdecimal() and 0 < int(said) <= 1_000_000 else self.place.gang.quorum

    @property
    def topology(self) -> str:
        """As it is written: a level may be called by its name."""
        if self.place.gang is None:
            return ""
        return self.place.gang.within or marks_above(self.place.above, self.place.gang)[0].get(TOPOLOGY, "")


def _pod(template: Doc, space: str, controller: tuple[str, str], labels: Raw, marks: Raw) -> Pod:
    """A pod as its controller will create it. What a template says of its priority is not looked at but for
    the class, nor are its gates: who lifts them waits for others, and they for these."""
    meta, left_out = template.doc("metadata"), ("schedulingGates", "priority", "preemptionPolicy", "nodeName")
    spec = {name: value for name, value in template.doc("spec").raw.items() if name not in left_out}
    pinned = template.doc("spec").text("nodeName")
    if pinned:
        spec["nodeSelector"] = {**template.doc("spec").strings("nodeSelector"), HOSTNAME: pinned}
    about = {
        "namespace": space,
        "name": f"{controller[1]}:",
        "labels": {**meta.strings("labels"), **labels},
        "annotations": {**meta.strings("annotations"), **marks},
        "ownerReferences": [{"kind": controller[0], "name": controller[1], "controller": True}],
    }
    return read_pod(Doc({"metadata": about, "spec": spec}, template.name))


def _stage(pod: Pod, template: Doc, above: tuple[Above, ...], before: tuple[str, ...]) -> Stage | None:
    """The stage of a pod; None if it says itself what group it is in."""
    found = None if names_a_group(template) else gang_of(pod, above)
    return None if found is None else Stage(in_gang(pod, above, *found), before)


def _space(doc: Doc) -> str:
    return doc.doc("metadata").text("namespace") or "default"


def _hash(text: str) -> str:
    return sha1(text.encode(), usedforsecurity=False).hexdigest()


def _worker_set(doc: Doc, cluster: Cluster) -> Iterator[Stage]:
    space, name, spec = _space(doc), doc.doc("metadata").text("name"), doc.doc("spec")
    template = spec.doc("leaderWorkerTemplate")
    size, level = (
        template.integer("size", 1),
        doc.doc("metadata").strings("annotations").get(EXCLUSIVE_GROUPS),
    )
    if size < 2 or not (level or spec.text("startupPolicy") == "LeaderReady"):
        return
    above: tuple[Above, ...] = (("LeaderWorkerSet", doc), *above_owner(doc, cluster))
    for number in range(min(spec.integer("replicas", 1), MOST_OF_OWNER)):
        leader = f"{name}-{number}"
        labels = {f"{LWS}name": name, f"{LWS}group-index": str(number), f"{LWS}worker-index": "1"}
        labels[f"{LWS}group-key"] = _hash(f"{space}/{leader}")
        worker = template.doc("workerTemplate")
        pod = _pod(worker, space, ("StatefulSet", leader), labels, {EXCLUSIVE_GROUPS: level} if level else {})
        stage = _stage(pod, worker, above, (f"{space}/{leader}",))
        if stage is not None:
            stage.batches, stage.beside = [Batch(leader, pod, size - 1)], level or ""
            yield stage


def _job_set(doc: Doc, cluster: Cluster) -> Iterator[Stage]:
    if doc.doc("spec").text("managedBy") not in ("", "jobset.sigs.k8s.io/jobset-controller"):
        return
    roles, space = doc.doc("spec").docs("replicatedJobs"), _space(doc)
    when, found = _starts(doc), dict[str, Stage]()
    every = {role.text("name"): list(_parts_of_role(doc, role, space, cluster)) for role in roles}
    for role in roles:
        name = role.text("name")
        for follows, stage, batch in every[name]:
            after, needs = ("Scheduled", [name]) if follows else when[name]
            if when[name][0] == "Complete" or not after:
                continue
            if stage is None or any(one is None for need in needs for _, one, _ in every[need]):
                raise Unclear  # some say themselves what group they are in
            if not all(every[need] for need in needs):
                raise Unclear  # it waits for what has no pods
            sides = (False,) if follows else (False, True)
            before = [
                one.place.key
                for need in needs
                for side, one, _ in every[need]
                if one is not None and side in sides
            ]
            known = found.setdefault(stage.place.key, Stage(stage.place, tuple(dict.fromkeys(before))))
            known.batches.append(batch)
    yield from found.values()


def _starts(doc: Doc) -> dict[str, tuple[str, list[str]]]:
    """What the Jobs of each replicated job wait for, and which others these are."""
    ordered = doc.doc("spec").doc("startupPolicy").text("startupPolicyOrder") == "InOrder"
    found: dict[str, tuple[str, list[str]]] = {}
    last = list[str]()
    for role in doc.doc("spec").docs("replicatedJobs"):
        needs = {one.text("name"): one.text("status") for one in role.docs("dependsOn")}
        if any(need not in found for need in needs) or (ordered and needs):
            raise Unclear  # no JobSet like this is accepted
        complete = "Complete" in needs.values() or any(found[need][0] == "Complete" for need in needs)
        names = last if ordered else list(needs)
        found[role.text("name")] = ("Complete" if complete else "Ready" if names else "", names)
        last = [role.text("name")]
    return found


def _parts_of_role(
    doc: Doc, role: Doc, space: str, cluster: Cluster
) -> Iterator[tuple[bool, Stage | None, Batch]]:
    """The pods of each of its Jobs, and whether they follow the first one of these."""
    template, name = role.doc("template"), role.text("name")
    spec, size = template.doc("spec"), members(template.doc("spec"))
    places = [doc.doc("metadata").strings("annotations"), template.doc("metadata").strings("annotations")]
    exclusive = {
        key: place[key]
        for place in places
        if EXCLUSIVE_JOBS in place
        for key in (EXCLUSIVE_JOBS, LABELLED_NODES)
        if key in place
    }
    apart = waits_for_first(doc, role)
    if spec.text("managedBy") not in ("", "kubernetes.io/job-controller"):
        raise Unclear
    for number in range(min(role.integer("replicas", 1), MOST_OF_OWNER) if size else 0):
        job = f"{doc.doc('metadata').text('name')}-{name}-{number}"
        labels = {
            f"{SET}jobset-name": doc.doc("metadata").text("name"),
            f"{SET}replicatedjob-name": name,
            f"{SET}job-index": str(number),
            f"{SET}job-key": _hash(f"{space}/{job}"),
            f"{SET}priority": str(_priority(spec.doc("template").doc("spec"), cluster)),
        }
        made = Doc({"metadata": {"name": job, "labels": labels}, "spec": spec.raw}, doc.name)
        above: tuple[Above, ...] = (("Job", made), ("JobSet", doc), *above_owner(doc, cluster))
        for follows in (False, True) if apart else (False,):
            index, count = {INDEX: "1" if follows else "0"}, size - 1 if follows else 1 if apart else size
            indexed = index if spec.text("completionMode", "Indexed") == "Indexed" else {}
            pod = _pod(
                spec.doc("template"), space, ("Job", job), {**labels, **indexed}, {**exclusive, **indexed}
            )
            bond = exclusive.get(EXCLUSIVE_JOBS, "") if follows else ""
            yield follows, _stage(pod, spec.doc("template"), above, ()), Batch(job, pod, count, bond)


def _priority(spec: Doc, cluster: Cluster) -> int:
    known = cluster.priority_classes.get(spec.text("priorityClassName"))
    return spec.integer("priority") if known is None else known.value


def _mpi_job(doc: Doc, cluster: Cluster) -> Iterator[Stage]:
    spec, space, name = doc.doc("spec"), _space(doc), doc.doc("metadata").text("name")
    roles, launcher = spec.doc("mpiReplicaSpecs"), spec.doc("mpiReplicaSpecs").doc("Launcher")
    later = spec.text("launcherCreationPolicy") == "WaitForWorkersReady" and "Launcher" in roles.raw
    if not later or len(roles.raw) < 2 or not launcher.integer("replicas", 1):
        return
    if spec.doc("runPolicy").text("managedBy") not in ("", *RULES["MPIJob"].managers):
        return
    template, job = launcher.doc("template"), f"{name}-launcher"
    made = Doc({"metadata": {"name": job}, "spec": {"template": template.raw}}, doc.name)
    above: tuple[Above, ...] = (("Job", made), ("MPIJob", doc), *above_owner(doc, cluster))
    pod = _pod(template, space, ("Job", job), {"training.kubeflow.org/job-name": name}, {})
    stage = _stage(pod, template, above, (f"{space}/{name}",))
    if stage is not None:
        stage.batches = [Batch(job, pod, 1)]
        yield stage


def _ray_job(doc: Doc, cluster: Cluster) -> Iterator[Stage]:
    """The pod that submits the job comes when its cluster is ready, and is a group of one."""
    spec, space, name = doc.doc("spec"), _space(doc), doc.doc("metadata").text("name")
    own, phase = (
        doc.doc("status").text("rayClusterName") or name,
        doc.doc("status").text("jobDeploymentStatus"),
    )
    if phase not in ("", "Initializing"):  # beyond these it has been created
        return
    mode = spec.text("submissionMode", "K8sJobMode")
    if mode != "K8sJobMode" or not spec.given("rayClusterSpec") or spec.doc("clusterSelector").raw:
        return
    if spec.text("managedBy") not in ("", *RULES["RayJob"].managers):
        return
    if f"{space}/{own}" not in cluster.owners.get("RayCluster", {}):
        return
    usual = Doc({"spec": {"containers": [{"name": "c", "resources": SUBMITTER}]}}, doc.name)
    template = spec.doc("submitterPodTemplate") if spec.given("submitterPodTemplate") else usual
    if names_a_group(template):
        return
    pod = _pod(template, space, ("Job", name), {}, {})
    yield Stage(Place("Job", f"{space}/{name}-submitter"), (f"{space}/{own}",), [Batch(name, pod, 1)])


STAGES = {"JobSet": _job_set, "LeaderWorkerSet": _worker_set, "MPIJob": _mpi_job, "RayJob": _ray_job}
