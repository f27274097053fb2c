"""What Plans want written, by key, and a few at a time: until it is done, or is not wanted any more.

Nothing is remembered: the next Plan says again what has not been done.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Mapping
from typing import Generic, TypeVar

from maitred.controllers.retry import Retry
from maitred.kube.outcomes import Done, Refused, Unknown

log = logging.getLogger(__name__)

K = TypeVar("K", bound=Hashable)
W = TypeVar("W")
Outcome = Done | Refused | Unknown


class KeyedWrites(Generic[K, W]):
    """By key. One that could not be carried out is tried again, later each time."""

    def __init__(
        self, in_flight: int, write: Callable[[W], Awaitable[Outcome]], failed: Callable[[W], str]
    ) -> None:
        """`write` tells of what it has done; it calls done, too, what need not be done any more. `failed`: in
        words, what could not be done."""
        self._in_flight, self._write, self._failed = in_flight, write, failed
        self.wanted: dict[K, W] = {}
        """What the last Plan says."""
        self._retries: dict[K, Retry] = {}
        self._orders: asyncio.Queue[K] = asyncio.Queue()
        self._under_way: set[K] = set()

    def want(self, wanted: Mapping[K, W]) -> None:
        """This, and nothing else."""
        self.wanted = dict(wanted)
        self._retries = {key: retry for key, retry in self._retries.items() if key in wanted}
        for key in wanted:
            if key not in self._under_way:
                self._under_way.add(key)
                self._orders.put_nowait(key)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(self._in_flight):
                tasks.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = await self._orders.get()
            try:
                await self._carry_out(key)
            finally:
                self._under_way.discard(key)

    async def _carry_out(self, key: K) -> None:
        while (wanted := self.wanted.get(key)) is not None:
            outcome = await self._write(wanted)
            if not isinstance(outcome, Done):
                seconds = self._retries.setdefault(key, Retry()).again()
                log.warning("%s; trying again in %g s: %s", self._failed(wanted), seconds, outcome.message)
                await asyncio.sleep(seconds)
            elif self.wanted.get(key) is wanted:
                del self.wanted[key]
