"""Clusters of two parties: the first group is ours, and all others are strangers, whose names are secret."""

import re
from typing import Any

from tests.oracle.builders import Obj, namespace

SECRET = "secret"
"""In every name of a stranger, and nowhere else."""
OURS = ("default", "other")

_STRANGER = re.compile(r"(.*[-/])?(g[1-9]|old)(-.*)?")


def with_strangers(objects: list[Obj]) -> list[Obj]:
    """The same cluster, with all but the group `g0` in namespaces of their own."""
    hidden = [moved(hide(item)) for item in objects]
    return [*hidden, *(namespace(f"{SECRET}-{name}", {"team": f"{SECRET}-{name}"}) for name in OURS)]


def hide(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: hide(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [hide(inner) for inner in value]
    return f"{SECRET}-{value}" if isinstance(value, str) and _STRANGER.fullmatch(value) else value


def moved(item: Obj) -> Obj:
    meta, claim = item["metadata"], item.get("spec", {}).get("claimRef")
    for place in (meta, claim) if claim else (meta,):
        if item["kind"] != "PersistentVolume" or place is claim:
            move(place)
    for term in terms(item):
        if "namespaces" in term:
            term["namespaces"] = [*term["namespaces"], f"{SECRET}-other"]
    return item


def move(place: Obj) -> None:
    if place["name"].startswith(SECRET):
        place["namespace"] = f"{SECRET}-{place.get('namespace', 'default')}"


def terms(value: Any) -> list[Obj]:
    """Every term of an affinity between pods."""
    if isinstance(value, list):
        return [found for inner in value for found in terms(inner)]
    if not isinstance(value, dict):
        return []
    inside = [found for inner in value.values() for found in terms(inner)]
    return [value, *inside] if "topologyKey" in value else inside
