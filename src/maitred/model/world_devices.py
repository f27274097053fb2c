"""Devices of a world: which nodes, racks or blocks have how many, and how they can be given away."""

import re
from collections.abc import Collection, Sequence
from typing import Annotated, Literal

import msgspec

from maitred.model.manifest.checks import check_key, check_quantities, name_problem
from maitred.model.manifest.errors import FieldError
from maitred.model.pod import Resources
from maitred.model.quantity import thousandths
from maitred.model.setting import Setting

MOST_DEVICES = 200_000
"""In a world. Partitions of a device count as devices."""
LONGEST_NAME, LONGEST_DRIVER, LONGEST_VALUE = 40, 63, 64
MOST_DESCRIBED = 24
"""Attributes and capacities that a world gives to a device. The API allows 32, and some are added here."""
_IDENTIFIER = re.compile("[A-Za-z_][A-Za-z0-9_]{0,31}")
_LABEL = re.compile("[a-z0-9]([-a-z0-9]*[a-z0-9])?")

Few = Annotated[int, msgspec.Meta(ge=1, le=128)]
Attribute = str | int | bool


class Partition(Setting, frozen=True):
    """A part of a device that can be given away instead of all of it, at so many places of it."""

    name: str
    capacity: Resources
    count: Few = 1


class WorldDevice(Setting, frozen=True):
    """Devices that are alike: so many on each node of these kinds, or for each rack or block that has one."""

    name: str
    """Of their class too; devices on other nodes can have the same name, with other attributes."""
    driver: str
    count: Few = 1
    kinds: tuple[str, ...] = ()
    """Kinds of nodes; none: all."""
    per: Literal["node", "rack", "block"] = "node"
    attributes: dict[str, Attribute] = {}
    """In texts, {node}, {rack} and {block} stand for the names of these."""
    capacity: Resources = {}
    pcie_roots: Few | None = None
    """Devices of a node are spread evenly over so many PCIe roots,"""
    numa_nodes: Few | None = None
    """and over so many NUMA nodes."""
    partitions: tuple[Partition, ...] = ()
    shared: bool = False
    """Claims can have shares of its capacity."""
    resource: str = ""
    """Pods can ask for it by this extended resource too."""

    @property
    def total(self) -> int:
        """Devices for each node, rack or block."""
        return self.count * (1 + sum(partition.count for partition in self.partitions))


def check_devices(devices: Sequence[WorldDevice], kinds: Collection[str], nodes: int) -> None:
    for position, device in enumerate(devices):
        check_device(f"devices[{position}]", device, kinds)
        for other in devices[:position]:
            if device.name == other.name:
                check_namesake(f"devices[{position}]", device, other)
    total = sum(device.total * nodes for device in devices)
    if total > MOST_DEVICES:
        raise FieldError("devices", f"up to {total} devices in all; at most {MOST_DEVICES} are simulated")


def check_device(field: str, device: WorldDevice, kinds: Collection[str]) -> None:
    check_label(f"{field}.name", device.name)
    if problem := name_problem(device.driver, LONGEST_DRIVER):
        raise FieldError(f"{field}.driver", problem)
    for kind in device.kinds:
        if kind not in kinds:
            raise FieldError(f"{field}.kinds", f"{kind!r} is none of the kinds: {', '.join(kinds)}")
    check_described(field, device)
    if device.per != "node" and (device.pcie_roots or device.numa_nodes):
        raise FieldError(field, "only devices of nodes have PCIe roots and NUMA nodes; leave these out")
    if device.resource:
        check_key(f"{field}.resource", device.resource)
    if device.shared and device.partitions:
        raise FieldError(f"{field}.shared", "a device has either shares or partitions; leave one of them out")
    for number, partition in enumerate(device.partitions):
        check_partition(f"{field}.partitions[{number}]", partition, device)


def check_namesake(field: str, device: WorldDevice, other: WorldDevice) -> None:
    """Devices of one name are of one class, and no node has two sorts of them."""
    if (device.driver, device.per) != (other.driver, other.per):
        raise FieldError(field, f"devices named {device.name!r} must have the same driver and the same `per`")
    if not device.kinds or not other.kinds or set(device.kinds) & set(other.kinds):
        what = (
            f"another entry has devices named {device.name!r} on the same nodes; set `kinds`, or another name"
        )
        raise FieldError(f"{field}.kinds", what)


def check_described(field: str, device: WorldDevice) -> None:
    check_quantities([(f"{field}.capacity", device.capacity)])
    for part, names in (("attributes", device.attributes), ("capacity", device.capacity)):
        for name in names:
            if not _IDENTIFIER.fullmatch(name):
                raise FieldError(
                    f"{field}.{part}", f"{name[:60]!r} is not a name: letters, digits and '_' only"
                )
    for name, value in device.attributes.items():
        if isinstance(value, str) and len(value) > LONGEST_VALUE:
            what = f"is {len(value)} characters long; the API allows {LONGEST_VALUE}"
            raise FieldError(f"{field}.attributes.{name}", what)
    if len(device.attributes) + len(device.capacity) > MOST_DESCRIBED:
        raise FieldError(field, f"at most {MOST_DESCRIBED} attributes and capacities can be given")


def check_partition(field: str, partition: Partition, device: WorldDevice) -> None:
    check_label(f"{field}.name", partition.name)
    check_quantities([(f"{field}.capacity", partition.capacity)])
    if not partition.capacity:
        raise FieldError(f"{field}.capacity", "is required: what of its device does the partition take?")
    for name, amount in partition.capacity.items():
        if name not in device.capacity:
            raise FieldError(f"{field}.capacity", f"the device has no capacity {name!r}")
        if thousandths(amount) > thousandths(device.capacity[name]):
            raise FieldError(f"{field}.capacity.{name}", f"{amount} is more than the device has")


def check_label(field: str, name: str) -> None:
    if len(name) > LONGEST_NAME or not _LABEL.fullmatch(name):
        what = f"{name[:60]!r} is not a name: up to {LONGEST_NAME} small letters, digits and '-'"
        raise FieldError(field, what)
