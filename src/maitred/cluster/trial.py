"""A trial: a tentative change of a snapshot that can be taken back.

Pods are seated, places are held, pods are gone: each change is an entry of the journal, which `rollback`
undoes in reverse. Whatever a node can run out of is a supply, and all supplies are alike here: each is told
of every change. So are the neighbours, which count pods for those that mind where others are.
"""

from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.journal import Moved, Rows, Seated
from maitred.cluster.load import Account, Load
from maitred.cluster.meter import Meter
from maitred.cluster.neighbours import Neighbours
from maitred.cluster.nodes import Ints, Mask, NodeView
from maitred.cluster.queues.use import QueueUse
from maitred.cluster.snapshot import Shape, Snapshot
from maitred.cluster.supply import SUPPLIES
from maitred.cluster.supply.columns import Columns
from maitred.cluster.supply.interface import Supply
from maitred.model.needs import Needs

S = TypeVar("S", bound=Supply)


class Trial:
    def __init__(
        self,
        load: Load,
        supplies: tuple[Supply, ...],
        neighbours: Neighbours,
        queues: QueueUse | None,
    ) -> None:
        self.load = load
        self.supplies = supplies
        self.neighbours = neighbours
        self.queues = queues
        """What queues use; None where there are none, and where nothing runs that could be in one."""
        accounts = (*supplies, neighbours, queues)
        self._accounts: tuple[Account, ...] = tuple(one for one in accounts if one is not None)
        self._by_kind = {type(supply): supply for supply in supplies}
        self.columns = self.supply(Columns)
        """The amounts of resources, which most questions are about."""
        self.wish: Ints | None = None
        """Which nodes to take first, where that comes before how well they are packed: a small number each,
        and the least first. None where nobody has a wish."""
        self._followers: list[Follower] = []
        self.changes = 0
        """How often anything was changed, or changed back: equal numbers mean that nothing was."""

    @classmethod
    def _fresh(cls, load: Load) -> "Trial":
        queues = QueueUse(load) if load.occupied and load.snapshot.book is not None else None
        return cls(load, tuple(kind(load) for kind in SUPPLIES), Neighbours(load), queues)

    @classmethod
    def of(cls, snapshot: Snapshot, meter: Meter | None = None) -> "Trial":
        """The cluster as it is. The meter is that of the decision that the trial is part of."""
        here = np.ones(len(snapshot.bound.node), dtype=np.bool_)
        return cls._fresh(Load(snapshot, snapshot.nodes, snapshot.bound, True, here, [], meter or Meter()))

    @classmethod
    def empty(cls, snapshot: Snapshot, nodes: NodeView, meter: Meter | None = None) -> "Trial":
        """The cluster with nothing on it but what belongs to the nodes. `nodes` may have more nodes."""
        fixed = snapshot.bound.where(snapshot.bound.fixed)
        here = np.ones(len(fixed.node), dtype=np.bool_)
        return cls._fresh(Load(snapshot, nodes, fixed, False, here, [], meter or Meter()))

    def on(self, nodes: NodeView, snapshot: Snapshot | None = None) -> "Trial":
        """The same load, tentative placements included, on another view of the same nodes, which may have
        more or less to give there.

        The snapshot may be another too, as long as the same pods run in it and it has the same shapes, or
        more.
        """
        load = self.load.twin(nodes, snapshot or self.snapshot)
        supplies = tuple(supply.on(load) for supply in self.supplies)
        return Trial(load, supplies, self.neighbours.on(load), self.queues and self.queues.on(load))

    def twin(self) -> "Follower":
        """A copy on which some placements can be taken back, one after the other, as if they had not been
        made; all that is counted there in the meantime stays."""
        other = self.on(self.nodes)
        return Follower(other, other._counterparts(self))

    def with_supply(self, other: Supply) -> "Trial":
        """The same with another account of one supply, to be looked at only."""
        supplies = tuple(other if type(own) is type(other) else own for own in self.supplies)
        return Trial(self.load, supplies, self.neighbours, self.queues)

    def ahead(self, leaving: Mask) -> "Trial":
        """The cluster once these pods have left, with those who were promised a place on it."""
        load = self.load.twin(self.nodes, self.snapshot)
        load.here &= ~leaving
        for entry in load.seated():
            entry.held = False
        supplies = tuple(supply.ahead(load, leaving) for supply in self.supplies)
        queues = self.queues and self.queues.ahead(load, leaving)
        return Trial(load, supplies, self.neighbours.ahead(load, leaving), queues)

    def follow(self, leader: "Trial") -> None:
        """From now on whoever gets a place on the leader, or is promised one, has it here too, for as long.

        This is a copy of the leader as it is now, on which others may be gone. To follow is much cheaper than
        to copy anew, because all that was counted here stays.
        """
        leader._followers.append(Follower(self, self._counterparts(leader)))

    def _counterparts(self, original: "Trial") -> dict[Seated, Seated]:
        """The own entry for each entry of the journal that this is a copy of."""
        return dict(zip(original.load.seated(), self.load.seated(), strict=True))

    def no_followers(self) -> None:
        self._followers = []

    # -- what is there ---------------------------------------------------------------------------------

    @property
    def snapshot(self) -> Snapshot:
        return self.load.snapshot

    @property
    def nodes(self) -> NodeView:
        return self.load.nodes

    @property
    def here(self) -> Mask:
        """Which of the pods that were bound are not gone."""
        return self.load.here

    def shape(self, number: int) -> Shape:
        return self.load.shape(number)

    def needs(self, number: int) -> Needs:
        return self.load.needs(number)

    def supply(self, kind: type[S]) -> S:
        """The account of one kind of supply."""
        found = self._by_kind[kind]
        assert isinstance(found, kind)
        return found

    # -- change and undo -------------------------------------------------------------------------------

    def seat(self, shape: int, rows: Rows, copies: Ints, account: int = NO_ACCOUNT) -> Seated:
        """Put `copies[i]` pods of a shape on the node of row `rows[i]`; each row at most once."""
        entry = Seated(shape, rows, copies, account=account)
        self._enter(entry)
        return entry

    def hold(self, shape: int, rows: Rows, copies: Ints, leaving: Mask, account: int = NO_ACCOUNT) -> Seated:
        """Keep places for pods that are to come once those who leave are gone, until they are let go."""
        for one in self._accounts:
            one.look_ahead(leaving)
        entry = Seated(shape, rows, copies, held=True, account=account)
        self._enter(entry)
        return entry

    def let_go(self, entry: Seated) -> None:
        """Hold these places no longer, or take those away who sat down there."""
        self.load.journal = [other for other in self.load.journal if other is not entry]
        for account in self._accounts:
            account.let_go(entry)
        self._taken_back(entry)

    def expect(self, pods: Rows) -> None:
        """These will leave. Their places are not free yet, but can be promised."""
        for account in self._accounts:
            account.expect(pods)
        self.changes += 1

    def evict(self, pods: Rows) -> None:
        """These pods are gone, whoever they were."""
        self._move(pods, gone=True)

    def bring_back(self, pods: Rows) -> None:
        """These pods, which were gone, are there again."""
        self._move(pods, gone=False)

    def _move(self, pods: Rows, gone: bool) -> None:
        entry = Moved(pods, gone, self.load.rows_of(self.load.bound.node[pods]))
        self.load.journal.append(entry)
        self._show(entry, gone)

    def _show(self, entry: Moved, gone: bool) -> None:
        self.load.here[entry.pods] = not gone
        for account in self._accounts:
            account.move(entry, gone)
        self.changes += 1

    def checkpoint(self) -> int:
        return len(self.load.journal)

    def rollback(self, checkpoint: int) -> None:
        while len(self.load.journal) > checkpoint:
            entry = self.load.journal.pop()
            if isinstance(entry, Moved):
                self._show(entry, not entry.gone)
                continue
            for account in self._accounts:
                account.give_back(entry)
            self._taken_back(entry)

    @property
    def changed(self) -> bool:
        return bool(self.load.journal)

    def _enter(self, entry: Seated) -> None:
        self.load.journal.append(entry)
        for account in self._accounts:
            account.take(entry)
        self.changes += 1
        for follower in self._followers:
            follower.seat(entry)

    def _taken_back(self, entry: Seated) -> None:
        self.changes += 1
        for follower in self._followers:
            follower.let_go(entry)


@dataclass(frozen=True, slots=True)
class Follower:
    """A trial on which everybody has a place who has one on another."""

    trial: Trial
    _own: dict[Seated, Seated]
    """Its own entry for each entry of the other's journal."""

    def seat(self, entry: Seated) -> None:
        self._own[entry] = self.trial.seat(entry.shape, entry.rows, entry.copies, entry.account)

    def let_go(self, entry: Seated) -> None:
        self.trial.let_go(self._own.pop(entry))
