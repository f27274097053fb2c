"""Filters about volumes that tests/decide/test_constraints_volumes.py, which asks the checker too, lacks."""

import pytest

from .make import Raw, claim, csi_node, judged, node, pod, reason, seating, storage_class, uses, volume

ZONE = "topology.kubernetes.io/zone"
ZONES = [node(name, labels={ZONE: name}) for name in ("a", "b", "c")]
LOCAL = "kubernetes.io/no-provisioner"


USES_C: Raw = {"volumes": uses("c")}

# Storage objects, the pod, and the zones that it may go to.
VOLUMES: dict[str, tuple[list[Raw], Raw, str]] = {
    "zone label that makes no sense": ([claim("c", "v"), volume("v", labels={ZONE: "a__"})], USES_C, "a b c"),
    "unbound, no class at all": ([claim("c")], USES_C, ""),
    "dynamic, a node is selected already, though there is a volume elsewhere": (
        [
            claim(
                "c", storage_class="s", metadata={"annotations": {"volume.kubernetes.io/selected-node": "b"}}
            ),
            storage_class("s"),
            volume("v", "a", storage_class="s"),
        ],
        USES_C,
        "b",
    ),
    "static, being deleted": (
        [
            claim("c", storage_class="s"),
            storage_class("s", provisioner=LOCAL),
            {
                **volume("v", storage_class="s"),
                "metadata": {"name": "v", "deletionTimestamp": "2026-01-01T00:00:00Z"},
            },
        ],
        USES_C,
        "",
    ),
    "static for one claim is not enough for two": (
        [
            claim("c", storage_class="s"),
            claim("d", storage_class="s"),
            storage_class("s", provisioner=LOCAL),
            volume("v", "a", storage_class="s"),
            volume("w", "b", storage_class="s"),
            volume("x", "b", storage_class="s"),
        ],
        {"volumes": uses("c", "d")},
        "b",
    ),
}


@pytest.mark.parametrize(("storage", "about", "allowed"), VOLUMES.values(), ids=VOLUMES.keys())
def test_volumes(storage: list[Raw], about: Raw, allowed: str) -> None:
    objects = [*ZONES, *storage, pod("p", **about)]
    assert [n for n in "abc" if reason(objects, "p", n) is None] == allowed.split()


def csi(name: str, handle: str) -> list[Raw]:
    return [
        claim(name, f"pv-{name}"),
        volume(f"pv-{name}", csi={"driver": "csi.example.com", "volumeHandle": handle}),
    ]


LIMITS: dict[str, tuple[list[Raw], Raw, bool]] = {
    "one handle counts once": ([pod("q", on="a", volumes=uses("c1", "c2"))], {"volumes": uses("c1b")}, True),
    "no volume on a full node": ([pod("q", on="a", volumes=uses("c1", "c2", "c3"))], {}, True),
    "two at once": ([pod("q", on="a", volumes=uses("c1"))], {"volumes": uses("c2", "c3")}, False),
}
CSI = [*csi("c1", "h1"), *csi("c1b", "h1"), *csi("c2", "h2"), *csi("c3", "h3")]


@pytest.mark.parametrize(("there", "about", "fits"), LIMITS.values(), ids=LIMITS.keys())
def test_attach_limits(there: list[Raw], about: Raw, fits: bool) -> None:
    objects = [*ZONES, csi_node("a", 2), *CSI, *there, pod("p", **about)]
    assert (reason(objects, "p", "a") is None) == fits
    assert (judged(objects, seating({"p": "a"})) == []) == fits


def test_binds_of_one_plan_take_each_others_volumes() -> None:
    """Two claims and one volume: whoever is bound second gets none."""
    storage = [
        claim("c", storage_class="s"),
        claim("d", storage_class="s"),
        storage_class("s", provisioner=LOCAL),
    ]
    storage.append(volume("v", "a", storage_class="s"))
    pods = [pod("p", volumes=uses("c")), pod("q", volumes=uses("d"))]
    objects = [*ZONES, *storage, *pods]
    assert judged(objects, seating({"p": "a", "q": "a"})) == [3]
    more = [*objects, volume("w", "a", storage_class="s")]
    assert judged(more, seating({"p": "a", "q": "a"})) == []


def test_an_order_that_leaves_the_larger_volume_is_found() -> None:
    """Each claim takes the smallest volume near it; only if q goes first is p's left."""
    storage = [
        storage_class("s", provisioner=LOCAL),
        claim("c", storage_class="s"),
        claim("d", storage_class="s"),
    ]
    storage += [
        volume("tiny", storage_class="s", size="1Gi"),
        volume("wide", "b", storage_class="s", size="2Gi"),
    ]
    pods = [pod("p", volumes=uses("c")), pod("q", volumes=uses("d"))]
    objects = [*ZONES, *storage, *pods]
    assert judged(objects, seating({"p": "b", "q": "a"})) == []
    assert judged(objects, seating({"p": "b", "q": "b"})) == []
    assert judged(objects, seating({"p": "a", "q": "a"})) == [3]


def test_a_shared_claim_is_provisioned_on_one_node() -> None:
    storage = [claim("c", storage_class="s"), storage_class("s")]
    objects = [*ZONES, *storage, pod("p", **USES_C), pod("q", **USES_C)]
    assert judged(objects, seating({"p": "a", "q": "a"})) == []
    assert judged(objects, seating({"p": "a", "q": "b"})) == [3]


def test_pods_that_share_a_claim_share_its_volume() -> None:
    """The second pod finds the volume promised to its claim, and may use it wherever it can be reached."""
    storage = [claim("c", storage_class="s"), storage_class("s", provisioner=LOCAL)]
    pods = [pod("p", **USES_C), pod("q", **USES_C)]
    everywhere = [*ZONES, *storage, volume("v", storage_class="s"), *pods]
    assert judged(everywhere, seating({"p": "a", "q": "b"})) == []
    near = [*ZONES, *storage, volume("v", "a", storage_class="s"), *pods]
    assert judged(near, seating({"p": "a", "q": "a"})) == []
    assert judged(near, seating({"p": "a", "q": "b"})) == [3]


def test_sole_use_within_one_plan() -> None:
    storage = [claim("c", "v", ("ReadWriteOncePod",)), volume("v")]
    objects = [*ZONES, *storage, pod("p", **USES_C)]
    assert judged(objects, seating({"p": "a"})) == []
    assert judged([*objects, pod("q", **USES_C)], seating({"p": "a", "q": "b"})) == [3]
