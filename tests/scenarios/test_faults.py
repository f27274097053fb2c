"""A dozen gangs over a line on which everything goes wrong now and then."""

import pytest

from tests.scenarios.faults import Faults
from tests.scenarios.objects import Group, members, nodes
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Bound, Create

SEEDS = (1, 2, 3)
GANGS = [Group(f"g{number}", quorum=3) for number in range(12)]


@pytest.mark.parametrize("seed", SEEDS)
def test_all_gangs_are_seated_under_faults(seed: int, server: Server) -> None:
    scenario = Scenario("faults", nodes(12, cpu=3), ())

    async def act(stage: Stage) -> None:
        stage.start(trouble=Faults(seed))
        await stage.play(*(Create(gang, members(gang, 3)) for gang in GANGS))
        await stage.play(*(Bound(members(gang, 3)) for gang in GANGS))

    play(server, scenario, act)
