"""Pods that come later: their owner creates them once others of it are scheduled or ready.

They are groups of their own, of which there may be no pod yet. A group that comes before them is of no use
without them, so it is seated together with them or not at all; once it runs, room is kept for those that come
next, for a while. Here it is worked out from the owner's object which pods these are.

Pods that come once others are complete are not meant: those have left by then.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha1
from typing import Any

from .conventions import TOPOLOGY
from .fields import Doc
from .groups import Group
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
from .policy import Policy
from .priorities import agree_on_priority, read_rank
from .suspending import RULES
from .times import thousandths
from .workloads import MIN_COUNT, names_a_group

MOST_OF_OWNER, MOST_OF_NAMESPACE, MOST_IN_ALL = 5_000, 5_000, 20_000
"""Beyond that nobody keeps room, and nothing is judged."""
HOSTNAME = "kubernetes.io/hostname"
ENDS = {"JobSet": {"Completed", "Failed"}, "MPIJob": {"Succeeded", "Failed"}}
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


@dataclass(eq=False)
class Link:
    """A group that is decided together with pods that are not there."""

    host: Group
    """One without members, if it comes next and no pod of it is there."""
    owner: str
    coming: dict[str, list[Pod]]
    """By the keys of their groups, the host's among them if some of its own are to come."""
    before: list[Group]
    """Those that have their places, if this one comes next: then room is kept for it."""
    suspended: bool = False
    bonds: dict[str, tuple[str, str]] = field(default_factory=dict)
    """By pod, its level and its controller."""
    shared: str = ""
    """The level of which all of it must be in one domain, with those before it."""
    topologies: dict[str, str] = field(default_factory=dict)

    @property
    def pods(self) -> list[Pod]:
        return [pod for pods in self.coming.values() for pod in pods]

    @property
    def since(self) -> int | None:
        """When the last of those before it started, or was created where no kubelet says when it started.
        None where that is not known either."""
        running = [pod for group in self.before for pod in group.running]
        times = [pod.created if pod.started is None else pod.started for pod in running]
        known = [at for at in times if at is not None]
        return max(map(thousandths, known)) if known and len(known) == len(times) else None

    def expected(self, bound: bool) -> dict[str, int]:
        """For how many pods of each group the Plan has to hold room, if it does, and if the host is bound."""
        found = Counter({key: len(pods) for key, pods in self.coming.items()})
        if not bound:
            found[self.host.key] += max(0, min(self.host.needed or 0, len(self.host.pending)))
        return dict(+found)


@dataclass
class Links:
    every: list[Link] = field(default_factory=list)
    unclear: set[str] = field(default_factory=set)
    """Keys of groups of which it is not known what comes after them, and owners of whom it is not known what
    they create."""

    def __post_init__(self) -> None:
        self._by_host = {id(link.host): link for link in self.every}
        self._next = {id(link.host) for link in self.every if link.before}

    def hosts(self) -> list[Group]:
        """Those that come next."""
        return [link.host for link in self.every if link.before]

    def is_next(self, group: Group) -> bool:
        return id(group) in self._next

    def is_unclear(self, group: Group) -> bool:
        return group.key in self.unclear

    def unclear_owner(self, title: str) -> bool:
        return title in self.unclear

    def of(self, group: Group) -> Link | None:
        return self._by_host.get(id(group))

    def coming(self, group: Group) -> list[Pod]:
        """Pods that are not there, and without which the group is not seated."""
        link = self.of(group)
        return [] if link is None else link.pods


def read_links(cluster: Cluster, groups: Iterable[Group], policy: Policy) -> Links:
    found, unclear = list[Link](), set[str]()
    if policy.owners != "gang":
        return Links()
    known: dict[tuple[str, str], list[Group]] = {}
    for group in groups:
        known.setdefault((group.kind, group.key), []).append(group)
    for kind, reader in STAGES.items():
        for key, doc in sorted(cluster.owners.get(kind, {}).items()):
            if _is_over(kind, doc):
                continue
            try:
                stages = list(reader(doc, cluster))
                found += _Owner(f"{kind} {key}", kind, doc, stages, cluster, known, policy).links()
            except (Unclear, ValueError):
                unclear |= {
                    f"{kind} {key}",
                    *(one for _, one in known if one == key or one.startswith(f"{key}-")),
                }
    spaces = Counter[str]()
    for link in found:
        spaces[link.host.key.partition("/")[0]] += len(link.pods)
    if max(spaces.values(), default=0) > MOST_OF_NAMESPACE or spaces.total() > MOST_IN_ALL:
        many = {key for link in found for key in (link.host.key, *link.coming, link.owner)}
        return Links([], unclear | many)
    return Links(found, unclear)


def _is_over(kind: str, doc: Doc) -> bool:
    status = doc.doc("status")
    said = {one.text("type") for one in status.docs("conditions") if one.text("status") == "True"}
    ended = status.text("terminalState") or status.text("jobDeploymentStatus") in ("Complete", "Failed")
    return doc.doc("metadata").given("deletionTimestamp") or bool(said & ENDS.get(kind, set()) or ended)


@dataclass
class _Owner:
    """One owner with all of its groups that come later."""

    title: str
    kind: str
    doc: Doc
    stages: list[Stage]
    cluster: Cluster
    known: dict[tuple[str, str], list[Group]]
    policy: Policy

    def links(self) -> Iterator[Link]:
        stages = {stage.place.key: stage for stage in self.stages}
        if sum(batch.count for stage in self.stages for batch in stage.batches) > MOST_OF_OWNER:
            raise Unclear
        hosts: dict[str, list[Stage]] = {}
        turns: dict[str, list[str]] = {}
        for key in stages:
            if self._is_met(stages, key):
                continue
            earlier = list(_all_before(stages, key))
            waiting = [one for one in earlier if not self._is_met(stages, one)]
            if any(one not in stages and self._group(stages, one) is None for one in waiting):
                continue  # the owner has not begun
            hosts.setdefault(waiting[-1] if waiting else key, []).append(stages[key])
            if not waiting:
                turns[key] = earlier
        for key, later in hosts.items():
            link = self._link(stages, key, later, turns.get(key, []))
            if link is not None:
                yield link

    def _link(self, stages: dict[str, Stage], key: str, later: list[Stage], turn: list[str]) -> Link | None:
        host, coming = self._group(stages, key), {stage.place.key: self._coming(stage) for stage in later}
        coming = {one: batches for one, batches in coming.items() if batches}
        if not coming and not turn:
            return None
        before = [group for one in turn if (group := self._group(stages, one)) is not None]
        pods = {one: _each(one, batches) for one, batches in coming.items()}
        if host is None:
            if key not in pods:
                return None
            host = self._bare(stages[key], [pod for pod, _ in pods[key]])
        link = Link(host, self.title, {one: [pod for pod, _ in every] for one, every in pods.items()}, before)
        link.suspended = self._is_suspended()
        for every in pods.values():
            link.bonds |= {pod.key: (batch.bond, batch.controller) for pod, batch in every if batch.bond}
        link.shared = next((stage.beside for stage in later if stage.beside), "")
        levels = {stage.place.key: self.policy.level(stage.topology) for stage in later}
        link.topologies = {one: level for one, level in levels.items() if level}
        return link

    def _is_suspended(self) -> bool:
        rule = RULES.get(self.kind)
        return rule is not None and rule.place(self.doc.doc("spec")).flag("suspend")

    def _group(self, stages: dict[str, Stage], key: str) -> Group | None:
        """The group of this name that is of the owner."""
        names = [(kind, key) for kind in self._kinds()]
        if key in stages and stages[key].place.gang is None:  # a pod that is in no gang goes by its own name
            names = [("Job", key), *(("pod", pod.key) for pod in self._made(stages[key]) if pod.pending)]
        found = [group for name in names for group in self.known.get(name, [])]
        if len(found) > 1:
            raise Unclear
        return found[0] if found else None

    def _kinds(self) -> tuple[str, ...]:
        return ("RayCluster",) if self.kind == "RayJob" else (self.kind,)

    def _is_met(self, stages: dict[str, Stage], key: str) -> bool:
        if key in stages and stages[key].place.gang is None:
            return any(pod.running or pod.succeeded for pod in self._made(stages[key]))
        group = self._group(stages, key)
        return group is not None and group.met()

    def _made(self, stage: Stage) -> list[Pod]:
        """The pods of a stage that are there, whatever has become of them."""
        if stage.place.gang is not None:
            group = self._group({}, stage.place.key)
            return [] if group is None else group.members
        names = {batch.controller for batch in stage.batches}
        space = stage.place.key.partition("/")[0]
        pods = (pod for pod in self.cluster.pods.values() if pod.namespace == space)
        return [pod for pod in pods if pod.controller is not None and pod.controller[:2] in _jobs(names)]

    def _coming(self, stage: Stage) -> list[Batch]:
        """Those that there has not been a pod of."""
        there = Counter(pod.controller[1] if pod.controller else "" for pod in self._made(stage))
        missing, found = stage.quorum - there.total(), list[Batch]()
        for batch in stage.batches:
            self._check_progress(stage, batch)
            count = min(missing, batch.count - there[batch.controller])
            if count > 0:
                missing -= count
                found.append(Batch(batch.controller, batch.like, count, batch.bond))
        return found

    def _check_progress(self, stage: Stage, batch: Batch) -> None:
        """Of a Job that is under way it depends on more than numbers what it still creates."""
        job = self.cluster.jobs.get(f"{batch.like.namespace}/{batch.controller}")
        if job is not None and (job.succeeded or job.wishes.completed or job.wishes.failed):
            raise Unclear

    def _bare(self, stage: Stage, pods: list[Pod]) -> Group:
        group = Group(stage.place.origin, stage.place.key, list(pods), stage.quorum, gang=True)
        read_rank(group, None, self.cluster)
        agree_on_priority(group, Doc(None, group.key), self.cluster)
        group.members = []
        return group


def _all_before(stages: dict[str, Stage], key: str) -> Iterator[str]:
    """Every group that must have its place first, the nearest first."""
    seen, left = set[str](), list(stages[key].before)
    while left:
        one = left.pop(0)
        if one not in seen:
            seen.add(one)
            yield one
            left += stages[one].before if one in stages else ()


def _jobs(names: Iterable[str]) -> set[tuple[str, str]]:
    return {("Job", name) for name in names}


def _each(key: str, batches: list[Batch]) -> list[tuple[Pod, Batch]]:
    """A pod for each of them, by a name that no pod can have."""
    return [
        (named(batch.like, f"{key.partition('/')[2]}:{batch.controller}:{number}"), batch)
        for batch in batches
        for number in range(batch.count)
    ]


def named(pod: Pod, name: str) -> Pod:
    return Pod(**{**vars(pod), "name": name})


# -- what owners create --------------------------------------------------------------------------------------


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
