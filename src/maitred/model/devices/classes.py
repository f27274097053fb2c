"""Device classes: what their devices have in common, and the resource that they can be asked for by."""

from collections.abc import Mapping
from typing import Any

from maitred.model.meta import Lean
from maitred.model.objects import Object

IMPLIED_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Every class can be asked for as an extended resource of this prefix and its name."""


class CelSelector(Lean, frozen=True):
    expression: str = ""


class DeviceSelector(Lean, frozen=True):
    cel: CelSelector | None = None


class OpaqueConfiguration(Lean, frozen=True):
    driver: str = ""
    parameters: Any = None


class DeviceConfiguration(Lean, frozen=True):
    """What is passed on to a driver. Nobody else reads it."""

    opaque: OpaqueConfiguration | None = None


class DeviceClassSpec(Lean, frozen=True):
    selectors: tuple[DeviceSelector, ...] = ()
    config: tuple[DeviceConfiguration, ...] = ()
    extended_resource_name: str = ""


class DeviceClass(Object, frozen=True):
    spec: DeviceClassSpec = DeviceClassSpec()


def class_of_resources(classes: Mapping[str, DeviceClass]) -> dict[str, str]:
    """Extended resources that devices can be asked for by, and the name of the class of each."""
    found = {f"{IMPLIED_PREFIX}{name}": name for name in classes}

    def age(name: str) -> float:
        created = classes[name].metadata.creation_timestamp
        return created.timestamp() if created is not None else 0.0

    # Of several that serve one resource, the newest does; of those, the first by name.
    for name in sorted(sorted(classes, reverse=True), key=age):
        if classes[name].spec.extended_resource_name:
            found[classes[name].spec.extended_resource_name] = name
    return found
