"""How the API server writes times, labels and selectors in tables."""

from collections.abc import Mapping
from datetime import datetime

from maitred.sandbox.apiserver.schema.types import Body

UNKNOWN = "<unknown>"
NONE = "<none>"

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


def age(body: Body, now: datetime) -> str:
    return since(body["metadata"].get("creationTimestamp"), now)


def labels(chosen: Mapping[str, str] | None) -> str:
    return ",".join(f"{key}={value}" for key, value in sorted(chosen.items())) if chosen else NONE


def conditions(body: Body) -> dict[str, str]:
    """By type: True, False or Unknown."""
    found = body.get("status", {}).get("conditions") or ()
    return {condition["type"]: condition["status"] for condition in found}
