"""An audit of what `maitred record` has written down: the objects of a cluster as they came and went."""

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from maitred.cli.replay import lines_of, segments_of
from maitred.explain.audit.observer import Observer
from maitred.explain.audit.seen import SeenPod
from maitred.explain.replay import NOT_ONE
from maitred.model import recording
from maitred.model.manifest import InputError
from maitred.model.objects import Object
from maitred.model.policy import Policy

READ_AS: dict[str, type[Object]] = {**recording.RECORDED, "Pod": SeenPod}


def read_records(records: Sequence[str], policy: Policy) -> tuple[Observer, datetime, tuple[str, ...]]:
    """What was seen, when the record ends, and warnings."""
    reading, warnings = RecordingReader(policy), list[str]()
    for path in segments_of(tuple(records)):
        for line in lines_of(path, warnings):
            reading.take(line, str(path))
    if reading.observer.watched_since is None:
        raise InputError(records[0], "", "", "has no lines")
    return reading.observer, datetime.fromtimestamp(reading.last, UTC), tuple(warnings)


class RecordingReader:
    """Takes lines one by one. Each segment begins with all that there is: what it leaves out is gone."""

    def __init__(self, policy: Policy) -> None:
        self.observer = Observer(policy)
        self.last = 0.0
        self._there = dict[tuple[str, str], bool]()
        """What there is, and whether the segment has told of it."""
        self._opened: float | None = None

    def take(self, data: bytes, source: str) -> None:
        try:
            line = recording.decode(data)
            if isinstance(line, recording.Opening):
                self._open(line)
            elif isinstance(line, recording.Came):
                self._came(line)
            elif isinstance(line, recording.Gone):
                self._gone(line.kind, line.key, line.at)
            elif isinstance(line, recording.Look):
                self._look(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, KeyError, ValueError) as error:
            raise InputError(source, "", "", f"{NOT_ONE}: {error}") from None

    def _open(self, line: recording.Opening) -> None:
        if self.observer.watched_since is None:
            self.observer.watched_since = line.at
        self._opened = line.at
        self._there = dict.fromkeys(self._there, False)

    def _came(self, line: recording.Came) -> None:
        item = msgspec.json.decode(line.object, type=READ_AS[line.kind])
        self._there[line.kind, self.observer.see(item, line.at)] = True
        self.last = max(self.last, line.at)

    def _gone(self, kind: str, key: str, at: float) -> None:
        self._there.pop((kind, key), None)
        self.observer.gone(READ_AS[kind], key, at)
        self.last = max(self.last, at)

    def _look(self, line: recording.Look) -> None:
        if self._opened is not None:
            for kind, key in [one for one, told in self._there.items() if not told]:
                self._gone(kind, key, self._opened)
            self._opened = None
        self.last = max(self.last, datetime.fromisoformat(line.now).timestamp())
