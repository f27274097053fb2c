"""The floor of a sandbox that runs in another process, with the verdicts of its scheduler."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from maitred.cli.asking import ClusterOptions, Question, answer_here, ask_scheduler
from maitred.explain.group_verdicts import GroupVerdicts, group_verdicts
from maitred.kube.answers import NoScheduler
from maitred.kube.client import Client
from maitred.kube.errors import KubeError
from maitred.model.plan import GroupVerdict
from maitred.sandbox.companions import companions
from maitred.sandbox.place import SCHEDULER
from maitred.sandbox.world.watcher import ChangeCounter, WorldWatcher, watching

ASK_SECONDS = 1.0
"""Between two questions while things change."""
STALE_SECONDS = 10.0
"""Verdicts may change although no object does."""


@asynccontextmanager
async def watching_from_outside(client: Client) -> AsyncIterator[WorldWatcher]:
    verdicts = AskedVerdicts(client)
    await verdicts.ask()
    async with watching(client, verdicts.latest) as watcher, companions() as others:
        others.start(verdicts.keep_asking(watcher.news))
        yield watcher


class AskedVerdicts:
    """Those of the scheduler that runs; where it cannot be asked, what it would decide by default rules."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._latest: tuple[GroupVerdict, ...] = ()

    def latest(self) -> tuple[GroupVerdict, ...]:
        return self._latest

    async def keep_asking(self, news: ChangeCounter) -> None:
        while True:
            seen, before = news.number, self._latest
            await self.ask()
            if self._latest != before:
                news.tell()
                seen += 1
            await asyncio.sleep(ASK_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(STALE_SECONDS):
                    await news.after(seen)

    async def ask(self) -> None:
        """A scheduler that is busy, or has just started, is asked again later."""
        question, sandbox = (
            Question("groups", GroupVerdicts, group_verdicts),
            ClusterOptions(scheduler=SCHEDULER),
        )
        try:
            self._latest = (await ask_scheduler(question, sandbox, self._client)).groups
        except NoScheduler:
            self._latest = (await answer_here(question, sandbox, self._client)).groups
        except KubeError:
            return
