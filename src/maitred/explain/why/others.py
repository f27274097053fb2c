"""The answer for groups that are not decided and sit nowhere: over, of another scheduler, or without pods."""

from collections.abc import Sequence
from typing import Any

import msgspec

from maitred.cluster.snapshot import GroupView
from maitred.explain.situation import Situation
from maitred.explain.why.answer import Why
from maitred.explain.why.decided import suspension_words
from maitred.explain.why.names import Names
from maitred.explain.why.owners import failure_of, refusal_below, refusal_of
from maitred.explain.why.progress import ImageSizes, progress_of
from maitred.model.group import Group, PodGroup, group_from_pod_group
from maitred.model.job import Job
from maitred.model.kinds import row_of
from maitred.model.membership import ALL_ALONE, group_from_job, group_of
from maitred.model.objects import Object
from maitred.model.pod import Pod
from maitred.model.suspending import row_of_suspendable
from maitred.model.words import counted


def of_another_scheduler(situation: Situation, view: GroupView) -> Why:
    named = ", ".join(view.pending_schedulers)
    return Why(
        group=view.group.key,
        state="Elsewhere",
        members=view.members,
        quorum=view.group.quorum,
        quorum_from=view.group.origin,
        placed=len(view.running) + view.succeeded,
        notes=(f"its pods name scheduler {named}, so {situation.scheduler} does not schedule them",),
    )


def of_past(situation: Situation, key: str, pods: Sequence[Pod], names: Names) -> Why:
    """All its pods are over, or were deleted before they had a place."""
    progress = progress_of(pods, names.seen, ImageSizes(situation.snapshot.nodes.images), situation.now)
    group, done = past_group(key, pods, names), progress.succeeded and not progress.failed
    return Why(
        group=key,
        state="Finished" if done else "Failed",
        members=len(pods),
        quorum=group.quorum,
        quorum_from=group.origin,
        placed=progress.succeeded,
        progress=progress,
        notes=tuple(filter(None, (failure_of(names, key), refusal_of(names, key)))),
    )


def past_group(key: str, pods: Sequence[Pod], names: Names) -> Group:
    """The group that these pods were."""
    settled = [names.settled(pod) for pod in pods]
    first = settled[0] if settled else ALL_ALONE
    if first.id is None:
        return Group(key)
    return group_of(first.id, [one.marks for one in settled], first.group, len(pods))


def of_declared(key: str, names: Names) -> Why:
    declared = names.find(PodGroup, key)
    group = Group(key) if declared is None else group_from_pod_group(declared)
    created = f"PodGroup {key} exists, but it has no pods"
    return Why(group=key, state="NoPods", quorum=group.quorum, quorum_from=group.origin, notes=(created,))


def of_owner(key: str, one: Object, names: Names) -> Why:
    """An operator's object that has no pods now."""
    row, title = row_of_suspendable(type(one)), row_of(type(one)).name
    if row is not None and row.is_suspended(one):
        return Why(group=key, state="Suspended", notes=(suspension_words(one),))
    missing = f"{title} {one.metadata.name} exists, and has no pods: its operator has created none"
    if is_untouched(one):
        missing += f", and has not written to its status: check that the operator for {title} runs"
    return Why(group=key, state="NoPods", notes=(refusal_below(names, one) or missing,))


def is_untouched(one: Object) -> bool:
    """Whether no operator has told what becomes of it, as far as its status is read."""
    status: Any = getattr(one, "status", None)
    return status is not None and bool(status == type(status)())


def of_job(key: str, job: Job, names: Names) -> Why:
    """A Job that has no pods now, with the quorum that they will have."""
    group, answer = group_from_job(job, names.snapshot.workloads.jobs), _of_job(key, job, names)
    if group is None:
        return answer
    return msgspec.structs.replace(answer, quorum=group.quorum, quorum_from=group.origin)


def _of_job(key: str, job: Job, names: Names) -> Why:
    name, wanted = job.metadata.name, job.members
    failure, refusal = failure_of(names, key), refusal_of(names, key)
    if failure is not None:
        return Why(group=key, state="Failed", members=wanted, notes=(failure, *filter(None, (refusal,))))
    if job.spec.suspend:
        return Why(group=key, state="Suspended", members=wanted, notes=(suspension_words(job),))
    succeeded, failed = job.status.succeeded, job.status.failed
    if job.spec.completions is not None and succeeded >= job.spec.completions:
        over = f"Job {name} is complete: {counted(succeeded, 'pod')} succeeded"
        return Why(group=key, state="Finished", members=succeeded, placed=succeeded, notes=(over,))
    if not wanted:
        return Why(group=key, state="NoPods", notes=(f"Job {name} asks for no pods: its parallelism is 0",))
    if refusal is not None:
        return Why(group=key, state="NoPods", members=wanted, notes=(refusal,))
    told = f"Job {name} has no pods yet: the Job controller has created none of {counted(wanted, 'pod')}"
    if failed:
        told = (
            f"Job {name} has no pods now: {failed} failed, and the Job controller has not created new "
            f"ones yet"
        )
    return Why(group=key, state="NoPods", members=wanted, notes=(told,))
