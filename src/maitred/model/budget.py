"""PodDisruptionBudgets: how many of some pods may be disrupted now."""

from maitred.model.meta import Lean, Timestamp
from maitred.model.objects import Object
from maitred.model.selector import LabelSelector


class BudgetSpec(Lean, frozen=True):
    selector: LabelSelector | None = None
    min_available: int | str | None = None
    max_unavailable: int | str | None = None


class BudgetStatus(Lean, frozen=True):
    disruptions_allowed: int | None = None
    disrupted_pods: dict[str, Timestamp | None] = {}
    """Pods whose eviction was granted and that are still there: they are counted already."""


class PodDisruptionBudget(Object, frozen=True):
    spec: BudgetSpec = BudgetSpec()
    status: BudgetStatus = BudgetStatus()
    """Without a number until the disruption controller has looked, as in a file that someone wrote."""


def allowed(budget: PodDisruptionBudget, pods: int) -> int:
    """How many more may be disrupted, given how many pods it speaks of."""
    if budget.status.disruptions_allowed is not None:
        return max(0, budget.status.disruptions_allowed)
    if budget.spec.max_unavailable is not None:
        return min(pods, _share(budget.spec.max_unavailable, pods))
    least = _share(budget.spec.min_available, pods) if budget.spec.min_available is not None else 0
    return max(0, pods - least)


def _share(amount: int | str, pods: int) -> int:
    """A number, or a percentage of the pods, rounded up."""
    if isinstance(amount, int):
        return amount
    return -(-int(amount.removesuffix("%")) * pods // 100)
