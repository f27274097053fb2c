"""Who had a turn before whom: priority first, then deadlines if the policy says so, then age. What a group is
told is measured in its own turn."""

from .case import Case, rank, seniority
from .groups import Group
from .policy import PRIORITY
from .rules import Bind
from .timing import urgency


def bound_ahead(case: Case, group: Group) -> tuple[list[Bind], list[Bind]]:
    """What was bound to others before a group's turn for certain, and what may have been.

    It may have been where two rank alike and it is not known who is older; where the rest of a group was
    bound, for which quorums of one rank go first; and where one looks at other pods, since it is tried again
    after everybody else.
    """
    surely, maybe = list[Bind](), list[Bind]()
    for bind in (*case.binds, *case.along):
        other = case.group_of[bind[0].key]
        if other is group or comes_after(case, other, group):
            continue
        (surely if _comes_before(case, other, group) else maybe).append(bind)
    return surely, maybe


def comes_after(case: Case, other: Group, group: Group) -> bool:
    """Whether another group had its turns after this one's last for certain."""
    if _looks_around(group) or case.policy.order != PRIORITY or case.policy.rights:
        return False
    if rank(other) != rank(group):
        return rank(other) < rank(group)
    return _older(case, group, other) and not _has_rest(case, group)


def _comes_before(case: Case, other: Group, group: Group) -> bool:
    if _looks_around(other) or case.policy.order != PRIORITY or case.policy.rights:
        return False
    if rank(other) != rank(group):
        return rank(other) > rank(group)
    return _older(case, other, group) and not _has_rest(case, other)


def _older(case: Case, one: Group, other: Group) -> bool:
    """Whether one of two groups of a rank is known to come first. Promises change the order, and room that is
    kept; and so may the age of a PodGroup or an owner."""
    if any(case.links.is_next(group) or group in case.healed for group in (one, other)):
        return False
    if any(pod.nominated or pod.controller for group in (one, other) for pod in group.members):
        return False
    dates = [urgency(case, group) for group in (one, other)]
    if None in dates:
        return False
    ages = [(date, seniority(group)[1]) for date, group in zip(dates, (one, other), strict=True)]
    return ages[0] < ages[1]


def _looks_around(group: Group) -> bool:
    return any(pod.affinity or pod.spreads for pod in group.pending)


def _has_rest(case: Case, group: Group) -> bool:
    """Whether members were bound, or left, beyond the quorum: they have a turn of their own."""
    needed = max(0, group.needed or 0)
    return bool(needed) and len(group.pending) > needed and bool(case.bound(group))
