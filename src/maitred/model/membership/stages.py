"""What pods an owner makes, and which of them at the same time.

An operator creates some pods only after others are scheduled, ready or complete. Those do not belong into the
same quorum: a gang that waited for them would wait for pods that wait for it. So an owner has stages, and
each stage is a gang of its own. `stages_of` lists them for any owner, from its object alone.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from maitred.model.group import EACH_JOB, GANG, GROUP, MIN_COUNT
from maitred.model.job import Job, JobSpec, PodTemplate, TemplateMeta
from maitred.model.membership.words import said_by
from maitred.model.meta import ObjectMeta, mark
from maitred.model.objects import Object
from maitred.model.operators import jobset, leaderworkerset
from maitred.model.operators.jobset import JobSet, ReplicatedJob
from maitred.model.operators.leaderworkerset import LeaderWorkerSet
from maitred.model.operators.ray import RayCluster, RayJob
from maitred.model.operators.volcano import VolcanoJob
from maitred.model.pod import Pod
from maitred.model.training import LAUNCHER, MPIJob, TrainingJob
from maitred.model.words import counted

FOLLOWERS, WORKERS, LAUNCHING = "followers", "workers", "launcher"
HEAD, LEADER, SUBMITTER = "head", "leader", "submitter"

Until = Literal["Scheduled", "Ready", "Complete"]


@dataclass(frozen=True, slots=True)
class StageRole:
    """Pods that are made from one template."""

    name: str
    template: PodTemplate
    count: int
    """How many there are at a time."""
    follows: bool = False
    """Of a JobSet with exclusive topology: the pods of its Jobs but for the first of each."""
    speaks: bool = False
    """It says itself what group its pods are in, so that they are not in the one of this stage."""


@dataclass(frozen=True, slots=True)
class StageNeed:
    """What must have become of the pods of another role before those of a stage are created."""

    role: str
    until: Until


@dataclass(frozen=True, slots=True)
class Stage:
    """Pods that are created at the same time."""

    name: str
    """What is added to the name of the owner for the name of the group; empty for its only or main one."""
    roles: tuple[StageRole, ...]
    quorum: int
    words: str
    """Where the quorum comes from, as a part of a sentence that begins with the owner."""
    after: tuple[StageNeed, ...] = ()
    within: str = ""
    """The label key of nodes by which all of it must be in one domain."""
    done: int = 0
    """Members of Jobs that are complete, as the status of the owner says."""

    @property
    def comes_in_time(self) -> bool:
        """Whether the pods that it waits for are still there when its own are created."""
        return all(need.until != "Complete" for need in self.after)

    def has(self, role: str, follows: bool = False) -> bool:
        return any(one.name == role and one.follows == follows and not one.speaks for one in self.roles)


def stages_of(owner: Object) -> tuple[Stage, ...]:
    """Those of any object; none of one that makes no pods, or whose pods another object makes."""
    rule = STAGES.get(type(owner)) or next(
        (rule for kind, rule in STAGES.items() if isinstance(owner, kind)), None
    )
    return () if rule is None else tuple(rule(owner))


def stage(name: str, roles: Sequence[StageRole], words: str, least: int | None = None, **more: Any) -> Stage:
    """All its pods are needed, unless `least` says how many."""
    own = sum(role.count for role in roles if not role.speaks)
    least = own if least is None else min(least, own) if own else least
    return Stage(name, tuple(roles), max(1, least), words, **more)


def at_once(roles: Sequence[StageRole]) -> str:
    count = sum(role.count for role in roles if not role.speaks)
    return f"which makes {counted(count, 'pod')} at once"


# -- Jobs --------------------------------------------------------------------------------------------------


def of_job(job: Job) -> Iterator[Stage]:
    roles = [StageRole("", job.spec.template, job.spec.pods)]
    yield stage("", roles, at_once(roles))


def as_pod(template: PodTemplate) -> Pod:
    about = template.metadata
    return Pod(ObjectMeta(labels=about.labels, annotations=about.annotations), template.spec)


def speaks_for_itself(about: TemplateMeta | ObjectMeta, spec: JobSpec) -> bool:
    """Whether a Job that is made so, or its template, says what group its pods are in, or how many of them
    must start together."""
    metas = (about, spec.template.metadata)
    marked = any(
        key in meta.labels or key in meta.annotations for meta in metas for key in (GROUP, MIN_COUNT)
    )
    return marked or spec.scheduling is not None or said_by(as_pod(spec.template)).names_a_group


# -- JobSets -----------------------------------------------------------------------------------------------


def of_job_set(job_set: JobSet) -> Iterator[Stage]:
    """Replicated jobs that are created at the same time are one stage, unless each is to be one by itself."""
    apart = mark(job_set.metadata, GANG) == EACH_JOB
    starts: dict[tuple[tuple[StageNeed, ...], str], list[ReplicatedJob]] = {}
    for after, one in _starts(job_set):
        starts.setdefault((after, one.name if apart else ""), []).append(one)
    for (after, _), together in starts.items():
        yield from _stages_of(job_set, together[0].name if len(starts) > 1 else "", after, together)


def _starts(job_set: JobSet) -> Iterator[tuple[tuple[StageNeed, ...], ReplicatedJob]]:
    ordered, before = job_set.spec.startup_policy.startup_policy_order == "InOrder", tuple[StageNeed, ...]()
    for one in job_set.spec.replicated_jobs:
        needs = {
            StageNeed(need.name, "Complete" if need.status == "Complete" else "Ready")
            for need in one.depends_on
        }
        yield before if ordered else tuple(sorted(needs, key=repr)), one
        before = (StageNeed(one.name, "Ready"),)


def _stages_of(
    job_set: JobSet, name: str, after: tuple[StageNeed, ...], together: Sequence[ReplicatedJob]
) -> Iterator[Stage]:
    first, later = list[StageRole](), list[StageRole]()
    status = {one.name: one for one in job_set.status.replicated_jobs_status}
    done = done_later = 0
    for one in together:
        each, template = one.template.spec.pods, one.template.spec.template
        speaks = speaks_for_itself(one.template.metadata, one.template.spec)
        complete = 0 if one.name not in status else min(status[one.name].succeeded, one.replicas)
        exclusive = each > 1 and is_exclusive(job_set, one)
        first.append(StageRole(one.name, template, one.replicas * (1 if exclusive else each), speaks=speaks))
        done += 0 if speaks else complete * (1 if exclusive else each)
        if exclusive:
            later.append(
                StageRole(one.name, template, one.replicas * (each - 1), follows=True, speaks=speaks)
            )
            done_later += 0 if speaks else complete * (each - 1)
    yield stage(name, first, at_once(first), after=after, done=done)
    if later:
        scheduled = tuple(StageNeed(role.name, "Scheduled") for role in later)
        follow = f"{name}-{FOLLOWERS}" if name else FOLLOWERS
        yield stage(follow, later, at_once(later), after=scheduled, done=done_later)


def is_exclusive(job_set: JobSet, one: ReplicatedJob) -> bool:
    """Whether the pods of each of its Jobs but the first are created when that one has its place. The webhook
    of JobSets then binds them to the domain that the first is in, so that we need not."""
    said = (job_set.metadata.annotations, one.template.metadata.annotations)
    asked = [where for where in said if jobset.EXCLUSIVE_TOPOLOGY in where]
    labelled = any(jobset.NODE_SELECTOR in where for where in asked)
    return bool(asked) and not labelled and one.template.spec.completion_mode == "Indexed"


# -- LeaderWorkerSets --------------------------------------------------------------------------------------


def of_worker_set(worker_set: LeaderWorkerSet) -> Iterator[Stage]:
    """Of one group of it."""
    spec, template = worker_set.spec, worker_set.spec.leader_worker_template
    leader = StageRole(LEADER, template.leader_template or template.worker_template, 1)
    workers = StageRole(WORKERS, template.worker_template, max(0, template.size - 1))
    within = worker_set.metadata.annotations.get(leaderworkerset.EXCLUSIVE_TOPOLOGY, "")
    until: Until = "Ready" if spec.startup_policy == "LeaderReady" else "Scheduled"
    if not workers.count or (until == "Scheduled" and not within):
        yield stage(
            "", (leader, workers), f"whose groups have {counted(template.size, 'pod')}", within=within
        )
        return
    yield stage("", (leader,), "whose groups start with their leader", within=within)
    words = f"whose groups have {counted(workers.count, 'worker')}, made after their leader"
    yield stage(WORKERS, (workers,), words, after=(StageNeed(LEADER, until),), within=within)


# -- Ray ---------------------------------------------------------------------------------------------------


def of_ray_cluster(cluster: RayCluster) -> Iterator[Stage]:
    spec = cluster.spec
    roles = [StageRole(HEAD, spec.head_group_spec.template, 1)]
    roles += [
        StageRole(one.group_name, one.template, one.wanted * one.num_of_hosts)
        for one in spec.worker_group_specs
        if not one.suspend
    ]
    least = spec.quorum - 1
    at_least = " at least, as it scales by itself" if spec.enable_in_tree_autoscaling else ""
    yield stage("", roles, f"which has a head and {counted(least, 'worker')}{at_least}", spec.quorum)


def of_ray_job(job: RayJob) -> Iterator[Stage]:
    """The pods of its cluster are the RayCluster's; its own is the one that submits the job to it."""
    cluster = job.spec.ray_cluster_spec
    if cluster is not None:
        yield from of_ray_cluster(RayCluster(job.metadata, cluster))
    if job.spec.submission_mode == "K8sJobMode":
        head = None if cluster is None else cluster.head_group_spec.template
        template = job.spec.submitter_pod_template or head or PodTemplate()
        after = () if cluster is None else (StageNeed(HEAD, "Ready"),)
        yield stage(
            SUBMITTER, [StageRole(SUBMITTER, template, 1)], "which submits its job by a pod", after=after
        )


# -- Kubeflow and Volcano ----------------------------------------------------------------------------------


def of_training_job(job: TrainingJob) -> Iterator[Stage]:
    roles = [StageRole(name, role.template, role.replicas) for name, role in job.spec.roles.items()]
    yield stage("", roles, _training_words(job, roles), _least(job))


def of_mpi_job(job: MPIJob) -> Iterator[Stage]:
    roles = [StageRole(name, role.template, role.replicas) for name, role in job.spec.roles.items()]
    launcher = [role for role in roles if role.name == LAUNCHER]
    workers = [role for role in roles if role.name != LAUNCHER]
    if job.spec.launcher_creation_policy != "WaitForWorkersReady" or not launcher or not workers:
        yield stage("", roles, _training_words(job, roles), _least(job))
        return
    yield stage("", workers, at_once(workers), _least(job))
    after = tuple(StageNeed(role.name, "Ready") for role in workers)
    yield stage(LAUNCHING, launcher, "which makes its launcher when its workers are ready", after=after)


def _least(job: TrainingJob) -> int | None:
    """`minAvailable` counts all pods; an elastic policy counts workers, and takes the others for granted."""
    spec = job.spec
    said = spec.run_policy.scheduling_policy.min_available
    if said is not None and said > 0:
        return said
    elastic = None if spec.elastic_policy is None else spec.elastic_policy.min_replicas
    if elastic is None or elastic < 1:
        return None
    others = sum(role.replicas for name, role in spec.roles.items() if name != "Worker")
    return elastic + others


def _training_words(job: TrainingJob, roles: Sequence[StageRole]) -> str:
    said = job.spec.run_policy.scheduling_policy.min_available
    if said is not None and said > 0:
        return f"whose runPolicy.schedulingPolicy.minAvailable is {said}"
    elastic = None if job.spec.elastic_policy is None else job.spec.elastic_policy.min_replicas
    if elastic is not None and elastic > 0:
        return f"whose elasticPolicy.minReplicas is {elastic}"
    return at_once(roles)


def of_volcano_job(job: VolcanoJob) -> Iterator[Stage]:
    """Tasks that wait for others are not in the quorum of those."""
    first = [
        StageRole(task.name, task.template, task.replicas)
        for task in job.spec.tasks
        if not task.depends_on.name
    ]
    least = job.spec.min_available or sum(
        task.replicas if task.min_available is None else task.min_available
        for task in job.spec.tasks
        if not task.depends_on.name
    )
    words = f"whose minAvailable is {least}" if job.spec.min_available else at_once(first)
    yield stage("", first, words, least)
    for task in job.spec.tasks:
        if task.depends_on.name:
            role = StageRole(task.name, task.template, task.replicas)
            after = tuple(StageNeed(name, "Ready") for name in task.depends_on.name)
            yield stage(task.name, [role], at_once([role]), task.min_available, after=after)


STAGES: dict[type[Object], Callable[[Any], Iterator[Stage]]] = {
    Job: of_job,
    JobSet: of_job_set,
    LeaderWorkerSet: of_worker_set,
    RayCluster: of_ray_cluster,
    RayJob: of_ray_job,
    MPIJob: of_mpi_job,
    TrainingJob: of_training_job,
    VolcanoJob: of_volcano_job,
}
