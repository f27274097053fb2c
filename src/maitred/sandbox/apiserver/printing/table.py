"""Objects as a `Table`, which is what `kubectl get` asks for."""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import Enum

from maitred.sandbox.apiserver.printing.kinds import row_conditions
from maitred.sandbox.apiserver.printing.printer import Printer
from maitred.sandbox.apiserver.schema.types import Body

GROUP = "meta.k8s.io"
PARTIAL, TABLE = "PartialObjectMetadata", "Table"


class Include(Enum):
    """What each row has of its object, as the parameter `includeObject` says it."""

    NONE = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


def table_of_list(
    printer: Printer,
    bodies: Sequence[Body],
    list_metadata: Body,
    now: datetime,
    *,
    include: Include,
    version: str,
) -> Body:
    default = printer.default_among(bodies) if printer.default_among and bodies else ""
    rows = _rows(printer, bodies, now, include, version)
    for row in rows if default else ():
        if row["cells"][0] == default:
            row["cells"][0] = f"{default} (default)"
    return _table(printer, rows, list_metadata, version, headers=True)


def table_of_one(
    printer: Printer, body: Body, now: datetime, *, include: Include, version: str, headers: bool = True
) -> Body:
    """Also for events of a watch, of which only the first has headers."""
    version_of_body = body["metadata"].get("resourceVersion")
    metadata = {"resourceVersion": version_of_body} if version_of_body else {}
    return _table(printer, _rows(printer, [body], now, include, version), metadata, version, headers=headers)


def _table(printer: Printer, rows: list[Body], metadata: Body, version: str, *, headers: bool) -> Body:
    return {
        "kind": TABLE,
        "apiVersion": f"{GROUP}/{version}",
        "metadata": metadata,
        "columnDefinitions": [column.definition() for column in printer.columns] if headers else None,
        "rows": None if printer.null_if_empty and not rows else rows,
    }


def _rows(
    printer: Printer, bodies: Sequence[Body], now: datetime, include: Include, version: str
) -> list[Body]:
    embed = _embedding(include, version)
    rows = list[Body]()
    for body in bodies:
        row: Body = {"cells": printer.cells(body, now)}
        if conditions := row_conditions(body):
            row["conditions"] = conditions
        row["object"] = embed(body)
        rows.append(row)
    return rows


def _embedding(include: Include, version: str) -> Callable[[Body], Body | None]:
    if include is Include.OBJECT:
        return lambda body: body
    if include is Include.METADATA:
        return lambda body: partial(body, version)
    return lambda body: None


def partial(body: Body, version: str) -> Body:
    """The metadata of an object alone."""
    return {"kind": PARTIAL, "apiVersion": f"{GROUP}/{version}", "metadata": body["metadata"]}
