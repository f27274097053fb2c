"""A kind in a table: its columns, and what an object has in them."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from maitred.sandbox.apiserver.printing.paths import Path
from maitred.sandbox.apiserver.printing.text import age, name_of, since
from maitred.sandbox.apiserver.schema.types import Body

Cell: TypeAlias = Callable[[Body, datetime], Any]
COLUMN = re.compile(r"(?P<wide>\+?)(?P<name>[^:.]+?)(:(?P<type>\w+))?( (?P<path>\..*?)( or (?P<else>.*))?)?")


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    cell: Cell
    type: str = "string"
    format: str = ""
    priority: int = 0
    """Above 0: kubectl shows it only with `-o wide`."""
    description: str = ""
    """Only custom kinds have one: no client shows it."""

    def definition(self) -> Body:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


@dataclass(frozen=True, slots=True)
class Printer:
    columns: tuple[Column, ...]
    default_among: Callable[[Sequence[Body]], str] | None = None
    """The name that a list marks as the default, if the kind has such a thing."""
    null_if_empty: bool = False
    """A list without objects has null for its rows, as it is in the tables that kinds have by default."""

    def cells(self, body: Body, now: datetime) -> list[Any]:
        return [column.cell(body, now) for column in self.columns]


OF_ALL: Mapping[str, Cell] = {"Name": lambda body, now: name_of(body), "Age": age}
"""What is said of the objects of any kind."""
NAME = Column("Name", OF_ALL["Name"], format="name")
AGE = Column("Age", age)


def printer(columns: str, cells: Mapping[str, Cell] | None = None, **more: Any) -> Printer:
    """Columns as in `Name | Status .status.phase or Unknown | Age | Drivers:integer | +Node`.

    One with a plus is for `-o wide`. It shows what is at its path, or else what is behind `or`; where it has
    no path, what the function of its name in `cells` says.
    """
    own = {**OF_ALL, **(cells or {})}
    return Printer(tuple(_written(text.strip(), own) for text in columns.split("|")), **more)


def _written(text: str, cells: Mapping[str, Cell]) -> Column:
    match = COLUMN.fullmatch(text)
    assert match is not None, text
    name, kind = match["name"], match["type"] or "string"
    cell = _at(Path(match["path"]), match["else"] or "", kind) if match["path"] else cells[name]
    return Column(name, cell, kind, "name" if name == "Name" else "", int(bool(match["wide"])))


def _at(path: Path, otherwise: str, kind: str) -> Cell:
    default: Any = {"integer": 0, "boolean": False}.get(kind, otherwise)

    def cell(body: Body, now: datetime) -> Any:
        found = [value for value in path.find(body) if value not in (None, "")]
        return ",".join(map(str, found)) if len(found) > 1 else found[0] if found else default

    return cell


# -- custom resources --------------------------------------------------------------------------------------


def custom_printer(columns: Sequence[Body]) -> Printer:
    """For the `additionalPrinterColumns` of a version of a definition; the age if it has none."""
    return Printer((NAME, *map(_custom, columns)) if columns else (NAME, AGE))


def _custom(column: Body) -> Column:
    path, kind = column["jsonPath"], column["type"]
    found = Path(path)
    words = f"Custom resource definition column (in JSONPath format): {path}"
    return Column(
        name=column["name"],
        cell=lambda body, now: _shown(found.find(body), kind, now),
        description=column.get("description") or words,
        type=kind,
        format=column.get("format", ""),
        priority=column.get("priority", 0),
    )


def _shown(values: list[Any], kind: str, now: datetime) -> Any:
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
