"""The search for devices ends after so many steps, whatever claims ask for: a tenant's claims take the time
of its own groups, and say so."""

import sys
from time import process_time
from typing import Any

import msgspec
import pytest

from maitred.cluster.devices.allocator import MOST_STEPS
from maitred.cluster.devices.matching import EVALUATION, FREE_EVALUATIONS, MOST_COST_IN_ALL
from maitred.cluster.devices.menus import menu_column
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
    alternatives,
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


READING = f'{DEAR} && device.attributes["example.com"].a >= 0 && device.attributes["example.com"].b >= 0'


def test_selectors_that_cost_too_much_for_all_devices_together_select_nothing() -> None:
    plan = decide([*hardware(40, 8), *dear(READING)])
    (group,) = plan["groups"]
    said = f"claim devices/dear: its selectors cost more than {MOST_COST_IN_ALL} for all devices together"
    assert group["blockers"][0]["message"] == f"its claims cannot be served: {said}"
    assert plan["binds"] == []


@pytest.mark.parametrize("numbers", [300, 9_000])
def test_selectors_that_cost_much_and_not_too_much_are_evaluated_in_a_cycle_too(numbers: int) -> None:
    """Whatever they cost, for every cycle comes to the same."""
    snapshot = snapshot_of([*hardware(40, 8), *dear(f"lists.range({numbers}).all(x, x >= 0)")])
    assert [bind.pod for bind in planned(snapshot).binds] == ["devices/dear"]


def choosy(requests: int, ways: int, expression: str) -> list[Obj]:
    """Of each alternative one selector, and no two alike."""
    asked = [
        alternatives(
            f"r{number}",
            *(request(f"a{place}", "gpu", expression.format(number * ways + place)) for place in range(ways)),
        )
        for number in range(requests)
    ]
    return [claim("choosy", *asked), pod("choosy", "choosy")]


APART = 'device.attributes["example.com"].links != ["{}"] && device.attributes["example.com"].a < 9 && ' + (
    'device.attributes["example.com"].b < 9'
)
ALIKE = 'device.driver != "{}"'
LONG = '"' + "x" * 2_048 + '" != "{}"'
REFUSED = {
    "that tell all devices apart": (
        choosy(16, 8, APART),
        f"its selectors cost more than {MOST_COST_IN_ALL} for all devices together",
    ),
    "that are too many": (
        [
            claim("choosy", *(request(f"r{n}", "gpu", *[ALIKE] * 9) for n in range(32))),
            pod("choosy", "choosy"),
        ],
        "it has 288 selectors, and maitred evaluates at most 256",
    ),
    "that are too long": (
        choosy(8, 4, LONG),
        "its selectors have 65846 bytes, and maitred evaluates at most 65536",
    ),
}


@pytest.mark.parametrize(("objects", "said"), REFUSED.values(), ids=REFUSED)
def test_selectors_are_not_evaluated(objects: list[Obj], said: str) -> None:
    snapshot = snapshot_of([*hardware(40, 8), *objects])
    for rotation in (BUDGET, None):
        (group,) = planned(snapshot, rotation).groups
        assert group.blockers[0].message == f"its claims cannot be served: claim devices/choosy: {said}"
    (spec,) = (need.spec for shape in snapshot.shapes for need in shape.devices)
    most = FREE_EVALUATIONS * 40 * 8 + MOST_COST_IN_ALL // EVALUATION
    assert menu_column(spec, snapshot.nodes, snapshot.inventory).evaluations <= most + 1


def test_a_claim_that_costs_too_much_with_its_last_alternative_gets_nothing_by_the_first() -> None:
    either = [
        claim("dear", alternatives("r", request("a", "gpu"), request("b", "gpu", READING))),
        pod("dear", "dear"),
    ]
    plan = planned(snapshot_of([*hardware(40, 8), *either]))
    assert (plan.binds, plan.claims) == ((), ())
    assert "cost more than" in plan.groups[0].blockers[0].message


def linked(name: str, link: str) -> Obj:
    attributes: Obj = {"example.com/link": link}
    return device(name, **attributes)


def test_what_is_found_with_the_first_alternatives_is_found_with_all_of_them() -> None:
    """The first six devices lead nowhere, which with eight ways to take each is not seen in time."""
    links = ["a"] * 6 + ["b"] * 12
    made = [linked(f"d{place}", link) for place, link in enumerate(links)]
    ways = [request(f"a{k}", "gpu") for k in range(8)]
    asked = [alternatives(f"r{n}", *ways) for n in range(12)]
    together = claim("c", *asked, constraints=[matching("example.com/link")])
    pool = pool_slice("n0", made, nodeName="n0")
    plan = decide([CLASS, node("n0"), pool, together, pod("p", "c")])
    (found,) = plan["claims"]
    results = found["allocation"]["devices"]["results"]
    assert [one["request"] for one in results] == [f"r{n}/a0" for n in range(12)]
    assert {one["device"] for one in results} == {f"d{place}" for place in range(6, 18)}


def test_many_selectors_are_evaluated_where_devices_are_alike() -> None:
    plan = decide([*hardware(40, 8), *choosy(8, 8, ALIKE)])
    assert [bind["pod"] for bind in plan["binds"]] == ["devices/choosy"]


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
