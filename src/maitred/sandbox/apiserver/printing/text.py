"""How the API server writes times, labels and selectors in tables."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from maitred.sandbox.apiserver.schema.types import Body

UNKNOWN = "<unknown>"
NONE = "<none>"
UNSET = "<unset>"

MINUTE, HOUR, DAY, YEAR = 60, 3600, 86_400, 365 * 86_400


def duration(seconds: float) -> str:
    """With two or three digits that matter. A clock may be wrong by a second before it is called so."""
    whole = int(seconds)
    if whole < -1:
        return "<invalid>"
    if whole < 2 * MINUTE:
        return f"{max(whole, 0)}s"
    if whole < 10 * MINUTE:
        return _two(whole, MINUTE, "m", 1, "s")
    if whole < 3 * HOUR:
        return f"{whole // MINUTE}m"
    if whole < 8 * HOUR:
        return _two(whole, HOUR, "h", MINUTE, "m")
    if whole < 2 * DAY:
        return f"{whole // HOUR}h"
    if whole < 8 * DAY:
        return _two(whole, DAY, "d", HOUR, "h")
    if whole < 2 * YEAR:
        return f"{whole // DAY}d"
    if whole < 8 * YEAR:
        return _two(whole, YEAR, "y", DAY, "d")
    return f"{whole // YEAR}y"


def _two(seconds: int, unit: int, name: str, smaller: int, smaller_name: str) -> str:
    rest = seconds % unit // smaller
    return f"{seconds // unit}{name}{rest}{smaller_name}" if rest else f"{seconds // unit}{name}"


def between(start: str, end: datetime) -> str:
    return duration((end - datetime.fromisoformat(start)).total_seconds())


def since(timestamp: str | None, now: datetime) -> str:
    return between(timestamp, now) if timestamp else UNKNOWN


def name_of(body: Body) -> str:
    return str(body["metadata"].get("name", ""))


def spec_of(body: Body) -> Body:
    """Empty for an object that a bookmark stands for, of which there is nothing but a version."""
    spec: Body = body.get("spec", {})
    return spec


def status_of(body: Body) -> Body:
    status: Body = body.get("status", {})
    return status


def age(body: Body, now: datetime) -> str:
    return since(body["metadata"].get("creationTimestamp"), now)


def labels(chosen: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(chosen.items())) if chosen else NONE


def selector(chosen: Body | None) -> str:
    """A label selector in one line, ordered by key."""
    chosen = chosen or {}
    lines = [(key, f"{key}={value}") for key, value in chosen.get("matchLabels", {}).items()]
    lines += [(each["key"], _requirement(each)) for each in chosen.get("matchExpressions", ())]
    return ",".join(line for _, line in sorted(lines, key=lambda line: line[0])) or NONE


def _requirement(expression: Body) -> str:
    key, operator = expression["key"], expression["operator"]
    if operator == "Exists":
        return str(key)
    if operator == "DoesNotExist":
        return f"!{key}"
    return f"{key} {operator.lower()} ({','.join(sorted(expression.get('values', ())))})"


def container_names(template: Body) -> tuple[str, str]:
    """The containers of a pod template, and their images."""
    containers: Sequence[Any] = spec_of(template).get("containers", ())
    return ",".join(c["name"] for c in containers), ",".join(c.get("image", "") for c in containers)


def conditions(body: Body) -> dict[str, str]:
    """By type: True, False or Unknown."""
    found = status_of(body).get("conditions") or ()
    return {condition["type"]: condition["status"] for condition in found}
