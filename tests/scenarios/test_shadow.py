"""A shadow decides whom it would ask to leave, and asks nobody."""

from maitred.controllers.scheduling.term import SchedulerSettings
from tests.scenarios.api import eventually
from tests.scenarios.objects import Group, Job, members, nodes
from tests.scenarios.preempting import NotSuspended
from tests.scenarios.preemption import CLASSES, HIGH, LOW, ranked
from tests.scenarios.server import Server
from tests.scenarios.stage import Actor, Scenario, Stage, play
from tests.scenarios.steps import Bound, Create, Exist

GANG = Group("a", quorum=2, rank="high")
PREEMPTOR = members(GANG, 2, spec=ranked(HIGH))
CREW = Group("low", quorum=2, rank="low")
JOB = Job("low", 2, CREW, spec=ranked(LOW))
VERDICTS = "maitred_verdicts_total"


def told(actor: Actor, metric: str) -> float | None:
    return actor.metrics.registry.get_sample_value(metric)


def test_a_shadow_tells_nobody_to_go(server: Server) -> None:
    async def act(stage: Stage) -> None:
        leader = stage.start()
        await stage.play(CLASSES, Create(CREW, JOB), Bound(JOB))
        assert (leader.health.state, told(leader, "maitred_leading")) == ("leading", 1)
        await stage.stop()
        await stage.play(Create(GANG, PREEMPTOR), Exist(PREEMPTOR))
        shadow = stage.start(settings=SchedulerSettings(shadow=True))

        def undecided() -> str:
            decided = shadow.metrics.registry.get_sample_value(VERDICTS, {"verdict": "Preempting"})
            return "" if decided else "nothing is decided yet"

        await eventually(undecided)
        assert (shadow.health.state, told(shadow, "maitred_leading")) == ("shadow", 0)
        assert told(shadow, "maitred_waiting_pods") == PREEMPTOR.count
        await stage.play(Bound(JOB), NotSuspended(JOB))
        assert shadow.line.journal.writes == []

    play(server, Scenario("a shadow", nodes(1, cpu=2), ()), act)
