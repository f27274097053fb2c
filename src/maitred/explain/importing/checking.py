"""From manifests to what becomes of each thing in them that was written for another scheduler.

Labels and annotations are looked for wherever an object has metadata: on itself, and in templates of pods at
any depth. Groups that contradict themselves are found by the engine, so the words are those of `decide`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from maitred.explain.importing.answer import CheckedObject, Finding, ImportCheck, InvalidGroup
from maitred.explain.situation import Situation
from maitred.model.manifest import Document
from maitred.model.membership.treatment import (
    FIELDS_OF_OTHERS,
    IGNORED,
    KEYS_OF_OTHERS,
    OBJECTS_OF_OTHERS,
    PREFIXES,
    SCHEDULERS,
    UNKNOWN,
    UNKNOWN_FIELD,
    KeyRow,
    Treated,
)
from maitred.model.owners import api_group
from maitred.model.pod import DEFAULT_SCHEDULER

Body = Mapping[str, Any]
LONGEST_VALUE = 64
_ROWS: dict[str, KeyRow] = {row.key: row for row in KEYS_OF_OTHERS}


def check_import(documents: Iterable[Document], situation: Situation, own: str) -> ImportCheck:
    """`situation` has the same objects; `own` is what this scheduler is called in `schedulerName`."""
    checked = [checked_object(document, own) for document in documents]
    found = tuple(one for one in checked if one.findings)
    invalid = tuple(invalid_groups(situation))
    return ImportCheck(
        changes=bool(invalid) or any(finding.changes for one in found for finding in one.findings),
        objects=found,
        invalid=invalid,
        others=len(checked) - len(found),
    )


def checked_object(document: Document, own: str) -> CheckedObject:
    body = document.plain()
    findings = [
        *about_object(document),
        *about_fields(document, body),
        *(finding for where, part in parts(body) for finding in about_part(where, part, own)),
    ]
    return CheckedObject(document.title, document.source, tuple(findings))


def parts(value: object, where: str = "") -> Iterator[tuple[str, Body]]:
    """Everything in an object that has fields, and its path. Managed fields and the like are no manifest."""
    if isinstance(value, dict):
        yield where, value
        for key, inner in value.items():
            if isinstance(inner, dict | list) and key not in ("managedFields", "status"):
                yield from parts(inner, f"{where}.{key}".lstrip("."))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from parts(inner, f"{where}[{position}]")


# -- keys ----------------------------------------------------------------------------------------------------


def about_part(where: str, part: Body, own: str) -> Iterator[Finding]:
    for field in ("labels", "annotations"):
        marks = part.get(field)
        if where.rpartition(".")[2] == "metadata" and isinstance(marks, dict):
            yield from about_marks(f"{where}.{field}", marks)
    name = part.get("schedulerName")
    if isinstance(name, str) and name not in ("", own, DEFAULT_SCHEDULER):
        yield about_scheduler(where, name, own)


def about_marks(where: str, marks: Body) -> Iterator[Finding]:
    for key, value in marks.items():
        row = _ROWS.get(key)
        if row is not None and (not row.beside or any(other in marks for other in row.beside)):
            yield finding(row.scheduler, where, key, str(value), row.treated)
        elif row is None and (prefix := next((one for one in PREFIXES if key.startswith(one)), None)):
            yield finding(PREFIXES[prefix], where, key, str(value), UNKNOWN)


def about_scheduler(where: str, name: str, own: str) -> Finding:
    words = f"maitred leaves these pods to {name}; set schedulerName: {own} to have it seat them"
    treated = Treated(IGNORED, words, changes=True)
    return finding(SCHEDULERS.get(name, name), where, "schedulerName", name, treated)


def finding(scheduler: str, where: str, key: str, value: str, treated: Treated) -> Finding:
    said = treated.of_value(value)
    cut = value if len(value) <= LONGEST_VALUE else f"{value[:LONGEST_VALUE]}... ({len(value)} characters)"
    return Finding(scheduler, where, key, cut, said.treatment, said.words, said.changes)


# -- objects -------------------------------------------------------------------------------------------------


def about_object(document: Document) -> Iterator[Finding]:
    found = OBJECTS_OF_OTHERS.get((api_group(document.api_version), document.kind))
    if found is not None:
        scheduler, words = found
        yield Finding(scheduler, "", "", "", IGNORED, words, changes=True)


def about_fields(document: Document, body: Body) -> Iterator[Finding]:
    """Of a PodGroup, also those that we do not know: it is there for nothing but its scheduler."""
    group, spec = api_group(document.api_version), body.get("spec")
    rows = {row.field: row for row in FIELDS_OF_OTHERS if (row.group, row.kind) == (group, document.kind)}
    said = {f"spec.{key}": value for key, value in spec.items()} if isinstance(spec, dict) else {}
    for field in (*rows, *(field for field in said if field not in rows and document.kind == "PodGroup")):
        if rows and said.get(field) not in (None, "", {}, []):
            treated = rows[field].treated if field in rows else UNKNOWN_FIELD
            scheduler = next(iter(rows.values())).scheduler
            yield finding(scheduler, "spec", field.removeprefix("spec."), plain(said[field]), treated)


def plain(value: Any) -> str:
    """Of what has parts, their names."""
    if isinstance(value, dict):
        return ", ".join(map(str, value))
    if isinstance(value, list):
        return f"{len(value)} of them"
    return str(value)


# -- groups --------------------------------------------------------------------------------------------------


def invalid_groups(situation: Situation) -> Iterator[InvalidGroup]:
    """Groups that the engine refuses, in its own words."""
    for group in situation.decided().groups:
        if group.verdict == "Invalid":
            yield InvalidGroup(group.group, tuple(blocker.message for blocker in group.blockers))
