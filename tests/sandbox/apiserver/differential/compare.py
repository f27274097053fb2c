"""Where two answers differ, and whether it is known that they do."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from tests.sandbox.apiserver.differential.play import Answer

KNOWN = Path(__file__).parent / "differences.yaml"
SHOWN = 300


@dataclass(frozen=True, slots=True)
class Difference:
    place: str
    """The story, and the number of the request in it."""
    asked: str
    path: str
    """Into the answer: `status`, `body.metadata.labels.a`, `body.items[0]`."""
    real: str
    ours: str

    def __str__(self) -> str:
        return f"{self.place}: {self.asked}\n  {self.path}\n    real {self.real}\n    ours {self.ours}"


@dataclass(frozen=True, slots=True)
class Known:
    """A difference that is all right. `where` and `path` are patterns, as file names have them."""

    where: str
    path: str
    why: str

    def covers(self, difference: Difference) -> bool:
        return fnmatchcase(difference.place, self.where) and fnmatchcase(difference.path, self.path)


def known_differences() -> list[Known]:
    return [Known(**entry) for entry in yaml.safe_load(KNOWN.read_text()) or ()]


def differences(real: list[Answer], ours: list[Answer]) -> Iterator[Difference]:
    for one, other in zip(real, ours, strict=True):
        if one.said.get("status") != other.said.get("status"):
            yield Difference(one.place, one.asked, "status", outcome(one), outcome(other))
            continue
        if kind_of(one) != kind_of(other):
            yield Difference(one.place, one.asked, "body", kind_of(one), kind_of(other))
            continue
        for path, left, right in unequal(one.said, other.said, ""):
            yield Difference(one.place, one.asked, path.lstrip("."), shown(left), shown(right))


def kind_of(answer: Answer) -> str:
    body = answer.said.get("body")
    return str(body.get("kind")) if isinstance(body, dict) else type(body).__name__


def outcome(answer: Answer) -> str:
    """Enough, where not even the status is the same."""
    body = answer.said.get("body")
    why = body.get("message", "") if isinstance(body, dict) else ""
    return f"{answer.said.get('status', answer.said)} {why}"


ABSENT = object()


def unequal(left: Any, right: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(left, dict) and isinstance(right, dict):
        for key in [*left, *(key for key in right if key not in left)]:
            yield from unequal(left.get(key, ABSENT), right.get(key, ABSENT), f"{path}.{key}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            yield from unequal(one, other, f"{path}[{index}]")
    elif left != right:
        yield path, left, right


def shown(value: Any) -> str:
    if value is ABSENT:
        return "(absent)"
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
