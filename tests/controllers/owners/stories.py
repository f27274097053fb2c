"""Jobs that are suspended by us, by their users or by nobody we know, told on any server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

from maitred.controllers.owners.suspensions import KIND
from maitred.controllers.policy import Defaults, PolicySource
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.term import SchedulerSettings
from maitred.kube.client import MERGE_PATCH, encode
from maitred.kube.discovery import Served, discover
from maitred.kube.outcomes import Done
from maitred.kube.permit import Always
from maitred.kube.records import Records
from maitred.kube.resources import EVENTS, JOBS, PODS, PRIORITY_CLASSES
from maitred.kube.writes import Writer
from maitred.model.suspension import SUSPENDED, Suspension
from maitred.sandbox.kubelets.bodies import Machine
from tests.control_plane.cluster import Cluster, Plane, cluster
from tests.control_plane.seating import scheduler
from tests.controllers.owners.made import record
from tests.scenarios.api import eventually
from tests.scenarios.dialect import Dialect, Objects, dialect_of, job_body, pod_bodies
from tests.scenarios.objects import Group, Job, Pods, nodes, taken

Json = dict[str, Any]

SECONDS = 300.0
"""Long after any story has ended."""


@dataclass(frozen=True)
class Town:
    """A cluster with Jobs in it."""

    plane: Plane
    place: Cluster
    served: Served
    policy: PolicySource

    @property
    def dialect(self) -> Dialect:
        return dialect_of(self.served)

    def scheduler(self) -> AbstractAsyncContextManager[Metrics]:
        return scheduler(self.plane, source=self.policy)

    async def create(self, job: Job, **spec: Any) -> None:
        """`spec` is what else it says of itself. Its backoffLimit is the default."""
        body = job_body(job, self.dialect)
        del body["spec"]["backoffLimit"]
        body["spec"] |= spec
        await self.place.send("POST", JOBS.path(self.place.namespace), body)

    async def create_loose(self, job: Job, rank: str = "") -> None:
        """Pods that are no gang, and as far as that goes no group either."""
        body = job_body(replace(job, spec={**job.spec, "priorityClassName": rank}), self.dialect)
        del body["spec"]["backoffLimit"]
        body["spec"] |= {"completionMode": "NonIndexed", "completions": None, "scheduling": None}
        body["spec"]["template"]["metadata"].pop("annotations", None)
        await self.place.send("POST", JOBS.path(self.place.namespace), body)

    async def create_ranked(self, job: Job, rank: str) -> None:
        """A gang of this priority class."""
        job = replace(job, spec={**job.spec, "priorityClassName": rank})
        groups, group = self.served.groups, Group(job.name, job.size)
        if groups is not None and groups.version == "v1alpha2":
            # There, the group that the Job controller makes has priority 0 whatever its pods have.
            declared = Objects(groups).declare(group)
            declared["spec"]["priorityClassName"] = rank
            await self.place.send("POST", groups.path(self.place.namespace), declared)
            job = replace(job, group=group)
        await self.create(job)

    async def invite(self, guest: Pods) -> None:
        (body,) = pod_bodies(guest, self.dialect)
        await self.place.create(body)
        await self.place.phase(body["metadata"]["name"], "Running")

    async def patch(self, job: str, body: Json) -> None:
        path = JOBS.path(self.place.namespace, job)
        await self.place.client.request("PATCH", path, body=encode(body), content_type=MERGE_PATCH)

    async def suspend(self, job: str, mark: str | None = None) -> None:
        """As we do it, or with a mark that is none of ours and no record."""
        if mark is None:
            about = await self._record(job)
            writer = Writer(self.place.client, Always())
            assert (
                await Records(writer, SchedulerSettings().namespace, KIND).keep(about.uid, str(about))
                == Done()
            )
            mark = about.line
        await self.patch(job, {"metadata": {"annotations": {SUSPENDED: mark}}, "spec": {"suspend": True}})
        await self.job(job, lambda found: not found["status"].get("active"))

    async def _record(self, job: str) -> Suspension:
        pods = list[Json]()
        while not pods:
            pods = await self.pods(job)
        group = pods[0]["spec"].get("schedulingGroup", {}).get("podGroupName", "")
        found = await self.job(job, lambda _: True)
        key, uid = f"{self.place.namespace}/{job}", found["metadata"]["uid"]
        return record(key=key, uid=uid, group=key, members=len(pods), pod_group=group)

    async def pods(self, job: str) -> list[Json]:
        found = await self.place.send("GET", PODS.path(self.place.namespace))
        return [pod for pod in found["items"] if pod["metadata"]["labels"].get("job-name") == job]

    async def job(self, name: str, until: Callable[[Json], bool]) -> Json:
        return await self.place.becomes(JOBS.path(self.place.namespace, name), until)

    async def runs(self, name: str) -> Json:
        """The Job, once all the pods that it needs are running."""

        def is_whole(job: Json) -> bool:
            wanted = job["spec"].get("completions", job["spec"]["parallelism"])
            done = job["status"].get("ready", 0) + job["status"].get("succeeded", 0)
            return bool(done == wanted and job["status"].get("ready"))

        return await self.job(name, is_whole)

    async def is_told(self, reason: str, words: str) -> None:
        """There is an Event of this reason with these words in it."""

        async def missing() -> str:
            notes = await self.notes(reason)
            return "" if any(words in note for note in notes) else f"{words!r} in {notes}"

        await eventually(missing)

    async def notes(self, reason: str) -> list[str]:
        found = await self.place.send("GET", EVENTS.path(self.place.namespace))
        return [event["note"] for event in found["items"] if event["reason"] == reason]

    @asynccontextmanager
    async def classes(self, **values: int) -> AsyncIterator[dict[str, str]]:
        """Priority classes by short names, whose own have that of the namespace in them."""
        names = {short: f"{self.place.namespace}-{short}" for short in values}
        for short, value in values.items():
            body = {"metadata": {"name": names[short]}, "value": value}
            await self.place.send("POST", PRIORITY_CLASSES.path(), body)
        try:
            yield names
        finally:
            for name in names.values():
                await self.place.send("DELETE", PRIORITY_CLASSES.path(name=name))


Story = Callable[[Town], Awaitable[None]]


def tell(
    plane: Plane, story: Story, machines: tuple[Machine, ...] = nodes(2), policy: PolicySource | None = None
) -> None:
    async def run() -> None:
        async with cluster(plane, machines) as place:
            town = Town(plane, place, await discover(place.client), policy or Defaults())
            try:
                async with asyncio.timeout(SECONDS):
                    await story(town)
            finally:
                await place.send("DELETE", f"{JOBS.path(place.namespace)}?propagationPolicy=Background")

    asyncio.run(run())


def is_ours(job: Json) -> bool:
    return SUSPENDED in job["metadata"].get("annotations", {})


def is_back(job: Json) -> bool:
    return not job["spec"].get("suspend") and not is_ours(job)


def is_idle(job: Json) -> bool:
    """Its controller has seen that the pods are gone, which may take it a while."""
    return not (job["status"].get("active") or job["status"].get("ready"))


def is_complete(job: Json) -> bool:
    return any(c["type"] == "Complete" and c["status"] == "True" for c in job["status"].get("conditions", ()))


async def suspended_and_replaced(town: Town) -> None:
    """A Job that has run, and a guest where it was. All of that was before the scheduler that is to come."""
    async with town.scheduler():
        await town.create(Job("train", 6))
        await town.runs("train")
    await town.suspend("train")
    await eventually(lambda: nobody_of(town, "train"))
    await town.job("train", is_idle)
    await town.invite(taken("n0", cpu=4))


async def nobody_of(town: Town, job: str) -> str:
    return ", ".join(pod["metadata"]["name"] for pod in await town.pods(job))


async def it_returns_when_there_is_room_and_not_before(town: Town) -> None:
    await suspended_and_replaced(town)
    async with town.scheduler():
        # What it waits for is told although it has no pods that could be told.
        await town.is_told("FailedScheduling", "Capacity")
        assert is_ours(await town.job("train", lambda job: job["spec"]["suspend"]))
        await town.place.delete("guest-0")
        await town.job("train", is_back)
        job = await town.runs("train")
        assert not job["status"].get("failed")


async def its_user_may_resume_it(town: Town) -> None:
    await suspended_and_replaced(town)
    async with town.scheduler():
        await town.is_told("FailedScheduling", "Capacity")
        await town.patch("train", {"spec": {"suspend": False}})
        await town.job("train", is_back)
        job = await town.job("train", lambda job: job["status"].get("active") == 6)
        assert not job["status"].get("ready"), "there is no room for it all the same"


async def its_user_may_delete_it(town: Town) -> None:
    await suspended_and_replaced(town)
    async with town.scheduler():
        await town.is_told("FailedScheduling", "Capacity")
        path = JOBS.path(town.place.namespace, "train")
        await town.place.send("DELETE", f"{path}?propagationPolicy=Background")
        await town.place.poll(path, lambda job: job is None)
        await town.create(Job("next", 4))
        await town.runs("next")


async def others_are_left_alone(town: Town) -> None:
    await town.create(Job("theirs", 2), suspend=True)
    await town.create(Job("strange", 2))
    await town.suspend("strange", str(record()))
    await town.create(Job("ours", 2))
    await town.suspend("ours")
    async with town.scheduler():
        await town.job("ours", is_back)
        await town.runs("ours")
    theirs = await town.job("theirs", lambda job: True)
    strange = await town.job("strange", lambda job: True)
    assert theirs["spec"]["suspend"]
    assert strange["spec"]["suspend"]
    assert is_ours(strange), "the annotation stays as it is"


async def pods_without_a_group_return_as_they_fit(town: Town) -> None:
    """Four fit, so there is no use in waiting for room for all six."""
    await town.invite(taken("n0", cpu=4))
    await town.create_loose(Job("loose", 6))
    await town.suspend("loose")
    async with town.scheduler():
        await town.job("loose", is_back)
        await town.job("loose", lambda job: job["status"].get("ready") == 4)


async def schedulers_come_and_go(town: Town) -> None:
    """One sees the Job suspended, one resumes it, one seats it; and each knows what the API tells it."""
    async with town.classes(low=1, high=10) as ranks:
        async with town.scheduler():
            await town.create_ranked(Job("train", 6, run_seconds=5), ranks["low"])
            await town.runs("train")
            await town.create_ranked(Job("urgent", 2, cpu=4, run_seconds=2), ranks["high"])
            await town.job("train", is_ours)
        async with town.scheduler():
            await town.job("train", is_back)
        async with town.scheduler():
            train = await town.job("train", is_complete)
            assert not train["status"].get("failed")
            assert is_complete(await town.job("urgent", lambda job: True))


async def pods_without_a_group_are_suspended_too(town: Town) -> None:
    await leaves_and_returns(town, Job("loose", 8))


async def leaves_and_returns(town: Town, loose: Job) -> None:
    async with town.classes(low=1, high=10) as ranks, town.scheduler():
        await town.create_loose(loose, ranks["low"])
        await town.runs(loose.name)
        await town.create_ranked(Job("urgent", 2, cpu=4, run_seconds=1), ranks["high"])
        await town.job(loose.name, is_ours)
        await town.job("urgent", is_complete)
        back = await town.runs(loose.name)
        assert is_back(back)
        assert not back["status"].get("failed")


async def pods_of_another_scheduler_return_to_it(town: Town) -> None:
    """It must not take the places back while those for whom they were made are on their way."""
    await leaves_and_returns(town, Job("theirs", 8, spec={"schedulerName": "default-scheduler"}))


async def it_is_preempted_twice_and_ends_complete(town: Town) -> None:
    """64 pods in the way of 8 that need whole nodes; were they deleted, 7 would end the Job."""
    async with town.classes(low=1, high=10) as ranks, town.scheduler():
        await town.create_ranked(Job("train", 64, run_seconds=10), ranks["low"])
        for urgent in ("first", "second"):
            await town.runs("train")
            await town.create_ranked(Job(urgent, 8, cpu=8, run_seconds=1), ranks["high"])
            train = await town.job("train", is_ours)
            assert train["spec"]["suspend"]
            assert "made room for" in train["metadata"]["annotations"][SUSPENDED]
            await town.job(urgent, is_complete)
            await town.job("train", is_back)
        train = await town.job("train", is_complete)
        assert train["status"]["succeeded"] == 64
        assert train["spec"]["backoffLimit"] == 6
        assert not train["status"].get("failed")


async def it_dies_of_one_preemption(town: Town) -> None:
    async with town.classes(low=1, high=10) as ranks, town.scheduler():
        await town.create_ranked(Job("train", 8), ranks["low"])
        await town.runs("train")
        await town.create_ranked(Job("urgent", 2, cpu=4), ranks["high"])
        train = await town.job("train", lambda job: bool(job["status"].get("failed")))
        assert not train["spec"]["suspend"]
        train = await town.job("train", lambda job: bool(job["status"].get("conditions")))
        assert train["status"]["conditions"][0]["reason"] == "BackoffLimitExceeded"


STORIES: tuple[Story, ...] = (
    it_returns_when_there_is_room_and_not_before,
    its_user_may_resume_it,
    its_user_may_delete_it,
    others_are_left_alone,
    pods_without_a_group_return_as_they_fit,
    pods_without_a_group_are_suspended_too,
    pods_of_another_scheduler_return_to_it,
    schedulers_come_and_go,
)
