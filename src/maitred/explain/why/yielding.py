"""What a group that runs loses to others: by the Plan; where there are queues also whenever they want it."""

from collections.abc import Iterator, Sequence

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.journal import Rows
from maitred.cluster.queues.book import Limit
from maitred.decide.preemption.evictable import EvictablePods
from maitred.decide.queues.standings import Standings
from maitred.decide.queues.words import named, shown
from maitred.explain.receipts import group_words
from maitred.explain.situation import Situation
from maitred.explain.why.answer import YieldAnswer
from maitred.model.plan import Eviction
from maitred.model.queues import DEFAULT_QUEUE, named_queue
from maitred.model.reservations import ReservedNodes, WarnedUnit
from maitred.model.words import counted, moment

MOST_QUEUES = 3


def yield_of(situation: Situation, rows: Rows) -> YieldAnswer | None:
    """Of the pods of a group that are on nodes; None where nobody may take anything from it."""
    book = situation.snapshot.book
    staying = rows[~situation.snapshot.bound.terminating[rows]]
    if not len(staying):
        return None
    borrowed = list[bool]()
    if book is not None and book.account_of_bound[staying[0]] != NO_ACCOUNT:
        borrowed = [bool(there[staying].any()) for there in situation.once(_standings).borrowed]
    keys = {occupant.key for occupant in situation.snapshot.bound.occupants[staying].tolist()}
    leaving = [one for one in situation.decided().evictions if one.pod in keys]
    if leaving:
        return _by_plan(situation, leaving, len(staying), any(borrowed))
    for kept in situation.decided().reservations:
        if warned := next((one for one in kept.warned if one.pod in keys and not one.stays), None):
            return _once_reserved(kept, warned, any(borrowed))
    if not any(borrowed) or situation.policy.preemption.mode == "never":
        return None
    return _whenever(situation, situation.once(_standings), staying, borrowed)


def queueless_words(situation: Situation, rows: Rows) -> Iterator[str]:
    """Of a group that runs, if it names a queue that does not exist, or that it may not use."""
    snapshot, book = situation.snapshot, situation.snapshot.book
    if book is None or not len(rows) or snapshot.bound.fixed[rows[0]]:
        return
    payer = snapshot.payers[int(snapshot.bound.payer[rows[0]])]
    ours = situation.scheduler in (None, snapshot.standings[int(snapshot.bound.standing[rows[0]])].scheduler)
    name = named_queue(payer, snapshot.namespaces)
    if ours and book.tree.queues[book.queue_of_running(payer)].name != name:
        yield (
            f"it names queue {name}, in which its groups could not start now: what it has counts for queue "
            f"{DEFAULT_QUEUE}"
        )


def _standings(situation: Situation) -> Standings:
    book, now = situation.snapshot.book, round(situation.now.timestamp() * 1000)
    assert book is not None, "only where there are queues"
    return Standings(book, EvictablePods(situation.snapshot, situation.policy, now))


def _by_plan(situation: Situation, leaving: Sequence[Eviction], members: int, borrowed: bool) -> YieldAnswer:
    first, queue = leaving[0], ""
    book, claimant = situation.snapshot.book, situation.cycle().group(first.preemptor)
    if book is not None and claimant is not None and claimant.view.account != NO_ACCOUNT:
        queue = book.tree.queues[book.accounts[claimant.view.account].queue].name
    if first.cause == "Reclaim":
        what = "it" if len(leaving) == members else f"{len(leaving)} of its {counted(members, 'pod')}"
        words = f"borrowed: {first.preemptor} of queue {queue} reclaims {what}"
    else:
        words = f"to be {group_words(leaving)}"
    return YieldAnswer(
        words, borrowed, to=first.preemptor, cause=first.cause, queues=(queue,) if queue else ()
    )


def _once_reserved(kept: ReservedNodes, warned: WarnedUnit, borrowed: bool) -> YieldAnswer:
    when = "then" if warned.leaves == kept.begin else f"at {warned.leaves}"
    words = (
        f"its nodes are reserved for others from {kept.begin}: it is evicted {when} if it is there still, as "
        f"it started after that was made; save its work, or let it end before"
    )
    return YieldAnswer(words, borrowed, cause="Reservation", since=warned.leaves)


def _whenever(
    situation: Situation, standings: Standings, rows: Rows, borrowed: Sequence[bool]
) -> YieldAnswer | None:
    """By whom it may be reclaimed: by queues that leave unused what they are guaranteed of what it has."""
    book, used = standings.book, standings.book.used_at_first
    amounts = book.kinds_of(rows).sum(axis=0)

    def unused() -> Iterator[tuple[int, Limit, int]]:
        tree = book.tree
        for level, queue in enumerate(tree.chain[int(standings.queue[rows[0]])]):
            beside = tree.below[tree.parent[queue]] if borrowed[level] else ()
            for other in beside:
                for limit in book.limits[other] if other != queue else ():
                    left = (limit.bounds.guarantee or 0) - int(used[book.row(other)][limit.kinds].sum())
                    if left > 0 and amounts[limit.kinds].any():
                        yield other, limit, left

    found = dict[int, str]()
    for other, limit, left in unused():
        amount = f"{shown(limit.bounds.resource, left)} {named(limit.bounds)}"
        found.setdefault(other, f"{book.tree.queues[other].name} ({amount} unused)")
    if not found:
        return None
    told = list(found.values())
    more = f" and {len(told) - MOST_QUEUES} more" if len(told) > MOST_QUEUES else ""
    who = f"queue{'s' if len(told) > 1 else ''} {', '.join(told[:MOST_QUEUES])}{more}"
    free = int(np.max(standings.lent_until[rows]))
    since = moment(free // 1000) if free > round(situation.now.timestamp() * 1000) else None
    return YieldAnswer(
        words=f"borrowed: may be reclaimed{f' from {since} on' if since else ''} for the guarantee of {who}",
        borrowed=True,
        queues=tuple(book.tree.queues[other].name for other in found),
        since=since,
    )
