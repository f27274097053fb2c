"""What the state was told, line by line, for those who make the same state again elsewhere.

The latest line of every object is kept, so that a reader can begin at any moment: the record of a scheduler
begins a segment with all of them, and the process that answers questions begins with all of them when it
starts. Each object is written out once, however many read it.
"""

import time
from collections.abc import Iterator
from typing import Protocol

import msgspec

from maitred.cluster.state import Change, Delete, Depart, Put
from maitred.model.kinds import row_of
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.recording import Came, Gone, Leaving, encode, recorded

Subject = tuple[str, str]
"""What a line is about: a kind and `namespace/name`, or LEAVING and a pod."""
LEAVING = "Leaving"


class LineReader(Protocol):
    def note(self, subject: Subject, line: bytes) -> None:
        """On the event loop. A later line about a subject makes the earlier ones superfluous."""


class ChangeLines:
    """The journal of a ClusterState, of one term: a new term reads the cluster anew."""

    def __init__(self) -> None:
        self._known: dict[Subject, bytes] = {}
        self._leaving: dict[Subject, bytes] = {}
        """What was said of pods since they were last put."""
        self.readers: list[LineReader] = []

    def lines(self) -> Iterator[bytes]:
        """All that is known, in an order in which it can be told."""
        yield from self._known.values()
        yield from self._leaving.values()

    def note(self, change: Change) -> None:
        if isinstance(change, Put):
            self._put(change.object)
        elif isinstance(change, Delete):
            self._delete(change.kind, change.key)
        else:
            self._depart(change)

    def _put(self, item: Object) -> None:
        kind, bare = recorded(item)
        key = key_of(item.metadata)
        line = self._known[kind, key] = encode(Came(kind, msgspec.Raw(encode(bare)), time.time()))
        if kind == "Pod":
            self._leaving.pop((LEAVING, key), None)
        self._tell((kind, key), line)

    def _delete(self, kind: type[Object], key: str) -> None:
        name = row_of(kind).title
        subject = (name, key if "/" in key else f"default/{key}")
        self._known.pop(subject, None)
        if name == "Pod":
            self._leaving.pop((LEAVING, key), None)
        self._tell(subject, encode(Gone(name, key, time.time())))

    def _depart(self, change: Depart) -> None:
        subject = (LEAVING, change.pod)
        line = self._leaving[subject] = encode(Leaving(change.pod, change.uid, change.leaving))
        self._tell(subject, line)

    def _tell(self, subject: Subject, line: bytes) -> None:
        for reader in self.readers:
            reader.note(subject, line)
