"""The last verdict of every group that waits. Notices, reports, books, metrics and the floor read it here,
and keep none.

What was said of a group that does not wait any more is forgotten: one of the same name that comes later is
another group. Only that it was scheduled is kept until it has been told.
"""

from collections.abc import Container, Iterable, Iterator
from typing import Literal

from maitred.model.categories import Category
from maitred.model.plan import GroupVerdict


class LastVerdicts:
    """`waiting`: the groups that have members without a seat, by name."""

    def __init__(self, waiting: Container[str]) -> None:
        self._waiting = waiting
        self._last: dict[str, GroupVerdict] = {}
        self._before: dict[str, GroupVerdict] = {}
        self._untold: dict[str, GroupVerdict] = {}
        """Of groups that were scheduled, which need not wait any more."""

    def note(self, verdicts: Iterable[GroupVerdict]) -> None:
        """One cycle has found these."""
        self._before, found = self._last, {verdict.group: verdict for verdict in verdicts}
        known = {**self._last, **found}
        self._untold = {group: verdict for group, verdict in self._untold.items() if group not in found}
        self._last = {group: verdict for group, verdict in known.items() if group in self._waiting}

    def before(self, group: str) -> GroupVerdict | None:
        """What was the last verdict of the group before those that were noted last."""
        return self._before.get(group)

    def scheduled(self, verdict: GroupVerdict) -> None:
        """The group has its places, and this is to be told, whether or not members of it still wait."""
        self._untold[verdict.group] = verdict

    def told(self, group: str) -> None:
        """There is nothing left to tell of the group."""
        self._untold.pop(group, None)

    def to_tell(self, group: str) -> GroupVerdict | None:
        """What others may be told of the group: that it is scheduled not before it has its places."""
        last = self._last.get(group)
        waits = last if last is not None and last.verdict != "Scheduled" else None
        return self._untold.get(group) or waits

    def __iter__(self) -> Iterator[GroupVerdict]:
        return iter(self._last.values())


def first_category(verdict: GroupVerdict) -> Category | Literal[""]:
    """Of what is in the way; nothing where nothing is."""
    return verdict.blockers[0].category if verdict.blockers else ""
