"""When reservations are: clocks, seasons and calendars; and which of them are refused."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from maitred.model.manifest import InputError, read_policy
from maitred.model.reservations import Reservation, is_over, overlap, spans_of
from maitred.verify.calendars import read_calendar
from maitred.verify.fields import Doc
from tests.oracle.builders import Obj
from tests.oracle.effort import examples

ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")
DAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")


def saying(**fields: Any) -> Obj:
    usual = {
        "name": "demo",
        "for": {"namespace": "vision"},
        "devices": {"resource": "nvidia.com/gpu", "count": 8},
        "from": "2026-03-02T14:00",
        "until": "2026-03-02T18:00",
    }
    return {**usual, **fields}


def milliseconds(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def spans(now: str, count: int = 3, **fields: Any) -> list[str]:
    """The first of them, in UTC."""
    found = spans_of(msgspec.convert(saying(**fields), Reservation), milliseconds(now))[:count]
    written = [
        [datetime.fromtimestamp(at / 1000, UTC).strftime("%m-%d %H:%M") for at in one] for one in found
    ]
    return [" to ".join(one) for one in written]


def test_once() -> None:
    once = ["03-02 14:00 to 03-02 18:00"]
    assert spans("2026-01-01T00:00:00Z") == spans("2026-03-02T17:59:59Z") == once
    assert spans("2026-03-02T18:00:00Z") == []
    assert spans("2026-01-01T00:00:00Z", timeZone="Asia/Kolkata") == ["03-02 08:30 to 03-02 12:30"]


def test_again_until_the_horizon() -> None:
    weekly = spans_of(
        msgspec.convert(saying(every="week"), Reservation), milliseconds("2026-03-02T15:00:00Z")
    )
    assert len(weekly) == 53  # the one that is now, and those of a year
    assert spans("2026-03-03T00:00:00Z", 2, every="FREQ=MONTHLY;BYDAY=FR;BYSETPOS=-1") == [
        "03-27 14:00 to 03-27 18:00",
        "04-24 14:00 to 04-24 18:00",
    ]


def test_clocks_count_also_where_they_are_changed() -> None:
    """From ten to six is seven hours in one night of spring, and nine in one of autumn."""
    night = {
        "from": "2026-03-01T22:00",
        "until": "2026-03-02T06:00",
        "every": "day",
        "timeZone": "Europe/Berlin",
    }
    assert spans("2026-03-28T12:00:00Z", 2, **night) == [
        "03-28 21:00 to 03-29 04:00",
        "03-29 20:00 to 03-30 04:00",
    ]
    assert spans("2026-10-24T12:00:00Z", 2, **night) == [
        "10-24 20:00 to 10-25 05:00",
        "10-25 21:00 to 10-26 05:00",
    ]


def test_times_that_clocks_leave_out_or_show_twice() -> None:
    early = {"until": "2026-03-01T03:30", "every": "day", "timeZone": "Europe/Berlin"}
    # At two o'clock it is three. What begins at half past two begins at half past three.
    assert spans("2026-03-29T00:00:00Z", 1, **early, **{"from": "2026-03-01T02:30"}) == [
        "03-30 00:30 to 03-30 01:30"
    ]
    assert spans(
        "2026-03-29T00:00:00Z", 1, **{**early, "until": "2026-03-01T05:00"}, **{"from": "2026-03-01T02:30"}
    ) == ["03-29 01:30 to 03-29 03:00"]
    # Half past two comes twice: the first counts.
    assert spans("2026-10-25T00:00:00Z", 1, **early, **{"from": "2026-03-01T02:30"}) == [
        "10-25 00:30 to 10-25 02:30"
    ]


def test_what_is_over() -> None:
    def over(now: str, **fields: Any) -> bool:
        return is_over(msgspec.convert(saying(**fields), Reservation), milliseconds(now))

    assert not over("2026-03-02T17:00:00Z")
    assert over("2026-03-02T18:00:00Z")
    assert not over("2030-01-01T00:00:00Z", every="week")
    assert over("2026-03-16T18:00:00Z", every="FREQ=WEEKLY;COUNT=3")
    assert not over("2026-03-16T17:00:00Z", every="FREQ=WEEKLY;COUNT=3")
    assert over("2026-04-01T00:00:00Z", every="FREQ=DAILY;UNTIL=20260331")
    assert not over("2020-01-01T00:00:00Z")  # it is far from now
    assert spans("2020-01-01T00:00:00Z") == []


def test_overlap() -> None:
    assert not overlap(((0, 2), (4, 6)), ((2, 4), (6, 9)))
    assert overlap(((0, 2), (4, 6)), ((2, 5),))
    assert not overlap((), ((2, 5),))


@st.composite
def calendars(draw: st.DrawFn) -> Obj:
    """Whatever the policy check lets through."""
    begin = datetime(2026, 1, 1) + timedelta(minutes=30 * draw(st.integers(0, 48 * 365)))
    until = begin + timedelta(minutes=draw(st.sampled_from((30, 120, 600, 1380))))
    kind = draw(st.sampled_from(("", "DAILY", "WEEKLY", "MONTHLY")))
    rule = [f"FREQ={kind}"]
    interval = draw(st.sampled_from((1, 1, 2, 3)))
    rule += [f"INTERVAL={interval}"] if interval > 1 else []
    ends = draw(st.sampled_from(("", "COUNT=5", "UNTIL=20261101", "UNTIL=20270601T120000")))
    rule += [ends] if ends else []
    if kind == "WEEKLY" or (kind == "MONTHLY" and draw(st.booleans())):
        chosen = draw(st.lists(st.sampled_from(DAYS), max_size=3, unique=True))
        rule += [f"BYDAY={','.join(chosen)}"] if chosen else []
    if kind == "WEEKLY" and draw(st.booleans()):
        rule.append("WKST=SU")
    if kind == "MONTHLY":
        rule += draw(st.sampled_from(([], ["BYMONTHDAY=1,15"], ["BYMONTHDAY=-1"], ["BYMONTHDAY=31"])))
        rule += draw(st.sampled_from(([], ["BYSETPOS=1"], ["BYSETPOS=-2"])))
        if (
            len(rule)
            and rule[-1].startswith("BYSETPOS")
            and not any(r.startswith(("BYDAY", "BYM")) for r in rule)
        ):
            rule.pop()
    return saying(
        **{"from": begin.isoformat(), "until": until.isoformat()},
        every=";".join(rule) if kind else "",
        timeZone=draw(st.sampled_from(ZONES)),
    )


@given(calendars(), st.integers(0, 600))
@examples(60)
def test_the_library_and_the_checker_agree(said: Obj, days: int) -> None:
    """One asks a library, the other goes through the days one by one."""
    now = round((datetime(2026, 1, 1, 7, tzinfo=UTC) + timedelta(days=days)).timestamp() * 1000)
    found = spans_of(msgspec.convert(said, Reservation), now)
    own = read_calendar(Doc(said, "reservation")).spans(now)
    near = now + 360 * 86_400_000
    assert [span for span in found if span[0] < near] == [span for span in own if span[0] < near]


REFUSED: dict[str, tuple[Obj, str]] = {
    "for nobody": ({"for": {}}, "for: names one of queue, namespace and group"),
    "for two": (
        {"for": {"namespace": "a", "group": "a/b"}},
        "for: names one of queue, namespace and group",
    ),
    "no such queue": ({"for": {"queue": "x"}}, "for.queue: there is no queue 'x' in this policy"),
    "no group": ({"for": {"group": "x"}}, "for.group: 'x' is not a namespace and a name, such as ml/train"),
    "of nothing": ({"devices": None}, "has devices or nodes, one of the two"),
    "of both": ({"nodes": {}}, "has devices or nodes, one of the two"),
    "nothing of it": (
        {"devices": {"resource": "nvidia.com/gpu", "count": 0}},
        "devices.count: must be at least 1",
    ),
    "within for nodes": (
        {"devices": None, "nodes": {}, "within": "rack"},
        "within: is for devices; the selector says which nodes these are",
    ),
    "no time": ({"from": "monday"}, "from: 'monday' is not a time such as 2026-12-01T14:00"),
    "a day": (
        {"from": "2026-03-02"},
        "from: '2026-03-02' has no time of day; write it like 2026-03-02T14:00",
    ),
    "two time zones": (
        {"until": "2026-03-02T18:00Z"},
        "until: '2026-03-02T18:00Z' names a time zone; write what clocks show, and timeZone",
    ),
    "long ago": ({"from": "1970-01-01T00:00"}, "from: '1970-01-01T00:00' is not between 2020 and 2199"),
    "backwards": ({"until": "2026-03-02T13:00"}, "until: 2026-03-02T13:00 is not after 2026-03-02T14:00"),
    "no zone": ({"timeZone": "Mars"}, "timeZone: 'Mars' is not a time zone such as UTC or Europe/Berlin"),
    "a path": ({"timeZone": "../etc"}, "timeZone: '../etc' is not a time zone such as UTC or Europe/Berlin"),
    "lead": ({"leadTime": "soon"}, "leadTime: 'soon' is not a duration"),
    "release": ({"releaseAfter": "soon"}, "releaseAfter: 'soon' is neither none nor a duration"),
    "rule": ({"every": "fortnight"}, "every: 'fortnight' is not known here; write day, week or a rule"),
    "hourly": ({"every": "FREQ=HOURLY"}, "every: 'FREQ=HOURLY' is not known here"),
    "no frequency": ({"every": "BYDAY=MO"}, "every: 'BYDAY=MO' has no FREQ"),
    "twice": ({"every": "FREQ=DAILY;FREQ=DAILY"}, "every: says FREQ twice"),
    "meaningless": ({"every": "FREQ=DAILY;BYDAY=MO"}, "every: BYDAY has no meaning here with FREQ=DAILY"),
    "two ends": ({"every": "FREQ=DAILY;COUNT=2;UNTIL=20270101"}, "every: says COUNT and UNTIL"),
    "never": (
        {
            "every": "FREQ=MONTHLY;INTERVAL=12;BYMONTHDAY=31",
            "from": "2026-02-01T14:00",
            "until": "2026-02-01T15:00",
        },
        "every: never comes true",
    ),
    "no day": ({"every": "FREQ=MONTHLY;BYMONTHDAY=45"}, "every: BYMONTHDAY=45 is no day of a month"),
    "upon itself": (
        {"every": "day", "until": "2026-03-03T15:00"},
        "until: 2026-03-03T15:00 is after it begins again",
    ),
}


@pytest.mark.parametrize(("wrong", "told"), REFUSED.values(), ids=REFUSED.keys())
def test_what_nobody_could_keep_is_refused(wrong: Obj, told: str) -> None:
    with pytest.raises(InputError) as refused:
        read_policy(yaml.safe_dump({"reservations": [saying(**wrong)]}).encode(), "p.yaml")
    field = "reservations[0]: " if told.startswith("has") else "reservations[0]."
    assert field + told in str(refused.value)


def test_two_of_one_name_are_refused() -> None:
    with pytest.raises(InputError, match="'demo' is already used"):
        read_policy(yaml.safe_dump({"reservations": [saying(), saying()]}).encode(), "p.yaml")


def test_dates_that_yaml_reads_as_such() -> None:
    times = b"from: 2026-03-02T14:00:00, until: 2026-03-02 15:00"
    text = b"reservations: [{name: a, for: {namespace: b}, nodes: {}, " + times + b"}]"
    policy, _ = read_policy(text, "p.yaml")
    assert policy.reservations[0].begin == "2026-03-02T14:00:00"
    assert date.fromisoformat(policy.reservations[0].until[:10]) == date(2026, 3, 2)
