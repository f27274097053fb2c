"""How many pods of each PodDisruptionBudget may be evicted now. The server judges evictions by it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import msgspec

from maitred.kube.resources import PODS
from maitred.kube.wire import Condition
from maitred.model.meta import Timestamp
from maitred.model.selector import matches, selector_of
from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.cache import Index, ObjectCache, key_of
from maitred.sandbox.housekeeping.objects import BUDGETS, BudgetStatus, DisruptionBudget, Json, Pod
from maitred.sandbox.housekeeping.work import WorkQueue

DISRUPTION_ALLOWED = "DisruptionAllowed"
EVICTION_SECONDS = 120.0
"""For a pod whose eviction was granted to be deleted; after that nobody expects it any more."""
BATCH_SECONDS = 0.05


class UnknownScale(Exception):
    """How many pods a controller wants cannot be told."""


class Disruptions:
    def __init__(self, stock: ObjectCache, api: ControllerApi) -> None:
        self._api = api
        self._budgets = stock.shelf(BUDGETS, DisruptionBudget)
        pods = stock.shelf(PODS, Pod)
        self._pods_in = Index(pods, lambda pod: pod.metadata.namespace)
        self._budgets_in = Index(self._budgets, lambda budget: budget.metadata.namespace)
        self._queue = WorkQueue("poddisruptionbudget", self._sync)
        self._budgets.listen(self._budget_told)
        pods.listen(self._pod_told)

    async def run(self) -> None:
        await self._queue.run()

    def _budget_told(self, old: DisruptionBudget | None, new: DisruptionBudget | None) -> None:
        if new is not None:
            self._queue.add(key_of(new.metadata))

    def _pod_told(self, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        assert pod is not None
        for budget in self._budgets_in[pod.metadata.namespace]:
            if covers(budget, pod) or (old is not None and covers(budget, old)):
                self._queue.add_after(key_of(budget.metadata), BATCH_SECONDS)

    async def _sync(self, key: str) -> None:
        budget = self._budgets.items.get(key)
        if budget is None:
            return
        pods = [pod for pod in self._pods_in[budget.metadata.namespace] if covers(budget, pod)]
        now = datetime.now(UTC)
        try:
            scale = scale_of(pods) if needs_scale(budget) else len(pods)
            status = status_of(budget, pods, scale, now)
        except UnknownScale as problem:
            status = failed(budget, str(problem), now)
        if status != budget.status:
            body: Json = {"status": msgspec.to_builtins(status)}
            forgotten = dict.fromkeys(budget.status.disrupted_pods)
            body["status"]["disruptedPods"] = forgotten | body["status"]["disruptedPods"]
            self._budgets.learn(
                await self._api.merge(BUDGETS, budget.metadata, body, DisruptionBudget, "status")
            )
        if status.disrupted_pods:
            first = min(status.disrupted_pods.values()) + timedelta(seconds=EVICTION_SECONDS)
            self._queue.add_after(key, (first - now).total_seconds())


def scale_of(pods: Sequence[Pod]) -> int:
    """The pods that their controllers want. No kind that makes pods here says so, and pods without a
    controller are nobody's wish."""
    owners = [owner for pod in pods if (owner := pod.metadata.controller) is not None]
    if owners:
        resource = f"{owners[0].kind.lower()}s.{owners[0].api_version.rpartition('/')[0]}"
        raise UnknownScale(f"{resource} does not implement the scale subresource")
    return 0


def covers(budget: DisruptionBudget, pod: Pod) -> bool:
    """Finished pods, too: Kubernetes expects them as well."""
    return matches(selector_of(budget.spec.selector), pod.metadata.labels)


def needs_scale(budget: DisruptionBudget) -> bool:
    return budget.spec.max_unavailable is not None or isinstance(budget.spec.min_available, str)


def status_of(budget: DisruptionBudget, pods: Sequence[Pod], scale: int, now: datetime) -> BudgetStatus:
    spec = budget.spec
    desired = 0
    if spec.max_unavailable is not None:
        desired = max(0, scale - scaled(spec.max_unavailable, scale))
    elif spec.min_available is not None:
        desired = scaled(spec.min_available, scale)
    expected = still_expected(budget, pods, now)
    staying = [pod for pod in pods if pod.metadata.deletion_timestamp is None]
    healthy = sum(pod.is_ready and pod.metadata.name not in expected for pod in staying)
    allowed = max(0, healthy - desired) if scale > 0 else 0
    reason = "SufficientPods" if allowed else "InsufficientPods"
    return BudgetStatus(
        observed_generation=budget.metadata.generation,
        disrupted_pods=dict(expected),
        disruptions_allowed=allowed,
        current_healthy=healthy,
        desired_healthy=desired,
        expected_pods=scale,
        conditions=told(budget, bool(allowed), reason, "", now),
    )


def failed(budget: DisruptionBudget, problem: str, now: datetime) -> BudgetStatus:
    """Where nothing can be told, nothing is allowed."""
    conditions = told(budget, False, "SyncFailed", problem, now)
    return msgspec.structs.replace(budget.status, disruptions_allowed=0, conditions=conditions)


def still_expected(budget: DisruptionBudget, pods: Sequence[Pod], now: datetime) -> Mapping[str, Timestamp]:
    """Pods whose eviction was granted and that do not yet end."""
    latest = now - timedelta(seconds=EVICTION_SECONDS)
    names = {pod.metadata.name for pod in pods if pod.metadata.deletion_timestamp is None}
    granted = budget.status.disrupted_pods.items()
    return {name: at for name, at in granted if name in names and at >= latest}


def scaled(value: int | str, of: int) -> int:
    """A number, or a percentage rounded up."""
    return value if isinstance(value, int) else -(-int(value.rstrip("%")) * of // 100)


def told(
    budget: DisruptionBudget, allowed: bool, reason: str, message: str, now: datetime
) -> tuple[Condition, ...]:
    status = "True" if allowed else "False"
    known = next((c for c in budget.status.conditions if c.type == DISRUPTION_ALLOWED), None)
    changed = known is None or known.status != status
    since = now.replace(microsecond=0) if changed or known is None else known.last_transition_time
    new = Condition(DISRUPTION_ALLOWED, status, reason, message, since, budget.metadata.generation)
    others = tuple(c for c in budget.status.conditions if c.type != DISRUPTION_ALLOWED)
    return (*others, new)
