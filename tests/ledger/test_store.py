"""A ledger, in SQLite and in PostgreSQL: what is written is there, once, and stays as long as it should."""

from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import msgspec
import pytest

from maitred.explain.billing.device_buckets import Key
from maitred.explain.billing.document import UsedEviction, UsedOverride
from maitred.explain.billing.losses import Loss
from maitred.explain.redaction.usage import usage_as_seen_by
from maitred.ledger import schema, store
from maitred.ledger.connections import LedgerError, connect
from maitred.ledger.records import Evicted, OverrideNoted
from maitred.ledger.schema import VERSION
from maitred.ledger.single_writer import Deposed, SingleWriter
from maitred.ledger.store import Ledger
from maitred.model.overrides import Override, OverrideNote
from tests.ledger.conftest import Claims
from tests.ledger.made import (
    BEGIN,
    GPU,
    HOUR,
    MODEL,
    START,
    TODAY,
    adds_up,
    at,
    entry,
    evicted,
    eviction,
    failure,
    moment,
    opened,
    turn,
    used,
)


@pytest.fixture
def ledger(url: str) -> Ledger:
    return Ledger.open(url, BEGIN)


@pytest.fixture
def tenure(ledger: Ledger, claim: Claims) -> SingleWriter:
    return claim(ledger, "first", BEGIN)


def test_what_was_used_is_added_up(ledger: Ledger, tenure: SingleWriter) -> None:
    tenure.write(entry(1, red_productive=3, blue_starting=2))
    tenure.write(entry(2, red_productive=4))
    usage = ledger.usage(TODAY, TODAY + 1)
    assert used(ledger) == {("red", "productive"): 7, ("blue", "starting"): 2, ("", "idle"): 7}
    assert usage.capacity == {(GPU, MODEL): 16 * HOUR}
    assert usage.observed == 2 * HOUR
    assert {use.namespace: dict(use.labels) for use in usage.uses} == {
        "red": {"team": "one"},
        "blue": {},
        "": {},
    }
    assert used(ledger, TODAY - 1) == used(ledger, TODAY + 1) == {}


def test_the_same_entry_written_again_counts_once(ledger: Ledger, tenure: SingleWriter) -> None:
    """A writer that did not hear whether it was written has to write it again."""
    first = entry(1, red_productive=3)
    tenure.write(first)
    tenure.write(first)
    assert used(ledger) == {("red", "productive"): 3, ("", "idle"): 5}


def test_a_failure_is_written_when_it_begins_and_its_cost_when_it_is_over(
    ledger: Ledger, tenure: SingleWriter
) -> None:
    """What is told of it again takes the place of what was."""
    for hours, noted in ((1, failure("red/train", 0.5)), (2, failure("red/train", 0.5, 1.5, devices=4))):
        written = entry(hours)
        written.failures = [noted, noted]
        tenure.write(written)
    connection = connect(ledger.url, "write")
    rows = connection.rows("select grp, begun, ended, cost, namespace from incidents")
    connection.close()
    assert rows == [("red/train", at(0.5), at(1.5), 4 * HOUR, "red")]


def test_work_that_was_lost_is_moved_and_the_sum_stays(ledger: Ledger, tenure: SingleWriter) -> None:
    written = entry(1, red_productive=3, blue_productive=1)
    written.losses = [Loss("red/train", at(0.5), at(1), HOUR, "lostToEviction")]
    tenure.write(written)
    assert used(ledger) == {
        ("red", "productive"): 2,
        ("red", "lostToEviction"): 1,
        ("blue", "productive"): 1,
        ("", "idle"): 4,
    }
    assert adds_up(ledger)


def test_what_hours_cost_more_goes_along_with_what_was_lost(ledger: Ledger, tenure: SingleWriter) -> None:
    written = entry(1, red_productive=3)
    written.reading.surcharge[TODAY, Key("red/train", GPU, MODEL, "productive")] = 300 * HOUR
    written.losses = [Loss("red/train", at(0.5), at(1), HOUR, "lostToEviction")]
    tenure.write(written)

    def surcharges() -> dict[str, int]:
        return {one.bucket: one.surcharge for one in ledger.usage(TODAY, TODAY + 1).uses}

    assert surcharges() == {"productive": HOUR // 5, "lostToEviction": HOUR // 10, "idle": 0}
    ledger.forget(BEGIN + timedelta(days=3))
    assert surcharges() == {"productive": HOUR // 5, "lostToEviction": HOUR // 10, "idle": 0}


def test_no_more_is_lost_than_was_done_since(ledger: Ledger, tenure: SingleWriter) -> None:
    tenure.write(entry(1, day=TODAY - 2, red_productive=3))
    tenure.write(entry(2, day=TODAY - 1, red_productive=2))
    lost = entry(3, red_productive=1)
    lost.losses = [Loss("red/train", START - 24 * HOUR, at(3), 100 * HOUR, "lostToFailure")]
    tenure.write(lost)
    assert used(ledger, TODAY - 2)["red", "productive"] == 3
    assert used(ledger, TODAY - 1) == {("red", "lostToFailure"): 2, ("", "idle"): 6}
    assert used(ledger) == {("red", "lostToFailure"): 1, ("", "idle"): 7}
    assert adds_up(ledger, TODAY - 2, 3)


def test_groups_come_start_and_end(ledger: Ledger, tenure: SingleWriter) -> None:
    written = entry(3)
    written.opened = [opened(1, "red/train", 0.5), opened(2, "blue/train", 1)]
    written.started, written.ended = {1: at(1)}, {1: (at(2), True)}
    tenure.write(written)
    history = ledger.history(moment(4))
    first, second = history.groups
    assert (first.group, second.group) == ("red/train", "blue/train")
    assert (first.arrived, first.started, first.ended) == (at(0.5) / 1000, at(1) / 1000, at(2) / 1000)
    assert (first.finished, first.members, first.quorum, first.priority) == (True, 2, 2, 0)
    assert first.requests == (("cpu", 1000), (GPU, 4))
    assert (second.started, second.ended, second.finished) == (None, None, False)
    assert [group.group for group in ledger.history(moment(4), ["blue"]).groups] == ["blue/train"]
    assert history.since == START / 1000


def test_waits_are_told_by_the_first_blocker(ledger: Ledger, tenure: SingleWriter) -> None:
    written = entry(1)
    written.opened = [opened(number, f"red/{number}", 0) for number in (1, 2, 3)]
    written.turns = [
        turn(1, 0, "Waiting", "Capacity"),
        turn(1, 2, "Waiting", "Topology"),
        turn(1, 3, "Waiting", "Capacity"),
        turn(2, 0, "Waiting", "Gated"),
        turn(2, 1, "Scheduled"),
        turn(3, 1, "Impossible", "Request"),
    ]
    tenure.write(written)
    waits = ledger.history(moment(4)).waits
    hour = 3600.0
    assert waits == {"red/1": {"Capacity": 3 * hour, "Topology": hour}, "red/3": {"Request": 3 * hour}}
    assert ledger.history(moment(4), []).waits == {}


def test_receipts_are_kept_whole(ledger: Ledger, tenure: SingleWriter) -> None:
    written = entry(1)
    written.evictions = [evicted("red/b", 1, group="red/train", lost=1.5, since="2026-11-03T00:00:00Z")]
    written.evictions += [evicted("blue/a", 0.5)]
    tenure.write(written)
    past = ledger.history(moment(4)).evictions
    assert [(one.at, one.eviction.pod) for one in past] == [
        (at(0.5) / 1000, "blue/a"),
        (at(1) / 1000, "red/b"),
    ]
    assert past[1].eviction == eviction("red/b", "red/train", 1.5, "2026-11-03T00:00:00Z")
    assert [one.eviction.pod for one in ledger.history(moment(4), {"red"}).evictions] == ["red/b"]


def test_work_that_was_lost_names_who_it_was_lost_for(ledger: Ledger, tenure: SingleWriter) -> None:
    """As much as was moved to where it is lost, though the receipt says more."""
    tenure.write(entry(1, red_productive=2))
    written = entry(2, red_productive=1)
    said = [evicted(pod, 2, group="red/train", lost=2.0) for pod in ("red/a", "red/b")]
    written.evictions = [replace(one, queue="left", evictor_queue="came") for one in said]
    written.evictions.append(evicted("blue/c", 1.5))
    lost = Loss("red/train", at(0), at(2), 2 * HOUR, "lostToEviction")
    written.losses = [replace(lost, victim=(pod, f"uid-{pod}")) for pod in ("red/a", "red/b")]
    tenure.write(written)
    by_victim = {one.group: one for one in ledger.usage(TODAY, TODAY + 1).evictions}
    train = UsedEviction("red/train", "left", "blue/urgent", "came", "Preemption", 2, 3 * HOUR)
    assert by_victim == {
        "red/train": train,
        "blue/c": UsedEviction("blue/c", "", "blue/urgent", "", "Preemption", 1, 0),
    }
    assert used(ledger)["red", "lostToEviction"] == 3
    assert ledger.usage(TODAY + 1, TODAY + 2).evictions == ()


def test_what_queues_have_lent_is_added_up(ledger: Ledger, tenure: SingleWriter) -> None:
    for hours in (1, 2):
        written = entry(hours)
        written.reading.lent[TODAY, "vision"] += 4 * HOUR
        tenure.write(written)
    assert ledger.usage(TODAY, TODAY + 1).lent == {"vision": 8 * HOUR}


def test_an_older_ledger_is_brought_up_to_date(url: str) -> None:
    """Its receipts say what was lost; in which queues that was they do not."""
    with closing(connect(url, "create")) as connection:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(schema, "MIGRATIONS", schema.MIGRATIONS[:3])
            patch.setattr(schema, "VERSION", 3)
            schema.prepare(connection, url, START)
        one = evicted("red/a", 1, lost=2.0).eviction
        connection.change(
            "insert into evictions (pod, uid, at, namespace, eviction) values (?, ?, ?, ?, ?)",
            [one.pod, one.uid, at(1), "red", msgspec.json.encode(one).decode()],
        )
    with pytest.raises(LedgerError, match=r"an older maitred wrote it \(version 3; "):
        Ledger.existing(url)
    (found,) = Ledger.open(url, BEGIN).usage(TODAY, TODAY + 1).evictions
    assert found == UsedEviction("red/a", "", "blue/urgent", "", "Preemption", 1, 2 * HOUR)


def test_overrides_are_kept_with_what_others_paid_for_them(ledger: Ledger, tenure: SingleWriter) -> None:
    """One is told twice, and ends before its time; another is of the day after."""
    paid = evicted("red/b", 1, group="red/train", lost=1.5, since="2026-11-03T00:00:00Z")
    note = OverrideNote("ann", "because", "2026-11-03T04:00:00Z")
    receipt = msgspec.structs.replace(paid.eviction.receipt, override=note)
    lifted = msgspec.structs.replace(paid.eviction, receipt=receipt)
    written = entry(2)
    written.evictions = [Evicted(at(1), lifted), evicted("red/c", 1, lost=2.0), Evicted(at(3.5), lifted)]
    written.overrides = [OverrideNoted(at(0), override(0, 4)), OverrideNoted(at(1), override(0, 4))]
    tenure.write(written)
    closing = entry(4)
    closing.overrides = [OverrideNoted(at(3), override(0, 4), True), OverrideNoted(at(4), override(25, 26))]
    tenure.write(closing)
    [today] = ledger.usage(TODAY, TODAY + 1).overrides
    assert today == UsedOverride("blue/urgent", "ann", "because", at(0), at(3), 1, round(1.5 * HOUR))
    assert usage_as_seen_by(ledger.usage(TODAY, TODAY + 1), {"red"}).overrides == ()
    assert [one.evicted for one in ledger.usage(TODAY + 1, TODAY + 2).overrides] == [0]
    assert ledger.usage(TODAY - 1, TODAY).overrides == ()
    ledger.forget(moment(10))
    assert ledger.usage(TODAY, TODAY + 1).overrides == ()


def override(granted: float, until: float) -> Override:
    source = ("maitred.dev", "blue/urgent", "")
    began, ends = moment(granted), moment(until)
    return Override("blue/urgent", source, began, {}, "ann", "because", began, ends)


def test_who_could_not_write_something_down_says_so(ledger: Ledger, tenure: SingleWriter) -> None:
    written = entry(1)
    written.missing_since = at(0.5)
    tenure.write(written)
    assert ledger.history(moment(2)).since == at(0.5) / 1000


def test_old_details_go_and_usage_stays(ledger: Ledger, tenure: SingleWriter) -> None:
    written = entry(1, red_productive=3, blue_starting=2)
    written.opened, written.ended = [opened(1, "red/train", 0), opened(2, "red/next", 0)], {1: (at(1), True)}
    written.turns = [turn(1, 0, "Scheduled"), turn(2, 0, "Waiting", "Capacity")]
    written.evictions = [evicted("red/b", 1)]
    tenure.write(written)
    tenure.write(entry(25, day=TODAY + 1, red_productive=1))
    before = ledger.usage(TODAY, TODAY + 2)
    for _ in range(2):
        ledger.forget(moment(30))
        assert ledger.usage(TODAY, TODAY + 2) == msgspec.structs.replace(before, evictions=())
    history = ledger.history(moment(31))
    assert [group.group for group in history.groups] == ["red/next"]
    assert history.waits == {"red/next": {"Capacity": 31 * 3600.0}}
    assert (history.evictions, history.since) == ((), at(30) / 1000)
    connection = connect(ledger.url, "write")
    assert connection.rows("select distinct day, holder from usage where holder <> ''") == [
        (TODAY + 1, "red/train")
    ]
    assert connection.rows("select count(*) from verdicts") == [(1,)]
    connection.close()


def test_the_last_who_came_writes(ledger: Ledger, tenure: SingleWriter, claim: Claims) -> None:
    tenure.write(entry(1, red_productive=1))
    second = claim(ledger, "second", moment(0.5))
    assert second.since == at(1), "what is written is not written again"
    with pytest.raises(Deposed, match="another scheduler writes to it now: second"):
        tenure.write(entry(2, red_productive=1))
    second.write(entry(2, blue_productive=1))
    assert used(ledger) == {("red", "productive"): 1, ("blue", "productive"): 1, ("", "idle"): 14}


def test_the_next_writer_knows_who_has_not_ended(ledger: Ledger, tenure: SingleWriter, claim: Claims) -> None:
    written = entry(1)
    written.opened = [opened(1, "red/train", 0), opened(2, "red/done", 0)]
    written.turns = [turn(1, 0, "Waiting", "Capacity"), turn(1, 0.5, "Scheduled")]
    written.started, written.ended = {1: at(0.5)}, {2: (at(1), True)}
    tenure.write(written)
    number, [group] = claim(ledger, "second", moment(3)).open_groups()
    assert number == 3
    assert (group.number, group.name, group.is_started, group.verdict) == (
        1,
        "red/train",
        True,
        ("Scheduled", ""),
    )
    assert group.missed_at == at(1)


def test_opening_it_again_changes_nothing(url: str, ledger: Ledger, tenure: SingleWriter) -> None:
    tenure.write(entry(1, red_productive=1))
    again = Ledger.open(url, moment(5))
    assert used(again) == used(Ledger.existing(url)) == {("red", "productive"): 1, ("", "idle"): 7}
    assert again.history(moment(5)).since == START / 1000


def test_a_ledger_of_a_newer_maitred_is_left_alone(url: str, ledger: Ledger) -> None:
    connection = connect(url, "write")
    connection.change("update book set version = ?", [VERSION + 1])
    connection.close()
    with pytest.raises(LedgerError, match="a newer maitred wrote it"):
        Ledger.open(url, BEGIN)
    with pytest.raises(LedgerError, match="a newer maitred wrote it"):
        Ledger.existing(url)


def test_a_writer_goes_on_after_its_connection_broke(ledger: Ledger, tenure: SingleWriter) -> None:
    tenure.write(entry(1, red_productive=1))
    tenure._open().close()
    second = entry(2, red_productive=1)
    with pytest.raises(LedgerError):
        tenure.write(second)
    tenure.write(second)
    assert used(ledger)["red", "productive"] == 2


def test_a_history_has_the_latest_and_says_since_when(
    ledger: Ledger, tenure: SingleWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "MOST_GROUPS", 2)
    monkeypatch.setattr(store, "MOST_EVICTIONS", 1)
    written = entry(1)
    written.opened = [opened(number, f"red/{number}", number) for number in (1, 2, 3)]
    written.evictions = [evicted("red/a", 1), evicted("red/b", 4)]
    tenure.write(written)
    history = ledger.history(moment(5))
    assert [group.group for group in history.groups] == ["red/2", "red/3"]
    assert [past.eviction.pod for past in history.evictions] == ["red/b"]
    assert history.since == at(4) / 1000


def test_a_history_is_never_older_than_the_ledger(ledger: Ledger, tenure: SingleWriter) -> None:
    assert ledger.history(moment(1)).groups == ()
    written = entry(1)
    written.opened, written.turns = [opened(1, "red/train", 0)], [turn(1, 0, "Waiting", "Capacity")]
    tenure.write(written)
    assert [group.group for group in ledger.history(moment(1)).groups] == ["red/train"]
    assert ledger.history(moment(2)).waits == {"red/train": {"Capacity": 7200.0}}
    assert ledger.history(moment(3)).waits == {"red/train": {"Capacity": 10800.0}}
