"""Devices that pods have by claims, as limits of queues count them: docs/design/queues.md, a second time."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cached_property

from .claims import claim_key, consumers, results_of, wish_of
from .devices import Device
from .fields import Doc
from .objects import CLASS_RESOURCE, Cluster
from .pods import DeviceUse, Pod
from .requests import Request, Wish

MODEL_ATTRIBUTES = ("model", "productName", "product")


def is_device(patterns: Iterable[str], driver: str) -> bool:
    """Whether a driver, or a class of this name, is of devices: `gpu.nvidia.com` is `nvidia.com/gpu`."""
    first, _, domain = driver.partition(".")
    return any(fnmatchcase(name, p) for p in patterns for name in (driver, f"{domain}/{first}"))


def names_of_class(cluster: Cluster, name: str) -> frozenset[str]:
    """The resources as which devices of a class are known."""
    known = cluster.device_objects["DeviceClass"].get(name)
    served = "" if known is None else known.doc("spec").text("extendedResourceName")
    return frozenset({CLASS_RESOURCE + name, served} - {""})


def priced_as(cluster: Cluster, name: str) -> tuple[str, ...]:
    """The names of a class in the order in which prices are looked for: the resource that it serves, its own
    name, that of the resource that a device plugin would offer, and that of the resource of the class."""
    own = CLASS_RESOURCE + name
    first, _, domain = name.partition(".")
    return (*(names_of_class(cluster, name) - {own}), name, f"{domain}/{first}", own)


def _node_pools(cluster: Cluster) -> Iterator[tuple[str, list[Device]]]:
    """Devices that can be allocated, pool by pool, and the one node that they are on; empty if they are not
    all on one."""
    for pool in cluster.pools.values():
        devices = list(pool.devices.values()) if pool.complete else []
        nodes = {device.reach.node_name for device in devices}
        yield (nodes.pop() if len(nodes) == 1 else ""), devices


def told_models(cluster: Cluster, patterns: Iterable[str]) -> dict[str, str]:
    """By node, the model that the drivers of its devices tell, where all tell the same."""
    found: dict[str, set[str]] = {}
    for node, devices in _node_pools(cluster):
        told = {_model(device) for device in devices if is_device(patterns, device.id[0])}
        found.setdefault(node, set()).update(told)
    return {node: min(models) for node, models in found.items() if node and len(models) == 1}


def _model(device: Device) -> str:
    known = device.doc.doc("attributes")
    names = (key for name in MODEL_ATTRIBUTES for key in (name, f"{device.id[0]}/{name}"))
    said = (known.doc(key).text("string") for key in names if key in known.raw)
    return "-".join(next(filter(None, said), "").split())


class ClaimedDevices:
    """What pods have by their claims. `seats` are those that the Plan gives."""

    def __init__(
        self,
        cluster: Cluster,
        limited: frozenset[str],
        seats: Iterable[Pod],
        account: Callable[[Pod], object],
    ) -> None:
        self._cluster, self._limited, self._account = cluster, limited, account
        self._seats = list(seats)
        self._of_pod: dict[str, list[tuple[str, Counter[str]]]] = {}

    def names(self, resource: str) -> frozenset[str]:
        """For what a resource counts that a pod requests."""
        served = self._cluster.device_resources.get(resource)
        more = frozenset[str]() if served is None else names_of_class(self._cluster, served)
        return (more | {resource}) & self._limited

    def of(self, pod: Pod) -> list[tuple[str, Counter[str]]]:
        """The claims that count for the account of a pod, and what each counts."""
        if not pod.devices:
            return []
        if pod.key not in self._of_pod:
            self._of_pod[pod.key] = list(self._counted(pod))
        return self._of_pod[pod.key]

    def _counted(self, pod: Pod) -> Iterator[tuple[str, Counter[str]]]:
        for use in pod.devices:
            key, counts = claim_key(self._cluster, pod, use), Counter[str]()
            for name, count in self._by_class(pod, use, key).items():
                counts.update(dict.fromkeys(names_of_class(self._cluster, name) & self._limited, count))
            if counts and self._pays(pod, key):
                yield key, counts

    def _by_class(self, pod: Pod, use: DeviceUse, key: str) -> Mapping[str, int]:
        wish = wish_of(self._cluster, pod, use)
        if wish is None:
            return {}
        allocation = self._cluster.allocations.get(key)
        return _least(wish) if allocation is None else _allocated(wish, allocation)

    def by_claim(self, pod: Pod) -> Iterator[tuple[str, Mapping[str, int]]]:
        """All claims of a pod, and what they have or ask for, by class."""
        for use in pod.devices:
            key = claim_key(self._cluster, pod, use)
            yield key, self._by_class(pod, use, key)

    def _pays(self, pod: Pod, key: str) -> bool:
        """Whether a claim counts for the account of a pod: it does for the first on a node that the claim was
        reserved for. Of several that get it together nobody knows here who came first."""
        first = self.first(key)
        if first is not None:
            return self._account(first) == self._account(pod)
        return len({self._account(one) for one in self.users.get(key, [pod])}) == 1

    @cached_property
    def users(self) -> Mapping[str, list[Pod]]:
        """Of each claim, those who get a seat by the Plan."""
        found: dict[str, list[Pod]] = {}
        for pod in self._seats:
            for use in pod.devices:
                found.setdefault(claim_key(self._cluster, pod, use), []).append(pod)
        return found

    def first(self, key: str, besides: Collection[str] = ()) -> Pod | None:
        """On a node, of those that a claim was reserved for; but for some pods."""
        claim = self._cluster.device_objects["ResourceClaim"].get(key)
        namespace, pods = key.partition("/")[0], self._cluster.pods
        for _, resource, name, _ in [] if claim is None else consumers(claim.doc("status")):
            if resource == "pods":
                known = pods.get(f"{namespace}/{name}")
                if known is not None and known.holds and known.key not in besides:
                    return known
            else:
                members = [p for p in pods.values() if (p.namespace, p.group_name) == (namespace, name)]
                if there := [pod for pod in members if pod.holds and pod.key not in besides]:
                    return min(there, key=lambda pod: pod.key)
        return None

    def published(self) -> Iterator[tuple[str, str, int]]:
        """Node, resource, and how many devices it has that count for the resource."""
        requests: dict[str, list[Request]] = {}
        for name, known in self._cluster.device_objects["DeviceClass"].items():
            for resource in names_of_class(self._cluster, name) & self._limited:
                doc = Doc({"deviceClassName": name}, "request")
                requests.setdefault(resource, []).append(Request("", "", doc, known))
        for node, devices in _node_pools(self._cluster) if requests else ():
            for resource, some in requests.items():
                chosen = [d for d in devices if any(one.why_not_chosen(d) is None for one in some)]
                yield node, resource, len(chosen)


def _allocated(wish: Wish, allocation: Doc) -> Counter[str]:
    found = Counter[str]()
    for result in results_of(allocation):
        request = wish.named(result.request)
        if request is not None and not result.admin:
            found[request.class_name] += 1
    return found


def _least(wish: Wish) -> Counter[str]:
    """What whichever alternatives ask for; all devices are one at least."""
    found = Counter[str]()
    for alternatives in wish.requests:
        asked = [Counter({one.class_name: 0 if one.admin else one.count or 1}) for one in alternatives]
        for name in {one.class_name for one in alternatives}:
            found[name] += min(counts[name] for counts in asked)
    return found
