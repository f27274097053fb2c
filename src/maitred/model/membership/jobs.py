"""Jobs as groups: which Job is one gang, how many members it takes, and where that is said.

What the user says stands: in `spec.scheduling`, or by marks on the Job or in its template. A Job that says
nothing is one gang of all its workers if every index of it runs at once.
"""

from collections.abc import Iterator
from typing import Any

from maitred.model.group import (
    GROUP,
    MIN_COUNT,
    NO_MARKS,
    TOPOLOGY_MARKS,
    Group,
    Marks,
    no_count,
    positive,
    topology_request,
)
from maitred.model.healing import failure_wish
from maitred.model.job import Job, Ranges, failed_indexes, succeeded_indexes
from maitred.model.membership.conventions import all_marks
from maitred.model.membership.words import said_by
from maitred.model.meta import ObjectMeta, key_of, own_mark
from maitred.model.pod import Pod
from maitred.model.policy import JobsRule
from maitred.model.protection import protection_of
from maitred.model.runtime import runtime_of


def group_from_job(job: Job, rule: JobsRule) -> Group | None:
    """The group that the pods of a Job are if they name no other. None: each of them is decided alone."""
    key, marks, problems = key_of(job.metadata), *marks_of_job(job)
    scheduled = gang_count(job)
    if marks.min_count is not None:
        quorum = positive(marks.min_count) or 1
        if positive(marks.min_count) is None:
            problems.append(f"{MIN_COUNT}: {no_count(marks.min_count)}")
        if scheduled not in (None, quorum):
            problems.append(f"spec.scheduling of the Job says {scheduled} and {MIN_COUNT} says {quorum}")
        origin = f"{MIN_COUNT} of Job {key}"
    elif scheduled is not None:
        quorum, origin = scheduled, f"spec.scheduling of Job {key}"
    elif job.spec.scheduling is None and rule == "gang" and not not_one_gang(job):
        failed = failed_indexes(job)
        quorum = max(1, (job.spec.completions or 1) - size(failed))
        origin = f"Job {key}, which runs all of its indexes at once"
        origin += f"; {size(failed)} of them failed for good" if failed else ""
    else:
        return None
    topology, unread = topology_request(marks, topology_key(job))
    return Group(
        key=key,
        quorum=quorum,
        gang=True,
        topology=topology,
        protection=protection_of(job.metadata),
        runtime=runtime_of(job.metadata),
        on_failure=failure_wish(job.metadata),
        origin=origin,
        completed=succeeded_indexes(job),
        problems=(*problems, *unread),
    )


def not_one_gang(job: Job) -> tuple[str, ...]:
    """The conditions that a Job misses to be one gang without saying so, in words."""
    return tuple(_missed(job))


def _missed(job: Job) -> Iterator[str]:
    spec = job.spec
    parallelism = 1 if spec.parallelism is None else spec.parallelism
    completions = "not set" if spec.completions is None else spec.completions
    if parallelism <= 1:
        yield f"its spec.parallelism is {parallelism}, and a gang has more than 1 pod"
    if spec.completion_mode != "Indexed":
        yield f"its spec.completionMode is {spec.completion_mode}, and not Indexed"
    if spec.completions != parallelism:
        yield f"its spec.completions is {completions}, and its spec.parallelism is {parallelism}: they differ"
    if said_by(_as_pod(job)).names_a_group:
        yield "its template names a group"


def group_named_by(job: Job) -> str | None:
    """The name of the group that a mark on the Job puts all of its pods into."""
    return own_mark(job.metadata, GROUP) or None


def marks_of_job(job: Job) -> tuple[Marks, list[str]]:
    """What the marks on a Job and in its template say of its group, and where the two differ."""
    own, template = all_marks(job.metadata), all_marks(_as_pod(job).metadata)
    return filled(own, template, "on the Job", "in its template")


def filled(first: Marks, second: Marks, first_place: str, second_place: str) -> tuple[Marks, list[str]]:
    """The marks that either has, and what is wrong with them; what both say must be the same."""
    if second is NO_MARKS and not first.problems:
        return first, []
    pairs = [(MIN_COUNT, first.min_count, second.min_count)]
    pairs += list(zip(TOPOLOGY_MARKS, first.topology, second.topology, strict=True))
    problems = [*first.problems, *second.problems]
    problems += [
        f"{key} is {one} {first_place} and {other} {second_place}; remove one of the two"
        for key, one, other in pairs
        if one is not None and other is not None and one != other
    ]
    count, required, preferred, slice_size, level = (other if one is None else one for _, one, other in pairs)
    return Marks(count, (required, preferred, slice_size, level)), problems


def gang_count(job: Job) -> int | None:
    """The quorum that `spec.scheduling` asks for; None if it asks for no gang."""
    gang = _part(_part(job.spec.scheduling, "schedulingPolicy"), "gang")
    if gang is None:
        return None
    count = gang.get("minCount")
    if isinstance(count, int) and not isinstance(count, bool) and 1 <= count <= 1_000_000:
        return count
    return max(1, 1 if job.spec.parallelism is None else job.spec.parallelism)


def topology_key(job: Job) -> str:
    """The level that `spec.scheduling` requires; empty if it requires none."""
    constraints = _part(job.spec.scheduling, "schedulingConstraints")
    topology = None if constraints is None else constraints.get("topology")
    first = topology[0] if isinstance(topology, list) and topology else None
    key = first.get("key") if isinstance(first, dict) else None
    return key if isinstance(key, str) else ""


def size(ranges: Ranges) -> int:
    return sum(last - first + 1 for first, last in ranges)


def _part(body: Any, name: str) -> dict[str, Any] | None:
    part = body.get(name) if isinstance(body, dict) else None
    return part if isinstance(part, dict) else None


def _as_pod(job: Job) -> Pod:
    about = job.spec.template.metadata
    return Pod(ObjectMeta(labels=about.labels, annotations=about.annotations), job.spec.template.spec)
