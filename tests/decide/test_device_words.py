"""What a group is told that waits for devices: which request fails, and what becomes of every device."""

from typing import Any

import pytest

from maitred.verify import verify
from tests.decide.reading import categories, detail, entry, verdict
from tests.oracle.builders import Obj, node, pod, pod_group, pods
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
    taint_rule,
    use,
    wish,
)
from tests.support import decide

GPU = "gpu.example.com"
NIC = "nic.example.com"
CLASSES = [device_class("gpu", f'device.driver == "{GPU}"'), device_class("nic", f'device.driver == "{NIC}"')]
MODEL = f'device.attributes["{GPU}"].model == "h100"'
MEMORY = f'device.capacity["{GPU}"].memory.compareTo(quantity("40Gi")) >= 0'
LINK = f"{GPU}/link"


def gpus(on: str, count: int, model: str = "h100", per_link: int = 8, **fields: Any) -> Obj:
    """The GPUs of a node, so many of them on each link."""
    made = [
        device(f"gpu-{i}", {"model": model, "link": f"{on}-{i // per_link}"}, {"memory": "80Gi"}, **fields)
        for i in range(count)
    ]
    return resource_slice(f"{on}-gpus", GPU, made, node=on)


def lone(spec: Obj | None, *objects: Obj, **fields: Any) -> Obj:
    """What a pod is told that has one claim from a template."""
    return told([*objects, *([] if spec is None else [claim_template("t", spec)])], **fields)


def told(objects: list[Obj], claim: str | None = None, **fields: Any) -> Obj:
    uses = [use("gpus", claim=claim, template=None if claim else "t")]
    return decide([*CLASSES, *objects, pod("g", 1, spec={"resourceClaims": uses}, **fields)])


def gang(count: int, spec: Obj, *objects: Obj, **fields: Any) -> Obj:
    uses = {"resourceClaims": [use("gpus", template="t")]}
    members = pods("g", count, 1, group="g", spec=uses, **fields)
    return decide([*CLASSES, *objects, claim_template("t", spec), pod_group("g", count), *members])


def said(plan: Obj, category: str = "Devices") -> str:
    [blocker] = [one for one in entry(plan)["blockers"] if one["category"] == category]
    return str(blocker["message"])


def numbers(plan: Obj) -> Obj:
    """Of the request that fails, which has one alternative; what is zero or empty is left out."""
    [found] = detail(plan, "Devices")["alternatives"]
    return {name: value for name, value in found.items() if value}


def holder(
    name: str, on: str, *devices: str, consumed: Obj | None = None, pool: str | None = None
) -> list[Obj]:
    """A pod that runs, and the claim by which it has devices."""
    results = [
        {
            "request": "gpu",
            "driver": GPU,
            "pool": pool or on,
            "device": one,
            **({"shareID": f"share-{name}", "consumedCapacity": consumed} if consumed else {}),
        }
        for one in devices
    ]
    reserved = [{"resource": "pods", "name": name, "uid": f"uid-{name}"}]
    claim = resource_claim(
        f"{name}-gpus", claim_spec(exactly("gpu", wish("gpu"))), {"devices": {"results": results}}, reserved
    )
    running = pod(
        name, 1, node=on, priority=1000, spec={"resourceClaims": [use("gpus", claim=f"{name}-gpus")]}
    )
    running["metadata"]["uid"] = f"uid-{name}"
    return [claim, running]


def want(count: int | None = 1, *selectors: str, **fields: Any) -> Obj:
    return claim_spec(exactly("gpu", wish("gpu", count, *selectors, **fields)))


def pair(*constraints: Obj, count: int = 2) -> Obj:
    return claim_spec(exactly("gpu", wish("gpu", count)), constraints=constraints)


TOGETHER = constraint(match=LINK)

# ---- the claims themselves

DERIVED = {"name": "example.com/half", "expression": "1"}

PROBLEMS = {
    "no template": (None, None, "claim template default/t does not exist"),
    "no claim": (None, "mine", "claim default/mine does not exist"),
    "no class": (
        claim_spec(exactly("gpu", wish("tpu"))),
        None,
        "request gpu of claim gpus: device class tpu does not exist",
    ),
    "too many devices": (want(33), None, "claim gpus: it asks for 33 devices, and a claim can have 32"),
    "derived attributes": (
        claim_spec(exactly("gpu", {**wish("gpu"), "derivedAttributes": [DERIVED]})),
        None,
        "request gpu of claim gpus: it has derived attributes, which maitred does not evaluate",
    ),
}


@pytest.mark.parametrize(("spec", "claim", "problem"), PROBLEMS.values(), ids=PROBLEMS)
def test_what_is_wrong_with_a_claim_is_said_first(spec: Obj | None, claim: str | None, problem: str) -> None:
    plan = lone(spec, node("n1"), gpus("n1", 40), claim=claim)
    assert categories(plan) == ["Devices"]
    assert said(plan) == f"its claims cannot be served: {problem}"
    assert detail(plan, "Devices")["problems"] == [problem]


def test_a_selector_that_does_not_compile_is_named_with_its_error() -> None:
    plan = lone(want(1, "device.driver =="), node("n1"), gpus("n1", 1))
    start = "its claims cannot be served: request gpu of claim gpus: selector `device.driver ==`: "
    assert said(plan).startswith(f"{start}the expression does not compile: line 1, column 17: ")


def test_a_selector_of_the_class_is_told_from_one_of_the_claim() -> None:
    """Its user cannot change it."""
    broken, failing = "device.driver ==", f'device.attributes["{GPU}"].cores == 8'
    for expression, said_ in ((broken, "does not compile"), (failing, "fails for 2 devices")):
        bad = device_class("bad", expression)
        spec = claim_spec(exactly("gpu", wish("bad", 1, MODEL)))
        words = said(lone(spec, bad, node("n1"), gpus("n1", 2)))
        assert f"selector `{expression}` of device class bad" in words
        assert said_ in words


def test_a_claim_that_is_being_deleted_serves_nobody() -> None:
    claim = resource_claim("mine", want())
    claim["metadata"]["deletionTimestamp"] = "2026-01-31T11:00:00Z"
    claim["metadata"]["finalizers"] = ["example.com/hold"]
    plan = told([node("n1"), gpus("n1", 1), claim], claim="mine")
    assert said(plan) == "its claims cannot be served: claim default/mine is being deleted"


def test_a_claim_that_256_pods_use_is_full() -> None:
    reserved = [{"resource": "pods", "name": f"p{i}", "uid": f"u{i}"} for i in range(256)]
    result = {"request": "gpu", "driver": GPU, "pool": "n1", "device": "gpu-0"}
    claim = resource_claim("mine", want(), {"devices": {"results": [result]}}, reserved)
    plan = told([node("n1"), gpus("n1", 1), claim], claim="mine")
    assert said(plan).endswith("claim default/mine is reserved for 256 pods, and can be for no more")
    assert verdict(plan) == "Waiting"  # for these pods to go


def test_a_claim_whose_devices_are_elsewhere_says_where() -> None:
    result = {"request": "gpu", "driver": GPU, "pool": "n1", "device": "gpu-0"}
    here = {"key": "metadata.name", "operator": "In", "values": ["n1"]}
    selector = {"nodeSelectorTerms": [{"matchFields": [here]}]}
    claim = resource_claim("mine", want(), {"devices": {"results": [result]}, "nodeSelector": selector})
    objects = [node("n1"), node("n2", labels={"disk": "ssd"}), gpus("n1", 1), claim]
    plan = told(objects, claim="mine", where={"disk": "ssd"})
    told_ = (
        "claim default/mine is allocated, and its devices can be used from n1 only, where this pod cannot be"
    )
    assert said(plan) == told_
    assert detail(plan, "Devices")["nodes"] == ["n1"]


def test_a_claim_whose_node_is_gone_says_so() -> None:
    gone = {
        "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n9"]}]}]
    }
    result = {"request": "gpu", "driver": GPU, "pool": "n9", "device": "gpu-0"}
    claim = resource_claim("mine", want(), {"devices": {"results": [result]}, "nodeSelector": gone})
    plan = told([node("n1"), gpus("n1", 1), claim], claim="mine")
    assert (
        said(plan)
        == "claim default/mine is allocated, and its devices can be used from no node that is there"
    )


# ---- the devices, one by one


def test_devices_are_counted_from_those_published_to_those_left() -> None:
    """The numbers of the words add up: 12 are published, 8 match, 3 of these are in use, 1 is left."""
    plan = lone(
        want(2, MODEL, MEMORY),
        node("n1"),
        node("n2"),
        gpus("n1", 4),
        gpus("n2", 4),
        resource_slice(
            "old",
            GPU,
            [device(f"old-{i}", {"model": "a100"}, {"memory": "80Gi"}) for i in range(3)],
            node="n1",
            pool="old",
        ),
        resource_slice("nics", NIC, [device("nic-0")], node="n1", pool="nics"),
        *holder("a", "n1", "gpu-0", "gpu-1", "gpu-2"),
        *holder("b", "n2", "gpu-0", "gpu-1", "gpu-2"),
    )
    assert categories(plan) == ["Devices"]
    assert said(plan) == (
        "request gpu of claim gpus: it wants 2 devices; 11 of 12 devices are of class gpu; "
        "8 of 11 devices match memory and model; 6 are in use; of 2 left, no node has 2: n1 has 1"
    )
    found = numbers(plan)
    assert {key: found[key] for key in ("published", "ofClass", "selected", "inUse", "left")} == {
        "published": 12,
        "ofClass": 11,
        "selected": 8,
        "inUse": 6,
        "left": 2,
    }
    assert found["rejected"] == [{"selector": MODEL, "devices": 3}]
    assert detail(plan, "Devices")["request"] == "gpu"


def test_the_devices_of_members_that_fit_are_told_apart_from_those_in_use() -> None:
    """Of 6 GPUs one is in use; two members take 4, and 1 is left."""
    plan = gang(3, want(2), node("n1"), gpus("n1", 6), *holder("a", "n1", "gpu-0"))
    assert said(plan) == (
        "there are devices for 2 of 3 members; request gpu of claim gpus: it wants 2 devices; 1 is in use; "
        "4 go to the members that fit; of 1 left, no node has 2: n1 has 1"
    )
    assert detail(plan, "Devices")["holds"] == 2
    assert (numbers(plan)["inUse"], numbers(plan)["ofMembers"], numbers(plan)["left"]) == (1, 4, 1)


def test_a_constraint_that_no_devices_satisfy_is_named() -> None:
    plan = lone(pair(TOGETHER), node("n1"), gpus("n1", 3, per_link=1))
    assert said(plan).endswith(f"it wants 2 devices; of 3, no 2 on one node share {LINK}")
    apart = lone(pair(constraint(distinct=LINK)), node("n1"), gpus("n1", 3))
    assert said(apart).endswith(f"it wants 2 devices; of 3, no 2 on one node differ in {LINK}")


def test_of_two_constraints_the_one_that_is_in_the_way_is_named() -> None:
    model = constraint(match=f"{GPU}/model")
    plan = lone(pair(model, TOGETHER), node("n1"), gpus("n1", 2, per_link=1))
    assert said(plan).endswith(f"no 2 on one node share {LINK}")


def test_an_attribute_that_no_device_has_is_called_so() -> None:
    """Whoever misspells one would look for devices, and there are enough."""
    other = constraint(match=f"{GPU}/lnk")
    plan = lone(pair(other), node("n1"), gpus("n1", 3))
    assert said(plan).endswith(f"no 2 on one node share {GPU}/lnk, which is an attribute of no device")
    plan = lone(pair(constraint(distinct=f"{GPU}/lnk"), TOGETHER), node("n1"), gpus("n1", 3))
    assert said(plan).endswith(f"no 2 on one node differ in {GPU}/lnk, which is an attribute of no device")


def test_devices_on_nodes_that_are_not_for_the_pod_are_out_of_reach() -> None:
    plan = lone(want(), node("n1", labels={"disk": "ssd"}), node("n2"), gpus("n2", 4), where={"disk": "ssd"})
    words = "it wants 1 device; 4 are out of reach of the nodes that accept the pod"
    assert categories(plan) == ["Devices", "Affinity"]
    assert said(plan).endswith(words)
    assert numbers(plan)["outOfReach"] == 4


def test_devices_on_nodes_that_are_full_are_told() -> None:
    plan = lone(want(), node("n1", cpu=1), node("n2"), gpus("n1", 4), pod("a", 1, node="n1", priority=1000))
    assert said(plan).endswith("it wants 1 device; 4 are on nodes without room for the pod")
    assert numbers(plan)["withoutRoom"] == 4


def test_a_share_that_no_device_has_left_is_told_by_its_capacity() -> None:
    shared = device("gpu-0", {}, {"memory": "80Gi"}, shared=True)
    plan = lone(
        want(1, capacity={"memory": "50Gi"}),
        node("n1"),
        resource_slice("n1-gpus", GPU, [shared], node="n1"),
        *holder("a", "n1", "gpu-0", consumed={"memory": "40Gi"}),
    )
    assert said(plan).endswith("it wants 1 device; 1 has too little memory left")
    assert numbers(plan)["capacity"] == {"memory": 1}


NEVER = {
    "more than there is": ({}, {"memory": "90Gi"}, "memory"),
    "of what it does not have": ({}, {"cores": "1"}, "cores"),
    "more than its policy gives": (
        {"requestPolicy": {"default": "10Gi", "validValues": ["10Gi", "20Gi"]}},
        {"memory": "30Gi"},
        "memory",
    ),
}


@pytest.mark.parametrize(("policy", "asked", "name"), NEVER.values(), ids=NEVER)
def test_a_share_that_no_device_ever_gives_is_told_from_one_that_others_have(
    policy: Obj, asked: Obj, name: str
) -> None:
    shared = device("gpu-0", {}, {"memory": {"value": "80Gi", **policy}}, shared=True)
    pool = resource_slice("n1-gpus", GPU, [shared], node="n1")
    plan = lone(want(1, capacity=asked), node("n1"), pool)
    assert said(plan).endswith(f"it wants 1 device; 1 never has so much {name} for one request")
    assert numbers(plan)["capacity"] == {name: 1}


def test_devices_that_several_nodes_reach_go_to_the_members_that_fit_wherever_these_are() -> None:
    """The third member would be alone on its node, and the devices are gone all the same."""
    fabric = resource_slice("fabric", GPU, [device("a"), device("b")], everywhere=True)
    plan = gang(3, want(), *(node(f"n{i}", cpu=1) for i in range(3)), fabric)
    assert said(plan) == (
        "there are devices for 2 of 3 members; request gpu of claim gpus: it wants 1 device; 2 go to the "
        "members that fit"
    )


def test_partitions_whose_counters_others_have_are_told() -> None:
    """A whole GPU and its two halves: while one half is in use the whole is not to be had."""
    sizes = {"whole": "2", "half-0": "1", "half-1": "1"}
    made = [
        device(name, {"size": int(size)}, counters={"gpu-0": {"slices": size}})
        for name, size in sizes.items()
    ]
    pool = resource_slice("n1-gpus", GPU, made, node="n1", counters={"gpu-0": {"slices": "2"}})
    whole = f'device.attributes["{GPU}"].size == 2'
    plan = lone(want(1, whole), node("n1"), pool, *holder("a", "n1", "half-0"))
    assert said(plan).endswith(
        "it wants 1 device; 1 of 3 devices matches size; 1 needs more of counter gpu-0/slices than is left"
    )
    assert numbers(plan)["counters"] == {"gpu-0/slices": 1}


def test_a_selector_that_fails_is_named_with_its_reason() -> None:
    """Two of three devices have no such attribute."""
    made = [device("gpu-0", {"cores": 4}), device("gpu-1"), device("gpu-2")]
    cores = f'device.attributes["{GPU}"].cores == 8'
    plan = lone(want(1, cores), node("n1"), resource_slice("n1-gpus", GPU, made, node="n1"))
    assert f"selector `{cores}` fails for 2 devices: " in said(plan)
    assert [(one["expression"], one["devices"]) for one in numbers(plan)["failures"]] == [(cores, 2)]


def test_where_no_device_is_left_the_selector_is_named_that_excludes_the_last() -> None:
    plan = lone(want(1, MODEL, MEMORY), node("n1"), gpus("n1", 4, model="a100"))
    assert said(plan).endswith(f"0 of 4 devices match memory and model (4 excluded by `{MODEL}`)")


def test_no_device_is_published() -> None:
    assert said(lone(want(), node("n1"))).endswith("it wants 1 device; no device is published")


def test_every_alternative_is_told() -> None:
    either = claim_spec(first_available("gpu", wish("gpu", 1, MODEL), wish("gpu", 3)))
    plan = lone(either, node("n1"), gpus("n1", 2, model="a100"))
    assert said(plan) == (
        "request gpu of claim gpus: gpu/a: it wants 1 device; 0 of 2 devices match model; "
        "or gpu/b: it wants 3 devices; of 2, no node has 3: n1 has 2"
    )
    assert [one["request"] for one in detail(plan, "Devices")["alternatives"]] == ["gpu/a", "gpu/b"]


def test_who_wants_all_devices_of_a_node_is_told_who_has_some() -> None:
    plan = lone(want(None), node("n1"), gpus("n1", 4), *holder("a", "n1", "gpu-0"))
    assert said(plan).endswith(
        "it wants all devices of a node; 1 is in use; 3 are left, and no node has all of its own left"
    )


def test_requests_that_fit_one_by_one_and_not_together() -> None:
    nic = resource_slice("n1-nics", NIC, [device("nic-0", {"link": "x"})], node="n1", pool="n1-nics")
    both = [exactly("gpu", wish("gpu")), exactly("nic", wish("nic"))]
    made = [device("gpu-0", {"example.com/root": "a"})]
    nic["spec"]["devices"][0]["attributes"] = {"example.com/root": {"string": "b"}}
    spec = claim_spec(*both, constraints=[constraint(match="example.com/root")])
    plan = lone(spec, node("n1"), resource_slice("n1-gpus", GPU, made, node="n1"), nic)
    assert said(plan) == (
        "no node has devices for requests gpu and nic of claim gpus at once that share example.com/root"
    )


def test_claims_that_fit_one_by_one_and_not_together() -> None:
    uses = {"resourceClaims": [use("one", template="t"), use("other", template="t")]}
    plan = decide([*CLASSES, node("n1"), gpus("n1", 1), claim_template("t", want()), pod("g", 1, spec=uses)])
    assert said(plan) == "no node has devices for claims one and other at once, though for each alone"


def test_members_that_share_a_claim_must_be_where_its_devices_are() -> None:
    shared = {"resourceClaims": [use("common", claim="common")]}
    members = pods("g", 3, 2, group="g", spec=shared)
    nodes = [node("n1", cpu=4), node("n2", cpu=4)]
    objects = [*CLASSES, *nodes, gpus("n1", 1), gpus("n2", 1), resource_claim("common", want())]
    plan = decide([*objects, pod_group("g", 3), *members])
    assert said(plan) == (
        "there are devices for 2 of 3 members; claim default/common is shared, and its devices are on n1: "
        "who shares it must be there"
    )


def test_a_pool_that_is_not_published_in_full_is_told() -> None:
    half = resource_slice("n2-gpus", GPU, [device("gpu-0")], node="n2", of=2)
    plan = lone(want(2), node("n1"), node("n2"), gpus("n1", 1), half)
    assert said(plan).endswith(f"; pool {GPU}/n2 is being updated: 1 of its 2 slices are published")
    assert verdict(plan) == "Waiting", "its devices may come"


# ---- devices that are unwell


def test_tainted_devices_are_a_matter_of_health() -> None:
    ill = gpus("n2", 1, taints=["unhealthy:NoSchedule"])
    plan = gang(2, want(), node("n1"), node("n2"), gpus("n1", 1), ill)
    assert categories(plan) == ["Health"]
    assert said(plan, "Health") == (
        "it would fit, but gpu-0 of pool n2 is tainted unhealthy:NoSchedule; what is left has room for 1 of 2"
    )
    told_ = {"driver": GPU, "pool": "n2", "device": "gpu-0", "node": "n2", "taints": ["unhealthy:NoSchedule"]}
    assert detail(plan, "Health")["tainted"] == [told_]
    assert detail(plan, "Health")["taintedDevices"] == 1
    assert verdict(plan) == "Waiting"


def test_tainted_devices_are_counted_where_their_health_alone_is_not_the_matter() -> None:
    ill = gpus("n2", 1, taints=["unhealthy:NoSchedule"])
    plan = gang(3, want(), node("n1"), node("n2"), gpus("n1", 1), ill)
    assert categories(plan) == ["Devices"]
    assert "; 1 is tainted; " in said(plan)


def test_a_rule_taints_devices_too() -> None:
    rule = taint_rule("broken", "ecc=errors:NoExecute", pool="n1")
    plan = lone(want(), node("n1"), gpus("n1", 2), rule)
    assert "but 2 devices of pool n1 are tainted ecc=errors:NoExecute; what" in said(plan, "Health")


def test_a_taint_that_is_tolerated_or_not_asked_for_is_in_nobodys_way() -> None:
    ill = gpus("n1", 1, taints=["unhealthy:NoSchedule"])
    assert verdict(lone(want(1, tolerations=["unhealthy:NoSchedule"]), node("n1"), ill)) == "Scheduled"
    other = claim_spec(exactly("nic", wish("nic")))
    assert categories(lone(other, node("n1"), ill)) == ["Devices"]


def test_devices_that_vanished_from_their_slices_are_told_and_no_proof() -> None:
    """The node has had three, of which one is in use and not published any more."""
    vanished = holder("a", "n1", "gpu-2")
    objects = [*CLASSES, node("n1"), gpus("n1", 2), claim_template("t", want(3)), *vanished]
    objects.append(pod("g", 1, spec={"resourceClaims": [use("gpus", template="t")]}))
    plan = decide(objects)
    assert verify(objects, plan, None) == []
    assert (categories(plan), verdict(plan)) == (["Devices", "Health"], "Waiting")
    told_ = "1 device that claims have is not published any more: gpu-2 of pool n1"
    assert said(plan, "Health") == told_
    lost = {"driver": GPU, "pool": "n1", "device": "gpu-2"}
    assert (detail(plan, "Health")["gone"], detail(plan, "Health")["goneDevices"]) == ([lost], 1)
    detail(plan, "Health")["gone"] = [{**lost, "device": "gpu-1"}]
    assert [breach.law for breach in verify(objects, plan, None)] == [7]


def test_a_pool_that_vanished_with_its_driver_is_told_to_those_who_want_its_class() -> None:
    vanished = holder("a", "n1", "gpu-0", "gpu-1")
    plan = lone(want(), node("n1"), node("n2"), gpus("n2", 1), *holder("b", "n2", "gpu-0"), *vanished)
    assert said(plan, "Health").endswith("not published any more: gpu-0 of pool n1, gpu-1 of pool n1")
    others = claim_spec(exactly("nic", wish("nic")))
    assert categories(lone(others, node("n1"), gpus("n1", 1), *holder("a", "n1", "gpu-7"))) == ["Devices"]


# ---- never


def test_what_the_empty_healthy_cluster_has_not_is_impossible() -> None:
    assert verdict(lone(want(3), node("n1"), gpus("n1", 2))) == "Impossible"
    assert verdict(lone(pair(TOGETHER), node("n1"), gpus("n1", 2, per_link=1))) == "Impossible"


def test_what_others_have_or_is_tainted_or_not_made_yet_is_not() -> None:
    in_use = lone(want(2), node("n1"), gpus("n1", 2), *holder("a", "n1", "gpu-0"))
    tainted = lone(want(2), node("n1"), gpus("n1", 2, taints=["unhealthy:NoSchedule"]))
    no_class = lone(claim_spec(exactly("gpu", wish("tpu"))), node("n1"), gpus("n1", 2))
    no_template = lone(None, node("n1"))
    assert [verdict(plan) for plan in (in_use, tainted, no_class, no_template)] == ["Waiting"] * 4
