"""A copy of one resource that is kept up to date: a list, then the changes to it, for ever.

Nothing of an object is kept here but its key and UID. They are what it takes to tell, after a gap, which
objects have vanished meanwhile and which were replaced by others of the same name.
"""

import asyncio
import logging
import time
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Generic, Literal, Protocol, TypeVar

import msgspec

from maitred.kube.client import LONGEST_PAUSE, Client, Params, pause
from maitred.kube.errors import ApiError, ConfigError, KubeError, Unreachable
from maitred.kube.jitter import jitter
from maitred.kube.nesting import UNREADABLE, decode
from maitred.kube.resources import Resource
from maitred.kube.wire import look_again
from maitred.model.meta import Lean, ObjectMeta

log = logging.getLogger(__name__)

WATCH_SECONDS = (240, 480)
"""How long a watch is asked to last; at random, so that watches do not all come back at the same time."""
GRACE_SECONDS = 30.0
"""How much later than that a server that is alive has ended the watch."""
SILENT_SECONDS = 120.0
"""A server that sends bookmarks sends one a minute."""
PAGE = 500
LIST_SECONDS = 120.0
SLICE = 100
"""So many objects are handed over before others get their turn on the event loop."""
REFUSALS = 8
"""A refusal may pass, for instance while a server starts. One that outlasts so many attempts will not."""

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
CANNOT_STREAM = (400, 405, 406, 415, 422)
WATCH = {"watch": "true", "allowWatchBookmarks": "true"}
STREAMED_LIST = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan"}
_EVERYTHING: Params = {}


class Kept(Protocol):
    """Any object of the API."""

    @property
    def metadata(self) -> ObjectMeta: ...


S = TypeVar("S")
T = TypeVar("T", bound=Kept)
T_contra = TypeVar("T_contra", contravariant=True)


class Sink(Protocol[T_contra]):
    """Where objects go. All three are called on the event loop and must be quick."""

    def put(self, item: T_contra, /) -> None:
        """This object is new, or has changed, or is told again."""

    def gone(self, key: str, /) -> None:
        """The object of this key (`namespace/name`, or the name alone), put before, is no more."""

    def settled(self) -> None:
        """All that came together has been told: a good moment to act on it."""


@dataclass(slots=True)
class Counts:
    """What a reflector has done so far."""

    lists: int = 0
    watches: int = 0
    events: int = 0


class HeadMeta(Lean, frozen=True):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    annotations: dict[str, Any] | None = None


class ObjectHead(Lean, frozen=True):
    """What can be read of any object, and all that a deletion or a bookmark has to say."""

    metadata: HeadMeta


class WatchEvent(Lean, frozen=True):
    type: Literal["ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"]
    object: msgspec.Raw


class WatchError(Lean, frozen=True):
    """The Status that an ERROR event carries."""

    code: int = 500
    reason: str = ""
    message: str = ""


class ListMeta(Lean, frozen=True):
    resource_version: str = ""
    rest: str = msgspec.field(default="", name="continue")


class ListPage(Lean, frozen=True):
    metadata: ListMeta
    items: list[msgspec.Raw] | None = None


_HEAD = msgspec.json.Decoder(ObjectHead)
_EVENT = msgspec.json.Decoder(WatchEvent)
_PROBLEM = msgspec.json.Decoder(WatchError)


class Reflector(Generic[T]):
    """Keeps a sink equal to what the server has of one resource.

    `selector` has the query parameters that narrow it (`labelSelector`, `fieldSelector`). A list comes in
    pages, which cost a server half as much time as a stream of events does; `streaming` asks for the stream.
    """

    def __init__(
        self,
        client: Client,
        resource: Resource,
        into: type[T],
        sink: Sink[T],
        *,
        namespace: str = "",
        selector: Params = _EVERYTHING,
        streaming: bool = False,
    ) -> None:
        self.name = f"{resource} in {namespace}" if namespace else str(resource)
        self.synced = asyncio.Event()
        """Set when the first list is complete."""
        self.counts = Counts()
        self.unreadable = set[str]()
        """Keys of objects that cannot be read, or only in part."""
        self._client = client
        self._path = resource.path(namespace)
        self._namespaced = resource.namespaced
        self._into = into
        self._decoder = msgspec.json.Decoder(into)
        self._sink = sink
        self._selector = selector
        self._streaming = streaming
        self._known: dict[str, str] = {}
        self._listed: set[str] | None = None
        """The keys that a list under way has told so far; None when there is none."""
        self._version = ""
        """Where the next watch goes on from; empty when there must be a list first."""
        self._bookmarks = False
        self._attempt = 0
        self._refusals = 0

    async def run(self) -> None:
        """Returns by cancellation only; raises what no patience can help, such as a missing permission."""
        while True:
            began, asked = time.monotonic(), None
            try:
                if not self._version and not self._streaming:
                    await self._list()
                await self._watch()
                log.info("%s: the server ended the watch", self.name)
            except ApiError as error:
                self._weigh(error)
                asked = error.retry_after
            except ConfigError as error:
                self._bear(error)
            except KubeError as error:
                log.warning("%s: %s", self.name, error)
            if self._listed is None and time.monotonic() - began > LONGEST_PAUSE:
                self._attempt = 0
            await asyncio.sleep(pause(self._attempt, asked))
            self._attempt += 1

    def _weigh(self, error: ApiError) -> None:
        """What to do after a refusal: list anew, list in another way, try again, or give up."""
        if error.is_expired:
            log.info("%s: listing again: %s", self.name, error)
            self._version = ""
        elif error.is_passing:
            log.warning("%s: %s", self.name, error)
        elif self._streaming and not self._version and error.status in CANNOT_STREAM:
            log.info("%s: listing in pages: %s", self.name, error)
            self._streaming = False
        else:
            self._bear(error)

    def _bear(self, error: KubeError) -> None:
        """What should not have been refused is borne for a while."""
        self._refusals += 1
        if self._refusals == REFUSALS:
            raise error
        if self._refusals == 1:
            log.warning("%s: %s", self.name, error)

    # -- lists -----------------------------------------------------------------------------------------

    async def _list(self) -> None:
        """In pages of one moment. Where that moment is forgotten too soon, anew in fewer and larger ones."""
        limit = PAGE
        while True:
            self._listed = set()
            try:
                self._version = await self._list_pages(limit)
                break
            except ApiError as error:
                if not (error.is_expired and self._listed):
                    raise
                log.info("%s: the list expired before it was complete, starting again: %s", self.name, error)
                limit *= 10
        self._complete()

    async def _list_pages(self, limit: int) -> str:
        """The version of the list. While one page is told, the next is on its way."""
        page = await self._page(limit, "")
        while page.metadata.rest:
            following = asyncio.ensure_future(self._page(limit, page.metadata.rest))
            try:
                await self._take_page(page.items or [])
                page = await following
            finally:
                following.cancel()
        await self._take_page(page.items or [])
        return page.metadata.resource_version

    async def _page(self, limit: int, rest: str) -> ListPage:
        params = {**self._selector, "limit": str(limit), **({"continue": rest} if rest else {})}
        return await self._client.get(self._path, ListPage, params=params, seconds=LIST_SECONDS)

    async def _take_page(self, items: list[msgspec.Raw]) -> None:
        for start in range(0, len(items), SLICE):
            for item in items[start : start + SLICE]:
                self._put(item)
            await asyncio.sleep(0)
        self._sink.settled()

    def _complete(self) -> None:
        """The list is whole: what it did not tell is no more."""
        listed, self._listed = self._listed or set(), None
        for key in [key for key in self._known if key not in listed]:
            self._forget(key)
        self.unreadable &= listed
        self.counts.lists += 1
        self.synced.set()
        self._sink.settled()
        log.info("%s: listed %d", self.name, len(self._known))

    # -- watches ---------------------------------------------------------------------------------------

    async def _watch(self) -> None:
        """One watch, with the list before it where there is none to go on from."""
        seconds = jitter.randint(*WATCH_SECONDS)
        clock = asyncio.get_running_loop().time
        end = clock() + seconds + GRACE_SECONDS
        self._listed = None if self._version else set()
        self._bookmarks = False
        self.counts.watches += 1
        stream = self._client.lines(self._path, params=self._watch_params(seconds))
        try:
            async with asyncio.timeout_at(end) as silence, aclosing(stream) as batches:
                async for lines in batches:
                    self._take(lines)
                    if self._bookmarks:
                        silence.reschedule(min(end, clock() + SILENT_SECONDS))
        except TimeoutError:
            raise Unreachable(f"GET {self._path}: the watch went silent") from None

    def _watch_params(self, seconds: int) -> Params:
        start = {"resourceVersion": self._version} if self._version else STREAMED_LIST
        return {**self._selector, **start, **WATCH, "timeoutSeconds": str(seconds)}

    def _take(self, lines: list[bytes]) -> None:
        """What came together. However far it goes well, the next watch goes on from there."""
        was_listing, events, last = self._listed is not None, self.counts.events, None
        try:
            for line in lines:
                event = self._understood(_EVENT, line)
                self._apply(event)
                last = event.object
        finally:
            if last is not None and self._listed is None:
                self._version = self._head(last).resource_version or self._version
            if self.counts.events > events:
                self._sink.settled()
        if not was_listing:
            self._attempt = self._refusals = 0

    def _apply(self, event: WatchEvent) -> None:
        if event.type in ("ADDED", "MODIFIED"):
            self._put(event.object)
        elif event.type == "DELETED":
            self.counts.events += 1
            key = self._key(self._head(event.object))
            self.unreadable.discard(key)
            self._forget(key)
        elif event.type == "ERROR":
            problem = self._understood(_PROBLEM, event.object)
            raise ApiError("WATCH", self._path, problem.code, problem.reason, problem.message)
        elif INITIAL_EVENTS_END in (self._head(event.object).annotations or {}):
            self._complete()
        else:
            self._bookmarks = True

    # -- objects ---------------------------------------------------------------------------------------

    def _put(self, raw: msgspec.Raw) -> None:
        """What cannot be read at all is not there for us."""
        self.counts.events += 1
        item: T | None
        try:
            item, faults = decode(self._decoder, raw), ""
        except UNREADABLE:
            item, faults = look_again(raw, self._into)
        key = self._key(self._head(raw) if item is None else item.metadata)
        if faults or self.unreadable:
            self._note(key, faults, "is ignored" if item is None else "is read in part")
        if self._listed is not None:
            self._listed.add(key)
        if item is None or self._known.get(key) not in (None, item.metadata.uid):
            self._forget(key)
        if item is not None:
            self._known[key] = item.metadata.uid
            self._sink.put(item)

    def _note(self, key: str, faults: str, outcome: str) -> None:
        """Say once what cannot be read of an object."""
        if not faults:
            self.unreadable.discard(key)
        elif key not in self.unreadable:
            self.unreadable.add(key)
            log.warning("%s: %s %s, because it is not valid: %s", self.name, key, outcome, faults)

    def _forget(self, key: str) -> None:
        if self._known.pop(key, None) is not None:
            self._sink.gone(key)

    def _key(self, metadata: ObjectMeta | HeadMeta) -> str:
        return f"{metadata.namespace}/{metadata.name}" if self._namespaced else metadata.name

    def _head(self, raw: msgspec.Raw) -> HeadMeta:
        return self._understood(_HEAD, raw).metadata

    def _understood(self, decoder: "msgspec.json.Decoder[S]", data: bytes | msgspec.Raw) -> S:
        try:
            return decode(decoder, data)
        except UNREADABLE as error:
            raise Unreachable(f"GET {self._path}: the answer cannot be read: {error}") from None
