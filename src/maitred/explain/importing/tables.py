"""The check of an import as lines: for each object what was found in it, and what becomes of that."""

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.text import Text

from maitred.explain.importing.answer import Finding, ImportCheck
from maitred.explain.tables import Cell, aligned
from maitred.model.membership.treatment import APPROXIMATED, HONOURED, IGNORED, Treatment
from maitred.model.words import counted, printable

STYLES: dict[Treatment, str] = {HONOURED: "green", APPROXIMATED: "yellow", IGNORED: "red"}

CHANGES = "!"
"""Before what would change the meaning of a workload."""


def import_lines(check: ImportCheck, width: int | None = None) -> Iterator[Text]:
    for one in check.objects:
        yield Text.assemble((printable(one.object), "bold"), f"  {printable(one.source)}")
        yield from aligned([row for finding in one.findings for row in rows(finding)], width)
        yield Text()
    if check.invalid:
        yield Text("Invalid groups, which would not be scheduled", "bold")
        reasons: list[Sequence[Cell]] = [
            ("", Text(one.group, "red"), reason) for one in check.invalid for reason in one.reasons
        ]
        yield from aligned(reasons, width)
        yield Text()
    yield Text(summary(check))


def rows(finding: Finding) -> Iterator[Sequence[Cell]]:
    said = Text(finding.treatment, STYLES[finding.treatment] if finding.changes else "")
    yield CHANGES if finding.changes else "", said, what(finding)
    yield "", "", finding.words


def what(finding: Finding) -> str:
    if not finding.key:
        return f"the whole object ({finding.scheduler})"
    return f"{finding.key}: {finding.value}"


def summary(check: ImportCheck) -> str:
    found = Counter(finding.treatment for one in check.objects for finding in one.findings)
    others = f"; {counted(check.others, 'object')} without any" if check.others else ""
    counts = ", ".join(f"{found[one]} {one}" for one in STYLES if found[one])
    where = f" in {counted(len(check.objects), 'object')}" if counts else ""
    told = f"Written for other schedulers: {counts or 'nothing'}{where}{others}."
    changed = sum(finding.changes for one in check.objects for finding in one.findings)
    if changed:
        told += f" {changed} of these ({CHANGES}) would change what a workload does."
    if check.invalid:
        told += f" Not scheduled before it is corrected: {counted(len(check.invalid), 'group')}."
    return told if check.changes else f"{told} No workload would change its meaning."
