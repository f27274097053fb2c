"""kube-scheduler floods the same nodes with pods of its own while gangs are bound."""

import pytest

from tests.scenarios.conftest import REAL
from tests.scenarios.objects import Group, Job, Pods, nodes
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Create, Finished, Running

JOBS = [Job(f"j{number}", 4, Group(f"j{number}", quorum=4)) for number in range(4)]
PATIENCE_SECONDS = 240.0
"""The Job controller waits twice as long after each pod that failed."""
WAVES = [Pods(f"wave-{number}", 8, scheduler="default-scheduler", run_seconds=0.2) for number in range(16)]


@pytest.mark.parametrize("server", [REAL], indirect=True)
def test_gangs_end_up_whole_beside_a_scheduler_that_does_not_know_them(server: Server) -> None:
    """Neither sees the other's binds in time, so kubelets refuse some. A Job replaces what it has lost."""
    scenario = Scenario("beside kube-scheduler", nodes(6), (), overcommit=True)

    async def act(stage: Stage) -> None:
        stage.start()
        for number, wave in enumerate(WAVES):
            await stage.play(Create(wave))
            if number % 4 == 1:
                job = JOBS[number // 4]
                await stage.play(Create(job.group or Group(job.name), job))
        await stage.play(*(Finished(wave) for wave in WAVES))
        await stage.play(*(Running(job, PATIENCE_SECONDS) for job in JOBS))

    with server.another_scheduler():
        play(server, scenario, act)
