"""The running load as columns: one row per pod that holds a place on a node."""

import numpy as np

from maitred.cluster.snapshot import BoundPods

FREE = -1


class BoundTable:
    """Rows are taken and given back as pods come and go; a row that is free has no node."""

    def __init__(self) -> None:
        self._node = np.full(256, FREE, dtype=np.int32)
        self._needs = np.zeros(256, dtype=np.int32)
        self._labels = np.zeros(256, dtype=np.int32)
        self._terminating = np.zeros(256, dtype=np.bool_)
        self._fixed = np.zeros(256, dtype=np.bool_)
        self._height = 0
        self._free: list[int] = []

    def take(self, node: int, needs: int, labels: int, terminating: bool, fixed: bool) -> int:
        row = self._free.pop() if self._free else self._new_row()
        self._node[row] = node
        self._needs[row] = needs
        self._labels[row] = labels
        self._terminating[row] = terminating
        self._fixed[row] = fixed
        return row

    def give_back(self, row: int) -> None:
        self._node[row] = FREE
        self._free.append(row)

    def renumber(self, row: int, needs: int, labels: int) -> None:
        self._needs[row] = needs
        self._labels[row] = labels

    def _new_row(self) -> int:
        if self._height == len(self._node):
            for name in ("_node", "_needs", "_labels", "_terminating", "_fixed"):
                column = getattr(self, name)
                filler = np.full_like(column, FREE if name == "_node" else 0)
                setattr(self, name, np.concatenate((column, filler)))
        self._height += 1
        return self._height - 1

    def view(self) -> BoundPods:
        taken = np.flatnonzero(self._node[: self._height] != FREE)
        return BoundPods(
            node=self._node[taken],
            needs=self._needs[taken],
            labels=self._labels[taken],
            terminating=self._terminating[taken],
            fixed=self._fixed[taken],
        )
