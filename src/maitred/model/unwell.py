"""Devices that a node has and that no pod may have: what `status.capacity` counts and `status.allocatable`
does not, and what only the labels of a node tell of, because its device plugin is not registered.

What is kept for the system, of cpu and memory, is not unwell: only devices are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from maitred.model.node import Node
from maitred.model.quantity import LARGEST_AMOUNT, is_whole
from maitred.model.requests import Amounts, amounts
from maitred.model.selector import Labels, decimal_integer

Cause = Literal["Unhealthy", "NotAnswering", "NotRegistered"]

MOST_BY_LABEL = 10_000
"""More devices than any machine has: a label that says more says nothing."""
ANY_NUMBER = 2**40
"""More than any pod asks for in earnest, of devices that nobody has counted."""


@dataclass(frozen=True, slots=True)
class UnwellDevices:
    """Of one kind, on one node."""

    unwell: int
    of: int
    """All that the node has of the kind; 0 where nothing says how many."""
    label: str = ""
    """The label that tells of them, where no device plugin does."""

    @property
    def cause(self) -> Cause:
        """Whether the plugin reports that some are unhealthy; offers none, as it also seems to do for minutes
        after it has stopped; or is not registered."""
        if self.label:
            return "NotRegistered"
        return "NotAnswering" if self.unwell == self.of else "Unhealthy"

    @property
    def is_counted(self) -> bool:
        return self.of > 0


class DeviceLabels(NamedTuple):
    """The labels by which nodes tell of devices of one kind, whether or not a plugin offers them."""

    resource: str
    offered_as: tuple[str, ...]
    """What the names begin with under which a plugin may offer them: whole, shared or in parts."""
    signs: tuple[tuple[str, str], ...]
    """They say that there are some: a label, and what its value begins with."""
    counts: tuple[str, ...] = ()
    """They say how many."""
    uncounted: tuple[tuple[str, str], ...] = ()
    """They say that the plugin offers another number, or other names."""
    unless: tuple[tuple[str, str], ...] = ()
    """They say that no plugin is to offer them to pods."""


DEVICE_LABELS = (
    DeviceLabels(
        "nvidia.com/gpu",
        ("nvidia.com/gpu", "nvidia.com/mig-"),
        (
            ("nvidia.com/gpu.count", ""),
            ("nvidia.com/gpu.present", "true"),
            ("nvidia.com/gpu.product", ""),
            ("cloud.google.com/gke-accelerator", "nvidia-"),
            ("k8s.amazonaws.com/accelerator", "nvidia-"),
        ),
        ("nvidia.com/gpu.count", "cloud.google.com/gke-accelerator-count"),
        (
            ("nvidia.com/mig.strategy", "mixed"),
            ("nvidia.com/gpu.sharing-strategy", "time-slicing"),
            ("nvidia.com/gpu.sharing-strategy", "mps"),
        ),
        (("nvidia.com/gpu.deploy.device-plugin", "false"), ("nvidia.com/gpu.workload.config", "vm-")),
    ),
    DeviceLabels(
        "amd.com/gpu",
        ("amd.com/",),
        (("amd.com/gpu.product-name", ""), ("amd.com/gpu.device-id", ""), ("amd.com/gpu.family", "")),
    ),
    DeviceLabels(
        "google.com/tpu",
        ("google.com/tpu",),
        (("cloud.google.com/gke-tpu-accelerator", ""),),
        ("cloud.google.com/gke-accelerator-count",),
    ),
)


def resource_of(driver: str) -> str:
    """The resource for whose devices a driver publishes slices instead; empty if it is none of these. Vendors
    call them alike: `nvidia.com/gpu` and `gpu.nvidia.com`."""
    name, _, vendor = driver.partition(".")
    return next((kind.resource for kind in DEVICE_LABELS if kind.resource == f"{vendor}/{name}"), "")


NONE = (0, "0")
"""As manifests and API servers write it."""
SIGNS = tuple((kind, frozenset(label for label, _ in kind.signs)) for kind in DEVICE_LABELS)


def unwell_devices(node: Node) -> dict[str, UnwellDevices]:
    """By resource. A node that does not state its capacity tells of no more than it offers."""
    if not node.status.capacity:
        return {}
    found = _not_allocatable(node)
    labels, offered = node.metadata.labels, node.status.allocatable
    for kind, keys in SIGNS:
        # Heartbeats come by the thousand, and nearly all nodes are well: that is seen at a glance.
        if offered.get(kind.resource, 0) not in NONE or labels.keys().isdisjoint(keys):
            continue
        told = _told_by_labels(kind, labels)
        if told is not None and not _is_offered(kind, node):
            found[kind.resource] = told
    return found


def _not_allocatable(node: Node) -> dict[str, UnwellDevices]:
    have, free = node.status.capacity, node.status.allocatable
    amiss = [name for name in have if "/" in name and free and have[name] != free.get(name)]
    if not amiss:
        return {}
    all_, left = amounts({name: have[name] for name in amiss}), amounts(free)
    return {
        name: UnwellDevices(min(count, LARGEST_AMOUNT) - left.get(name, 0), min(count, LARGEST_AMOUNT))
        for name, count in all_.items()
        if min(count, LARGEST_AMOUNT) > left.get(name, 0) and is_whole(name)
    }


def _told_by_labels(kind: DeviceLabels, labels: Labels) -> UnwellDevices | None:
    sign = next((key for key, value in kind.signs if _says(labels, key, value)), None)
    if sign is None or any(_says(labels, key, value) for key, value in kind.unless):
        return None
    counted = next((key for key in kind.counts if decimal_integer(labels.get(key, "")) is not None), None)
    if counted is None or any(_says(labels, key, value) for key, value in kind.uncounted):
        return UnwellDevices(0, 0, sign)
    count = int(labels[counted])
    if count == 0:
        return None
    return UnwellDevices(count, count, counted) if 0 < count <= MOST_BY_LABEL else UnwellDevices(0, 0, sign)


def _says(labels: Labels, key: str, value: str) -> bool:
    return bool(labels.get(key)) and labels[key].startswith(value)


def _is_offered(kind: DeviceLabels, node: Node) -> bool:
    """Whether the node has any, under whatever name: then its plugin is registered."""
    sums = (node.status.capacity, node.status.allocatable)
    have = (amounts({n: q for n, q in one.items() if n.startswith(kind.offered_as)}) for one in sums)
    return any(any(one.values()) for one in have)


def missing(unwell: Mapping[str, UnwellDevices]) -> Amounts:
    """How many there are of each that no pod may have; as many as may be asked for where nobody says."""
    return {name: one.unwell if one.is_counted else ANY_NUMBER for name, one in unwell.items()}
