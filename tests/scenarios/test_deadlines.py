"""A group that is not to start before its time starts then, by time alone; and one that cannot be done by its
deadline any more is told so, once."""

from datetime import UTC, datetime, timedelta

from maitred.controllers.scheduling.deadlines import AT_RISK
from maitred.kube.resources import EVENTS
from maitred.model.runtime import EXPECTED_RUNTIME
from maitred.model.timing import DEADLINE, NOT_BEFORE
from tests.scenarios.api import eventually
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.healing import Whole, create_marked
from tests.scenarios.objects import Job, nodes
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Create, Exist, PodsTold, Settle, pods_of

EARLY, LATE, OTHER = Job("early", 2), Job("late", 2), Job("other", 1)


def in_seconds(seconds: float) -> datetime:
    return datetime.now(UTC) + timedelta(seconds=seconds)


async def told_at_risk(stage: Stage) -> list[str]:
    found = [event for event in await stage.api.list(EVENTS) if event["reason"] == AT_RISK]
    return [f"{event['regarding']['kind']}/{event['regarding']['name']}: {event['note']}" for event in found]


def test_it_starts_at_its_time_and_a_lost_deadline_is_told(server: Server) -> None:
    async def act(stage: Stage) -> None:
        async def untold() -> str:
            return "" if await told_at_risk(stage) else "nobody was told of the deadline"

        stage.start()
        time = in_seconds(6)
        await create_marked(stage, EARLY, {NOT_BEFORE: time.isoformat()})
        await stage.play(
            Exist(EARLY), PodsTold(EARLY, "Waiting: Gated", "Gated"), Create(OTHER), Whole(OTHER)
        )
        assert not any(pod.spec.node_name for pod in pods_of(stage, EARLY)) or datetime.now(UTC) >= time
        await stage.play(Whole(EARLY))
        assert datetime.now(UTC) >= time
        deadline = in_seconds(5)
        await create_marked(stage, LATE, {DEADLINE: deadline.isoformat(), EXPECTED_RUNTIME: "2s"})
        await eventually(untold)
        assert datetime.now(UTC) >= deadline - timedelta(seconds=2)
        await stage.play(Settle())
        [told] = await told_at_risk(stage)
        assert "/late" in told
        assert "so it must start by" in told

    play(server, Scenario("times", nodes(3, cpu=1), (), settings=ONE_BY_ONE), act)
