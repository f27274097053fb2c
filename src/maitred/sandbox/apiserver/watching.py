"""Watches: changes as they happen, from any version that is still remembered.

A watch has no queue of its own. It reads the shelf's history from a position, a chunk at a time and the next
one when its client has taken the last, so a thousand watches cost little more memory than one. One that
cannot keep up finds that its position is forgotten, and ends.
"""

import asyncio
import secrets
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from maitred.sandbox.apiserver import refusals
from maitred.sandbox.apiserver.call import truth
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.lists import Question, check_version, number, question, wanted
from maitred.sandbox.apiserver.refusals import Refusal
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.store import Change, Item, Shelf, Store, encode

BATCH = 500
"""Changes that are put into one write; then others get their turn."""
CHUNK = 2**16
"""Bytes after which a write takes no more of them."""
BOOKMARK_SECONDS = 60.0
WATCH_SECONDS = (1800, 3600)
"""How long a watch lasts whose client names no time; at random, so that not all come back at once."""
INITIAL_EVENTS_END = "k8s.io/initial-events-end"

Show = Callable[[Item], bytes]
"""An object as the watch wants to see it: whole, or as a table, or in another version."""


@dataclass(frozen=True, slots=True)
class Watch:
    asked: Question
    seconds: int
    has_bookmarks: bool
    is_list: bool
    """Whether it begins with all there is, and says where that ends."""


def watch_of(kind: Kind, namespace: str, params: Mapping[str, str]) -> Watch:
    plain = {key: value for key, value in params.items() if key not in ("limit", "continue")}
    return Watch(
        question(kind, namespace, plain),
        number(params.get("timeoutSeconds", "")) or secrets.SystemRandom().randint(*WATCH_SECONDS),
        truth(params.get("allowWatchBookmarks", "")),
        truth(params.get("sendInitialEvents", "")),
    )


class Stream:
    """The events of one watch, as lines."""

    def __init__(self, store: Store, kind: Kind, watch: Watch, show: Show) -> None:
        self._store = store
        self._kind = kind
        self._watch = watch
        self._show = show
        self._shelf: Shelf = store.shelf(kind.shelf)

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """Until its time is over. What comes together is one chunk."""
        try:
            async with asyncio.timeout(self._watch.seconds):
                async for chunk in self._endless():
                    yield chunk
        except TimeoutError:
            return

    async def _endless(self) -> AsyncIterator[bytes]:
        check_version(self._watch.asked.version, self._store.version)
        version = int(self._watch.asked.version or 0)
        if self._watch.is_list or not version:
            position = self._shelf.history.end
            for chunk in self._everything():
                yield chunk
                await asyncio.sleep(0)
        elif version < self._shelf.history.since:
            text = f"too old resource version: {version} ({self._shelf.history.since})"
            yield error_line(refusals.expired(text))
            return
        else:
            position = self._shelf.history.position_after(version)
        async for chunk in self._changes(position):
            yield chunk

    def _everything(self) -> Iterator[bytes]:
        """All there is now, as if it had just been added, and perhaps a mark where that ends."""
        version, items = self._store.version, self._shelf.ordered()
        yield from chunks(self._line(b"ADDED", item) for item in items if wanted(item, self._watch.asked))
        if self._watch.is_list and self._watch.has_bookmarks:
            yield self._bookmark(version, {INITIAL_EVENTS_END: "true"})

    async def _changes(self, position: int) -> AsyncIterator[bytes]:
        loop = asyncio.get_running_loop()
        bookmark_at = loop.time() + BOOKMARK_SECONDS
        while True:
            changes = self._shelf.history.following(position, BATCH)
            if changes is None:
                return
            position += len(changes)
            for chunk in chunks(map(self._event, changes)):
                if chunk:
                    yield chunk
                await asyncio.sleep(0)
            if not changes and not await self._changed_by(bookmark_at):
                bookmark_at = loop.time() + BOOKMARK_SECONDS
                if self._watch.has_bookmarks:
                    yield self._bookmark(self._store.version, {})

    async def _changed_by(self, moment: float) -> bool:
        try:
            async with asyncio.timeout_at(moment):
                await self._shelf.changed()
        except TimeoutError:
            return False
        return True

    def _event(self, change: Change) -> bytes:
        """An object that comes to match is added to what this watch sees, one that ceases to is deleted."""
        asked = self._watch.asked
        was = change.before is not None and wanted(change.before, asked)
        if change.after is not None and wanted(change.after, asked):
            return self._line(b"MODIFIED" if was else b"ADDED", change.after)
        return self._line(b"DELETED", last_seen(change)) if was else b""

    def _line(self, name: bytes, item: Item) -> bytes:
        return b'{"type":"%b","object":%b}\n' % (name, self._show(item))

    def _bookmark(self, version: int, annotations: dict[str, str]) -> bytes:
        meta: Body = {"resourceVersion": str(version)}
        if annotations:
            meta["annotations"] = annotations
        body: Body = {"kind": self._kind.name, "apiVersion": self._kind.api_version, "metadata": meta}
        return b'{"type":"BOOKMARK","object":%b}\n' % encode(body)


def chunks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines put together, as many as make up one write. No more of them are made than have been asked for."""
    held, size = list[bytes](), 0
    for line in lines:
        held.append(line)
        size += len(line)
        if len(held) == BATCH or size >= CHUNK:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def last_seen(change: Change) -> Item:
    """What left the sight of a watch is shown as it was, with the version at which it left."""
    if change.after is None or change.before is None:
        return change.last
    body = change.before.fresh()
    body["metadata"]["resourceVersion"] = str(change.version)
    return Item(change.before.key, change.version, body, encode(body))


def error_line(refusal: Refusal) -> bytes:
    return b'{"type":"ERROR","object":%b}\n' % encode(refusal.body())
