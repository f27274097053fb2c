"""How much a pod takes and a node has, as the kubelet adds it up."""

import re
from collections.abc import Iterable
from decimal import ROUND_CEILING, Decimal
from functools import lru_cache

from maitred.model.pod import Container, Resources
from maitred.sandbox.kubelets.objects import Pod

Amounts = dict[str, int]
Exact = dict[str, Decimal]

_NUMBER = re.compile(r"([+-]?[0-9.]+(?:[eE][+-]?[0-9]+)?)([a-zA-Z]*)")
_UNITS = {
    "": Decimal(1),
    **{name: Decimal(1000) ** power for power, name in enumerate("num", start=-3)},
    **{name: Decimal(1000) ** power for power, name in enumerate("kMGTPE", start=1)},
    **{f"{name}i": Decimal(1024) ** power for power, name in enumerate("KMGTPE", start=1)},
}


@lru_cache(maxsize=4096)
def exact(quantity: str | float) -> Decimal:
    found = _NUMBER.fullmatch(str(quantity))
    if found is None:
        raise ValueError(f"{quantity!r} is not a quantity")
    return Decimal(found[1]) * _UNITS[found[2]]


def counted(resource: str, amount: Decimal) -> int:
    """Thousandths of cpu and whole units of anything else, rounded up."""
    return int((amount * 1000 if resource == "cpu" else amount).to_integral_value(ROUND_CEILING))


def amounts(quantities: Resources) -> Amounts:
    return {resource: counted(resource, exact(quantity)) for resource, quantity in quantities.items()}


def requests(pod: Pod) -> Amounts:
    """What the pod asks of its node; its own place among the node's pods is not in here."""
    spec = pod.spec
    total = largest(while_starting(pod), while_running(pod))
    for resource, quantity in (spec.resources.requests if spec.resources else {}).items():
        if resource in ("cpu", "memory") or resource.startswith("hugepages-"):
            total[resource] = exact(quantity)
    total = summed([total, read(spec.overhead)])
    return {resource: counted(resource, amount) for resource, amount in total.items() if amount}


def while_running(pod: Pod) -> Exact:
    sidecars = [container for container in pod.spec.init_containers if is_sidecar(container)]
    return summed(read(container.resources.requests) for container in (*pod.spec.containers, *sidecars))


def while_starting(pod: Pod) -> Exact:
    """The most that is needed at one time: an init container, beside the sidecars that started before it."""
    peak, sidecars = Exact(), Exact()
    for container in pod.spec.init_containers:
        needed = summed([sidecars, read(container.resources.requests)])
        peak = largest(peak, needed)
        if is_sidecar(container):
            sidecars = needed
    return peak


def read(quantities: Resources) -> Exact:
    return {resource: exact(quantity) for resource, quantity in quantities.items()}


def summed(parts: Iterable[Exact]) -> Exact:
    total = Exact()
    for part in parts:
        for resource, amount in part.items():
            total[resource] = total.get(resource, Decimal()) + amount
    return total


def largest(one: Exact, other: Exact) -> Exact:
    return {
        resource: max(one.get(resource, Decimal()), other.get(resource, Decimal()))
        for resource in one.keys() | other.keys()
    }


def is_sidecar(container: Container) -> bool:
    """Of an init container: it starts in its turn and keeps running."""
    return container.restart_policy == "Always"
