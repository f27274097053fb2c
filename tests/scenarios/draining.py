"""Steps about nodes that are drained by request."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from maitred.cli.asking import ClusterOptions, Question, situation_of
from maitred.explain.maintenance.rooms import blocked_groups, makings_of
from maitred.kube.drains import request_drain
from maitred.kube.lists import list_cluster
from maitred.kube.resources import CONFIG_MAPS, NODES
from maitred.model.drain import PREFIX, PROGRESS, Drain, DrainRequest, progress_of
from tests.scenarios.api import Api, eventually
from tests.scenarios.stage import SYSTEM_NAMESPACE, Stage, Step


@dataclass(frozen=True)
class Request(Step):
    """As `maitred drain` records it."""

    node: str
    name: str = "now"
    seconds: int = 3600

    async def play(self, stage: Stage) -> None:
        now = datetime.now(UTC).replace(microsecond=0)
        request = DrainRequest(now + timedelta(seconds=self.seconds), now, (self.node,))
        await request_drain(stage.api.client, SYSTEM_NAMESPACE, Drain(self.name, request))


@dataclass(frozen=True)
class MakeRoom(Step):
    """As `maitred defrag --apply` does: moves that would help a group are looked for, and asked for."""

    group: str
    name: str = "now"

    async def play(self, stage: Stage) -> None:
        now = datetime.now(UTC).replace(microsecond=0)
        listed = await list_cluster(stage.api.client)
        options, question = ClusterOptions(now=now.isoformat()), Question[None]("", type(None), None)
        situation = situation_of(listed.objects, question, options, listed.group_api)
        room = makings_of(blocked_groups(situation, [f"{stage.api.namespace}/{self.group}"]))
        assert len(room) == 1, room
        request = DrainRequest(now + timedelta(hours=1), now, room=room)
        await request_drain(stage.api.client, SYSTEM_NAMESPACE, Drain(self.name, request))


@dataclass(frozen=True)
class Drained(Step):
    """Nobody is left, this is written down, and the node is cordoned."""

    node: str
    name: str = "now"

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: self._missing(stage), seconds=40)

    async def _missing(self, stage: Stage) -> str:
        kept = await Api(stage.api.client, SYSTEM_NAMESPACE).get(CONFIG_MAPS, f"{PREFIX}{self.name}")
        found: dict[str, Any] = await Api(stage.api.client, "").get(NODES, self.node)
        if not found["spec"].get("unschedulable"):
            return f"{self.node} is not cordoned"
        return "" if progress_of(kept["data"].get(PROGRESS, "")).done else f"not done: {kept['data']}"


@dataclass(frozen=True)
class Settled(Step):
    """The scheduler has looked at the request, and has decided that nobody leaves."""

    name: str = "now"

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: self._missing(stage))

    async def _missing(self, stage: Stage) -> str:
        kept = await Api(stage.api.client, SYSTEM_NAMESPACE).get(CONFIG_MAPS, f"{PREFIX}{self.name}")
        return "" if progress_of(kept["data"].get(PROGRESS, "")).left else "it was not looked at"


@dataclass(frozen=True)
class Forget(Step):
    name: str = "now"

    async def play(self, stage: Stage) -> None:
        await Api(stage.api.client, SYSTEM_NAMESPACE).delete(CONFIG_MAPS, f"{PREFIX}{self.name}")
