"""What a failure means: the Job's own rules for it, and how long to wait before the next try."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from maitred.model.container_status import ContainerStatus
from maitred.sandbox.housekeeping.jobs.objects import (
    INDEX_FAILURES,
    INDEX_IGNORED_FAILURES,
    ExitCodes,
    FailurePolicy,
    FailureRule,
    Job,
    count_of,
    is_failed,
)
from maitred.sandbox.housekeeping.objects import Pod

FIRST_WAIT = 10.0
LONGEST_WAIT = 600.0


@dataclass(frozen=True, slots=True)
class FailureJudgement:
    counts: bool = True
    """Against the limits."""
    fails_index: bool = False
    fails_job: str = ""
    """Why."""


COUNTED = FailureJudgement()
IGNORED = FailureJudgement(counts=False)


def judge(policy: FailurePolicy | None, pod: Pod) -> FailureJudgement:
    """By the first rule that speaks of this failure."""
    for number, rule in enumerate(policy.rules if policy is not None else ()):
        cause = cause_in(rule, pod)
        if cause:
            return judged(rule.action, f"{cause} matching {rule.action} rule at index {number}")
    return COUNTED


def judged(action: str, words: str) -> FailureJudgement:
    match action:
        case "Ignore":
            return IGNORED
        case "FailIndex":
            return FailureJudgement(fails_index=True)
        case "FailJob":
            return FailureJudgement(fails_job=words)
        case _:
            return COUNTED


def cause_in(rule: FailureRule, pod: Pod) -> str:
    """What of the pod the rule means, in words; nothing if it does not."""
    where = f"{pod.metadata.namespace}/{pod.metadata.name}"
    if rule.on_exit_codes is not None:
        container, code = exited(rule.on_exit_codes, pod)
        return f"Container {container} for pod {where} failed with exit code {code}" if code else ""
    for condition in pod.status.conditions:
        if any((p.type, p.status) == (condition.type, condition.status) for p in rule.on_pod_conditions):
            return f"Pod {where} has condition {condition.type}"
    return ""


def exited(wanted: ExitCodes, pod: Pod) -> tuple[str, int]:
    """The container that is meant and its exit code, which is 0 where there is none."""
    for container in (*pod.status.container_statuses, *pod.status.init_container_statuses):
        ended = container.state.terminated
        if ended is None or not ended.exit_code or wanted.container_name not in (None, container.name):
            continue
        if (ended.exit_code in wanted.values) == (wanted.operator == "In"):
            return container.name, ended.exit_code
    return "", 0


# -- failures of one index ---------------------------------------------------------------------------------


def fails_its_index(job: Job, pod: Pod) -> bool:
    if not is_failed(pod, job):
        return False
    judgement = judge(job.spec.pod_failure_policy, pod)
    past = (count_of(pod, INDEX_FAILURES) or 0) >= (job.spec.backoff_limit_per_index or 0)
    return judgement.fails_index or (judgement.counts and past)


def failures_before(pod: Pod) -> int:
    """How many pods of the same index had failed when this one was made."""
    return (count_of(pod, INDEX_FAILURES) or 0) + (count_of(pod, INDEX_IGNORED_FAILURES) or 0)


def index_annotations(job: Job, replaced: Pod | None) -> dict[str, str]:
    """For a new pod of an index, in place of one that failed: the account of the index goes with it."""
    failures = ignored = 0
    if replaced is not None:
        failures = count_of(replaced, INDEX_FAILURES) or 0
        ignored = count_of(replaced, INDEX_IGNORED_FAILURES) or 0
        if judge(job.spec.pod_failure_policy, replaced).counts:
            failures += 1
        else:
            ignored += 1
    return {INDEX_FAILURES: str(failures)} | ({INDEX_IGNORED_FAILURES: str(ignored)} if ignored else {})


# -- waiting after failures --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """How a Job has fared lately. It is not written anywhere: after a crash the next try comes sooner."""

    failures: int = 0
    """Since the last success."""
    last: datetime | None = None

    def after(self, succeeded: Sequence[Pod], failed: Sequence[Pod]) -> "FailureRecord":
        if not (succeeded or failed):
            return self
        ends = sorted(ended_at(pod) for pod in failed)
        if not succeeded:
            return FailureRecord(self.failures + len(ends), ends[-1])
        success = max(ended_at(pod) for pod in succeeded)
        since = [end for end in ends if end > success]
        return FailureRecord(len(since), since[-1] if since else None)

    def wait(self, now: datetime) -> float:
        return wait_after(self.failures, self.last, now)


def wait_after(failures: int, last: datetime | None, now: datetime) -> float:
    """Twice as long after each failure."""
    if not failures or last is None:
        return 0.0
    due = min(FIRST_WAIT * 2.0 ** min(failures - 1, 16), LONGEST_WAIT)
    return max(0.0, due - (now - last).total_seconds())


def index_wait(replaced: Pod | None, now: datetime) -> float:
    return 0.0 if replaced is None else wait_after(failures_before(replaced) + 1, ended_at(replaced), now)


def ended_at(pod: Pod) -> datetime:
    """By the best witness: the containers, the kubelet, whoever deleted it, or its own age."""
    if (ended := containers_ended_at(pod.status.container_statuses)) is not None:
        return ended
    ready = pod.condition("Ready")
    if ready is not None and ready.status == "False" and ready.last_transition_time is not None:
        return ready.last_transition_time
    if pod.metadata.deletion_timestamp is not None:
        return pod.metadata.deletion_timestamp - timedelta(seconds=pod.metadata.deletion_grace_period_seconds)
    return pod.metadata.creation_timestamp or datetime.fromtimestamp(0, UTC)


def containers_ended_at(containers: Iterable[ContainerStatus]) -> datetime | None:
    """When the last has ended; None while one has not, or where there is none."""
    latest: datetime | None = None
    for container in containers:
        ended = container.state.terminated
        if ended is None or ended.finished_at is None:
            return None
        latest = ended.finished_at if latest is None else max(latest, ended.finished_at)
    return latest
