"""How much work a decision has done so far, and where it has to end."""

import math
from dataclasses import dataclass


@dataclass(slots=True)
class Meter:
    """Counts all work of a cycle that grows with what users ask for, in looks at one node for one shape.

    One look takes about as long as any other, a few dozen nanoseconds, whoever counts it: the search in plain
    lists, or a pass over columns. It is counted, never timed, so that the same input gives the same answer.
    """

    spent: int = 0
    until: float = math.inf
    """Where the examination of the group at hand has to end."""

    def take(self, looks: int) -> None:
        self.spent += looks

    @property
    def over(self) -> bool:
        return self.spent >= self.until
