"""Tasks that run beside a block of code, for as long as it lasts."""

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any


class Companions:
    """See `companions`, which makes them."""

    def __init__(self, tasks: asyncio.TaskGroup) -> None:
        self._tasks = tasks
        self._running = set[asyncio.Task[None]]()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._tasks.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def dismiss(self) -> None:
        for task in list(self._running):
            task.cancel()


@asynccontextmanager
async def companions() -> AsyncIterator[Companions]:
    """All that were started end with the block. If one of them fails, the block is cancelled.

    What the block itself raises is raised as it is: a TaskGroup would wrap it.
    """
    failure: BaseException | None = None
    async with asyncio.TaskGroup() as tasks:
        started = Companions(tasks)
        try:
            yield started
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            failure = error
        finally:
            started.dismiss()
    if failure is not None:
        raise failure
