"""PodDisruptionBudgets: how many of some pods may go, and how many more than that would."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from .fields import Doc
from .pods import Pod
from .selectors import Selector, label_selector, matches


@dataclass(frozen=True, eq=False)
class Budget:
    """`allowed` is what its status says, None where it says nothing and its spec must do."""

    key: str
    selector: Selector | None
    allowed: int | None
    going: frozenset[str]
    least: int | str | None
    most: int | str | None

    def speaks_of(self, pod: Pod) -> bool:
        return self.key.startswith(f"{pod.namespace}/") and matches(self.selector, pod.labels)

    def counts(self, pod: Pod) -> bool:
        """Pods whose eviction was granted already are in its status, and those that go anyway are not up."""
        return self.speaks_of(pod) and pod.name not in self.going and not pod.deleting


def read_budget(key: str, doc: Doc) -> Budget:
    spec, status = doc.doc("spec"), doc.doc("status")
    return Budget(
        key=key,
        selector=label_selector(spec, "selector"),
        allowed=status.integer("disruptionsAllowed") if status.given("disruptionsAllowed") else None,
        going=frozenset(status.doc("disruptedPods").raw),
        least=_share(spec, "minAvailable"),
        most=_share(spec, "maxUnavailable"),
    )


def _share(spec: Doc, field: str) -> int | str | None:
    value: Any = spec.raw.get(field)
    percent = isinstance(value, str) and value.endswith("%") and value[:-1].isdecimal()
    if value is not None and not percent and (isinstance(value, bool) or not isinstance(value, int)):
        raise spec.error(field, "must be a whole number or a percentage")
    return value if percent or value is None else int(value)


def allowance(budget: Budget, pods: Collection[Pod]) -> int:
    """How many may be disrupted now, given all the pods there are."""
    if budget.allowed is not None:
        return max(0, budget.allowed)
    here = sum(pod.running and budget.speaks_of(pod) for pod in pods)
    if budget.most is not None:
        return min(here, _amount(budget.most, here))
    return max(0, here - _amount(budget.least or 0, here))


def _amount(share: int | str, pods: int) -> int:
    return share if isinstance(share, int) else -(int(share[:-1]) * -pods // 100)
