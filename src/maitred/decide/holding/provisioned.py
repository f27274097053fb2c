"""Nodes that came because a group asked for them: they are kept for it, as a reservation keeps its nodes.

Nobody says for whom a node came. It is taken to have come for the group if it was made after the group had
asked, if members have room on it, and if nobody else is on it. As many are kept as all members need.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Mask
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.model.duration import milliseconds
from maitred.model.policy import Policy
from maitred.model.provisioning import OVER, answer_of, asked_at, name_of


class ProvisionedNodes(NamedTuple):
    name: str
    """Of the request,"""
    group: str
    begin: int
    until: int
    """In milliseconds since 1970."""
    rows: Rows


def provisioned(snapshot: Snapshot, policy: Policy, now: int) -> Iterator[ProvisionedNodes]:
    """Who has asked first has the first that came."""
    if not policy.provisioning.class_name or not snapshot.newcomers:
        return
    keep, taken = milliseconds(policy.provisioning.keep) or 0, set[int]()
    views = {view.group.key: view for view in snapshot.groups}
    asked = {group: asked_at(one) for group, one in snapshot.provisioning.items()}
    times = sorted((time, group) for group, time in asked.items() if time is not None and group in views)
    for begin, group in times:
        over = answer_of(snapshot.provisioning[group])[0] in OVER
        if over or not begin <= now < begin + keep:
            continue
        rows = _rows_for(snapshot, views[group], begin, taken)
        if len(rows):
            taken.update(rows.tolist())
            yield ProvisionedNodes(name_of(group), group, begin, begin + keep, rows)


def _rows_for(snapshot: Snapshot, view: GroupView, begin: int, taken: set[int]) -> Rows:
    nodes, came = snapshot.nodes, snapshot.newcomers
    names = [name for name, created in came.items() if created >= begin and name in nodes.rows]
    rows = np.array([nodes.rows[name] for name in names], dtype=np.intp)
    others = _has_others(snapshot, view.group.key)
    free = np.array([row not in taken for row in rows.tolist()], dtype=np.bool_)
    rows = rows[free & ~others[rows]]
    copies = _copies(snapshot, view, rows)
    rows, copies = rows[copies > 0], copies[copies > 0]
    order = np.argsort(nodes.name_rank[rows], kind="stable")
    rows, copies = rows[order], copies[order]
    before = np.cumsum(copies) - copies
    return np.sort(rows[before < len(view.pods)])


def _has_others(snapshot: Snapshot, group: str) -> Mask:
    """Nodes with pods that are not of the group, but for those that belong to nodes."""
    bound = snapshot.bound
    own = [one is not None and snapshot.tree_of(one.group) == group for one in snapshot.seated]
    strange = ~bound.fixed & ~np.array([*own, False], dtype=np.bool_)[bound.group]
    found: Mask = np.bincount(bound.node[strange], minlength=len(snapshot.nodes.names)) > 0
    return found


def _copies(snapshot: Snapshot, view: GroupView, rows: Rows) -> Rows:
    """How many members have room on each, were all of them as large as the largest."""
    nodes, largest = snapshot.nodes, dict[str, int]()
    for shape in set(view.shapes.tolist()):
        for resource, amount in snapshot.needs[snapshot.shapes[shape].needs].requests:
            largest[resource] = max(amount, largest.get(resource, 0))
    found = np.full(len(rows), len(view.pods), dtype=np.intp)
    for resource, amount in largest.items():
        column = nodes.resource_column(resource)
        if amount and column is None:
            return np.zeros(len(rows), dtype=np.intp)
        if amount:
            left = nodes.allocatable[column][rows] - snapshot.used[column][rows]
            found = np.minimum(found, left // amount)
    return np.maximum(found, 0)
