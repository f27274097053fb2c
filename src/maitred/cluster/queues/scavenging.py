"""Who runs without paying: remembered when it starts, because nothing that a pod says of itself would tell.

A pod costs nothing only if it is one of those that are remembered, by its UID. It leaves for whoever pays if
any member of its group is one: a pod that is put into the group of others by a label takes none of them along
for nothing, and hides behind none of them. Members that come later join a group of this name only if those
who run in it were remembered under this name.
"""

from dataclasses import dataclass

import numpy as np

from maitred.cluster.nodes import Mask
from maitred.cluster.snapshot import NO_GROUP, Occupant, Snapshot


@dataclass(frozen=True, eq=False)
class Scavengers:
    remembered: Mask
    """Of the pods on nodes."""
    yielding: Mask
    """These, and all members of their groups."""
    groups: frozenset[str]
    """Those whose members that wait join them."""


def scavengers_in(snapshot: Snapshot, has_budgets: bool) -> Scavengers:
    """Where no budget is left, nobody is one."""
    bound, known = snapshot.bound, snapshot.spending.scavengers
    remembered = np.zeros(len(bound.node), dtype=np.bool_)
    if not (known and has_budgets):
        return Scavengers(remembered, remembered, frozenset())
    group_of, said = {pod: one.group for one in known for pod in one.pods}, dict[int, str]()
    spaces = {one.group.partition("/")[0] for one in known}
    there = np.array([*(payer.namespace in spaces for payer in snapshot.payers), False], dtype=np.bool_)
    rows = np.flatnonzero(there[bound.payer])
    occupants: list[Occupant | None] = bound.occupants[rows].tolist()
    for row, one in zip(rows.tolist(), occupants, strict=True):
        group = None if one is None else group_of.get(identity(one.uid, one.key))
        if group is not None:
            said[row] = group
    remembered[list(said)] = True
    grouped = bound.group != NO_GROUP
    numbers = np.unique(bound.group[remembered & grouped])
    yielding: Mask = remembered | (grouped & np.isin(bound.group, numbers))
    groups = set[str]()
    for row, group in said.items():
        seated = snapshot.seated[bound.group[row]] if grouped[row] and not bound.terminating[row] else None
        if seated is not None and snapshot.tree_of(seated.group) == group:
            groups.add(group)
    return Scavengers(remembered, yielding, frozenset(groups))


def identity(uid: str, key: str) -> str:
    """What a pod is remembered by."""
    return uid or key
