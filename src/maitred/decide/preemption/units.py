"""Units: what can be made to leave, each as a whole, and what a set of them costs."""

from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.snapshot import Occupant
from maitred.decide.preemption.evictable import LEAST_PRIORITY, UNPAID, EvictablePods, device_hours
from maitred.decide.preemption.kinship import SINGLE
from maitred.model.budget import allowed
from maitred.model.meta import key_of
from maitred.model.plan import Toll

STEP = 600_000
"""Ten device-minutes, in device-milliseconds."""
VIOLATION, UNIT, POD = 1e9, 1e-2, 1e-4
"""What a broken budget, a unit and a pod weigh, in steps of work lost."""
Floats = NDArray[np.float64]


LOWEST = np.iinfo(np.int64).min


class Price(NamedTuple):
    """What sets of units are compared by, first things first."""

    violations: int
    highest_rank: int
    steps: int
    units: int
    pods: int


@dataclass(frozen=True, slots=True)
class Guard:
    """A budget that speaks of some candidates."""

    name: str
    allowed: int
    counts: Ints
    """How many of its pods each unit has."""


class Units:
    """Columns over units. A pod of a gang with a surplus is in two: by itself, and with the whole gang. One
    that the others cannot do without is only in the second."""

    def __init__(self, evictable: EvictablePods, standing: Mask, candidates: Mask) -> None:
        """`standing` are the pods that are not leaving already, `candidates` those who may have to."""
        self.evictable = evictable
        pods = evictable.by_family[candidates[evictable.by_family]]
        first = np.flatnonzero(np.diff(evictable.family[pods], prepend=-1))
        of_family, counts = evictable.family[pods[first]], np.diff(first, append=len(pods))
        total = np.bincount(evictable.family[standing], minlength=int(of_family[-1]) + 1 if len(pods) else 0)
        surplus = self._surplus_left(of_family, standing)
        complete = counts == total[of_family]
        in_part = np.repeat(surplus > 0, counts)
        in_part[in_part] = ~evictable.leading(pods[in_part])
        self.family = np.concatenate((of_family[complete], np.repeat(of_family, counts)[in_part]))
        self.whole = np.arange(len(self.family)) < int(complete.sum())
        sizes = np.concatenate((counts[complete], np.ones(int(in_part.sum()), dtype=np.int64)))
        self.pods = np.concatenate((pods[np.repeat(complete, counts)], pods[in_part])).astype(np.intp)
        """The pods of all units, unit by unit,"""
        self.unit = np.repeat(np.arange(len(sizes)), sizes)
        """and whose they are."""
        self.size: Ints = sizes.astype(np.int64)
        self._start = np.cumsum(self.size) - self.size
        self.single = len(self.pods) == len(self.size)
        """Whether every unit is one pod."""
        self._surplus = dict(zip(of_family.tolist(), surplus.tolist(), strict=True))
        self.present: Mask = np.ones(len(self.size), dtype=np.bool_)
        """Units that have not left since these were put together."""
        self._weigh(standing, candidates)

    def _weigh(self, standing: Mask, candidates: Mask) -> None:
        """What budgets allow changes with everybody who leaves."""
        self._standing, self._candidates = standing, candidates
        self._cost: Floats | None = None
        self.guards = tuple(self._guards(standing))
        self.violating: Mask = np.zeros(len(self), dtype=np.bool_)
        """Units that no budget would let go even alone."""
        for guard in self.guards:
            self.violating |= guard.counts > guard.allowed

    def after(self, standing: Mask, candidates: Mask) -> "Units":
        """The units for a later group: the same without those who have left or may not leave any more. They
        are put together anew if there are others, or if a family is no longer what it was."""
        gone = (self._candidates & ~candidates) | (self._standing & ~standing)
        more = (candidates & ~self._candidates) | (standing & ~self._standing)
        if more.any() or self.evictable.kin_of(np.flatnonzero(gone), candidates):
            return Units(self.evictable, standing, candidates)
        fewer = copy(self)
        fewer.present = candidates[self.pods if self.single else self.pods[self._start]]
        fewer._weigh(standing, candidates)
        return fewer

    def _surplus_left(self, families: Ints, standing: Mask) -> Ints:
        """Less those who are leaving in this very cycle."""
        evictable = self.evictable
        going = np.sort(evictable.family[~standing & ~evictable.bound.terminating])
        gone = np.searchsorted(going, families, "right") - np.searchsorted(going, families)
        left: Ints = np.maximum(evictable.surplus(families) - gone, 0)
        return left

    def __len__(self) -> int:
        return len(self.size)

    def entries(self, unit: int) -> slice:
        """Where the pods of a unit are among those of all."""
        return slice(self._start[unit], self._start[unit] + self.size[unit])

    def entries_of(self, chosen: Mask) -> Ints:
        """The same of several units."""
        return self.entries_in_turn(np.flatnonzero(chosen))

    def entries_in_turn(self, places: Ints) -> Ints:
        """Of one unit after the other."""
        if self.single:
            return places
        size = self.size[places]
        before = np.cumsum(size) - size
        return np.repeat(self._start[places] - before, size) + np.arange(int(size.sum()))

    def first_pods(self, units: Ints) -> Rows:
        first: Rows = self.pods[self._start[units]]
        return first

    def _guards(self, standing: Mask) -> Iterable[Guard]:
        snapshot, bound = self.evictable.snapshot, self.evictable.bound
        for place in self._budgets:
            budget = snapshot.budgets[place]
            of_set = np.array([place in members for members in snapshot.budget_sets])
            matched = of_set[bound.budgets] & ~bound.terminating
            limit = allowed(budget, int(matched.sum()))
            matched &= ~self._granted(budget.status.disrupted_pods, matched)
            # Those who leave for others in this very cycle have used some of it.
            used = int((matched & ~standing).sum())
            counts = np.bincount(self.unit[matched[self.pods]], minlength=len(self))
            yield Guard(key_of(budget.metadata), max(0, limit - used), counts)

    @cached_property
    def _budgets(self) -> list[int]:
        """Those that speak of any of the pods."""
        sets = np.unique(self.evictable.bound.budgets[self.pods])
        return sorted({budget for number in sets for budget in self.evictable.snapshot.budget_sets[number]})

    def _granted(self, disrupted: Iterable[str], matched: Mask) -> Mask:
        """Pods whose disruption the budget counts already."""
        granted = np.zeros(len(matched), dtype=np.bool_)
        names = set(disrupted)
        for pod in np.flatnonzero(matched).tolist() if names else ():
            granted[pod] = self.evictable.bound.occupants[pod].key.partition("/")[2] in names
        return granted

    @cached_property
    def nodes(self) -> Rows:
        """The node of each entry of `pods`."""
        return self.evictable.bound.node[self.pods].astype(np.intp)

    @cached_property
    def needs(self) -> Rows:
        """The number of the needs of each entry of `pods`."""
        return self.evictable.bound.needs[self.pods].astype(np.intp)

    def on_nodes(self, rows: Rows) -> tuple[Ints, Rows]:
        """The entries of `pods` on some nodes, node by node, and the node of each."""
        entries, starts = self._by_node
        counts = starts[rows + 1] - starts[rows]
        before = np.cumsum(counts) - counts
        places = np.repeat(starts[rows] - before, counts) + np.arange(int(counts.sum()))
        return entries[places], np.repeat(rows, counts)

    @cached_property
    def _by_node(self) -> tuple[Ints, Ints]:
        """The entries of `pods` node by node, and where those of each node begin and end."""
        counts = np.bincount(self.nodes, minlength=len(self.evictable.snapshot.nodes.names))
        return np.argsort(self.nodes, kind="stable"), np.concatenate(([0], np.cumsum(counts)))

    # -- what each costs -------------------------------------------------------------------------------

    @cached_property
    def rank(self) -> Ints:
        """Their priorities; below all others, of those who do not pay."""
        highest: Ints = np.maximum.reduceat(self.evictable.rank[self.pods], self._start)
        return highest

    @cached_property
    def grade(self) -> Ints:
        """Their ranks, numbered from the lowest."""
        return np.unique(self.rank, return_inverse=True)[1]

    @cached_property
    def work(self) -> Ints:
        lost: Ints = np.add.reduceat(self.evictable.work[self.pods], self._start)
        return lost

    @property
    def cost(self) -> Floats:
        """One number for all that a unit costs, to tell at first sight which of them leave best."""
        if self._cost is None:
            self._cost = self._lasting_cost
            if self.guards:
                self._cost = self._cost + VIOLATION * self.violating
        return self._cost

    @cached_property
    def _lasting_cost(self) -> Floats:
        """But for what budgets make of it."""
        cost: Floats = self.work / STEP + UNIT + POD * self.size
        return cost

    @cached_property
    def oldest(self) -> Ints:
        oldest: Ints = np.minimum.reduceat(self.evictable.started[self.pods], self._start)
        return oldest

    # -- what sets of them cost ------------------------------------------------------------------------

    def chosen(self, units: Iterable[int] | Ints) -> Mask:
        mask = np.zeros(len(self), dtype=np.bool_)
        mask[units if isinstance(units, np.ndarray) else list(units)] = True
        return mask

    def pods_of(self, chosen: Mask) -> Rows:
        return self.pods[self.entries_of(chosen)]

    def closed(self, chosen: Mask) -> Mask:
        """The same with whole gangs in place of more single pods than those can spare."""
        if self.whole.all():
            return chosen
        chosen = chosen.copy()
        for family in np.unique(self.family[chosen & ~self.whole]).tolist():
            kin = self.family == family
            singles, whole = kin & ~self.whole, kin & self.whole
            if (chosen & whole).any() or int((chosen & singles).sum()) > self._surplus[family]:
                chosen[singles] = False
                chosen |= whole
                if not whole.any():
                    chosen[np.flatnonzero(singles)[: self._surplus[family]]] = True
        return chosen

    def at_most(self, chosen: Mask) -> Mask:
        """All who could leave with some of these: each of them, and the whole gangs of single pods."""
        if self.whole.all():
            return chosen
        return chosen | (self.whole & np.isin(self.family, self.family[chosen & ~self.whole]))

    def distinct(self, chosen: Mask) -> Ints:
        """These units, but of pods of a gang that are alike only as many as it can spare."""
        places, bound, evictable = np.flatnonzero(chosen), self.evictable.bound, self.evictable
        names = self.named(chosen & ~self.whole)
        kept, seen = list[int](), Counter[tuple[int, ...]]()
        for unit in sorted(names, key=lambda unit: (-self.oldest[unit], names[unit])):
            pod, family = self.pods[self._start[unit]], int(self.family[unit])
            columns = (bound.node, bound.needs, bound.labels, bound.budgets, evictable.work)
            alike = (family, *(int(column[pod]) for column in columns))
            seen[alike] += 1
            if seen[alike] <= self._surplus[family]:
                kept.append(unit)
        return np.sort(np.concatenate((places[self.whole[places]], np.array(kept, dtype=np.int64))))

    def surplus_of(self, family: int) -> int:
        return int(self._surplus[family])

    @cached_property
    def divisible(self) -> Mask:
        """Whole gangs that can spare some of their pods."""
        return self.whole & np.isin(self.family, self.family[~self.whole])

    def in_part(self, unit: int) -> Ints:
        """The pods of a whole gang as units by themselves."""
        return np.flatnonzero((self.family == self.family[unit]) & ~self.whole)

    def leading_in(self, unit: int) -> Ints:
        """The entries of those pods of a whole gang that do not go without the others."""
        entries = np.arange(self._start[unit], self._start[unit] + self.size[unit])
        return entries[~np.isin(self.pods[entries], self.pods[self._start[self.in_part(unit)]])]

    def price(self, chosen: Mask) -> Price:
        places = np.flatnonzero(chosen)
        return Price(
            sum(max(0, int(guard.counts[places].sum()) - guard.allowed) for guard in self.guards),
            int(self.rank[places].max(initial=LOWEST)),
            int(self.work[places].sum()) // STEP,
            len(places),
            int(self.size[places].sum()),
        )

    def in_order(self, sets: Sequence[Ints]) -> list[int]:
        """Sets of one price, by their places: the one first whose oldest unit is youngest, and so on, then by
        names, which are looked up only where they decide. Sets are units in order."""
        if len(sets) < 2:
            return list(range(len(sets)))
        ages = [sorted((-self.oldest[units]).tolist(), reverse=True) for units in sets]
        found = list[int]()
        for _, tied in groupby(sorted(range(len(sets)), key=ages.__getitem__), key=ages.__getitem__):
            places = list(tied)
            if any(not np.array_equal(sets[place], sets[places[0]]) for place in places[1:]):
                called = self._called(np.unique(np.concatenate([sets[place] for place in places])))
                names = {place: sorted(called[unit] for unit in sets[place].tolist()) for place in places}
                places.sort(key=names.__getitem__)
            found += places
        return found

    def names(self, chosen: Mask) -> list[str]:
        return sorted(self.named(chosen).values())

    def named(self, chosen: Mask) -> dict[int, str]:
        """Units and what they are called: by the group that leaves whole, or by the pod."""
        return self._called(np.flatnonzero(chosen))

    def _called(self, places: Ints) -> dict[int, str]:
        first: list[Occupant] = self.evictable.bound.occupants[self.first_pods(places)].tolist()
        groups = np.where(self.whole[places], self.family[places], SINGLE).tolist()
        return {
            unit: self.evictable.names.get(family) or occupant.key
            for unit, family, occupant in zip(places.tolist(), groups, first, strict=True)
        }

    def toll(self, chosen: Mask) -> Toll:
        price = self.price(chosen)
        if LEAST_PRIORITY - UNPAID <= price.highest_rank < LEAST_PRIORITY:
            price = price._replace(highest_rank=price.highest_rank + UNPAID)
        return Toll(*price, work_lost_device_hours=device_hours(int(self.work[chosen].sum())))

    def broken_budgets(self, chosen: Mask) -> dict[str, Mask]:
        """Budgets that allow fewer disruptions than this, and the units that they speak of."""
        return {
            guard.name: guard.counts > 0
            for guard in self.guards
            if int(guard.counts[chosen].sum()) > guard.allowed
        }
