"""What the server holds: objects, the version of each, and the recent changes that watches are told from.

One event loop writes and reads it, and no write waits in between, so each is a transaction.
"""

import asyncio
from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from maitred.sandbox.apiserver.schema.types import Body

REMEMBERED = 20_000
"""Changes of one kind that a watch can still be told; one that is further behind has to list again."""
VIVID = 1_000
"""The last changes, which most watches are about to be told: of what they replaced, the bodies are kept."""

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


class Key(NamedTuple):
    namespace: str
    """Empty for what belongs to no namespace."""
    name: str


class Item:
    """One object at one version. Neither its body nor its bytes ever change."""

    __slots__ = ("_body", "key", "raw", "version")

    def __init__(self, key: Key, version: int, body: Body, raw: bytes) -> None:
        self.key = key
        self.version = version
        self.raw = raw
        self._body: Body | None = body

    @property
    def body(self) -> Body:
        return self.fresh() if self._body is None else self._body

    def fade(self) -> None:
        """Keep the bytes only. A body takes several times their memory, and the collector's time besides."""
        self._body = None

    def fresh(self) -> Body:
        """A copy that may be changed. Decoding is several times as fast as copying dicts."""
        copy: Body = decode(self.raw)
        return copy


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    version: int
    before: Item | None
    after: Item | None
    """Of a deletion: None."""
    last: Item
    """The object after the change, or as it was deleted, with the version of the deletion."""

    def fade(self) -> None:
        if self.before is not None:
            self.before.fade()
        if self.after is None:
            self.last.fade()


@dataclass(slots=True)
class History:
    """Changes in order. Positions count all that ever were, so they stay true when old ones are forgotten."""

    changes: list[Change] = field(default_factory=list)
    forgotten: int = 0
    since: int = 0
    """A watch from this version on misses nothing."""

    @property
    def end(self) -> int:
        return self.forgotten + len(self.changes)

    def add(self, change: Change) -> None:
        self.changes.append(change)
        if len(self.changes) > VIVID:
            self.changes[-VIVID].fade()
        if len(self.changes) >= 2 * REMEMBERED:
            self.forget(REMEMBERED)

    def forget(self, count: int) -> None:
        if count:
            self.since = self.changes[count - 1].version
            self.forgotten += count
            del self.changes[:count]

    def position_after(self, version: int) -> int:
        """Where the changes after this version begin."""
        low, high = 0, len(self.changes)
        while low < high:
            middle = (low + high) // 2
            if self.changes[middle].version <= version:
                low = middle + 1
            else:
                high = middle
        return self.forgotten + low

    def following(self, position: int, most: int) -> list[Change] | None:
        """At most so many changes from a position on; None if some of them are forgotten."""
        if position < self.forgotten:
            return None
        begin = position - self.forgotten
        return self.changes[begin : begin + most]


class Shelf:
    """All objects of one kind."""

    def __init__(self) -> None:
        self.history = History()
        self._items: dict[Key, Item] = {}
        self._order: list[tuple[str, Key]] = []
        self._ordered: list[Item] | None = None
        self._bell = asyncio.Event()
        self._listeners: list[Callable[[Change], None]] = []

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items.values())

    def get(self, key: Key) -> Item | None:
        return self._items.get(key)

    def ordered(self) -> list[Item]:
        """By namespace and name. The list is never changed, so a reader of pages may keep it."""
        if self._ordered is None:
            self._ordered = [self._items[key] for _, key in self._order]
        return self._ordered

    def listen(self, listener: Callable[[Change], None]) -> None:
        """Be told of every change, within the write."""
        self._listeners.append(listener)

    def record(self, change: Change) -> None:
        key, place = change.last.key, place_of(change.last.key)
        if change.after is None:
            del self._items[key]
            del self._order[bisect_left(self._order, place)]
        else:
            self._items[key] = change.after
            if change.before is None:
                insort(self._order, place)
        self._ordered = None
        self.history.add(change)
        for listener in self._listeners:
            listener(change)
        bell, self._bell = self._bell, asyncio.Event()
        bell.set()

    async def changed(self) -> None:
        """The next change after this call."""
        await self._bell.wait()


class Store:
    def __init__(self) -> None:
        self.version = 1
        """Of the newest change; every change has one of its own."""
        self._shelves: dict[str, Shelf] = {}

    def shelf(self, name: str) -> Shelf:
        found = self._shelves.get(name)
        if found is None:
            found = self._shelves[name] = Shelf()
        return found

    def put(self, shelf: Shelf, key: Key, body: Body) -> Item:
        """Store a new object, or one in place of its older self."""
        self.version += 1
        item = sealed(key, self.version, body)
        shelf.record(Change(self.version, shelf.get(key), item, item))
        return item

    def remove(self, shelf: Shelf, item: Item) -> Item:
        """Forget an object; it is told of for the last time as it was, with the version at which it went."""
        self.version += 1
        last = sealed(item.key, self.version, item.fresh())
        shelf.record(Change(self.version, item, None, last))
        return last

    def forget_history(self) -> None:
        """As after a restart: whoever watches has to list again."""
        for shelf in self._shelves.values():
            shelf.history.forget(len(shelf.history.changes))
            shelf.history.since = self.version


def place_of(key: Key) -> tuple[str, Key]:
    """In order. By the text: etcd, where the real server keeps objects, puts "a-b/x" before "a/x"."""
    return "/".join(key), key


def sealed(key: Key, version: int, body: Body) -> Item:
    body["metadata"]["resourceVersion"] = str(version)
    return Item(key, version, body, encode(body))
