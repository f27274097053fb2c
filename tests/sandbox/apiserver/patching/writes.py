"""The ways to write an object, one after the other."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.schema.types import Body


class How(Enum):
    PUT = auto()
    JSON = auto()
    MERGE = auto()
    STRATEGIC = auto()
    APPLY = auto()


@dataclass(frozen=True, slots=True)
class Step:
    how: How
    what: Any
    manager: str = "tester"
    part: str = ""
    force: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    title: str
    kind: Kind
    start: Body | None
    """What is created first, if anything."""
    steps: list[Step] = field(default_factory=list)

    @property
    def name(self) -> str:
        return "".join(letter if letter.isalnum() else "-" for letter in self.title.lower())[:60].strip("-")


def put(change: Body, manager: str = "tester", part: str = "") -> Step:
    return Step(How.PUT, change, manager, part)


def json(*operations: Body, manager: str = "tester") -> Step:
    return Step(How.JSON, list(operations), manager)


def merge(patch: Any, manager: str = "tester", part: str = "") -> Step:
    return Step(How.MERGE, patch, manager, part)


def strategic(patch: Any, manager: str = "tester", part: str = "") -> Step:
    return Step(How.STRATEGIC, patch, manager, part)


def apply(what: Any, manager: str = "a", *, force: bool = False, part: str = "") -> Step:
    return Step(How.APPLY, what, manager, part, force)


def op(name: str, path: str, *value: Any, **rest: Any) -> Body:
    return {"op": name, "path": path, **rest, **({"value": value[0]} if value else {})}
