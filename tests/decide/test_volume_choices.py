"""Which volume each claim gets is part of the Plan."""

from typing import Any

from tests.decide.reading import first
from tests.oracle.builders import HOSTNAME, Obj, expr, node, pod, pod_group, pv, pvc, storage_class
from tests.support import decide

LOCAL = storage_class("late", "kubernetes.io/no-provisioner")
MADE = storage_class("late")


def nodes(*names: str) -> list[Obj]:
    return [node(name, cpu=8, labels={HOSTNAME: name}) for name in names]


def volume(name: str, *on: str, **more: Any) -> Obj:
    return pv(name, "10Gi", storage_class="late", on=[expr(HOSTNAME, "In", *on)] if on else (), **more)


def claim(name: str) -> Obj:
    return pvc(name, "10Gi", storage_class="late")


def user(name: str, of: str, on: str, **more: Any) -> Obj:
    return pod(name, 1, claims=[of], where={HOSTNAME: on}, **more)


def chosen(*objects: Obj) -> dict[str, tuple[str | None, str]]:
    plan = decide(list(objects))
    assert {bind["pod"] for bind in plan["binds"]} == {
        f"default/{one['metadata']['name']}"
        for one in objects
        if one["kind"] == "Pod" and not one["spec"].get("nodeName")
    }, "everybody is bound"
    return {one["claim"].removeprefix("default/"): (one["volume"], one["node"]) for one in plan["volumes"]}


def test_a_claim_gets_the_volume_that_its_node_can_use() -> None:
    world = [LOCAL, *nodes("n1", "n2"), volume("v1", "n1"), volume("v2", "n2"), claim("a"), claim("b")]
    assert chosen(*world, user("p", "a", "n2"), user("q", "b", "n1")) == {
        "a": ("v2", "n2"),
        "b": ("v1", "n1"),
    }


def test_a_volume_is_made_where_none_exists() -> None:
    world = [MADE, *nodes("n1", "n2"), volume("v1", "n1"), claim("a"), claim("b")]
    assert chosen(*world, user("p", "a", "n2"), user("q", "b", "n1")) == {
        "a": (None, "n2"),
        "b": ("v1", "n1"),
    }


def test_a_claim_that_is_bound_has_its_volume_already() -> None:
    world = [LOCAL, *nodes("n1"), volume("v1", "n1", claim="default/a"), pvc("a", volume="v1")]
    assert chosen(*world, user("p", "a", "n1")) == {}


def test_pods_that_share_a_claim_get_a_volume_that_all_of_them_can_use() -> None:
    world = [LOCAL, *nodes("n1", "n2"), volume("v1", "n1", "n2"), volume("v2", "n1"), claim("a")]
    assert chosen(*world, user("p", "a", "n1"), user("q", "a", "n2")) == {"a": ("v1", "n1")}


def test_a_volume_that_is_kept_for_a_claim_is_the_one_that_it_gets() -> None:
    kept = volume("v9", "n1", claim="default/a")
    world = [LOCAL, *nodes("n1"), volume("v1", "n1"), kept, claim("a")]
    assert chosen(*world, user("p", "a", "n1")) == {"a": ("v9", "n1")}


def test_members_change_volumes_so_that_there_is_one_for_each() -> None:
    """`v1` is the first that a claim on n2 would be given, but a member on n1 can use no other."""
    gang = [pod_group("g", 2), user("g-0", "a", "n2", group="g"), user("g-1", "b", "n1", group="g")]
    world = [LOCAL, *nodes("n1", "n2", "n3"), volume("v1", "n1", "n2"), volume("v2", "n2", "n3")]
    assert chosen(*world, claim("a"), claim("b"), *gang) == {"a": ("v2", "n2"), "b": ("v1", "n1")}


def test_a_volume_that_was_given_away_is_not_there_for_the_next() -> None:
    world = [LOCAL, *nodes("n1"), volume("v1", "n1"), claim("a"), claim("b")]
    plan = decide([*world, user("p", "a", "n1"), user("q", "b", "n1")])
    assert [one["claim"] for one in plan["volumes"]] == ["default/a"]
    waiting = next(group for group in plan["groups"] if group["group"] == "default/q")
    assert waiting["blockers"][0]["category"] == "Priority"


def test_a_group_that_waits_gets_no_volume() -> None:
    world = [LOCAL, *nodes("n1"), volume("v1", "n1"), claim("a")]
    plan = decide([*world, pod_group("g", 2), user("g-0", "a", "n1", group="g")])
    assert plan["volumes"] == []


def test_claims_of_several_sizes_share_what_suits_both() -> None:
    """The large claim of each pod can have one volume only, and the small one the other."""
    sizes = {"small": "5Gi", "large": "20Gi"}
    claims = [pvc(f"{name}-{n}", size, storage_class="late") for name, size in sizes.items() for n in (0, 1)]
    here = [expr(HOSTNAME, "In", "n1")]
    volumes = [
        pv(f"v{n}", size, storage_class="late", on=here) for n, size in enumerate(("5Gi", "20Gi", "20Gi"))
    ]
    both = [pod(f"p{n}", 1, claims=[f"small-{n}", f"large-{n}"]) for n in (0, 1)]
    world = [LOCAL, *nodes("n1"), *claims, *volumes, *both]
    plan = decide(world)
    assert [bind["pod"] for bind in plan["binds"]] == ["default/p0"], "for the other a volume is missing"
    assert {one["claim"]: one["volume"] for one in plan["volumes"]} == {
        "default/small-0": "v0",
        "default/large-0": "v1",
    }
    more = pv("v3", "5Gi", storage_class="late", on=here)
    assert len(decide([*world, more])["binds"]) == 2


def test_claims_of_two_sizes_on_two_nodes_get_a_volume_each() -> None:
    """Beside three small claims on n1 there would be none for the large one on n2: v3 is the only large one,
    and each of the limits, of one size or of both, on one node or on both, would be kept."""
    volumes = [
        *(
            pv(name, "1Gi", storage_class="late", on=[expr(HOSTNAME, "In", "n1", "n2")])
            for name in ("v1", "v2")
        ),
        pv("v3", "2Gi", storage_class="late", on=[expr(HOSTNAME, "In", "n1", "n2")]),
        *(
            pv(name, "1Gi", storage_class="late", on=[expr(HOSTNAME, "In", "n2")])
            for name in ("v4", "v5", "v6")
        ),
    ]
    sizes = {"a": "1Gi", "b": "1Gi", "c": "1Gi", "d": "2Gi", "e": "1Gi"}
    claims = [pvc(name, size, storage_class="late") for name, size in sizes.items()]
    members = [pod(f"g-{i}", 1, group="g", claims=of) for i, of in enumerate((["a", "b"], ["c"], ["d", "e"]))]
    found = chosen(
        LOCAL, node("n1", cpu=3), node("n2", cpu=4), *volumes, *claims, pod_group("g", 3), *members
    )
    given = [volume for volume, _ in found.values()]
    assert found["d"][0] == "v3"
    assert None not in given
    assert len(set(given)) == len(sizes)


def test_a_claim_that_is_shared_takes_a_volume_beside_those_of_each_member() -> None:
    def world(volumes: int) -> list[Obj]:
        members = [pod(f"g-{name}", 1, group="g", claims=[name, "shared"]) for name in ("a", "b")]
        have = [volume(f"v{number}", "n1") for number in range(volumes)]
        return [LOCAL, *nodes("n1"), *have, *map(claim, ("a", "b", "shared")), pod_group("g", 2), *members]

    assert set(chosen(*world(3))) == {"a", "b", "shared"}
    too_few = decide(world(2))
    assert (too_few["binds"], first(too_few)) == ([], "Volume")


def test_members_that_share_a_claim_sit_wherever_its_volume_serves_though_one_could_be_made() -> None:
    members = [pod(f"g-{number}", 3, group="g", claims=["shared"]) for number in range(4)]
    world = [MADE, *nodes("n1", "n2", "n3"), claim("shared"), pod_group("g", 4), *members]
    found = chosen(*world, volume("v1", "n1", "n2"))
    assert found["shared"][0] == "v1"
    assert decide(world)["binds"] == []  # the one that is made is for one node
    assert decide([*world, volume("v1", "n1")])["binds"] == []
