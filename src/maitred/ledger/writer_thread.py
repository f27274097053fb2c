"""A thread that keeps the books and writes them into the ledger, so that nobody else has to wait.

What is told to it waits in a bounded list. When that is full the rest is dropped, and the ledger says from
when on it is complete.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from maitred.ledger.books import Books
from maitred.ledger.connections import LedgerError
from maitred.ledger.entries import LedgerEntry
from maitred.ledger.meter import DAY
from maitred.ledger.records import Event, Observation
from maitred.ledger.register import Register
from maitred.ledger.single_writer import Deposed, SingleWriter
from maitred.ledger.store import Ledger

log = logging.getLogger(__name__)

LONGEST_LIST = 20_000
POLL_SECONDS = 0.5
WITHOUT = (
    "%s; scheduling goes on without a ledger, and opening it is tried again every %d s: repair it, or "
    "start the scheduler with --ledger none"
)
WRITE_EVERY = 5_000
"""Milliseconds. What a clerk that is killed had not written is lost, and the ledger knows that it is."""


class LedgerWriter:
    """`tell`, `show` and `hear` are for the event loop: they take no time."""

    def __init__(self, ledger: Ledger, writer: str, keep_days: int, clock: Callable[[], datetime]) -> None:
        self._ledger, self._writer, self._keep = ledger, writer, timedelta(days=keep_days)
        self._clock = clock
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ledger", daemon=True)
        self._events: list[Event] = []
        self._sight: Observation | None = None
        self._heard = 0
        self._missing_since: int | None = None
        self._unwritten: LedgerEntry | None = None
        self.is_failing = False
        self._forgotten_on = 0
        self.dropped = 0
        self.is_deposed = False

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Write what there is, and end."""
        self._stop.set()
        self._thread.join()

    # -- from the event loop ---------------------------------------------------------------------------

    def tell(self, event: Event) -> None:
        with self._lock:
            if len(self._events) < LONGEST_LIST and not self.is_deposed:
                self._events.append(event)
            else:
                self.dropped += 1
                self._missing_since = event.at

    def show(self, sight: Observation) -> None:
        """The last one is what counts, if the one before was not looked at yet."""
        with self._lock:
            before = self._sight.ends if self._sight is not None else ()
            self._sight = replace(sight, ends=(*before, *sight.ends)[-LONGEST_LIST:])
            self._heard = sight.at

    def hear(self, at: int) -> None:
        """Nothing has changed up to now."""
        self._heard = at

    # -- in the thread ---------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            tenure = self._begin()
            if tenure is not None:
                self._keep_books(tenure)
        except Exception:
            log.exception("the ledger is no longer written")
        finally:
            with self._lock:
                self.is_deposed = True

    def _begin(self) -> SingleWriter | None:
        """Whoever cannot begin tries again: the scheduler does not wait for its ledger."""
        while not self._stop.is_set():
            try:
                tenure = self._ledger.claim(self._writer, self._clock())
                self._works_again()
                return tenure
            except LedgerError as error:
                self._in_words(error)
                self._stop.wait(WRITE_EVERY / 1000)
        return None

    def _keep_books(self, tenure: SingleWriter) -> None:
        books = Books(tenure.since, Register(*tenure.open_groups()))
        written = tenure.since
        try:
            while not self._stop.wait(POLL_SECONDS):
                self._work(books)
                if self._heard >= written + WRITE_EVERY:
                    written = self._heard
                    self._write(tenure, books)
            self._work(books)
            self._write(tenure, books)
        except Deposed as error:
            log.warning("%s; this scheduler no longer writes to it", error)
        finally:
            tenure.close()

    def _work(self, books: Books) -> None:
        with self._lock:
            events, self._events = self._events, []
            sight, self._sight = self._sight, None
        for event in events:
            books.note(event)
        if sight is not None:
            books.see(sight)
        books.meter.advance(self._heard)

    def _write(self, tenure: SingleWriter, books: Books) -> None:
        try:
            if self._unwritten is not None:
                tenure.write(self._unwritten)
            self._unwritten = self._close(books)
            tenure.write(self._unwritten)
            self._unwritten = None
            self._forget()
            self._works_again()
        except Deposed:
            raise
        except LedgerError as error:
            self._in_words(error)

    def _close(self, books: Books) -> LedgerEntry:
        entry = books.close(self._heard)
        with self._lock:
            entry.missing_since, self._missing_since = self._missing_since, None
        if entry.missing_since is not None:
            log.warning("the ledger was too slow: %d records were dropped", self.dropped)
        return entry

    def _in_words(self, error: LedgerError) -> None:
        if not self.is_failing:
            log.warning(WITHOUT, error, WRITE_EVERY // 1000)
        self.is_failing = True

    def _works_again(self) -> None:
        if self.is_failing:
            log.info("the ledger is written again")
        self.is_failing = False

    def _forget(self) -> None:
        """Once a day."""
        today = self._heard // DAY
        if today > self._forgotten_on:
            self._forgotten_on = today
            self._ledger.forget(self._clock() - self._keep)
