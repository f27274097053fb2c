"""Devices that pods ask for by an extended resource: a class may serve it where no device plugin does.

Such a pod names no claim. The scheduler makes one for it, as kube-scheduler does: a request for each
container that asks for the resource. An init container that has ended before others begin uses the devices of
those; if it wants more, there is one more request, of the most that any of them lacks.
"""

from collections.abc import Iterator, Sequence

from maitred.model.devices.claims import DeviceClaim, DeviceRequest, ExactRequest
from maitred.model.devices.classes import IMPLIED_PREFIX
from maitred.model.meta import Lean
from maitred.model.pod import Container, PodSpec
from maitred.model.quantity import amount, is_whole
from maitred.model.requests import is_sidecar


class CountedRequest(Lean, frozen=True):
    name: str
    count: int


class ExtendedResource(Lean, frozen=True):
    """What the containers of a pod ask for of one extended resource, as requests of a claim."""

    resource: str
    requests: tuple[CountedRequest, ...]
    mappings: tuple[tuple[str, str], ...] = ()
    """Containers, and the requests whose devices each may use, as the status of the pod tells its kubelet."""

    def claim(self, device_class: str) -> DeviceClaim:
        """With devices of a class for it."""
        return DeviceClaim(
            tuple(
                DeviceRequest(one.name, ExactRequest(device_class, (), "ExactCount", one.count))
                for one in self.requests
            )
        )


def extended_resources(spec: PodSpec) -> tuple[ExtendedResource, ...]:
    """Of those that a class may serve."""
    containers = (*spec.init_containers, *spec.containers)
    asked = [_asked(container) for container in containers]
    names = sorted({name for amounts in asked for name, count in amounts.items() if count and _may_be(name)})
    return tuple(_requests(name, containers, asked, len(spec.init_containers)) for name in names)


def _may_be(resource: str) -> bool:
    vendors = is_whole(resource) and "/" in resource and not resource.startswith("requests.")
    return vendors or resource.startswith(IMPLIED_PREFIX)


def _asked(container: Container) -> dict[str, int]:
    quantities = {**container.resources.limits, **container.resources.requests}
    return {name: amount(name, quantity) for name, quantity in quantities.items()}


def _requests(
    resource: str, containers: Sequence[Container], asked: Sequence[dict[str, int]], inits: int
) -> ExtendedResource:
    ends = [place < inits and not is_sidecar(container) for place, container in enumerate(containers)]
    lasting = dict[int, CountedRequest]()
    mapped, briefly = list[tuple[str, str]](), list[tuple[str, str]]()
    for place, container in enumerate(containers):
        count = asked[place].get(resource, 0)
        if count and not ends[place]:
            lasting[place] = CountedRequest(_name(place, resource, asked[place]), count)
            mapped.append((container.name, lasting[place].name))
    more = list[CountedRequest]()
    for place in (place for place, over in enumerate(ends) if over):
        used = list(_lent(asked[place].get(resource, 0), [lasting[i] for i in sorted(lasting) if i >= place]))
        briefly += [(containers[place].name, one.name) for one in used]
        lack = asked[place].get(resource, 0) - sum(one.count for one in used)
        if lack > 0:
            more.append(CountedRequest(_name(place, resource, asked[place]), lack))
            briefly.append((containers[place].name, more[-1].name))
    largest = max(more, key=lambda one: one.count, default=None)  # the first of those that lack as much
    if largest is not None:
        others = {one.name for one in more}
        briefly = [(name, largest.name if request in others else request) for name, request in briefly]
    requests = [*([largest] if largest else []), *lasting.values()]
    return ExtendedResource(resource, tuple(sorted(requests, key=lambda one: one.name)), (*mapped, *briefly))


def _lent(wanted: int, requests: Sequence[CountedRequest]) -> Iterator[CountedRequest]:
    """Requests of later containers whose devices an init container may use meanwhile."""
    for one in requests:
        if wanted <= 0:
            return
        wanted -= one.count
        yield one


def _name(place: int, resource: str, asked: dict[str, int]) -> str:
    """By the number of the container, and of the resource among all that the container asks for."""
    return f"container-{place}-request-{sorted(asked).index(resource)}"
