"""Durations and moments as people write them."""

import pytest

from maitred.verify.times import duration, instant


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("0", 0),
        ("0s", 0),
        ("250ms", 250),
        ("90s", 90_000),
        ("1.5h", 5_400_000),
        ("1h30m", 5_400_000),
        ("2d", 172_800_000),
        ("1w", 604_800_000),
        ("36500d", 3_153_600_000_000),
    ],
)
def test_durations(text: str, milliseconds: int) -> None:
    assert duration(text) == milliseconds


@pytest.mark.parametrize(
    "text", ["", "5", "m", "-5m", "5 m", "5m ", "5y", "1h30", "five minutes", "36500d1s", "9" * 400 + "s"]
)
def test_what_is_no_duration(text: str) -> None:
    assert duration(text) is None


def test_moments() -> None:
    assert instant("1970-01-01T00:00:01Z") == 1000
    assert instant("1970-01-01T01:00:00.5+01:00") == 500


@pytest.mark.parametrize("text", ["", "now", "1970-01-01", "1970-01-01 00:00:01Z", "1970-01-01T00:00:01"])
def test_what_is_no_moment(text: str) -> None:
    assert instant(text) is None
