"""What the scheduler knows of resource claims: who has which device, and what to look at again."""

from typing import Any

import msgspec
import pytest

from maitred.controllers.scheduling.device_claims import DeviceClaimTable
from maitred.kube.wire import WatchedClaim
from maitred.model.plan import ClaimAllocation
from tests.controllers.device_world import allocation, device

FREE = ClaimAllocation("default/ours", allocation("gpu-0"))


def claim(name: str, *results: dict[str, Any], users: tuple[str, ...] = ()) -> WatchedClaim:
    status = {
        "allocation": {"devices": {"results": list(results)}},
        "reservedFor": [{"resource": "pods", "name": user, "uid": user} for user in users],
    }
    raw = {"metadata": {"name": name}, "status": status if results else {}}
    return msgspec.convert(raw, WatchedClaim)


@pytest.mark.parametrize(
    ("theirs", "is_free"),
    [
        (device("gpu-0"), False),
        (device("gpu-1"), True),
        (device("gpu-0", pool="n2"), True),
        (device("gpu-0", driver="other.example.com"), True),
        (device("gpu-0", shareID="share"), True),
        (device("gpu-0", adminAccess=True), True),
    ],
)
def test_a_device_that_another_claim_has_by_now_is_not_free(theirs: dict[str, Any], is_free: bool) -> None:
    table = DeviceClaimTable()
    assert table.lost([FREE]) is None
    table.put("default/theirs", claim("theirs", theirs))
    assert (table.lost([FREE]) is None) == is_free
    table.put("default/theirs", claim("theirs"))
    assert table.lost([FREE]) is None
    table.put("default/theirs", claim("theirs", theirs))
    table.gone("default/theirs")
    assert table.lost([FREE]) is None


def test_a_claim_that_has_its_devices_already_does_not_stand_in_its_own_way() -> None:
    table = DeviceClaimTable()
    table.put("default/ours", claim("ours", device("gpu-0")))
    assert table.lost([FREE]) is None


def test_a_claim_is_looked_at_again_when_it_changes_and_when_its_user_leaves() -> None:
    table = DeviceClaimTable()
    table.put("default/plain", claim("plain"))
    assert table.touched == set(), "nothing was written on it"
    table.put("default/ours", claim("ours", device("gpu-0"), users=("p",)))
    assert table.touched == {"default/ours"}
    table.touched.clear()
    table.left_by("default/q", "")
    assert table.touched == set()
    table.left_by("default/p", "")
    assert table.touched == {"default/ours"}
    table.gone("default/ours")
    table.left_by("default/p", "")
    assert table.touched == set()
