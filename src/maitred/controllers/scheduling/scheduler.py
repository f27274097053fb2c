"""The scheduler as a process: it waits to lead, serves a term, and waits again."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from itertools import count

from maitred.controllers.health import ProcessHealth
from maitred.controllers.policy import PolicyKeeper, PolicySource
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.term import NOBODY_ELSE, SchedulerSettings, SchedulingTerm, Witnesses
from maitred.kube.client import Client, pause
from maitred.kube.discovery import Served, discover
from maitred.kube.errors import ApiError, KubeError, first_of
from maitred.kube.lease import LeaderLease
from maitred.kube.permit import Always, NotLeading, Permit, ShadowPermit
from maitred.model.plan import GroupVerdict

log = logging.getLogger(__name__)

SECONDS_BETWEEN_TERMS = 1.0
WITHOUT_A_LEASE = (
    "scheduling without a Lease: make sure that no other scheduler named %s runs, or use --leader-election"
)
NO_GROUP_API = "not served, so groups come from maitred.dev/group on pods (docs/install.md)"


class Scheduler:
    def __init__(
        self,
        client: Client,
        source: PolicySource,
        settings: SchedulerSettings,
        *,
        lease: LeaderLease | None,
        instance: str,
        metrics: Metrics,
        health: ProcessHealth,
        witnesses: Witnesses = NOBODY_ELSE,
    ) -> None:
        """Without a lease there is no election: whoever runs it says that there is no other."""
        self._client = client
        self._source = source
        self._settings = settings
        self._lease = lease
        self._instance = instance
        self._metrics = metrics
        self._health = health
        self._witnesses = witnesses
        self._term: SchedulingTerm | None = None

    def last_verdicts(self) -> Iterable[GroupVerdict]:
        """Of the groups that wait; none while another scheduler leads."""
        return () if self._term is None else self._term.verdicts

    async def run(self, stop: asyncio.Event) -> None:
        """Until asked to stop; what was begun by then is finished.

        Raises, in an ExceptionGroup, InputError for a first policy that is bad and KubeError for what only a
        person can help.
        """
        keeper = PolicyKeeper(self._metrics.policy_read)
        async with asyncio.TaskGroup() as tasks:
            reading = tasks.create_task(self._source.run(keeper))
            if (problem := await keeper.first) is not None:
                raise problem
            terms = tasks.create_task(self._terms(keeper))
            await stop.wait()
            self._health.set(False, "stopping")
            if self._term is not None:
                await self._term.finish()
            terms.cancel()
            reading.cancel()

    async def _terms(self, keeper: PolicyKeeper) -> None:
        served = await discover(self._client)
        while True:
            try:
                await self._serve(served, keeper)
            except ExceptionGroup as errors:
                if errors.split(is_over)[1] is not None:
                    raise
                log.warning("this process stops scheduling: %s", first_of(errors))
            self._term = None
            self._metrics.leading.set(0)
            served = await self._discover_again()

    async def _discover_again(self) -> Served:
        """The API server may be another one by now, in version or in what it serves."""
        for attempt in count():
            await asyncio.sleep(SECONDS_BETWEEN_TERMS + pause(attempt))
            try:
                return await discover(self._client)
            except KubeError as error:
                self._health.set(False, "the API server does not answer")
                log.warning("%s", error)
        raise AssertionError("there is always another attempt")

    async def _serve(self, served: Served, keeper: PolicyKeeper) -> None:
        groups = served.groups.api_version if served.groups else NO_GROUP_API
        log.info("API server %s, group API: %s", served.version, groups)
        # One that stands by for another is as ready as it can be.
        self._health.set(self._lease is not None, "standing by")
        async with self._leading() as permit:
            self._metrics.leading.set(0 if self._settings.shadow else 1)
            self._term = SchedulingTerm(
                self._client,
                served,
                permit,
                self._instance,
                self._settings,
                keeper,
                self._metrics,
                self._health,
                self._witnesses,
            )
            await self._term.run()

    @asynccontextmanager
    async def _leading(self) -> AsyncIterator[Permit]:
        """Waits until this process may write. The end of that raises NotLeading into the block."""
        if self._settings.shadow:
            yield ShadowPermit()
        elif self._lease is None:
            log.warning(WITHOUT_A_LEASE, self._settings.scheduler)
            yield Always()
        else:
            async with self._lease.term() as term, asyncio.TaskGroup() as tasks:
                watch = tasks.create_task(_until_lost(term.lost))
                yield term
                watch.cancel()


async def _until_lost(lost: asyncio.Event) -> None:
    await lost.wait()
    raise NotLeading("another scheduler leads now, or may lead")


def is_over(error: BaseException) -> bool:
    """What ends a term and not the process: others lead, or the group API was switched on or off."""
    return isinstance(error, NotLeading) or (isinstance(error, ApiError) and error.is_gone)
