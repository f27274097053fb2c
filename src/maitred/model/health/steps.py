"""Members whose steps take longer than those of the others: one slow member drags the whole gang.

A member says how long its last step took under `maitred.dev/step-time`, in seconds. Tenants write that, so it
is checked, and counts in the gang of the one who wrote it and nowhere else: never against a node.
"""

import re
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from maitred.model.health.signals import Signal
from maitred.model.meta import CUT_TO, ObjectMeta, key_of
from maitred.model.pod import Pod

STEP_TIME = "maitred.dev/step-time"
LONGEST_STEP = 86_400.0
SLOW = 1.5
"""Times the median: a member that takes longer is slow."""
FEWEST = 3
"""Members that must tell their times: of two, nobody knows which is slow."""
_SECONDS = re.compile(r"[0-9]{1,6}(\.[0-9]{1,9})?")


class StepTimes(NamedTuple):
    seconds: Mapping[str, float]
    """By the pod."""
    unread: Sequence[tuple[str, str]]
    """Pods that say something else, and what is wrong with it."""


def step_time(metadata: ObjectMeta) -> float | None:
    """In seconds; None if nothing is said that can be read."""
    said = metadata.annotations.get(STEP_TIME)
    read = float(said) if said and len(said) <= CUT_TO and _SECONDS.fullmatch(said) else 0.0
    return read if 0 < read <= LONGEST_STEP else None


def step_times(pods: Sequence[Pod]) -> StepTimes:
    seconds, unread = dict[str, float](), list[tuple[str, str]]()
    for pod in pods:
        said = pod.metadata.annotations.get(STEP_TIME)
        if said is None:
            continue
        read = step_time(pod.metadata)
        if read is not None:
            seconds[key_of(pod.metadata)] = read
        else:
            words = (
                f"{STEP_TIME} is {said[:CUT_TO]!r}, which is not a number of seconds between 0 and "
                f"{LONGEST_STEP:.0f}; it counts for nothing"
            )
            unread.append((key_of(pod.metadata), words))
    return StepTimes(seconds, unread)


def slow_members(times: Mapping[str, float], nodes: Mapping[str, str]) -> list[Signal]:
    """Of one gang, the slowest first. `nodes` has where each of them is."""
    if len(times) < FEWEST:
        return []
    middle = median(times.values())
    slow = sorted((pod for pod in times if times[pod] > SLOW * middle), key=lambda pod: (-times[pod], pod))
    return [
        Signal(
            kind="SlowStep",
            family="Degradation",
            certainty="likely",
            about="pod",
            words=f"its steps take {times[pod]:g} s, and those of the gang {middle:g} s (median)",
            node=nodes.get(pod, ""),
            pod=pod,
            evidence={"stepTime": times[pod], "median": middle, "members": len(times)},
        )
        for pod in slow
    ]
