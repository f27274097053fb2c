"""Which groups ask for the same, and which of them others can only be in the way of."""

from collections.abc import Hashable

import numpy as np

from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.model.needs import Needs


def needs_of(snapshot: Snapshot, view: GroupView) -> list[Needs]:
    return [snapshot.needs[snapshot.shapes[shape].needs] for shape in np.unique(view.shapes).tolist()]


def kin(view: GroupView) -> Hashable:
    """Groups of one kin ask for the same: on the same trial, the same becomes of them."""
    topology = view.group.topology
    return (
        view.shapes.tobytes(),
        view.missing,
        topology,
        tuple((member.node, member.order) for member in view.running),
        view.orders if topology.slice_size else None,
        view.tree,
        view.later,
        view.override is not None,
    )


def plain(snapshot: Snapshot, view: GroupView) -> bool:
    """Whether more pods elsewhere can only make it harder to seat the group, never easier."""
    if view.group.topology.slice_size or view.tree is not None:
        return False
    shapes = [snapshot.shapes[shape] for shape in np.unique(view.shapes).tolist()]
    needs = [snapshot.needs[shape.needs] for shape in shapes]
    if any(claim.claim for shape in shapes for claim in shape.devices):
        return False  # others may share it
    return not any(shape.volumes for shape in shapes) and not any(
        need.affinity or need.anti_affinity or need.spread for need in needs
    )
