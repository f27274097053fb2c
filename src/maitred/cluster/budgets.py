"""Which disruption budgets speak of which pods, kept as one number per pod."""

from maitred.model.budget import PodDisruptionBudget
from maitred.model.meta import key_of
from maitred.model.selector import Labels, Selector, matches, selector_of

NO_BUDGETS = 0


class BudgetTable:
    """A pod is numbered when it takes its place; those of a namespace whose budgets changed, once more."""

    def __init__(self) -> None:
        self._budgets: dict[str, PodDisruptionBudget] = {}
        self._selectors: dict[str, dict[str, Selector | None]] = {}
        """Namespace -> budget -> which pods it speaks of."""
        self._sets: dict[tuple[str, ...], int] = {(): NO_BUDGETS}
        self.stale: set[str] = set()
        """Namespaces whose pods must be numbered anew."""

    def put(self, budget: PodDisruptionBudget) -> None:
        key, namespace = key_of(budget.metadata), budget.metadata.namespace or "default"
        self._budgets[key] = budget
        known, selector = self._selectors.setdefault(namespace, {}), selector_of(budget.spec.selector)
        if key not in known or known[key] != selector:
            known[key] = selector
            self.stale.add(namespace)

    def delete(self, key: str) -> None:
        if self._budgets.pop(key, None) is not None:
            namespace = key.partition("/")[0]
            del self._selectors[namespace][key]
            self.stale.add(namespace)

    def number(self, namespace: str, labels: Labels) -> int:
        selectors = self._selectors.get(namespace)
        if not selectors:
            return NO_BUDGETS
        found = tuple(sorted(key for key, selector in selectors.items() if matches(selector, labels)))
        return self._sets.setdefault(found, len(self._sets))

    def view(self) -> tuple[tuple[PodDisruptionBudget, ...], tuple[tuple[int, ...], ...]]:
        """All budgets, and each set by its number. Sets of budgets that are gone have no users."""
        keys = sorted(self._budgets)
        places = {key: place for place, key in enumerate(keys)}
        sets = tuple(tuple(places[key] for key in each if key in places) for each in self._sets)
        return tuple(self._budgets[key] for key in keys), sets
