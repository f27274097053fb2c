"""Devices that claims are for, as the floor of a sandbox follows them."""

import msgspec

from maitred.cluster.devices.hardware import DeviceKind, Tally
from maitred.model.devices.claims import ResourceClaim
from maitred.model.devices.slices import DeviceTaintRule, ResourceSlice
from maitred.sandbox.world.watched_devices import WatchedDevices
from tests.oracle.device_builders import claim_spec, device, resource_claim, resource_slice, taint_rule

GPU = DeviceKind("gpu", "")


def test_slices_claims_and_taints_are_followed() -> None:
    told = list[None]()
    devices = WatchedDevices(lambda: told.append(None))
    assert devices.by_node() == {}
    slices, claims, rules = (devices.sinks[kind] for kind in (ResourceSlice, ResourceClaim, DeviceTaintRule))
    pool = resource_slice("n1-gpus", "gpu", [device("a"), device("b")], node="n1")
    slices.put(msgspec.convert(pool, ResourceSlice))
    assert devices.by_node() == {"n1": {GPU: Tally(2)}}
    results = [{"request": "r", "driver": "gpu", "pool": "n1", "device": "a"}]
    claim = resource_claim("c", claim_spec(), {"devices": {"results": results}})
    claims.put(msgspec.convert(claim, ResourceClaim))
    assert devices.by_node()["n1"][GPU] == Tally(2, used=1)
    rule = taint_rule("r", "bad:NoSchedule", driver="gpu", device="b")
    rules.put(msgspec.convert(rule, DeviceTaintRule))
    assert devices.by_node()["n1"][GPU] == Tally(2, used=1, unwell=1, tainted=1)
    rules.gone("r")
    claims.gone("default/c")
    assert devices.by_node()["n1"][GPU] == Tally(2)
    slices.gone("n1-gpus")
    assert devices.by_node() == {}
    claims.settled()
    assert len(told) == 1
