"""What comes true: a small cluster that is decided again and again, until everybody has started.

Pods end when they say that they do, and nobody else comes. What a cycle wants remembered of holds is there
in the next one.
"""

from copy import deepcopy
from datetime import datetime, timedelta

from maitred.model.duration import milliseconds
from maitred.model.runtime import EXPECTED_RUNTIME
from tests.decide.holding import remembered
from tests.support import NOON, Obj, decide

ROUNDS = 40


def starts(objects: list[Obj], policy: Obj) -> dict[str, float]:
    """By group: in how many hours from noon it starts."""
    world, found = deepcopy(objects), dict[str, float]()
    noon = now = datetime.fromisoformat(NOON)
    for _ in range(ROUNDS):
        plan = decide(world, policy, now.isoformat().replace("+00:00", "Z"))
        groups = {bind["pod"]: bind["group"] for bind in plan["binds"]}
        for bind in plan["binds"]:
            found[groups[bind["pod"]]] = (now - noon).total_seconds() / 3600
            seat(world, bind["pod"], bind["node"], now)
        if plan["planned"] is not None:
            world = [one for one in world if one["metadata"]["name"] != "maitred-holds"]
            world.append(remembered(plan["planned"]))
        if plan["binds"] or plan["planned"] is not None:
            continue
        ends = [end_of(one) for one in world if one["kind"] == "Pod" and "nodeName" in one["spec"]]
        known = [*(end for end in ends if end is not None), *woken(plan)]
        later = [one for one in known if one > now]
        if not later:
            return found
        now = min(later)
        world = [one for one in world if not is_over(one, now)]
    return found


def woken(plan: Obj) -> list[datetime]:
    return [] if plan["wakeAt"] is None else [datetime.fromisoformat(plan["wakeAt"])]


def seat(world: list[Obj], key: str, node: str, now: datetime) -> None:
    (pod,) = (
        one
        for one in world
        if one["kind"] == "Pod" and f"{one['metadata']['namespace']}/{one['metadata']['name']}" == key
    )
    pod["spec"]["nodeName"] = node
    pod["status"] = {"phase": "Running", "startTime": now.isoformat().replace("+00:00", "Z")}


def end_of(pod: Obj) -> datetime | None:
    began = datetime.fromisoformat(pod["status"].get("startTime", NOON))
    said = milliseconds(pod["metadata"].get("annotations", {}).get(EXPECTED_RUNTIME, "none"))
    spans = [pod["spec"].get("activeDeadlineSeconds"), None if said is None else said / 1000]
    known = [span for span in spans if span is not None]
    return began + timedelta(seconds=min(known)) if known else None


def is_over(one: Obj, now: datetime) -> bool:
    if one["kind"] != "Pod" or "nodeName" not in one["spec"]:
        return False
    end = end_of(one)
    return end is not None and end <= now
