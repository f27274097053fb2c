"""How much work a decision has done so far, and where it has to end."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, field


@dataclass(slots=True)
class Meter:
    """Counts all work of a cycle that grows with what users ask for, in looks at one node for one shape.

    One look takes about as long as any other, a few dozen nanoseconds, whoever counts it: the search in plain
    lists, or a pass over columns. It is counted, never timed, so that the same input gives the same answer.
    """

    spent: int = 0
    until: float = math.inf
    """Where the examination of the group at hand has to end."""
    extension: int = 0
    """So much later it ends for what is worked out once and kept."""
    _known: set[Hashable] = field(default_factory=set)

    def examine(self, longest: float, extension: int = 0) -> None:
        """From here on work is for one group, or for no group in particular."""
        self.until, self.extension = self.spent + longest, extension
        self._known = set()

    def take_once(self, what: Hashable, looks: int) -> None:
        """For what is worked out once and kept. It counts once for each group, whether or not it was known,
        and is no reason to end before the group is decided: else a later cycle would get no further."""
        if what not in self._known:
            self._known.add(what)
            self.spent += looks
            self.until += min(looks, self.extension)
            self.extension = max(0, self.extension - looks)

    def take(self, looks: int) -> None:
        self.spent += looks

    @property
    def over(self) -> bool:
        return self.spent >= self.until
