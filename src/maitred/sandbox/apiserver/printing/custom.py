"""Custom resources in tables: the columns that their definition names, found by simple JSONPaths."""

import json
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from maitred.sandbox.apiserver.printing.printer import AGE, NAME, Cells, Column, Printer
from maitred.sandbox.apiserver.printing.text import age, name_of, since
from maitred.sandbox.apiserver.schema.types import Body

STEP = re.compile(
    r"""
    \.(?P<field>(?:\\.|[^.\[\\])+)
    | \[\s*(?P<quote>['"])(?P<quoted>.*?)(?P=quote)\s*\]
    | \[(?P<index>-?\d+)\]
    | (?P<all>\[\*\]|\.\*)
    | \[\?\(\s*@(?P<path>[^=!<>\s]*)\s*(?P<operator>==|!=)\s*(?P<value>"[^"]*"|'[^']*'|[^\s)]+)\s*\)\]
    """,
    re.VERBOSE,
)


class NotSimple(ValueError):
    """A JSONPath that columns cannot have."""


class Path:
    """A JSONPath without a root mark: `.spec.nodes[0]`, `.status.conditions[?(@.type=="Ready")].status`."""

    def __init__(self, text: str) -> None:
        self._steps = list[re.Match[str]]()
        position = 0
        while position < len(text):
            step = STEP.match(text, position)
            if step is None:
                raise NotSimple(f"unrecognized column definition {json.dumps(text)}")
            self._steps.append(step)
            position = step.end()

    def find(self, body: Any) -> list[Any]:
        found = [body]
        for step in self._steps:
            found = [result for value in found for result in _take(step, value)]
        return found


def _take(step: re.Match[str], value: Any) -> Iterable[Any]:
    if step["field"] is not None and step["field"] != "*":
        return _member(value, re.sub(r"\\(.)", r"\1", step["field"]))
    if step["quoted"] is not None:
        return _member(value, step["quoted"])
    if step["index"] is not None:
        return _item(value, int(step["index"]))
    items: list[Any] = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(items, list):
        return ()
    if step["operator"] is None:
        return items
    path, wanted, equal = Path(step["path"]), _literal(step["value"]), step["operator"] == "=="
    return [item for item in items if (wanted in path.find(item)) == equal]


def _member(value: Any, name: str) -> Iterable[Any]:
    return (value[name],) if isinstance(value, dict) and name in value else ()


def _item(value: Any, index: int) -> Iterable[Any]:
    return (value[index],) if isinstance(value, list) and -len(value) <= index < len(value) else ()


def _literal(text: str) -> Any:
    if text[0] in "'\"":
        return text[1:-1]
    try:
        return json.loads(text)
    except ValueError:
        return text


def custom_printer(columns: Sequence[Body]) -> Printer:
    """For the `additionalPrinterColumns` of a version of a definition; the age if it has none."""
    if not columns:
        return Printer((NAME, AGE), lambda body, now: [name_of(body), age(body, now)])
    paths = [(Path(column["jsonPath"]), column["type"]) for column in columns]

    def cells(body: Body, now: datetime) -> Cells:
        found = ((path.find(body), kind) for path, kind in paths)
        return [name_of(body), *(_cell(values, kind, now) for values, kind in found)]

    return Printer((NAME, *map(_column, columns)), cells)


def _column(column: Body) -> Column:
    path = column["jsonPath"]
    return Column(
        name=column["name"],
        description=column.get("description")
        or f"Custom resource definition column (in JSONPath format): {path}",
        type=column["type"],
        format=column.get("format", ""),
        priority=column.get("priority", 0),
    )


def _cell(values: list[Any], kind: str, now: datetime) -> Any:
    """The first of the values, if it is of the kind that the column says."""
    if not values or values[0] is None:
        return None
    value = values[0]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    match kind:
        case "string":
            return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
        case "integer" if number:
            return int(value)
        case "number" if number:
            return value
        case "boolean" if isinstance(value, bool):
            return value
        case "date" if isinstance(value, str):
            try:
                return since(value, now)
            except ValueError:
                return "<invalid>"
    return None
