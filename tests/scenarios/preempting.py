"""Steps about who must leave for whom."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from maitred.controllers.owners.suspensions import KIND
from maitred.kube.records import RECORD
from maitred.kube.reflector import ListPage
from maitred.kube.resources import CONFIG_MAPS
from maitred.model.suspension import SUSPENDED
from tests.scenarios.api import Json, eventually
from tests.scenarios.dialect import JOBS
from tests.scenarios.line import Send, Trouble
from tests.scenarios.objects import Job, Pods
from tests.scenarios.observer import JOB_NAME, Life
from tests.scenarios.stage import Stage, Step
from tests.scenarios.steps import pods_of

OF_RECORDS = {"labelSelector": f"{RECORD}={KIND}"}


def lives(stage: Stage, who: Pods | Job) -> list[Life]:
    """Of all that have ever had these names."""
    if isinstance(who, Job):
        return [life for life in stage.observer.lives.values() if life.name.startswith(f"{who.name}-")]
    return [life for life in stage.observer.lives.values() if life.name in who.names]


@dataclass(frozen=True)
class Evicted(Step):
    """So many of the pods, all if not said otherwise, are told that others need their places, and go."""

    who: Pods | Job
    count: int | None = None
    grace: int = 1
    """Their own, which nobody shortens."""

    def __str__(self) -> str:
        return f"{self.who.name}: {'all' if self.count is None else self.count} evicted"

    async def play(self, stage: Stage) -> None:
        size = self.who.size if isinstance(self.who, Job) else self.who.count
        wanted = size if self.count is None else self.count
        await eventually(lambda: self._missing(stage, wanted))
        assert all(life.grace == self.grace for life in self._gone(stage)), self._gone(stage)

    def _missing(self, stage: Stage, wanted: int) -> str:
        found = len(self._gone(stage))
        return "" if found == wanted else f"{found} of {wanted} are evicted"

    def _gone(self, stage: Stage) -> list[Life]:
        return [life for life in lives(stage, self.who) if life.told_to_leave and life.grace is not None]


@dataclass(frozen=True)
class InAll(Step):
    """Now, so many pods have ever been told to leave. After `Settle`: otherwise it may be too early."""

    count: int

    async def play(self, stage: Stage) -> None:
        told = [life.name for life in stage.observer.lives.values() if life.told_to_leave]
        assert len(told) == self.count, f"told to leave: {told}"


@dataclass(frozen=True)
class Promised(Step):
    """All of the pods have the name of a node on them, and none is bound."""

    who: Pods

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: self._missing(stage))

    def _missing(self, stage: Stage) -> str:
        without = [p.metadata.name for p in pods_of(stage, self.who) if not p.status.nominated_node_name]
        return f"nothing is promised to {without}" if without else ""


@dataclass(frozen=True)
class Kept(Step):
    """They were all bound to the nodes that they were promised."""

    who: Pods

    async def play(self, stage: Stage) -> None:
        for life in lives(stage, self.who):
            assert life.nodes == [life.nominated], f"{life.name}: promised {life.nominated}, got {life.nodes}"


@dataclass(frozen=True)
class RemovePromised(Step):
    """The node that was promised to the first of the pods is deleted."""

    who: Pods

    async def play(self, stage: Stage) -> None:
        name = pods_of(stage, self.who)[0].status.nominated_node_name
        await stage.fleet.remove(name)
        del stage.machines[name]


@dataclass(frozen=True)
class Complete(Step):
    """All of its pods have succeeded, and none was counted as failed."""

    job: Job

    async def play(self, stage: Stage) -> None:
        async def missing() -> str:
            status = (await stage.api.get(JOBS, self.job.name)).get("status", {})
            counts = {"succeeded": status.get("succeeded", 0), "failed": status.get("failed", 0)}
            return "" if counts == {"succeeded": self.job.size, "failed": 0} else str(counts)

        await eventually(missing)


@dataclass(frozen=True)
class Suspended(Step):
    """By us, with the reason on it; all of its pods are gone."""

    job: Job

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: self._missing(stage))

    async def _missing(self, stage: Stage) -> str:
        found = await stage.api.get(JOBS, self.job.name)
        if not found["spec"].get("suspend") or SUSPENDED not in annotations(found):
            return "it is not suspended"
        left = [
            pod.metadata.name
            for pod in stage.observer.pods.values()
            if pod.metadata.labels.get(JOB_NAME) == self.job.name
        ]
        return f"{left} are still there" if left else ""


@dataclass(frozen=True)
class NoRecords(Step):
    """Nothing is remembered of Jobs that are not suspended."""

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: self._left(stage))

    async def _left(self, stage: Stage) -> str:
        path = CONFIG_MAPS.path(stage.scenario.settings.namespace)
        found = await stage.api.client.get(path, ListPage, params=OF_RECORDS)
        return f"{len(found.items)} records" if found.items else ""


@dataclass(frozen=True)
class ForgetRecords(Step):
    """Of Jobs that are gone, which a scheduler would delete in its own time."""

    async def play(self, stage: Stage) -> None:
        path = CONFIG_MAPS.path(stage.scenario.settings.namespace)
        await stage.api.client.request("DELETE", path, params=OF_RECORDS)


@dataclass(frozen=True)
class NotSuspended(Step):
    """Nor is there anything on it that says so."""

    job: Job

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: self._missing(stage))

    async def _missing(self, stage: Stage) -> str:
        found = await stage.api.get(JOBS, self.job.name)
        away = found["spec"].get("suspend") or SUSPENDED in annotations(found)
        return f"{self.job.name} is suspended" if away else ""


def annotations(found: Json) -> Json:
    return dict(found["metadata"].get("annotations", {}))


@dataclass(frozen=True)
class BeforeDeletion(Step):
    """From now on: the step is played just before the scheduler deletes its nth pod."""

    number: int
    step: Step

    async def play(self, stage: Stage) -> None:
        stage.actors["first"].line.trouble = Farewell(self.number, lambda: stage.play(self.step))


class Farewell(Trouble):
    def __init__(self, before: int, act: Callable[[], Awaitable[None]]) -> None:
        self._left = before
        self._act = act

    async def request(self, verb: str, path: str, send: Send) -> bytes:
        if verb == "DELETE":
            self._left -= 1
            if self._left == 0:
                await self._act()
        return await send()
