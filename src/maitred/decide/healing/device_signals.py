"""Devices that no pod may have, or that are gone: by node, and by the pods that have claimed them."""

from collections import defaultdict
from collections.abc import Mapping

from maitred.cluster.devices.pools import DeviceId, DevicePool, PooledDevice, PoolId
from maitred.cluster.snapshot import Snapshot
from maitred.model.devices.claims import AllocatedDevice, ResourceClaimStatus
from maitred.model.health.nodes import device_signal
from maitred.model.health.signals import Signal
from maitred.model.meta import CUT_TO

PODS = "pods"


class DeviceSignals:
    """Of one snapshot: by node, and by the pods and PodGroups that have claimed the devices."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self.on_nodes = defaultdict[str, list[Signal]](list)
        self.of_pods = defaultdict[str, list[Signal]](list)
        self.of_groups = defaultdict[str, list[Signal]](list)
        nodes = snapshot.nodes
        for row, unwell in sorted(nodes.unwell.items(), key=lambda one: nodes.names[one[0]]):
            for resource in sorted(unwell):
                self.on_nodes[nodes.names[row]].append(
                    device_signal(nodes.names[row], resource, unwell[resource])
                )
        tainted = self._tainted() if snapshot.inventory.is_tainted else {}
        for key, status in sorted(snapshot.allocated.claims.items()):
            self._claim(key, status, tainted)

    def _tainted(self) -> dict[DeviceId, Signal]:
        found = dict[DeviceId, Signal]()
        for pool in self._snapshot.inventory.pools.values():
            for device in pool.devices:
                if device.taints:
                    found[device.id] = tainted_signal(device)
                    if device.reach.node:
                        self.on_nodes[device.reach.node].append(found[device.id])
        return found

    def _claim(self, key: str, status: ResourceClaimStatus, tainted: Mapping[DeviceId, Signal]) -> None:
        namespace = key.partition("/")[0]
        results = () if status.allocation is None else status.allocation.devices.results
        for result in results:
            found = tainted.get(DeviceId(result.driver, result.pool, result.device)) or self._gone(result)
            if found is None or result.admin_access:
                continue
            for one in status.reserved_for:
                claimed = self.of_pods if one.resource == PODS else self.of_groups
                claimed[f"{namespace}/{one.name}"].append(found)
            if found.kind == "DeviceGone" and found.node and found not in self.on_nodes[found.node]:
                self.on_nodes[found.node].append(found)

    def _gone(self, result: AllocatedDevice) -> Signal | None:
        """Of a pool that is being updated, or is not valid, nothing is known."""
        inventory = self._snapshot.inventory
        pool = inventory.pools.get(PoolId(result.driver, result.pool))
        if pool is not None and (pool.problem or inventory.device(pool.id, result.device) is not None):
            return None
        if not inventory.pools:
            return None  # A dump without slices tells nothing of devices.
        return gone_signal(result, pool)


def tainted_signal(device: PooledDevice) -> Signal:
    taint = device.taints[0]
    value = f"={taint.value}" if taint.value else ""
    return Signal(
        kind="DeviceTainted",
        family="Device",
        certainty="certain",
        about="device",
        words=f"has device {device.id} with the taint {taint.key}{value}:{taint.effect}",
        node=device.reach.node,
        device=str(device.id),
        evidence={"taint": taint.key, "value": taint.value[:CUT_TO], "effect": taint.effect},
    )


def gone_signal(result: AllocatedDevice, pool: DevicePool | None) -> Signal:
    """A driver that has left takes all of its slices along: then it may be the driver, not the device."""
    id = DeviceId(result.driver, result.pool, result.device)
    words = f"has no device {id} any more, which a pod has claimed"
    if pool is None:
        words = f"has lost pool {result.driver}/{result.pool}: its driver publishes it no more"
    return Signal(
        kind="DeviceGone",
        family="Infrastructure" if pool is None else "Device",
        certainty="likely",
        about="device",
        words=words,
        node="" if pool is None else pool.node,
        device=str(id),
        evidence={"driver": result.driver, "pool": result.pool, "device": result.device},
    )
