"""What a case made by hand is, and what cases are made of."""

from dataclasses import dataclass, field
from typing import Any

from tests.devices.made import (
    GPUS,
    HOSTNAME,
    NICS,
    SHARED,
    World,
    allocated,
    claim,
    device,
    device_class,
    node,
    pod,
    pool_slice,
    request,
    result,
)

Obj = dict[str, Any]

ERROR = "error"
"""kube-scheduler gives up on the pod for an error, whatever other nodes have."""


@dataclass(frozen=True)
class Case:
    name: str
    objects: list[Obj]
    claims: list[Obj]
    node: str | None
    kube: str | None = None
    """What kube-scheduler does, where that differs; docs/compatibility.md has a row with the reason."""
    pod: Obj = field(default_factory=dict)
    """Of the pod's spec; `templates` names those of its claims that come from templates."""

    @property
    def world(self) -> World:
        names = [item["metadata"]["name"] for item in self.claims]
        made = pod("asking", *names, **self.pod)
        return World(self.name, self.objects, made, self.claims)


COMMON = [
    node("n1", rack="r1"),
    node("n2", rack="r2"),
    device_class("gpu", f'device.driver == "{GPUS}"', extendedResourceName="dra.example.com/gpu"),
    device_class("nic", f'device.driver == "{NICS}"'),
]
"""What is there in every case."""
ON_N2: Obj = {"nodeSelector": {HOSTNAME: "n2"}}
"""For what every node can serve."""
OWN = f'device.attributes["{GPUS}"]'
ALL: Obj = {"allocationMode": "All"}
LINK, LINKS = f"{SHARED}/link", f"{SHARED}/links"


def gpus(*devices: Obj, on: str = "n1", **options: Any) -> Obj:
    return pool_slice(on, devices, nodeName=on, **options)


def gpu(
    name: str = "d0", link: str = "", more: Obj | None = None, capacity: Obj | None = None, **own: Any
) -> Obj:
    shared = {LINK: link} if link else {}
    return device(name, capacity, more, **own, **shared)


def one(*expressions: str, **exactly: Any) -> list[Obj]:
    """A claim of one request."""
    return [claim("claim", request("r", "gpu", *expressions, **exactly))]


def held(device_name: str, on: str = "n1", number: int = 0, **more: Any) -> list[Obj]:
    """A pod that runs, with its device."""
    name = f"holder{number}"
    asked = {"adminAccess": True} if more.get("adminAccess") else {}
    had = allocated(
        claim(name, request("r", "gpu", **asked)), result(device_name, on, **more), to=name, node_name=on
    )
    return [had, pod(name, name, nodeName=on)]
