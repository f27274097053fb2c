"""A supply: something that nodes run out of. All of them answer the same questions.

- `fit`: how many copies of some shapes fit on each node, and whether that is exact;
- `serves`: whether there is enough for pods whose nodes are chosen, where `fit` could not say so;
- `take` and `give_back`: pods were seated, and are taken back; `let_go` for one that others came after;
- `move`: pods have been evicted and give back what they took; or they are back.

A trial keeps one of each kind in `SUPPLIES` and knows nothing else about them. Nothing here may be read from
anywhere but the load: a supply that is made anew on the same load says the same.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from maitred.cluster.journal import Rows
from maitred.cluster.load import Account
from maitred.cluster.supply.fit import Fit
from maitred.model.categories import Category

Lift = frozenset[Category]
"""Categories of constraints that are left out, to see whether they are what stands in the way."""


class Supply(Account):
    category: ClassVar[Category | None] = None
    """The blocker that names it. Where that is lifted the supply is left out; None if it never is."""

    @abstractmethod
    def asked_by(self, shape: int) -> bool:
        """Whether pods of a shape take any of it."""

    def serves(self, seats: Sequence[tuple[int, int, int]]) -> bool:
        """Whether there is enough for all of these together: shapes, rows, and how many copies. It is asked
        where `fit` was not sure of it."""
        return True

    def held_by(self, pods: Rows) -> bool:
        """Whether there would be more of it if some of these pods, which are bound, left. To say so where
        there would not is only slow."""
        return True

    def never_serves(self, shape: int) -> bool:
        """Whether pods of a shape get none, whatever other pods leave to them."""
        return False

    def passes(self, shape: int) -> int:
        """How many passes over the nodes it takes to say how many copies of a shape fit."""
        return 0

    @abstractmethod
    def fit(self, shapes: Sequence[int], lift: Lift, others_may_help: bool) -> Fit:
        """How many copies of these shapes fit beside all who are there.

        `others_may_help`: things that are not there yet may come, so needing them is no obstacle. Whoever
        asks so wants to prove that no place will ever do: what is estimated is estimated in favour of the
        shapes. `lift` is for a supply that has to make up for another one which is left out.
        """
