"""Requests that pods move: because nodes are to be empty for maintenance, or so that a group that waits finds
room. And what has become of each.

A request is a ConfigMap in the namespace of maitred with the label `maitred.dev/record: drain`, written by
whoever may write there. The scheduler that leads adds what it has done about it. What cannot be read counts
for nothing, and is said.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Literal

import msgspec

from maitred.model.memory import CONTENT, HOME, LONGEST, MemoryObject
from maitred.model.meta import CUT_TO, Lean, ObjectMeta, Timestamp
from maitred.model.selector import Labels
from maitred.model.times import after
from maitred.model.words import counted, moment

RECORD, DRAIN = "maitred.dev/record", "drain"
PREFIX = "maitred-drain-"
PROGRESS = "progress"
"""The entry of the ConfigMap that the scheduler writes; `CONTENT` is the request."""
MAINTENANCE: Literal["Maintenance"] = "Maintenance"
"""The cause of evictions for a request."""
DEFRAG = "defrag"
"""What requests are called that make room."""
MOST_REQUESTS, MOST_NODES, MOST_MOVES, MOST_MADE, MOST_UNITS = 100, 5_000, 2_000, 100, 100
KEPT = timedelta(hours=1)
"""How long what is done is shown."""
LONGEST_NAME = 200
NAMES_SHOWN = 3
Name = Annotated[str, msgspec.Meta(min_length=1, max_length=512)]


class Making(Lean, frozen=True, omit_defaults=False):
    """Room for one group that waits, by moving others: groups as a whole, or pods."""

    group: Name
    units: Annotated[tuple[Name, ...], msgspec.Meta(min_length=1, max_length=MOST_UNITS)]


class DrainRequest(Lean, frozen=True, omit_defaults=False):
    """Nodes by name, or all that have a label; or room that is to be made."""

    by: Timestamp
    """When the last pod is to be gone; who makes room moves until then, or not at all."""
    asked: Timestamp
    nodes: Annotated[tuple[Name, ...], msgspec.Meta(max_length=MOST_NODES)] = ()
    label: Annotated[str, msgspec.Meta(max_length=512)] = ""
    value: Annotated[str, msgspec.Meta(max_length=512)] = ""
    cordon: bool = True
    """The nodes are closed to every scheduler before the first pod is told to leave."""
    force: bool = False
    """Pods that nobody makes anew leave too."""
    room: Annotated[tuple[Making, ...], msgspec.Meta(max_length=MOST_MADE)] = ()

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()

    @property
    def where(self) -> str:
        """`node n1`, `nodes n1, n2 and 3 more`, `rack=r7`, or `room for default/llama`."""
        if self.label:
            return f"{self.label.rpartition('/')[2]}={self.value}"
        names = tuple(one.group for one in self.room) or self.nodes
        more = len(names) - NAMES_SHOWN
        named = ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if more > 0 else "")
        return f"room for {named}" if self.room else f"{'node' if len(names) == 1 else 'nodes'} {named}"

    def means(self, node: str, labels: Labels) -> bool:
        return labels.get(self.label) == self.value if self.label else node in self.nodes


class MovedGroup(Lean, frozen=True, omit_defaults=False):
    key: Name
    """As it is decided,"""
    source: tuple[str, str, str]
    """and as the state knows it: what it comes from, its key, the UID of its owner."""


class DrainMove(Lean, frozen=True, omit_defaults=False):
    """Pods were told to leave together."""

    unit: Name
    begun: Timestamp
    pods: int
    uids: tuple[str, ...] = ()
    """Of some of these pods: others of the same name come later."""
    groups: tuple[MovedGroup, ...] = ()
    """For which room is kept until they are back."""
    held_until: Timestamp | None = None
    """At most so long; None if there was no place for them."""
    work_lost_device_hours: float = 0.0
    ended: Timestamp | None = None
    how: str = ""

    @property
    def is_open(self) -> bool:
        return self.ended is None


class DrainProgress(Lean, frozen=True, omit_defaults=False):
    moves: Annotated[tuple[DrainMove, ...], msgspec.Meta(max_length=MOST_MOVES)] = ()
    done: Timestamp | None = None
    """When nobody was left."""
    left: int = 0
    """Pods that are still to leave."""
    staying: tuple[str, ...] = ()
    """Some of those that do not leave by themselves, and why."""

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()


NOT_BEGUN = DrainProgress()


@dataclass(frozen=True, slots=True)
class Drain:
    """A request, and what has become of it."""

    name: str
    request: DrainRequest
    progress: DrainProgress = NOT_BEGUN

    @property
    def key(self) -> str:
        """What its evictions are for."""
        return f"{DEFRAG if self.request.room else DRAIN}/{self.name}"

    @property
    def words(self) -> str:
        """Why its nodes take no pods: they are ..."""
        return f"being drained by request {self.name} until {_said(self.request.by)}"

    @property
    def is_done(self) -> bool:
        return self.progress.done is not None

    def is_over(self, now: datetime) -> bool:
        """Whether the request need not be kept any more."""
        done = self.progress.done
        return done is not None and after(max(done, self.request.by), KEPT) <= now


def makes_room(key: str) -> bool:
    """Whether a request, by its key, is one to make room."""
    return key.startswith(f"{DEFRAG}/")


def drains_of(kept: Iterable[MemoryObject]) -> tuple[tuple[Drain, ...], tuple[str, ...]]:
    """All requests, by name; and what is wrong with those that count for nothing."""
    found, unread = list[Drain](), list[str]()
    for one in sorted(_requests(kept), key=lambda one: one.metadata.name):
        drain = drain_of(one)
        if isinstance(drain, str):
            unread.append(drain)
        elif len(found) < MOST_REQUESTS:
            found.append(drain)
        else:
            unread.append(f"drain request {drain.name} is ignored: there are more than {MOST_REQUESTS}")
    return tuple(found), tuple(unread[:NAMES_SHOWN])


def _requests(kept: Iterable[MemoryObject]) -> Iterator[MemoryObject]:
    for one in kept:
        if one.metadata.labels.get(RECORD) == DRAIN and one.metadata.namespace == HOME:
            yield one


def drain_of(kept: MemoryObject) -> Drain | str:
    """What is wrong with it, if it cannot be read."""
    name = kept.metadata.name.removeprefix(PREFIX)
    said = f"drain request {name[:CUT_TO]} is ignored: "
    text, progress = kept.data.get(CONTENT, ""), kept.data.get(PROGRESS, "")
    if not text or len(text) > LONGEST:
        return f"{said}its entry {CONTENT} is {'too long' if text else 'missing'}"
    try:
        request = msgspec.json.decode(text, type=DrainRequest)
    except (msgspec.DecodeError, UnicodeEncodeError) as error:
        return f"{said}{error}"
    if sum(map(bool, (request.nodes, request.label, request.room))) != 1:
        return f"{said}it must name nodes, or a label, or room to make, and only one of these"
    return Drain(name, request, progress_of(progress))


def progress_of(text: str) -> DrainProgress:
    """What cannot be read is as if nothing had begun: what the cluster shows is known all the same."""
    if not text or len(text) > LONGEST:
        return NOT_BEGUN
    try:
        return msgspec.json.decode(text, type=DrainProgress)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return NOT_BEGUN


def drain_object(drain: Drain, namespace: str = HOME) -> MemoryObject:
    meta = ObjectMeta(name=f"{PREFIX}{drain.name}", namespace=namespace, labels={RECORD: DRAIN})
    return MemoryObject(meta, drain_data(drain))


def drain_data(drain: Drain) -> dict[str, str]:
    begun = {} if drain.progress == NOT_BEGUN else {PROGRESS: str(drain.progress)}
    return {CONTENT: str(drain.request), **begun}


def drain_name(request: DrainRequest) -> str:
    """From what it is about and its time, so that the same request twice is one request."""
    names = request.nodes or (DEFRAG,)  # whom there is to be room for is not everybody's to know
    first = request.value if request.label else names[0]
    more = f"-and-{len(names) - 1}" if len(names) > 1 else ""
    plain = re.sub(r"[^a-z0-9.-]+", "-", first.lower())[:LONGEST_NAME].strip("-.")
    return f"{plain or 'nodes'}{more}-{request.by:%Y%m%d-%H%M}"


def drain_at(drains: Sequence[Drain], node: str, labels: Labels) -> Drain | None:
    """The request that a node is meant by: of several, the one whose time comes first."""
    found = [one for one in drains if one.request.means(node, labels)]
    return min(found, key=lambda one: (one.request.by, one.name), default=None)


def begun_words(drain: Drain) -> str:
    """How far it is."""
    progress = drain.progress
    if progress.done is not None:
        return f"done since {_said(progress.done)}"
    moved = sum(move.pods for move in progress.moves)
    told = f"{counted(moved, 'pod')} {'was' if moved == 1 else 'were'} told to leave"
    return f"{told}, {counted(progress.left, 'pod')} left" if moved or progress.left else "not begun"


def _said(time: datetime) -> str:
    return moment(int(time.timestamp()))


ByNode = Mapping[int, Drain]
"""Requests, by the rows of nodes."""
