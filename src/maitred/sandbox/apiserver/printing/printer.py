"""A kind in a table: its columns, and what an object has in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from maitred.sandbox.apiserver.printing.text import age, name_of
from maitred.sandbox.apiserver.schema.types import Body

Cells: TypeAlias = list[Any]


@dataclass(frozen=True, slots=True)
class Column:
    name: str
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


def no_conditions(body: Body) -> list[Body]:
    return []


@dataclass(frozen=True, slots=True)
class Printer:
    columns: tuple[Column, ...]
    cells: Callable[[Body, datetime], Cells]
    conditions: Callable[[Body], list[Body]] = no_conditions
    """Of a row: pods that have ended say so, and clients can leave them out."""
    default_among: Callable[[Sequence[Body]], str] | None = None
    """The name that a list marks as the default, if the kind has such a thing."""
    null_if_empty: bool = False
    """A list without objects has null for its rows, as it is in the tables that kinds have by default."""


NAME = Column("Name", format="name")
AGE = Column("Age")
OF_ALL: dict[str, Callable[[Body, datetime], Any]] = {"Name": lambda body, now: name_of(body), "Age": age}
"""What is said of the objects of any kind."""


def printer(columns: str, cells: Callable[[Body, datetime], Cells], **more: Any) -> Printer:
    """Columns as in `Name | Status | Age | Drivers:integer | +Node`; one with a plus is for `-o wide`.
    `cells` has what is in them, but for the name and the age."""
    found = tuple(map(_column, columns.split(" | ")))

    def all_cells(body: Body, now: datetime) -> Cells:
        own = iter(cells(body, now))
        return [OF_ALL[column.name](body, now) if column.name in OF_ALL else next(own) for column in found]

    return Printer(found, all_cells, **more)


def _column(text: str) -> Column:
    name, _, kind = text.removeprefix("+").partition(":")
    form, priority = "name" if name == "Name" else "", int(text.startswith("+"))
    return Column(name, kind or "string", form, priority)
