"""Jobs: the owners of most pods that are evicted, and what an eviction means to them."""

from itertools import pairwise
from typing import Any

from maitred.model.meta import Lean, Timestamp
from maitred.model.objects import Object
from maitred.model.operators.parts import OperatorCondition
from maitred.model.pod import PodSpec

DEFAULT_BACKOFF_LIMIT = 6
MOST_INDEX_DIGITS = 10
MOST_INDEXES = 1_000_000
"""More than any Job has; a manifest may say two billion."""
LONGEST_RANGE = 2 * MOST_INDEX_DIGITS + 2
LONGEST_REST = 4096
"""So much text may be about indexes that a Job does not have any more."""
JOB_CONTROLLER = "kubernetes.io/job-controller"
"""How Kubernetes' own controller is called in `spec.managedBy`."""

COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"
"""Label and annotation of the pods of an Indexed Job."""
JOB_NAMES = ("batch.kubernetes.io/job-name", "job-name")
"""Labels with which the Job controller writes the name of a Job on its pods; the second is that of old."""

SYSTEM_NAMESPACES = ("kube-system", "kube-public", "kube-node-lease")
"""Jobs of the cluster itself, which maitred never changes."""


class TemplateMeta(Lean, frozen=True):
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}


class PodTemplate(Lean, frozen=True):
    metadata: TemplateMeta = TemplateMeta()
    spec: PodSpec = PodSpec()


class JobSpec(Lean, frozen=True):
    template: PodTemplate = PodTemplate()
    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str = "NonIndexed"
    suspend: bool = False
    backoff_limit: int | None = None
    backoff_limit_per_index: int | None = None
    pod_failure_policy: Any = None
    active_deadline_seconds: int | None = None
    managed_by: str = ""
    scheduling: Any = None
    """Since 1.37 a Job may say itself what kind of group its pods are."""

    @property
    def pods(self) -> int:
        """How many it has at a time, before any have ended."""
        parallelism = 1 if self.parallelism is None else max(0, self.parallelism)
        return parallelism if self.completions is None else min(parallelism, max(0, self.completions))


class JobStatus(Lean, frozen=True):
    active: int = 0
    succeeded: int = 0
    failed: int = 0
    start_time: Timestamp | None = None
    completed_indexes: str = ""
    failed_indexes: str = ""
    """Of an Indexed Job, as in `1,3-5,7`; the second one only if each index may fail on its own."""
    conditions: tuple[OperatorCondition, ...] = ()


Ranges = tuple[tuple[int, int], ...]
"""Indexes, from the first to the last of each run of them."""


def index_ranges(text: str, end: int) -> Ranges:
    """Those below `end`: others are left over from a time when the Job had more. Empty for what the Job
    controller does not write. Whoever may write the status of a Job may write anything there, so a text that
    is too long for so many indexes is not read at all."""
    found = list[tuple[int, int]]()
    for part in text.split(",") if text and len(text) <= LONGEST_RANGE * end + LONGEST_REST else ():
        first, dash, last = part.partition("-")
        if not _is_index(first) or (dash and not _is_index(last)):
            return ()
        found.append((int(first), int(last if dash else first)))
    in_order = all(first <= last for first, last in found)
    apart = all(before[1] < after[0] for before, after in pairwise(found))
    if not in_order or not apart:
        return ()
    return tuple((first, min(last, end - 1)) for first, last in found if first < end)


def succeeded_indexes(job: "Job") -> Ranges:
    return index_ranges(job.status.completed_indexes, min(job.spec.completions or 0, MOST_INDEXES))


def failed_indexes(job: "Job") -> Ranges:
    return index_ranges(job.status.failed_indexes, min(job.spec.completions or 0, MOST_INDEXES))


def _is_index(text: str) -> bool:
    return len(text) <= MOST_INDEX_DIGITS and text.isascii() and text.isdigit()


class CronJob(Object, frozen=True):
    """Only who made it is read: its Jobs are made by a controller."""


class Job(Object, frozen=True):
    spec: JobSpec = JobSpec()
    status: JobStatus = JobStatus()

    @property
    def members(self) -> int:
        """How many pods it has, or would have if it were not suspended."""
        if self.spec.completions is None:
            return self.spec.pods
        return max(0, min(self.spec.pods, self.spec.completions - self.status.succeeded))
