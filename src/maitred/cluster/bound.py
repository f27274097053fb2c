"""The running load as columns: one row per pod that holds a place on a node."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maitred.cluster.snapshot import NO_GROUP, BoundPods, Occupant
from maitred.model.health.steps import FEWEST, SLOW

FREE = -1
_TYPES = {
    **dict.fromkeys(("terminating", "fixed", "working"), np.bool_),
    **dict.fromkeys(("bound_at", "started", "checkpoint", "due", "grace"), np.int64),
    "step": np.float64,
}
COLUMNS = {column.name: _TYPES.get(column.name, np.int32) for column in fields(BoundPods)}
COLUMNS["occupants"] = np.object_


class BoundTable:
    """Rows are taken and given back as pods come and go; a row that is free has no node."""

    def __init__(self) -> None:
        self._columns: dict[str, NDArray[Any]] = {
            name: np.zeros(256, dtype=kind) for name, kind in COLUMNS.items()
        }
        self._height = 0
        self._free: list[int] = []

    def take(
        self,
        occupant: Occupant,
        *,
        node: int,
        needs: int,
        labels: int,
        terminating: bool,
        fixed: bool,
        standing: int,
        group: int,
        budgets: int,
        controller: int,
        payer: int,
        stay: int,
        working: bool,
        bound_at: int,
        started: int,
        checkpoint: int,
        due: int,
        grace: int,
        step: float,
    ) -> int:
        row = self._free.pop() if self._free else self._new_row()
        columns = self._columns
        columns["node"][row] = node
        columns["terminating"][row] = terminating
        columns["fixed"][row] = fixed
        columns["group"][row] = group
        columns["budgets"][row] = budgets
        columns["controller"][row] = controller
        columns["occupants"][row] = occupant
        self.renumber(row, needs, labels, standing, payer, stay)
        self.set_progress(row, working, bound_at, started, checkpoint, due, grace, step)
        return row

    def give_back(self, row: int) -> None:
        self._columns["node"][row] = FREE
        self._columns["occupants"][row] = None
        self._free.append(row)

    def renumber(self, row: int, needs: int, labels: int, standing: int, payer: int, stay: int) -> None:
        self._columns["needs"][row] = needs
        self._columns["labels"][row] = labels
        self._columns["standing"][row] = standing
        self._columns["payer"][row] = payer
        self._columns["stay"][row] = stay

    def set_budgets(self, row: int, budgets: int) -> None:
        self._columns["budgets"][row] = budgets

    def set_payer(self, row: int, payer: int) -> bool:
        """Whether it was another one."""
        before = self._columns["payer"][row]
        self._columns["payer"][row] = payer
        return bool(before != payer)

    def set_stay(self, row: int, stay: int) -> None:
        self._columns["stay"][row] = stay

    def set_progress(
        self,
        row: int,
        working: bool,
        bound_at: int,
        started: int,
        checkpoint: int,
        due: int,
        grace: int,
        step: float,
    ) -> None:
        self._columns["working"][row] = working
        self._columns["bound_at"][row] = bound_at
        self._columns["started"][row] = started
        self._columns["checkpoint"][row] = checkpoint
        self._columns["due"][row] = due
        self._columns["grace"][row] = grace
        self._columns["step"][row] = step

    def _new_row(self) -> int:
        if self._height == len(self._columns["node"]):
            self._columns = {
                name: np.concatenate((column, np.zeros_like(column)))
                for name, column in self._columns.items()
            }
        self._height += 1
        return self._height - 1

    def groups_on(self, rows: Sequence[int]) -> list[int]:
        """The numbers of the groups with members on nodes of these rows."""
        columns, height = self._columns, self._height
        there = np.isin(columns["node"][:height], rows)
        return [int(number) for number in np.unique(columns["group"][:height][there]) if number != NO_GROUP]

    def slow_groups(self) -> list[int]:
        """The numbers of the groups of which a member is slow, by what members say themselves."""
        columns, height = self._columns, self._height
        steps = columns["step"][:height]
        if not steps.any():
            return []
        tells = (steps > 0) & (columns["node"][:height] != FREE) & ~columns["terminating"][:height]
        tells &= columns["group"][:height] != NO_GROUP
        groups, told = columns["group"][:height][tells], steps[tells]
        order = np.lexsort((told, groups))
        groups, told = groups[order], told[order]
        first = np.flatnonzero(np.diff(groups, prepend=NO_GROUP))
        counts = np.diff(first, append=len(groups))
        middle = (told[first + (counts - 1) // 2] + told[first + counts // 2]) / 2
        slow = (counts >= FEWEST) & (told[first + counts - 1] > SLOW * middle)
        return [int(number) for number in groups[first[slow]]]

    def view(self) -> BoundPods:
        taken = np.flatnonzero(self._columns["node"][: self._height] != FREE)
        return BoundPods(**{name: column[taken] for name, column in self._columns.items()})
