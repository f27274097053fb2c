"""The pods of Jobs and JobSets, as the Job controller and JobSet 0.12 make them."""

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha1

import msgspec

from maitred.model.job import COMPLETION_INDEX, JOB_CONTROLLER, JOB_NAMES, Job, PodTemplate
from maitred.model.operators.jobset import (
    EXCLUSIVE_TOPOLOGY,
    JOB_INDEX,
    JOB_KEY,
    JOB_SET_CONTROLLER,
    JOB_SET_NAME,
    NODE_SELECTOR,
    REPLICATED_JOB,
    JobSet,
    ReplicatedJob,
)
from maitred.model.operators.pods.replicas import (
    After,
    Replicas,
    alone_in_domain,
    in_domain,
    made,
    marked,
    other_manager,
    reference,
)
from maitred.model.owner_chain import Found
from maitred.model.pod import Toleration
from maitred.model.priority import BUILT_IN, PriorityClass
from maitred.model.selector import Labels, LabelSelector, Requirement

SET = "jobset.sigs.k8s.io/"
SET_PRIORITY = f"{SET}priority"
NAMESPACED_JOB = "alpha.jobset.sigs.k8s.io/namespaced-job"
NO_SCHEDULE = "alpha.jobset.sigs.k8s.io/no-schedule"


def of_job(job: Job, _: Found | None = None, version: str = "", path: str = "spec") -> Iterator[Replicas]:
    count, name, spec = job.spec.pods, job.metadata.name, job.spec
    if count == 0:
        return

    def index_of(index: int) -> Labels:
        return {COMPLETION_INDEX: str(index)}

    own = Replicas(
        role="",
        template=marked(spec.template, dict.fromkeys(JOB_NAMES, name)),
        count=count,
        namespace=job.metadata.namespace,
        owner=reference(job, version),
        name=lambda index: f"{name}-{index}",
        manager=other_manager(spec.managed_by, JOB_CONTROLLER, f"{path}.managedBy"),
        deadline=spec.active_deadline_seconds,
        field=f"{path}.template",
        count_field=f"{path}.parallelism",
    )
    indexed = spec.completion_mode == "Indexed"
    yield replace(own, labels=index_of, annotations=index_of) if indexed else own


# -- JobSets -----------------------------------------------------------------------------------------------


def of_job_set(job_set: JobSet, known: Found | None, version: str = "") -> Iterator[Replicas]:
    manager = other_manager(job_set.spec.managed_by, JOB_SET_CONTROLLER, "spec.managedBy")
    waits = waiting_of(job_set)
    for position, several in enumerate(job_set.spec.replicated_jobs):
        if several.template.spec.pods == 0:
            continue
        path = f"spec.replicatedJobs[{position}].template.spec"
        for number in range(several.replicas):
            job = job_of(job_set, several, number, known, version)
            for part in of_job(job, path=path):
                part = replace(
                    part,
                    role=several.name,
                    template=ranked(part, known),
                    between=(job,),
                    after=waits[several.name],
                    manager=manager or part.manager,
                )
                yield from apart_by_topology(job, part)


def waiting_of(job_set: JobSet) -> dict[str, After]:
    """What the Jobs of each replicated job wait for: those before it, or those that it says it depends on."""
    in_order = job_set.spec.startup_policy.startup_policy_order == "InOrder"
    found: dict[str, After] = {}
    for position, several in enumerate(job_set.spec.replicated_jobs):
        status = {one.status for one in several.depends_on}
        behind = {found.get(one.name, After.NOTHING) for one in several.depends_on}
        if "Complete" in status or After.COMPLETE in behind:
            found[several.name] = After.COMPLETE
        elif status or (in_order and position > 0):
            found[several.name] = After.READY
        else:
            found[several.name] = After.NOTHING
    return found


def job_of(
    job_set: JobSet, several: ReplicatedJob, number: int, known: Found | None, version: str = ""
) -> Job:
    """The Job of this number, as it is while the set is not suspended."""
    name = f"{job_set.metadata.name}-{several.name}-{number}"
    about, template = made(Job, name, job_set, known, version), several.template
    marks = set_marks(job_set, several, number, name)
    exclusive = exclusive_marks(job_set, several)
    metadata = msgspec.structs.replace(
        about,
        labels={**template.metadata.labels, **marks},
        annotations={**template.metadata.annotations, **marks, **exclusive},
    )
    pods = marked(template.spec.template, marks, {**marks, **exclusive})
    if NODE_SELECTOR in exclusive:
        selector = {**pods.spec.node_selector, NAMESPACED_JOB: f"{about.namespace}_{name}"}
        tolerated = Toleration(key=NO_SCHEDULE, operator="Exists", effect="NoSchedule")
        spec = msgspec.structs.replace(
            pods.spec, node_selector=selector, tolerations=(*pods.spec.tolerations, tolerated)
        )
        pods = msgspec.structs.replace(pods, spec=spec)
    return Job(metadata, msgspec.structs.replace(template.spec, template=pods, suspend=False))


def set_marks(job_set: JobSet, several: ReplicatedJob, number: int, job: str) -> dict[str, str]:
    """Labels and annotations of its Jobs and of their pods."""
    every = job_set.spec.replicated_jobs
    before = every[: every.index(several)]
    same_group = [one for one in every if one.group_name == several.group_name]
    key = f"{job_set.metadata.namespace or 'default'}/{job}"
    return {
        JOB_SET_NAME: job_set.metadata.name,
        f"{SET}jobset-uid": job_set.metadata.uid,
        REPLICATED_JOB: several.name,
        f"{SET}restart-attempt": str(job_set.status.restarts),
        f"{SET}replicatedjob-replicas": str(several.replicas),
        f"{SET}global-replicas": str(sum(one.replicas for one in every)),
        JOB_INDEX: str(number),
        JOB_KEY: sha1(key.encode(), usedforsecurity=False).hexdigest(),
        f"{SET}job-global-index": str(sum(one.replicas for one in before) + number),
        f"{SET}group-name": several.group_name,
        f"{SET}group-replicas": str(sum(one.replicas for one in same_group)),
        f"{SET}job-group-index": str(
            sum(one.replicas for one in before if one.group_name == several.group_name) + number
        ),
    }


def exclusive_marks(job_set: JobSet, several: ReplicatedJob) -> dict[str, str]:
    """A domain for each Job, if the set or the replicated job says so; the latter stands."""
    found = dict[str, str]()
    for said in (job_set.metadata.annotations, several.template.metadata.annotations):
        if EXCLUSIVE_TOPOLOGY in said:
            found |= {key: said[key] for key in (EXCLUSIVE_TOPOLOGY, NODE_SELECTOR) if key in said}
    return found


def ranked(part: Replicas, known: Found | None) -> PodTemplate:
    """With the label by which JobSet tells priorities apart, where it is known which one admission gives."""
    spec = part.template.spec
    named = BUILT_IN.get(spec.priority_class_name)
    if named is None and spec.priority_class_name and known is not None:
        named = known.find(PriorityClass, spec.priority_class_name)
    priority = spec.priority if named is None else named.value
    if priority is None and spec.priority_class_name:
        return part.template
    return marked(part.template, {SET_PRIORITY: str(priority or 0)})


def apart_by_topology(job: Job, part: Replicas) -> Iterator[Replicas]:
    """The first pod of a Job with a domain of its own, and the others, which follow it there."""
    said = job.spec.template.metadata.annotations
    level = said.get(EXCLUSIVE_TOPOLOGY)
    if level is None or NODE_SELECTOR in said or job.spec.completion_mode != "Indexed":
        yield part
        return
    template, everywhere = part.template, {"namespace_selector": LabelSelector()}
    key, priority = template.metadata.labels[JOB_KEY], template.metadata.labels.get(SET_PRIORITY)
    same_rank = () if priority is None else (Requirement(SET_PRIORITY, "In", (priority,)),)
    leader = alone_in_domain(template, JOB_KEY, key, level, same_rank, **everywhere)
    yield replace(part, template=leader, count=1)
    if part.count > 1:
        followers = in_domain(template, JOB_KEY, key, level, **everywhere)
        after = part.after if part.after != After.NOTHING else After.SCHEDULED
        yield replace(part, template=followers, count=part.count - 1, first=1, after=after)
