"""The search for devices ends after so many steps, whatever claims ask for: a tenant's claims take the time
of its own groups, and say so."""

import sys
from time import process_time
from typing import Any

import msgspec

from maitred.cluster.devices.allocator import MOST_STEPS
from maitred.cluster.devices.matching import MOST_COST_IN_ALL
from maitred.cluster.snapshot import Snapshot
from maitred.cluster.supply.devices import DeviceSupply
from maitred.cluster.trial import Trial
from maitred.decide import Scope
from maitred.decide import decide as decide_snapshot
from maitred.model.meta import Timestamp
from maitred.model.plan import Plan
from maitred.model.policy import Policy
from maitred.model.rotation import Rotation
from tests.devices.made import (
    GPUS,
    Obj,
    claim,
    device,
    device_class,
    distinct,
    matching,
    node,
    pod,
    pool_slice,
    request,
    selectors,
)
from tests.support import NOON, decide, snapshot_of

BUDGET = Rotation(1_000_000)
CLASS = device_class("gpu", f'device.driver == "{GPUS}"')
DEAR = "lists.range(900).all(x, x >= 0)"


def hardware(nodes: int, devices: int) -> list[Obj]:
    """No two devices are alike in all three attributes, and no two nodes."""
    found = list[Obj]()
    for number in range(nodes):
        listed = [described(f"d{place}", number, place) for place in range(devices)]
        found += [node(f"n{number}"), pool_slice(f"n{number}", listed, nodeName=f"n{number}")]
    return [CLASS, *found]


def described(name: str, number: int, place: int) -> Obj:
    attributes: Obj = {
        "example.com/links": [f"l{(place * 7 + number) % 12}", f"l{(place * 5 + 3) % 12}"],
        "example.com/a": (place * place + number) % 6,
        "example.com/b": (place * 3 + number * place) % 7,
    }
    return device(name, **attributes)


def nasty(name: str, namespace: str = "devices", requests: int = 12) -> list[Obj]:
    """A pod that asks for more different devices than there are, in a way that is not seen at once."""
    asked = [request(f"r{number}", "gpu") for number in range(requests)]
    constraints = [distinct("example.com/a"), distinct("example.com/b"), matching("example.com/links", "r0")]
    made = [claim(name, *asked, constraints=constraints), pod(name, name)]
    return [{**item, "metadata": {**item["metadata"], "namespace": namespace}} for item in made]


def planned(snapshot: Snapshot, rotation: Rotation | None = BUDGET) -> Plan:
    return decide_snapshot(snapshot, Policy(), msgspec.convert(NOON, Timestamp), Scope(rotation=rotation))


def test_a_search_that_is_given_up_says_so_and_proves_nothing() -> None:
    plan = decide([*hardware(1, 64), *nasty("p", requests=16)])
    (group,) = plan["groups"]
    assert (group["verdict"], plan["searchExhausted"]) == ("Waiting", True)
    assert group["blockers"][0]["message"].endswith(
        "the search for devices was given up before all choices were tried"
    )


def test_every_choice_is_a_step() -> None:
    """Also where no device is left to look at: sixteen claims of one device for fifteen devices."""
    shapes = [*hardware(1, 15), *nasty("p", requests=1)]
    snapshot = snapshot_of(shapes)
    supply = Trial.of(snapshot).supply(DeviceSupply)
    (spec,) = (need.spec for shape in snapshot.shapes for need in shape.devices)
    most = supply.book.most(0, (spec,), (), lifted=False)
    assert most.copies == 15
    assert most.steps <= 2 * MOST_STEPS


def test_claims_that_are_hard_to_serve_take_the_time_of_their_own_namespace() -> None:
    evil = [item for number in range(40) for item in nasty(f"p{number:02}", "evil", 16)]
    good = [claim("good", request("r", "gpu")), pod("good", "good")]
    start = process_time()
    plan = planned(snapshot_of([*hardware(20, 64), *evil, *good]))
    assert process_time() - start < 20, "without a bound it takes hours"
    assert [bind.pod for bind in plan.binds] == ["devices/good"]
    cut = [group for group in plan.groups if group.blockers and group.blockers[0].category == "Backoff"]
    assert len(cut) >= 35
    assert all(group.group.startswith("evil/") for group in cut)


def test_what_was_found_out_before_counts_as_if_it_was_not() -> None:
    """Else a second decision about the same cluster would get further than the first."""
    objects = [*hardware(6, 32), *nasty("p", "evil", 14), *nasty("q", "evil", 13), *nasty("r", "good", 2)]
    snapshot = snapshot_of(objects)
    first = planned(snapshot)
    assert planned(snapshot) == first
    assert planned(snapshot_of(objects)) == first


def dear(expression: str, **more: Any) -> list[Obj]:
    asked = {"name": "r", "exactly": {"deviceClassName": "gpu", "selectors": selectors(expression), **more}}
    return [claim("dear", asked), pod("dear", "dear")]


def test_selectors_that_cost_too_much_for_all_devices_together_select_nothing() -> None:
    reading = f'{DEAR} && device.attributes["example.com"].a >= 0 && device.attributes["example.com"].b >= 0'
    plan = decide([*hardware(40, 8), *dear(reading)])
    (group,) = plan["groups"]
    said = f"claim devices/dear: its selectors cost more than {MOST_COST_IN_ALL} for all devices together"
    assert group["blockers"][0]["message"] == f"its claims cannot be served: {said}"
    assert plan["binds"] == []


def test_the_same_selector_is_evaluated_where_there_are_few_kinds_of_devices() -> None:
    plan = decide([*hardware(40, 8), *dear(DEAR)])
    assert [bind["pod"] for bind in plan["binds"]] == ["devices/dear"]


def test_claims_for_many_devices_nest_no_calls() -> None:
    """The limit of Python is that of the whole process, and not ours to change."""
    limit = sys.getrecursionlimit()
    claims = [claim(f"c{number}", request("r", "gpu", count=32)) for number in range(7)]
    plan = decide([*hardware(1, 256)[:2], pool(256), *claims, pod("p", *(f"c{n}" for n in range(7)))])
    assert len(plan["claims"]) == 7
    assert sys.getrecursionlimit() == limit


def pool(devices: int) -> Obj:
    return pool_slice("n0", [device(f"d{place}") for place in range(devices)], nodeName="n0")
