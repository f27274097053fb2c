"""What a pod as a whole gets where only its containers say it, if it has resources of its own at all."""

from maitred.sandbox.apiserver.kinds.amounts import largest
from maitred.sandbox.apiserver.kinds.resources import (
    HUGE_PAGES,
    is_of_pods,
    is_overcommitted,
    sum_of_containers,
)
from maitred.sandbox.apiserver.schema.types import Body


def set_pod_resources(spec: Body) -> None:
    own = spec.get("resources", {})
    if not own.get("requests") and not own.get("limits"):
        return
    limits, requests = own.get("limits", {}), own.get("requests", {})
    _limit_pages(spec, requests, limits)
    _request(spec, requests, limits)
    _limit(spec, requests, limits)
    own.update((name, amounts) for name, amounts in (("requests", requests), ("limits", limits)) if amounts)


def _limit_pages(spec: Body, requests: dict[str, str], limits: dict[str, str]) -> None:
    for name, amount in sum_of_containers(spec, "limits").items():
        if name.startswith(HUGE_PAGES) and name not in requests:
            limits.setdefault(name, amount)


def _request(spec: Body, requests: dict[str, str], limits: dict[str, str]) -> None:
    for name, amount in sum_of_containers(spec, "requests").items():
        if is_of_pods(name) and is_overcommitted(name):
            requests.setdefault(name, amount)
    for name, amount in limits.items():
        if is_of_pods(name):
            requests.setdefault(name, amount)


def _limit(spec: Body, requests: dict[str, str], limits: dict[str, str]) -> None:
    """Only what all containers limit; never less than what the pod requests."""
    containers = [*spec.get("initContainers", ()), *spec.get("containers", ())]
    limited = [container.get("resources", {}).get("limits", {}) for container in containers]
    sums = sum_of_containers(spec, "limits")
    for name, amount in sums.items():
        open_ended = name in requests and name not in limits and is_of_pods(name)
        if open_ended and all(name in each for each in limited):
            limits[name] = largest(amount, requests[name])
