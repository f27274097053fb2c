"""YAML to plain values, straight from the parser's events, within bounds.

Scalars mean what kubectl takes them for; timestamps stay strings. An alias is counted at the size of what it
stands for, so that a small file cannot unfold into a huge one.
"""

import math
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import yaml

DEEPEST = 100
MOST_ALIASED = 1_000_000

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MERGE = object()
_NO_KEY = object()
_TAGS = "tag:yaml.org,2002:"
_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("yes", "Yes", "YES", "on", "On", "ON", "true", "True", "TRUE"), True),
    **dict.fromkeys(("no", "No", "NO", "off", "Off", "OFF", "false", "False", "FALSE"), False),
}
_INT = re.compile(r"([-+]?)(?:0b([01]+)|0x([0-9a-fA-F]+)|0o?([0-7]+)|(0|[1-9][0-9]*))", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_SPECIAL = {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, ".nan": math.nan}
_LONGEST_WORD = 64


class YamlError(Exception):
    """Not YAML, or not YAML that can stand for JSON. Lines count from 1."""


class Frame:
    """A mapping or a list that is being built."""

    __slots__ = ("anchor", "before", "key", "merged", "value")

    def __init__(self, event: Any, value: dict[str, Any] | list[Any], before: int) -> None:
        self.value, self.anchor, self.before = value, event.anchor, before
        self.key: Any = _NO_KEY
        self.merged: list[dict[str, Any]] = []

    def put(self, value: Any, event: Any) -> None:
        if isinstance(self.value, list):
            self.value.append(value)
        elif self.key is _NO_KEY:
            self.key = key_of(value, event)
            if self.key in self.value:
                raise YamlError(f"line {line(event)}: the key {self.key} is there twice")
        elif self.key is _MERGE:
            self.merged += mappings(value, event)
            self.key = _NO_KEY
        else:
            self.value[self.key] = value
            self.key = _NO_KEY

    def finished(self) -> dict[str, Any] | list[Any]:
        for source in self.merged:
            for key, value in source.items():
                self.value.setdefault(key, value)  # type: ignore[union-attr]
        return self.value


def values(data: bytes) -> Iterator[Any]:
    """The value of each document."""
    try:
        yield from build(yaml.parse(data, Loader=LOADER))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise YamlError(f"{place}not valid YAML: {error.problem or error.context}") from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise YamlError(f"not valid YAML: {getattr(error, 'reason', '') or error}") from None


def build(events: Iterable[Any]) -> Iterator[Any]:
    root: Any = None
    stack: list[Frame] = []
    anchors: dict[str, tuple[Any, int]] = {}
    size = aliased = 0
    for event in events:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            value, anchor, before = scalar(event), event.anchor, size
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            stack.append(Frame(event, container(event), size))
            if len(stack) > DEEPEST:
                raise YamlError(f"line {line(event)}: nested more than {DEEPEST} deep")
            continue
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            frame = stack.pop()
            value, anchor, before = frame.finished(), frame.anchor, frame.before
        elif kind is yaml.AliasEvent:
            value, extent = anchored(anchors, event)
            anchor, before, aliased, size = None, size, aliased + extent, size + extent
            if aliased > MOST_ALIASED:
                raise YamlError(f"line {line(event)}: its aliases expand to too much text")
        else:
            if kind is yaml.DocumentEndEvent:
                yield root
                root, anchors = None, {}
            continue
        size += 1
        if anchor:
            anchors[anchor] = value, size - before
        if stack:
            stack[-1].put(value, event)
        else:
            root = value


def line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def container(event: Any) -> dict[str, Any] | list[Any]:
    mapping = isinstance(event, yaml.MappingStartEvent)
    if event.tag not in (None, "!", f"{_TAGS}{'map' if mapping else 'seq'}"):
        raise YamlError(f"line {line(event)}: the tag {event.tag} is not supported")
    return {} if mapping else []


def anchored(anchors: dict[str, tuple[Any, int]], event: Any) -> tuple[Any, int]:
    if event.anchor not in anchors:
        raise YamlError(
            f"line {line(event)}: the alias *{event.anchor} refers to an anchor that does not exist"
        )
    return anchors[event.anchor]


def key_of(value: Any, event: Any) -> Any:
    """Keys are strings in JSON; YAML's numbers and booleans become what they read as."""
    if isinstance(event, yaml.ScalarEvent):
        if event.value == "<<" and event.implicit[0]:
            return _MERGE
        return event.value if not isinstance(value, bool) else str(value).lower()
    if not isinstance(value, str):
        raise YamlError(f"line {line(event)}: a key must be a string")
    return value


def mappings(value: Any, event: Any) -> list[dict[str, Any]]:
    found = value if isinstance(value, list) else [value]
    if not all(isinstance(item, dict) for item in found):
        raise YamlError(f"line {line(event)}: << merges mappings only")
    return found


def scalar(event: Any) -> Any:
    text = event.value
    if event.implicit[0]:
        return resolved(text) if len(text) <= _LONGEST_WORD else text
    tag = event.tag
    if tag is None or tag in ("!", f"{_TAGS}str"):
        return text
    if tag in (f"{_TAGS}null", f"{_TAGS}bool", f"{_TAGS}int", f"{_TAGS}float"):
        return resolved(text[:_LONGEST_WORD])
    raise YamlError(f"line {line(event)}: the tag {tag} is not supported")


@lru_cache(maxsize=65536)
def resolved(text: str) -> str | int | float | bool | None:
    """What a plain scalar stands for."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return text
    digits = text.replace("_", "")
    if match := _INT.fullmatch(digits):
        sign, *bases = match.groups()
        number = next(int(part, base) for part, base in zip(bases, (2, 16, 8, 10), strict=True) if part)
        return -number if sign == "-" else number
    if _FLOAT.fullmatch(digits):
        return float(digits)
    return _SPECIAL.get(text.lower(), text)
