"""What queues have lent: what they leave of their guarantees and could not have now, as it is not free."""

from collections import Counter

import numpy as np

from maitred.cluster.nodes import Ints
from maitred.cluster.queues.book import Limit, QueueBook
from maitred.model.policy import is_device
from maitred.model.queues import EVERY_MODEL


def lent(guarantee: int, used: int, free: int) -> int:
    return max(0, guarantee - used - free)


def lent_devices(book: QueueBook) -> dict[str, int]:
    """By queue, of those that have lent any. What is guaranteed of all models together may be the same as
    what is guaranteed of single ones, so the larger counts."""
    free = np.maximum(book.hardware - book.used_at_first[0], 0)
    found = dict[str, int]()
    for queue, limits in enumerate(book.limits):
        counted = [
            one for one in limits if one.bounds.guarantee and is_device(book.policy, one.bounds.resource)
        ]
        together, apart = Counter[str](), Counter[str]()
        for limit in counted:
            side = together if limit.bounds.model == EVERY_MODEL else apart
            side[limit.bounds.resource] += _lent(book, queue, limit, free)
        if amount := (together | apart).total():
            found[book.tree.queues[queue].name] = amount
    return found


def _lent(book: QueueBook, queue: int, limit: Limit, free: Ints) -> int:
    used = int(book.used_at_first[book.row(queue)][limit.kinds].sum())
    return lent(limit.bounds.guarantee or 0, used, int(free[limit.kinds].sum()))
