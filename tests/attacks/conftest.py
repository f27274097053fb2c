"""The ground that attacks are made on: made once for each file, and gone before other tests begin."""

import asyncio
from collections.abc import Iterator

import pytest

from maitred.sandbox.controlplane.run import ControlPlane
from tests.attacks.harness import Ground, opened


@pytest.fixture(scope="module")
def kinds() -> None:
    """Kinds that the server has besides its own before the scheduler starts; a file may have some."""


@pytest.fixture(scope="module")
def ground(
    control_plane: ControlPlane, kinds: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Ground]:
    """It lives in one task of one event loop, which runs on while an attack does."""
    with asyncio.Runner() as runner:
        done = asyncio.Event()
        made: asyncio.Future[Ground] = runner.get_loop().create_future()

        async def host() -> None:
            try:
                folder = tmp_path_factory.mktemp("attacks")
                async with opened(control_plane, folder, runner) as ground:
                    made.set_result(ground)
                    await done.wait()
            except BaseException as error:
                if made.done():
                    raise
                made.set_exception(error)

        async def begin() -> tuple[Ground, asyncio.Task[None]]:
            task = asyncio.create_task(host())
            return await made, task

        async def end(task: asyncio.Task[None]) -> None:
            done.set()
            await task

        ground, task = runner.run(begin())
        yield ground
        runner.run(end(task))
