"""The last verdict of every group that waits. Reports, books and metrics read it here, and keep none.

What was said of a group that does not wait any more is forgotten: one of the same name that comes later is
another group.
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

    def note(self, verdicts: Iterable[GroupVerdict]) -> None:
        """One cycle has found these."""
        self._before, found = self._last, {verdict.group: verdict for verdict in verdicts}
        known = {**self._last, **found}
        self._last = {group: verdict for group, verdict in known.items() if group in self._waiting}

    def before(self, group: str) -> GroupVerdict | None:
        """What was the last verdict of the group before those that were noted last."""
        return self._before.get(group)

    def __iter__(self) -> Iterator[GroupVerdict]:
        return iter(self._last.values())


def first_category(verdict: GroupVerdict) -> Category | Literal[""]:
    """Of what is in the way; nothing where nothing is."""
    return verdict.blockers[0].category if verdict.blockers else ""
