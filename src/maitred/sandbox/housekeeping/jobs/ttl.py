"""Finished Jobs that are to be cleared away after a time of their choice."""

from datetime import UTC, datetime

from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.cache import ObjectCache, key_of
from maitred.sandbox.housekeeping.jobs.objects import Job
from maitred.sandbox.housekeeping.objects import JOBS
from maitred.sandbox.housekeeping.work import WorkQueue


class FinishedJobs:
    def __init__(self, stock: ObjectCache, api: ControllerApi) -> None:
        self._api = api
        self._jobs = stock.shelf(JOBS, Job)
        self._queue = WorkQueue("finished job", self._clear)
        self._jobs.listen(self._told)

    async def run(self) -> None:
        await self._queue.run()

    def _told(self, old: Job | None, new: Job | None) -> None:
        if new is not None and seconds_left(new, datetime.now(UTC)) is not None:
            self._queue.add(key_of(new.metadata))

    async def _clear(self, key: str) -> None:
        job = self._jobs.items.get(key)
        left = None if job is None else seconds_left(job, datetime.now(UTC))
        if job is None or left is None:
            return
        if left > 0:
            self._queue.add_after(key, left)
            return
        # Its pods go first. If anyone has just given the Job more time, the server has a newer version.
        await self._api.delete(JOBS, job.metadata, policy="Foreground", unchanged=True)


def seconds_left(job: Job, now: datetime) -> float | None:
    end, seconds = job.finished, job.spec.ttl_seconds_after_finished
    if end is None or seconds is None or job.metadata.deletion_timestamp is not None:
        return None
    ended = end.last_transition_time
    return None if ended is None else seconds - (now - ended).total_seconds()
