"""When jobs were submitted: a column of seconds since whenever, or of dates."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation

from maitred.simulate.clock import LONGEST, SECOND, Time
from maitred.simulate.traces.rows import TraceRow

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Moments:
    """The moments of one column. Seconds and dates have no beginning in common, so they cannot be mixed."""

    def __init__(self, column: str) -> None:
        self._column = column
        self._dated: bool | None = None

    def of(self, row: TraceRow) -> Time:
        text = row.text(self._column)
        dated = not is_number(text)
        if self._dated is None:
            self._dated = dated
        if dated != self._dated:
            raise row.refuse(self._column, f"{text[:40]!r}: some rows have a date here, and others seconds")
        return self._since_epoch(row, text) if dated else row.time(self._column, SECOND)

    def _since_epoch(self, row: TraceRow, text: str) -> Time:
        try:
            date = datetime.fromisoformat(text)
        except ValueError:
            what = "is neither a number of seconds nor a date such as 2026-01-31T12:00:00Z"
            raise row.refuse(self._column, f"{text[:40]!r} {what}") from None
        moment = date if date.tzinfo else date.replace(tzinfo=UTC)
        time = (moment - EPOCH) // timedelta(microseconds=1)
        if not 0 <= time <= LONGEST:
            raise row.refuse(self._column, f"{text[:40]} is not within a hundred years from 1970")
        return time


def is_number(text: str) -> bool:
    try:
        Decimal(text)
    except InvalidOperation:
        return False
    return True
