"""The clerk: what it is told gets written, in a thread of its own, or it is known what did not."""

import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from maitred.ledger import writer_thread
from maitred.ledger.connections import LedgerError
from maitred.ledger.entries import LedgerEntry
from maitred.ledger.records import Observation, VerdictChange
from maitred.ledger.single_writer import SingleWriter
from maitred.ledger.store import Ledger
from maitred.ledger.writer_thread import LedgerWriter
from maitred.model.policy import Policy
from tests.ledger.conftest import Claims
from tests.ledger.made import BEGIN, HOUR, START, TODAY, adds_up, arrival, at, evicted, moment, used
from tests.ledger.worlds import gpu_node, member, snapshot_of

SECOND = 1000
LONG = 20.0


@pytest.fixture
def ledger(url: str) -> Ledger:
    return Ledger.open(url, BEGIN)


Start = Callable[[str], LedgerWriter]


@pytest.fixture
def start(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    monkeypatch.setattr(writer_thread, "POLL_SECONDS", 0.01)
    made: list[LedgerWriter] = []

    def started(writer: str = "one") -> LedgerWriter:
        made.append(LedgerWriter(ledger, writer, 30, lambda: BEGIN))
        made[-1].start()
        return made[-1]

    yield started
    for clerk in made:
        clerk.close()


def sight(seconds: int, gpus: int = 8) -> Observation:
    snapshot = snapshot_of(gpu_node("n1"), member("lone", gpus, node="n1", namespace="red"))
    return Observation(START + seconds * SECOND, snapshot, Policy(), (), frozenset())


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LONG
    while not true():
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.01)


def test_what_was_told_is_written_in_the_end(start: Start, ledger: Ledger) -> None:
    clerk = start("one")
    clerk.tell(arrival("red/lone", 0))
    clerk.tell(VerdictChange(at(0), "red/lone", "Waiting", "Capacity"))
    clerk.show(sight(0))
    until(lambda: clerk._sight is None)
    clerk.tell(evicted("red/lone", 0.001))
    clerk.hear(START + 30 * SECOND)
    clerk.close()
    assert used(ledger) == {("red", "productive"): 8 * 30 * SECOND / HOUR}
    assert adds_up(ledger)
    history = ledger.history(moment(1))
    assert [group.group for group in history.groups] == ["red/lone"]
    assert [one.eviction.pod for one in history.evictions] == ["red/lone"]
    assert (clerk.dropped, history.since) == (0, START / 1000)


def test_it_writes_now_and_then(start: Start, ledger: Ledger) -> None:
    clerk = start("one")
    clerk.show(sight(0))
    until(lambda: clerk._sight is None)
    clerk.hear(START + 10 * SECOND)
    until(lambda: used(ledger) == {("red", "productive"): 8 * 10 * SECOND / HOUR})


def test_a_sight_that_was_not_looked_at_makes_room_for_the_next(ledger: Ledger) -> None:
    clerk = LedgerWriter(ledger, "one", 30, lambda: BEGIN)
    for seconds, gpus in ((0, 1), (1, 2), (2, 3)):
        clerk.show(sight(seconds, gpus))
    assert clerk._sight is not None
    assert clerk._sight.at == START + 2 * SECOND


def test_what_there_is_no_room_for_is_dropped_and_the_ledger_says_so(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_thread, "LONGEST_LIST", 2)
    clerk = LedgerWriter(ledger, "one", 30, lambda: BEGIN)
    clerk.tell(arrival("red/lone", 0))
    for hours in (0.1, 0.2, 0.3):
        clerk.tell(VerdictChange(at(hours), "red/lone", "Waiting", f"C{hours}"))
    assert clerk.dropped == 2
    clerk.start()
    clerk.close()
    history = ledger.history(moment(0.4))
    assert history.since == at(0.3) / 1000
    assert history.waits == {"red/lone": {"C0.1": pytest.approx(0.3 * 3600)}}


def test_one_who_is_deposed_stops(start: Start, ledger: Ledger, claim: Claims) -> None:
    clerk = start("one")
    clerk.show(sight(0))
    until(lambda: clerk._sight is None)
    claim(ledger, "another", BEGIN)
    clerk.hear(START + 10 * SECOND)
    until(lambda: clerk.is_deposed)
    clerk.tell(arrival("red/lone", 0))
    assert (clerk.dropped, used(ledger)) == (1, {})


def test_two_who_write_at_once_count_nothing_twice(start: Start, ledger: Ledger) -> None:
    clerks = [start("one"), start("two")]
    for seconds in range(60):
        for clerk in clerks:
            clerk.show(sight(seconds))
    for clerk in clerks:
        clerk.close()
    assert ledger.usage(TODAY, TODAY + 1).observed <= 59 * SECOND
    assert adds_up(ledger)


def test_a_database_that_is_away_for_a_while_loses_nothing(
    start: Start, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    clerk, write, attempts = start("one"), SingleWriter.write, list[LedgerEntry]()

    def fails(self: SingleWriter, entry: LedgerEntry) -> None:
        attempts.append(entry)
        if len(attempts) <= 3:
            raise LedgerError("away")
        write(self, entry)

    monkeypatch.setattr(SingleWriter, "write", fails)
    clerk.show(sight(0))
    until(lambda: clerk._sight is None)
    for number in range(1, 8):
        clerk.hear(START + number * 5 * SECOND)
        until(lambda number=number: len(attempts) >= number)  # type: ignore[misc]
    clerk.close()
    assert used(ledger) == {("red", "productive"): 8 * 35 * SECOND / HOUR}
    assert attempts[0] is attempts[1] is attempts[2] is attempts[3]


def test_it_begins_once_the_database_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer_thread, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(writer_thread, "WRITE_EVERY", 10)
    blocked = tmp_path / "blocked"
    blocked.touch()
    ledger = Ledger(str(blocked / "ledger.db"))
    clerk = LedgerWriter(ledger, "one", 30, lambda: BEGIN)
    clerk.start()
    clerk.tell(arrival("red/lone", 0))
    until(lambda: clerk.is_failing)
    blocked.unlink()
    until(lambda: not clerk._events)
    assert not clerk.is_failing
    clerk.close()
    assert [group.group for group in ledger.history(moment(1)).groups] == ["red/lone"]
    [warning] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "scheduling goes on without a ledger, and opening it is tried again every" in warning
    assert "--ledger none" in warning


def test_a_file_that_is_removed_is_noticed_and_not_made_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_thread, "POLL_SECONDS", 0.01)
    path = tmp_path / "ledger.db"
    clerk = LedgerWriter(Ledger.open(str(path), BEGIN), "one", 30, lambda: BEGIN)
    clerk.start()
    clerk.show(sight(0))
    until(lambda: clerk._sight is None)
    away = path.rename(tmp_path / "away.db")
    clerk.hear(START + 10 * SECOND)
    until(lambda: clerk.is_failing)
    assert not path.exists()
    away.rename(path)
    clerk.hear(START + 20 * SECOND)
    until(lambda: not clerk.is_failing)
    clerk.close()


def test_details_are_forgotten_after_so_many_days(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer_thread, "POLL_SECONDS", 0.01)
    now: list[datetime] = [BEGIN]
    clerk = LedgerWriter(ledger, "one", 30, lambda: now[0])
    clerk.start()
    clerk.show(sight(0))
    until(lambda: clerk._sight is None)
    clerk.hear(START + 10 * SECOND)
    until(lambda: used(ledger) != {})
    clerk.close()
    now[0] = moment(31 * 24)
    later = LedgerWriter(ledger, "two", 30, lambda: now[0])
    later.hear(at(31 * 24) + 10 * SECOND)
    later.start()
    until(lambda: ledger.history(now[0]).since == at(24) / 1000)
    later.close()
    assert used(ledger) == {("red", "productive"): 8 * 10 * SECOND / HOUR}
