"""What an hour of the devices costs that stand idle for groups of a queue: it pays for them as for others."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.nodes import Ints
from maitred.cluster.queues.book import QueueBook
from maitred.cluster.queues.charges import UNITS, Floats
from maitred.cluster.snapshot import Snapshot
from maitred.decide.idle_devices import IdleDevices, IdleRoom

Kept = tuple[int, int, Iterable[tuple[str, int]]]
"""On which account, the row of the node, and devices by resource."""


@dataclass(frozen=True, eq=False)
class Payers:
    """Queues, each with the unit in which it pays. They pay for those below them, too."""

    book: QueueBook
    queues: Sequence[int]
    units: Ints

    def for_promised(self, snapshot: Snapshot) -> Floats:
        """What an hour costs them of places that members were promised,"""
        if not any(view.nominated for view in snapshot.groups):
            return np.zeros(len(self.queues))
        idle = IdleDevices(snapshot, self.book.policy)
        places = (
            (one.view.account, one.row, zip(idle.resources, one.amounts.tolist(), strict=True))
            for one in idle.promised()
        )
        return self._rates(snapshot, places)

    def for_rooms(self, snapshot: Snapshot, rooms: Iterable[IdleRoom]) -> Floats:
        """and of room for members that are not there."""
        return self._rates(snapshot, ((room.account, room.row, room.devices) for room in rooms))

    def _rates(self, snapshot: Snapshot, kept: Iterable[Kept]) -> Floats:
        book, found, rates = self.book, np.zeros(len(self.queues)), dict[str, Floats]()
        place, models = {queue: number for number, queue in enumerate(self.queues)}, None
        for number, row, devices in kept:
            account = book.accounts[number]
            if number == NO_ACCOUNT or account.scavenges:
                continue
            models = book.model_of(snapshot.nodes) if models is None else models
            cost = np.zeros(UNITS)
            for resource, count in devices:
                if resource not in rates:
                    rates[resource] = book.charges.of_resource(resource)
                cost += rates[resource][:, models[row]] * count
            for queue in book.tree.chain[account.queue]:
                if queue in place:
                    found[place[queue]] += cost[self.units[place[queue]]]
        return found
