"""When work must be done, and from when on it may start: what users write.

`maitred.dev/deadline`, `maitred.dev/not-before` and `maitred.dev/start-by` are read where run-time limits
are: on the pods of a group, on its object, and on the owners above it. What is nearest to the pods counts.
What cannot be read is told, and counts for nothing.
"""

from collections.abc import Collection, Iterable, Sequence

from maitred.model.meta import CUT_TO, Lean, MarkSaid
from maitred.model.times import MOMENT_FORM, moment_in

DEADLINE, NOT_BEFORE = "maitred.dev/deadline", "maitred.dev/not-before"
START_BY = "maitred.dev/start-by"
TIMING_MARKS = (DEADLINE, NOT_BEFORE, START_BY)


class WantedTimes(Lean, frozen=True):
    """In milliseconds since 1970; None for what is not said."""

    deadline: int | None = None
    """When the work must be done."""
    not_before: int | None = None
    """No member has a place before."""
    unread: tuple[str, ...] = ()
    """What is wrong with each mark that cannot be read, where it stands first."""
    start_by: int | None = None
    """A promise is wanted that it starts by then."""


UNTIMED = WantedTimes()


def timing_of(places: Sequence[Sequence[MarkSaid]]) -> WantedTimes:
    """`places`: what is said at each, the nearest to the pod first."""
    found, unread = dict[str, int](), list[str]()
    for one in (one for place in places for one in place):
        read = moment_in(one.value)
        if read is None:
            unread.append(f"{one.key}: {one.value[:CUT_TO]!r} is not {MOMENT_FORM}")
        else:
            found.setdefault(one.key, read)
    if not found and not unread:
        return UNTIMED
    return WantedTimes(found.get(DEADLINE), found.get(NOT_BEFORE), _one_of_each(unread), found.get(START_BY))


def common_timing(timings: Collection[WantedTimes]) -> WantedTimes:
    """Of members: the first of their deadlines and of the times by which they want to start, and the last of
    the times before which they may not. Those that say nothing go along."""
    if len(timings) <= 1:
        return next(iter(timings), UNTIMED)
    return WantedTimes(
        min((one.deadline for one in timings if one.deadline is not None), default=None),
        max((one.not_before for one in timings if one.not_before is not None), default=None),
        _one_of_each(sorted({problem for one in timings for problem in one.unread})),
        min((one.start_by for one in timings if one.start_by is not None), default=None),
    )


def _one_of_each(unread: Iterable[str]) -> tuple[str, ...]:
    """The first that is wrong with each mark: thousands of members may all have written something else."""
    return tuple({problem.partition(":")[0]: problem for problem in reversed([*unread])}.values())[::-1]
