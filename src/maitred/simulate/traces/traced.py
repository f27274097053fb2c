"""A job as a trace tells of it, before a scenario says what else there is to know."""

import re
from dataclasses import dataclass

from maitred.simulate.clock import Time
from maitred.simulate.jobs import Crew
from maitred.simulate.traces.rows import TraceRow

LONGEST_NAME = 100

_NO_NAME = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Traced:
    name: str
    arrival: Time
    """Since a beginning that is the same for all jobs of the trace."""
    crews: tuple[Crew, ...]
    run_time: Time | None
    """None: the trace does not say."""
    quorum: int
    priority: int | None = None
    within: str = ""
    queue: str = ""
    user: str = ""
    given_up: Time | None = None
    """How long after its arrival its user gave it up, where it never ran."""
    model: str = ""
    """What it trains, where the trace says so."""

    @property
    def load(self) -> int:
        return sum(crew.count * crew.load for crew in self.crews)


@dataclass(frozen=True, slots=True)
class TraceReading:
    """What a trace came to, and what was changed or left out on the way."""

    jobs: list[Traced]
    warnings: tuple[str, ...] = ()


class JobNames:
    """Names of jobs, which become those of pods. None is given twice."""

    def __init__(self) -> None:
        self._lines: dict[str, int] = {}

    def of(self, row: TraceRow, column: str) -> str:
        name = pod_name(row.text(column))
        if not name:
            raise row.refuse(column, f"{row.text(column)[:40]!r} has neither letters nor digits")
        first = self._lines.setdefault(name, row.line)
        if first != row.line:
            raise row.refuse(column, f"{row.text(column)[:40]!r} is already used in line {first}")
        return name


def pod_name(text: str) -> str:
    return _NO_NAME.sub("-", text.lower())[:LONGEST_NAME].strip("-")
