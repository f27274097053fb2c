"""Devices as drivers publish them, and claims for them. Same arguments, same object."""

from dataclasses import dataclass
from typing import Any

from benchmarks.objects import CREATED, NAMESPACE, Obj, Template, job_pod, owner

GPU_DRIVER = "gpu.example.com"
CLASS = "gpu.example.com"
LINK = f"{GPU_DRIVER}/link"
API = "resource.k8s.io/v1"
ON_LINK = 4
"""Devices of a node that share a link."""


@dataclass(frozen=True, slots=True)
class Product:
    model: str
    memory: int
    """GiB."""


H100, A100 = Product("H100", 80), Product("A100", 40)
PRODUCTS = (H100, A100)


def product_of(number: int) -> Product:
    """Of the devices of a node: of three nodes two have the larger."""
    return PRODUCTS[number % 3 == 2]


def device_class() -> Obj:
    selector = {"cel": {"expression": f"device.driver == '{GPU_DRIVER}'"}}
    return {
        "apiVersion": API,
        "kind": "DeviceClass",
        "metadata": {"name": CLASS, "creationTimestamp": CREATED},
        "spec": {"selectors": [selector]},
    }


def resource_slice(node: str, number: int, devices: int, generation: int = 1) -> Obj:
    return {
        "apiVersion": API,
        "kind": "ResourceSlice",
        "metadata": {
            "name": f"{node}-{GPU_DRIVER}-x7k2p",
            "uid": f"2c6f1f2e-0000-4000-8000-{node:0>12}",
            "creationTimestamp": CREATED,
            "ownerReferences": [owner("v1", "Node", node, f"7d0c9a5e-0000-4000-8000-{node:0>12}")],
        },
        "spec": {
            "driver": GPU_DRIVER,
            "nodeName": node,
            "pool": {"name": node, "generation": generation, "resourceSliceCount": 1},
            "devices": [device(number, place) for place in range(devices)],
        },
    }


def device_name(place: int) -> str:
    return f"gpu-{place}"


def device(number: int, place: int) -> Obj:
    """As drivers of real GPUs describe them: most of it is the same for all, and the UUID is its own."""
    product = product_of(number)
    texts = {
        "model": product.model,
        "productName": f"Example {product.model} {product.memory}GB",
        "architecture": "Hopper" if product is H100 else "Ampere",
        "brand": "Example",
        "type": "gpu",
        "link": f"fabric-{number:05}-{place // ON_LINK}",
        "uuid": f"GPU-{number:08x}-0000-4000-8000-{place:012x}",
        "resource.kubernetes.io/pcieRoot": f"pci0000:{place // 2:02x}",
        "resource.kubernetes.io/pciBusID": f"0000:{place:02x}:00.0",
    }
    attributes: dict[str, Any] = {name: {"string": text} for name, text in texts.items()}
    attributes |= {
        "driverVersion": {"version": "570.124.6"},
        "cudaComputeCapability": {"version": "9.0.0"},
        "numa": {"int": place // ON_LINK},
    }
    capacity = {"memory": {"value": f"{product.memory}Gi"}}
    return {"name": device_name(place), "attributes": attributes, "capacity": capacity}


# -- claims ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a claim asks for: so many devices on one link, of a model, with that much memory."""

    count: int
    model: str = H100.model
    memory: int = 64
    """GiB."""

    def spec(self) -> Obj:
        domain = f"['{GPU_DRIVER}']"
        model = f"device.attributes{domain}.model == '{self.model}'"
        memory = f"device.capacity{domain}.memory.compareTo(quantity('{self.memory}Gi')) >= 0"
        request = {
            "name": "gpus",
            "exactly": {
                "deviceClassName": CLASS,
                "allocationMode": "ExactCount",
                "count": self.count,
                "selectors": [{"cel": {"expression": f"{model} && {memory}"}}],
            },
        }
        return {"devices": {"requests": [request], "constraints": [{"matchAttribute": LINK}]}}


def claim_template(name: str, wanted: Wanted) -> Obj:
    return {
        "apiVersion": API,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": name, "namespace": NAMESPACE, "creationTimestamp": CREATED},
        "spec": {"spec": wanted.spec()},
    }


def claiming_pod(job: str, index: int, template: str, **spec: Any) -> Obj:
    """A pod of an Indexed Job with a claim of its own, made from a template."""
    claims = [{"name": "gpus", "resourceClaimTemplateName": template}]
    pod = job_pod(job, index, Template(gpus=0, spec={"resourceClaims": claims, **spec}), job)
    pod["spec"]["containers"][0]["resources"]["claims"] = [{"name": "gpus"}]
    pod["spec"]["tolerations"].append({"operator": "Exists"})
    return pod


def allocated_claim(name: str, node: str, places: range) -> Obj:
    """A claim that has these devices of a node, and that nobody is known to use."""
    here = {"key": "metadata.name", "operator": "In", "values": [node]}
    results = [
        {"request": "gpus", "driver": GPU_DRIVER, "pool": node, "device": device_name(place)}
        for place in places
    ]
    allocation = {
        "devices": {"results": results},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [here]}]},
    }
    consumer = {"resource": "pods", "name": name, "uid": f"5f1e0b1c-0000-4000-8000-{name}"}
    return {
        "apiVersion": API,
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": NAMESPACE, "creationTimestamp": CREATED},
        "spec": Wanted(len(places)).spec(),
        "status": {"allocation": allocation, "reservedFor": [consumer]},
    }
