"""PriorityClass: how much rank a name stands for."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

SYSTEM_PREFIX = "system-"
HIGHEST_OF_USERS = 1_000_000_000
PREEMPT = "PreemptLowerPriority"


def system_class(name: str, value: int, description: str) -> Body:
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": description,
        "preemptionPolicy": "PreemptLowerPriority",
    }


SYSTEM_CLASSES = (
    system_class(
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    system_class(
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, "
        "but can be moved to another node if necessary.",
    ),
)
"""What the server has from the start. Not to be changed: copy them."""
SYSTEM_VALUES = {body["metadata"]["name"]: body["value"] for body in SYSTEM_CLASSES}


class PriorityClassStrategy(Strategy):
    def before_create(self, body: Body) -> None:
        body["metadata"]["generation"] = 1  # for good: nothing counts further

    def check(self, body: Body) -> list[FieldError]:
        return list(check_rank(body))

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        changed = new.get("value", 0) != old.get("value", 0)
        return [forbidden("value", "may not be changed in an update.")] if changed else []


def check_rank(body: Body) -> Iterator[FieldError]:
    name = body["metadata"].get("name", "")
    if name.startswith(SYSTEM_PREFIX):
        if problem := system_problem(body, name):
            reserved = f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only"
            yield forbidden("metadata.name", f"{reserved}. error: {problem}")
    elif body.get("value", 0) > HIGHEST_OF_USERS:
        why = f"maximum allowed value of a user defined priority is {HIGHEST_OF_USERS}"
        yield forbidden("value", why)


def system_problem(body: Body, name: str) -> str:
    if name not in SYSTEM_VALUES:
        return f"{name} is not a known system priority class"
    if body.get("value", 0) != SYSTEM_VALUES[name]:
        return f"value of {name} PriorityClass must be {SYSTEM_VALUES[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if body.get("globalDefault") else ""


PRIORITY_CLASSES = PriorityClassStrategy()
