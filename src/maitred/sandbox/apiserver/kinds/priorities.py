"""PriorityClass: how much rank a name stands for."""

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

SYSTEM_PREFIX = "system-"
HIGHEST_OF_USERS = 1_000_000_000
PREEMPT = "PreemptLowerPriority"
SYSTEM = {
    "system-node-critical": (
        2_000_001_000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
    "system-cluster-critical": (
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, "
        "but can be moved to another node if necessary.",
    ),
}
SYSTEM_CLASSES: tuple[Body, ...] = tuple(
    {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name},
        "value": value,
        "description": description,
        "preemptionPolicy": PREEMPT,
    }
    for name, (value, description) in SYSTEM.items()
)
"""What the server has from the start. Not to be changed: copy them."""


class PriorityClassStrategy(Strategy):
    def before_create(self, body: Body) -> None:
        body["metadata"]["generation"] = 1  # for good: nothing counts further

    def check(self, body: Body) -> list[FieldError]:
        name, value = body["metadata"].get("name", ""), body.get("value", 0)
        if name.startswith(SYSTEM_PREFIX):
            if name in SYSTEM and value == SYSTEM[name][0]:
                return []
            why = f"priority class names with '{SYSTEM_PREFIX}' prefix are reserved for system use only"
            return [forbidden("metadata.name", why)]
        if value > HIGHEST_OF_USERS:
            why = f"maximum allowed value of a user defined priority is {HIGHEST_OF_USERS}"
            return [forbidden("value", why)]
        return []

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        return []


PRIORITY_CLASSES = PriorityClassStrategy()
