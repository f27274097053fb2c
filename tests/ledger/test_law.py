"""The law of the ledger: whatever happens, buckets add up to capacity × time, and a bill to its capacity."""

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from maitred.cluster.news import Ends
from maitred.cluster.state import Change, ClusterState
from maitred.explain.billing.bill import bill, read_month
from maitred.explain.billing.device_buckets import levels
from maitred.ledger.books import Books
from maitred.ledger.meter import DAY
from maitred.ledger.records import Observation
from maitred.ledger.register import Register
from maitred.ledger.store import Ledger, milliseconds
from maitred.model.policy import Policy
from tests.ledger.made import evicted
from tests.ledger.worlds import PODS, histories
from tests.oracle.effort import examples

MIDNIGHT = datetime(2026, 11, 4, tzinfo=UTC)
BEGIN = MIDNIGHT - timedelta(minutes=2)


@examples(25)
@given(
    histories(),
    st.sets(st.integers(0, 15)),
    st.dictionaries(st.integers(0, 15), st.sampled_from(PODS)),
    st.booleans(),
)
def test_whatever_happens_a_ledger_adds_up_to_capacity_times_time(
    history: list[tuple[int, Change]], writes: set[int], victims: dict[int, str], forgets: bool
) -> None:
    with TemporaryDirectory() as folder:
        ledger = Ledger.open(str(Path(folder, "ledger.db")), BEGIN)
        expected, end = kept(ledger, history, writes, victims)
        if forgets:
            ledger.forget(MIDNIGHT)
        first, last = milliseconds(BEGIN) // DAY, milliseconds(end) // DAY + 1
        usage = ledger.usage(first, last)
        found: Counter[tuple[str, str]] = Counter()
        for use in usage.uses:
            assert use.device_milliseconds > 0
            found[use.resource, use.model] += use.device_milliseconds
        assert +expected == found == usage.capacity
        for by in ("namespace", "model", "label:team"):
            made = bill(usage, by, Policy(), read_month("2026-11", end), end)
            assert sum(row.device_milliseconds for row in made.rows) == expected.total()


def kept(
    ledger: Ledger, history: list[tuple[int, Change]], writes: set[int], victims: dict[int, str]
) -> tuple[Counter[tuple[str, str]], datetime]:
    """What there was of each device, from what the nodes said; and when it ended."""
    tenure = ledger.claim("law", BEGIN)
    books, at, ends = Books(tenure.since, Register(*tenure.open_groups())), tenure.since, Ends()
    state = ClusterState(ends=ends)
    there: dict[tuple[str, str], int] = {}
    expected: Counter[tuple[str, str]] = Counter()
    for step, (pause, change) in enumerate(history):
        expected.update({device: count * pause for device, count in there.items()})
        at += pause
        state.apply(change)
        there = levels(state.snapshot(), Policy()).capacity
        if (victim := victims.get(step)) is not None:
            receipt = evicted(f"red/{victim}", 0, group="red/g", lost=0.01, since="2026-11-03T23:59:00Z")
            books.note(receipt)
        books.see(Observation(at, state.snapshot(), Policy(), ends.take(), frozenset()))
        if step in writes:
            tenure.write(books.close(at))
    tenure.write(books.close(at))
    tenure.close()
    return expected, datetime.fromtimestamp(at / 1000, UTC)
