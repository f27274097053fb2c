"""When groups may start and when they must be done: docs/deadlines.md, a second time.

A group that may not start yet has no place, and none is kept for it. A deadline orders groups only where the
policy says so, and only as long as it can be kept.
"""

from collections.abc import Iterator
from math import inf

from .case import Case
from .groups import Group
from .payers import places_of
from .pods import Pod
from .times import duration, instant

DEADLINE, NOT_BEFORE, EXPECTED = (
    f"maitred.dev/{name}" for name in ("deadline", "not-before", "expected-runtime")
)


def hold_back(case: Case) -> None:
    """Groups that wait for their time may not be seated; where nobody says what time it is, they may have to
    wait."""
    for group in case.groups:
        due = urgency(case, group)
        group.due_by = inf if due is None else due
        times = [time for pod, leaf in _waiting(group) if (time := _said(case, pod, leaf, NOT_BEFORE))]
        group.may_be_early = bool(times) and case.now is None
        if times and case.now is not None and max(times) > case.now:
            group.held_back = f"it is not to start before {max(times)}, in thousandths of a second"


def urgency(case: Case, group: Group) -> float | None:
    """The deadline that it goes by, infinity for none; None where this does not know."""
    if not case.policy.by_deadline:
        return inf
    times = [time for pod, leaf in _waiting(group) if (time := _said(case, pod, leaf, DEADLINE))]
    if not times:
        return inf
    runs = {pod.annotations.get(EXPECTED) for pod, _ in _waiting(group)}
    ends = any(
        case.cluster.raw[("Pod", pod.key)].doc("spec").given("activeDeadlineSeconds")
        for pod, _ in _waiting(group)
    )
    lone = group.kind == "pod"
    span = duration(runs.pop() or "") if len(runs) == 1 and lone and not ends else None
    if span is None or case.now is None:
        return None
    return min(times) if span and case.now <= min(times) - span else inf


def _waiting(group: Group) -> Iterator[tuple[Pod, Group]]:
    for leaf in group.leaves:
        yield from ((pod, leaf) for pod in leaf.members if not pod.finished)


def _said(case: Case, pod: Pod, leaf: Group, key: str) -> int | None:
    """By the nearest to the pod that can be read."""
    texts = (marks.get(key) for marks in places_of(pod, leaf.key, case.cluster))
    return next((time for text in texts if text and (time := instant(text)) is not None), None)
