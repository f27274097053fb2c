"""The answer for what makes pods and has made no group of them: each pod is decided by itself.

Whoever asks about a Job wants to know about the Job: how many of its pods have places, how many wait and for
what, and what it means that they are not one gang. What is in the way is told of the first pod that waits.
"""

from collections.abc import Iterator, Sequence

import msgspec
import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.leaving import lost_nodes
from maitred.explain.gang_advice import SERVICES, gang_advice, no_gang_words
from maitred.explain.situation import Situation
from maitred.explain.tables import listed
from maitred.explain.why.answer import Placement, Why
from maitred.explain.why.decided import of_decided
from maitred.explain.why.names import NamedWorkload, Names
from maitred.explain.why.others import of_another_scheduler, of_past
from maitred.explain.why.progress import ImageSizes, Progress, progress_of
from maitred.explain.why.seated import lost_in, lost_words, of_seated, placement_of
from maitred.model.group import Group
from maitred.model.job import Job
from maitred.model.membership import group_named_by, not_one_gang
from maitred.model.owners import BATCH_JOB
from maitred.model.plan import Blocker
from maitred.model.pod import Pod
from maitred.model.policy import is_device
from maitred.model.words import counted


def of_loose(situation: Situation, workload: NamedWorkload, names: Names) -> Why:
    """About all of its pods; none of them is in a group."""
    loose = LoosePods(situation, workload, names)
    return msgspec.structs.replace(
        loose.told,
        group=workload.key,
        workload=workload.title,
        members=loose.members,
        quorum=1,
        placed=loose.placed,
        leaving=len(loose.rows) - len(loose.staying),
        placement=loose.placement(),
        ranks=None,
        blockers=loose.blockers(),
        progress=loose.progress(),
        notes=(*loose.notes(), *loose.notes_of_told()),
    )


class LoosePods:
    """The pods of one workload, by what has become of each."""

    def __init__(self, situation: Situation, workload: NamedWorkload, names: Names) -> None:
        self.situation, self.workload, self.names = situation, workload, names
        seen = (names.seen.pod(pod) for pod in workload.pods)
        self.seen: list[Pod] = [pod for pod in seen if pod is not None]
        self.rows: Rows = np.concatenate(
            [names.rows_of(pod) for pod in workload.pods] or [np.array([], dtype=np.intp)]
        )
        bound = situation.snapshot.bound
        self.staying = self.rows[~bound.terminating[self.rows]]
        self.running = int(np.count_nonzero(~lost_nodes(situation.snapshot)[bound.node[self.staying]]))
        self.succeeded = sum(pod.status.phase == "Succeeded" for pod in self.seen)
        waiting = [pod for pod in workload.pods if pod in names.views]
        verdicts = {found.group: found.verdict for found in situation.decided().decisions}
        self.fitting = [pod for pod in waiting if verdicts.get(pod) == "Scheduled"]
        self.waiting = [pod for pod in waiting if verdicts.get(pod) != "Scheduled"]
        self.members = len(waiting) + len(self.staying) + self.succeeded
        self.placed = self.running + self.succeeded + len(self.fitting)
        self.told = self._told()

    def _told(self) -> Why:
        """The answer for the pod that stands for the others: the first that waits, if any does."""
        situation, names = self.situation, self.names
        for pod in (*self.waiting, *self.fitting):
            cycle = situation.cycle()
            group = cycle.group(pod)
            if group is None:
                return of_another_scheduler(situation, names.views[pod])
            return of_decided(situation, cycle, group, names)
        seated = [pod for pod in self.workload.pods if len(names.rows_of(pod))]
        if seated:
            return of_seated(situation, min(seated, key=self._is_lost), names)
        return of_past(situation, self.workload.key, self.seen, names)

    def _is_lost(self, pod: str) -> bool:
        rows = self.situation.snapshot.bound.node[self.names.rows_of(pod)]
        return bool(lost_nodes(self.situation.snapshot)[rows].all())

    def notes_of_told(self) -> Iterator[str]:
        """What is lost with nodes is told of all pods at once."""
        nodes, own = self.situation.snapshot.bound.node, self.names.rows_of(self.told.group)
        yield from lost_words(self.situation, nodes[self.staying].tolist())
        said = set(lost_words(self.situation, nodes[own].tolist()))
        yield from (note for note in self.told.notes if note not in said)

    def blockers(self) -> tuple[Blocker, ...]:
        """Pods of one workload are never in each other's way: it is what the rest lacks beside them."""
        found = self.told.blockers
        if self.told.verdict != "Waiting" or all(blocker.category != "Priority" for blocker in found):
            return found
        pod = self.told.group
        return self.situation.cycle().blockers_beside(pod, frozenset(self.workload.pods))

    def placement(self) -> Placement | None:
        running = placement_of(self.situation, Group(self.workload.key), self.rows)
        cycle, names = self.situation.cycle(), self.situation.snapshot.nodes.names
        groups = [group for pod in self.fitting if (group := cycle.group(pod)) is not None]
        coming = [names[row] for group in groups for _, row in group.seated]
        if not coming:
            return running
        if running is None:
            return Placement(len(coming), tuple(sorted(set(coming))), {}, None)
        nodes = tuple(sorted({*running.nodes, *coming}))
        return Placement(running.members + len(coming), nodes, {}, running.since)

    def progress(self) -> Progress | None:
        if self.told.progress is None:
            return None
        placed = [pod for pod in self.seen if pod.spec.node_name]
        return progress_of(
            placed,
            self.names.seen,
            ImageSizes(self.situation.snapshot.nodes.images),
            self.situation.now,
            self.situation.once(lost_in),
        )

    # -- what it means ---------------------------------------------------------------------------------

    def notes(self) -> Iterator[str]:
        kind, job = self.workload.kind.title, self.situation.snapshot.jobs.get(self.workload.key)
        if kind != "Job":
            job = None
        if len(self.waiting) > 1:
            yield (
                f"blockers and remedies are shown for {self.told.group}, the first of "
                f"{len(self.waiting)} waiting pods"
            )
        if self.members < 2 and job is not None and job.spec.completion_mode == "Indexed":
            yield f"Job {job.metadata.name} is no gang ({'; '.join(not_one_gang(job))})"
        if self.members < 2 or kind in SERVICES:
            return
        yield self._consequence(job)
        name = self.workload.key.partition("/")[2]
        advice = gang_advice(kind, name, max(self.members, wanted(job)))
        yield f"to start its pods as one gang, {advice}"

    def _consequence(self, job: Job | None) -> str:
        why = "" if job is None else no_gang_words(job, self.situation.policy)
        apart = f"it names no group{why}, so each pod is decided alone and starts as soon as it fits"
        if job is None or not_one_gang(job) or self.placed >= self.members:
            return apart
        return f"{apart}, {in_vain_words(self.situation, self.members, self.running, self.rows)}"


def in_another_group(situation: Situation, workload: NamedWorkload, answer: Why) -> tuple[str, ...]:
    """Of a Job that is no gang of its own, and did not itself say which group its pods are in."""
    job = situation.snapshot.jobs.get(workload.key) if workload.kind is BATCH_JOB else None
    if job is None or job.spec.scheduling is not None or group_named_by(job) is not None:
        return ()
    missed = not_one_gang(job)
    if not missed or answer.group == workload.key:
        return ()
    told = f"{workload.title} is no gang by itself ({'; '.join(missed)})"
    return (f"{told}: its pods are members of group {answer.group}, whose quorum counts",)


def made_basic(situation: Situation, workload: NamedWorkload, answer: Why, names: Names) -> tuple[str, ...]:
    """Of a Job that needs all its pods, where Kubernetes made a group of them that any one pod satisfies."""
    job = situation.snapshot.jobs.get(workload.key) if workload.kind is BATCH_JOB else None
    if job is None or not_one_gang(job) or job.spec.scheduling is not None:
        return ()
    if names.is_gang(answer.group) or answer.placed >= answer.members:
        return ()
    rows = names.rows_of(answer.group)
    running = int(np.count_nonzero(~situation.snapshot.bound.terminating[rows]))
    name = workload.key.partition("/")[2]
    advice = gang_advice(workload.kind.title, name, max(answer.members, wanted(job)))
    return (
        f"its group has a quorum of 1, {in_vain_words(situation, answer.members, running, rows)}",
        f"to start its pods as one gang, {advice}",
    )


def in_vain_words(situation: Situation, members: int, running: int, rows: Rows) -> str:
    held = devices_words(situation, rows)
    holding = f"; until then {counted(running, 'pod')} hold{'s' * (running == 1)} {held} without working"
    needs = f"though the Job runs all {members} at once and needs them all"
    return f"{needs}{holding if running and held else ''}"


def wanted(job: Job | None) -> int:
    return 0 if job is None else job.members


def devices_words(situation: Situation, rows: Rows) -> str:
    """`40 nvidia.com/gpu`: what the pods in these rows hold of devices."""
    snapshot, held = situation.snapshot, dict[str, int]()
    for number in snapshot.bound.needs[rows].tolist():
        for resource, amount in snapshot.needs[number].requests:
            if is_device(situation.policy, resource):
                held[resource] = held.get(resource, 0) + amount
    return ", ".join(f"{amount} {resource}" for resource, amount in sorted(held.items()))


def several_words(groups: Sequence[str]) -> str:
    """For a workload whose pods are in several groups."""
    return (
        f"its pods are in {len(groups)} groups: {listed(groups, 'group')}; this answer is about {groups[0]}"
    )
