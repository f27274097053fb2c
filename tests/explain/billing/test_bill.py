"""Bills: rows that add up, money to the cent, and nothing of others for who may not see them."""

import csv
import io
from collections import Counter
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.explain.billing.bill import (
    FREE,
    HOW_TO_PRICE,
    OTHERS,
    bill,
    read_grouping,
    read_month,
    shared_out,
)
from maitred.explain.billing.document import (
    BORROWED,
    Bill,
    BillQueue,
    Usage,
    Use,
    UsedEviction,
    UsedOverride,
)
from maitred.explain.billing.tables import bill_csv, bill_lines
from maitred.explain.redaction.usage import usage_as_seen_by
from maitred.model.manifest import InputError
from maitred.model.policy import Policy
from maitred.model.queues import QUEUE
from maitred.simulate.results import BUCKETS
from tests.oracle.builders import GPU
from tests.oracle.effort import examples
from tests.support import policy_of

HOUR = 3_600_000
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
H100, L4 = "NVIDIA-H100-80GB-HBM3", "NVIDIA-L4"
PRICED = policy_of(
    {"prices": {"currency": "EUR", "devices": [{"model": "H100", "perHour": 2.5}, {"perHour": 0.3}]}}
)
HALF_PRICED = policy_of({"prices": {"devices": [{"model": "H100", "perHour": 2.5}]}})


def use(namespace: str, bucket: Any, hours: float, model: str = H100, **labels: str) -> Use:
    return Use(namespace, labels, GPU, model, bucket, round(hours * HOUR))


def usage_of(*uses: Use, observed: float = 10) -> Usage:
    capacity: Counter[tuple[str, str]] = Counter()
    for one in uses:
        capacity[one.resource, one.model] += one.device_milliseconds
    return Usage(uses, dict(capacity), round(observed * HOUR))


USAGE = usage_of(
    use("red", "productive", 40, team="one"),
    use("red", "lostToEviction", 4, team="two"),
    use("blue", "incomplete", 10),
    use("blue", "productive", 6, L4, team="one"),
    use("", "idle", 26),
    use("", "broken", 14, L4),
)


def made(by: str = "namespace", policy: Policy = PRICED, usage: Usage = USAGE) -> Bill:
    return bill(usage, by, policy, read_month("2026-11", NOW), NOW)


def rows(found: Bill) -> dict[str, tuple[float, float | None]]:
    return {row.name: (row.device_hours, row.money) for row in found.rows}


def test_by_namespace() -> None:
    found = made()
    assert rows(found) == {"red": (44, 110), "blue": (16, 26.8), FREE: (40, 69.2)}
    assert [row.name for row in found.rows] == ["red", "blue", FREE]
    assert (found.total.device_hours, found.total.money, found.total.devices) == (100, 206, 10)
    assert (found.start, found.end) == ("2026-11-01T00:00:00Z", "2026-11-15T12:00:00Z")
    assert found.currency == "EUR"


def test_what_hours_cost_more_is_on_the_bill_and_told() -> None:
    """Devices that no price is for cost nothing at any hour."""
    uses = tuple(
        msgspec.structs.replace(one, surcharge=one.device_milliseconds * (-1 if one.model == L4 else 1) // 4)
        for one in USAGE.uses
    )
    usage = msgspec.structs.replace(USAGE, uses=uses)
    assert rows(made(usage=usage)) == {"red": (44, 137.5), "blue": (16, 32.6), FREE: (40, 84.4)}
    assert made(usage=usage).total.money == 254.5
    (note,) = (note for note in made(usage=usage).notes if "plain" in note)
    assert note.startswith("that is 48.50 EUR more than at plain prices")
    assert rows(made(policy=HALF_PRICED, usage=usage))["blue"] == (16, 31.25)
    seen = usage_as_seen_by(usage, {"blue"})
    assert made(usage=seen).total.money == 254.5


def test_by_model() -> None:
    assert rows(made("model")) == {H100: (80, 200), L4: (20, 6)}


def test_by_label() -> None:
    assert rows(made("label:team")) == {
        "one": (46, 101.8),
        "two": (4, 10),
        "(no label)": (10, 25),
        FREE: (40, 69.2),
    }


def test_by_queue() -> None:
    uses = [
        msgspec.structs.replace(one, labels={**one.labels, QUEUE: "vision"})
        if one.namespace == "red"
        else one
        for one in USAGE.uses
    ]
    usage = msgspec.structs.replace(USAGE, uses=tuple(uses))
    assert rows(made("queue", usage=usage)) == {
        "vision": (44, 110),
        "(no queue)": (16, 26.8),
        FREE: (40, 69.2),
    }
    seen = usage_as_seen_by(usage, {"blue"})
    assert rows(made("queue", usage=seen)).keys() == {OTHERS, "(no queue)", FREE}


def test_without_prices_there_are_hours_and_a_line_that_says_how_to_add_them() -> None:
    found = made(policy=Policy())
    assert rows(found) == {"red": (44, None), "blue": (16, None), FREE: (40, None)}
    assert [note for note in found.notes if "prices" in note] == [f"no prices are known: {HOW_TO_PRICE}"]


def test_what_has_no_price_is_told_apart() -> None:
    found = made(policy=HALF_PRICED)
    assert rows(found)["blue"] == (16, 25)
    assert {row.name: row.unpriced_device_hours for row in found.rows} == {"red": 0, "blue": 6, FREE: 14}
    assert found.total.unpriced_device_hours == 20
    assert found.notes[-1].startswith(f"{GPU} {L4} has no price: ")


def test_time_that_nobody_saw_is_told() -> None:
    assert made().notes == ("no scheduler was watching for 338.0 h of 348.0 h; the bill covers the rest",)
    assert made(usage=usage_of(observed=348)).notes == ("the cluster had no devices",)
    assert made(usage=usage_of(observed=0)).notes == ("the ledger has no data for 2026-11",)


def test_of_others_one_sees_the_sum() -> None:
    seen = usage_as_seen_by(USAGE, {"blue"})
    assert rows(made(usage=seen)) == {OTHERS: (44, 110), "blue": (16, 26.8), FREE: (40, 69.2)}
    assert rows(made("label:team", usage=seen)).keys() == {"one", OTHERS, "(no label)", FREE}
    assert b'"two"' not in msgspec.json.encode(made("label:team", usage=seen))
    assert usage_as_seen_by(USAGE, None) is USAGE


@pytest.mark.parametrize("by", ["", "namespaces", "label", "label:", "pod"])
def test_groupings_that_there_are_not(by: str) -> None:
    with pytest.raises(InputError, match="is not namespace, queue, model or label:KEY"):
        read_grouping(by)


@pytest.mark.parametrize(
    ("month", "what"),
    [
        ("November", "is not a month such as 2026-11"),
        ("2026-13", "is not a month"),
        ("1969-12", "is not a month"),
        ("2026-12", "has not begun"),
    ],
)
def test_months_that_there_are_not(month: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        read_month(month, NOW)


def test_a_month_is_made_of_days() -> None:
    month = read_month(None, NOW)
    assert (month.name, month.end_day - month.first_day) == ("2026-11", 30)
    assert read_month("2026-02", NOW).end_day == read_month("2026-03", NOW).first_day


def test_as_csv() -> None:
    lines = list(csv.DictReader(io.StringIO(bill_csv(made()))))
    assert lines[0] == {
        "name": "red",
        "bucket": "productive",
        "device_seconds": "144000.000",
        "device_hours": "40.0",
        "devices": "4.0",
        "money": "100.00",
        "currency": "EUR",
    }
    assert sum(float(line["money"]) for line in lines) == made().total.money
    assert sum(int(line["device_seconds"].replace(".", "")) for line in lines) == 100 * HOUR


def test_as_a_table() -> None:
    shown = [line.plain for line in bill_lines(made(), 100)]
    assert shown[2:7] == [
        "NAMESPACE  DEVICES  HOURS  PRODUCTIVE  STARTING  WASTED  FREE  BROKEN     EUR",
        "red            4.4   44.0        40.0         -     4.0     -       -  110.00",
        "blue           1.6   16.0         6.0         -    10.0     -       -   26.80",
        "(free)         4.0   40.0           -         -       -  26.0    14.0   69.20",
        "total         10.0  100.0        46.0         -    14.0  26.0    14.0  206.00",
    ]
    assert shown[-1] == "The rows add up to the capacity in the observed time: 100.00 device-hours."
    assert all(len(line) <= 100 for line in shown[:-2])


def test_overrides_are_in_it_with_what_others_paid_for_them() -> None:
    """What was lost is in the rows of those who lost it already."""
    start = round(datetime(2026, 11, 3, tzinfo=UTC).timestamp() * 1000)
    lifted = UsedOverride("red/demo", "ann", "the board", start, start + HOUR, 2, round(1.5 * HOUR))
    waited = UsedOverride("blue/eval", "bob", "the paper", start, start + HOUR, 0, 0)
    found = made(usage=msgspec.structs.replace(USAGE, overrides=(lifted, waited)))
    assert rows(found) == rows(made())
    one = found.overrides[0]
    assert (one.granted, one.until) == ("2026-11-03T00:00:00Z", "2026-11-03T01:00:00Z")
    shown = [line.plain.split() for line in bill_lines(found, 120)]
    head = shown.index(["LIFTED", "FROM", "UNTIL", "BY", "EVICTED", "LOST", "REASON"])
    times = ["2026-11-03T00:00:00Z", "2026-11-03T01:00:00Z"]
    assert shown[head + 1] == ["red/demo", *times, "ann", "2", "pods", "1.5", "h", "the", "board"]
    assert shown[head + 2] == ["blue/eval", *times, "bob", "-", "-", "the", "paper"]


HURT = UsedEviction("red/sweep", "vision", "blue/urgent", "language", "Reclaim", 4, 6 * HOUR)
DRAINED = UsedEviction("red/lone", "", "drain/a", "", "Maintenance", 1, 0)


def test_it_says_for_whom_others_were_evicted() -> None:
    """Who lost most comes first."""
    found = made(usage=msgspec.structs.replace(USAGE, evictions=(DRAINED, HURT)))
    assert rows(found) == rows(made())
    assert [(one.group, one.evictor, one.lost_device_hours) for one in found.evictions] == [
        ("red/sweep", "blue/urgent", 6),
        ("red/lone", "drain/a", 0),
    ]
    shown = [line.plain.split() for line in bill_lines(found, 120)]
    head = shown.index(["EVICTED", "FOR", "CAUSE", "PODS", "LOST"])
    whom = ["red/sweep", "(vision)", "blue/urgent", "(language)", "Reclaim", "4", "pods", "6.0", "h"]
    assert shown[head + 1] == whom
    assert shown[head + 2] == ["red/lone", "drain/a", "Maintenance", "1", "pod", "-"]


def test_of_many_evictions_a_table_has_those_that_cost_most() -> None:
    many = [msgspec.structs.replace(HURT, group=f"red/{n}", lost_device_milliseconds=n) for n in range(23)]
    found = made(usage=msgspec.structs.replace(USAGE, evictions=tuple(many)))
    assert len(found.evictions) == 23
    shown = [line.plain for line in bill_lines(found, 120)]
    assert sum("blue/urgent" in line for line in shown) == 20
    assert any(line.startswith("3 more, in JSON") and "12 pods" in line for line in shown)


def test_of_others_evictions_one_sees_numbers() -> None:
    other = msgspec.structs.replace(HURT, group="green/a", evictor="green/b", pods=2)
    usage = msgspec.structs.replace(USAGE, evictions=(HURT, DRAINED, other, other), lent={"language": HOUR})
    both = usage_as_seen_by(usage, {"red"}).evictions
    assert both == (
        msgspec.structs.replace(HURT, evictor=OTHERS, evictor_queue=""),
        msgspec.structs.replace(DRAINED, evictor=OTHERS),
        UsedEviction(OTHERS, "", OTHERS, "", "Reclaim", 4, 12 * HOUR),
    )
    paid = usage_as_seen_by(usage, {"blue"})
    assert paid.evictions[0] == msgspec.structs.replace(HURT, group=OTHERS, queue="")
    text = msgspec.json.encode(made("queue", usage=usage_as_seen_by(usage, {"pink"})))
    assert not [name for name in (b"vision", b"language", b"sweep", b"urgent", b"drain/a") if name in text]


def test_by_queue_it_says_what_is_guaranteed_borrowed_kept_and_lent() -> None:
    queue = {QUEUE: "vision"}
    uses = (
        Use("red", queue, GPU, H100, "productive", 30 * HOUR),
        Use("red", {**queue, BORROWED: "true"}, GPU, H100, "productive", 10 * HOUR),
        Use("red", {**queue, BORROWED: "true"}, GPU, H100, "reserved", 2 * HOUR),
        Use("blue", {}, GPU, H100, "productive", 5 * HOUR),
    )
    usage = msgspec.structs.replace(usage_of(*uses), lent={"language": 8 * HOUR, "vision": HOUR})
    found = made("queue", usage=usage)
    assert found.queues == (BillQueue("vision", 30, 10, 2, 1), BillQueue("language", 0, 0, 0, 8))
    shown = [line.plain.split() for line in bill_lines(found, 120)]
    head = shown.index(["QUEUE", "GUARANTEED", "BORROWED", "KEPT", "FREE", "LENT"])
    assert shown[head + 1 : head + 3] == [
        ["vision", "30.0", "10.0", "2.0", "1.0"],
        ["language", "-", "-", "-", "8.0"],
    ]
    assert made("namespace", usage=usage).queues == ()
    seen = usage_as_seen_by(usage, {"red"})
    assert seen.lent == {"vision": HOUR}


def test_an_empty_bill_as_a_table() -> None:
    shown = [line.plain for line in bill_lines(made(usage=usage_of(observed=0)), 100)]
    assert "Note: the ledger has no data for 2026-11." in shown


@st.composite
def usages(draw: st.DrawFn) -> Usage:
    uses = st.builds(
        Use,
        st.sampled_from(["", "red", "blue"]),
        st.sampled_from([{}, {"team": "one"}, {"team": "two", "site": "x"}]),
        st.sampled_from([GPU, "nvidia.com/mig-1g.5gb"]),
        st.sampled_from([H100, L4, ""]),
        st.sampled_from(BUCKETS),
        st.integers(1, 10**12),
    )
    return usage_of(*draw(st.lists(uses, max_size=12)))


PRICES = st.lists(
    st.fixed_dictionaries(
        {"perHour": st.floats(0, 1000), "model": st.sampled_from(["H100", "L4", "*"])},
        optional={"resource": st.sampled_from([GPU, "*"])},
    ),
    max_size=3,
)


@examples(50)
@given(usages(), PRICES)
def test_however_it_is_grouped_the_sum_is_the_capacity_and_the_money_is_the_same(
    usage: Usage, prices: list[dict[str, Any]]
) -> None:
    policy = policy_of({"prices": {"devices": prices}})
    totals = set()
    for by in ("namespace", "model", "label:team", "label:site"):
        for seen in (usage, usage_as_seen_by(usage, {"red"})):
            found = made(by, policy, seen)
            assert sum(row.device_milliseconds for row in found.rows) == sum(usage.capacity.values())
            for row in (*found.rows, found.total):
                parts = row.buckets.values()
                assert sum(part.device_milliseconds for part in parts) == row.device_milliseconds
            cents = [round(row.money * 100) for row in found.rows if row.money is not None]
            assert sum(cents) == round((found.total.money or 0) * 100)
            totals.add((found.total.device_milliseconds, found.total.money))
    assert len(totals) == 1


@given(st.lists(st.integers(0, 10**6), max_size=20))
def test_cents_add_up(thousandths: list[int]) -> None:
    exact = [Fraction(amount, 1000) for amount in thousandths]
    found = shared_out(exact)
    assert sum(found) == round(sum(exact, Fraction()))
    assert all(abs(cents - amount) < 1 for cents, amount in zip(found, exact, strict=True))
