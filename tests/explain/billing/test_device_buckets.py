"""Each device is in exactly one bucket, and the right one."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given

from maitred.cluster.snapshot import Snapshot
from maitred.cluster.state import Change, ClusterState
from maitred.explain.billing.device_buckets import NOBODY, Key, levels
from maitred.model.policy import Policy, is_device
from maitred.model.unwell import UnwellDevices
from tests.decide.holding import remembered
from tests.ledger.worlds import gpu_node, histories, member, snapshot_of
from tests.oracle.builders import GPU, Obj, node, pod_group
from tests.oracle.effort import examples
from tests.support import NOON, policy_of

H100 = "NVIDIA-H100"


def buckets(snapshot: Snapshot, hopeless: tuple[str, ...] = (), policy: Obj | None = None) -> dict[Any, int]:
    """Devices by holder and bucket."""
    found: Counter[tuple[str, str]] = Counter()
    for key, count in levels(snapshot, policy_of(policy), hopeless).devices.items():
        found[key.holder, key.bucket] += count
    return dict(found)


GANG = pod_group("gang", 2)
HOLDS: Obj = {"holds": {"depth": 1}}
LONE, FIRST = ("default/lone", "productive"), ("default/first", "reserved")


def gang(number: int, gpus: int = 4, **fields: Any) -> Obj:
    return member(f"gang-{number}", gpus, group="gang", **fields)


HELD: dict[str, tuple[list[Obj], dict[tuple[str, str], int]]] = {
    "a pod that runs works": (
        [member("lone", 3, node="n1")],
        {("default/lone", "productive"): 3, (NOBODY, "idle"): 5},
    ),
    "one that does not run yet starts": (
        [member("lone", 3, node="n1", phase="Pending")],
        {("default/lone", "starting"): 3, (NOBODY, "idle"): 5},
    ),
    "one that has to go leaves": (
        [member("lone", 3, node="n1", deleted=True)],
        {("default/lone", "leaving"): 3, (NOBODY, "idle"): 5},
    ),
    "one that is done holds nothing": (
        [member("lone", 3, node="n1", phase="Succeeded")],
        {(NOBODY, "idle"): 8},
    ),
    "a gang works when its quorum does": (
        [GANG, gang(0, node="n1"), gang(1, node="n1")],
        {("default/gang", "productive"): 8},
    ),
    "until then all of it starts": (
        [GANG, gang(0, node="n1"), gang(1, node="n1", phase="Pending")],
        {("default/gang", "starting"): 8},
    ),
    "surplus starts for itself": (
        [GANG, *(gang(n, 2, node="n1") for n in (0, 1)), gang(2, 2, node="n1", phase="Pending")],
        {("default/gang", "productive"): 4, ("default/gang", "starting"): 2, (NOBODY, "idle"): 2},
    ),
    "without its quorum it holds devices in vain": (
        [GANG, gang(0, node="n1")],
        {("default/gang", "incomplete"): 4, (NOBODY, "idle"): 4},
    ),
    "who leaves does not count for the quorum": (
        [GANG, gang(0, node="n1"), gang(1, node="n1", deleted=True)],
        {("default/gang", "incomplete"): 4, ("default/gang", "leaving"): 4},
    ),
    "who has succeeded does": (
        [GANG, gang(0, node="n1"), gang(1, node="n1", phase="Succeeded")],
        {("default/gang", "productive"): 4, (NOBODY, "idle"): 4},
    ),
    "what is promised is kept": (
        [member("next", 3, promised="n1")],
        {("default/next", "reserved"): 3, (NOBODY, "fragmented"): 5},
    ),
    "what others leave serves promises first": (
        [member("last", 2, node="n1", deleted=True), member("next", 3, promised="n1")],
        {("default/last", "leaving"): 2, ("default/next", "reserved"): 1, (NOBODY, "fragmented"): 5},
    ),
    "free devices that would be enough for someone who waits are fragmented": (
        [member("waits", 8)],
        {(NOBODY, "fragmented"): 8},
    ),
    "those that would not are idle": ([member("waits", 9)], {(NOBODY, "idle"): 8}),
    "those that it may not have are idle": (
        [member("waits", 1, where={"pool": "other"})],
        {(NOBODY, "idle"): 8},
    ),
    "a group that is not complete wants nothing yet": ([GANG, gang(0, 1)], {(NOBODY, "idle"): 8}),
    "nor does one that is gated": ([member("waits", 1, gates=["later"])], {(NOBODY, "idle"): 8}),
}


@pytest.mark.parametrize("name", HELD)
def test_where_devices_are(name: str) -> None:
    objects, expected = HELD[name]
    assert buckets(snapshot_of(gpu_node("n1"), *objects)) == expected


def hold(group: str, *nodes: tuple[str, int]) -> Obj:
    """A ConfigMap as a cycle wants it remembered."""
    times = {"made": NOON, "promised": NOON, "begins": NOON}
    kept = {"group": group, "source": ["pod", group, ""], "basis": "limits", "nodes": nodes, **times}
    return remembered({"policy": "", "holds": [kept]})


@pytest.mark.parametrize(
    ("objects", "policy", "expected"),
    [
        ([], HOLDS, {("default/next", "held"): 3, (NOBODY, "fragmented"): 5}),
        ([], None, {(NOBODY, "fragmented"): 8}),
        ([member("lone", 6, node="n1")], HOLDS, {LONE: 6, ("default/next", "held"): 2}),
        ([member("first", 7, promised="n1")], HOLDS, {FIRST: 7, ("default/next", "held"): 1}),
    ],
)
def test_what_is_free_on_the_places_of_a_hold_is_held(
    objects: list[Obj], policy: Obj | None, expected: dict[Any, int]
) -> None:
    kept = [member("next", 3), hold("default/next", ("n1", 1), ("gone", 1))]
    assert buckets(snapshot_of(gpu_node("n1"), *objects, *kept), policy=policy) == expected


def test_a_hold_of_another_group_of_that_name_holds_nothing() -> None:
    kept = [pod_group("next", 1), member("a", 3, group="next"), hold("default/next", ("n1", 1))]
    assert buckets(snapshot_of(gpu_node("n1"), *kept), policy=HOLDS) == {(NOBODY, "fragmented"): 8}
    started = [member("next", 3, node="n1"), hold("default/next", ("n1", 1))]
    found = buckets(snapshot_of(gpu_node("n1"), *started), policy=HOLDS)
    assert found == {("default/next", "productive"): 3, (NOBODY, "idle"): 5}


def test_free_devices_of_a_node_that_is_unwell_are_broken_and_those_in_use_are_not() -> None:
    snapshot = snapshot_of(gpu_node("n1", cordoned=True), member("lone", 3, node="n1"))
    assert buckets(snapshot) == {("default/lone", "productive"): 3, (NOBODY, "broken"): 5}


def test_on_a_dead_node_nothing_works() -> None:
    objects = [gpu_node("n1", ready=False), gpu_node("n2"), GANG, gang(0, node="n1"), gang(1, node="n2")]
    assert buckets(snapshot_of(*objects)) == {
        (NOBODY, "broken"): 8,
        ("default/gang", "incomplete"): 4,
        (NOBODY, "idle"): 4,
    }


def test_devices_that_are_not_allocatable_are_unwell() -> None:
    snapshot = snapshot_of(gpu_node("n1", unwell=2), member("lone", 5, node="n1"))
    assert buckets(snapshot) == {
        ("default/lone", "productive"): 5,
        (NOBODY, "unwell"): 2,
        (NOBODY, "idle"): 1,
    }


def test_on_a_cordoned_node_they_are_broken_with_the_others() -> None:
    assert buckets(snapshot_of(gpu_node("n1", unwell=2, cordoned=True))) == {(NOBODY, "broken"): 8}


def test_devices_of_a_plugin_that_is_not_registered_are_unwell_if_their_number_is_known() -> None:
    labels = {"nvidia.com/gpu.count": "8"}
    assert buckets(snapshot_of(node("n1", labels=labels))) == {(NOBODY, "unwell"): 8}
    assert buckets(snapshot_of(node("n1", labels={"nvidia.com/gpu.present": "true"}))) == {}


def test_devices_that_are_unwell_and_in_use_count_for_who_has_them() -> None:
    snapshot = snapshot_of(gpu_node("n1", unwell=3), member("lone", 8, node="n1"))
    assert buckets(snapshot) == {("default/lone", "productive"): 8}


def test_no_more_is_held_than_there_is() -> None:
    pods = [member(f"p{number}", 3, node="n1") for number in range(3)]
    assert sum(buckets(snapshot_of(gpu_node("n1", 7), *pods)).values()) == 7
    assert buckets(snapshot_of(*pods)) == {}


def test_the_hopeless_make_nothing_fragmented() -> None:
    snapshot = snapshot_of(gpu_node("n1"), member("waits", 8))
    assert buckets(snapshot, ("default/waits",)) == {(NOBODY, "idle"): 8}


def test_health_is_what_the_policy_says() -> None:
    snapshot = snapshot_of(gpu_node("n1", taints=["example.com/fault:NoSchedule"]))
    assert buckets(snapshot) == {(NOBODY, "idle"): 8}
    assert buckets(snapshot, policy={"health": {"taints": ["example.com/fault"]}}) == {(NOBODY, "broken"): 8}


def test_models_are_told_apart() -> None:
    found = levels(
        snapshot_of(gpu_node("n1"), gpu_node("n2", 4, "NVIDIA-L4"), gpu_node("n3", 2, "")), Policy()
    )
    assert found.capacity == {(GPU, H100): 8, (GPU, "NVIDIA-L4"): 4, (GPU, ""): 2}
    assert found.devices == {Key(NOBODY, *device, "idle"): count for device, count in found.capacity.items()}


def capacity_of(state: ClusterState, policy: Policy) -> Counter[tuple[str, str]]:
    """What the nodes have, from the Node objects' own words."""
    view = state.nodes
    found: Counter[tuple[str, str]] = Counter()
    for row in range(len(view.names)):
        for column, resource in enumerate(view.resources):
            if is_device(policy, resource):
                unwell = view.unwell.get(row, {}).get(resource, UnwellDevices(0, 0)).unwell
                model = view.labels[row].get("nvidia.com/gpu.product", "")
                found[resource, model] += int(view.allocatable[column, row]) + unwell
    return found


@examples(40)
@given(histories())
def test_whatever_happens_the_buckets_add_up_to_the_capacity(history: list[tuple[int, Change]]) -> None:
    state, policy = ClusterState(), Policy()
    for _, change in history:
        state.apply(change)
        found = levels(state.snapshot(), policy)
        summed: Counter[tuple[str, str]] = Counter()
        for key, count in found.devices.items():
            assert count > 0
            summed[key.resource, key.model] += count
        assert summed == found.capacity == +capacity_of(state, policy)
