"""A reservation keeps its nodes for one group, and when it is over others start without anything else."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from maitred.controllers.policy import PolicyKeeper
from maitred.kube.resources import PODS
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.healing import Whole
from tests.scenarios.objects import Job, nodes
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Create, Exist, NotBound, PodsTold, pods_of

STRANGER, GUEST = Job("stranger", 2), Job("guest", 2)
LASTS = timedelta(seconds=25)


@dataclass(frozen=True)
class Reserved:
    """All nodes, for one group, since a minute ago."""

    group: str
    until: datetime

    async def run(self, keeper: PolicyKeeper) -> None:
        times = {"from": self.until - LASTS - timedelta(minutes=1), "until": self.until}
        said = {name: time.strftime("%Y-%m-%dT%H:%M:%S") for name, time in times.items()}
        reservation = {"name": "evening", "for": {"group": self.group}, "nodes": {}, **said}
        keeper.offer(json.dumps({"reservations": [reservation]}).encode(), "the scenario")


def test_others_start_when_it_is_over_and_not_before(server: Server) -> None:
    async def act(stage: Stage) -> None:
        until = datetime.now(UTC) + LASTS
        stage.start(source=lambda _: Reserved(f"{stage.api.namespace}/{GUEST.name}", until))
        await stage.play(
            Create(STRANGER),
            Exist(STRANGER),
            PodsTold(STRANGER, "Waiting: Reservation", reason="Reservation"),
            NotBound(STRANGER),
            Create(GUEST),
            Whole(GUEST),
            Whole(STRANGER),
        )
        names = {pod.metadata.name for pod in pods_of(stage, STRANGER)}
        found = [pod for pod in await stage.api.list(PODS) if pod["metadata"]["name"] in names]
        started = [datetime.fromisoformat(pod["status"]["startTime"]) for pod in found]
        assert len(started) == 2
        assert min(started) >= until.replace(microsecond=0)

    play(server, Scenario("reservations", nodes(4, cpu=1), (), settings=ONE_BY_ONE), act)
