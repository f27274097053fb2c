"""How many devices of each class a claim has: what limits of queues count."""

from collections import Counter
from collections.abc import Iterator, Mapping

from maitred.model.devices.claims import Allocation, DeviceClaim
from maitred.model.devices.classes import IMPLIED_PREFIX, DeviceClass

DevicesByClass = tuple[tuple[str, int], ...]


def allocated_by_class(claim: DeviceClaim, allocation: Allocation) -> DevicesByClass:
    """What was allocated: a device, a partition and a share of a device count as one each. Access for an
    administrator takes nothing from anybody, and counts nothing."""
    class_of = dict(_classes(claim))
    counts = Counter[str]()
    for result in allocation.devices.results:
        if not result.admin_access and result.request in class_of:
            counts[class_of[result.request]] += 1
    return tuple(sorted(counts.items()))


def _classes(claim: DeviceClaim) -> Iterator[tuple[str, str]]:
    """The class of each request, by the name that results have for it."""
    for request in claim.requests:
        if request.exactly is not None:
            yield request.name, request.exactly.device_class_name
        for one in request.first_available:
            yield f"{request.name}/{one.name}", one.device_class_name


def resources_of_class(name: str, classes: Mapping[str, DeviceClass]) -> tuple[str, ...]:
    """The resources as which devices of a class are known: by the name of the class, and by the extended
    resource that it serves, whether or not a newer class serves that by now."""
    known = classes.get(name)
    served = known.spec.extended_resource_name if known is not None else ""
    return (f"{IMPLIED_PREFIX}{name}", *((served,) if served else ()))
