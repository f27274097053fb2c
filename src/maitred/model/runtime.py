"""What a pod or a group says about how long it runs, and how long it takes to leave.

Estimates read it; no decision does. What cannot be read is not known: a start that was estimated on a
misunderstanding is of no use.
"""

from collections.abc import Iterable

from maitred.model.duration import FORM, milliseconds
from maitred.model.meta import Lean, ObjectMeta, own_mark

EXPECTED_RUNTIME = "maitred.dev/expected-runtime"
DEFAULT_GRACE = 30_000
"""What the API server writes into pods that do not say."""


class Runtime(Lean, frozen=True):
    """In milliseconds from its start; None for what is not said."""

    expected: int | None = None
    limit: int | None = None
    """It is stopped after so long, whether or not it is done: `activeDeadlineSeconds`."""
    grace: int = DEFAULT_GRACE
    """How long it may take to leave once it has to."""
    unread: str | None = None
    """What was said and cannot be read."""

    @property
    def problems(self) -> tuple[str, ...]:
        if self.unread is None:
            return ()
        return (f"{EXPECTED_RUNTIME}: {self.unread!r} is not {FORM}, and longer than 0",)


NOT_SAID = Runtime()


def runtime_of(
    metadata: ObjectMeta, deadline_seconds: int | None = None, grace_seconds: int | None = None
) -> Runtime:
    said, grace = own_mark(metadata, EXPECTED_RUNTIME), DEFAULT_GRACE
    if grace_seconds is not None:
        grace = grace_seconds * 1000
    if said is None and deadline_seconds is None and grace == DEFAULT_GRACE:
        return NOT_SAID
    expected = None if said is None else milliseconds(said) or None
    unread = said if expected is None else None
    return Runtime(expected, None if deadline_seconds is None else deadline_seconds * 1000, grace, unread)


def together(group: Runtime, members: Iterable[Runtime]) -> Runtime:
    """Of a group: what it says itself, or else the longest that its members say."""
    told = set(members)
    expected = [member.expected for member in told if member.expected is not None]
    limits = [member.limit for member in told if member.limit is not None]
    unread = [said.unread for said in (group, *sorted(told, key=repr)) if said.unread is not None]
    return Runtime(
        expected=max(expected, default=None) if group.expected is None else group.expected,
        limit=max(limits) if limits and len(limits) == len(told) else None,
        grace=max((member.grace for member in told), default=DEFAULT_GRACE),
        unread=unread[0] if unread else None,
    )
