"""The rules for what containers and pods request, and for how it is added up."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TypeAlias

from maitred.sandbox.apiserver.kinds.amounts import add, is_whole, raise_to
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
from maitred.sandbox.apiserver.schema.quantities import QuantityError, nano
from maitred.sandbox.apiserver.schema.types import Body

ResourceCheck: TypeAlias = Callable[[str, str], Iterator[FieldError]]
"""Of the name of a resource, at a path."""

HUGE_PAGES = "hugepages-"
QOS_RESOURCES = ("cpu", "memory")
OF_CONTAINERS = ("cpu", "memory", "ephemeral-storage")
COUNTED = (
    "configmaps",
    "persistentvolumeclaims",
    "pods",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "services",
    "services.loadbalancers",
    "services.nodeports",
)
STANDARD = frozenset(
    {
        *OF_CONTAINERS,
        *(f"{kind}.{name}" for kind in ("requests", "limits") for name in OF_CONTAINERS),
        *COUNTED,
        "storage",
        "requests.storage",
    }
)
OF_PODS = ("cpu", HUGE_PAGES, "memory")
"""Resources that the pod as a whole can have; all huge pages count as one."""


def is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


@lru_cache(maxsize=4096)
def is_extended(name: str) -> bool:
    """Whether it is counted in whole units, never given to more than one, and named by its vendor."""
    return not is_native(name) and not name.startswith("requests.") and not label_key(f"requests.{name}")


def is_overcommitted(name: str) -> bool:
    return is_native(name) and not name.startswith(HUGE_PAGES)


def is_of_pods(name: str) -> bool:
    return name in OF_PODS or name.startswith(HUGE_PAGES)


def check_quantity(name: str, quantity: str, path: str) -> Iterator[FieldError]:
    if nano(quantity) < 0:
        yield invalid(path, quantity, NOT_NEGATIVE)
    if (name in COUNTED or is_extended(name)) and not is_whole(quantity):
        yield invalid(path, quantity, "must be an integer")


def check_requirements(resources: Body, claims: Sequence[str], path: str) -> Iterator[FieldError]:
    """Of a container. `claims` are the names of the pod's claims."""
    yield from _check_amounts(resources, _check_container_resource, path)
    yield from _check_claims(resources.get("claims", []), claims, f"{path}.claims")


def check_overhead(overhead: Mapping[str, str], path: str) -> Iterator[FieldError]:
    return check_requirements({"limits": overhead}, (), path)


def check_pod_resources(spec: Body, path: str) -> Iterator[FieldError]:
    """Those of the pod as a whole, which bound those of its containers."""
    resources = spec.get("resources")
    if resources is None:
        return
    if "claims" in resources:
        yield forbidden(f"{path}.claims", "claims may not be set for Resources at pod-level")
    yield from _check_amounts(resources, _check_pod_resource, path)
    yield from _check_sums(spec, resources, path)
    yield from _check_container_limits(spec, resources.get("limits", {}), path)


def sum_of_containers(spec: Body, which: str) -> dict[str, str]:
    """`requests` or `limits`: the most that is needed at one time, while it starts or afterwards."""
    running, starting, sidecars = dict[str, str](), dict[str, str](), dict[str, str]()
    for container in spec.get("containers", ()):
        add(running, container.get("resources", {}).get(which, {}))
    for container in spec.get("initContainers", ()):
        amounts = container.get("resources", {}).get(which, {})
        if container.get("restartPolicy") == "Always":
            add(running, amounts)
            add(sidecars, amounts)
            needed = dict(sidecars)
        else:
            needed = dict(amounts)
            add(needed, sidecars)
        raise_to(starting, needed)
    raise_to(running, starting)
    return running


def _check_container_resource(name: str, path: str) -> Iterator[FieldError]:
    yield from check_name(path, name, _resource)
    if "/" not in name:
        if name not in OF_CONTAINERS and not name.startswith(HUGE_PAGES):
            yield invalid(path, name, "must be a standard resource for containers")
    elif not is_native(name) and not is_extended(name):
        yield invalid(path, name, "doesn't follow extended resource name standard")


def _check_pod_resource(name: str, path: str) -> Iterator[FieldError]:
    problems = list(check_name(path, name, _resource))
    if not problems and not is_of_pods(name):
        problems.append(unsupported(path, name, OF_PODS))
    yield from problems


def _resource(name: str) -> list[str]:
    problems = label_key(name)
    if problems or "/" in name or name in STANDARD:
        return problems
    if name.startswith((HUGE_PAGES, f"requests.{HUGE_PAGES}")):
        return problems
    return ["must be a standard resource type or fully qualified"]


def _check_amounts(resources: Body, check_resource: ResourceCheck, path: str) -> Iterator[FieldError]:
    limits, requests = resources.get("limits", {}), resources.get("requests", {})
    for name, quantity in limits.items():
        here = f"{path}.limits[{name}]"
        yield from check_resource(name, here)
        yield from check_quantity(name, quantity, here)
        yield from _check_pages(name, quantity, here)
    for name, quantity in requests.items():
        here = f"{path}.requests[{name}]"
        yield from check_resource(name, here)
        yield from check_quantity(name, quantity, here)
        yield from _check_within_limit(name, quantity, limits.get(name), path)
        yield from _check_pages(name, quantity, here)
    names = {*limits, *requests}
    if any(name.startswith(HUGE_PAGES) for name in names) and names.isdisjoint(QOS_RESOURCES):
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


def _check_pages(name: str, quantity: str, path: str) -> Iterator[FieldError]:
    if not name.startswith(HUGE_PAGES):
        return
    try:
        page = nano(name.removeprefix(HUGE_PAGES))
    except QuantityError:
        page = 0
    if page <= 0 or nano(quantity) % page:
        yield invalid(path, quantity, f"{quantity} is not positive integer multiple of {name}")


def _check_claims(claims: list[Body], known: Sequence[str], path: str) -> Iterator[FieldError]:
    for index, claim in enumerate(claims):
        name = claim.get("name", "")
        if name and name not in known:
            among = f": {', '.join(sorted(known))}" if known else " which is empty"
            detail = f"must be one of the names in pod.spec.resourceClaims{among}"
            yield FieldError(FieldFault.NOT_FOUND, f"{path}[{index}]", name, detail)


def _check_sums(spec: Body, resources: Body, path: str) -> Iterator[FieldError]:
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    for name, needed in sum_of_containers(spec, "requests").items():
        if name in requests and nano(needed) > nano(requests[name]):
            why = f"must be greater than or equal to aggregate container requests of {needed}"
            yield invalid(f"{path}.requests[{name}]", requests[name], why)
    for name, needed in sum_of_containers(spec, "limits").items():
        bounded = name.startswith(HUGE_PAGES) and name in limits
        if bounded and nano(needed) > nano(limits[name]):
            why = f"must be greater than or equal to aggregate container limits of {needed}"
            yield invalid(f"{path}.limits[{name}]", limits[name], why)


def _check_container_limits(spec: Body, limits: Mapping[str, str], path: str) -> Iterator[FieldError]:
    for index, container in enumerate(spec.get("containers", ())):
        for name, limit in container.get("resources", {}).get("limits", {}).items():
            if name in limits and nano(limit) > nano(limits[name]):
                why = f"must be less than or equal to pod limits of {limits[name]}"
                yield invalid(f"{path}.containers[{index}][{name}].limits", limit, why)
