"""What the server holds, kept once for all controllers: a cache for each resource, and its listeners."""

import asyncio
from collections.abc import Callable, Collection, Iterable
from typing import Any, Generic, TypeVar

from maitred.kube.client import Client
from maitred.kube.errors import ApiError
from maitred.kube.reflector import Reflector
from maitred.kube.resources import Resource
from maitred.sandbox.housekeeping.objects import Meta, WithMeta

T = TypeVar("T", bound=WithMeta)
Told = Callable[[T | None, T | None], None]


def key_of(metadata: Meta) -> str:
    return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


class CachedKind(Generic[T]):
    """All objects of one resource, by key. Listeners hear of each as it was and as it is; None: not there."""

    def __init__(self, resource: Resource) -> None:
        self.resource = resource
        self.items: dict[str, T] = {}
        self._listeners: list[Told[T]] = []

    def listen(self, told: Told[T]) -> None:
        self._listeners.append(told)

    def put(self, item: T) -> None:
        key = key_of(item.metadata)
        known = self.items.get(key)
        if known is None or not is_older(item.metadata, known.metadata):
            self._change(key, known, item)

    def gone(self, key: str) -> None:
        known = self.items.pop(key)
        for told in self._listeners:
            told(known, None)

    def settled(self) -> None:
        """Each change is told at once."""

    def learn(self, item: T) -> None:
        """The answer to a write of ours, which may come before the watch tells of it.

        An object that is not here, or no longer, stays away: the watch alone says what exists.
        """
        key = key_of(item.metadata)
        known = self.items.get(key)
        if known is not None and known.metadata.uid == item.metadata.uid:
            self.put(item)

    def _change(self, key: str, known: T | None, item: T) -> None:
        self.items[key] = item
        for told in self._listeners:
            told(known, item)


def is_older(one: Meta, other: Meta) -> bool:
    """Of the same object. Versions are numbers that grow, in all servers since 1.35 by promise."""
    return one.uid == other.uid and int(one.resource_version or 0) < int(other.resource_version or 0)


class Index(Generic[T]):
    """The objects of a shelf by something that they name."""

    def __init__(self, shelf: CachedKind[T], named: Callable[[T], str | None]) -> None:
        self._named = named
        self._found: dict[str, dict[str, T]] = {}
        shelf.listen(self._told)

    def __getitem__(self, name: str) -> Collection[T]:
        return self._found.get(name, {}).values()

    def _told(self, old: T | None, new: T | None) -> None:
        if old is not None and (name := self._named(old)) is not None:
            found = self._found[name]
            del found[key_of(old.metadata)]
            if not found:
                del self._found[name]
        if new is not None and (name := self._named(new)) is not None:
            self._found.setdefault(name, {})[key_of(new.metadata)] = new


class ObjectCache:
    """One watch per resource. A resource that the server does not serve has a shelf that stays empty."""

    def __init__(self, client: Client, served: Iterable[Resource]) -> None:
        self._client = client
        self._served = set(served)
        self._shelves: dict[Resource, CachedKind[Any]] = {}
        self._reflectors: asyncio.Queue[Reflector[Any]] = asyncio.Queue()
        self._synced: list[asyncio.Event] = []

    def has(self, resource: Resource) -> bool:
        return resource in self._served

    def shelf(self, resource: Resource, into: type[T]) -> CachedKind[T]:
        """Everyone who asks for a resource gets the same shelf; the first to ask says how it is read."""
        found = self._shelves.get(resource)
        if found is None:
            found = self._shelves[resource] = CachedKind[T](resource)
            if self.has(resource):
                reflector = Reflector(self._client, resource, into, found)
                self._reflectors.put_nowait(reflector)
                self._synced.append(reflector.synced)
        return found

    def add(self, resource: Resource, into: type[T]) -> CachedKind[T] | None:
        """A shelf for what is served since a moment ago; None if there is one."""
        if resource in self._shelves:
            return None
        self._served.add(resource)
        return self.shelf(resource, into)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            while True:
                tasks.create_task(self._reflect(await self._reflectors.get()))

    async def _reflect(self, reflector: Reflector[Any]) -> None:
        """A resource that is no longer served is left alone: it has no objects any more."""
        try:
            await reflector.run()
        except ApiError as error:
            if not (error.is_gone and reflector.synced.is_set()):
                raise

    async def synced(self) -> None:
        """All that was there in the beginning is known."""
        for known in self._synced:
            await known.wait()
