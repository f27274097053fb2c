"""Shares of devices in the engine: each goes where it costs least of what those who wait and run can use."""

from tests.devices.made import (
    GPUS,
    Obj,
    allocated,
    claim,
    consuming,
    counters,
    device,
    device_class,
    node,
    pod,
    pool_slice,
    request,
    result,
)
from tests.support import decide

CLASS = device_class("gpu", f'device.driver == "{GPUS}"')


def gpus(name: str, count: int) -> list[Obj]:
    devices = [
        device(f"d{number}", {"share": "1000"}, {"allowMultipleAllocations": True}) for number in range(count)
    ]
    return [node(name), pool_slice(name, devices, nodeName=name)]


def taking(name: str, share: int, count: int = 1) -> list[Obj]:
    capacity = {"requests": {"share": str(share)}}
    return [claim(name, request("r", "gpu", capacity=capacity, count=count)), pod(name, name)]


def running(name: str, on: str, share: int, place: str = "d0") -> list[Obj]:
    asked, user = taking(name, share)
    part: Obj = {
        "shareID": f"00000000-0000-4000-8000-{len(name):012}",
        "consumedCapacity": {"share": str(share)},
    }
    user["spec"]["nodeName"] = on
    return [allocated(asked, result(place, on, **part), to=name, node_name=on), user]


def seats(*objects: list[Obj]) -> dict[str, tuple[str, str]]:
    """Pod -> node and device."""
    plan = decide([CLASS, *(item for group in objects for item in group)])
    nodes = {bind["pod"].partition("/")[2]: bind["node"] for bind in plan["binds"]}
    found = dict[str, tuple[str, str]]()
    for entry in plan["claims"]:
        name = entry["claim"].partition("/")[2]
        found[name] = nodes[name], entry["allocation"]["devices"]["results"][0]["device"]
    return found


def test_a_share_breaks_no_device_while_another_has_room() -> None:
    assert seats(gpus("a", 1), gpus("b", 1), running("r", "b", 500), taking("p", 300)) == {"p": ("b", "d0")}


def test_a_share_goes_where_what_is_left_is_of_use() -> None:
    """Shares of 700 and of 300 are asked for: beside one of 700 there is just enough for one of 300, and
    beside one of 500 it would leave 200 that nobody can use, and take the room of another of 500."""
    held = [*running("seven", "a", 700), *running("fives", "b", 500)]
    waiting = [*taking("x-seven", 700), *taking("y-five", 500)]
    found = seats(gpus("a", 1), gpus("b", 1), gpus("c", 1), held, taking("p", 300), waiting)
    assert found["p"] == ("a", "d0")
    assert found["y-five"] == ("b", "d0")


def test_on_one_node_a_share_goes_to_the_device_that_loses_least() -> None:
    held = [*running("five", "a", 500, "d0"), *running("seven", "a", 700, "d1")]
    assert seats(gpus("a", 3), held, taking("p", 300), taking("q", 500))["p"] == ("a", "d1")


def test_a_pod_without_devices_leaves_the_cpus_that_shares_need() -> None:
    plain = pod("plain", resources={"cpu": "6"})
    user = taking("p", 500)
    user[1]["spec"]["containers"][0]["resources"]["requests"] = {"cpu": "6"}
    plan = decide([CLASS, *gpus("a", 1), node("b"), plain, *user])
    assert {bind["pod"]: bind["node"] for bind in plan["binds"]} == {"devices/plain": "b", "devices/p": "a"}


def test_partitions_go_to_hardware_that_is_broken_already() -> None:
    def card(name: str) -> list[Obj]:
        parts = [device(f"half-{n}", None, consuming("card", slots="1")) for n in range(2)]
        hardware = [counters("card", slots="2")]
        return [
            node(name),
            pool_slice(f"{name}-card", [], pool=name, nodeName=name, count=2, sharedCounters=hardware),
            pool_slice(name, parts, nodeName=name, count=2),
        ]

    asked = [claim("p", request("r", "gpu")), pod("p", "p")]
    held = [
        allocated(claim("h", request("r", "gpu")), result("half-0", "b"), to="h", node_name="b"),
        pod("h", "h", nodeName="b"),
    ]
    assert seats(card("a"), card("b"), held, asked) == {"p": ("b", "half-1")}
