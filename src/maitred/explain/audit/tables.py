"""An audit as lines for people."""

from collections.abc import Iterator, Sequence

from rich.text import Text

from maitred.explain.audit.answer import Audit
from maitred.explain.audit.sections import Section, scope, sections
from maitred.explain.tables import Cell, aligned, header
from maitred.simulate.report.table import wrapped


def audit_lines(audit: Audit, width: int | None = None) -> Iterator[Text]:
    yield Text(scope(audit), "bold")
    for section in sections(audit):
        yield Text()
        yield Text(section.title, "bold red" if section.alarming else "bold")
        for sentence in section.about:
            yield from wrapped(sentence, width)
        yield from table(section, width)


def table(section: Section, width: int | None) -> Iterator[Text]:
    if not section.rows:
        return
    rows: list[Sequence[Cell]] = [("", *header(*section.head))]
    rows += [("", *row) for row in section.rows]
    yield from aligned(rows, width)
