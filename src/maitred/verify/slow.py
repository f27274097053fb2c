"""Members that are told to leave because they are slow: who is slow, and when one may be replaced.

Members write the times of their steps themselves. So what follows from them concerns their own group only.
"""

import re
from collections.abc import Iterator

from .allowances import marks_of
from .budgets import allowance
from .case import Case
from .groups import Group
from .pods import Pod
from .protection import shield
from .times import thousandths

STEP_TIME, ON_FAILURE = "maitred.dev/step-time", "maitred.dev/on-failure"
SECONDS = re.compile(r"\d{1,6}(\.\d{1,9})?", re.ASCII)
DAY = 86_400
TIMES_SLOWER, FEWEST = 1.5, 3
SOON = 60_000
"""Thousandths of a second after a checkpoint in which work counts as saved."""
REPLACING = ("", "replace", "shrink")


def slow_members(case: Case, group: Group) -> list[Pod]:
    """Those that the policy has replaced, whatever time it is."""
    if not (case.policy.replaces_slow and group.gang):
        return []
    times = {pod: seconds for pod in group.running if (seconds := _step(pod)) is not None}
    if len(times) < FEWEST:
        return []
    ordered = sorted(times.values())
    middle = (ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2
    return [pod for pod, seconds in times.items() if seconds > TIMES_SLOWER * middle]


def _step(pod: Pod) -> float | None:
    said = pod.annotations.get(STEP_TIME, "")
    seconds = float(said) if SECONDS.fullmatch(said) else 0.0
    return seconds if 0 < seconds <= DAY else None


def wrongly_replaced(case: Case, group: Group, going: list[Pod]) -> Iterator[str]:
    """Why these slow members of it should have stayed."""
    said = {pod.labels.get(ON_FAILURE) or pod.annotations.get(ON_FAILURE, "") for pod in going}
    if not said.issubset(REPLACING):
        yield f"it is slow, and its {ON_FAILURE} is {min(said.difference(REPLACING))}"
    if case.now is not None and not _has_just_saved(case, group, case.now):
        yield "it is slow, and it is not the time of a checkpoint"
    for pod in group.running:
        kept = shield(pod, marks_of(case, pod), case.now)
        if kept is not None:
            yield f"it is slow, and of {pod.key}: {kept}"
            break
    held = case.held_for(group.key)
    room = sum(hold.integer("pods") for hold in held)
    if room < len(going):
        yield f"it is slow, and room for {room} of {len(going)} is kept elsewhere"
    there = {pod.node_name for pod in going} & {hold.text("node") for hold in held}
    if there:
        yield f"it is slow, and its room is kept on {min(there)}, where it is"
    for key, budget in sorted(case.cluster.budgets.items()):
        count = sum(map(budget.counts, going))
        if count > allowance(budget, case.cluster.pods.values()):
            yield f"it is slow, and {key} does not allow that"


def _has_just_saved(case: Case, group: Group, now: int) -> bool:
    """All of its members, by what they or the group say."""
    marks = [(pod, marks_of(case, pod)) for pod in group.running]
    if any(pod.started is None for pod, _ in marks):
        return False
    saved = [one.checkpoint for _, one in marks if one.checkpoint is not None and one.checkpoint <= now]
    if len(saved) == len(marks):
        return now - min(saved) <= SOON
    ran = [(now - thousandths(pod.started or 0), one.interval) for pod, one in marks if one.interval]
    if len(ran) < len(marks):
        return False
    return all(span >= interval and span % interval <= SOON for span, interval in ran)
