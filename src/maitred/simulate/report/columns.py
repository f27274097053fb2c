"""Jobs of one policy, over all its seeds, as columns."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maitred.simulate.results import JobOutcome, Run
from maitred.simulate.summary import NEVER_HERE, Floats, completions


@dataclass(frozen=True)
class Jobs:
    """Those that arrived and were not impossible."""

    policy: str
    kind: str
    """The class of its marks."""
    runs: int
    outcomes: tuple[JobOutcome, ...]
    devices: NDArray[np.int64]
    waited: Floats
    seated: NDArray[np.bool_]
    """Whether it ever had seats. The wait of those that never had may not be over yet."""
    completion: Floats
    """Of those that finished, in ascending order."""


def jobs_by_policy(runs: Sequence[Run], kinds: Sequence[str]) -> list[Jobs]:
    """`kinds` are in the order in which policies first appear."""
    found: dict[str, list[Run]] = {}
    for run in runs:
        found.setdefault(run.policy, []).append(run)
    return [columns(kind, own) for kind, own in zip(kinds, found.values(), strict=True)]


def columns(kind: str, runs: Sequence[Run]) -> Jobs:
    outcomes = [one for run in runs for one in run.outcomes if one.end not in NEVER_HERE]
    return Jobs(
        policy=runs[0].policy,
        kind=kind,
        runs=len(runs),
        outcomes=tuple(outcomes),
        devices=np.array([one.devices for one in outcomes], np.int64),
        waited=np.array([one.waited for one in outcomes], np.float64),
        seated=np.array([one.started is not None for one in outcomes], np.bool_),
        completion=np.sort(completions(outcomes)),
    )
