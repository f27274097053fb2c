"""Jobs of one policy, over all its seeds, as columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maitred.simulate.results import Outcome, Run
from maitred.simulate.summary import Floats, completions


@dataclass(frozen=True)
class Jobs:
    """Those that arrived and were not impossible."""

    policy: str
    outcomes: tuple[Outcome, ...]
    devices: NDArray[np.int64]
    waited: Floats
    seated: NDArray[np.bool_]
    """Whether it ever had seats. The wait of those that never had is not over yet."""
    completion: Floats
    """Of those that finished, in ascending order."""


def jobs_by_policy(runs: Sequence[Run]) -> list[Jobs]:
    found: dict[str, list[Outcome]] = {}
    for run in runs:
        could = (one for one in run.outcomes if one.end not in ("impossible", "notArrived"))
        found.setdefault(run.policy, []).extend(could)
    return [columns(policy, outcomes) for policy, outcomes in found.items()]


def columns(policy: str, outcomes: Sequence[Outcome]) -> Jobs:
    return Jobs(
        policy=policy,
        outcomes=tuple(outcomes),
        devices=np.array([one.devices for one in outcomes], np.int64),
        waited=np.array([one.waited for one in outcomes], np.float64),
        seated=np.array([one.started is not None for one in outcomes], np.bool_),
        completion=np.sort(completions(outcomes)),
    )
