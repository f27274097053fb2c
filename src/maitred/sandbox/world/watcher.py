"""The floor of a cluster, kept up to date."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Any, Generic, TypeVar

from maitred.explain.floorplan import (
    ClusterFloor,
    Declared,
    FloorGroup,
    FloorPod,
    FloorVerdicts,
    floor_of,
    member_of,
    table_of,
)
from maitred.kube.client import Client
from maitred.kube.discovery import discover
from maitred.kube.reflector import Kept, Reflector
from maitred.kube.resources import NODES, PODS
from maitred.model.job import Job
from maitred.model.kinds import OPERATED
from maitred.model.meta import key_of
from maitred.model.node import Node
from maitred.model.objects import Object
from maitred.model.plan import GroupVerdict
from maitred.sandbox.companions import companions
from maitred.sandbox.place import SCHEDULER
from maitred.sandbox.world.local_service import NOT_OUTPOSTS
from maitred.sandbox.world.watched_devices import WatchedDevices

log = logging.getLogger(__name__)

OWNERS: tuple[type[Object], ...] = (Job, *(row.type for row in OPERATED))
"""What says which pods are one group, beside PodGroups of Kubernetes."""
LOOK_SECONDS = 0.5
"""How long a new verdict may stay unseen if no object changes with it."""

VerdictSource = Callable[[], Iterable[GroupVerdict]]
"""The last verdict of every group that waits."""

T = TypeVar("T", bound=Kept)
V = TypeVar("V")


class ChangeCounter:
    """Counts changes, for any number of people who wait for the next one."""

    def __init__(self) -> None:
        self.number = 0
        self._event = asyncio.Event()

    def tell(self) -> None:
        self.number += 1
        self._event.set()

    async def after(self, seen: int) -> int:
        while self.number == seen:
            self._event.clear()
            await self._event.wait()
        return self.number


class WorldWatcher:
    """`floor` is how things stand now, and `news` says when they may stand differently.

    The verdicts are those of the scheduler of the sandbox."""

    def __init__(self, verdicts: VerdictSource) -> None:
        self.news = ChangeCounter()
        self._verdicts = verdicts
        self._members = KeptObjects(member_of, self.news)
        self._nodes = KeptObjects(table_of, self.news)
        self._groups = KeptObjects[FloorGroup, FloorGroup](lambda group: group, self.news)
        self._devices = WatchedDevices(self.news.tell)
        self._owners = {kind: KeptObjects[Object, Object](lambda owner: owner, self.news) for kind in OWNERS}

    def floor(self) -> ClusterFloor:
        decided = FloorVerdicts(SCHEDULER, self._verdicts())
        declared = Declared(self._groups.kept, {kind: one.kept for kind, one in self._owners.items()})
        nodes, members = self._nodes.kept.values(), self._members.kept.values()
        return floor_of(nodes, members, declared, decided, self._devices.by_node())

    async def until(self, holds: Callable[[ClusterFloor], bool]) -> None:
        """Cancel it, or give it a timeout, for it to end before that."""
        seen = self.news.number
        while not holds(self.floor()):
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    seen = await self.news.after(seen)

    async def reflectors(self, client: Client) -> "list[Reflector[Any]]":
        found: list[Reflector[Any]] = [
            Reflector(client, NODES, Node, self._nodes),
            Reflector(client, PODS, FloorPod, self._members, selector=NOT_OUTPOSTS),
        ]
        served = await discover(client)
        if served.groups is not None:
            found.append(Reflector(client, served.groups, FloorGroup, self._groups))
        there = {kind: served.resources[kind] for kind in OWNERS if kind in served.resources}
        found += [Reflector(client, there[kind], kind, self._owners[kind]) for kind in there]
        for kind, sink in self._devices.sinks.items():
            if kind in served.resources:
                found.append(Reflector(client, served.resources[kind], kind, sink))
        return found


class KeptObjects(Generic[T, V]):
    """A sink that keeps what is made of each object, by its key."""

    def __init__(self, make: Callable[[T], V], news: ChangeCounter) -> None:
        self.kept: dict[str, V] = {}
        self._make = make
        self._news = news

    def put(self, item: T) -> None:
        key = key_of(item.metadata) if item.metadata.namespace else item.metadata.name
        try:
            self.kept[key] = self._make(item)
        except ValueError as problem:
            # Amounts that no cluster has, for instance. One object must not stop the others.
            self.kept.pop(key, None)
            log.warning("%s is not shown: %s", key, problem)

    def gone(self, key: str) -> None:
        self.kept.pop(key, None)

    def settled(self) -> None:
        self._news.tell()


@asynccontextmanager
async def watching(client: Client, verdicts: VerdictSource) -> AsyncIterator[WorldWatcher]:
    """A watcher that knows everything there was when it began."""
    watcher = WorldWatcher(verdicts)
    async with companions() as others:
        reflectors = await watcher.reflectors(client)
        for reflector in reflectors:
            others.start(reflector.run())
        for reflector in reflectors:
            await reflector.synced.wait()
        yield watcher
