"""Which group each pod is in, kept true as the objects that say so come and go.

A pod points to a PodGroup and to the Job that owns it. Either may change what group it is in, long after the
pod was seen, so this keeps who points to what, and tells which pods to look at again.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from maitred.cluster.members import Member
from maitred.model.group import PodGroup
from maitred.model.job import Job
from maitred.model.membership import (
    JOB,
    GroupId,
    JobFacts,
    PodWords,
    Settled,
    group_from_job,
    same_uid,
    settle,
)
from maitred.model.meta import controller_of
from maitred.model.owners import BATCH_JOB, kind_of
from maitred.model.policy import Workloads

MOST_KNOWN, LONGEST_NAME = 16_384, 512
"""Words of which the group is remembered, and the length of the names in them: users write both."""


@dataclass(frozen=True, slots=True)
class JobGroup:
    """A Job as a group."""

    id: GroupId
    facts: JobFacts

    def like(self, other: "JobGroup | None") -> bool:
        """Whether it means the same to the question which group its pods are in."""
        if other is None:
            return False
        before, after = other.facts, self.facts
        return (
            other.id == self.id
            and (before.group is None) == (after.group is None)
            and before.job.spec.scheduling == after.job.spec.scheduling
            and before.job.metadata.labels == after.job.metadata.labels
            and before.job.metadata.annotations == after.job.metadata.annotations
        )


class Settling:
    def __init__(self, workloads: Workloads, waits_for_owners: bool) -> None:
        self.workloads = workloads
        self._waits = waits_for_owners
        self._jobs: dict[str, JobGroup] = {}
        self._groups: dict[str, PodGroup] = {}
        self._owned: dict[str, dict[str, Member]] = {}
        """Pods by the key of the Job that they name as their owner."""
        self._known: dict[PodWords, Settled] = {}
        """What was found out since the last object came, went or changed."""

    def settled(self, member: Member) -> Settled:
        """One object for all pods that say the same."""
        found = self._known.get(member.said)
        if found is None:
            found = self._settled(member)
            if not found.conflict and _is_short(member.said):  # a conflict names the pod
                if len(self._known) >= MOST_KNOWN:
                    self._known.clear()
                self._known[member.said] = found
        return found

    def _settled(self, member: Member) -> Settled:
        said = member.said
        if said.job is None and (said.pod_group is None or said.marked is None):
            id = said.pod_group or said.marked
            return Settled(id) if said.pod_group is not None else Settled(id, said.marks)
        job = None if said.job is None else self._jobs.get(said.job.key)
        if job is not None and said.job is not None and not same_uid(said.job.uid, job.id.uid):
            job = None  # another Job of that name
        group = None if said.pod_group is None else self._groups.get(said.pod_group.key)
        facts = None if job is None else job.facts
        return settle(member.key.partition("/")[2], said, facts, group, self._waits)

    # -- who points to what ----------------------------------------------------------------------------

    def add(self, member: Member) -> None:
        if member.said.job is not None:
            self._owned.setdefault(member.said.job.key, {})[member.key] = member

    def remove(self, member: Member) -> None:
        if member.said.job is not None:
            members = self._owned[member.said.job.key]
            del members[member.key]
            if not members:
                del self._owned[member.said.job.key]

    # -- objects ---------------------------------------------------------------------------------------

    def put_job(self, key: str, job: Job | None) -> tuple[JobGroup | None, JobGroup | None, Iterable[Member]]:
        """The Job as a group before and after, and the pods whose group may be another one now."""
        before = self._jobs.pop(key, None)
        if job is None:
            self._known.clear()
            return before, None, self._pods_of(key)
        facts = JobFacts(job, group_from_job(job, self.workloads.jobs))
        after = self._jobs[key] = JobGroup(GroupId(JOB, key, job.metadata.uid), facts)
        if after.like(before):
            return before, after, ()
        self._known.clear()
        return before, after, self._pods_of(key)

    def put_group(self, key: str, group: PodGroup | None) -> Iterable[Member]:
        """The pods whose group may be another one now: those of the Job that the PodGroup was made for, or
        else those of every Job that name it."""
        before = self._groups.pop(key, None)
        if group is not None:
            self._groups[key] = group
        if before != group:
            self._known.clear()
        if before is not None and group is not None and before.spec == group.spec:
            return ()
        owners = {job for one in (before, group) if one is not None for job in _job_of(one)}
        return [member for job in owners for member in self._pods_of(job)]

    def follow(self, workloads: Workloads) -> Collection[str]:
        """The Jobs to look at again."""
        changed = workloads != self.workloads
        self.workloads = workloads
        return list(self._jobs) if changed else ()

    def _pods_of(self, job: str) -> Iterable[Member]:
        return self._owned.get(job, {}).values()


def _job_of(group: PodGroup) -> Iterable[str]:
    owner = controller_of(group.metadata)
    if owner is not None and kind_of(owner) == BATCH_JOB.title:
        yield f"{group.metadata.namespace or 'default'}/{owner.name}"


def _is_short(said: PodWords) -> bool:
    named = (id for id in (said.pod_group, said.marked, said.job) if id is not None)
    return all(len(id.key) + len(id.uid) <= LONGEST_NAME for id in named)
