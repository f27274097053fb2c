"""Priority classes: the rank of a pod, resolved as the API server's admission would."""

from collections.abc import Mapping
from typing import Literal

from maitred.model.meta import Lean, ObjectMeta
from maitred.model.objects import Object


class PriorityClass(Object, frozen=True):
    value: int = 0
    global_default: bool = False
    preemption_policy: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"


BUILT_IN = {
    name: PriorityClass(ObjectMeta(name=name), value)
    for name, value in (("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000))
}


class Rank(Lean, frozen=True):
    priority: int
    preemption_policy: str = "PreemptLowerPriority"


def rank_of(
    priority: int | None, class_name: str, preemption_policy: str, classes: Mapping[str, PriorityClass]
) -> Rank | None:
    """The rank that these fields mean; None when they name a class that does not exist."""
    if priority is not None and preemption_policy:
        return Rank(priority, preemption_policy)  # as admission leaves pods: nothing else is looked at
    named = classes.get(class_name) or BUILT_IN.get(class_name)
    if class_name and named is None and priority is None:
        return None
    if not class_name:
        named = default_class(classes)
    value = priority if priority is not None else named.value if named else 0
    policy = preemption_policy or (named.preemption_policy if named else "PreemptLowerPriority")
    return Rank(value, policy)


def default_class(classes: Mapping[str, PriorityClass]) -> PriorityClass | None:
    """The global default; the lowest, as admission chooses, should there be several."""
    defaults = [c for c in classes.values() if c.global_default]
    return min(defaults, key=lambda c: (c.value, c.metadata.name)) if defaults else None
