"""How much is tried for whom: counted, never timed, and the same whoever else was asked about before.

What one group may cost is a bound of its own. What has been worked out for another group is not worked out
again, but it costs as if it were: the group hears what it would hear if it alone were asked about.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


@dataclass(slots=True)
class AttemptBudget:
    """A bound on the work of all tries together. A unit is about what it takes to try a group on a small
    cluster."""

    left: int
    worked: int = 0
    """What was spent on work that nobody had done before."""
    cut: bool = False
    """Whether something was not tried that might have helped: too little was left, or it takes too much."""
    crowded: bool = False
    """Whether more nodes were not tried: too many groups wait ahead, and would take them first."""
    tightest: int = field(init=False)
    """The least that was left at any moment at which more could be asked for."""
    _begun: set[Hashable] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.tightest = self.left

    def spend(self, units: int) -> None:
        self.left -= units
        self.worked += units

    def spend_once(self, what: Hashable, units: int) -> None:
        """For something that is made when it is first needed, and kept."""
        if what not in self._begun:
            self._begun.add(what)
            self.spend(units)

    def allows(self, units: int = 1) -> bool:
        """Whether so much is left; if not, something remains untried."""
        self.tightest = min(self.tightest, self.left - units)
        if self.left < units:
            self.cut = True
        return self.left >= units

    @property
    def spent(self) -> bool:
        return self.left <= 0


class Remembered(NamedTuple):
    value: Any
    cost: int
    needed: int
    """What must be left for nothing of it to be cut."""


class Memory:
    """What has been worked out, and what that took."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Remembered] = {}

    def recall(self, effort: AttemptBudget, key: Hashable, find: Callable[[], T]) -> T:
        """What `find` gives, at the cost of finding it. It may depend on the key alone, and on the effort;
        what was cut short is not remembered."""
        known, start = self._known.get(key), effort.left
        if known is not None and start >= known.needed:
            effort.left -= known.cost
            effort.tightest = min(effort.tightest, start - known.needed)
            value: T = known.value
            return value
        tightest, cut = effort.tightest, effort.cut
        effort.tightest, effort.cut = start, False
        value = find()
        if not effort.cut:
            self._known[key] = Remembered(value, start - effort.left, start - effort.tightest)
        effort.tightest, effort.cut = min(effort.tightest, tightest), effort.cut or cut
        return value


class Latest(Generic[K, T]):
    """The last few things of a kind that were asked for. For what takes too much memory to be kept for all
    who may ask; what is made again is what it was before."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = OrderedDict[K, T]()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: K, make: Callable[[], T]) -> T:
        if key not in self._kept:
            self._kept[key] = make()
        self._kept.move_to_end(key)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return self._kept[key]
