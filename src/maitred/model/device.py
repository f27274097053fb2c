"""Device classes, as far as they stand behind a resource that pods ask for by name and number."""

from collections.abc import Mapping

from maitred.model.meta import Lean
from maitred.model.objects import Object

IMPLIED_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Every class can be asked for as an extended resource of this prefix and its name."""


class DeviceClassSpec(Lean, frozen=True):
    extended_resource_name: str = ""


class DeviceClass(Object, frozen=True):
    spec: DeviceClassSpec = DeviceClassSpec()


def class_of_resources(classes: Mapping[str, DeviceClass]) -> dict[str, str]:
    """Extended resources that devices can be asked for by, and the name of the class of each."""
    found = {f"{IMPLIED_PREFIX}{name}": name for name in classes}
    for name in sorted(classes):
        if classes[name].spec.extended_resource_name:
            found[classes[name].spec.extended_resource_name] = name
    return found
