"""Where the time of devices goes: every thousandth of a device, every microsecond, in exactly one bucket."""

from collections import Counter
from collections.abc import Iterable

from maitred.simulate.clock import SECOND, Time
from maitred.simulate.group import Stretch
from maitred.simulate.jobs import WHOLE
from maitred.simulate.results import BUCKETS, Bucket, Sample

FIRST_WIDTH = 60 * SECOND
MOST_BINS = 400
"""When there are more, two become one, so that a long run needs no more room than a short one."""
DEMAND = len(BUCKETS)
"""Beside the buckets each bin counts what waiting jobs asked for."""
PLACE = {bucket: place for place, bucket in enumerate(BUCKETS)}


class DeviceMeter:
    """Levels hold from when they were set until they are set again."""

    def __init__(self) -> None:
        self.now: Time = 0
        self._levels = [0] * (DEMAND + 1)
        self._totals = [0] * (DEMAND + 1)
        self._bins: list[list[int]] = []
        self._width = FIRST_WIDTH

    def set(self, levels: dict[Bucket, int], demand: int) -> None:
        """Thousandths of devices in each bucket from now on."""
        self._levels = [levels.get(bucket, 0) for bucket in BUCKETS]
        self._levels.append(demand)

    def advance(self, now: Time) -> None:
        if now == self.now:
            return
        for place, level in enumerate(self._levels):
            if level:
                self._add(place, self.now, now, level)
        self._bin(now - 1)
        self.now = now

    def lose(self, stretches: Iterable[Stretch], to: Bucket) -> None:
        """Work that had counted as productive was in vain."""
        for stretch in stretches:
            if stretch.load:
                self._add(PLACE["productive"], stretch.start, stretch.end, -stretch.load)
                self._add(PLACE[to], stretch.start, stretch.end, stretch.load)

    def _add(self, place: int, start: Time, end: Time, level: int) -> None:
        self._totals[place] += level * (end - start)
        self._bin(end - 1)
        width = self._width
        for number in range(start // width, (end - 1) // width + 1):
            inside = min(end, (number + 1) * width) - max(start, number * width)
            self._bins[number][place] += level * inside

    def _bin(self, time: Time) -> None:
        """Make room up to this moment."""
        while time // self._width >= MOST_BINS:
            self._width *= 2
            self._bins = [
                [a + b for a, b in zip(first, second, strict=True)]
                for first, second in zip(self._bins[::2], [*self._bins[1::2], EMPTY], strict=False)
            ]
        while len(self._bins) <= time // self._width:
            self._bins.append(list(EMPTY))

    @property
    def totals(self) -> dict[Bucket, int]:
        """Thousandths of device-microseconds."""
        return dict(zip(BUCKETS, self._totals, strict=False))

    def samples(self) -> tuple[Sample, ...]:
        return tuple(self._sample(number, levels) for number, levels in enumerate(self._bins))

    def _sample(self, number: int, levels: list[int]) -> Sample:
        start, end = number * self._width, min((number + 1) * self._width, self.now)
        devices = [level / (end - start) / WHOLE for level in levels]
        return Sample(
            start=start / SECOND,
            end=end / SECOND,
            devices=dict(zip(BUCKETS, devices, strict=False)),
            waiting=devices[DEMAND],
        )


class QueueMeter:
    """What groups of each queue held, from when they took their seats until they had left them."""

    def __init__(self) -> None:
        self.totals: Counter[str] = Counter()
        """Thousandths of device-microseconds."""
        self._levels: Counter[str] = Counter()
        self._since: dict[str, Time] = {}

    def change(self, queue: str, load: int, now: Time) -> None:
        self.totals[queue] += self._levels[queue] * (now - self._since.get(queue, now))
        self._levels[queue] += load
        self._since[queue] = now

    def close(self, now: Time) -> None:
        for queue in list(self._levels):
            self.change(queue, 0, now)


EMPTY = [0] * (DEMAND + 1)
