"""Devices that a node has and does not offer: broken ones, and those whose device plugin is not registered.

For each vendor, written down from the documentation of its device plugin and feature discovery:
which names the plugin offers, which labels give the devices away, and how many there are."""

from collections.abc import Iterable, Mapping

from . import quantity
from .fields import Doc
from .selectors import Labels

ANY = 2**40
"""As many as anybody asks for: the labels tell of devices and not how many there are."""
MOST = 10_000
SHARED = ("time-slicing", "mps")
GKE_COUNT = "cloud.google.com/gke-accelerator-count"


def broken_devices(status: Doc, offered: Mapping[str, int]) -> dict[str, int]:
    """Extended resources are whole devices: what of them is not allocatable is broken. What the kubelet keeps
    of cpu and memory for the system is not. With how many there are in all."""
    return {
        name: n for name, n in _capacity(status).items() if _is_extended(name) and n > offered.get(name, 0)
    }


def unregistered_devices(status: Doc, labels: Labels) -> dict[str, int]:
    """Devices that only the labels of a node know of. A node without a capacity has said all in what is
    allocatable."""
    if not _capacity(status):
        return {}
    offered = quantity.whole(quantity.amounts(status.doc("allocatable")))
    has = [name for name, count in (*_capacity(status).items(), *offered.items()) if count]
    found = {}
    if not any(name.startswith(("nvidia.com/gpu", "nvidia.com/mig-")) for name in has):
        found["nvidia.com/gpu"] = _nvidia(labels)
    if not any(name.startswith("amd.com/") for name in has):
        told = any(labels.get(f"amd.com/gpu.{what}") for what in ("product-name", "device-id", "family"))
        found["amd.com/gpu"] = ANY if told else 0
    if not any(name.startswith("google.com/tpu") for name in has):
        told = bool(labels.get("cloud.google.com/gke-tpu-accelerator"))
        found["google.com/tpu"] = _number(labels, GKE_COUNT) if told else 0
    return {name: count for name, count in found.items() if count}


DRIVERS = {
    "gpu.nvidia.com": "nvidia.com/gpu",
    "gpu.amd.com": "amd.com/gpu",
    "tpu.google.com": "google.com/tpu",
}
"""Those that publish in slices what the device plugins of their vendors offer as resources."""


def published_devices(slices: Iterable[Doc]) -> set[tuple[str, str]]:
    """Nodes that have such slices, with the resource that no plugin is to offer there."""
    found = ((one.doc("spec").text("nodeName"), one.doc("spec").text("driver")) for one in slices)
    return {(node, DRIVERS[driver]) for node, driver in found if driver in DRIVERS}


def _nvidia(labels: Labels) -> int:
    told = (
        labels.get("nvidia.com/gpu.count")
        or labels.get("nvidia.com/gpu.product")
        or labels.get("nvidia.com/gpu.present", "").startswith("true")
        or labels.get("cloud.google.com/gke-accelerator", "").startswith("nvidia-")
        or labels.get("k8s.amazonaws.com/accelerator", "").startswith("nvidia-")
    )
    unwanted = labels.get("nvidia.com/gpu.deploy.device-plugin", "").startswith("false")
    if not told or unwanted or labels.get("nvidia.com/gpu.workload.config", "").startswith("vm-"):
        return 0
    other_names = labels.get("nvidia.com/mig.strategy", "").startswith("mixed")
    if other_names or labels.get("nvidia.com/gpu.sharing-strategy", "").startswith(SHARED):
        return ANY
    return _number(labels, "nvidia.com/gpu.count", GKE_COUNT)


def _number(labels: Labels, *keys: str) -> int:
    """What the first of these labels says that is a number."""
    for key in keys:
        text = labels.get(key, "")
        digits = text.removeprefix("-")
        if digits.isascii() and digits.isdigit() and str(int(text)) == text:
            return int(text) if 0 <= int(text) <= MOST else ANY
    return ANY


def _capacity(status: Doc) -> dict[str, int]:
    return quantity.whole(quantity.amounts(status.doc("capacity")))


def _is_extended(name: str) -> bool:
    return "/" in name and "kubernetes.io/" not in name
