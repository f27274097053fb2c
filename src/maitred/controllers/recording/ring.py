"""Files that lines are written to by a thread of their own; the oldest go when there are too many bytes."""

import gzip
import logging
import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from queue import SimpleQueue

log = logging.getLogger(__name__)

SUFFIX = ".jsonl.gz"
SEGMENTS = 8
"""The ring is as many segments as this; the oldest is deleted when another is begun."""
MOST_UNWRITTEN = 256 * 2**20
COMPRESSION = 1


class Ring:
    def __init__(self, directory: Path, limit: int) -> None:
        """`limit` is in bytes on the disk, all segments together.

        Raises OSError if nothing can be written there.
        """
        directory.mkdir(parents=True, exist_ok=True)
        self._directory = directory
        self._limit = limit
        self._orders: SimpleQueue[tuple[bool, Sequence[bytes]] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._unwritten = 0
        self._full = False
        self._failed = False
        self._enough = 0
        self._file: gzip.GzipFile | None = None
        self._path: Path | None = None
        self._number = self._last_number()
        self._thread = threading.Thread(target=self._work, name="record", daemon=True)
        self._thread.start()

    @property
    def wants_segment(self) -> bool:
        """The one that is written is large enough, or there is none that is whole."""
        return self._full

    @property
    def behind(self) -> bool:
        """More is waiting to be written than should be kept in memory."""
        return self._unwritten > MOST_UNWRITTEN

    def begin(self, lines: Sequence[bytes]) -> None:
        """A new segment, which starts with these."""
        self._full = False
        self._order(True, lines)

    def write(self, lines: Sequence[bytes]) -> None:
        self._order(False, lines)

    def close(self) -> None:
        """What was ordered is written first."""
        self._orders.put(None)
        self._thread.join()

    def _order(self, begins: bool, lines: Sequence[bytes]) -> None:
        with self._lock:
            self._unwritten += sum(map(len, lines))
        self._orders.put((begins, lines))

    # -- in the thread ---------------------------------------------------------------------------------

    def _work(self) -> None:
        while (order := self._orders.get()) is not None:
            begins, lines = order
            try:
                self._carry_out(begins, lines)
                self._failed = False
            except OSError as error:
                if not self._failed:
                    log.error("the record cannot be written: %s: %s", error.filename or self._path, error)
                self._failed, self._full = True, True
            with self._lock:
                self._unwritten -= sum(map(len, lines))
        self._end_segment()

    def _carry_out(self, begins: bool, lines: Sequence[bytes]) -> None:
        if begins:
            self._end_segment()
            self._make_room()
            self._begin_segment()
        if self._file is None or self._path is None:
            return
        for start in range(0, len(lines), 1000):
            self._file.write(b"".join(line + b"\n" for line in lines[start : start + 1000]))
        self._file.flush()  # what a crash leaves behind can be read up to here
        size = self._path.stat().st_size
        if begins:
            # A segment is worth what it began with, also where that alone is more than its share.
            self._enough = max(self._limit // SEGMENTS, 2 * size)
        self._full |= size > self._enough

    def _begin_segment(self) -> None:
        self._number += 1
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        self._path = self._directory / f"maitred-{self._number:06}-{stamp}{SUFFIX}"
        self._file = gzip.open(self._path, "wb", COMPRESSION)  # noqa: SIM115  open until the next begins

    def _end_segment(self) -> None:
        if self._file is not None:
            file, self._file = self._file, None
            file.close()

    def _make_room(self) -> None:
        """For a segment that may come to be as large as the largest so far."""
        kept = segments(self._directory)
        sizes = [path.stat().st_size for path in kept]
        room = self._limit - max([self._limit // SEGMENTS, *sizes])
        while kept and sum(sizes) > room:
            kept.pop(0).unlink()
            sizes.pop(0)

    def _last_number(self) -> int:
        names = [path.name.split("-")[1] for path in segments(self._directory)]
        return max((int(name) for name in names if name.isdecimal()), default=0)


def segments(directory: Path) -> list[Path]:
    """Of the record that is there, oldest first."""
    return sorted(directory.glob(f"maitred-*{SUFFIX}"))
