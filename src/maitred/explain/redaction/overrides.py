"""Overrides: until when a group is lifted counts for all. By whom and why is told to its own namespace."""

from maitred.explain.redaction.aliases import Aliases
from maitred.explain.redaction.reports import ReportFields
from maitred.model.overrides import Override, OverrideMemory, OverrideNote

SOMEBODY, NOT_TOLD = "somebody", "not told: the group is in another namespace"


def overrides_told(memory: OverrideMemory, names: Aliases, reports: ReportFields) -> OverrideMemory:
    told = (one if names.is_own(one.group) else _of_others(one, names, reports) for one in memory.overrides)
    return OverrideMemory(overrides=tuple(told))


def _of_others(one: Override, names: Aliases, reports: ReportFields) -> Override:
    return Override(
        group=names.key(one.group),
        source=reports.source(one.source),
        created=one.created,
        asks=one.asks,
        by=SOMEBODY,
        reason=NOT_TOLD,
        granted=one.granted,
        until=one.until,
    )


def override_told(note: OverrideNote | None, own: bool) -> OverrideNote | None:
    return note if note is None or own else OverrideNote(by=SOMEBODY, reason=NOT_TOLD, until=note.until)
