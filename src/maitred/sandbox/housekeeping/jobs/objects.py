"""Jobs, as their controller reads and writes them."""

from datetime import datetime
from typing import Any

import msgspec

from maitred.model.meta import Lean, Timestamp
from maitred.model.selector import LabelSelector
from maitred.sandbox.housekeeping.objects import Json, Meta, Pod

TRACKING = "batch.kubernetes.io/job-tracking"
"""The finalizer of pods that are not yet in the account of their Job."""
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
INDEX_FAILURES = "batch.kubernetes.io/job-index-failure-count"
INDEX_IGNORED_FAILURES = "batch.kubernetes.io/job-index-ignored-failure-count"
CONTROLLER_NAME = "kubernetes.io/job-controller"

COMPLETE = "Complete"
FAILED = "Failed"
SUSPENDED = "Suspended"
FAILURE_TARGET = "FailureTarget"
SUCCESS_CRITERIA_MET = "SuccessCriteriaMet"


class ExitCodes(Lean, frozen=True):
    operator: str = "In"
    values: tuple[int, ...] = ()
    container_name: str | None = None


class ConditionPattern(Lean, frozen=True):
    type: str
    status: str = "True"


class FailureRule(Lean, frozen=True):
    action: str
    on_exit_codes: ExitCodes | None = None
    on_pod_conditions: tuple[ConditionPattern, ...] = ()


class FailurePolicy(Lean, frozen=True):
    rules: tuple[FailureRule, ...] = ()


class SuccessRule(Lean, frozen=True):
    succeeded_indexes: str | None = None
    succeeded_count: int | None = None


class SuccessPolicy(Lean, frozen=True):
    rules: tuple[SuccessRule, ...] = ()


class Template(Lean, frozen=True):
    metadata: Json = {}
    spec: Json = {}


class JobSpec(Lean, frozen=True):
    parallelism: int = 1
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    suspend: bool = False
    backoff_limit: int = 6
    backoff_limit_per_index: int | None = None
    max_failed_indexes: int | None = None
    active_deadline_seconds: int | None = None
    ttl_seconds_after_finished: int | None = None
    pod_failure_policy: FailurePolicy | None = None
    success_policy: SuccessPolicy | None = None
    pod_replacement_policy: str = "TerminatingOrFailed"
    managed_by: str = CONTROLLER_NAME
    selector: LabelSelector | None = None
    scheduling: Json | None = None
    template: Template = Template()


class Uncounted(Lean, frozen=True):
    """UIDs of pods that are about to lose their finalizer, and are in no counter before they have."""

    succeeded: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()


class JobCondition(Lean, frozen=True):
    type: str
    status: str
    last_probe_time: Timestamp | None = None
    last_transition_time: Timestamp | None = None
    reason: str = ""
    message: str = ""


class JobStatus(Lean, frozen=True):
    conditions: tuple[JobCondition, ...] = ()
    start_time: Timestamp | None = None
    completion_time: Timestamp | None = None
    active: int = 0
    ready: int | None = None
    succeeded: int = 0
    failed: int = 0
    terminating: int | None = None
    completed_indexes: str = ""
    failed_indexes: str | None = None
    uncounted_terminated_pods: Uncounted | None = None


class Job(Lean, frozen=True):
    metadata: Meta
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def is_indexed(self) -> bool:
        return self.spec.completion_mode == "Indexed"

    @property
    def is_ours(self) -> bool:
        return self.spec.managed_by == CONTROLLER_NAME

    @property
    def replaces_only_failed(self) -> bool:
        """Pods are replaced when they have ended, not already when they begin to."""
        return self.spec.pod_replacement_policy == "Failed"

    @property
    def finished(self) -> JobCondition | None:
        return self.true_condition(COMPLETE) or self.true_condition(FAILED)

    def true_condition(self, type: str) -> JobCondition | None:
        found = condition_of(self.status, type)
        return found if found is not None and found.status == "True" else None


def condition_of(status: JobStatus, type: str) -> JobCondition | None:
    return next((condition for condition in status.conditions if condition.type == type), None)


def true(type: str, reason: str, message: str, now: datetime) -> JobCondition:
    return JobCondition(type, "True", now, now, reason, message)


def with_condition(
    status: JobStatus, type: str, value: str, reason: str, message: str, now: datetime
) -> JobStatus:
    """From nothing to False is no news; anything else that differs is."""
    told = (value, reason, message)
    known = condition_of(status, type)
    if known is None and value == "False":
        return status
    if known is not None and (known.status, known.reason, known.message) == told:
        return status
    new = JobCondition(type, value, now, now, reason, message)
    if known is None:
        return msgspec.structs.replace(status, conditions=(*status.conditions, new))
    conditions = tuple(new if condition is known else condition for condition in status.conditions)
    return msgspec.structs.replace(status, conditions=conditions)


def merge_patch(old: Any, new: Any) -> Any:
    """What turns one into the other by a JSON merge patch."""
    if not (isinstance(old, dict) and isinstance(new, dict)):
        return new
    removed = {key: None for key in old if key not in new}
    changed = {key: merge_patch(old.get(key), value) for key, value in new.items() if old.get(key) != value}
    return removed | changed


# -- pods of Jobs ------------------------------------------------------------------------------------------


def completion_index(pod: Pod) -> int | None:
    return count_of(pod, COMPLETION_INDEX)


def count_of(pod: Pod, annotation: str) -> int | None:
    """A number of ours in an annotation, which anyone may have overwritten."""
    text = pod.metadata.annotations.get(annotation, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def is_tracked(pod: Pod) -> bool:
    return TRACKING in pod.metadata.finalizers


def is_failed(pod: Pod, job: Job) -> bool:
    """A pod that is being deleted may never come to say how it ended, so it counts as failed at once,
    unless the Job waits for pods to end."""
    if pod.status.phase == "Failed":
        return True
    return pod.is_terminating and not job.replaces_only_failed
