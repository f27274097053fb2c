"""Which of our pods leaves when two claims have one device: one that cannot start, and only then."""

import asyncio
import logging
from typing import Any

import msgspec
import pytest

from maitred.controllers.scheduling.contests import DeviceContests
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.outcomes import Done
from maitred.kube.wire import Condition, WatchedClaim
from tests.cluster.seen import put
from tests.controllers.device_world import allocation
from tests.controllers.watched import watched_group, watched_pod
from tests.oracle.builders import node

GROUP = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": "uid-of-group"}


class Notebook:
    """In place of a Writer: what it was asked to do to pods, one after the other."""

    def __init__(self) -> None:
        self.done: list[str] = []

    async def patch_pod_condition(self, space: str, name: str, uid: str, condition: Condition) -> Done:
        self.done.append(f"{condition.type} {name}")
        return Done()

    async def delete_pod(self, space: str, name: str, uid: str) -> Done:
        self.done.append(f"delete {name}")
        return Done()


def claim(name: str, device: str, *users: dict[str, str] | str) -> WatchedClaim:
    pods = [{"resource": "pods", "name": one, "uid": one} if isinstance(one, str) else one for one in users]
    status = {"allocation": allocation(device), "reservedFor": pods}
    meta = {"name": name, "namespace": "default", "uid": name}
    return msgspec.convert({"metadata": meta, "status": status}, WatchedClaim)


def made_to_leave(
    ours: dict[str, Any], theirs: dict[str, Any], looks: int = 1, group: bool = False
) -> list[str]:
    """What is done about two pods whose claims have the same device."""
    mirror, writer, metrics = Mirror("maitred"), Notebook(), Metrics()
    put(mirror.state, node("n1", cpu=8))
    mirror.put_group(watched_group("g", 1))
    mirror.put_pod(watched_pod("ours", **{"node": "n1", "phase": "Pending", "owner": "Job/j", **ours}))
    mirror.put_pod(watched_pod("theirs", **{"node": "n1", "scheduler": "another", **theirs}))
    mirror.put_claim(claim("a", "gpu-0", GROUP if group else "ours"))
    mirror.put_claim(claim("b", "gpu-0", "theirs"))
    contests = DeviceContests(mirror, writer, metrics, "maitred")  # type: ignore[arg-type]

    async def look() -> None:
        for _ in range(looks):
            await contests.look()

    asyncio.run(look())
    deleted = sum(done.startswith("delete") for done in writer.done)
    assert metrics.registry.get_sample_value("maitred_taken_back_pods_total") == deleted
    return writer.done


def test_a_pod_of_ours_whose_device_another_pod_runs_with() -> None:
    assert made_to_leave({}, {}) == ["DisruptionTarget ours", "delete ours"]


def test_a_member_whose_group_has_the_claim() -> None:
    assert made_to_leave({"group": "g"}, {}, group=True) == ["DisruptionTarget ours", "delete ours"]


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        pytest.param({}, {"phase": "Pending"}, id="neither runs yet"),
        pytest.param({"phase": "Running"}, {}, id="both run"),
        pytest.param({}, {"deleted": True}, id="theirs leaves"),
        pytest.param({}, {"phase": "Succeeded"}, id="theirs has ended"),
        pytest.param({"deleted": True}, {}, id="ours leaves"),
        pytest.param({"node": None}, {}, id="ours is not bound"),
        pytest.param({"scheduler": "another"}, {}, id="both are of others"),
        pytest.param({"owner": None}, {}, id="nobody would make it again"),
    ],
)
def test_nobody_has_to_leave(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    assert made_to_leave(ours, theirs) == []


def test_what_two_claims_have_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        made_to_leave({"owner": None}, {}, looks=3)
    assert [record.getMessage() for record in caplog.records] == [
        "driver d.example.com, pool n1, device gpu-0: several claims have it: default/a, default/b",
        "pod default/ours cannot start: another pod runs with the device that it was given. "
        "It has no controller: delete it and make it again",
    ]


def test_a_device_is_contested_until_one_of_its_claims_gives_it_back() -> None:
    table = Mirror("maitred").device_claims
    for name, device in (("a", "gpu-0"), ("b", "gpu-0"), ("c", "gpu-0"), ("d", "gpu-1")):
        table.put(f"default/{name}", claim(name, device))
    assert [name for _, _, name in table.contested] == ["gpu-0"]
    table.put("default/b", claim("b", "gpu-2"))
    assert [name for _, _, name in table.contested] == ["gpu-0"]
    table.gone("default/c")
    assert not table.contested
