"""What the `status` of a Job may say, and how it may change, whoever manages the Job."""

from collections.abc import Iterator
from datetime import datetime

from maitred.sandbox.apiserver.kinds.conditions import has_condition, is_true
from maitred.sandbox.apiserver.kinds.fielderrors import (
    NOT_NEGATIVE,
    OMITTED,
    FieldError,
    duplicate,
    invalid,
    required,
)
from maitred.sandbox.apiserver.kinds.indexes import BadIndexes, count_indexes, overlap
from maitred.sandbox.apiserver.kinds.inner import inner
from maitred.sandbox.apiserver.kinds.jobspecs import is_indexed
from maitred.sandbox.apiserver.kinds.metadata import IMMUTABLE
from maitred.sandbox.apiserver.schema.types import Body

COUNTS = ("active", "succeeded", "failed", "ready", "terminating")
FINAL = ("Failed", "Complete", "FailureTarget")
UNCOUNTED = {"succeeded": None, "failed": None}


class Change:
    """From one status to another. Most rules hold only where what they speak of has changed."""

    def __init__(self, new: Body, old: Body) -> None:
        self.new, self.old = new, old
        self.spec: Body = new["spec"]
        self.status: Body = new.get("status", {})
        self.before: Body = old.get("status", {})

    def has(self, condition: str) -> bool:
        return is_true(self.new, condition)

    def had(self, condition: str) -> bool:
        return is_true(self.old, condition)

    def of(self, *names: str) -> bool:
        """Fields of the status, or conditions that become or cease to be true."""
        return any(
            self.has(name) != self.had(name)
            if name[0].isupper()
            else self.status.get(name) != self.before.get(name)
            for name in names
        )

    @property
    def is_finished(self) -> bool:
        return is_finished(self.new)

    @property
    def finishes(self) -> bool:
        return is_finished(self.new) != is_finished(self.old)


def is_finished(job: Body) -> bool:
    return is_true(job, "Complete") or is_true(job, "Failed")


def check_status(new: Body, old: Body) -> list[FieldError]:
    change = Change(new, old)
    return [
        *check_counts(change.status),
        *check_uncounted(change.status),
        *check_complete(change),
        *check_ends(change),
        *check_finished(change),
        *check_indexes(change),
        *check_pods(change),
        *check_success(change),
        *check_steps_back(change),
        *check_times(change),
        *check_success_steps(change),
    ]


def conditions(why: str) -> FieldError:
    return invalid("status.conditions", OMITTED, why)


def check_counts(status: Body) -> Iterator[FieldError]:
    for name in COUNTS:
        if status.get(name, 0) < 0:
            yield invalid(f"status.{name}", status[name], NOT_NEGATIVE)


def check_uncounted(status: Body) -> Iterator[FieldError]:
    seen = set[str]()
    for name in UNCOUNTED:
        for index, uid in enumerate(status.get("uncountedTerminatedPods", {}).get(name, [])):
            path = f"status.uncountedTerminatedPods.{name}[{index}]"
            if not uid:
                yield invalid(path, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(path, uid)
            seen.add(uid)


def check_complete(change: Change) -> Iterator[FieldError]:
    complete = change.has("Complete")
    if change.of("Complete", "Failed") and complete and change.has("Failed"):
        yield conditions("cannot set Complete=True and Failed=true conditions")
    if change.of("Complete", "FailureTarget") and complete and change.has("FailureTarget"):
        yield conditions("cannot set Complete=True and FailureTarget=true conditions")
    completed = change.status.get("completionTime")
    if change.of("Complete", "completionTime"):
        if completed is not None and not complete:
            why = "cannot set completionTime when there is no Complete=True condition"
            yield invalid("status.completionTime", completed, why)
        if completed is None and complete:
            yield required("status.completionTime", "completionTime is required for Complete jobs")


def check_ends(change: Change) -> Iterator[FieldError]:
    started, completed = change.status.get("startTime"), change.status.get("completionTime")
    ends = change.of("startTime", "completionTime")
    if ends and started and completed and moment(completed) < moment(started):
        yield invalid("status.completionTime", completed, "must be equal to or after `startTime`")
    fails = change.of("Failed", "failedIndexes") and change.has("Failed")
    if fails and not change.has("FailureTarget"):
        yield conditions("cannot set Failed=True condition without the FailureTarget=true condition")
    completes = change.of("Complete", "SuccessCriteriaMet") and change.has("Complete")
    if completes and not change.has("SuccessCriteriaMet"):
        why = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
        yield conditions(why)


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def check_finished(change: Change) -> Iterator[FieldError]:
    if not change.is_finished:
        return
    status = change.status
    if status.get("active", 0) > 0 and (change.finishes or change.of("active")):
        yield invalid("status.active", status["active"], "active>0 is invalid for finished job")
    never_runs = change.spec.get("suspend") and change.spec.get("completions") == 0
    if "startTime" not in status and (change.finishes or change.of("startTime")) and not never_runs:
        yield required("status.startTime", "startTime is required for finished job")
    uncounted = status.get("uncountedTerminatedPods", {})
    has_uncounted = any(uncounted.get(name) for name in UNCOUNTED)
    if has_uncounted and (change.finishes or change.of("uncountedTerminatedPods")):
        path = "status.uncountedTerminatedPods"
        yield invalid(path, inner(uncounted, UNCOUNTED), "must be empty for finished job")


def check_indexes(change: Change) -> Iterator[FieldError]:
    completed, failed = change.status.get("completedIndexes", ""), change.status.get("failedIndexes")
    limited = "backoffLimitPerIndex" in change.spec
    if change.of("completedIndexes"):
        yield from check_list(change, "completedIndexes", completed)
    if change.of("failedIndexes") and limited and failed is not None:
        yield from check_list(change, "failedIndexes", failed)
    if change.of("completedIndexes") and completed and not is_indexed(change.spec):
        why = "cannot set non-empty completedIndexes when non-indexed completion mode"
        yield invalid("status.completedIndexes", completed, why)
    if change.of("failedIndexes") and not limited and failed is not None:
        why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        yield invalid("status.failedIndexes", failed, why)
    if (
        change.of("failedIndexes", "completedIndexes")
        and "completions" in change.spec
        and failed
        and completed
    ):
        common = overlap(completed, failed, change.spec["completions"])
        if common is not None:
            why = f"failedIndexes and completedIndexes overlap at index: {common}"
            yield invalid("status.failedIndexes", failed, why)


def check_list(change: Change, name: str, indexes: str) -> Iterator[FieldError]:
    if "completions" not in change.spec:
        return
    try:
        count_indexes(indexes, change.spec["completions"])
    except BadIndexes as problem:
        yield invalid(f"status.{name}", indexes, f"error parsing {name}: {problem}")


def check_pods(change: Change) -> Iterator[FieldError]:
    status = change.status
    terminating, ready = status.get("terminating", 0), status.get("ready", 0)
    if terminating > 0 and change.is_finished and (change.finishes or change.of("terminating")):
        yield invalid("status.terminating", terminating, "terminating>0 is invalid for finished job")
    if "ready" in status and ready > status.get("active", 0) and change.of("ready", "active"):
        yield invalid("status.ready", ready, "cannot set more ready pods than active")


def check_success(change: Change) -> Iterator[FieldError]:
    met = change.has("SuccessCriteriaMet")
    if met and change.has("Failed"):
        yield conditions("cannot set SuccessCriteriaMet=True and Failed=true conditions")
    if met and change.has("FailureTarget"):
        yield conditions("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
    if "successPolicy" in change.spec and not met and change.has("Complete"):
        yield conditions("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True")


def check_steps_back(change: Change) -> Iterator[FieldError]:
    for kind in FINAL:
        if change.had(kind) and not change.has(kind):
            yield conditions(f"cannot disable the terminal {kind}=True condition")
    # A Job that is scaled down forgets what succeeded beyond its end.
    elastic = is_indexed(change.spec) and change.spec.get("completions") == change.spec.get("parallelism")
    for name in ("failed",) if elastic else ("failed", "succeeded"):
        count = change.status.get(name, 0)
        if count < change.before.get(name, 0):
            yield invalid(f"status.{name}", count, f"cannot decrease the {name} counter")


def check_times(change: Change) -> Iterator[FieldError]:
    completed, started = change.status.get("completionTime"), change.status.get("startTime")
    if completed and change.before.get("completionTime") and change.of("completionTime"):
        yield invalid("status.completionTime", completed, IMMUTABLE)
    resumes = change.had("Suspended") and has_condition(change.new, "Suspended", "False")
    restarts = change.before.get("startTime") and change.of("startTime") and not resumes
    if restarts and not change.spec.get("suspend"):
        yield invalid("status.startTime", started, "field is immutable for unsuspended job once set")


def check_success_steps(change: Change) -> Iterator[FieldError]:
    met, was_met = change.has("SuccessCriteriaMet"), change.had("SuccessCriteriaMet")
    if was_met and not met:
        yield conditions("cannot disable the SuccessCriteriaMet=True condition")
    if change.had("Complete") and met and not was_met:
        why = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
        yield conditions(why)
