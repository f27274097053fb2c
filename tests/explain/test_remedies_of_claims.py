"""What would help a pod whose claim gets no devices. Each remedy is carried out, and found to work."""

from copy import deepcopy

import pytest

from tests.explain.applying import check_remedies, remedied
from tests.oracle.builders import Obj, node, pod, pod_group, pods
from tests.oracle.device_builders import (
    claim_spec,
    claim_template,
    constraint,
    device,
    device_class,
    exactly,
    resource_slice,
    use,
    wish,
)

GPU = "gpu.example.com"
NIC = "nic.example.com"
CLASSES = [device_class("gpu", f'device.driver == "{GPU}"'), device_class("nic", f'device.driver == "{NIC}"')]
MODEL = f'device.attributes["{GPU}"].model == "h100"'
MEMORY = f'device.capacity["{GPU}"].memory.compareTo(quantity("80Gi")) >= 0'
CORES = f'device.attributes["{GPU}"]["cores"] >= 8'


def offers(spec: Obj, *objects: Obj) -> dict[str, Obj]:
    """By kind, for a lone pod with a claim from a template."""
    asking = pod("crew", spec={"resourceClaims": [use("gpus", template="t")]})
    everything = [*CLASSES, node("n1"), *objects, claim_template("t", spec), asking]
    plan = remedied(everything)
    check_remedies(everything, plan)
    (entry,) = plan["groups"]
    return {remedy["detail"]["kind"]: remedy for remedy in entry["remedies"]}


def cards(**more: int | str) -> Obj:
    """Eight, two on each link, four on each NUMA node; all of one model."""
    made = [
        device(
            f"gpu-{n}",
            {"link": n // 2, "numa": n // 4, "model": "a100", "uuid": f"u{n}", **more},
            {"memory": "40Gi"},
        )
        for n in range(8)
    ]
    return resource_slice("n1", GPU, made, node="n1")


def wanted(count: int, *selectors: str) -> Obj:
    return claim_spec(exactly("gpu", wish("gpu", count, *selectors)))


# -- a wider link --------------------------------------------------------------------------------------------


def linked(count: int) -> Obj:
    return claim_spec(exactly("gpu", wish("gpu", count)), constraints=[constraint(match=f"{GPU}/link")])


def test_devices_that_share_a_wider_link() -> None:
    """Not one that parts what has one link, such as the UUID, nor one that all have, such as the model."""
    remedy = offers(linked(4), cards())["deviceConstraint"]
    assert remedy["change"] == (f"require that devices of claim gpus share {GPU}/numa instead of {GPU}/link")
    assert remedy["detail"] == {
        "kind": "deviceConstraint",
        "claim": "gpus",
        "attribute": f"{GPU}/link",
        "requests": [],
        "to": f"{GPU}/numa",
    }


def test_where_no_wider_link_is_wide_enough_there_need_be_none() -> None:
    remedy = offers(linked(5), cards())["deviceConstraint"]
    assert remedy["change"] == f"do not require that devices of claim gpus share {GPU}/link"
    assert remedy["detail"]["to"] is None


def test_the_constraint_is_told_by_its_requests() -> None:
    """A GPU and a NIC that share a PCIe root; the other GPUs may share what they like."""
    shared = {"example.com/root": "a", "example.com/socket": 0}
    gpus = [device(f"gpu-{n}", {**shared, "link": n}) for n in range(3)]
    nics = [
        device("nic-0", {**shared, "example.com/root": "b"}),
        device("nic-1", {"example.com/socket": 1, "example.com/root": "c"}),
    ]
    both = claim_spec(
        exactly("gpu", wish("gpu")),
        exactly("nic", wish("nic")),
        exactly("more", wish("gpu", 2)),
        constraints=[
            constraint("gpu", "nic", match="example.com/root"),
            constraint("gpu", "more", match="example.com/root"),
        ],
    )
    remedy = offers(
        both,
        resource_slice("gpus", GPU, gpus, node="n1", pool="gpus"),
        resource_slice("nics", NIC, nics, node="n1", pool="nics"),
    )["deviceConstraint"]
    assert remedy["change"] == (
        "require that devices of requests gpu and nic of claim gpus share example.com/socket instead of "
        "example.com/root"
    )
    assert remedy["detail"]["requests"] == ["gpu", "nic"]


# -- devices that are there ----------------------------------------------------------------------------------

OTHERS = {
    "another model": ((MODEL,), "model a100 instead of h100"),
    "less memory": ((MEMORY,), "at least 40Gi instead of 80Gi memory"),
    "fewer cores": ((CORES,), "at least 4 instead of 8 cores"),
    "both in one selector": (
        (f"{MODEL} && {MEMORY}",),
        "model a100 instead of h100 and at least 40Gi instead of 80Gi memory",
    ),
    "both in two selectors": (
        (MEMORY, MODEL),
        "at least 40Gi instead of 80Gi memory and model a100 instead of h100",
    ),
    "one of three": (
        (MODEL, f'device.capacity["{GPU}"].memory == quantity("40Gi")', "true"),
        "model a100 instead of h100",
    ),
    "an exact amount": (
        (f'quantity("24Gi") == device.capacity["{GPU}"].memory',),
        "40Gi instead of 24Gi memory",
    ),
}


@pytest.mark.parametrize(("selectors", "words"), OTHERS.values(), ids=OTHERS)
def test_a_claim_is_told_what_would_select_devices_that_are_there(
    selectors: tuple[str, ...], words: str
) -> None:
    remedy = offers(wanted(2, *selectors), cards(cores=4))["deviceSelector"]
    assert remedy["change"] == f"select devices with {words} in request gpu of claim gpus"
    before = [one["from"] for one in remedy["detail"]["selectors"]]
    assert set(before) <= set(selectors)


NO_OTHERS = {
    "what is not to be": (f'!(device.attributes["{GPU}"].model == "a100")',),
    "one thing or another": (f'{MODEL} || device.attributes["{GPU}"].model == "h200"',),
    "what no device has": (
        f'"nvlink" in device.attributes["{GPU}"] && device.attributes["{GPU}"].nvlink == 4',
    ),
}


@pytest.mark.parametrize("selectors", NO_OTHERS.values(), ids=NO_OTHERS)
def test_where_no_other_value_would_do_the_selector_is_to_be_left_out(selectors: tuple[str, ...]) -> None:
    remedy = offers(wanted(2, *selectors), cards())["deviceSelector"]
    assert remedy["change"].startswith("do not select devices by `")
    assert remedy["detail"]["selectors"] == [{"from": selectors[0], "to": None}]


def test_of_several_kinds_the_one_comes_first_for_which_least_changes() -> None:
    """Fewer have the memory, and of these only the model is another."""
    small = [device(f"gpu-{n}", {"model": "a100"}, {"memory": "40Gi"}) for n in range(6)]
    large = [device(f"big-{n}", {"model": "b200"}, {"memory": "80Gi"}) for n in range(2)]
    pool = resource_slice("n1", GPU, [*small, *large], node="n1")
    two = offers(wanted(2, MODEL, MEMORY), pool)["deviceSelector"]
    assert "with model b200 instead of h100 in request" in two["change"]
    three = offers(wanted(3, MODEL, MEMORY), pool)["deviceSelector"]
    assert "with model a100 instead of h100 and at least 40Gi instead of 80Gi memory" in three["change"]


def test_no_class_of_another_driver_is_offered() -> None:
    nics = resource_slice("n1-nics", NIC, [device("nic-0")], node="n1", pool="nics")
    assert "deviceClass" not in offers(wanted(1), nics)


# -- more nodes ----------------------------------------------------------------------------------------------


def test_a_node_to_add_has_as_many_devices_as_cards() -> None:
    """The halves that a card can be cut into are no devices beside it."""
    whole, half = ({"gpu": {"slots": slots}} for slots in ("2", "1"))
    parts = [device("whole", counters=whole), *(device(f"half-{n}", counters=half) for n in range(2))]
    two = [
        pod_group("crew", 2),
        *pods("crew", 2, group="crew", spec={"resourceClaims": [use("gpus", template="t")]}),
    ]
    spec = claim_spec(exactly("gpu", wish("gpu", 1, f'!("size" in device.attributes["{GPU}"])')))
    pool = resource_slice("n1", GPU, parts, node="n1", counters={"gpu": {"slots": "2"}})
    for one in parts[1:]:
        one["attributes"] = {"size": {"string": "half"}}
    objects = [*CLASSES, node("n1"), pool, claim_template("t", spec), *two]
    plan = remedied(objects)
    check_remedies(objects, plan)
    (entry,) = plan["groups"]
    found = {one["detail"]["kind"]: one for one in entry["remedies"]}["nodes"]
    assert found["change"].startswith(f"add 1 node like n1 (1 device of {GPU}, ")


# -- a resource that a class serves --------------------------------------------------------------------------


@pytest.mark.parametrize("containers", [1, 2])
def test_fewer_devices_by_a_resource(containers: int) -> None:
    """What containers ask for is added up, as for any other resource."""
    resource = "example.com/gpu"
    served = device_class("gpu", f'device.driver == "{GPU}"', resource=resource)
    asking = pod("crew")
    asks = {"requests": {resource: str(10 // containers)}, "limits": {resource: str(10 // containers)}}
    asking["spec"]["containers"] = [
        {"name": f"c{number}", "image": "pause", "resources": deepcopy(asks)} for number in range(containers)
    ]
    objects = [served, node("n1"), cards(), asking]
    plan = remedied(objects)
    check_remedies(objects, plan)
    (entry,) = plan["groups"]
    assert [one["change"] for one in entry["remedies"]] == [f"ask for 8 instead of 10 {resource}"]


# -- devices that are unwell ---------------------------------------------------------------------------------


def test_devices_that_come_back_go_to_whoever_is_first() -> None:
    ill = resource_slice("n1", GPU, [device("gpu-0", taints=["ill:NoSchedule"])], node="n1")
    claims = {"resourceClaims": [use("gpus", template="t")]}
    objects = [
        *CLASSES,
        node("n1"),
        ill,
        claim_template("t", wanted(1)),
        pod("a", spec=claims),
        pod("b", spec=claims),
    ]
    plan = remedied(objects)
    check_remedies(objects, plan)
    told = {entry["group"]: [one["change"] for one in entry["remedies"]] for entry in plan["groups"]}
    assert told == {"default/a": ["bring back gpu-0 of pool n1"], "default/b": []}


COUNTED = {"nvidia.com/gpu.count": "8"}
UNWELL = {
    "three of eight": (node("n2", gpu=8, broken=3), 3),
    "all of them": (node("n2", gpu=8, broken=8), 8),
    "no plugin": (node("n2", labels=COUNTED), 8),
}


@pytest.mark.parametrize(("unwell", "count"), UNWELL.values(), ids=UNWELL)
def test_what_a_node_has_and_does_not_offer(unwell: Obj, count: int) -> None:
    objects = [node("n1", gpu=8), unwell, pod_group("crew", 2), *pods("crew", 2, group="crew", gpu=8)]
    plan = remedied(objects)
    check_remedies(objects, plan)
    (entry,) = plan["groups"]
    found = {one["detail"]["kind"]: one for one in entry["remedies"]}["nodeDevices"]
    assert found["change"] == f"bring back {count} nvidia.com/gpu on n2"
    assert found["detail"]["devices"] == [{"node": "n2", "resource": "nvidia.com/gpu", "unwell": count}]
