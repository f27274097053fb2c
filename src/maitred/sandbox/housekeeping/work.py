"""Keys that something has happened to: worked on one at a time per key, and again later where it failed."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from maitred.kube.client import pause
from maitred.kube.errors import ApiError, KubeError

log = logging.getLogger(__name__)

S = TypeVar("S")

WORKERS = 8


class WorkQueue:
    """`work` is called with each key that was added, never twice at a time with the same one.

    It looks at how things are then, so that any number of changes in between cost one call. What it raises as
    a KubeError is tried again after a pause. Anything else is a mistake of ours: its trace is logged, and the
    key rests until it changes, so that one odd object stops no other.
    """

    def __init__(self, name: str, work: Callable[[str], Awaitable[None]], *, workers: int = WORKERS) -> None:
        self._name = name
        self._work = work
        self._workers = workers
        self._ready: asyncio.Queue[str] = asyncio.Queue()
        self._waiting = set[str]()
        self._busy = set[str]()
        self._failures: dict[str, int] = {}
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def add(self, key: str) -> None:
        if key in self._waiting:
            return
        self._waiting.add(key)
        if key not in self._busy:
            self._ready.put_nowait(key)

    def add_after(self, key: str, seconds: float) -> None:
        """Of several such wishes the earliest counts: whoever works on the key then can wish anew."""
        loop = asyncio.get_running_loop()
        timer = self._timers.get(key)
        if timer is not None:
            if timer.when() <= loop.time() + seconds:
                return
            timer.cancel()
        self._timers[key] = loop.call_later(max(0.0, seconds), self._ring, key)

    def _ring(self, key: str) -> None:
        del self._timers[key]
        self.add(key)

    async def run(self) -> None:
        """Until it is cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(self._workers):
                    tasks.create_task(self._serve())
        finally:
            for timer in self._timers.values():
                timer.cancel()

    async def _serve(self) -> None:
        while True:
            key = await self._ready.get()
            self._waiting.discard(key)
            self._busy.add(key)
            try:
                await self._work(key)
                self._failures.pop(key, None)
            except KubeError as error:
                self._retry(key, error)
            except Exception:
                log.exception("%s %s is ignored until it changes", self._name, key)
            finally:
                self._busy.discard(key)
                if key in self._waiting:
                    self._ready.put_nowait(key)

    def _retry(self, key: str, error: KubeError) -> None:
        """A conflict only says that we knew too little; the news are on their way."""
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        expected = isinstance(error, ApiError) and (error.is_conflict or error.is_gone)
        log.log(logging.DEBUG if expected else logging.WARNING, "%s %s: %s", self._name, key, error)
        self.add_after(key, pause(failures, error.retry_after if isinstance(error, ApiError) else None))


async def all_of(work: Callable[[S], Awaitable[None]], items: Iterable[S]) -> KubeError | None:
    """All at once, and each to its end; the first trouble that there was."""

    async def attempt(item: S) -> KubeError | None:
        try:
            await work(item)
        except KubeError as error:
            return error
        return None

    async with asyncio.TaskGroup() as tasks:
        attempts = [tasks.create_task(attempt(item)) for item in items]
    return next((trouble for done in attempts if (trouble := done.result()) is not None), None)
