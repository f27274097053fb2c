"""Simple JSONPaths, as columns of tables have them."""

import json
import re
from collections.abc import Iterable
from typing import Any

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
