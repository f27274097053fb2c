"""The meter: levels hold from when they were seen until they are seen otherwise.

Amounts are whole device-milliseconds, so that they add up to capacity × time exactly, however time is cut.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from maitred.explain.billing.device_buckets import Device, DeviceLevels, Key

DAY = 86_400_000
"""Milliseconds. Days are those of UTC."""
LONGEST_SILENCE = 60_000
"""Who was not heard of for longer was not looking: what happened meanwhile nobody knows."""


@dataclass
class Reading:
    """What was metered since the last reading, by day since 1970."""

    usage: defaultdict[tuple[int, Key], int] = field(default_factory=lambda: defaultdict(int))
    capacity: defaultdict[tuple[int, Device], int] = field(default_factory=lambda: defaultdict(int))
    lent: defaultdict[tuple[int, str], int] = field(default_factory=lambda: defaultdict(int))
    """By queue."""
    observed: defaultdict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Milliseconds."""


class UsageMeter:
    """Times are in milliseconds since 1970; one that lies before the last counts as the last."""

    def __init__(self, since: int) -> None:
        self.now = since
        self._since = since
        """Up to here all is in the reading."""
        self._levels = DeviceLevels({}, {}, {})
        self._sees = False
        self._reading = Reading()

    def see(self, found: DeviceLevels, at: int) -> None:
        """So it is from now on."""
        self.advance(at)
        self._settle()
        self._levels, self._sees = found, True

    def advance(self, at: int) -> None:
        """Nothing has changed up to now."""
        if at - self.now > LONGEST_SILENCE:
            self._settle()
            self._since = at
        self.now = max(self.now, at)

    def _settle(self) -> None:
        for day, length in by_day(self._since, self.now) if self._sees else ():
            for key, devices in self._levels.devices.items():
                self._reading.usage[day, key] += devices * length
            for device, devices in self._levels.capacity.items():
                self._reading.capacity[day, device] += devices * length
            for queue, devices in self._levels.lent.items():
                self._reading.lent[day, queue] += devices * length
            self._reading.observed[day] += length
        self._since = self.now

    def take(self) -> Reading:
        """What was metered since this was last asked."""
        self._settle()
        reading, self._reading = self._reading, Reading()
        return reading


def by_day(start: int, end: int) -> Iterator[tuple[int, int]]:
    """The days of an interval, and how much of it is in each."""
    while start < end:
        day = start // DAY
        stop = min(end, (day + 1) * DAY)
        yield day, stop - start
        start = stop
