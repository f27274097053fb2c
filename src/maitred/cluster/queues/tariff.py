"""What times cost, for many at once, where prices differ by the hour."""

import numpy as np

from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.queues.charges import Floats
from maitred.model.tariff import WHOLE, PriceHours, steps_around

HOUR = 3_600_000


class Tariff:
    """Hours at the plain price: an hour that costs twice as much counts as two."""

    def __init__(self, hours: tuple[PriceHours, ...] = (), now: int = 0) -> None:
        """`now`: prices are known by the hour for some time around it."""
        steps = np.array(steps_around(hours, now), dtype=np.int64).reshape(-1, 2)
        self.at: Ints = steps[:, 0]
        self._factors = np.append(WHOLE, steps[:, 1])
        # All up to each step, from the first on.
        self._sums = np.append(0, np.cumsum(np.diff(self.at) * self._factors[1:-1]))

    def hours(self, begin: Ints, end: Ints, priced: Mask) -> Floats:
        """From when until when; at these prices, or by the clock."""
        found: Floats = np.clip(end - begin, 0, None) / HOUR
        if not len(self.at):
            return found
        return np.where(priced, np.clip(self._sum(end) - self._sum(begin), 0, None) / (WHOLE * HOUR), found)

    def _sum(self, moments: Ints) -> Ints:
        """In thousandths of a millisecond, from the first step on."""
        places = np.searchsorted(self.at, moments, side="right")
        before = np.maximum(places - 1, 0)
        found: Ints = self._sums[before] + (moments - self.at[before]) * self._factors[places]
        return found

    def end(self, begin: int, hours: float, priced: bool) -> int:
        """Until when so many hours last."""
        if not priced or not len(self.at):
            return begin + int(hours * HOUR)
        edges = self.at[self.at > begin]
        edges = np.append(edges, max(begin, int(self.at[-1])) + int(hours * HOUR) + 1)
        worth = self.hours(np.full_like(edges, begin), edges, np.ones(len(edges), dtype=np.bool_))
        place = int(np.searchsorted(worth, hours, side="right"))
        if place == len(edges):
            return int(edges[-1])
        start, spent = (begin, 0.0) if not place else (int(edges[place - 1]), float(worth[place - 1]))
        factor = int(self._factors[np.searchsorted(self.at, start, side="right")])
        return start + int((hours - spent) * HOUR * WHOLE / factor)

    def next_change(self, now: int) -> int | None:
        place = int(np.searchsorted(self.at, now, side="right"))
        return int(self.at[place]) if place < len(self.at) else None


PLAIN = Tariff()
