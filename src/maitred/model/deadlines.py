"""Deadlines: until when work must have started to be done in time."""

from typing import NamedTuple

from maitred.model.runtime import (
    EXPECTED_RUNTIME,
    NO_TERMS,
    RunTerms,
    Runtime,
    enforced_limit_of,
    limit_of,
)


class Due(NamedTuple):
    """Of a group that must be done by a time. In milliseconds, times since 1970."""

    deadline: int
    runs_for: int | None
    """How long it takes; None if nobody says."""
    said: str
    """By whose word: a mark, a queue, or a field of its pods."""

    @property
    def latest_start(self) -> int | None:
        return None if self.runs_for is None else self.deadline - self.runs_for

    def can_be_kept(self, start: int) -> bool:
        """Whether it may yet be done in time if it starts then."""
        latest = self.latest_start
        return latest is not None and start <= latest


def due_of(runtime: Runtime, terms: RunTerms = NO_TERMS) -> Due | None:
    """None if it has no deadline. Its run time is the limit that ends it; where nobody enforces one, what it
    expects; and else the limit that it asks for, or that its queue gives it."""
    deadline = runtime.stay.timing.deadline
    if deadline is None:
        return None
    limit = enforced_limit_of(runtime, terms)
    if limit is None and runtime.expected is not None:
        return Due(deadline, runtime.expected, EXPECTED_RUNTIME)
    limit = limit or limit_of(runtime, terms)
    return Due(deadline, None, "") if limit is None else Due(deadline, limit.span, limit.said)
