"""How far the runs are: bars on a terminal, or a line for each that has ended. Always on standard error."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from maitred.cli.simulate.study import StudyCase
from maitred.model.words import counted, printable


class StudyDisplay(Protocol):
    """Is told of cases by their numbers."""

    def reached(self, number: int, fraction: float) -> None: ...

    def ended(self, number: int) -> None: ...


@contextmanager
def showing(cases: Sequence[StudyCase]) -> Iterator[StudyDisplay]:
    console = Console(stderr=True)
    if not console.is_interactive:
        yield StudyLines(cases)
        return
    progress = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    with progress:
        yield Bars(cases, progress)


class StudyLines:
    def __init__(self, cases: Sequence[StudyCase]) -> None:
        self._cases = cases
        self._ended = 0

    def reached(self, number: int, fraction: float) -> None:
        pass

    def ended(self, number: int) -> None:
        self._ended += 1
        line = f"{self._ended} of {counted(len(self._cases), 'run')} done: {self._cases[number]}"
        click.echo(printable(line), err=True)


class Bars:
    """One for each policy, over all its seeds."""

    def __init__(self, cases: Sequence[StudyCase], progress: Progress) -> None:
        self._progress = progress
        self._fractions = [0.0] * len(cases)
        runs = Counter(case.name for case in cases)
        tasks = {name: progress.add_task(printable(name), total=total) for name, total in runs.items()}
        self._tasks = [tasks[case.name] for case in cases]

    def reached(self, number: int, fraction: float) -> None:
        self._progress.advance(self._tasks[number], fraction - self._fractions[number])
        self._fractions[number] = fraction

    def ended(self, number: int) -> None:
        self.reached(number, 1.0)
