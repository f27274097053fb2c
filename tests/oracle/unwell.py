"""Devices that nodes have and do not offer, read off the raw objects a third time."""

import re

from tests.oracle.builders import Obj

PLENTY = 1_000_000
"""Where labels tell of devices and not how many there are, there may be as many as anyone asks for."""
SIGNS = {
    "nvidia.com/gpu": [
        ("nvidia.com/gpu.count", ""),
        ("nvidia.com/gpu.product", ""),
        ("nvidia.com/gpu.present", "true"),
        ("cloud.google.com/gke-accelerator", "nvidia-"),
        ("k8s.amazonaws.com/accelerator", "nvidia-"),
    ],
    "amd.com/gpu": [(f"amd.com/gpu.{what}", "") for what in ("product-name", "device-id", "family")],
    "google.com/tpu": [("cloud.google.com/gke-tpu-accelerator", "")],
}
NUMBERS = {
    "nvidia.com/gpu": ["nvidia.com/gpu.count", "cloud.google.com/gke-accelerator-count"],
    "google.com/tpu": ["cloud.google.com/gke-accelerator-count"],
}
PLAIN = re.compile("0|[1-9][0-9]{0,8}")
OFFERED = {"nvidia.com/gpu": ("nvidia.com/gpu", "nvidia.com/mig-"), "amd.com/gpu": ("amd.com/",)}


def repaired(node: Obj) -> dict[str, str]:
    """What the node would offer if its devices were well, and their plugins registered."""
    status, labels = node["status"], node["metadata"].get("labels", {})
    offered, capacity = status.get("allocatable") or status.get("capacity", {}), status.get("capacity", {})
    extended = {name: n for name, n in capacity.items() if "/" in name and "kubernetes.io/" not in name}
    found = {**offered, **{name: n for name, n in extended.items() if int(n) > int(offered.get(name, 0))}}
    for resource, signs in SIGNS.items():
        names = OFFERED.get(resource, (resource,))
        have = (*capacity.items(), *offered.items())
        registered = any(name.startswith(names) and int(n) for name, n in have)
        if capacity and not registered and any(_says(labels, *sign) for sign in signs):
            found[resource] = str(_number(resource, labels))
    return found


def _says(labels: dict[str, str], key: str, start: str) -> bool:
    return bool(labels.get(key)) and labels[key].startswith(start)


def _number(resource: str, labels: dict[str, str]) -> int:
    if resource == "nvidia.com/gpu":
        if _says(labels, "nvidia.com/gpu.deploy.device-plugin", "false"):
            return 0
        if _says(labels, "nvidia.com/gpu.workload.config", "vm-"):
            return 0
        if labels.get("nvidia.com/gpu.sharing-strategy", "none") in ("time-slicing", "mps"):
            return PLENTY
        if labels.get("nvidia.com/mig.strategy") == "mixed":
            return PLENTY
    said = [int(labels[key]) for key in NUMBERS.get(resource, ()) if PLAIN.fullmatch(labels.get(key, ""))]
    return said[0] if said and said[0] <= 10_000 else PLENTY
