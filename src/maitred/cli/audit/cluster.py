"""An audit of a cluster: listed once, or watched for a while."""

import asyncio
import logging
import signal
import time
from collections.abc import Sequence
from typing import Any

import click

from maitred.cli.audit.rights import AuditedResource, everything, readable
from maitred.cli.connecting import connection
from maitred.explain.audit.observer import Observer
from maitred.kube.client import Client
from maitred.kube.errors import KubeError
from maitred.kube.lists import list_all
from maitred.kube.reflector import Reflector
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.policy import Policy
from maitred.model.words import printable
from maitred.simulate.report.amounts import duration

log = logging.getLogger(__name__)

Task = asyncio.Future[Any]
LIST, WATCH = ("list",), ("list", "watch")


async def read_cluster(
    kubeconfig: str | None, context: str | None, policy: Policy, span: float | None
) -> tuple[Observer, tuple[str, ...]]:
    """What was seen, and warnings. `span`: for how many seconds to watch it; None for a single look."""
    async with Client(connection(kubeconfig, context)) as client:
        known = await everything(client)
        found, warnings = await readable(client, known, LIST if span is None else WATCH)
        if span is None:
            observer, faults = await look(client, found, policy)
        else:
            observer, faults = await watch(client, found, policy, span)
    return observer, (*warnings, *faults)


async def look(
    client: Client, found: Sequence[AuditedResource], policy: Policy
) -> tuple[Observer, tuple[str, ...]]:
    observer, at, faults = Observer(policy), time.time(), list[str]()
    lists = [list_all(client, source.resource, source.kind) for source in found]
    for source, listed in zip(found, await asyncio.gather(*lists), strict=True):
        faults += listed.warnings
        feed = Feed(observer, source)
        for item in listed.objects:
            feed.put(item, at)
    return observer, tuple(faults)


async def watch(
    client: Client, found: Sequence[AuditedResource], policy: Policy, span: float
) -> tuple[Observer, tuple[str, ...]]:
    """Until the time is over, or Ctrl-C. What was seen by then is worth telling, whatever ends it."""
    observer, stop = Observer(policy), asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGINT, stop.set)
    reflectors: list[Reflector[Any]] = [
        Reflector(client, source.resource, source.kind, Feed(observer, source)) for source in found
    ]
    running: Sequence[Task] = [asyncio.ensure_future(reflector.run()) for reflector in reflectors]
    try:
        await until_synced(reflectors, running)
        observer.watched_since = time.time()
        click.echo(
            f"watching for {duration(span)}; Ctrl-C ends the watch early and prints the audit so far",
            err=True,
        )
        return observer, await waited(stop, running, span)
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)


async def until_synced(reflectors: Sequence[Reflector[Any]], running: Sequence[Task]) -> None:
    """Raises what keeps one of them from it."""
    synced: Task = asyncio.ensure_future(all_synced(reflectors))
    await asyncio.wait((synced, *running), return_when=asyncio.FIRST_COMPLETED)
    for task in running:
        if task.done():
            synced.cancel()
            task.result()
    await synced


async def all_synced(reflectors: Sequence[Reflector[Any]]) -> None:
    for reflector in reflectors:
        await reflector.synced.wait()


async def waited(stop: asyncio.Event, running: Sequence[Task], span: float) -> tuple[str, ...]:
    """Warnings, where the watch broke before its time."""
    asked: Task = asyncio.ensure_future(stop.wait())
    began = time.monotonic()
    await asyncio.wait((asked, *running), timeout=span, return_when=asyncio.FIRST_COMPLETED)
    asked.cancel()
    for task in running:
        if task.done() and (error := task.exception()) is not None:
            if not isinstance(error, KubeError):
                raise error
            return (f"the watch ended after {duration(time.monotonic() - began)}: {error}",)
    return ()


class Feed:
    """The end of one list or watch."""

    def __init__(self, observer: Observer, source: AuditedResource) -> None:
        self._observer, self._source = observer, source

    def put(self, item: Object, at: float | None = None) -> None:
        try:
            self._observer.see(item, time.time() if at is None else at)
        except ValueError as problem:
            # Amounts that no cluster has, for instance. One object must not stop the others.
            name = printable(key_of(item.metadata))
            log.warning("%s %s cannot be counted: %s", self._source.resource.kind, name, problem)

    def gone(self, key: str) -> None:
        self._observer.gone(self._source.kind, key, time.time())

    def settled(self) -> None:
        pass
