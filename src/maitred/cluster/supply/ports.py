"""Host ports: each can be held by one pod of a node."""

from collections.abc import Sequence

import numpy as np

from maitred.cluster.journal import Moved, Seated
from maitred.cluster.load import Holders, Load
from maitred.cluster.nodes import NODE_NAME, Ints, Mask
from maitred.cluster.supply.fit import Conflict, Fit
from maitred.cluster.supply.interface import Lift, Supply
from maitred.model.needs import HostPort


class Ports(Supply):
    def __init__(self, load: Load) -> None:
        super().__init__(load)
        self._held = Holders[HostPort](load, lambda needs: needs.host_ports)

    def take(self, entry: Seated) -> None:
        self._held.seat(entry, 1)

    def give_back(self, entry: Seated) -> None:
        self._held.seat(entry, -1)

    def move(self, entry: Moved, gone: bool) -> None:
        self._held.move(entry, -1 if gone else 1)

    def held(self) -> dict[HostPort, Ints]:
        """Ports, and how many pods on each node hold them."""
        return self._held.counts()

    def taken(self, ports: tuple[HostPort, ...]) -> Mask:
        """Nodes on which a pod holds one of these ports."""
        taken = np.zeros(len(self.load.nodes.names), dtype=np.bool_)
        for key, held in self.held().items() if ports else ():
            if any(port.conflicts(key) for port in ports):
                taken |= held > 0
        return taken

    def asked_by(self, shape: int) -> bool:
        return bool(self.load.needs(shape).host_ports)

    def fit(self, shapes: Sequence[int], lift: Lift, others_may_help: bool) -> Fit:
        fit, ports = Fit.without_limits(len(shapes)), [self.load.needs(shape).host_ports for shape in shapes]
        pairs = np.array(
            [[any(one.conflicts(other) for one in a for other in b) for b in ports] for a in ports],
            dtype=np.bool_,
        )
        for position, own in enumerate(ports):
            if own:
                fit.masks[position] = ~self.taken(own)
                fit.copies[position] = np.ones(len(self.load.nodes.names), dtype=np.int64)
        codes = self.load.nodes.column(NODE_NAME).codes
        fit.conflicts.append(Conflict(codes, pairs, capped=len(shapes) == 1))
        return fit
