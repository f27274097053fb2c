"""How often something may happen: so many times at once, and so many times a second after that."""

import math
import time
from collections.abc import Callable, Hashable

MOST_REMEMBERED = 1_000


class RateLimit:
    def __init__(
        self, at_once: float, per_second: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.at_once, self.per_second = at_once, per_second
        self._clock = clock
        self._left: dict[Hashable, tuple[float, float]] = {}
        """What each still had, and when."""

    def allows(self, who: Hashable) -> bool:
        """Whether it may happen now; then it counts."""
        now = self._clock()
        left, at = self._left.get(who, (self.at_once, -math.inf))
        left = min(self.at_once, left + (now - at) * self.per_second)
        allowed = left >= 1
        self._left[who] = (left - allowed, now)
        if len(self._left) > MOST_REMEMBERED:
            full = now - self.at_once / self.per_second
            self._left = {one: known for one, known in self._left.items() if known[1] > full}
        return allowed
