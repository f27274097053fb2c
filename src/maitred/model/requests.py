"""How much a pod takes from its node, as the kubelet and kube-scheduler count it."""

from collections.abc import Iterable

from maitred.model.pod import Container, PodSpec, ResourceRequirements, Resources
from maitred.model.quantity import CPU, MEMORY, PODS, amount, rounded, thousandths

Amounts = dict[str, int]


def pod_requests(spec: PodSpec) -> Amounts:
    """Requests of the whole pod, its own place among the node's `pods` included."""
    total = pod_level(spec, containers_requests(spec))
    add(total, exact(spec.overhead))
    requests = {resource: rounded(resource, requested) for resource, requested in total.items() if requested}
    requests[PODS] = 1
    return requests


def requests_aside(spec: PodSpec) -> tuple[tuple[str, int], ...]:
    """What a pod asks for beyond what stands under its containers, or under the pod as a whole."""
    if not (spec.overhead or spec.init_containers):
        return ()
    written: Amounts = {}
    for container in spec.containers:
        add(written, effective(container.resources))
    written = pod_level(spec, written)
    total = pod_requests(spec)
    beyond = {name: n - rounded(name, written.get(name, 0)) for name, n in total.items() if name != PODS}
    return tuple(sorted((name, more) for name, more in beyond.items() if more > 0))


def containers_requests(spec: PodSpec) -> Amounts:
    """Containers add up; an init container runs alone, but beside the sidecars started before it."""
    running: Amounts = {}
    for container in spec.containers:
        add(running, effective(container.resources))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.init_containers:
        if is_sidecar(container):
            add(sidecars, effective(container.resources))
            raise_to(starting, sidecars)
        else:
            alone = effective(container.resources)
            add(alone, sidecars)
            raise_to(starting, alone)
    add(running, sidecars)
    raise_to(running, starting)
    return running


def is_sidecar(container: Container) -> bool:
    return container.restart_policy == "Always"


def pod_level(spec: PodSpec, counted: Amounts) -> Amounts:
    """Requests of the pod as a whole replace those of its containers, for resources that may be set there.

    A pod-level limit without a request asks for what the containers ask for, or else for the limit.
    """
    if spec.resources is None:
        return counted
    requests, limits = exact(spec.resources.requests), exact(spec.resources.limits)
    chosen = {**limits, **counted, **requests} if limits else {**counted, **requests}
    return {
        resource: chosen[resource] if supports_pod_level(resource) else counted.get(resource, 0)
        for resource in chosen
    }


def supports_pod_level(resource: str) -> bool:
    return resource in (CPU, MEMORY) or resource.startswith("hugepages-")


def effective(requirements: ResourceRequirements) -> Amounts:
    """A limit without a request requests the limit, as the API server defaults it."""
    return exact({**requirements.limits, **requirements.requests})


def exact(quantities: Resources) -> Amounts:
    """In thousandths: as Kubernetes does, fractions are added up before they are rounded."""
    return {resource: thousandths(quantity) for resource, quantity in quantities.items()}


def amounts(quantities: Resources) -> Amounts:
    return {resource: amount(resource, quantity) for resource, quantity in quantities.items()}


def add(total: Amounts, more: Amounts) -> None:
    for resource, requested in more.items():
        total[resource] = total.get(resource, 0) + requested


def raise_to(total: Amounts, floor: Amounts) -> None:
    for resource, requested in floor.items():
        total[resource] = max(total.get(resource, 0), requested)


def all_resources(spec: PodSpec) -> Iterable[tuple[str, Resources]]:
    """Every map of quantities in a pod, with the field it stands in, so that bad ones can be named."""
    for kind, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for position, container in enumerate(containers):
            yield f"spec.{kind}[{position}].resources.requests", container.resources.requests
            yield f"spec.{kind}[{position}].resources.limits", container.resources.limits
    yield "spec.overhead", spec.overhead
    if spec.resources is not None:
        yield "spec.resources.requests", spec.resources.requests
        yield "spec.resources.limits", spec.resources.limits
