"""The books: records come in, entries for the ledger go out. It knows no database and no thread."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from maitred.cluster.leaving import lost_nodes
from maitred.cluster.news import PodEnd
from maitred.cluster.snapshot import Snapshot
from maitred.explain.billing.device_buckets import NOBODY, holder_of, levels
from maitred.explain.billing.losses import Loss, Times, lost_to_eviction, lost_to_failures
from maitred.ledger.entries import LedgerEntry, UsageAccount, account_of, borrows, in_queue, queue_of
from maitred.ledger.meter import UsageMeter
from maitred.ledger.queue_sights import NO_QUEUES, QueueSight, seen_in_queues
from maitred.ledger.records import (
    Arrival,
    Event,
    Evicted,
    FailureNoted,
    Observation,
    OverrideNoted,
    VerdictChange,
)
from maitred.ledger.register import Register


class Books:
    """Times are in milliseconds since 1970."""

    def __init__(self, since: int, register: Register) -> None:
        self.meter = UsageMeter(since)
        self._register = register
        self._entry = LedgerEntry(since)
        self._last: Observation | None = None
        self._accounts: dict[str, UsageAccount] = {}
        self._seen = NO_QUEUES
        self._died: dict[str, int] = {}
        self._lost_until: dict[str, int] = {}

    def note(self, event: Event) -> None:
        match event:
            case Arrival():
                self._register.arrive(event, self._entry)
                namespace = event.group.partition("/")[0]
                account = in_queue(account_of(namespace, event.labels), self._seen.queue_for(event.payer))
                self._accounts.setdefault(event.group, account)
            case VerdictChange():
                self._register.turn(event, self._entry)
            case FailureNoted():
                self._entry.failures.append(event)
            case OverrideNoted():
                self._entry.overrides.append(event)
            case Evicted():
                self._entry.evictions.append(self._with_queues(event))
                if (loss := lost_to_eviction(event.eviction, event.at)) is not None:
                    self._lose(loss)

    def see(self, sight: Observation) -> None:
        snapshot, at = sight.snapshot, sight.at
        found = levels(snapshot, sight.policy, sight.hopeless, sight.rooms, sight.reserved)
        seen = seen_in_queues(found.pods, sight)
        self.meter.see(replace(found, lent=seen.lent), at, sight.policy.prices.hours)
        self._register.see(snapshot, sight.ends, at, self._entry)
        self._note_failures(sight.ends, sight)
        for holder in found.pods.keys() - self._accounts.keys():
            self._accounts[holder] = seated_account(holder, found.pods[holder], snapshot)
        for holder in map(holder_of, sight.reserved):
            self._accounts.setdefault(holder, account_of(holder.partition("/")[0]))
        self._note_queues(found.pods, seen)
        self._seen = seen
        self._note_dead_nodes(snapshot, at)
        self._last = sight

    def _with_queues(self, event: Evicted) -> Evicted:
        """The queues of who left and of whom it left for, as they are now."""
        one = event.eviction
        queues = (queue_of(self._accounts.get(name)) for name in (one.group or one.pod, one.preemptor))
        return Evicted(event.at, one, *queues)

    def _note_queues(self, pods: Mapping[str, int], seen: QueueSight) -> None:
        """The queue that holders are in from now on, and whether they have borrowed; what they have used
        before stays where it was. Who leaves goes as it stood before."""
        for holder in pods.keys() | seen.queues.keys():
            account = self._accounts.get(holder)
            if account is not None:
                queue = seen.queues.get(holder, "")
                stood = borrows(account) and bool(queue) and holder in pods
                borrowed = holder in seen.borrowed if holder in seen.staying else stood
                self._accounts[holder] = in_queue(account, queue, borrowed)

    def _note_failures(self, ends: Sequence[PodEnd], sight: Observation) -> None:
        if self._last is not None and ends:
            times = Times(sight.at, self._died, self._lost_until)
            for loss in lost_to_failures(self._last.snapshot, sight.snapshot, ends, sight.policy, times):
                self._lose(loss)

    def _lose(self, loss: Loss) -> None:
        self._entry.losses.append(loss)
        self._lost_until[loss.holder] = max(loss.until, self._lost_until.get(loss.holder, 0))

    def _note_dead_nodes(self, snapshot: Snapshot, at: int) -> None:
        nodes = snapshot.nodes
        dead = np.flatnonzero(lost_nodes(snapshot) & nodes.alive).tolist()
        self._died = {nodes.names[row]: self._died.get(nodes.names[row], at) for row in dead}

    def close(self, at: int) -> LedgerEntry:
        """All that came in up to now; the next entry begins."""
        self.meter.advance(at)
        # Each goes further than the one before, if by a hair: that is how they are told apart.
        self._entry.until = max(self.meter.now, self._entry.until + 1)
        entry, self._entry = self._entry, LedgerEntry(self._entry.until)
        entry.reading = self.meter.take()
        holders = {key.holder for _, key in entry.reading.usage} - {NOBODY}
        entry.accounts = {holder: self._account(holder) for holder in holders}
        kept = holders | self._register.names
        self._accounts = {holder: account for holder, account in self._accounts.items() if holder in kept}
        self._lost_until = {holder: until for holder, until in self._lost_until.items() if holder in kept}
        return entry

    def _account(self, holder: str) -> UsageAccount:
        """Places may be kept for one of whom nothing is known but the name and the queue."""
        known = self._accounts.get(holder)
        return known or in_queue(account_of(holder.partition("/")[0]), self._seen.queues.get(holder, ""))


def seated_account(holder: str, pod: int, snapshot: Snapshot) -> UsageAccount:
    namespace = holder.partition("/")[0]
    labels = snapshot.bound.occupants[pod].labels
    return account_of(namespace, snapshot.namespace_labels(namespace), labels)
