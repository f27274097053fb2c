"""What else an audit finds: devices that are of no use, requests that never fit, and what it costs."""

import itertools
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from rich.text import Text

from maitred.explain.audit.answer import Audit
from maitred.explain.audit.observer import Observer
from maitred.explain.audit.page import page, shares
from maitred.explain.audit.replaying import replayed
from maitred.explain.audit.sections import sections
from maitred.explain.audit.tables import audit_lines
from maitred.model.policy import DevicePrice, Level, Policy, Prices, Topology
from maitred.model.tariff import PriceHours
from tests.explain.audited import GPU, NOON, Json, audited, job, node, pod, tell

EIGHT: Json = {"requests": {GPU: 8, "cpu": 8}}
TWO: Json = {"requests": {GPU: 2, "cpu": 2}}


def web(name: str, on: str, **requests: Any) -> Json:
    return pod(name, node=on, requests=requests, owner=("ReplicaSet", "web"))


def text_of(found: Audit) -> str:
    return "\n".join(line.plain for line in audit_lines(found))


# -- devices -----------------------------------------------------------------------------------------------


def test_free_devices_are_on_whole_nodes_or_beside_others() -> None:
    policy = Policy(topology=Topology((Level("rack", "rack"),)))
    racks = [node(f"n{n}", labels={"rack": f"r{n // 2}"}) for n in range(5)]
    closed = {**node("closed"), "spec": {"unschedulable": True}}
    found = audited(*racks, closed, pod("a", node="n0", **TWO), pod("b", node="n1", **EIGHT), policy=policy)
    [devices] = found.devices
    assert (devices.total, devices.taken, devices.unwell, devices.free) == (48, 10, 8, 30)
    assert (devices.whole_nodes, devices.in_whole_nodes, devices.part_nodes, devices.in_part) == (3, 24, 1, 6)
    [room] = devices.levels
    assert (room.level, room.domain, room.nodes, room.devices) == ("rack", "r1", 2, 16)
    assert sum(shares(devices).values()) == devices.total


def unwell(name: str, capacity: int, offered: int, **labels: str) -> Json:
    made = node(name, labels=labels, **{GPU: offered})
    return {
        **made,
        "status": {**made["status"], "capacity": {**made["status"]["allocatable"], GPU: capacity}},
    }


def test_devices_that_are_not_offered_are_told_by_node() -> None:
    policy = Policy(prices=Prices(devices=(DevicePrice(2.0),)))
    nodes = [unwell("n1", 8, 5), unwell("n2", 8, 0), unwell("n3", 0, 0, **{"nvidia.com/gpu.count": "4"})]
    nodes += [unwell("n4", 0, 0, **{"nvidia.com/gpu.present": "true"}), unwell("n5", 8, 8)]
    found = audited(*nodes, pod("a", node="n1", **TWO), policy=policy)
    [devices] = found.devices
    assert (devices.total, devices.taken, devices.unwell, devices.free) == (28, 2, 15, 11)
    assert (devices.not_offered, devices.whole_nodes, devices.part_nodes) == (15, 1, 1)
    assert sum(shares(devices).values()) == devices.total
    assert [(one.node, one.unwell, one.of, one.cause) for one in found.unwell] == [
        ("n1", 3, 8, "Unhealthy"),
        ("n2", 8, 8, "NotAnswering"),
        ("n3", 4, 4, "NotRegistered"),
        ("n4", None, None, "NotRegistered"),
    ]
    [cost] = (one for one in found.costs if one.what.startswith("unwell"))
    assert (cost.devices, cost.money_per_day) == (15, 15 * 24 * 2.0)
    text = text_of(found)
    assert "15 devices on 4 nodes cannot be had" in text
    assert "3 of 8 nvidia.com/gpu           the device plugin reports that they are unhealthy" in text
    assert "nvidia.com/gpu, number unknown  the device plugin is not registered" in text


def test_devices_that_are_unwell_and_taken_are_counted_once() -> None:
    found = audited(unwell("n1", 8, 5), pod("a", node="n1", **EIGHT))
    [devices] = found.devices
    assert (devices.total, devices.taken, devices.unwell, devices.free) == (8, 8, 0, 0)
    assert [one.unwell for one in found.unwell] == [3]


def test_a_cluster_without_devices_is_told_so() -> None:
    found = audited(node("n", **{GPU: 0}), web("web", "n", cpu=1))
    assert found.devices == ()
    assert "There are no devices" in text_of(found)


def test_an_empty_cluster_is_told_so() -> None:
    found = audited()
    assert [warning.partition(";")[0] for warning in found.warnings] == [
        "there are no nodes",
        "there are no pods",
    ]
    assert "There are no gangs." in text_of(found)


def test_a_node_whose_amounts_are_none_is_left_out() -> None:
    found = audited(node("n"), node("absurd", memory="lots"), pod("a", node="n", **TWO))
    assert (found.nodes, found.devices[0].total) == (1, 8)
    assert found.warnings[0].startswith("Node absurd is not counted: ")


# -- stranded ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("requests", "count", "stranded"),
    [
        ({"cpu": 15}, 1, 7),  # One core is left, and each device needs one.
        ({"cpu": 8}, 1, 0),
        ({"memory": "64Gi"}, 1, 8),
        ({"cpu": "10m"}, 110, 8),  # There is no place for another pod.
    ],
)
def test_devices_are_stranded_beside_pods_without_any(requests: Json, count: int, stranded: int) -> None:
    modest = pod("modest", requests={GPU: 2, "cpu": 2, "memory": "2Gi"})
    others = [web(f"web-{number:03}", "n", **requests) for number in range(count)]
    found = audited(node("n"), modest, *others)
    assert sum(one.devices for one in found.stranded) == stranded
    assert found.devices[0].stranded == stranded
    for one in found.stranded:
        assert (one.pods, one.largest[0]) == (count, "ml/web-000")


def test_pods_of_the_node_and_pods_with_devices_strand_nothing() -> None:
    agent = pod("agent", node="n", requests={"cpu": 8}, owner=("DaemonSet", "agent"))
    greedy = pod("greedy", node="n", requests={GPU: 1, "cpu": 8})
    modest = pod("modest", requests={GPU: 1, "cpu": 1})
    assert audited(node("n"), agent, greedy, modest).stranded == ()


# -- never -------------------------------------------------------------------------------------------------


def test_a_gang_of_another_convention_can_be_too_large_for_the_cluster() -> None:
    members = [pod(f"p{n}", owner=("Job", "g"), **EIGHT) for n in range(3)]
    found = audited(node("a"), node("b"), job("g", 3), *members, pod("huge", requests={GPU: 9}))
    assert [(one.group, one.by) for one in found.never] == [("ml/g", "Job"), ("ml/huge", "Pod")]
    assert found.never[1].message == "a member asks for 9 nvidia.com/gpu; the largest node, a, has 8"


def test_what_can_never_fit_is_told_of_the_cluster_with_nothing_on_it() -> None:
    members = [pod(f"p{n}", owner=("Job", "g"), **EIGHT) for n in range(3)]
    taken = pod("taken", node="a", **EIGHT)
    [never] = audited(node("a"), node("b"), job("g", 3), *members, taken).never
    assert "16 free on 2 eligible nodes: 2 of 3 would fit" in never.message


def test_what_only_has_to_wait_is_not_impossible() -> None:
    taken, waits = pod("taken", node="a", **EIGHT), pod("waits", **EIGHT)
    assert audited(node("a"), taken, waits).never == ()


# -- money -------------------------------------------------------------------------------------------------

MODEL: Json = {"labels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}}
H100 = Policy(prices=Prices("EUR", (DevicePrice(2.5, model="H100"),)))


def half(**labels: Any) -> list[Json]:
    members = [pod("a", node="n", owner=("Job", "g"), **EIGHT), pod("b", owner=("Job", "g"), **EIGHT)]
    return [node("n", **labels), job("g", 2), *members]


def test_a_day_costs_what_the_policy_says() -> None:
    found = audited(*half(**MODEL), policy=H100)
    [cost] = found.costs
    assert (cost.devices, cost.device_hours_per_day, cost.money_per_day) == (8, 192, 480)
    assert "480.00 EUR" in text_of(found)


def test_a_day_costs_what_its_hours_cost() -> None:
    nights = Prices("EUR", H100.prices.devices, (PriceHours(0.5, "18:00", "06:00"),))
    [cost] = audited(*half(**MODEL), policy=Policy(prices=nights)).costs
    assert cost.money_per_day == 360


def test_no_device_costs_twice() -> None:
    """Free beside others, and stranded there: it is one of the two."""
    modest = pod("modest", requests={GPU: 1, "cpu": 1})
    found = audited(node("n", **MODEL), pod("a", node="n", **TWO), web("w", "n", cpu=14), modest, policy=H100)
    assert [cost.devices for cost in found.costs] == [6]


@pytest.mark.parametrize("policy", [None, Policy(prices=Prices("EUR", (DevicePrice(1, model="A100"),)))])
def test_without_a_price_there_is_no_money_and_it_says_why(policy: Policy | None) -> None:
    found = audited(*half(**MODEL), policy=policy)
    assert [cost.money_per_day for cost in found.costs] == [None]
    why = "Some of these devices have no price: set it in the policy, in prices.devices."
    assert why in text_of(found)


def test_a_day_is_in_columns() -> None:
    modest = pod("modest", requests={GPU: 1, "cpu": 1})
    stranded = [node("m"), pod("x", node="m", **TWO), web("w", "m", cpu=16), modest]
    found = audited(*half(), *stranded, node("o"), pod("y", node="o", **TWO))
    lines = text_of(found).splitlines()
    first = lines.index("A day like this") + 2
    assert {line.rindex(" -") + 1 for line in lines[first + 1 : first + 4]} == {lines[first].index("MONEY")}


def test_sentences_begin_with_a_capital() -> None:
    levels = Policy(topology=Topology((Level("block", "block"), Level("rack", "rack"))))
    labels = {"labels": {"block": "b1", "rack": "r1"}}
    for objects in ([node("a", **labels)], [node("a", **labels), pod("x", node="a", **TWO)]):
        [section] = [one for one in sections(audited(*objects, policy=levels)) if one.title == "Devices"]
        assert len(section.about) >= 2
        assert all(not sentence[0].islower() for sentence in section.about)
        assert all(GPU in sentence for sentence in section.about)  # there may be several kinds of them


# -- replay ------------------------------------------------------------------------------------------------


def crew(name: str, since: float, gone: float) -> list[Json]:
    """A gang of two whole nodes that ran from some minutes ago until some minutes ago."""
    times: Json = {"created": since, "phase": "Succeeded", "ended": gone}
    owner = ("Job", name)
    return [
        job(name, 2),
        *(pod(f"{name}-{n}", node=f"n{n}", owner=owner, **times, **EIGHT) for n in range(2)),
    ]


def test_what_was_seen_is_run_again() -> None:
    """Two gangs of two nodes, which ran one after the other, come together."""
    observer = Observer(Policy())
    for item in (node("n0"), node("n1"), *crew("first", 60, 30), *crew("second", 60, 5)):
        tell(observer, item)
    found = replayed(observer, NOON)
    assert found is not None
    by_pod, whole = found.runs
    assert (by_pod.placement, whole.placement) == ("pod-by-pod", "whole-groups")
    assert (whole.jobs, whole.incomplete_device_hours) == (2, 0)
    assert found.saved_device_hours == by_pod.incomplete_device_hours
    assert found.hours == 1
    assert replayed(observer, NOON) == found


def test_there_is_nothing_to_run_without_jobs_that_take_devices() -> None:
    observer = Observer(Policy())
    for item in (node("n"), web("web", "n", cpu=1)):
        tell(observer, item)
    assert replayed(observer, NOON) is None


# -- forms -------------------------------------------------------------------------------------------------


def test_the_answer_travels_as_json() -> None:
    found = audited(*half(**MODEL), policy=H100)
    again = msgspec.json.decode(msgspec.json.encode(found), type=Audit)
    assert again == found
    assert text_of(again) == text_of(found)
    assert page(again) == page(found)


def test_the_order_in_which_objects_are_told_does_not_matter() -> None:
    items = half(**MODEL)
    assert {audited(*order) for order in itertools.permutations(items)} == {audited(*items)}


def test_lines_keep_to_the_width() -> None:
    found = audited(*half(**MODEL), *(pod(f"huge-{'x' * 60}-{n}", requests={GPU: 9}) for n in range(30)))
    lines = list(audit_lines(found, 80))
    assert all(isinstance(line, Text) for line in lines)
    assert any(line.plain.strip().startswith("and 11 more") for line in lines)


def test_the_time_only_moves_on() -> None:
    """A dump that is younger than the time it is looked at for: what has not happened yet has not."""
    found = audited(*half(), now=NOON - timedelta(days=1))
    assert all(gang.seconds >= 0 for gang in (*found.half_started, *found.starting))
