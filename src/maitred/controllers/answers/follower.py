"""Keeps the replica up to date: for every question, and now and then, so that questions find little to do."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial

from maitred.controllers.answers.backlog import Update
from maitred.controllers.answers.orders import OrderOutcome
from maitred.controllers.answers.question_queue import QuestionQueue, nothing_to_do
from maitred.controllers.answers.replica import Replica, View

SECONDS_BETWEEN = 2.0
"""Also how often the scheduling process hears that this one is alive."""


def ignore_orders(outcomes: tuple[OrderOutcome, ...]) -> None:
    pass


Ask = Callable[[bool], Awaitable[Update]]
"""For news; for everything, if the argument is true."""


class StateFollower:
    def __init__(
        self,
        ask: Ask,
        read: Callable[[], None] = nothing_to_do,
        settle: Callable[[tuple[OrderOutcome, ...]], None] = ignore_orders,
    ) -> None:
        """`read` is called when all of a cluster was read, `settle` with what has become of orders."""
        self._ask = ask
        self._read = read
        self._settle = settle
        self._replica = Replica()
        self._view: View | None = None
        self._asked_at = float("-inf")
        self._following: asyncio.Task[None] | None = None

    async def view(self, question_queue: QuestionQueue) -> View | None:
        """What is known now: news that were asked for before this question came do not count."""
        came = time.monotonic()
        while self._asked_at < came:
            if self._following is None:
                self._following = asyncio.create_task(self._follow(question_queue))
            # A caller that stops waiting does not stop the others, and no news are lost.
            await asyncio.shield(self._following)
        return self._view

    async def run(self, question_queue: QuestionQueue) -> None:
        while True:
            await self.view(question_queue)
            await asyncio.sleep(SECONDS_BETWEEN)

    async def _follow(self, question_queue: QuestionQueue) -> None:
        try:
            at = time.monotonic()
            update = await self._ask(self._replica.is_lost)
            self._settle(update.done)
            self._view = await question_queue.work(None, partial(self._replica.follow, update), whole=True)
            self._asked_at = at
            if update.afresh:
                self._read()
        finally:
            self._following = None
