"""Queues at one moment: who is in which, who has borrowed there, and what queues have lent."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.queues.book import NO_QUEUE, QueueBook, in_queues
from maitred.cluster.snapshot import NO_GROUP, GroupView, Snapshot
from maitred.decide.preemption.evictable import EvictablePods
from maitred.decide.queues.standings import NOWHERE, Standings
from maitred.explain.billing.device_buckets import holder_of
from maitred.explain.queues.lending import lent_devices
from maitred.ledger.records import Observation
from maitred.model.queues import Payer
from maitred.model.reservations import ReservedNodes


@dataclass(frozen=True)
class QueueSight:
    queues: Mapping[str, str] = field(default_factory=dict)
    """Of holders, and of groups that wait: places may be kept for them."""
    borrowed: frozenset[str] = frozenset()
    """Holders beyond the guarantee of their own queue, and those who do not pay."""
    staying: frozenset[str] = frozenset()
    """Holders of whom not all are leaving."""
    lent: Mapping[str, int] = field(default_factory=dict)
    """Devices, by queue."""
    book: QueueBook | None = None
    """None without queues."""

    def queue_for(self, payer: Payer | None) -> str:
        """The queue of a group that has come since then."""
        if self.book is None or payer is None:
            return ""
        queue = self.book.queue_of(payer)
        return "" if queue == NO_QUEUE else self.book.tree.queues[queue].name


NO_QUEUES = QueueSight()


def seen_in_queues(pods: Mapping[str, int], sight: Observation) -> QueueSight:
    """`pods`: the holders, with a pod of each."""
    snapshot = in_queues(sight.snapshot, sight.policy, sight.scheduler)
    book = snapshot.book
    if book is None:
        return NO_QUEUES
    standings = Standings(book, EvictablePods(snapshot, sight.policy, sight.at))
    stands = (standings.queue != NO_QUEUE) & ~standings.evictable.leaving & ~snapshot.bound.terminating
    return QueueSight(
        queues_of(pods, snapshot, book) | dict(queues_reserved_for(sight.reserved, book)),
        frozenset(holders(snapshot, np.union1d(borrowed_pods(standings), np.flatnonzero(book.scavenges)))),
        frozenset(holders(snapshot, np.flatnonzero(stands))),
        lent_devices(book),
        book,
    )


def queues_of(pods: Mapping[str, int], snapshot: Snapshot, book: QueueBook) -> dict[str, str]:
    seated = book.account_of_bound[list(pods.values())].tolist()
    waiting = (*snapshot.away, *snapshot.awaited, *snapshot.groups)
    accounts = {key: view.account for view in waiting for key in _names(view)}
    accounts |= dict(zip(pods, seated, strict=True))
    queues = {holder: book.accounts[number].queue for holder, number in accounts.items()}
    return {holder: book.tree.queues[one].name for holder, one in queues.items() if one != NO_QUEUE}


def queues_reserved_for(reserved: Iterable[ReservedNodes], book: QueueBook) -> Iterator[tuple[str, str]]:
    """By holder: the queue that a reservation is for, or that its namespace uses."""
    for one in reserved:
        kind, _, name = one.beneficiary.partition(" ")
        own = book.queue_of_running(Payer(name.partition("/")[0]))
        yield holder_of(one), name if kind == "queue" else book.tree.queues[own].name


def _names(view: GroupView) -> set[str]:
    """Its own, and those of groups that come with it."""
    later = () if view.later is None else view.later.parts.root.walk()
    return {view.group.key, *(branch.key for branch, _ in later if branch.is_leaf)}


def borrowed_pods(standings: Standings) -> Rows:
    """Those that their own queue has borrowed, whatever the queues above it have."""
    own = (standings.above != NOWHERE).sum(axis=1) - 1
    levels = np.array(standings.borrowed)
    return np.flatnonzero((own >= 0) & levels[own, np.arange(len(own))])


def holders(snapshot: Snapshot, pods: Rows) -> Iterator[str]:
    """Whom these pods hold devices for: their groups, or trees of groups; else themselves."""
    bound = snapshot.bound
    for number in np.unique(bound.group[pods]).tolist():
        if number != NO_GROUP and (one := snapshot.seated[number]) is not None:
            yield snapshot.tree_of(one.group)
    for occupant in bound.occupants[pods[bound.group[pods] == NO_GROUP]].tolist():
        if occupant is not None:
            yield occupant.key
