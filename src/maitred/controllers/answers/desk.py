"""One question after the other is worked out, in a thread of its own, and few wait for their turn."""

import asyncio
from collections import Counter
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from maitred.controllers.answers.refusals import RefusedError
from maitred.kube.answers import Reason

MOST_WAITING = 16
MOST_EACH = 4
"""Of one visitor, so that nobody keeps the others out."""
LONGEST_SECONDS = 20.0

T = TypeVar("T")


class Desk:
    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "answers")
        self._waiting = Counter[Hashable]()

    async def work(self, visitor: Hashable, answer: Callable[[], T]) -> T:
        if self._waiting.total() >= MOST_WAITING or self._waiting[visitor] >= MOST_EACH:
            raise RefusedError(Reason.BUSY, "too many questions at once; ask again in a moment")
        self._waiting[visitor] += 1
        future = self._thread.submit(answer)
        # Not when the visitor is gone, but when the thread is free: what was begun is finished.
        loop = asyncio.get_running_loop()
        future.add_done_callback(lambda done: loop.call_soon_threadsafe(self._done, visitor))
        try:
            async with asyncio.timeout(LONGEST_SECONDS):
                return await asyncio.shield(asyncio.wrap_future(future))
        except TimeoutError:
            future.cancel()
            raise RefusedError(Reason.BUSY, f"no answer within {LONGEST_SECONDS:g} s") from None

    def _done(self, visitor: Hashable) -> None:
        self._waiting[visitor] -= 1
        if not self._waiting[visitor]:
            del self._waiting[visitor]

    async def close(self) -> None:
        """What is being worked out comes to its end first; nothing of it is without bounds."""
        await asyncio.to_thread(self._thread.shutdown, cancel_futures=True)
