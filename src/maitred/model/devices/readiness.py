"""Devices that have to be made ready after they were allocated, before a pod that uses them is bound.

A device names conditions that must be True, and conditions of which none may be. Its driver, or whoever
attaches it, writes them into the status of the claim.
"""

from maitred.model.devices.claims import AllocatedDevice, AllocatedDeviceStatus, ResourceClaimStatus


def needs_time(status: ResourceClaimStatus) -> bool:
    """Whether any of its devices has to be made ready."""
    return any(device.binding_conditions for device in _devices(status))


def failure(status: ResourceClaimStatus) -> str:
    """In words, of the first device that will not be ready; empty if there is none."""
    for device in _devices(status):
        for condition in _status_of(device, status).conditions if device.binding_conditions else ():
            if condition.type in device.binding_failure_conditions and condition.status == "True":
                why = ": ".join(filter(None, (condition.reason, condition.message)))
                return f"{words(device)} failed: {condition.type}" + (f" ({why})" if why else "")
    return ""


def unready(status: ResourceClaimStatus) -> str:
    """In words, of the first device that is not ready; empty if all are."""
    for device in _devices(status):
        met = {one.type for one in _status_of(device, status).conditions if one.status == "True"}
        missing = [condition for condition in device.binding_conditions if condition not in met]
        if missing:
            return f"{words(device)} is not ready: condition {missing[0]} is not True"
    return ""


def words(device: AllocatedDevice) -> str:
    return f"device {device.device} of pool {device.pool} ({device.driver})"


def _devices(status: ResourceClaimStatus) -> tuple[AllocatedDevice, ...]:
    return () if status.allocation is None else status.allocation.devices.results


def _status_of(device: AllocatedDevice, status: ResourceClaimStatus) -> AllocatedDeviceStatus:
    """An empty one until somebody writes it."""
    place = device.place[1:]
    return next(
        (one for one in status.devices if (one.driver, one.pool, one.device, one.share_id) == place),
        AllocatedDeviceStatus(),
    )
