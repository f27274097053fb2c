"""The budget of a cycle: within one priority every namespace has its share of the steps.

Without it whoever submits what takes long to decide keeps all others waiting, and not only those that they
outrank. A cycle may take as many steps as its rotation says. What is left of them is divided among the
priorities that are still to come, and within one priority among the namespaces that have groups there. A
namespace that has used its share is done for this priority and this cycle; many groups have no more than one.

The first group of a namespace is always examined, whatever is left, so that a later cycle gets to everybody:
those who were cut off come first in it. The examination of a single group ends at the budget of a whole
cycle, or at the policy's bound of a search if that is larger; the selectors of one claim may cost as much as
they are allowed beside that.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext

from maitred.cluster.devices.matching import MOST_COST_IN_ALL
from maitred.cluster.meter import Meter
from maitred.cluster.supply.devices import LOOKS
from maitred.decide.agenda import NOT_CUT_OFF
from maitred.model.plan import Blocker
from maitred.model.rotation import Rotation

AGAIN, EXPLAINING = "again", "explaining"
"""What comes after all priorities: those who are tried again because others sat down, from what is left; and
what is in the way of those who wait, for which there is half as much again."""
BudgetLevel = int | str
UNLIMITED = nullcontext()
"""Of a cycle without a budget nothing is charged."""


class Budget:
    def __init__(self, rotation: Rotation | None, meter: Meter, search_steps: int) -> None:
        self._rotation, self._meter = rotation, meter
        self._longest = 0 if rotation is None else max(rotation.steps, search_steps)
        self._place = {} if rotation is None else {key: place for place, key in enumerate(rotation.first)}
        self._levels: dict[BudgetLevel, int] = {}
        """Priorities to come, and how many namespaces have groups there."""
        self._namespaces = 1
        """In all."""
        self._level: BudgetLevel | None = None
        self._begun = dict[BudgetLevel, tuple[float, Counter[str]]]()
        """Of each level that was looked at, the share of a namespace and what was used of it."""
        self._share = 0.0
        self._used = Counter[str]()

    def place(self, group: str) -> int:
        """Where it comes in the rotation."""
        return self._place.get(group, NOT_CUT_OFF)

    def divide(self, namespaces: Mapping[int, Collection[str]]) -> None:
        """Among these priorities, each with its namespaces."""
        self._levels = {level: len(names) for level, names in namespaces.items()}
        self._namespaces = max(1, len({name for names in namespaces.values() for name in names}))

    def is_open(self, level: BudgetLevel, group: str) -> bool:
        """Whether the group's namespace may go on at this level. Levels come one after the other; where there
        are queues one may come again, and what was used of it stays used."""
        if self._rotation is None:
            return True
        if level != self._level:
            self._begin(level, self._rotation.steps)
        used = self._used[namespace_of(group)]
        return used < self._share or (not used and level != AGAIN)

    def _begin(self, level: BudgetLevel, steps: int) -> None:
        if level not in self._begun or level in (AGAIN, EXPLAINING):
            left = steps // 2 if level == EXPLAINING else max(0, steps - self._meter.spent)
            priorities = max(1, len(self._levels))
            share = left / priorities / self._levels.pop(level, self._namespaces)
            self._begun[level] = (share, Counter())
        self._level = level
        self._share, self._used = self._begun[level]

    def examination(self, group: str) -> AbstractContextManager[None]:
        """What it takes is charged to the group's namespace."""
        return UNLIMITED if self._rotation is None else self._charged(group)

    @contextmanager
    def _charged(self, group: str) -> Iterator[None]:
        before = self._meter.spent
        longest = self._longest // 2 if self._level == EXPLAINING else self._longest
        self._meter.examine(longest, LOOKS * MOST_COST_IN_ALL)
        yield
        self._meter.examine(math.inf)
        self._used[namespace_of(group)] += max(1, self._meter.spent - before)

    def not_examined(self, group: str) -> Blocker:
        return self._cut(group, "not decided yet")

    def not_explained(self, group: str) -> Blocker:
        return self._cut(group, "it has no room, and the reason is not known yet")

    def _cut(self, group: str, what: str) -> Blocker:
        steps, namespace = 0 if self._rotation is None else self._rotation.steps, namespace_of(group)
        used = (
            f"earlier groups used up the share of namespace {namespace} in the {steps} search steps of "
            f"this cycle"
        )
        message = f"{what}: {used}; the group comes first in a later cycle"
        return Blocker("Backoff", message, {"budgetSteps": steps})


def namespace_of(group: str) -> str:
    return group.partition("/")[0]
