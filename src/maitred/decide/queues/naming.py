"""The queue that a group names: whether there is one, and whether the group may be in it."""

from collections.abc import Iterator
from difflib import get_close_matches

from maitred.cluster.queues.book import NO_QUEUE, QueueBook
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.model.duration import written
from maitred.model.priority import Rank
from maitred.model.queues import DEFAULT_QUEUE, QUEUE, named_queue

MOST_COMPARED = 1_000
"""Names of queues that a name which does not exist is compared with."""


def queue_problems(view: GroupView, snapshot: Snapshot, rank: Rank) -> Iterator[str]:
    """Why a group may not be in its queue. Where there are no queues, names of them mean nothing."""
    book = snapshot.book
    if book is None or (book.scheduler is not None and book.scheduler not in view.schedulers):
        return
    if view.payer.problem:
        yield view.payer.problem
        return
    name = named_queue(view.payer, snapshot.namespaces)
    queue = book.tree.number.get(name, NO_QUEUE)
    if queue == NO_QUEUE:
        yield f"there is no queue {name}; {_nearest(book, name, view.payer.namespace)}"
    elif not book.tree.is_leaf(queue):
        yield f"queue {name} is divided; {_nearest(book, name, view.payer.namespace, below=queue)}"
    elif not book.may_use(queue, view.payer.namespace):
        namespace = view.payer.namespace
        yield f"namespace {namespace} may not use queue {name}; {_nearest(book, name, namespace)}"
    else:
        yield from _priority_problems(book, queue, rank)
        yield from _run_time_problems(book, queue, view)


def _priority_problems(book: QueueBook, queue: int, rank: Rank) -> Iterator[str]:
    for name, allowed in book.tree.priorities[queue]:
        if allowed.most is not None and rank.priority > allowed.most:
            yield f"its priority is {rank.priority}, and queue {name} allows {allowed.most} at most"
        if allowed.least is not None and rank.priority < allowed.least:
            yield f"its priority is {rank.priority}, and queue {name} allows no less than {allowed.least}"


def _run_time_problems(book: QueueBook, queue: int, view: GroupView) -> Iterator[str]:
    terms, stay = book.tree.run_terms[queue], view.runtime.stay
    if terms.most is not None and stay.asked is not None and stay.asked > terms.most:
        most = written(terms.most)
        yield (
            f"{stay.key} asks for {written(stay.asked)}, and queue {terms.most_of} allows {most} at most; "
            f"set it to {most} or less, or name a queue that allows more"
        )


def _nearest(book: QueueBook, name: str, namespace: str, below: int = NO_QUEUE) -> str:
    """Queues that the namespace may use: the one whose name is nearest. No others are named."""
    tree = book.tree
    usable = [
        queue.name
        for place, queue in enumerate(tree.queues[:MOST_COMPARED])
        if tree.is_leaf(place)
        and (below == NO_QUEUE or below in tree.chain[place])
        and book.may_use(place, namespace)
    ]
    if not usable:
        return f"namespace {namespace} may use no queue: ask whoever runs the cluster for one"
    found = get_close_matches(name, usable, 1, 0.0)[0] if name else DEFAULT_QUEUE
    return f"set {QUEUE} to {found}, which it may use"
