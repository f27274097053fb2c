"""What has become of the Jobs below an owner, as far as it matters to the gang of the owner.

The status of an owner speaks of whole Jobs. Which indexes of a Job have succeeded, so that their pods may be
gone, and which will never run again, only the Job knows.
"""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from maitred.model.group import Group
from maitred.model.job import Job, Ranges, failed_indexes, succeeded_indexes
from maitred.model.membership.jobs import size
from maitred.model.membership.source import Indexes
from maitred.model.meta import key_of


class JobProgress(NamedTuple):
    """Of a Job in the gang of an owner."""

    job: str
    """Its UID, else its name."""
    complete: bool
    """The owner counts its pods as done, whether they are there or not."""
    completed: Ranges = ()
    """Indexes in this gang that have succeeded, if it is not complete."""
    failed: int = 0
    """Indexes in this gang that have failed for good."""


def progress_of(job: Job, indexes: Indexes, waits_for_all: bool) -> JobProgress | None:
    """Of the indexes that are in a gang, and whether its quorum is all of them; None if nothing has happened
    yet. A Job that has more indexes than pods makes one for the next index, so nobody is missing."""
    name, completions = job.metadata.uid or key_of(job.metadata), job.spec.completions
    if completions is not None and job.status.succeeded >= completions:
        return JobProgress(name, complete=True)
    if completions is None or job.spec.pods < completions:
        return None
    completed = _within(succeeded_indexes(job), *indexes)
    failed = size(_within(failed_indexes(job), *indexes)) if waits_for_all else 0
    return JobProgress(name, False, completed, failed) if completed or failed else None


def _within(ranges: Ranges, first: int, last: int | None) -> Ranges:
    cut = ((max(low, first), high if last is None else min(high, last)) for low, high in ranges)
    return tuple((low, high) for low, high in cut if low <= high)


def without_failed(group: Group, jobs: Iterable[JobProgress]) -> Group:
    """Indexes that failed for good are not waited for."""
    failed = sum(one.failed for one in jobs)
    if not failed:
        return group
    what = "1 index of its Jobs" if failed == 1 else f"{failed} indexes of its Jobs"
    origin = f"{group.origin}; {what} failed for good"
    return msgspec.structs.replace(group, quorum=max(1, group.quorum - failed), origin=origin)
