"""Resource claims: what a Plan allocates is what was asked for, and nothing is given away twice."""

from typing import Any

import pytest

from maitred.verify import Breach, verify
from tests.oracle.device_builders import (
    claim_spec,
    claim_template,
    constraint,
    device,
    device_class,
    exactly,
    first_available,
    opaque,
    resource_claim,
    resource_slice,
    taint_rule,
    use,
    wish,
)

from .make import Raw, gang_seating, members, node, pod, pod_group, seating

GPU = "gpu.example.com"
HERE: Raw = {
    "nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
    ]
}
USER: Raw = {"resource": "pods", "name": "p", "uid": "uid-p"}
ONE = claim_spec(exactly("r", wish("gpu")))
TWO = claim_spec(exactly("r", wish("gpu", 2)))
CLASS = device_class("gpu", f'device.driver == "{GPU}"')
TWINS = [device("a", {"model": "x", "link": "l0"}), device("b", {"model": "y", "link": "l1"})]


def result(name: str, request: str = "r", **more: Any) -> Raw:
    return {"request": request, "driver": GPU, "pool": "n1", "device": name, **more}


def allocation(*results: Raw, where: Raw | None = HERE, config: list[Raw] | None = None) -> Raw:
    devices = {"results": list(results)} | ({"config": config} if config else {})
    return {"devices": devices} | ({"nodeSelector": where} if where else {})


def claims(*results: Raw, reserved: Raw = USER, claim: str = "default/c", **more: Any) -> list[Raw]:
    return [{"claim": claim, "allocation": allocation(*results, **more), "reservedFor": [reserved]}]


def world(spec: Raw, devices: list[Raw], *others: Raw, **more: Any) -> list[Raw]:
    """Two nodes, devices on the first, and a pod with a claim."""
    user = pod("p", resourceClaims=[use("own", "c")])
    return [
        *(node("n1"), node("n2"), CLASS, user, resource_claim("c", spec)),
        resource_slice("s", GPU, devices, node="n1", **more),
        *others,
    ]


def broken(objects: list[Raw], plan_claims: list[Raw], to: str = "n1") -> list[Breach]:
    return [b for b in verify(objects, seating({"p": to}) | {"claims": plan_claims}) if b.law < 4]


def test_what_was_asked_for() -> None:
    assert broken(world(ONE, TWINS), claims(result("a"))) == []


ALL = claim_spec(exactly("r", wish("gpu", None)))
X = claim_spec(exactly("r", wish("gpu", 1, f'device.attributes["{GPU}"].model == "x"')))
EITHER = claim_spec(first_available("r", wish("gpu", 2), wish("gpu", 1)))
SAME = claim_spec(exactly("r", wish("gpu", 2)), constraints=[constraint(match=f"{GPU}/link")])
APART = claim_spec(exactly("r", wish("gpu", 2)), constraints=[constraint("r", distinct=f"{GPU}/link")])
TAINTED = [device("a", taints=["example.com/unwell:NoSchedule"])]
BEARS = claim_spec(exactly("r", wish("gpu", 1, tolerations=["example.com/unwell"])))
RANGE: Raw = {"value": "8", "requestPolicy": {"default": "1", "validRange": {"min": "2", "step": "2"}}}
SHARED = [device("a", capacity={"memory": RANGE}, shared=True)]
PART = claim_spec(exactly("r", wish("gpu", 1, capacity={"memory": "3"})))
LISTS = [device("a", {"link": ["l0", "l1"]}), device("b", {"link": "l1"}), device("c", {"link": ["l2"]})]
ADMIN = claim_spec(exactly("r", wish("gpu", admin=True)))
CONFIGURED = claim_spec(exactly("r", wish("gpu")), config=[opaque(GPU, ["r"], mode={"x": "y"})])
SAID = {"driver": GPU, "parameters": {"mode": {"x": "y"}}}
READY = [device("a", bindingConditions=["ready"], bindingFailureConditions=["failed"])]
SHARE: Raw = {"shareID": "1", "consumedCapacity": {"memory": "4"}}
TOLERATION: Raw = {"key": "example.com/unwell", "operator": "Exists"}

# The spec of the claim, the devices of the first node, what is given, and what is wrong with that.
ALLOCATIONS: dict[str, tuple[Raw, list[Raw], list[Raw], str]] = {
    "a count that is right": (TWO, TWINS, [result("a"), result("b")], ""),
    "too few": (TWO, TWINS, [result("a")], "1 devices for r, which asks for 2"),
    "one twice": (TWO, TWINS, [result("a"), result("a")], "twice for r"),
    "all": (ALL, TWINS, [result("a"), result("b")], ""),
    "not all": (ALL, TWINS, [result("a")], "asks for all that match"),
    "all but a tainted one": (
        ALL,
        [*TAINTED, device("b")],
        [result("b")],
        "asks for all that match",
    ),
    "no such device": (ONE, TWINS, [result("z")], "does not exist"),
    "no such request": (ONE, TWINS, [result("a"), result("b", "other")], "which it does not ask for"),
    "a selector": (X, TWINS, [result("a")], ""),
    "a selector that does not match": (X, TWINS, [result("b")], "does not match device.attributes"),
    "the first alternative": (EITHER, TWINS, [result("a", "r/a"), result("b", "r/a")], ""),
    "the second alternative": (EITHER, TWINS, [result("b", "r/b")], ""),
    "no alternative is named": (EITHER, TWINS, [result("b")], "which it does not ask for"),
    "two alternatives": (
        EITHER,
        [*TWINS, device("c")],
        [result("a", "r/a"), result("b", "r/a"), result("c", "r/b")],
        "r/a, r/b of r",
    ),
    "attributes that differ": (SAME, TWINS, [result("a"), result("b")], "do not share"),
    "attributes that match": (SAME, [device("a", {"link": "l0"}), device("b", {"link": "l0"})], [], ""),
    "an attribute that one lacks": (SAME, [device("a", {"link": "l0"}), device("b")], [], "has no"),
    "attributes that must differ": (APART, TWINS, [], ""),
    "attributes that must differ and do not": (
        APART,
        [device("a", {f"{GPU}/link": "l0"}), device("b", {"link": "l0"})],
        [],
        "have the same",
    ),
    "lists that have a value in common": (SAME, LISTS[:2], [], ""),
    "lists that have none": (SAME, LISTS[1:], [result("b"), result("c")], "do not share"),
    "lists that must differ": (APART, LISTS[1:], [result("b"), result("c")], ""),
    "lists that overlap": (APART, LISTS[:2], [], "have the same"),
    "a taint": (ONE, TAINTED, [result("a")], "the taint example.com/unwell"),
    "a taint that is tolerated": (BEARS, TAINTED, [result("a", tolerations=[TOLERATION])], ""),
    "tolerations that are not written": (BEARS, TAINTED, [result("a")], "its tolerations are not"),
    "a taint without effect": (ONE, [device("a", taints=["example.com/note:None"])], [result("a")], ""),
    "a part": (PART, SHARED, [result("a", **SHARE)], ""),
    "a part that the policy does not allow": (
        PART,
        SHARED,
        [result("a", shareID="1", consumedCapacity={"memory": "3"})],
        "consumedCapacity is",
    ),
    "a part without a name": (
        PART,
        SHARED,
        [result("a", consumedCapacity={"memory": "4"})],
        "has no shareID",
    ),
    "a share of what is not shared": (ONE, TWINS, [result("a", shareID="1")], "is not shared"),
    "more than there is": (
        claim_spec(exactly("r", wish("gpu", 1, capacity={"memory": "9"}))),
        SHARED,
        [result("a", **SHARE)],
        "does not have the capacity",
    ),
    "a capacity that it does not have": (PART, TWINS, [result("a")], "does not have the capacity"),
    "admin access": (ADMIN, TWINS, [result("a", adminAccess=True)], ""),
    "admin access that is not written": (ADMIN, TWINS, [result("a")], "adminAccess is False"),
    "binding conditions": (
        ONE,
        READY,
        [result("a", bindingConditions=["ready"], bindingFailureConditions=["failed"])],
        "",
    ),
    "binding conditions that are not written": (ONE, READY, [result("a")], "bindingConditions are not"),
    "configuration that is left out": (CONFIGURED, TWINS, [result("a")], "its configuration for r"),
    "a class that there is not": (
        claim_spec(exactly("r", wish("none"))),
        TWINS,
        [result("a")],
        "there is no device class none",
    ),
    "more than a claim can have": (
        claim_spec(exactly("r", wish("gpu", 33))),
        [device(f"d{i}") for i in range(33)],
        [result(f"d{i}") for i in range(33)],
        "33 devices, and a claim can have 32",
    ),
}


@pytest.mark.parametrize(("spec", "devices", "results", "wrong"), ALLOCATIONS.values(), ids=ALLOCATIONS)
def test_an_allocation_is_what_was_asked_for(
    spec: Raw, devices: list[Raw], results: list[Raw], wrong: str
) -> None:
    given = results or [result("a"), result("b")]
    found = broken(world(spec, devices), claims(*given))
    assert bool(found) == bool(wrong)
    assert not wrong or any(wrong in b.message and (b.law, b.subject) == (3, "default/c") for b in found), (
        found
    )


def test_configuration_of_the_class_comes_before_that_of_the_claim() -> None:
    mode = {"driver": GPU, "parameters": {"turbo": "on"}}
    objects = [o for o in world(CONFIGURED, TWINS) if o["kind"] != "DeviceClass"]
    objects.append(device_class("gpu", config=[{"opaque": mode}]))
    said = [
        {"source": "FromClass", "requests": ["r"], "opaque": mode},
        {"source": "FromClaim", "requests": ["r"], "opaque": SAID},
    ]
    assert broken(objects, claims(result("a"), config=said)) == []
    assert broken(objects, claims(result("a"), config=said[::-1])) != []


def test_slices_of_older_generations_and_of_pools_in_part_do_not_count() -> None:
    newer = resource_slice("new", GPU, [device("b")], node="n1", generation=2)
    assert "does not exist" in broken(world(ONE, TWINS, newer), claims(result("a")))[0].message
    assert broken(world(ONE, TWINS, newer), claims(result("b"))) == []
    assert "has 1 of 2 slices" in broken(world(ONE, TWINS, of=2), claims(result("a")))[0].message
    twice = resource_slice("t", GPU, [device("a")], node="n1", of=2)
    assert "two devices of one name" in broken(world(ONE, TWINS, twice, of=2), claims(result("a")))[0].message


def test_taint_rules_taint_what_they_name() -> None:
    unwell = "example.com/unwell:NoExecute"
    assert broken(world(ONE, TWINS, taint_rule("t", unwell, pool="n2")), claims(result("a"))) == []
    assert broken(world(ONE, TWINS, taint_rule("t", unwell, device="a")), claims(result("b"))) == []
    for selector in ({}, {"driver": GPU}, {"device": "a"}):
        assert broken(world(ONE, TWINS, taint_rule("t", unwell, **selector)), claims(result("a"))) != []


def test_devices_are_within_reach_and_so_is_whoever_comes_later() -> None:
    far = broken(world(ONE, TWINS), claims(result("a")), to="n2")
    assert any("cannot be reached from n2" in b.message for b in far)
    wide = broken(world(ONE, TWINS), claims(result("a"), where=None))
    assert [b.message for b in wide] == ["its nodeSelector admits n2"]
    everywhere = [o for o in world(ONE, []) if o["kind"] != "ResourceSlice"]
    everywhere.append(resource_slice("s", GPU, TWINS, everywhere=True, pool="n1"))
    assert broken(everywhere, claims(result("a"), where=None), to="n2") == []
    narrow = broken(everywhere, claims(result("a")))
    assert [b.message for b in narrow] == ["its nodeSelector leaves out n2"]
    each = [o for o in everywhere if o["kind"] != "ResourceSlice"]
    own = [TWINS[0] | {"nodeName": "n1"}, TWINS[1] | {"allNodes": True}]
    each.append(resource_slice("s", GPU, own, each=True, pool="n1"))
    assert broken(each, claims(result("a"))) == []
    assert broken(each, claims(result("a")), to="n2") != []
    assert broken(each, claims(result("b"), where=None), to="n2") == []


def test_a_pod_is_bound_with_its_claims_or_not_at_all() -> None:
    objects = world(ONE, TWINS)
    (missing,) = broken(objects, [])
    assert (missing.law, missing.subject) == (3, "default/p")
    assert "its resource claim default/c has no allocation" in missing.message
    stranger = USER | {"name": "q", "uid": "uid-q"}
    unreserved = [b.message for b in broken(objects, claims(result("a"), reserved=stranger))]
    assert unreserved == [
        "is not reserved for pods p, and default/p is bound",
        "is reserved for pods q, which does not use it",
    ]
    idle = broken(objects, claims(result("a")) + claims(result("b"), claim="default/other"))
    assert [(b.subject, b.message) for b in idle] == [
        ("default/other", "is allocated or reserved, but no pod that is bound uses it")
    ]
    twice = broken(objects, claims(result("a")) * 2)
    assert [(b.law, b.message) for b in twice] == [(1, "the Plan allocates it 2 times")]


def held(name: str, *results: Raw, **more: Any) -> Raw:
    return resource_claim(name, ONE, allocation(*results, **more))


def test_no_device_is_given_twice_but_for_admin_access() -> None:
    objects = world(ONE, TWINS, held("other", result("a")))
    assert [(b.law, b.subject) for b in broken(objects, claims(result("a")))] == [(1, f"{GPU}/n1/a")]
    assert broken(objects, claims(result("b"))) == []
    watching = world(ADMIN, TWINS, held("other", result("a")))
    assert broken(watching, claims(result("a", adminAccess=True))) == []
    watched = world(ONE, TWINS, held("other", result("a", adminAccess=True)))
    assert broken(watched, claims(result("a"))) == []


def test_shares_and_counters_are_not_overdrawn() -> None:
    def shares(amount: str) -> list[Raw]:
        other = held("other", result("a", shareID="0", consumedCapacity={"memory": amount}))
        return world(PART, SHARED, other)

    assert broken(shares("4"), claims(result("a", **SHARE))) == []
    (over,) = broken(shares("5"), claims(result("a", **SHARE)))
    assert (over.law, over.message) == (1, "9 of memory are given away, it has 8")

    def parts(units: str) -> list[Raw]:
        counters = resource_slice("k", GPU, node="n1", of=2, counters={"card": {"units": "4"}})
        some = [
            device("a", counters={"card": {"units": units}}),
            device("b", counters={"card": {"units": "2"}}),
        ]
        return world(ONE, some, counters, held("other", result("b")), of=2)

    assert broken(parts("2"), claims(result("a"))) == []
    (over,) = broken(parts("3"), claims(result("a")))
    expected = "5 of the counter card/units are given away, it has 4"
    assert (over.law, over.subject, over.message) == (1, f"{GPU}/n1", expected)


def test_a_claim_that_was_allocated_before_keeps_what_it_has() -> None:
    objects = [o for o in world(ONE, TWINS) if o["kind"] != "ResourceClaim"]
    objects.append(held("c", result("a")))
    reserved = [{"claim": "default/c", "allocation": {}, "reservedFor": [USER]}]
    assert broken(objects, reserved) == []
    assert broken(objects, claims(result("a"))) == []
    assert [b.message for b in broken(objects, claims(result("b")))] == [
        "was allocated already, and is allocated anew"
    ]
    assert [b.message for b in broken(objects, [])] == ["is not reserved for pods p, and default/p is bound"]
    assert any("cannot be reached from n2" in b.message for b in broken(objects, reserved, to="n2"))


def test_claims_that_a_template_has_not_made_yet_are_named_after_their_pods_and_podgroups() -> None:
    uses = [use("own", template="t"), use("common", template="t")]
    objects = [
        *(node("n1"), node("n2"), CLASS, claim_template("t", ONE)),
        resource_slice("s", GPU, [device(f"d{i}") for i in range(3)], node="n1"),
        pod_group("g", 2, resourceClaims=uses[1:]),
        *members("g", 2, resourceClaims=uses),
    ]
    everybody = {"apiGroup": "scheduling.k8s.io", "resource": "podgroups", "name": "g", "uid": ""}
    given = claims(result("d0"), claim="default/g-common", reserved=everybody)
    for i in range(2):
        user = {"resource": "pods", "name": f"g-{i}", "uid": f"uid-g-{i}"}
        given += claims(result(f"d{i + 1}"), claim=f"default/g-{i}-own", reserved=user)
    seats = gang_seating("g", 2, {"g-0": "n1", "g-1": "n1"})
    assert [b for b in verify(objects, seats | {"claims": given}) if b.law < 4] == []
    given[0]["reservedFor"] = [given[1]["reservedFor"][0]]
    found = [b.message for b in verify(objects, seats | {"claims": given}) if b.law < 4]
    assert "is not reserved for podgroups g, and default/g-0 is bound" in found
    without = [o for o in objects if o["kind"] != "ResourceClaimTemplate"]
    assert any("there is no template t" in b.message for b in verify(without, seats | {"claims": given}))


def test_what_runs_has_its_claims() -> None:
    user = pod("p", on="n1", resourceClaims=[use("own", "c")])

    def standing(claim: Raw) -> list[str]:
        objects = [o for o in world(ONE, TWINS) if o["kind"] not in ("ResourceClaim", "Pod")]
        return [b.message for b in verify([*objects, user, claim], None)]

    fine = resource_claim("c", ONE, allocation(result("a")), [USER])
    assert standing(fine) == []
    assert standing(resource_claim("c", ONE)) == [
        "is not reserved for default/p, which uses it",
        "is on n1, and its claim default/c is not allocated",
    ]
    away = {**HERE["nodeSelectorTerms"][0]["matchFields"][0], "values": ["n2"]}
    elsewhere = allocation(result("a"), where={"nodeSelectorTerms": [{"matchFields": [away]}]})
    assert standing(resource_claim("c", ONE, elsewhere, [USER])) == [
        "is on n1, and the devices of default/c are not"
    ]
    both = verify([*world(ONE, TWINS)[:3], user, fine, held("other", result("a"))], None)
    assert [(b.law, b.message) for b in both] == [(1, "is given to 2 requests: default/c, default/other")]


def test_older_versions_of_the_api_say_the_same() -> None:
    """In v1beta1 devices are one level deeper and requests one less."""
    flat = {"devices": {"requests": [{"name": "r", **wish("gpu", 1, 'device.driver != "x"')}]}}
    objects = world(
        flat, [{"name": d["name"], "basic": {k: v for k, v in d.items() if k != "name"}} for d in TWINS]
    )
    for obj in objects:
        if obj["apiVersion"].startswith("resource.k8s.io"):
            obj["apiVersion"] = "resource.k8s.io/v1beta1"
    assert broken(objects, claims(result("a"))) == []
    assert broken(objects, claims(result("z"))) != []
