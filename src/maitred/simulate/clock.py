"""Virtual time: whole microseconds since the run began, so that what is added up comes out exactly."""

from datetime import UTC, datetime, timedelta

Time = int

SECOND = 1_000_000
HOUR = 3600 * SECOND
DAY = 24 * HOUR
LONGEST = 36_500 * DAY
"""A hundred years. No input may ask for more."""

BEGINNING = datetime(2026, 1, 1, tzinfo=UTC)
"""The date that objects of a run are stamped with at time 0. Nothing depends on which it is, but periods of
budgets, and prices by the hour."""


def moment(time: Time) -> datetime:
    return BEGINNING + timedelta(microseconds=time)


def time_of(moment: datetime) -> Time:
    return (moment - BEGINNING) // timedelta(microseconds=1)
