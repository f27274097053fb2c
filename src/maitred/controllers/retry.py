"""When a write that did not go well is tried again."""

import math
import time
from dataclasses import dataclass

FIRST_RETRY, LONGEST_RETRY = 1.0, 60.0


@dataclass(slots=True)
class Retry:
    failures: int = 0
    at: float = -math.inf

    def again(self) -> float:
        """Returns for how many seconds it is left alone."""
        seconds = min(FIRST_RETRY * 2.0**self.failures, LONGEST_RETRY)
        self.failures, self.at = min(self.failures + 1, 10), time.monotonic() + seconds
        return seconds
