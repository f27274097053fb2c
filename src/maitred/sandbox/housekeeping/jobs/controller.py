"""The Job controller: looks at a Job whenever it or one of its pods has changed, and does what is due."""

import asyncio
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

import msgspec

from maitred.kube.errors import ApiError, KubeError
from maitred.kube.resources import PODS
from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.cache import Index, ObjectCache, key_of
from maitred.sandbox.housekeeping.jobs.account import Closing, JobAccount, PodSteps, concluded, counted
from maitred.sandbox.housekeeping.jobs.failures import FailureRecord
from maitred.sandbox.housekeeping.jobs.groups import JOB_CONTROLLER, Groups
from maitred.sandbox.housekeeping.jobs.objects import (
    COMPLETE,
    SUSPENDED,
    TRACKING,
    Job,
    JobStatus,
    condition_of,
    is_tracked,
    merge_patch,
)
from maitred.sandbox.housekeeping.jobs.pods import pod_body
from maitred.sandbox.housekeeping.objects import JOBS, WORKLOADS, Owner, Pod, PodGroup
from maitred.sandbox.housekeeping.recorder import EventRecorder
from maitred.sandbox.housekeeping.work import WorkQueue, all_of

BATCH_SECONDS = 0.05
"""Changes of pods come in numbers, and one look serves them all."""
PATIENCE_SECONDS = 300.0
"""For pods that we have created or deleted to be seen so."""


@dataclass(slots=True)
class Sent:
    """What we have asked of the server and not yet seen done, so that it is not asked for twice."""

    created: int = 0
    deleted: set[str] = field(default_factory=set)
    released: set[str] = field(default_factory=set)
    at: float = 0.0

    def forget_all_but(self, uids: set[str]) -> None:
        """Pods that are gone were seen to go, perhaps before the answer came."""
        self.deleted &= uids
        self.released &= uids

    @property
    def is_seen(self) -> bool:
        return not (self.created or self.deleted) or time.monotonic() - self.at > PATIENCE_SECONDS


class JobController:
    def __init__(self, stock: ObjectCache, api: ControllerApi, recorder: EventRecorder) -> None:
        self._api = api
        self._recorder = recorder
        self._jobs = stock.shelf(JOBS, Job)
        self._pods = stock.shelf(PODS, Pod)
        self._pods_of = Index(self._pods, controlling_job)
        self._groups = Groups(stock, api, recorder) if stock.has(WORKLOADS) else None
        self._records: dict[str, FailureRecord] = {}
        self._sent: dict[str, Sent] = {}
        self._queue = WorkQueue("job", self.sync)
        self._left = WorkQueue("pod of a job", self.let_go)
        self._jobs.listen(self._job_told)
        self._pods.listen(self._pod_told)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._queue.run())
            tasks.create_task(self._left.run())

    # -- what happened ---------------------------------------------------------------------------------

    def _job_told(self, old: Job | None, new: Job | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            key = key_of(old.metadata)
            for notes in (self._sent, self._records):
                notes.pop(key, None)
            for pod in self._pods_of[old.metadata.uid]:
                self._left.add(key_of(pod.metadata))
        if new is not None:
            self._queue.add(key_of(new.metadata))

    def _pod_told(self, old: Pod | None, new: Pod | None) -> None:
        for job in {job_name(pod) for pod in (old, new)}:
            if job is not None:
                self._seen(job, old, new)
        if new is not None and is_tracked(new) and self._job_of(new) is None:
            self._left.add(key_of(new.metadata))

    def _seen(self, job: str, old: Pod | None, new: Pod | None) -> None:
        sent = self._sent.get(job)
        same = old is not None and new is not None and old.metadata.uid == new.metadata.uid
        if sent is not None:
            if new is not None and not same and sent.created:
                sent.created -= 1
            if old is not None:
                after = new if same else None
                if after is None or after.metadata.deletion_timestamp is not None:
                    sent.deleted.discard(old.metadata.uid)
                if after is None or not is_tracked(after):
                    sent.released.discard(old.metadata.uid)
        self._queue.add_after(job, BATCH_SECONDS)

    def _job_of(self, pod: Pod) -> Job | None:
        """The Job that keeps account of this pod, if it still does."""
        owner, job = controller_of(pod), self._jobs.items.get(job_name(pod) or "")
        if owner is None or job is None or job.metadata.uid != owner.uid:
            return None
        return None if job.is_ours and job.finished else job

    # -- one Job ---------------------------------------------------------------------------------------

    async def sync(self, key: str) -> None:
        job = self._jobs.items.get(key)
        if job is None or not job.is_ours:
            return
        if job.finished is not None:
            self._records.pop(key, None)
            for pod in self._pods_of[job.metadata.uid]:
                if is_tracked(pod):
                    self._left.add(key_of(pod.metadata))
            return
        sent = self._sent.setdefault(key, Sent())
        pods = list(self._pods_of[job.metadata.uid])
        sent.forget_all_but({pod.metadata.uid for pod in pods})
        group = await self._groups.ensure(job, pods) if self._groups is not None else None
        record = self._records.get(key, FailureRecord())
        account = JobAccount(job, pods, sent.released, record, datetime.now(UTC))
        settled = sent.is_seen
        steps = account.steps(settled)
        if steps.wake_after is not None:
            self._queue.add_after(key, steps.wake_after)
        deed = await self._carry_out(job, account, steps, group, sent)
        closing = account.close(steps, settled, deed.created, deed.deleted)
        await self._write_down(key, job, account, closing, sent)
        if deed.trouble is not None:
            raise deed.trouble

    async def _write_down(
        self, key: str, job: Job, account: JobAccount, closing: Closing, sent: Sent
    ) -> None:
        """Each step only after the one before is safe with the server."""
        if closing.status != job.status:
            before, job = job, await self._update(job, closing.status)
            self._records[key] = account.record
            self._tell_suspension(before, job)
        gone, trouble = await self._release(closing.release, sent)
        status = counted(job.status, closing.tracked - gone)
        if trouble is None:
            status = concluded(status, closing.final)
        if status != job.status:
            job = await self._update(job, status)
            self._tell_end(job)
        if trouble is not None:
            raise trouble

    async def _update(self, job: Job, status: JobStatus) -> Job:
        patch = merge_patch(msgspec.to_builtins(job.status), msgspec.to_builtins(status))
        written = await self._api.merge(JOBS, job.metadata, {"status": patch}, Job, "status")
        self._jobs.learn(written)
        return written

    # -- pods ------------------------------------------------------------------------------------------

    async def _carry_out(
        self, job: Job, account: JobAccount, steps: PodSteps, group: PodGroup | None, sent: Sent
    ) -> "Deed":
        if steps.create:
            return await self._create(job, account, steps.create, group, sent)
        if steps.delete:
            return await self._delete(job, steps.delete, steps.uncounted, sent)
        return Deed()

    async def _create(
        self, job: Job, account: JobAccount, wanted: Sequence[int | None], group: PodGroup | None, sent: Sent
    ) -> "Deed":
        """One, then two, then four: where a pod is refused, the others would be too."""
        deed, size, done = Deed(), 1, 0

        async def create(index: int | None) -> None:
            sent.created += 1
            sent.at = time.monotonic()
            replaced = None if index is None else account.held.get(index)
            try:
                pod = await self._api.create(
                    PODS, job.metadata.namespace, pod_body(job, index, group, replaced), Pod
                )
            except KubeError:
                sent.created = max(0, sent.created - 1)
                raise
            deed.created += 1
            self._tell(job, "SuccessfulCreate", f"Created pod: {pod.metadata.name}")

        while done < len(wanted) and deed.trouble is None:
            batch = wanted[done : done + size]
            deed.trouble = await all_of(create, batch)
            done, size = done + len(batch), size * 2
        if isinstance(deed.trouble, ApiError) and not is_ending(deed.trouble):
            self._tell(job, "FailedCreate", f"Error creating: {deed.trouble.message}", "Warning")
        return deed

    async def _delete(self, job: Job, pods: Sequence[Pod], uncounted: bool, sent: Sent) -> "Deed":
        deed = Deed()

        async def delete(pod: Pod) -> None:
            uid = pod.metadata.uid
            if uncounted and is_tracked(pod):
                await self._untrack(pod, sent)
            sent.deleted.add(uid)
            sent.at = time.monotonic()
            try:
                await self._api.delete(PODS, pod.metadata)
            except KubeError:
                sent.deleted.discard(uid)
                raise
            deed.deleted.add(uid)
            self._tell(job, "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")

        deed.trouble = await all_of(delete, pods)
        return deed

    async def _release(self, pods: Iterable[Pod], sent: Sent) -> tuple[set[str], KubeError | None]:
        """UIDs of the pods that have lost their finalizer, and what kept others from it."""
        gone = set[str]()

        async def release(pod: Pod) -> None:
            await self._untrack(pod, sent)
            gone.add(pod.metadata.uid)

        return gone, await all_of(release, pods)

    async def _untrack(self, pod: Pod, sent: Sent) -> None:
        sent.released.add(pod.metadata.uid)
        try:
            await self._api.patch(PODS, pod.metadata, WITHOUT_TRACKING)
        except KubeError:
            sent.released.discard(pod.metadata.uid)
            raise

    async def let_go(self, key: str) -> None:
        """A pod that no Job keeps account of any more."""
        pod = self._pods.items.get(key)
        if pod is None or not is_tracked(pod) or self._job_of(pod) is not None:
            return
        owner = pod.metadata.controller
        if owner is None or (owner.kind, owner.api_version) == (JOBS.kind, JOBS.api_version):
            await self._api.patch(PODS, pod.metadata, WITHOUT_TRACKING)

    # -- words -----------------------------------------------------------------------------------------

    def _tell_suspension(self, before: Job, after: Job) -> None:
        then, now = condition_of(before.status, SUSPENDED), condition_of(after.status, SUSPENDED)
        if now is not None and (then is None or then.status != now.status):
            self._tell(after, "Suspended" if now.status == "True" else "Resumed", now.message)

    def _tell_end(self, job: Job) -> None:
        end = job.finished
        if end is None:
            return
        if end.type == COMPLETE:
            self._tell(job, "Completed", "Job completed")
        else:
            self._tell(job, end.reason, end.message, "Warning")

    def _tell(self, job: Job, reason: str, words: str, type: str = "Normal") -> None:
        self._recorder.record(JOB_CONTROLLER, JOBS, job.metadata, reason, words, type)


WITHOUT_TRACKING = {"metadata": {"$deleteFromPrimitiveList/finalizers": [TRACKING]}}


@dataclass(slots=True)
class Deed:
    """What was done to pods, and what kept the rest from being done."""

    created: int = 0
    deleted: set[str] = field(default_factory=set)
    trouble: KubeError | None = None


def controller_of(pod: Pod | None) -> Owner | None:
    """The Job that controls the pod."""
    owner = None if pod is None else pod.metadata.controller
    if owner is None or (owner.kind, owner.api_version) != (JOBS.kind, JOBS.api_version):
        return None
    return owner


def job_name(pod: Pod | None) -> str | None:
    owner = controller_of(pod)
    return None if pod is None or owner is None else f"{pod.metadata.namespace}/{owner.name}"


def controlling_job(pod: Pod) -> str | None:
    owner = controller_of(pod)
    return None if owner is None else owner.uid


def is_ending(error: ApiError) -> bool:
    """Nothing can be created in a namespace that is being deleted."""
    return error.status == 403 and "being terminated" in error.message
