"""Deadlines of groups that wait: whom they put first, and who is at risk of missing one.

Anybody may write a deadline, so it gives little. It orders only groups that the rules before it in the
policy's order do not tell apart, it takes nobody's place, and it counts only as long as it can be kept: it is
not known of a group without a run time, and from its latest start on the group goes as if it had written
none. So a deadline that is earlier than the work needs is over the sooner.
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from maitred.cluster.queues.book import QueueBook
from maitred.cluster.snapshot import GroupView
from maitred.model.deadlines import Due, due_of
from maitred.model.duration import written
from maitred.model.plan import DueGroup
from maitred.model.policy import AnyOrder, order_rules
from maitred.model.runtime import EXPECTED_RUNTIME, NO_TERMS
from maitred.model.timing import DEADLINE
from maitred.model.words import moment

NOT_DUE = math.inf
"""How urgent a group is whose deadline counts for nothing, or that has none."""


def goes_by_deadline(order: AnyOrder) -> bool:
    return "deadline" in order_rules(order)


def due(view: GroupView, book: QueueBook | None) -> Due | None:
    """When a group must be done; None for one that has no deadline."""
    if view.runtime.stay.timing.deadline is None:
        return None
    return due_of(view.runtime, NO_TERMS if book is None else book.run_terms(view.account))


def urgency(view: GroupView, book: QueueBook | None, now: float) -> float:
    """What groups go by where the order has deadlines: that of the group, if it can still be kept. `now` is
    in milliseconds since 1970."""
    found = due(view, book)
    return float(found.deadline) if found is not None and found.can_be_kept(round(now)) else NOT_DUE


class DueDates(NamedTuple):
    """What a Plan says of deadlines."""

    groups: tuple[DueGroup, ...]
    warnings: tuple[str, ...]
    wake_at: int | None
    """When the next latest start passes, in milliseconds since 1970."""


NOTHING_DUE = DueDates((), (), None)


def due_dates(waiting: Iterable[GroupView], book: QueueBook | None, now: int) -> DueDates:
    """Of those of these groups that have deadlines."""
    found = [(view, one) for view in waiting if (one := due(view, book)) is not None]
    if not found:
        return NOTHING_DUE
    soon = [one.latest_start + 1 for _, one in found if one.latest_start is not None]
    return DueDates(
        tuple(due_group(view, one, now) for view, one in found),
        tuple(warning for view, one in found for warning in _warnings(view.group.key, one, now)),
        min((at for at in soon if at > now), default=None),
    )


def due_group(view: GroupView, due: Due, now: int) -> DueGroup:
    """As it stands if it starts as soon as it may."""
    earliest = max(now, view.runtime.stay.timing.not_before or now)
    return DueGroup(
        view.group.key,
        said(due.deadline),
        None if due.runs_for is None else written(due.runs_for),
        due.said,
        None if due.latest_start is None else said(due.latest_start),
        is_at_risk(due, earliest),
    )


def is_at_risk(due: Due, start: int) -> bool:
    """Whether a start then is too late, as far as that is known."""
    return start > (due.deadline if due.latest_start is None else due.latest_start)


def _warnings(group: str, due: Due, now: int) -> Iterator[str]:
    if due.deadline <= now:
        yield f"group {group}: its {DEADLINE}, {said(due.deadline)}, has passed; so it counts for nothing"
    elif due.runs_for is None:
        what = f"it has {DEADLINE} {said(due.deadline)}, and nobody says how long it runs"
        yield f"group {group}: {what}; so it counts for nothing: set {EXPECTED_RUNTIME}"


def said(at: int) -> str:
    return moment(at // 1000)
