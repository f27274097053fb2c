"""The record of a scheduler at work, decided again, comes out the same: whatever happened meanwhile."""

from pathlib import Path

from maitred.controllers.recording.ring import Ring
from maitred.controllers.scheduling.term import Witnesses
from tests.controllers.recording.test_recording import replay_of
from tests.scenarios.objects import Group, Job, members, nodes
from tests.scenarios.preemption import CLASSES, HIGH, LOW, ranked
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Bound, Create, Delete, Gone

GANG = Group("a", quorum=2, rank="high")
PREEMPTOR = members(GANG, 2, spec=ranked(HIGH))
CREW = Group("low", quorum=2, rank="low")
JOB = Job("low", 2, CREW, spec=ranked(LOW))


def test_a_preemption_and_a_return_are_decided_again_as_they_were(server: Server, tmp_path: Path) -> None:
    async def act(stage: Stage) -> None:
        ring = Ring(tmp_path, 2**24)
        stage.start(witnesses=Witnesses(ring=ring))
        await stage.play(CLASSES, Create(CREW, JOB), Bound(JOB))
        await stage.play(Create(GANG, PREEMPTOR), Bound(PREEMPTOR))
        await stage.play(Delete(PREEMPTOR), Gone(PREEMPTOR), Bound(JOB))
        await stage.stop()
        ring.close()

    play(server, Scenario("a record", nodes(1, cpu=2), ()), act)
    replay = replay_of(tmp_path)
    assert replay.same == replay.decisions, replay.differences
    assert replay.decisions > 3
