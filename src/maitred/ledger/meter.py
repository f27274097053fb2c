"""The meter: levels hold from when they were seen until they are seen otherwise.

Amounts are whole device-milliseconds, so that they add up to capacity × time exactly, however time is cut.
Where prices differ by the hour, it is also metered how much more the time cost than at the plain price.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from maitred.explain.billing.device_buckets import Device, DeviceLevels, Key
from maitred.model.tariff import WHOLE, PriceHours, pieces

DAY = 86_400_000
"""Milliseconds. Days are those of UTC."""
LONGEST_SILENCE = 60_000
"""Who was not heard of for longer was not looking: what happened meanwhile nobody knows."""


@dataclass
class Reading:
    """What was metered since the last reading, by day since 1970."""

    usage: defaultdict[tuple[int, Key], int] = field(default_factory=lambda: defaultdict(int))
    surcharge: defaultdict[tuple[int, Key], int] = field(default_factory=lambda: defaultdict(int))
    """Thousandths of device-milliseconds at the plain price that this cost more; less, if below zero."""
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
        self._hours: tuple[PriceHours, ...] = ()
        self._sees = False
        self._reading = Reading()

    def see(self, found: DeviceLevels, at: int, hours: tuple[PriceHours, ...] = ()) -> None:
        """So it is from now on, at such prices."""
        self.advance(at)
        self._settle()
        self._levels, self._hours, self._sees = found, hours, True

    def advance(self, at: int) -> None:
        """Nothing has changed up to now."""
        if at - self.now > LONGEST_SILENCE:
            self._settle()
            self._since = at
        self.now = max(self.now, at)

    def _settle(self) -> None:
        start = self._since
        for day, length in by_day(start, self.now) if self._sees else ():
            surcharge = self._surcharge(start, length)
            for key, devices in self._levels.devices.items():
                self._reading.usage[day, key] += devices * length
                if surcharge:
                    self._reading.surcharge[day, key] += devices * surcharge
            for device, devices in self._levels.capacity.items():
                self._reading.capacity[day, device] += devices * length
            for queue, devices in self._levels.lent.items():
                self._reading.lent[day, queue] += devices * length
            self._reading.observed[day] += length
            start += length
        self._since = self.now

    def _surcharge(self, start: int, length: int) -> int:
        return sum((factor - WHOLE) * part for part, factor in pieces(self._hours, start, start + length))

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
