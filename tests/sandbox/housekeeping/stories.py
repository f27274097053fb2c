"""Stories of Jobs: what happens to their pods, and what a Job controller has made of it in the end.

The pods have no node. Whoever tells the story says how each of them fares, so a story takes the same course
whichever controller it is told to.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from maitred.kube.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Client, encode
from maitred.kube.errors import ApiError
from maitred.kube.resources import PODS, Resource

Json = dict[str, Any]

JOBS = Resource("batch", "v1", "jobs", "Job")
EVENTS = Resource("", "v1", "events", "Event")
INDEX = "batch.kubernetes.io/job-completion-index"
POD = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "pause"}]}
DEADLINE_SECONDS = 120.0
TIMES = ("startTime", "completionTime", "lastProbeTime", "lastTransitionTime")


@dataclass(slots=True)
class Teller:
    """One story on one server."""

    client: Client
    namespace: str
    name: str
    ended: set[str] = field(default_factory=set)
    """UIDs of pods whose end was told."""

    async def job(self) -> Json | None:
        try:
            return await self._get(JOBS.path(self.namespace, self.name))
        except ApiError as error:
            if error.is_gone:
                return None
            raise

    async def pods(self) -> list[Json]:
        found = await self._get(PODS.path(self.namespace), {"labelSelector": f"job-name={self.name}"})
        return sorted(found["items"], key=lambda pod: (int(index_of(pod) or 0), pod["metadata"]["name"]))

    async def active(self, count: int) -> list[Json]:
        """Once there are so many that run, or would."""

        async def enough() -> list[Json] | None:
            pods = [pod for pod in await self.pods() if self._is_active(pod)]
            return pods if len(pods) == count else None

        found: list[Json] = await self._until(enough, f"{count} active pods")
        return found

    def _is_active(self, pod: Json) -> bool:
        unfinished = pod["status"]["phase"] not in ("Succeeded", "Failed")
        gone = pod["metadata"].get("deletionTimestamp") or pod["metadata"]["uid"] in self.ended
        return unfinished and not gone

    async def end(self, pods: Iterable[Json], phase: str, code: int = 0, condition: str = "") -> None:
        for pod in pods:
            now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            status: Json = {"phase": phase}
            terminated = {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": now}
            container = {"name": "c", "image": "pause", "imageID": "", "restartCount": 0, "ready": False}
            status["containerStatuses"] = [{**container, "state": {"terminated": terminated}}]
            if condition:
                status["conditions"] = [{"type": condition, "status": "True", "reason": "Told"}]
            self.ended.add(pod["metadata"]["uid"])
            path = PODS.path(self.namespace, pod["metadata"]["name"], "status")
            await self._send("PATCH", path, {"status": status}, STRATEGIC_MERGE_PATCH)

    async def ready(self, pods: Iterable[Json]) -> None:
        for pod in pods:
            status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
            path = PODS.path(self.namespace, pod["metadata"]["name"], "status")
            await self._send("PATCH", path, {"status": status}, STRATEGIC_MERGE_PATCH)

    async def delete(self, pods: Iterable[Json]) -> None:
        for pod in pods:
            self.ended.add(pod["metadata"]["uid"])
            await self._send("DELETE", PODS.path(self.namespace, pod["metadata"]["name"]), {})

    async def add(self, name: str, labels: Json) -> None:
        """A pod that nobody has asked for."""
        body = {"metadata": {"name": name, "labels": labels}, "spec": POD}
        await self._send("POST", PODS.path(self.namespace), body)

    async def change(self, **spec: Any) -> None:
        await self._send("PATCH", JOBS.path(self.namespace, self.name), {"spec": spec}, MERGE_PATCH)

    async def becomes(self, holds: Callable[[Json], bool]) -> None:
        async def does() -> bool | None:
            job = await self.job()
            return (job is not None and holds(job["status"])) or None

        await self._until(does, "the Job to be as told")

    async def has(self, condition: str, status: str = "True") -> None:
        def holds(told: Json) -> bool:
            return any(c["type"] == condition and c["status"] == status for c in told.get("conditions", ()))

        await self.becomes(holds)

    async def gone(self) -> None:
        async def is_gone() -> bool | None:
            return (await self.job() is None and not await self.pods()) or None

        await self._until(is_gone, "the Job to be gone")

    async def _until(self, look: Callable[[], Awaitable[Any]], what: str) -> Any:
        deadline = time.monotonic() + DEADLINE_SECONDS
        while (found := await look()) is None:
            assert time.monotonic() < deadline, f"{self.name}: no {what}: {await self.job()}"
            await asyncio.sleep(0.1)
        return found

    async def _get(self, path: str, params: dict[str, str] | None = None) -> Json:
        return await self.client.get(path, dict, params=params or {})

    async def _send(self, verb: str, path: str, body: Json, content_type: str = "application/json") -> None:
        await self.client.request(verb, path, body=encode(body), content_type=content_type)


@dataclass(frozen=True, slots=True)
class Story:
    name: str
    spec: Json
    told: Callable[[Teller], Awaitable[None]]
    labels: Json = field(default_factory=dict)
    """Of its pods."""


async def outcome(teller: Teller) -> Json:
    """All that must not depend on who the controller is."""
    job = await teller.job()
    status = {} if job is None else without_times(job["status"])
    pods = Counter(
        (index_of(pod), pod["status"]["phase"], *pod["metadata"].get("finalizers", ()))
        for pod in await teller.pods()
    )
    return {"status": status, "pods": dict(pods), "events": await events(teller)}


async def events(teller: Teller) -> dict[str, int]:
    params = {"fieldSelector": f"involvedObject.name={teller.name},involvedObject.kind=Job"}
    found = await teller.client.get(EVENTS.path(teller.namespace), dict, params=params)
    counts = Counter[str]()
    for event in found["items"]:
        counts[event["reason"]] += event.get("count") or 1
    return dict(counts)


def without_times(told: Any) -> Any:
    if isinstance(told, dict):
        return {key: without_times(value) for key, value in sorted(told.items()) if key not in TIMES}
    return [without_times(item) for item in told] if isinstance(told, list) else told


def index_of(pod: Json) -> str:
    return str(pod["metadata"].get("annotations", {}).get(INDEX, ""))


async def tell(client: Client, namespace: str, stories: Iterable[Story]) -> dict[str, Json]:
    """All stories at once, each to its end."""

    async def one(story: Story) -> tuple[str, Json]:
        template = {"metadata": {"labels": story.labels}, "spec": POD}
        body = {"metadata": {"name": story.name}, "spec": {"template": template, **story.spec}}
        await client.request("POST", JOBS.path(namespace), body=encode(body))
        teller = Teller(client, namespace, story.name)
        await story.told(teller)
        return story.name, await settled(teller)

    async with asyncio.TaskGroup() as tasks:
        told = [tasks.create_task(one(story)) for story in stories]
    return dict(task.result() for task in told)


async def settled(teller: Teller) -> Json:
    """Events come a moment later than what they tell of."""
    last = await outcome(teller)
    while True:
        await asyncio.sleep(3)
        now = await outcome(teller)
        if now == last:
            return now
        last = now
