"""What drivers publish of their devices: pools of slices, and taints that others put on them."""

from typing import Literal

from msgspec import field

from maitred.model.meta import Lean
from maitred.model.objects import Object
from maitred.model.pod import NodeSelector

Quantity = str | int | float
TaintEffect = Literal["None", "NoSchedule", "NoExecute"]
REPELLING: tuple[TaintEffect, ...] = ("NoSchedule", "NoExecute")
"""Effects that keep a device from being allocated."""


class DeviceAttribute(Lean, frozen=True):
    """One of these is set. Versions are texts that are compared as semantic versions."""

    int_value: int | None = field(default=None, name="int")
    bool_value: bool | None = field(default=None, name="bool")
    string: str | None = None
    version: str | None = None
    ints: tuple[int, ...] = ()
    bools: tuple[bool, ...] = ()
    strings: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()


class CapacityRange(Lean, frozen=True):
    min: Quantity | None = None
    max: Quantity | None = None
    step: Quantity | None = None


class CapacityRequestPolicy(Lean, frozen=True):
    default: Quantity | None = None
    valid_values: tuple[Quantity, ...] = ()
    valid_range: CapacityRange | None = None


class DeviceCapacity(Lean, frozen=True):
    value: Quantity = 0
    request_policy: CapacityRequestPolicy | None = None


class Counter(Lean, frozen=True):
    value: Quantity = 0


class CounterSet(Lean, frozen=True):
    name: str = ""
    counters: dict[str, Counter] = {}


class CounterConsumption(Lean, frozen=True):
    """What of a counter set is used up while the device is allocated."""

    counter_set: str = ""
    counters: dict[str, Counter] = {}
    compatibility_groups: tuple[str, ...] = ()


class DeviceTaint(Lean, frozen=True):
    key: str = ""
    value: str = ""
    effect: TaintEffect = "None"


class Device(Lean, frozen=True):
    name: str = ""
    attributes: dict[str, DeviceAttribute] = {}
    capacity: dict[str, DeviceCapacity] = {}
    consumes_counters: tuple[CounterConsumption, ...] = ()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    taints: tuple[DeviceTaint, ...] = ()
    binds_to_node: bool = False
    binding_conditions: tuple[str, ...] = ()
    binding_failure_conditions: tuple[str, ...] = ()
    allow_multiple_allocations: bool = False


class ResourcePool(Lean, frozen=True):
    name: str = ""
    generation: int = 0
    resource_slice_count: int = 1


class ResourceSliceSpec(Lean, frozen=True):
    driver: str = ""
    pool: ResourcePool = ResourcePool()
    node_name: str | None = None
    node_selector: NodeSelector | None = None
    all_nodes: bool = False
    per_device_node_selection: bool = False
    devices: tuple[Device, ...] = ()
    shared_counters: tuple[CounterSet, ...] = ()
    skip_node_operations: tuple[str, ...] = ()


class ResourceSlice(Object, frozen=True):
    spec: ResourceSliceSpec = ResourceSliceSpec()


class DeviceTaintSelector(Lean, frozen=True):
    """Devices that a rule taints: those that agree in all that is set."""

    driver: str | None = None
    pool: str | None = None
    device: str | None = None


class DeviceTaintRuleSpec(Lean, frozen=True):
    device_selector: DeviceTaintSelector | None = None
    taint: DeviceTaint = DeviceTaint()


class DeviceTaintRule(Object, frozen=True):
    spec: DeviceTaintRuleSpec = DeviceTaintRuleSpec()
