"""The policy changes while groups run and wait: decisions follow it, and nobody leaves who may stay."""

import json
import logging
from collections.abc import Sequence

import pytest

from maitred.controllers import policy as policies
from maitred.controllers.policy import KEY, PolicyConfigMap
from maitred.kube.resources import CONFIG_MAPS
from tests.scenarios.api import Api, Json, eventually
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.healing import IsSuspended, Untouched, Whole, create_marked
from tests.scenarios.objects import Job, nodes
from tests.scenarios.server import Server
from tests.scenarios.stage import SYSTEM_NAMESPACE, Scenario, Stage, play
from tests.scenarios.steps import Delete, Exist, Gone, NotBound, PodsTold, Settle

POLICY = "of-queues"
MINE, YOURS = {"maitred.dev/queue": "mine"}, {"maitred.dev/queue": "yours"}
EARLY, LATE, OWNER, NEXT, ORPHAN = (Job(name, 2) for name in ("early", "late", "owner", "next", "orphan"))


def queue(name: str, parent: str = "", **amounts: object) -> Json:
    above = {"parent": parent} if parent else {}
    return {"name": name, **above, "limits": [{"resource": "cpu", **amounts}]}


HALF_EACH = (queue("mine", guarantee=2), queue("yours", guarantee=2))
ALL_YOURS = (queue("mine"), queue("yours", guarantee=4))
CAPPED = (queue("mine", guarantee=2), queue("yours", guarantee=1, cap=1))
WITHOUT_YOURS = (queue("mine", guarantee=2),)
BAD: Sequence[tuple[Sequence[Json], str]] = [
    (
        (queue("mine", "yours"), queue("yours", "mine")),
        "queues[0].parent: goes round in a circle: mine below",
    ),
    (
        ({"name": "mine", "limits": [{"resource": "gpu", "guarantee": 2}]},),
        "queues[0].limits[0].resource: 'gpu' is no resource of pods",
    ),
    ((queue("yours", guarantee=-1),), "queues[0].limits[0].guarantee: -1 is negative"),
    ((queue("yours", cap="4E"),), "queues[0].limits[0].cap: 4E is more than any cluster has"),
    (
        (queue("all", guarantee=3), queue("mine", "all", guarantee=2), queue("yours", "all", guarantee=2)),
        "queues[0].limits[0].guarantee: 3 is less than the 4 that is guaranteed below it",
    ),
]


class Desk:
    """Where the policy is written, and what the scheduler says of it."""

    def __init__(self, stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
        self._home = Api(stage.api.client, SYSTEM_NAMESPACE)
        self._caplog = caplog
        caplog.set_level(logging.INFO, policies.__name__)

    async def create(self, queues: Sequence[Json]) -> None:
        await self._home.create(CONFIG_MAPS, {"metadata": {"name": POLICY}, **data(queues)})

    async def change(self, queues: Sequence[Json], says: str = "policy in force: ConfigMap") -> None:
        """Until the scheduler has said so of it."""
        self._caplog.clear()
        await self._home.patch(CONFIG_MAPS, POLICY, data(queues))
        await eventually(lambda: "" if says in self._caplog.text else f"{says!r} is not said")

    async def delete(self) -> None:
        await self._home.delete(CONFIG_MAPS, POLICY)


def data(queues: Sequence[Json]) -> Json:
    return {"data": {KEY: json.dumps({"queues": queues})}}


def test_the_policy_changes_under_load(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    """Early runs all the time: what it has is its own, or nobody's whose right is greater."""

    async def act(stage: Stage) -> None:
        desk = Desk(stage, caplog)
        await desk.create(HALF_EACH)
        stage.start(source=lambda client: PolicyConfigMap(client, SYSTEM_NAMESPACE, POLICY))
        for job in (EARLY, LATE):
            await create_marked(stage, job, YOURS)
            await stage.play(Whole(job))
        try:
            await stage.play(Untouched(EARLY, (Load(desk),)))
        finally:
            await desk.delete()

    play(server, Scenario("a policy that changes", nodes(4, cpu=1), (), settings=ONE_BY_ONE), act)


class Load:
    """What happens meanwhile."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    async def play(self, stage: Stage) -> None:
        await self._guarantees(stage)
        await self._cap(stage)
        await self._removal(stage)

    async def _guarantees(self, stage: Stage) -> None:
        """Once all is guaranteed to those who have it, nothing can be reclaimed; half of it is, as soon as it
        is guaranteed to who wants it."""
        await self._desk.change(ALL_YOURS)
        await create_marked(stage, OWNER, MINE)
        waits = PodsTold(OWNER, "Waiting: Capacity")
        await stage.play(Untouched(LATE, (Exist(OWNER), waits, Settle(), NotBound(OWNER))))
        await self._desk.change(HALF_EACH)
        await stage.play(IsSuspended(LATE), Whole(OWNER))

    async def _cap(self, stage: Stage) -> None:
        """Who has more than a new cap stays; nobody comes beside it. A bad policy changes nothing."""
        await self._desk.change(CAPPED)
        await stage.play(Delete(OWNER), Gone(OWNER), Settle(), IsSuspended(LATE))
        for bad, says in BAD:
            await self._desk.change(bad, says)
            await stage.play(Settle(), IsSuspended(LATE))

    async def _removal(self, stage: Stage) -> None:
        """Who runs in a queue that is gone stays. Who waits there is told so, whether it is new or was
        suspended, and has its place as soon as the queue is there again."""
        await self._desk.change(WITHOUT_YOURS)
        await create_marked(stage, OWNER, MINE)
        await stage.play(Whole(OWNER))
        await create_marked(stage, NEXT, MINE)
        await create_marked(stage, ORPHAN, YOURS)
        words = "Invalid: Request: there is no queue yours; set maitred.dev/queue to"
        for job in (ORPHAN, LATE):
            await stage.play(Exist(job), PodsTold(job, words, "SchedulerError"))
        await stage.play(Exist(NEXT), PodsTold(NEXT, "Waiting: Capacity"), Settle(), NotBound(NEXT))
        for job in (ORPHAN, NEXT, OWNER):
            await stage.play(Delete(job), Gone(job))
        await self._desk.change(HALF_EACH)
        await stage.play(Whole(LATE))
