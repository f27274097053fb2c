"""Devices that are asked for by resource claims, or by a resource that a DeviceClass serves.

maitred does not allocate them yet: pods with such claims wait, and a resource that a class serves counts
only on nodes that have it of their own. This supply is the place for allocation: its `fit` says where claims
can be served, `take` allocates, and the rest follows.
"""

from collections.abc import Sequence

import numpy as np

from maitred.cluster.journal import Moved, Seated
from maitred.cluster.load import Load
from maitred.cluster.nodes import Mask, NodeView
from maitred.cluster.supply.fit import Fit
from maitred.cluster.supply.interface import Lift, Supply


class DeviceSupply(Supply):
    category = "Devices"

    def take(self, entry: Seated) -> None:
        """No pod has any."""

    def give_back(self, entry: Seated) -> None:
        """No pod had any."""

    def move(self, entry: Moved, gone: bool) -> None:
        """What running pods have is not read."""

    def asked_by(self, shape: int) -> bool:
        return bool(self.load.needs(shape).device_claims)

    def never_serves(self, shape: int) -> bool:
        return self.asked_by(shape) or any(
            bool((nodes_without(self.load.nodes, resource) == self.load.nodes.alive).all())
            for resource in served_by_classes(self.load, shape)
        )

    def fit(self, shapes: Sequence[int], lift: Lift, others_may_help: bool) -> Fit:
        fit = Fit.without_limits(len(shapes))
        for position, shape in enumerate(shapes):
            if self.asked_by(shape):
                fit.masks[position] = np.zeros(len(self.load.nodes.names), dtype=np.bool_)
        return fit


def served_by_classes(load: Load, shape: int) -> dict[str, str]:
    """Resources that a shape asks for and that stand for devices of a class, and the class of each."""
    classes = load.snapshot.device_classes
    if not classes:
        return {}
    return {resource: classes[resource] for resource, _ in load.needs(shape).requests if resource in classes}


def nodes_without(nodes: NodeView, resource: str) -> Mask:
    """Nodes that have none of a resource of their own: there, devices of a class would stand for it."""
    column = nodes.resource_column(resource)
    return nodes.alive if column is None else nodes.alive & (nodes.allocatable[column] == 0)
