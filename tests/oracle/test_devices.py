"""The oracle of devices, by hand and against the checker, with which it shares no code."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from maitred.verify import Breach, verify
from tests.oracle import devices
from tests.oracle.builders import Obj, node, pod, pod_group
from tests.oracle.device_builders import (
    claim_spec,
    claim_template,
    constraint,
    device,
    device_class,
    exactly,
    first_available,
    resource_claim,
    resource_slice,
    use,
    wish,
)
from tests.oracle.device_claims import plan_of
from tests.oracle.device_worlds import GPU, NIC, device_worlds
from tests.oracle.effort import examples
from tests.oracle.reading import Group, only_group

CLASSES = [device_class("gpu", f'device.driver == "{GPU}"'), device_class("nic", f'device.driver == "{NIC}"')]
MODEL_A = f'device.attributes["{GPU}"].model == "a"'
LINK = "example.com/link"


def the_group(objects: list[Obj]) -> Group:
    group = only_group(objects)
    assert group is not None
    return group


def gang(*specs: Obj, common: Obj | None = None) -> list[Obj]:
    """Members with a claim each, and one that their PodGroup has."""
    owned = [] if common is None else [use("common", template="common")]
    found = [pod_group("g", len(specs), spec={"resourceClaims": owned} if owned else None)]
    found += [] if common is None else [claim_template("common", common)]
    for i, spec in enumerate(specs):
        found.append(claim_template(f"t{i}", spec))
        uses = [use("own", template=f"t{i}"), *owned]
        found.append(pod(f"g-{i}", 1, group="g", index=i, spec={"resourceClaims": uses}))
    return found


def seated(*objects: Obj, nodes: int = 1) -> dict[str, str] | None:
    places = [node(f"n{i}") for i in range(nodes)]
    made = [*places, *CLASSES, *objects]
    found = devices.solve(made, the_group(made))
    return None if found is None else found.seats


def gpus(name: str, *models: str) -> Obj:
    made = [device(f"gpu-{i}", {"model": model}) for i, model in enumerate(models)]
    return resource_slice(f"{name}-gpus", GPU, made, node=name)


ANY = claim_spec(exactly("r", wish("gpu")))
ONLY_A = claim_spec(exactly("r", wish("gpu", 1, MODEL_A)))


def test_the_choosy_member_is_served_though_it_comes_last() -> None:
    objects = [gpus("n0", "a", "b"), *gang(ANY, ONLY_A)]
    assert seated(*objects) == {"g-0": "n0", "g-1": "n0"}
    made = [node("n0"), *CLASSES, *objects]
    assert devices.one_by_one(made, the_group(made)) == 1
    assert seated(gpus("n0", "a", "b"), *gang(ONLY_A, ONLY_A)) is None
    assert seated(gpus("n0", "a"), gpus("n1", "a"), *gang(ONLY_A, ONLY_A), nodes=2) is not None


def test_a_claim_that_is_shared_keeps_its_users_where_its_devices_are() -> None:
    nets = device_class("net", 'device.driver == "net.example.com"')
    fabric = resource_slice("fabric", "net.example.com", [device("net-0")], everywhere=True)
    near = [gpus("n0", "a", "a"), gpus("n1", "a"), nets, fabric]
    assert seated(*near, *gang(ANY, ANY, common=ANY), nodes=2) is None
    everywhere = claim_spec(exactly("r", wish("net")))
    assert seated(*near, *gang(ANY, ANY, common=everywhere), nodes=2) is not None


def test_devices_that_hang_together() -> None:
    def hanging(*links: Any) -> list[Obj]:
        cards = [device(f"gpu-{i}", {LINK: link}) for i, link in enumerate(links)]
        nics = [device("nic-0", {LINK: "l1"})]
        slices = [resource_slice("g", GPU, cards, node="n0"), resource_slice("n", NIC, nics, node="n0")]
        both = (exactly("card", wish("gpu")), exactly("nic", wish("nic")))
        return slices + gang(claim_spec(*both, constraints=[constraint(match=LINK)]))

    assert seated(*hanging("l0")) is None
    assert seated(*hanging("l0", "l1")) is not None
    assert seated(*hanging("l0", ["l0", "l1"])) is not None


@pytest.mark.parametrize(("units", "fits"), [("2", False), ("3", True)])
def test_partitions_draw_on_one_counter(units: str, fits: bool) -> None:
    parts = [device(f"part-{i}", counters={"card": {"units": str(i + 1)}}) for i in range(2)]
    counters = resource_slice("k", GPU, node="n0", of=2, counters={"card": {"units": units}})
    slices = [counters, resource_slice("p", GPU, parts, node="n0", of=2)]
    assert (seated(*slices, *gang(ANY, ANY)) is not None) == fits


@pytest.mark.parametrize(("asked", "members", "fits"), [("1", 4, True), ("3", 2, True), ("3", 3, False)])
def test_parts_are_rounded_up_to_what_a_policy_allows(asked: str, members: int, fits: bool) -> None:
    policy = {"default": "2", "validRange": {"min": "2", "step": "2"}}
    shared = device("gpu-0", capacity={"memory": {"value": "8", "requestPolicy": policy}}, shared=True)
    part = claim_spec(exactly("r", wish("gpu", 1, capacity={"memory": asked})))
    objects = [resource_slice("s", GPU, [shared], node="n0"), *gang(*[part] * members)]
    assert (seated(*objects) is not None) == fits


def test_alternatives_and_all() -> None:
    either = claim_spec(first_available("r", wish("gpu", 2, MODEL_A), wish("gpu", 1)))
    assert seated(gpus("n0", "a", "b"), *gang(either)) is not None
    every = claim_spec(exactly("r", wish("gpu", None)))
    assert seated(gpus("n0", "a", "b"), *gang(every)) is not None
    assert seated(gpus("n0", "a", "b"), *gang(every, ANY)) is None
    assert seated(gpus("n0"), *gang(every)) is None


def test_what_others_have_is_gone_but_for_those_who_only_watch() -> None:
    result = {"request": "r", "driver": GPU, "pool": "n0", "device": "gpu-0"}
    held = resource_claim("held", ANY, {"devices": {"results": [result]}})
    assert seated(gpus("n0", "a"), held, *gang(ANY)) is None
    watching = claim_spec(exactly("r", wish("gpu", admin=True)))
    assert seated(gpus("n0", "a"), held, *gang(watching)) is not None


# ---- against the checker


def breaches(objects: list[Obj], plan: Obj) -> list[Breach]:
    return [breach for breach in verify(objects, plan, None) if breach.law in (1, 2, 3)]


@given(device_worlds())
@examples(100)
def test_the_checker_accepts_whatever_the_oracle_finds(objects: list[Obj]) -> None:
    assert [breach for breach in verify(objects, None) if breach.law != 2] == []
    group = the_group(objects)
    found = devices.solve(objects, group)
    if found is None:
        event("does not fit")
        return
    fits = devices.one_by_one(objects, group) >= group.needed
    event("fits one by one" if fits else "fits for those who look further")
    assert breaches(objects, plan_of(objects, group, found)) == []


def _results(entry: Obj) -> list[Obj]:
    results: list[Obj] = entry["allocation"]["devices"]["results"]
    return results


def _fewer(entry: Obj) -> None:
    _results(entry).pop()


def _more(entry: Obj) -> None:
    _results(entry).append(copy.deepcopy(_results(entry)[0]))


def _elsewhere(entry: Obj) -> None:
    _results(entry)[-1]["pool"] = "nowhere"


def _renamed(entry: Obj) -> None:
    _results(entry)[0]["request"] += "x"


def _watching(entry: Obj) -> None:
    _results(entry)[0]["adminAccess"] = not _results(entry)[0].get("adminAccess", False)


def _shared(entry: Obj) -> None:
    if _results(entry)[0].pop("shareID", None) is None:
        _results(entry)[0]["shareID"] = "some"


def _greedy(entry: Obj) -> None:
    _results(entry)[0]["consumedCapacity"] = {"memory": "1234"}


def _tolerant(entry: Obj) -> None:
    entry["allocation"]["devices"]["results"][0].setdefault("tolerations", []).append({"operator": "Exists"})


def _misplaced(entry: Obj) -> None:
    where = {"key": "metadata.name", "operator": "In", "values": ["n9"]}
    entry["allocation"]["nodeSelector"] = {"nodeSelectorTerms": [{"matchFields": [where]}]}


def _unreserved(entry: Obj) -> None:
    entry["reservedFor"].pop()


def _configured(entry: Obj) -> None:
    config = entry["allocation"]["devices"].setdefault("config", [])
    config.append({"source": "FromClaim", "opaque": {"driver": GPU, "parameters": {}}})


CHANGES: list[Callable[[Obj], None]] = [
    *(_fewer, _more, _elsewhere, _renamed, _watching, _shared, _greedy, _tolerant, _misplaced),
    *(_unreserved, _configured),
]


@given(device_worlds(), st.data())
@examples(100)
def test_the_checker_objects_to_any_change_of_it(objects: list[Obj], data: st.DataObject) -> None:
    group = the_group(objects)
    found = devices.solve(objects, group)
    assume(found is not None and found.allocations)
    assert found is not None
    plan = plan_of(objects, group, found)
    new = [entry for entry in plan["claims"] if entry["claim"] in found.allocations]
    change = data.draw(st.sampled_from(CHANGES))
    change(data.draw(st.sampled_from(new)))
    event(change.__name__)
    assert breaches(objects, plan) != []


@given(device_worlds(), st.data())
@examples(100)
def test_the_checker_objects_if_another_device_would_be_wrong(
    objects: list[Obj], data: st.DataObject
) -> None:
    """Any device instead of the one that was given: the checker says no unless the oracle says it may."""
    group = the_group(objects)
    found = devices.solve(objects, group)
    assume(found is not None and found.allocations)
    assert found is not None
    plan = plan_of(objects, group, found)
    new = [entry for entry in plan["claims"] if entry["claim"] in found.allocations]
    entry = data.draw(st.sampled_from(new))
    gadgets = devices.Problem(objects, group).supply.gadgets
    other = data.draw(st.sampled_from(gadgets)).id
    result = data.draw(st.sampled_from(_results(entry)))
    result.update(zip(("driver", "pool", "device"), other, strict=True))
    allowed = devices.is_allowed(objects, group, found, entry)
    event(f"allowed: {allowed}")
    assert (breaches(objects, plan) == []) == allowed
