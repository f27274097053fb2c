"""The rules for devices and claims to them that the types do not state.

Expressions in CEL are not read: a claim whose selector does not compile is taken here, and refused by a real
server.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import pairwise
from typing import Any

from maitred.sandbox.apiserver.kinds.fielderrors import (
    FieldError,
    FieldFault,
    duplicate,
    forbidden,
    invalid,
    required,
    too_many,
)
from maitred.sandbox.apiserver.kinds.names import check_name, label, subdomain
from maitred.sandbox.apiserver.schema.quantities import nano
from maitred.sandbox.apiserver.schema.types import Body

MOST_DEVICES, MOST_RICH_DEVICES = 128, 64
"""In one slice; fewer if any of them has taints, counters or lists, which make devices large."""
MOST_ATTRIBUTES = 32
"""And capacities, of one device."""
LISTS = ("bools", "ints", "strings", "versions")
OF_SLICES = ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection")
OF_DEVICES = ("nodeName", "nodeSelector", "allNodes")
UNKNOWN_REQUEST = (
    "must be the name of a request in the claim, or of a request and a subrequest with '/' between"
)


def unlike(items: Iterable[Any], path: str) -> Iterator[FieldError]:
    """Each of them once."""
    seen = list[Any]()
    for index, item in enumerate(items):
        if item in seen:
            yield duplicate(f"{path}[{index}]", item)
        seen.append(item)


def needing(name: str) -> Callable[[Body, str], Iterator[FieldError]]:
    """The only choice there is so far: it must be given, though the API calls it optional."""

    def check(body: Body, path: str) -> Iterator[FieldError]:
        if name not in body:
            yield required(f"{path}.{name}")

    return check


# -- claims ------------------------------------------------------------------------------------------------


def check_device_claim(claim: Body, path: str) -> Iterator[FieldError]:
    requests, known = claim.get("requests") or [], requests_of(claim)
    yield from unlike((request.get("name") for request in requests), f"{path}.requests")
    for part in ("constraints", "config"):
        for index, item in enumerate(claim.get(part, ())):
            yield from check_requests(item.get("requests", ()), known, f"{path}.{part}[{index}].requests")
    for index, request in enumerate(requests):
        names = (each.get("name") for each in request.get("firstAvailable", ()))
        yield from unlike(names, f"{path}.requests[{index}].firstAvailable")


def requests_of(claim: Body) -> set[str]:
    """How the rest of the claim, and its allocation, may call them."""
    known = set[str]()
    for request in claim.get("requests") or ():
        name = request.get("name", "")
        known |= {name, *(f"{name}/{each.get('name', '')}" for each in request.get("firstAvailable", ()))}
    return known


def check_requests(names: Iterable[str], known: Collection[str], path: str) -> Iterator[FieldError]:
    yield from unlike(names, path)
    for index, name in enumerate(names):
        if name not in known:
            yield invalid(f"{path}[{index}]", name, UNKNOWN_REQUEST)


def check_request(request: Body, path: str) -> Iterator[FieldError]:
    """One that is exact, or one of the first that is available."""
    mode, count = request.get("allocationMode"), request.get("count", 0)
    if mode == "All" and count:
        yield invalid(f"{path}.count", count, "must not be specified when allocationMode is 'All'")
    elif mode == "ExactCount" and count <= 0:
        yield invalid(f"{path}.count", count, "must be greater than zero")


def check_device_toleration(toleration: Body, path: str) -> Iterator[FieldError]:
    if toleration.get("operator") == "Exists" and toleration.get("value"):
        yield invalid(f"{path}.value", toleration["value"], "must be empty for operator `Exists`")


# -- the status of claims ----------------------------------------------------------------------------------


def check_claim_status(claim: Body, status: Body, before: Body, path: str) -> Iterator[FieldError]:
    """An allocation is set once, or cleared; nobody can have what is not allocated."""
    allocation, was = status.get("allocation"), before.get("allocation")
    if allocation is not None and was is None:
        yield from _check_allocation(claim, allocation, f"{path}.allocation")
    elif allocation is not None and allocation != was:
        yield invalid(f"{path}.allocation", None, "field is immutable")
    consumers = status.get("reservedFor", [])
    if consumers and allocation is None:
        yield forbidden(f"{path}.reservedFor", "may not be specified when `allocation` is not set")
    elif "deletionTimestamp" in claim["metadata"] and any(
        consumer not in before.get("reservedFor", ()) for consumer in consumers
    ):
        why = "new entries may not be added while `deletionTimestamp` is set"
        yield forbidden(f"{path}.reservedFor", why)
    allocated = set(map(device_of, results_of(status)))
    for index, device in enumerate(status.get("devices", ())):
        if device_of(device) not in allocated:
            here = f"{path}.devices[{index}]"
            yield invalid(here, "/".join(device_of(device)), "must be an allocated device in the claim")


def _check_allocation(claim: Body, allocation: Body, path: str) -> Iterator[FieldError]:
    known, devices = requests_of(claim["spec"].get("devices", {})), allocation.get("devices", {})
    for index, result in enumerate(devices.get("results", ())):
        if result.get("request", "") not in known:
            here = f"{path}.devices.results[{index}].request"
            yield invalid(here, result.get("request", ""), UNKNOWN_REQUEST)
    for index, config in enumerate(devices.get("config", ())):
        here = f"{path}.devices.config[{index}].requests"
        yield from check_requests(config.get("requests", ()), known, here)


def results_of(status: Body) -> list[Body]:
    found: list[Body] = status.get("allocation", {}).get("devices", {}).get("results") or []
    return found


def device_of(result: Body) -> tuple[str, str, str, str]:
    """A device, and if it is shared, the share of it."""
    driver, pool, device, share = (result.get(n, "") for n in ("driver", "pool", "device", "shareID"))
    return driver, pool, device, share


def check_claims_of(body: Body) -> Iterator[FieldError]:
    """In the status of a pod or a PodGroup: the claims that were made for it from templates."""
    known = {claim.get("name") for claim in body["spec"].get("resourceClaims", ())}
    path, seen = "status.resourceClaimStatuses", set[str]()
    for index, made in enumerate(body.get("status", {}).get("resourceClaimStatuses", ())):
        name, here = made.get("name", ""), f"{path}[{index}]"
        if name not in known:
            yield invalid(f"{here}.name", name, "must match the name of an entry in `spec.resourceClaims`")
        if name in seen:
            yield duplicate(f"{here}.name", name)
        seen.add(name)
        if "resourceClaimName" in made:
            yield from check_name(f"{here}.resourceClaimName", made["resourceClaimName"], subdomain)


def check_extended_claim(pod: Body) -> Iterator[FieldError]:
    """The claim that a scheduler has made for the extended resources of a pod."""
    status, path = (
        pod.get("status", {}).get("extendedResourceClaimStatus"),
        "status.extendedResourceClaimStatus",
    )
    if status is None:
        return
    spec, name = pod["spec"], status.get("resourceClaimName", "")
    containers = {each["name"]: each for each in (*spec.get("initContainers", ()), *spec["containers"])}
    if not status.get("requestMappings"):
        yield required(f"{path}.requestMappings", "at least one request mapping is required")
    yield from (
        check_name(f"{path}.resourceClaimName", name, subdomain)
        if name
        else (required(f"{path}.resourceClaimName"),)
    )
    for index, mapping in enumerate(status.get("requestMappings") or ()):
        here, container = f"{path}.requestMappings[{index}]", containers.get(mapping.get("containerName"))
        resource = mapping.get("resourceName", "")
        if container is None:
            why = "must match the name of a container of the pod"
            yield invalid(f"{here}.containerName", mapping.get("containerName", ""), why)
        elif resource not in container.get("resources", {}).get("requests", {}):
            yield invalid(f"{here}.resourceName", resource, "must be a resource that the container requests")
        yield from check_name(f"{path}.requestName", mapping.get("requestName", ""), label)


# -- slices ------------------------------------------------------------------------------------------------


def check_slice(spec: Body, path: str) -> Iterator[FieldError]:
    devices, counters = spec.get("devices", []), spec.get("sharedCounters", [])
    yield from _check_nodes(spec, OF_SLICES, path)
    terms = spec.get("nodeSelector", {}).get("nodeSelectorTerms") or [{}]
    if len(terms) != 1:
        why = "must have exactly one node selector term"
        yield invalid(f"{path}.nodeSelector.nodeSelectorTerms", terms, why)
    if devices and counters:
        yield invalid(path, "", "only one of `sharedCounters` or `devices` is allowed")
    most = MOST_RICH_DEVICES if any(map(_is_rich, devices)) else MOST_DEVICES
    if len(devices) > most:
        yield too_many(f"{path}.devices", len(devices), most)
        return
    yield from unlike((device.get("name") for device in devices), f"{path}.devices")
    yield from unlike((each.get("name") for each in counters), f"{path}.sharedCounters")
    for index, device in enumerate(devices):
        here = f"{path}.devices[{index}]"
        if spec.get("perDeviceNodeSelection"):
            yield from _check_nodes(device, OF_DEVICES, here)
        elif any(name in device for name in OF_DEVICES):
            why = "its nodes can only be set if `perDeviceNodeSelection` is true in the slice"
            yield invalid(here, None, why)


def _check_nodes(spec: Body, names: tuple[str, ...], path: str) -> Iterator[FieldError]:
    given = [name for name in names if name in spec]
    for name in given:
        if spec[name] in (False, ""):
            yield invalid(f"{path}.{name}", spec[name], "must be either unset, or set to a value")
    known = ", ".join(f"`{name}`" for name in names)
    if not any(spec[name] not in (False, "") for name in given):
        yield required(path, f"exactly one of {known} is required")
    elif len(given) > 1:
        yield invalid(path, f"{{{', '.join(given)}}}", f"exactly one of {known} is required")


def _is_rich(device: Body) -> bool:
    attributes = device.get("attributes", {}).values()
    return bool(
        device.get("taints")
        or device.get("consumesCounters")
        or any(name in attribute for attribute in attributes for name in LISTS)
    )


def check_device(device: Body, path: str) -> Iterator[FieldError]:
    described = len(device.get("attributes", {})) + len(device.get("capacity", {}))
    if described > MOST_ATTRIBUTES:
        why = f"the total number of attributes and capacities must not exceed {MOST_ATTRIBUTES}"
        yield invalid(path, described, why)
    sets = (each.get("counterSet") for each in device.get("consumesCounters", ()))
    yield from unlike(sets, f"{path}.consumesCounters")
    if not device.get("allowMultipleAllocations"):
        for name, capacity in device.get("capacity", {}).items():
            if "requestPolicy" in capacity:
                here = f"{path}.capacity[{name}].requestPolicy"
                yield forbidden(here, "allowMultipleAllocations must be true")


def check_binding_conditions(device: Body, path: str) -> Iterator[FieldError]:
    """Of a device, or of one that is allocated: both sorts or neither, and nothing twice."""
    good, bad = device.get("bindingConditions", []), device.get("bindingFailureConditions", [])
    yield from unlike(good, f"{path}.bindingConditions")
    yield from unlike(bad, f"{path}.bindingFailureConditions")
    for index, condition in enumerate(bad):
        if condition in good:
            why = "bindingFailureConditions must not overlap with bindingConditions"
            yield invalid(f"{path}.bindingFailureConditions[{index}]", condition, why)
    if bool(good) != bool(bad):
        missing = "bindingFailureConditions" if good else "bindingConditions"
        yield invalid(f"{path}.{missing}", None, "both sorts of conditions are required to use either")


def check_published_device(device: Body, path: str) -> Iterator[FieldError]:
    yield from check_device(device, path)
    yield from check_binding_conditions(device, path)


# -- how much of a device a claim may ask for --------------------------------------------------------------


def check_capacity(capacity: Body, path: str) -> Iterator[FieldError]:
    policy, most, here = capacity.get("requestPolicy"), capacity.get("value") or "0", f"{path}.requestPolicy"
    if policy is None:
        return
    values, span = policy.get("validValues", []), policy.get("validRange")
    if values and span is not None:
        yield forbidden(here, "cannot specify `validValues` and `validRange` at the same time")
    elif (values or span is not None) and "default" not in policy:
        yield required(f"{here}.default", "required when validValues or validRange is defined")
    elif values:
        yield from _check_values(values, policy["default"], most, f"{here}.validValues")
    elif span is not None and span.get("min") is not None:
        yield from _check_range(span, policy["default"], most, f"{here}.validRange")


def _check_values(values: list[str], default: str, most: str, path: str) -> Iterator[FieldError]:
    for index, (one, following) in enumerate(pairwise(values)):
        if nano(one) > nano(following):
            yield invalid(f"{path}[{index + 1}]", following, "values must be sorted in ascending order")
    for index, value in enumerate(values):
        if nano(value) > nano(most):
            yield invalid(f"{path}[{index}]", value, f"option is larger than capacity value: {most}")
        if nano(value) in map(nano, values[:index]):
            yield FieldError(FieldFault.DUPLICATE, f"{path}[{index}]", value)
    if nano(default) not in map(nano, values):
        yield invalid(path, default, "default value is not valid according to the requestPolicy")


def _check_range(span: Body, default: str, most: str, path: str) -> Iterator[FieldError]:
    least, upper, step = span["min"], span.get("max"), span.get("step")
    if nano(least) > nano(most):
        yield invalid(f"{path}.min", least, f"min is larger than capacity value: {most}")
    if nano(default) < nano(least):
        yield invalid(f"{path}.default", default, f"default is less than min: {least}")
    if upper is not None:
        if nano(least) > nano(upper):
            yield invalid(f"{path}.max", least, f"min is larger than max: {upper}")
        if nano(upper) > nano(most):
            yield invalid(f"{path}.max", upper, f"max is larger than capacity value: {most}")
        if nano(default) > nano(upper):
            yield invalid(f"{path}.default", default, f"default is more than max: {upper}")
    if step is None:
        return
    if nano(step) <= 0:
        yield invalid(f"{path}.step", step, "must be greater than zero")
        return
    if nano(least) + nano(step) > nano(most):
        yield invalid(f"{path}.step", step, f"one step is larger than capacity value: {most}")
    for value in (default, upper):
        if value is not None and (nano(value) - nano(least)) % nano(step):
            why = f"value is not a multiple of a given step ({step}) from ({least})"
            yield invalid(f"{path}.step", value, why)
