"""The three rules, said again in the plainest way: one node, one device, one kind of pod after the other."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from maitred.decide.shares.prices import worths

Choice = tuple[str, int | None]
"""A node, and the device of a share."""


@dataclass(frozen=True)
class PlainPod:
    cpu: int
    memory: int
    devices: int = 0
    each: int = 0
    models: tuple[str, ...] = ()

    @property
    def shares(self) -> bool:
        return 0 < self.each < 1000


@dataclass(frozen=True)
class PlainNode:
    """What is free of it."""

    cpu: int
    memory: int
    devices: tuple[int, ...]
    model: str = ""
    ready: bool = True


def takes(node: PlainNode, pod: PlainPod) -> bool:
    """Whether the devices of the node are of a model that will do."""
    return not pod.models or node.model in pod.models


def fits(node: PlainNode, pod: PlainPod) -> bool:
    return (
        node.ready
        and takes(node, pod)
        and node.cpu >= pod.cpu
        and node.memory >= pod.memory
        and sum(free >= pod.each for free in node.devices) >= pod.devices
    )


def devices_for(node: PlainNode, pod: PlainPod) -> Iterator[tuple[int, ...]]:
    if pod.shares:
        yield from ((device,) for device, free in enumerate(node.devices) if free >= pod.each)
    else:
        yield tuple([device for device, free in enumerate(node.devices) if free == 1000][: pod.devices])


def with_pod(node: PlainNode, pod: PlainPod, devices: Iterable[int], sign: int = 1) -> PlainNode:
    left = list(node.devices)
    for device in devices:
        left[device] -= sign * pod.each
    return replace(
        node, cpu=node.cpu - sign * pod.cpu, memory=node.memory - sign * pod.memory, devices=tuple(left)
    )


def typical(pods: Iterable[PlainPod]) -> Counter[PlainPod]:
    counts = Counter(pods)
    found: Counter[PlainPod] = Counter()
    for pod, count in sorted(counts.items(), key=lambda item: -item[1]):
        if found.total() < 0.95 * counts.total():
            found[pod] = count
    return found


class PlainBestFit:
    def __init__(self, nodes: Mapping[str, PlainNode], demand: Sequence[PlainPod]) -> None:
        self.cpu = max(node.cpu for node in nodes.values()) or 1
        self.devices = max(len(node.devices) for node in nodes.values()) or 1

    def best(self, nodes: Mapping[str, PlainNode], pod: PlainPod) -> Choice:
        return min(places(nodes, pod), key=lambda place: self.rank(nodes[place[0]], pod, place[1]))

    def rank(self, node: PlainNode, pod: PlainPod, device: int | None) -> tuple[int, int]:
        left = 0.5 * (node.cpu - pod.cpu) / self.cpu
        left += 0.5 * (sum(node.devices) - pod.devices * pod.each) / (1000 * self.devices)
        return -math.floor(100 * (1 - left) + 1e-9), 0 if device is None else node.devices[device]


class PlainFragmentationGradient:
    def __init__(self, nodes: Mapping[str, PlainNode], demand: Sequence[PlainPod]) -> None:
        self.target = typical(replace(pod, memory=0) for pod in demand)

    def best(self, nodes: Mapping[str, PlainNode], pod: PlainPod) -> Choice:
        return max(places(nodes, pod), key=lambda place: self.score(nodes[place[0]], pod, place[1]))

    def score(self, node: PlainNode, pod: PlainPod, device: int | None) -> int:
        then = with_pod(node, pod, next(devices_for(node, pod)) if device is None else (device,))
        less = self.fragmentation(node) - self.fragmentation(then)
        return math.floor(100 / (1 + math.exp(-less / 1000)))

    def fragmentation(self, node: PlainNode) -> float:
        parts = [count * self.useless(node, pod) for pod, count in self.target.items()]
        return sum(parts) / self.target.total()

    def useless(self, node: PlainNode, pod: PlainPod) -> int:
        """What the pod could not use of the devices that are free."""
        if not pod.devices or not fits(replace(node, ready=True), pod):
            return sum(node.devices)
        return sum(free for free in node.devices if free < pod.each)


class PlainLeastLoss:
    def __init__(self, nodes: Mapping[str, PlainNode], demand: Sequence[PlainPod]) -> None:
        self.kinds = {pod: count for pod, count in typical(demand).items() if pod.devices}
        sizes: Counter[int] = Counter()
        for pod, count in self.kinds.items():
            sizes.update({pod.each: count} if pod.shares else {})
        self.worths = worths(sizes).tolist()
        self.worths[1000] = 1.02
        pressure = {name: self.pressure(nodes, node) for name, node in nodes.items()}
        devices = {name: len(node.devices) for name, node in nodes.items()}
        mean = sum(pressure[name] * devices[name] for name in nodes) / (sum(devices.values()) or 1)
        self.sought = {name: pressure[name] / mean if mean else 1.0 for name in nodes}

    def pressure(self, nodes: Mapping[str, PlainNode], node: PlainNode) -> float:
        found = 0.0
        for pod, count in self.kinds.items():
            reach = sum(len(other.devices) for other in nodes.values() if takes(other, pod))
            if takes(node, pod) and reach:
                found += count * pod.devices * pod.each / reach
        return found

    def loss(self, name: str, node: PlainNode, pod: PlainPod) -> tuple[float, int | None]:
        """On the best device."""
        options = list(devices_for(node, pod))
        device = None
        if pod.shares:
            device = min((only for (only,) in options), key=lambda only: self.drop(node, pod, only))
            options = [(device,)]
        then = with_pod(node, pod, options[0])
        return self.sought[name] * (self.value(node) - self.value(then)), device

    def drop(self, node: PlainNode, pod: PlainPod, device: int) -> tuple[float, int]:
        free = node.devices[device]
        return round(self.worths[free] - self.worths[free - pod.each], 9), free

    def value(self, node: PlainNode) -> float:
        worth = sum(self.worths[free] for free in node.devices)
        total = sum(self.kinds.values())
        mean = sum(
            count / total * self.usable(node, pod, worth) ** 8
            for pod, count in self.kinds.items()
            if takes(node, pod)
        )
        return float(worth + mean**0.125)

    def usable(self, node: PlainNode, pod: PlainPod, worth: float) -> float:
        pods = min(node.cpu // max(pod.cpu, 1), node.memory // max(pod.memory, 1))
        whole = node.devices.count(1000)
        return min(pods * pod.devices * pod.each / 1000, worth if pod.shares else whole - whole % pod.devices)


def places(nodes: Mapping[str, PlainNode], pod: PlainPod) -> list[Choice]:
    """Where it fits, nodes and devices in their order."""
    return [
        (name, devices[0] if pod.shares else None)
        for name, node in nodes.items()
        if fits(node, pod)
        for devices in devices_for(node, pod)
    ]
