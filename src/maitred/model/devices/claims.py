"""Claims of devices: what is asked for, and what has been allocated."""

from typing import Any, Literal

from msgspec import field

from maitred.model.devices.classes import DeviceConfiguration, DeviceSelector, OpaqueConfiguration
from maitred.model.devices.slices import Quantity
from maitred.model.meta import LONGEST_NAME, Lean
from maitred.model.objects import Object
from maitred.model.pod import NodeSelector

FINALIZER = "resource.kubernetes.io/delete-protection"
"""On a claim that is allocated, so that it is not deleted while it is in use."""
POD_CLAIM_NAME = "resource.kubernetes.io/pod-claim-name"
"""An annotation of a claim that was made from a template: what the pod calls it."""
EXTENDED_RESOURCE_CLAIM = "resource.kubernetes.io/extended-resource-claim"
"""An annotation of a claim that a scheduler has made for a pod, which asks for devices by a resource."""
ALLOCATED_BY = "maitred.dev/allocated-by"
"""An annotation of a claim: the scheduler of ours that has allocated it, and that takes this back."""
MOST_DEVICES = 32
"""In one claim."""
MOST_CONSUMERS = 256
"""Of one claim."""


def made_claim_name(pod: str) -> str:
    """Of the claim that is made for a pod. It depends on the pod alone, so that none is made twice."""
    suffix = "-extended-resources"
    return pod[: LONGEST_NAME - len(suffix)].rstrip("-.") + suffix


class DeviceToleration(Lean, frozen=True):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class CapacityRequirements(Lean, frozen=True):
    requests: dict[str, Quantity] = {}


class ExactRequest(Lean, frozen=True):
    device_class_name: str = ""
    selectors: tuple[DeviceSelector, ...] = ()
    allocation_mode: Literal["", "ExactCount", "All"] = ""
    count: int = 0
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    capacity: CapacityRequirements | None = None
    derived_attributes: tuple[Any, ...] = ()
    name: str = ""
    """Of one that is among the alternatives of another."""


class DeviceRequest(Lean, frozen=True):
    name: str = ""
    exactly: ExactRequest | None = None
    first_available: tuple[ExactRequest, ...] = ()


class DeviceConstraint(Lean, frozen=True):
    requests: tuple[str, ...] = ()
    match_attribute: str = ""
    distinct_attribute: str = ""


class ClaimConfiguration(DeviceConfiguration, frozen=True):
    requests: tuple[str, ...] = ()


class DeviceClaim(Lean, frozen=True):
    requests: tuple[DeviceRequest, ...] = ()
    constraints: tuple[DeviceConstraint, ...] = ()
    config: tuple[ClaimConfiguration, ...] = ()


class ResourceClaimSpec(Lean, frozen=True):
    devices: DeviceClaim = DeviceClaim()


class AllocatedDevice(Lean, frozen=True):
    """One result of an allocation, as Kubernetes writes it."""

    request: str = ""
    driver: str = ""
    pool: str = ""
    device: str = ""
    admin_access: bool | None = None
    tolerations: tuple[DeviceToleration, ...] = ()
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    share_id: str = field(default="", name="shareID")
    consumed_capacity: dict[str, Quantity] = {}
    skip_node_operations: tuple[str, ...] = ()

    @property
    def place(self) -> tuple[str, str, str, str, str]:
        """Which device it is, or which share of one, and for which request."""
        return self.request, self.driver, self.pool, self.device, self.share_id


class AllocatedConfiguration(Lean, frozen=True):
    source: Literal["FromClass", "FromClaim"]
    requests: tuple[str, ...] = ()
    opaque: OpaqueConfiguration | None = None


class DeviceAllocation(Lean, frozen=True):
    results: tuple[AllocatedDevice, ...] = ()
    config: tuple[AllocatedConfiguration, ...] = ()


class Allocation(Lean, frozen=True):
    devices: DeviceAllocation = DeviceAllocation()
    node_selector: NodeSelector | None = None

    def has_devices_of(self, other: "Allocation") -> bool:
        """Whether the same requests have the same devices in both."""
        return {one.place for one in self.devices.results} == {one.place for one in other.devices.results}


class Consumer(Lean, frozen=True):
    """A pod or a PodGroup for which a claim is reserved."""

    resource: str = ""
    name: str = ""
    uid: str = ""
    api_group: str = ""


class DeviceCondition(Lean, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""


class AllocatedDeviceStatus(Lean, frozen=True):
    driver: str = ""
    pool: str = ""
    device: str = ""
    share_id: str = field(default="", name="shareID")
    conditions: tuple[DeviceCondition, ...] = ()


class ResourceClaimStatus(Lean, frozen=True):
    allocation: Allocation | None = None
    reserved_for: tuple[Consumer, ...] = ()
    devices: tuple[AllocatedDeviceStatus, ...] = ()


class ResourceClaim(Object, frozen=True):
    spec: ResourceClaimSpec = ResourceClaimSpec()
    status: ResourceClaimStatus = ResourceClaimStatus()


class ResourceClaimTemplateSpec(Lean, frozen=True):
    spec: ResourceClaimSpec = ResourceClaimSpec()
    metadata: Any = None


class ResourceClaimTemplate(Object, frozen=True):
    spec: ResourceClaimTemplateSpec = ResourceClaimTemplateSpec()
