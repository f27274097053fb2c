"""Gangs whose members have claims of many kinds: together they take devices from each other on every node."""

import pytest

from maitred.verify import verify
from tests.decide.reading import verdict
from tests.oracle.builders import Obj, node, pod, pod_group
from tests.oracle.device_builders import (
    claim_spec,
    claim_template,
    device,
    device_class,
    exactly,
    resource_claim,
    resource_slice,
    use,
    wish,
)
from tests.support import decide

GPU = "gpu.example.com"
CLASS = device_class("gpu", f'device.driver == "{GPU}"')
PER_NODE, NODES = 4, 6
ALL = PER_NODE * NODES


def cluster() -> list[Obj]:
    machines = [node(f"n{number}") for number in range(NODES)]
    devices = [device(f"gpu-{number}", {"number": number}) for number in range(PER_NODE)]
    return [CLASS, *machines, *(resource_slice(f"n{n}", GPU, devices, node=f"n{n}") for n in range(NODES))]


def asking(number: int) -> Obj:
    """No two ask for the same, and any device will do for each."""
    return claim_spec(
        exactly("gpu", wish("gpu", 1, f'device.attributes["{GPU}"].number != {number + PER_NODE}'))
    )


def gang(*claims: Obj) -> list[Obj]:
    members = [pod(f"g-{n}", group="g", spec={"resourceClaims": [one]}) for n, one in enumerate(claims)]
    return [pod_group("g", len(claims)), *members]


def by_template(count: int) -> list[Obj]:
    templates = [claim_template(f"t{n}", asking(n)) for n in range(count)]
    return [*templates, *gang(*(use("gpu", template=f"t{n}") for n in range(count)))]


def by_name(count: int) -> list[Obj]:
    """Every member has a claim that no other names."""
    claims = [resource_claim(f"c{n}", asking(n)) for n in range(count)]
    return [*claims, *gang(*(use("gpu", claim=f"c{n}") for n in range(count)))]


def in_pairs(count: int) -> list[Obj]:
    """Two and two share a claim, and so a node."""
    claims = [resource_claim(f"c{n}", asking(n)) for n in range(count)]
    return [*claims, *gang(*(use("gpu", claim=f"c{n // 2}") for n in range(2 * count)))]


WAYS = {"templates": by_template, "claims of their own": by_name, "claims in pairs": in_pairs}


@pytest.mark.parametrize("way", WAYS)
def test_all_devices_are_given_away_and_no_more(way: str) -> None:
    objects = [*cluster(), *WAYS[way](ALL)]
    plan = decide(objects)
    assert verdict(plan) == "Scheduled"
    assert len(plan["claims"]) == ALL
    assert not verify(objects, plan, None)


def test_one_more_than_there_are_devices_can_never_start() -> None:
    assert verdict(decide([*cluster(), *by_template(ALL + 1)])) == "Impossible"


def test_members_of_two_kinds_that_share_a_claim_take_its_devices_once() -> None:
    """Three devices for what four members share, and one for each of the others: all on the only node."""
    shared, own = claim_spec(exactly("gpu", wish("gpu", 3))), claim_spec(exactly("gpu", wish("gpu", 1)))
    objects = [
        CLASS,
        node("n1"),
        resource_slice("n1", GPU, [device(f"gpu-{number}") for number in range(4)], node="n1"),
        resource_claim("all", shared),
        claim_template("one", own),
        *gang(*[use("gpu", claim="all")] * 4, use("gpu", template="one")),
    ]
    plan = decide(objects)
    assert len(plan["binds"]) == 5
    assert not verify(objects, plan, None)


def test_cards_that_can_be_cut_seem_to_have_more_room_than_they_have() -> None:
    """A node publishes three devices, of which two can be had at once."""
    whole, half = ({"card": {"slots": slots}} for slots in ("2", "1"))
    parts = [device("whole", counters=whole), *(device(f"half-{n}", counters=half) for n in range(2))]
    pools = [
        resource_slice(f"n{n}", GPU, parts, node=f"n{n}", counters={"card": {"slots": "2"}}) for n in range(2)
    ]
    plan = decide([CLASS, node("n0"), node("n1"), *pools, *halves(4)])
    assert verdict(plan) == "Scheduled"
    assert not decide([CLASS, node("n0"), *pools[:1], *halves(3)])["binds"]


def halves(count: int) -> list[Obj]:
    templates = [claim_template(f"t{n}", claim_spec(exactly(f"r{n}", wish("gpu")))) for n in range(count)]
    return [*templates, *gang(*(use("gpu", template=f"t{n}") for n in range(count)))]
