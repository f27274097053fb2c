"""What each queue may still start: the largest gang of every shape, by room, by the limits of the queue, and
by what its budgets can pay for.

It is that of a user who has nothing yet, once all is bound that is bound now, and it runs for as long as
groups of the queue do that ask for no other run-time limit. What others would have to give back is not
counted: `maitred plan` tells for one gang who would leave for it.
"""

from collections.abc import Collection

import numpy as np

from maitred.cluster.nodes import Ints
from maitred.cluster.queues.book import QueueBook
from maitred.cluster.queues.use import QueueUse
from maitred.cluster.snapshot import Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask
from maitred.decide.compile import make_rules
from maitred.decide.queues.admission import Excess, ModelChoice, first_excess, models_for
from maitred.decide.queues.affording import Overspend, first_overspend, least_rates
from maitred.explain.capacity.document import QueueRoom
from maitred.explain.capacity.shapes import shapes
from maitred.explain.capacity.survey import Survey, with_shapes
from maitred.explain.remedies.rehearsal import by_shape
from maitred.model.group import TopologyRequest
from maitred.model.queues import Payer
from maitred.model.runtime import NOT_SAID

MOST_QUEUES = 50
NEWCOMER = "\0"
"""A user who has nothing: no name has this character."""
NOBODY = (0, 0.0, "")


def queue_rooms(survey: Survey, namespaces: Collection[str] | None) -> tuple[QueueRoom, ...]:
    """`namespaces`: only queues that these may use; None for all."""
    candidates = shapes(survey)
    asked = [(each.needs, each.devices) for each in candidates]
    snapshot, numbers = with_shapes(survey.snapshot, asked)
    book = snapshot.book
    if book is None:
        return ()
    told = _told(survey, book, namespaces)
    trial, empty = after_this_cycle(survey, snapshot), emptied(snapshot)
    found = list[QueueRoom]()
    for candidate, number in zip(candidates, numbers, strict=True):
        have, could = (make_rules(one, (number,), survey.policy).copies[0] for one in (trial, empty))
        for queue in told:
            room, most, excess = _room(survey, trial, book, queue, number, have, could)
            limit = _limit(book, excess)
            found.append(
                QueueRoom(book.tree.queues[queue].name, candidate.shape, min(room, most), room, limit)
            )
    return tuple(sorted(found, key=lambda one: told.index(book.tree.number[one.queue])))


def _limit(book: QueueBook, excess: Excess | Overspend | None) -> str:
    if excess is None:
        return ""
    kind = "budget" if isinstance(excess, Overspend) else excess.kind
    return f"{kind} of {book.tree.queues[excess.queue].name}"


def _told(survey: Survey, book: QueueBook, namespaces: Collection[str] | None) -> list[int]:
    usable = range(len(book.tree)) if namespaces is None else book.usable_by(namespaces)
    leaves = [queue for queue in range(len(book.tree)) if queue in usable and book.tree.is_leaf(queue)]
    if len(leaves) > MOST_QUEUES:
        survey.notes.append(f"{len(leaves) - MOST_QUEUES} queues are not shown")
    return leaves[:MOST_QUEUES]


def after_this_cycle(survey: Survey, snapshot: Snapshot) -> Trial:
    """All who were given a place sit on it, on the accounts of their queues."""
    trial = Trial.of(snapshot)
    for group in survey.situation.cycle().groups:
        seats = [
            (group.shapes[member], row) for member, row in (*group.seated, *group.promised, *group.reserved)
        ]
        for shape, rows, copies, account in by_shape([(group.ask.account, seats)]):
            trial.seat(shape, rows, copies, account)
    return trial


def emptied(snapshot: Snapshot) -> Trial:
    trial = Trial.of(snapshot)
    trial.evict(np.flatnonzero(~snapshot.bound.fixed))
    return trial


def _room(
    survey: Survey, trial: Trial, book: QueueBook, queue: int, number: int, have: Ints, could: Ints
) -> tuple[int, int, Excess | Overspend | None]:
    """On devices of the model on which most may be: by room, by limits and budgets, and the first of these
    beyond that."""
    use = trial.queues
    assert use is not None, "a snapshot with a book of queues has this account"
    account = book.account_for(Payer("default", book.tree.queues[queue].name, NEWCOMER), NOT_SAID)
    gang = Ask((number, number), (NOBODY, NOBODY), 2, TopologyRequest(), account=account)
    found = [
        (int(_on(choice, have)), *_allowed(use, gang, choice, int(_on(choice, could))))
        for choice in models_for(use, gang, survey.policy)
    ]
    return max(found, key=lambda one: (min(one[:2]), one[0], one[1]))


def _on(choice: ModelChoice, copies: Ints) -> int:
    return int((copies if choice.nodes is None else copies[choice.nodes]).sum())


def _allowed(
    use: QueueUse, gang: Ask, choice: ModelChoice, most: int
) -> tuple[int, Excess | Overspend | None]:
    """How many members no limit forbids and all budgets pay for, of those for which an empty cluster has
    room; and what is in the way of the next."""
    one = np.zeros((len(use.book.tree.resources), len(use.book.models)), dtype=np.int64)
    one[:, choice.model or 0] = use.amounts_of(gang.shapes[0])
    rates = least_rates(use, gang, choice.model, 1)

    def excess(members: int) -> Excess | Overspend | None:
        limit = first_excess(use, gang, members * one.reshape(-1), choice.model is not None)
        return limit or first_overspend(use, gang.account, members * rates)

    least, beyond = 0, most + 1
    while beyond - least > 1:
        middle = (least + beyond) // 2
        if excess(middle) is None:
            least = middle
        else:
            beyond = middle
    return least, None if beyond > most else excess(beyond)
