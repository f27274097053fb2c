"""The same stories with kube-controller-manager, with ours in its place, and on the sandbox: all the same."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

from maitred.kube.client import Client
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.housekeeping.controllers import housekeeping
from tests.sandbox.apiserver.running import RunningServer, running_server
from tests.sandbox.housekeeping import house_stories, job_stories
from tests.sandbox.housekeeping.place import place
from tests.sandbox.housekeeping.stories import tell

RANDOM_NAME = re.compile(r"pod house-[0-9a-f]+/[a-z0-9-]+")


Told = Callable[[Client], Coroutine[Any, Any, Any]]


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    with running_server(tmp_path_factory.mktemp("sandbox"), kept=True) as server:
        yield server


def test_jobs_end_alike(
    control_plane: ControlPlane, bare_plane: ControlPlane, sandbox: RunningServer
) -> None:
    async def told(client: Client) -> Any:
        async with place(client) as here:
            return await tell(client, here.namespace, job_stories.STORIES)

    check_alike(*asyncio.run(everywhere(told, control_plane, bare_plane, sandbox)))


def test_all_else_ends_alike(
    control_plane: ControlPlane, bare_plane: ControlPlane, sandbox: RunningServer
) -> None:
    async def told(client: Client) -> Any:
        async with AsyncExitStack() as stack:
            names = house_stories.STORIES
            places = {name: await stack.enter_async_context(place(client)) for name in names}
            return await house_stories.tell_all(places)

    check_alike(*asyncio.run(everywhere(told, control_plane, bare_plane, sandbox)))


async def everywhere(
    told: Told, control_plane: ControlPlane, bare_plane: ControlPlane, sandbox: RunningServer
) -> list[Any]:
    async with (
        Client(control_plane.connection(ADMIN)) as theirs,
        Client(bare_plane.connection(ADMIN)) as ours,
        Client(sandbox.connection(ADMIN)) as sandboxed,
        housekeeping(ours, schedules=False),
        asyncio.TaskGroup() as tasks,
    ):
        results = [tasks.create_task(told(client)) for client in (theirs, ours, sandboxed)]
    return [result.result() for result in results]


def check_alike(theirs: Any, ours: Any, sandboxed: Any) -> None:
    for name in theirs:
        assert plain(ours[name]) == plain(theirs[name]), name
        assert plain(sandboxed[name]) == plain(theirs[name]), name


def plain(told: Any) -> Any:
    """Without names that differ from run to run."""
    if isinstance(told, dict):
        return {key: plain(value) for key, value in told.items()}
    if isinstance(told, list):
        return [plain(item) for item in told]
    return RANDOM_NAME.sub("pod", told) if isinstance(told, str) else told
