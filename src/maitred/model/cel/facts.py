"""What an expression sees of a device."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from maitred.model.cel.values import Quantity, Version

AttributeValue = int | bool | str | Version | list[int] | list[bool] | list[str] | list[Version]


@dataclass(frozen=True)
class DeviceFacts:
    """Attributes and capacity are by qualified name, `domain/id`; a name that the slice writes without a
    domain has the driver's name for one."""

    driver: str
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    capacity: Mapping[str, Quantity] = field(default_factory=dict)
    allow_multiple_allocations: bool = False
