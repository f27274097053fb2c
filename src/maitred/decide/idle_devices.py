"""Devices by resources that nobody has, and what is kept of them for pods that are not there."""

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from maitred.cluster.kept import KeptPlace, kept_places, nodes_with, taken
from maitred.cluster.nodes import Ints
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.decide.scoring import device_columns
from maitred.model.policy import Policy, health_taints

Seats = Sequence[tuple[int, int]]
"""Members of a group, by position, and their rows."""


@dataclass(frozen=True, slots=True)
class IdleRoom:
    """Places on one node for pods of one group that are neither bound nor nominated."""

    group: str
    row: int
    owner: str
    account: int
    pods: int
    devices: tuple[tuple[str, int], ...] = ()
    """What stands idle for them, by resource."""


@dataclass(frozen=True, slots=True)
class KeptShape:
    """So many of these places are for pods of one shape."""

    group: str
    row: int
    owner: str
    account: int
    shape: int
    copies: int


class IdleDevices:
    """It is used up by whoever is asked about, in this order."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        nodes, columns = snapshot.nodes, list(device_columns(snapshot.nodes, policy))
        self.snapshot = snapshot
        self.resources = [nodes.resources[column] for column in columns]
        self.asked = self._asked()
        self._leaving = self._going()
        self._free = np.maximum(nodes.allocatable[columns] - snapshot.used[columns], 0)
        self._free[:, nodes_with(nodes, health_taints(policy))] = 0

    def _asked(self) -> Ints:
        """Devices that pods of each needs request, by resource."""
        place = {resource: number for number, resource in enumerate(self.resources)}
        found = np.zeros((len(self.resources), len(self.snapshot.needs)), dtype=np.int64)
        for number, needs in enumerate(self.snapshot.needs):
            for resource, count in needs.requests:
                if resource in place:
                    found[place[resource], number] = count
        return found

    def _going(self) -> Ints:
        """What those have who leave, by resource and node."""
        bound, asked = self.snapshot.bound, self.asked
        going, found = bound.terminating, np.zeros((len(asked), len(self.snapshot.nodes.names)), np.int64)
        for place, amounts in enumerate(asked):
            np.add.at(found[place], bound.node[going], amounts[bound.needs[going]])
        return found

    def promised(self, bound: Container[str] = ()) -> Iterator[KeptPlace]:
        """What is kept for those who wait for it, but for pods that are bound now."""
        yield from kept_places(self.snapshot, self.asked, self._leaving, self._free, bound)

    def bind(self, view: GroupView, seats: Seats) -> None:
        """It is free no more: these members are bound now."""
        shapes = self.snapshot.shapes
        needs = [shapes[int(view.shapes[member])].needs for member, _ in seats]
        rows = [row for _, row in seats]
        for free, amounts in zip(self._free, self.asked, strict=True):
            np.subtract.at(free, rows, amounts[needs])
        np.maximum(self._free, 0, out=self._free)

    def room(self, row: int, wanted: Ints) -> Ints:
        return taken(wanted, self._leaving[:, row], self._free[:, row])


def rooms(
    snapshot: Snapshot,
    policy: Policy,
    kept: Iterable[KeptShape],
    seated: Iterable[tuple[GroupView, Seats]],
) -> tuple[IdleRoom, ...]:
    """By group, node and owner; `seated`: who is bound now."""
    found = dict[tuple[str, str, str], list[KeptShape]]()
    for one in kept:
        found.setdefault((one.group, snapshot.nodes.names[one.row], one.owner), []).append(one)
    if not found:
        return ()
    idle, bound = IdleDevices(snapshot, policy), set[str]()
    for view, seats in seated:
        bound.update(view.pods[member] for member, _ in seats)
        idle.bind(view, seats)
    for _ in idle.promised(bound):
        pass  # promises come first
    return tuple(_room(places, idle) for _, places in sorted(found.items()))


def _room(places: Sequence[KeptShape], idle: IdleDevices) -> IdleRoom:
    one, shapes = places[0], idle.snapshot.shapes
    needs = [shapes[place.shape].needs for place in places]
    wanted = idle.asked[:, needs] @ np.array([place.copies for place in places], dtype=np.int64)
    amounts = zip(idle.resources, idle.room(one.row, wanted).tolist(), strict=True)
    devices = tuple(sorted((resource, count) for resource, count in amounts if count))
    return IdleRoom(
        one.group, one.row, one.owner, one.account, sum(place.copies for place in places), devices
    )
