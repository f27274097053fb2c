"""The account of a Job, without I/O: what its pods amount to, what to do next, and what to write down.

No pod may be counted twice or be missed, whatever crashes in between. So a pod keeps a finalizer until its
UID stands in the status of the Job; the finalizer goes next; and only then is the UID replaced by a count.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

import msgspec

from maitred.sandbox.housekeeping.jobs import indexes
from maitred.sandbox.housekeeping.jobs.failures import (
    FailureRecord,
    ended_at,
    fails_its_index,
    failures_before,
    index_wait,
    judge,
)
from maitred.sandbox.housekeeping.jobs.objects import (
    COMPLETE,
    FAILED,
    FAILURE_TARGET,
    SUCCESS_CRITERIA_MET,
    SUSPENDED,
    Job,
    JobCondition,
    JobStatus,
    SuccessRule,
    Uncounted,
    completion_index,
    is_failed,
    is_tracked,
    true,
    with_condition,
)
from maitred.sandbox.housekeeping.objects import Pod

MOST_AT_ONCE = 500
"""Pods that are created or deleted in one go."""
MOST_UNCOUNTED = 500
"""UIDs in a status, which must not grow without bounds."""


@dataclass(slots=True)
class PodSteps:
    """What to do with pods now."""

    create: list[int | None] = field(default_factory=list)
    """Indexes; None for a pod that has none."""
    delete: list[Pod] = field(default_factory=list)
    uncounted: bool = False
    """The pods to be deleted are no failures: they leave the account first."""
    verdict: JobCondition | None = None
    managed: bool = False
    """The number of pods has been looked after."""
    wake_after: float | None = None


@dataclass(slots=True)
class Closing:
    """What to write, then the pods to let go, then what the Job has come to if nothing is left open."""

    status: JobStatus
    release: list[Pod]
    tracked: set[str]
    """UIDs of the pods that have their finalizer."""
    final: JobCondition | None = None


class JobAccount:
    """`released` are pods whose finalizer we have removed, though the pods here may not show it yet."""

    def __init__(
        self, job: Job, pods: Iterable[Pod], released: Collection[str], record: FailureRecord, now: datetime
    ) -> None:
        self.job = job
        self.now = now
        self.stamp = now.replace(microsecond=0)
        self.pods = sorted(pods, key=by_index) if job.is_indexed else list(pods)
        self.active = [pod for pod in self.pods if pod.is_active]
        self.tracked = [pod for pod in self.pods if is_tracked(pod) and pod.metadata.uid not in released]
        valid = [pod for pod in self.tracked if self._has_place(pod)]
        known = job.status.uncounted_terminated_pods or Uncounted()
        succeeded = [
            p for p in valid if p.status.phase == "Succeeded" and p.metadata.uid not in known.succeeded
        ]
        failed = [p for p in valid if is_failed(p, job) and p.metadata.uid not in known.failed]
        self.known = known
        self.record = record.after(succeeded, failed)
        self.failed = job.status.failed + len(known.failed) + sum(self._counts(pod) for pod in failed)
        self.completed = self._completed_indexes()
        self.failed_indexes = self._failed_indexes()
        self.succeeded = (
            len(self.completed)
            if job.is_indexed
            else job.status.succeeded + len(known.succeeded) + len(succeeded)
        )
        self.held = self._held()

    def _has_place(self, pod: Pod) -> bool:
        if not self.job.is_indexed:
            return True
        index = completion_index(pod)
        return index is not None and index < (self.job.spec.completions or 0)

    def _counts(self, pod: Pod) -> bool:
        return judge(self.job.spec.pod_failure_policy, pod).counts

    def _completed_indexes(self) -> set[int]:
        if not self.job.is_indexed:
            return set()
        before = indexes.parse(self.job.status.completed_indexes, self.job.spec.completions or 0)
        return before | self._indexes(pod for pod in self.tracked if pod.status.phase == "Succeeded")

    def _failed_indexes(self) -> set[int] | None:
        if self.job.spec.backoff_limit_per_index is None:
            return None
        before = indexes.parse(self.job.status.failed_indexes or "", self.job.spec.completions or 0)
        return before | self._indexes(pod for pod in self.tracked if fails_its_index(self.job, pod))

    def _indexes(self, pods: Iterable[Pod]) -> set[int]:
        return {
            index for pod in pods if self._has_place(pod) and (index := completion_index(pod)) is not None
        }

    def _held(self) -> dict[int, Pod]:
        """Of each index that waits for a new pod, the last that failed: the new one takes over its count,
        so it may not go before."""
        if self.failed_indexes is None:
            return {}
        settled = self.completed | self.failed_indexes | self._indexes(self.active)
        held = dict[int, Pod]()
        for pod in self.tracked:
            index = completion_index(pod)
            if index is None or not self._has_place(pod) or index in settled or not is_failed(pod, self.job):
                continue
            if index not in held or is_later(pod, held[index]):
                held[index] = pod
        return held

    # -- what to do ------------------------------------------------------------------------------------

    def steps(self, settled: bool) -> PodSteps:
        """`settled`: all pods that we have created and deleted before are seen to be so."""
        verdict = self._verdict()
        if verdict is not None:
            return PodSteps(delete=self.active, verdict=verdict)
        if not settled or self.job.metadata.deletion_timestamp is not None:
            return PodSteps(wake_after=self._until_deadline())
        steps = self._manage()
        waits = [wait for wait in (steps.wake_after, self._until_deadline()) if wait is not None]
        steps.wake_after = min(waits, default=None)
        return steps

    def _verdict(self) -> JobCondition | None:
        """How the Job ends, if it does: as was said before, or by failure, or by its own rule of success."""
        job = self.job
        if (met := job.true_condition(SUCCESS_CRITERIA_MET)) is not None:
            return met
        if (target := job.true_condition(FAILURE_TARGET)) is not None:
            return true(FAILED, target.reason, target.message, self.stamp)
        failure = self._failure()
        if failure is not None:
            return true(FAILURE_TARGET, *failure, self.stamp)
        rule = self._rule_of_success()
        if rule is None:
            return None
        return true(SUCCESS_CRITERIA_MET, "SuccessPolicy", f"Matched rules at index {rule}", self.stamp)

    def _failure(self) -> tuple[str, str] | None:
        """Reason and message."""
        spec = self.job.spec
        for pod in self.pods if spec.pod_failure_policy is not None else ():
            words = judge(spec.pod_failure_policy, pod).fails_job
            if words and is_failed(pod, self.job):
                return "PodFailurePolicy", words
        if self.failed > spec.backoff_limit or self._restarted_too_often():
            return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        deadline = self._until_deadline()
        if deadline is not None and deadline <= 0:
            return "DeadlineExceeded", "Job was active longer than specified deadline"
        return self._failure_by_index()

    def _failure_by_index(self) -> tuple[str, str] | None:
        failed = self.failed_indexes
        if not failed:
            return None
        most = self.job.spec.max_failed_indexes
        if most is not None and len(failed) > most:
            words = "Job has exceeded the specified maximal number of failed indexes"
            return "MaxFailedIndexesExceeded", words
        if len(failed) + len(self.completed) >= (self.job.spec.completions or 0):
            return "FailedIndexes", "Job has failed indexes"
        return None

    def _restarted_too_often(self) -> bool:
        """Where kubelets restart containers, no pod fails, and the restarts are counted."""
        if self.job.spec.template.spec.get("restartPolicy") != "OnFailure":
            return False
        restarts = sum(
            container.restart_count
            for pod in self.pods
            if pod.status.phase in ("Running", "Pending")
            for container in (*pod.status.container_statuses, *pod.status.init_container_statuses)
        )
        return restarts > 0 and restarts >= self.job.spec.backoff_limit

    def _until_deadline(self) -> float | None:
        seconds, start = self.job.spec.active_deadline_seconds, self.job.status.start_time
        if seconds is None or self.job.spec.suspend:
            return None
        return seconds - (self.now - (start or self.now)).total_seconds()

    def _rule_of_success(self) -> int | None:
        policy = self.job.spec.success_policy
        if policy is None or not self.completed:
            return None
        rules = enumerate(policy.rules)
        return next((number for number, rule in rules if self._is_met(rule)), None)

    def _is_met(self, rule: SuccessRule) -> bool:
        count = rule.succeeded_count
        if rule.succeeded_indexes is None:
            return count is not None and len(self.completed) >= count
        wanted = indexes.parse(rule.succeeded_indexes, self.job.spec.completions or 0)
        met = len(wanted & self.completed)
        return bool(wanted) and (met == len(wanted) or (count is not None and met >= count))

    # -- how many pods ---------------------------------------------------------------------------------

    def _manage(self) -> PodSteps:
        if self.job.spec.suspend:
            return PodSteps(delete=self.active, uncounted=True, managed=True)
        wanted = self._wanted()
        surplus = self._surplus(max(0, len(self.active) - wanted))[:MOST_AT_ONCE]
        if surplus:
            return PodSteps(delete=surplus, uncounted=True, managed=True)
        terminating = sum(pod.is_terminating for pod in self.pods) if self.job.replaces_only_failed else 0
        missing = wanted - terminating - len(self.active)
        return self._create(missing) if missing > 0 else PodSteps(managed=True)

    def _wanted(self) -> int:
        """Without a number of completions, one success is enough, and those who still run may go on."""
        spec = self.job.spec
        if spec.completions is None:
            return len(self.active) if self.succeeded else spec.parallelism
        return max(0, min(spec.completions - self.succeeded, spec.parallelism))

    def _surplus(self, at_least: int) -> list[Pod]:
        """Pods without a place of their own, then those of which the least would be lost."""
        left = sorted(self.active, key=progress)
        removed = self._misplaced(left) if self.job.is_indexed else []
        gone = {pod.metadata.uid for pod in removed}
        left = [pod for pod in left if pod.metadata.uid not in gone]
        return removed + left[: max(0, at_least - len(removed))]

    def _misplaced(self, pods: Sequence[Pod]) -> list[Pod]:
        """Of several pods with one index, all but the one that has come furthest."""
        best = {index: pod for pod in pods if (index := completion_index(pod)) is not None}
        return [
            pod
            for pod in pods
            if not self._has_place(pod)
            or ((index := completion_index(pod)) is not None and best[index] is not pod)
        ]

    def _create(self, missing: int) -> PodSteps:
        missing = min(missing, MOST_AT_ONCE)
        per_index = self.job.spec.backoff_limit_per_index is not None
        wait = 0.0 if per_index else self.record.wait(self.now)
        if wait > 0:
            return PodSteps(managed=True, wake_after=wait)
        if not self.job.is_indexed:
            return PodSteps(create=[None] * missing, managed=True)
        free = indexes.first_free(self._taken(), missing, self.job.spec.completions or 0)
        waits = {index: index_wait(self.held.get(index), self.now) for index in free}
        due: list[int | None] = [index for index in free if waits[index] <= 0]
        if free and not due:
            return PodSteps(managed=True, wake_after=min(waits.values()))
        return PodSteps(create=due, managed=True)

    def _taken(self) -> set[int]:
        taken = self.completed | self._indexes(self.active) | (self.failed_indexes or set())
        if self.job.replaces_only_failed:
            taken |= self._indexes(pod for pod in self.pods if pod.is_terminating)
        return taken

    # -- what to write ---------------------------------------------------------------------------------

    def close(self, steps: PodSteps, settled: bool, created: int, deleted: Collection[str]) -> Closing:
        """After the steps, of which not all may have succeeded: `created` pods, `deleted` UIDs."""
        status, verdict = self._with_start(self.job.status), steps.verdict
        active = len(self.active) - len(deleted) + created
        if verdict is not None and (active or not settled):
            verdict = None  # Pods are left that nobody has asked to end.
        if verdict is None and steps.verdict is None:
            if self._is_complete(active):
                verdict = true(
                    SUCCESS_CRITERIA_MET,
                    "CompletionsReached",
                    "Reached expected number of succeeded pods",
                    self.stamp,
                )
            elif steps.managed:
                status = self._suspended_or_not(status)
        status = msgspec.structs.replace(
            status,
            active=active,
            ready=sum(pod.is_ready for pod in self.active if pod.metadata.uid not in deleted),
            terminating=sum(pod.is_terminating for pod in self.pods) + len(deleted),
        )
        return self._closing(status, verdict)

    def _with_start(self, status: JobStatus) -> JobStatus:
        if status.start_time is not None or self.job.spec.suspend:
            return status
        return msgspec.structs.replace(status, start_time=self.stamp)

    def _is_complete(self, active: int) -> bool:
        wanted = self.job.spec.completions
        return active == 0 and (self.succeeded > 0 if wanted is None else self.succeeded >= wanted)

    def _suspended_or_not(self, status: JobStatus) -> JobStatus:
        """Time begins anew when a Job is resumed: it is not to be late for having been suspended."""
        if self.job.spec.suspend:
            told = with_condition(status, SUSPENDED, "True", "JobSuspended", "Job suspended", self.stamp)
            return told if told is status else msgspec.structs.replace(told, start_time=None)
        told = with_condition(status, SUSPENDED, "False", "JobResumed", "Job resumed", self.stamp)
        return told if told is status else msgspec.structs.replace(told, start_time=self.stamp)

    def _closing(self, status: JobStatus, verdict: JobCondition | None) -> Closing:
        tracked = {pod.metadata.uid for pod in self.tracked}
        known = status.uncounted_terminated_pods or Uncounted()
        status = counted(msgspec.structs.replace(status, uncounted_terminated_pods=known), tracked)
        left = status.uncounted_terminated_pods or Uncounted()
        leaving = [pod for pod in self.tracked if self._may_go(pod, verdict)]
        # The rest comes with the next look at the Job.
        released = leaving[: max(0, MOST_UNCOUNTED - len(left.succeeded) - len(left.failed))]
        succeeded = [pod.metadata.uid for pod in released if self._is_new_success(pod)]
        failed = [pod.metadata.uid for pod in released if self._is_new_failure(pod, verdict)]
        uncounted = Uncounted((*left.succeeded, *succeeded), (*left.failed, *failed))
        status = msgspec.structs.replace(status, uncounted_terminated_pods=uncounted)
        status = self._with_indexes(status)
        status, final = self._announced(status, verdict)
        return Closing(status, released, tracked, final if released == leaving else None)

    def _is_new_success(self, pod: Pod) -> bool:
        """Of an Indexed Job the index is written down, and no UID."""
        uid = pod.metadata.uid
        known = uid in self.known.succeeded or uid in self.known.failed
        return pod.status.phase == "Succeeded" and not self.job.is_indexed and not known

    def _is_new_failure(self, pod: Pod, verdict: JobCondition | None) -> bool:
        """When a Job fails, so do all pods that have not ended."""
        if pod.metadata.uid in self.known.failed or pod.status.phase == "Succeeded":
            return False
        failing = verdict is not None and verdict.type != SUCCESS_CRITERIA_MET
        return (failing or is_failed(pod, self.job)) and self._has_place(pod) and self._counts(pod)

    def _may_go(self, pod: Pod, verdict: JobCondition | None) -> bool:
        if verdict is not None or self.job.metadata.deletion_timestamp or pod.status.phase == "Succeeded":
            return True
        index = completion_index(pod)
        return is_failed(pod, self.job) and (index is None or self.held.get(index) is not pod)

    def _with_indexes(self, status: JobStatus) -> JobStatus:
        if not self.job.is_indexed:
            return status
        failed = None if self.failed_indexes is None else indexes.written(self.failed_indexes)
        return msgspec.structs.replace(
            status,
            succeeded=len(self.completed),
            completed_indexes=indexes.written(self.completed),
            failed_indexes=failed,
        )

    def _announced(
        self, status: JobStatus, verdict: JobCondition | None
    ) -> tuple[JobStatus, JobCondition | None]:
        """The verdict is written before any pod goes, and what it comes to when all are in the account."""
        if verdict is None or verdict.type == FAILED:
            return status, verdict
        if self.job.true_condition(verdict.type) is None:
            status = msgspec.structs.replace(status, conditions=(*status.conditions, verdict))
        final = FAILED if verdict.type == FAILURE_TARGET else COMPLETE
        return status, true(final, verdict.reason, verdict.message, self.stamp)


def counted(status: JobStatus, tracked: Collection[str]) -> JobStatus:
    """Uncounted pods that have lost their finalizer become numbers."""
    known = status.uncounted_terminated_pods or Uncounted()
    succeeded = tuple(uid for uid in known.succeeded if uid in tracked)
    failed = tuple(uid for uid in known.failed if uid in tracked)
    return msgspec.structs.replace(
        status,
        succeeded=status.succeeded + len(known.succeeded) - len(succeeded),
        failed=status.failed + len(known.failed) - len(failed),
        uncounted_terminated_pods=Uncounted(succeeded, failed),
    )


def concluded(status: JobStatus, final: JobCondition | None) -> JobStatus:
    """With its last condition, once no pod is left that ends or waits to be counted."""
    known = status.uncounted_terminated_pods or Uncounted()
    if final is None or known.succeeded or known.failed or status.terminating:
        return status
    when = final.last_transition_time
    assert when is not None
    status = with_condition(status, final.type, final.status, final.reason, final.message, when)
    if final.type != COMPLETE:
        return status
    return msgspec.structs.replace(status, completion_time=when)


def by_index(pod: Pod) -> int:
    index = completion_index(pod)
    return -1 if index is None else index


def is_later(pod: Pod, other: Pod) -> bool:
    return failures_before(pod) >= failures_before(other) and ended_at(pod) >= ended_at(other)


def progress(pod: Pod) -> tuple[bool, bool, bool, float, int, float]:
    """Less of it first: not bound, not running, not ready, ready for a short time, restarted, young."""
    ready = pod.condition("Ready")
    since = ready.last_transition_time if pod.is_ready and ready is not None else None
    created = pod.metadata.creation_timestamp
    restarts = max((c.restart_count for c in pod.status.container_statuses), default=0)
    return (
        bool(pod.spec.node_name),
        pod.status.phase == "Running",
        pod.is_ready,
        -since.timestamp() if since is not None else 0.0,
        -restarts,
        -created.timestamp() if created is not None else 0.0,
    )
