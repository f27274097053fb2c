"""What queues forbid and take back, in numbers and words."""

from collections import Counter

import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Ints
from maitred.cluster.queues.book import QueueBook
from maitred.cluster.queues.tree import Bounds
from maitred.cluster.queues.use import QueueUse
from maitred.cluster.snapshot import NO_GROUP
from maitred.decide.ask import Ask
from maitred.decide.queues.admission import Excess, refusals
from maitred.decide.queues.affording import Overspend
from maitred.decide.queues.budget_words import unpaid
from maitred.model.plan import Blocker, Detail
from maitred.model.policy import Policy
from maitred.model.quantity import text
from maitred.model.queues import ANY_MODEL, DEVICE_MODELS, EVERY_MODEL
from maitred.model.words import grouped

NAMES_SHOWN = 5


def quota(use: QueueUse, ask: Ask, policy: Policy, alone: bool, numbers: Detail) -> Blocker:
    """Which limit of which queue is in the way; on whatever devices, or on those that have room."""
    found = refusals(use, ask, policy)
    refused = [(model, excess) for model, excess in found if excess is not None]
    admitted = [model for model, excess in found if excess is None]
    if not refused:
        models = [model for model in admitted if model]
        message = f"the limits of its queue leave it {' or '.join(models)}, and there it does not fit"
        if len(models) > 1:
            message = (
                f"it would fit, but not on devices of one model ({', '.join(models)}); "
                f"{DEVICE_MODELS}: {ANY_MODEL} lets its members have different ones"
            )
        return Blocker("Quota", message, {**numbers, "limit": "oneModel", "models": models})
    excess = refused[0][1]
    if isinstance(excess, Overspend):
        return unpaid(use, excess, policy, alone, _elsewhere(admitted), numbers)
    message = _sentence(use, excess) + _elsewhere(admitted)
    by = used_by(use, excess)
    if by:
        message += f"; {_listed(excess.bounds, by)}"
    return Blocker(
        "Quota", f"{'it would fit, but ' if alone else ''}{message}", {**numbers, **_detail(use, excess, by)}
    )


def _elsewhere(admitted: list[str]) -> str:
    free = " or ".join(model or "devices without a model" for model in admitted)
    return f"; on {free} its queue could have them, but there is no room" if admitted else ""


def _detail(use: QueueUse, excess: Excess, by: list[tuple[str, int]]) -> Detail:
    bounds = excess.bounds
    detail: Detail = {
        "limit": excess.kind,
        "queue": use.book.tree.queues[excess.queue].name,
        "resource": bounds.resource,
        "model": bounds.model,
        "allowed": text(bounds.resource, excess.allowed),
        "used": text(bounds.resource, excess.used),
        "asked": text(bounds.resource, excess.asked),
        "by": [{"group": group, "used": text(bounds.resource, amount)} for group, amount in by],
    }
    return detail | ({"user": excess.user} if excess.kind == "perUser" else {})


def _sentence(use: QueueUse, excess: Excess) -> str:
    bounds, queue = excess.bounds, use.book.tree.queues[excess.queue].name
    what = named(bounds)
    allowed, used, asked = (
        shown(bounds.resource, size) for size in (excess.allowed, excess.used, excess.asked)
    )
    match excess.kind:
        case "cap":
            return f"queue {queue} may have {allowed} {what} and has {used}, and the group asks for {asked}"
        case "perUser":
            if not excess.user:
                return (
                    f"groups whose user is not known may have {allowed} {what} together in queue {queue} and "
                    f"have {used}, and the group asks for {asked}"
                )
            return (
                f"user {excess.user} may have {allowed} {what} in queue {queue} and has {used}, and the "
                f"group asks for {asked}"
            )
        case "borrow":
            return (
                f"queue {queue} never borrows: {allowed} {what} are guaranteed to it and it has {used}, and "
                f"the group asks for {asked}"
            )
        case "lend":
            return (
                f"queue {queue} lends nothing of the {what} that are guaranteed to it: {allowed} are left "
                f"for others, and the group asks for {asked}"
            )


def shown(resource: str, amount: int) -> str:
    """`1,024`, `32Gi`."""
    return grouped(text(resource, amount))


def named(bounds: Bounds) -> str:
    """`nvidia.com/gpu (H100)`."""
    return bounds.resource if bounds.model == EVERY_MODEL else f"{bounds.resource} ({bounds.model})"


def _listed(bounds: Bounds, by: list[tuple[str, int]]) -> str:
    return "used by " + ", ".join(f"{group} ({shown(bounds.resource, amount)})" for group, amount in by)


def used_by(use: QueueUse, excess: Excess) -> list[tuple[str, int]]:
    """The groups that use most of what is limited, as the cluster was when the cycle began."""
    book, load = use.book, use.load
    if excess.kind == "lend":
        return []
    row = book.row(excess.queue)
    if excess.kind == "perUser":
        row = book.row_of_user(excess.queue, excess.user) or row
    counts = np.zeros(len(book.accounts), dtype=np.bool_)
    counts[book.accounts_in(row)] = True
    pods: Rows = np.flatnonzero(counts[book.account_of_bound] & load.here)
    kinds = book.kinds_in(excess.bounds.resource, excess.bounds.model)
    amounts = book.kinds_of(pods)[:, kinds].sum(axis=1)
    found = Counter[str]()
    for pod, used in zip(pods[amounts > 0].tolist(), amounts[amounts > 0].tolist(), strict=True):
        found[_group_of(use, pod)] += used
    return sorted(found.items(), key=lambda one: (-one[1], one[0]))[:NAMES_SHOWN]


def _group_of(use: QueueUse, pod: int) -> str:
    snapshot = use.load.snapshot
    number = int(snapshot.bound.group[pod])
    seated = None if number == NO_GROUP else snapshot.seated[number]
    key: str = snapshot.bound.occupants[pod].key
    return key if seated is None else snapshot.tree_of(seated.group)


# -- what is taken back ----------------------------------------------------------------------------------


def lent_words(book: QueueBook, used: Ints, own: int, other: int) -> str:
    """Whose guarantee it is, and how much was borrowed. `used` is what all rows used before."""
    mine, theirs = book.tree.queues[own].name, book.tree.queues[other].name
    bounds, amount = _most_beyond(book, used[book.row(other)], other)
    what, guaranteed = named(bounds), shown(bounds.resource, bounds.guarantee or 0)
    return (
        f"it was lent: queue {mine} asks for no more than it is guaranteed, and queue {theirs} has "
        f"{shown(bounds.resource, amount)} {what}, of which {guaranteed} are guaranteed to it"
    )


def share_words(book: QueueBook, used: Ints, own: int, other: int) -> str:
    mine, theirs = (
        f"queue {book.tree.queues[one].name} has {book.share(one, used[book.row(one)]):.3f}"
        for one in (own, other)
    )
    return f"fair share: {mine} of the cluster by its weight, {theirs}"


def _most_beyond(book: QueueBook, used: Ints, queue: int) -> tuple[Bounds, int]:
    """Of what a queue has most beyond its guarantee, and how much it has of that."""
    guaranteed = [
        (int(used[one.kinds].sum()), one.bounds)
        for one in book.limits[queue]
        if one.bounds.guarantee is not None
    ]
    others = [(int(used[kind]), book.bounds_of_kind(kind)) for kind in book.unguaranteed[queue]]
    amount, bounds = max((*guaranteed, *others), key=lambda one: one[0] - (one[1].guarantee or 0))
    return bounds, amount
