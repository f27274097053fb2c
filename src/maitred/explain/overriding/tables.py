"""Overrides as lines for people."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from maitred.explain.overriding.answer import OverrideDone, OverrideList
from maitred.explain.tables import Cell, aligned, header


def list_lines(found: OverrideList, width: int | None = None) -> Iterator[Text]:
    if not found.overrides:
        yield Text("No group is lifted past its queue.")
        return
    rows: list[Sequence[Cell]] = [header("GROUP", "UNTIL", "BY", "REASON", "WHAT")]
    for one in found.overrides:
        style = {None: "dim", True: "green", False: "yellow"}[one.lifts]
        rows.append((one.group, one.until, one.by, one.reason, Text(one.words, style)))
    yield from aligned(rows, width)


def done_lines(done: OverrideDone, width: int | None = None) -> Iterator[Text]:
    one = done.override
    if one is None:
        yield Text(f"The override of {done.group} is ended. What the group has, it keeps.")
        return
    yield Text(f"{done.group} is lifted past its queue until {one.until}.")
    yield Text(f"By {one.by}: {one.reason}")
