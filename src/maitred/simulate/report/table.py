"""A result as lines for a terminal: policies side by side, as many as the width has room for."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich.text import Text

from maitred.model.words import printable
from maitred.simulate.report.figures import averages, remarks, sections, setting
from maitred.simulate.report.rows import Cell, ReportRow, ReportSection
from maitred.simulate.results import Result

GAP = "  "
"""Between two amounts of one policy; policies are further apart."""
APART = "   "
INDENT = "  "
WIDEST_NAME = 26
"""Of a policy, and of a blocker."""
ELLIPSIS = "..."


@dataclass(frozen=True)
class ReportColumn:
    """Of one policy."""

    policy: int
    name: str
    width: int
    second: int
    """The width of the second of two amounts."""

    def shown(self, cell: Cell) -> str:
        first, *rest = cell
        if not rest:
            return first.rjust(self.width)
        return f"{first.rjust(self.width - self.second - len(GAP))}{GAP}{rest[0].rjust(self.second)}"


def result_lines(result: Result, width: int | None = None) -> Iterator[Text]:
    """Without a width all policies are side by side and nothing wraps."""
    yield Text(printable(result.scenario), "bold")
    for told in filter(None, (setting(result), averages(result))):
        yield from wrapped(told, width)
    found = sections(result.summaries)
    rows = [row for section in found for row in section.rows]
    labels = max(len(label(row)) for row in rows)
    columns = [column(index, summary.policy, rows) for index, summary in enumerate(result.summaries)]
    for chosen in side_by_side(columns, None if width is None else width - labels):
        yield Text()
        yield from comparison(found, chosen, labels, width)
    for title, lines in remarks(result):
        yield Text()
        yield Text(title, "bold")
        for line in lines:
            yield from wrapped(line, width)


def label(row: ReportRow) -> str:
    return f"{INDENT * (1 + row.is_aside)}{cut(row.label)}"


def cut(name: str) -> str:
    shown = printable(name)
    return shown if len(shown) <= WIDEST_NAME else shown[: WIDEST_NAME - len(ELLIPSIS)] + ELLIPSIS


def column(policy: int, name: str, rows: Sequence[ReportRow]) -> ReportColumn:
    cells = [row.cells[policy] for row in rows]
    parts = [max(len(cell[place]) for cell in cells if len(cell) == 2) for place in (0, 1)]
    alone = max(len(cell[0]) for cell in cells if len(cell) == 1)
    return ReportColumn(policy, cut(name), max(sum(parts) + len(GAP), alone, len(cut(name))), parts[1])


def side_by_side(columns: Sequence[ReportColumn], room: int | None) -> Iterator[list[ReportColumn]]:
    """Columns that go together, at least one at a time."""
    chosen: list[ReportColumn] = []
    used = 0
    for one in columns:
        if chosen and room is not None and used + len(APART) + one.width > room:
            yield chosen
            chosen, used = [], 0
        chosen.append(one)
        used += len(APART) + one.width
    yield chosen


def comparison(
    found: Sequence[ReportSection], columns: Sequence[ReportColumn], labels: int, width: int | None
) -> Iterator[Text]:
    yield Text(" " * labels + "".join(APART + one.name.rjust(one.width) for one in columns), "bold")
    for section in found:
        yield Text(section.title, "bold")
        yield from wrapped(section.about, width, "dim") if section.about else ()
        for row in section.rows:
            line = Text(label(row).ljust(labels), "dim" if row.is_aside else "")
            for one in columns:
                line.append(APART)
                line.append(one.shown(row.cells[one.policy]), "green" if one.policy in row.best else "")
            yield line


def wrapped(line: str, width: int | None, style: str = "") -> Iterator[Text]:
    shown = printable(line)
    if width is None:
        yield Text(f"{INDENT}{shown}", style)
        return
    for piece in textwrap.wrap(shown, width, initial_indent=INDENT, subsequent_indent=2 * INDENT):
        yield Text(piece, style)
