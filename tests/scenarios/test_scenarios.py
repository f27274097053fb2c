"""Every scenario on a real API server, in the version and with the group API that it has."""

import asyncio

import pytest

from maitred.kube.client import Client
from maitred.kube.discovery import discover
from tests.scenarios import conformance, gangs, preemption, trees
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, play

SCENARIOS = (*conformance.SCENARIOS, *gangs.SCENARIOS, *preemption.SCENARIOS, *trees.SCENARIOS)


@pytest.fixture(scope="module")
def group_api(server: Server) -> str:
    """The version of it that is served."""

    async def ask() -> str:
        async with Client(server.admin()) as admin:
            groups = (await discover(admin)).groups
            return "" if groups is None else groups.version

    return asyncio.run(ask())


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.title.replace(" ", "-"))
def test_scenario(scenario: Scenario, server: Server, group_api: str) -> None:
    if scenario.only and group_api not in scenario.only:
        pytest.skip(f"cannot happen with {group_api or 'no group API'}")
    play(server, scenario)
