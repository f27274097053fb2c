"""What containers and pods request: the rules for it, how it is added up, and what follows from it."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from maitred.sandbox.apiserver.kinds.fielderrors import (
    NOT_NEGATIVE,
    FieldError,
    FieldFault,
    forbidden,
    invalid,
    required,
    unsupported,
)
from maitred.sandbox.apiserver.kinds.names import check_name, label_key
from maitred.sandbox.apiserver.schema.quantities import canonical, nano
from maitred.sandbox.apiserver.schema.types import Body

UNIT = 10**9
"""Quantities are counted in billionths."""
KIBI = 1024 * UNIT
HUGE_PAGES = "hugepages-"
QOS_RESOURCES = ("cpu", "memory")
OF_CONTAINERS = (*QOS_RESOURCES, "ephemeral-storage")
OF_PODS = ("cpu", HUGE_PAGES, "memory")
"""Resources that the pod as a whole can have; all huge pages count as one."""
BEST_EFFORT, BURSTABLE, GUARANTEED = "BestEffort", "Burstable", "Guaranteed"


def is_extended(name: str) -> bool:
    """Whether it is counted in whole units, never given to more than one, and named by its vendor."""
    return "/" in name and "kubernetes.io/" not in name


def is_overcommitted(name: str) -> bool:
    return not is_extended(name) and not name.startswith(HUGE_PAGES)


def is_of_pods(name: str) -> bool:
    return name in QOS_RESOURCES or name.startswith(HUGE_PAGES)


# -- rules -------------------------------------------------------------------------------------------------


def check_quantity(name: str, quantity: str, path: str) -> Iterator[FieldError]:
    if nano(quantity) < 0:
        yield invalid(path, quantity, NOT_NEGATIVE)
    if (name == "pods" or is_extended(name)) and nano(quantity) % UNIT:
        yield invalid(path, quantity, "must be an integer")


def check_requirements(resources: Body, claims: Sequence[str], path: str) -> Iterator[FieldError]:
    """Of a container. `claims` are the names of the pod's claims."""
    yield from _check_amounts(resources, _check_container_resource, path)
    for index, claim in enumerate(resources.get("claims", [])):
        name = claim.get("name", "")
        if name and name not in claims:
            detail = "must be one of the names in pod.spec.resourceClaims"
            yield FieldError(FieldFault.NOT_FOUND, f"{path}.claims[{index}]", name, detail)


def check_pod_resources(spec: Body, path: str) -> Iterator[FieldError]:
    """Those of the pod as a whole, which bound those of its containers."""
    resources = spec.get("resources", {})
    if "claims" in resources:
        yield forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level")
    yield from _check_amounts(resources, _check_pod_resource, path)
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    for name, needed in sum_of_containers(spec, "requests").items():
        if name in requests and nano(needed) > nano(requests[name]):
            why = f"must be greater than or equal to aggregate container requests of {needed}"
            yield invalid(f"{path}.requests[{name}]", requests[name], why)
    for index, container in enumerate(spec.get("containers", ())):
        for name, limit in container.get("resources", {}).get("limits", {}).items():
            if name in limits and nano(limit) > nano(limits[name]):
                why = f"must be less than or equal to pod limits of {limits[name]}"
                yield invalid(f"{path}.containers[{index}][{name}].limits", limit, why)


def _check_container_resource(name: str, path: str) -> Iterator[FieldError]:
    yield from check_name(path, name, label_key)
    if "/" not in name and name not in OF_CONTAINERS and not name.startswith(HUGE_PAGES):
        yield invalid(path, name, "must be a standard resource for containers")


def _check_pod_resource(name: str, path: str) -> Iterator[FieldError]:
    if not is_of_pods(name):
        yield unsupported(path, name, OF_PODS)


def _check_amounts(
    resources: Body, check_resource: Callable[[str, str], Iterator[FieldError]], path: str
) -> Iterator[FieldError]:
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for which, amounts in (("limits", limits), ("requests", requests)):
        for name, quantity in amounts.items():
            yield from check_resource(name, f"{path}.{which}[{name}]")
            yield from check_quantity(name, quantity, f"{path}.{which}[{name}]")
    for name, quantity in requests.items():
        yield from _check_within_limit(name, quantity, limits.get(name), path)
    named = {*limits, *requests}
    if any(name.startswith(HUGE_PAGES) for name in named) and named.isdisjoint(QOS_RESOURCES):
        yield forbidden(path, "HugePages require cpu or memory")


def _check_within_limit(name: str, quantity: str, limit: str | None, path: str) -> Iterator[FieldError]:
    if limit is None:
        if not is_overcommitted(name):
            yield required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        return
    request, most = nano(quantity), nano(limit)
    if request != most and not is_overcommitted(name):
        yield invalid(f"{path}.requests", quantity, f"must be equal to {name} limit of {limit}")
    elif request > most:
        yield invalid(f"{path}.requests", quantity, f"must be less than or equal to {name} limit of {limit}")


# -- sums --------------------------------------------------------------------------------------------------


def total(first: str, second: str) -> str:
    """Written in the way of the first."""
    both = nano(first) + nano(second)
    if first.endswith("i") and both % KIBI == 0:
        return canonical(f"{both // KIBI}Ki")
    return canonical(f"{both}n")


def largest(first: str, second: str) -> str:
    return second if nano(second) > nano(first) else first


def combine(amounts: dict[str, str], more: Mapping[str, str], how: Callable[[str, str], str]) -> None:
    for name, quantity in more.items():
        amounts[name] = how(amounts[name], quantity) if name in amounts else quantity


def sum_of_containers(spec: Body, which: str) -> dict[str, str]:
    """`requests` or `limits`: the most that is needed at one time, while it starts or afterwards."""
    running, starting, sidecars = dict[str, str](), dict[str, str](), dict[str, str]()
    for container in spec.get("containers", ()):
        combine(running, container.get("resources", {}).get(which, {}), total)
    for container in spec.get("initContainers", ()):
        amounts = container.get("resources", {}).get(which, {})
        if container.get("restartPolicy") == "Always":
            combine(running, amounts, total)
            combine(sidecars, amounts, total)
            needed = dict(sidecars)
        else:
            needed = dict(amounts)
            combine(needed, sidecars, total)
        combine(starting, needed, largest)
    combine(running, starting, largest)
    return running


# -- what follows ------------------------------------------------------------------------------------------


def set_pod_resources(spec: Body) -> None:
    """What a pod as a whole gets where only its containers say it, if it has resources of its own at all."""
    own = spec.get("resources", {})
    limits, requests = own.get("limits", {}), own.get("requests", {})
    if not requests and not limits:
        return
    sums = sum_of_containers(spec, "limits")
    for name, amount in sums.items():
        if name.startswith(HUGE_PAGES) and name not in requests:
            limits.setdefault(name, amount)
    for name, amount in sum_of_containers(spec, "requests").items():
        if name in QOS_RESOURCES:
            requests.setdefault(name, amount)
    for name, amount in limits.items():
        if is_of_pods(name):
            requests.setdefault(name, amount)
    # Only what all containers limit; never less than what the pod requests.
    containers = [*spec.get("initContainers", ()), *spec.get("containers", ())]
    for name, amount in sums.items():
        open_ended = name in requests and name not in limits and is_of_pods(name)
        if open_ended and all(name in each.get("resources", {}).get("limits", {}) for each in containers):
            limits[name] = largest(amount, requests[name])
    own.update((name, amounts) for name, amounts in (("requests", requests), ("limits", limits)) if amounts)


def quality_of_service(spec: Body) -> str:
    """How a pod is treated when its node runs short."""
    own = spec.get("resources", {})
    if any(is_of_pods(name) for which in ("requests", "limits") for name in own.get(which, {})):
        return _quality_of([own])
    containers = [*spec.get("initContainers", ()), *spec.get("containers", ())]
    return _quality_of([container.get("resources", {}) for container in containers])


def _quality_of(resources: Sequence[Body]) -> str:
    classes = {_class_of(each, name) for each in resources for name in QOS_RESOURCES}
    return classes.pop() if len(classes) == 1 else BURSTABLE if classes else BEST_EFFORT


def _class_of(resources: Body, name: str) -> str:
    asked, most = (nano(resources.get(which, {}).get(name, "0")) for which in ("requests", "limits"))
    if not asked and not most:
        return BEST_EFFORT
    return GUARANTEED if asked == most else BURSTABLE
