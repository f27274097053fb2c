"""Runs on a Ray cluster, for studies that one machine would take too long for."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import Any

from maitred.cli.simulate.showing import StudyDisplay
from maitred.cli.simulate.study import EngineError, Study
from maitred.model.manifest import InputError
from maitred.simulate.results import Run

POLL_SECONDS = 0.25


class Board:
    """Where runs, wherever they are, write how far they are."""

    def __init__(self) -> None:
        self._fractions: dict[int, float] = {}

    def reached(self, number: int, fraction: float) -> None:
        self._fractions[number] = fraction

    def fractions(self) -> dict[int, float]:
        return self._fractions


def run_case(study: Study, number: int, board: Any) -> Run | InputError:
    """In a process of Ray."""
    try:
        return study.run(number, partial(board.reached.remote, number))
    except InputError as error:
        return error


def run_on_ray(study: Study, stage: StudyDisplay) -> list[Run]:
    with ray_cluster() as ray:
        try:
            return collect(ray, study, stage)
        except ray.exceptions.RayTaskError:
            raise  # A defect of ours: its trace is wanted.
        except ray.exceptions.RayActorError as error:
            cause = lines_of(error)[-1]
            what = "install the same version on every machine of the cluster"
            raise EngineError(f"maitred does not start on the Ray cluster: {cause}; {what}") from None
        except ray.exceptions.RayError as error:
            raise EngineError(f"Ray gave up: {lines_of(error)[0]}") from None


def collect(ray: Any, study: Study, stage: StudyDisplay) -> list[Run]:
    board = ray.remote(Board).options(num_cpus=0, max_restarts=-1, max_task_retries=-1).remote()
    shared, task = ray.put(study), ray.remote(run_case)
    numbers = {task.remote(shared, number, board): number for number in range(len(study.cases))}
    runs: dict[int, Run] = {}
    while pending := [reference for reference, number in numbers.items() if number not in runs]:
        for number, fraction in ray.get(board.fractions.remote()).items():
            if number not in runs:
                stage.reached(number, fraction)
        done, _ = ray.wait(pending, num_returns=1, timeout=POLL_SECONDS)
        for reference in done:
            found = ray.get(reference)
            if isinstance(found, InputError):
                raise found
            runs[numbers[reference]] = found
            stage.ended(numbers[reference])
    return [runs[number] for number in sorted(runs)]


@contextmanager
def ray_cluster() -> Iterator[Any]:
    """The one at RAY_ADDRESS, or the one that runs on this machine, or else a new one on its cores."""
    try:
        ray = import_module("ray")
    except ImportError:
        raise EngineError("--engine ray needs Ray, which comes with pip install 'maitred[ray]'") from None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # What people simulate is their own affair.
    try:
        ray.init(logging_level=logging.ERROR, log_to_driver=False, include_dashboard=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise EngineError(f"no Ray cluster can be reached: {lines_of(error)[0]}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


def lines_of(error: Exception) -> list[str]:
    return [line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()] or [repr(error)]
