"""Reading a Plan in tests: who sits where, and what a group was told.

Pods and groups of the namespace ``default`` are called by their bare names.
"""

from typing import Any

from tests.oracle.builders import Obj


def full(name: str) -> str:
    return name if "/" in name else f"default/{name}"


def seats(plan: Obj, group: str | None = None) -> dict[str, str]:
    """Pod -> node, of everybody or of one group."""
    return {
        bind["pod"].removeprefix("default/"): bind["node"]
        for bind in plan["binds"]
        if group is None or bind["group"] == full(group)
    }


def seated(plan: Obj, group: str | None = None) -> list[str]:
    """The pods that were given a node, in the order of names."""
    return sorted(seats(plan, group))


def nodes_used(plan: Obj, group: str | None = None) -> set[str]:
    return set(seats(plan, group).values())


def entry(plan: Obj, group: str = "g") -> Obj:
    """What the Plan says of one group."""
    [found] = [told for told in plan["groups"] if told["group"] == full(group)]
    told: Obj = found
    return told


def verdict(plan: Obj, group: str = "g") -> str:
    return str(entry(plan, group)["verdict"])


def categories(plan: Obj, group: str = "g") -> list[str]:
    return [blocker["category"] for blocker in entry(plan, group)["blockers"]]


def first(plan: Obj, group: str = "g") -> str | None:
    """The category of the first blocker."""
    return next(iter(categories(plan, group)), None)


def detail(plan: Obj, category: str, group: str = "g") -> Obj:
    [found] = [b for b in entry(plan, group)["blockers"] if b["category"] == category]
    told: Obj = found["detail"]
    return told


def has(whole: Obj, **part: Any) -> bool:
    """Whether a detail says these things, whatever else it says."""
    return {name: whole.get(name) for name in part} == part
