"""Filters about volumes."""

import pytest

from .make import Raw, claim, csi_node, judged, node, pod, reason, seating, storage_class, uses, volume

ZONE = "topology.kubernetes.io/zone"
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
ZONES = [node(name, labels={ZONE: name}) for name in ("a", "b", "c")]
LOCAL = "kubernetes.io/no-provisioner"
ONLY_A = [{"matchLabelExpressions": [{"key": ZONE, "values": ["a"]}]}]


def ephemeral(storage: str | None) -> Raw:
    spec: Raw = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    if storage is not None:
        spec["storageClassName"] = storage
    return {"volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": {"spec": spec}}}]}


USES_C: Raw = {"volumes": uses("c")}
SMALL_AND_LARGE = [
    volume("large", "a", storage_class="s", size="10Gi"),
    volume("small", "b", storage_class="s", size="1Gi"),
]
DEFAULT: Raw = {
    "metadata": {"name": "s", "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
}

# Storage objects, the pod, and the zones that it may go to.
VOLUMES: dict[str, tuple[list[Raw], Raw, str]] = {
    "no claim object": ([], USES_C, ""),
    "bound": ([claim("c", "v"), volume("v")], USES_C, "a b c"),
    "bound to a volume that is gone": ([claim("c", "v")], USES_C, ""),
    "node affinity of the volume": ([claim("c", "v"), volume("v", "b")], USES_C, "b"),
    "zone label": ([claim("c", "v"), volume("v", labels={ZONE: "b"})], USES_C, "b"),
    "zone label, older key": ([claim("c", "v"), volume("v", labels={OLD_ZONE: "b"})], USES_C, "b"),
    "zone label, several zones": ([claim("c", "v"), volume("v", labels={ZONE: "a__c"})], USES_C, "a c"),
    "zone label that makes no sense": ([claim("c", "v"), volume("v", labels={ZONE: "a__"})], USES_C, "a b c"),
    "region label that nodes lack": (
        [claim("c", "v"), volume("v", labels={"topology.kubernetes.io/region": "r"})],
        USES_C,
        "",
    ),
    "other labels say nothing": ([claim("c", "v"), volume("v", labels={"zone": "b"})], USES_C, "a b c"),
    "lost": ([claim("c", "v") | {"status": {"phase": "Lost"}}, volume("v")], USES_C, ""),
    "being deleted": (
        [claim("c", "v", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}), volume("v")],
        USES_C,
        "",
    ),
    "unbound, immediate class": (
        [claim("c", storage_class="s"), storage_class("s", waits=False), volume("v", storage_class="s")],
        USES_C,
        "",
    ),
    "unbound, no such class": ([claim("c", storage_class="s")], USES_C, ""),
    "unbound, no class at all": ([claim("c")], USES_C, ""),
    "unbound, the default class": ([claim("c"), storage_class("s", **DEFAULT)], USES_C, "a b c"),
    "dynamic": ([claim("c", storage_class="s"), storage_class("s")], USES_C, "a b c"),
    "dynamic, allowed topologies": (
        [claim("c", storage_class="s"), storage_class("s", allowedTopologies=ONLY_A)],
        USES_C,
        "a",
    ),
    "dynamic, a node is selected already": (
        [
            claim(
                "c", storage_class="s", metadata={"annotations": {"volume.kubernetes.io/selected-node": "b"}}
            ),
            storage_class("s"),
        ],
        USES_C,
        "b",
    ),
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
    "static": (
        [claim("c", storage_class="s"), storage_class("s", provisioner=LOCAL), *SMALL_AND_LARGE],
        USES_C,
        "a b",
    ),
    "static, too small": (
        [claim("c", storage_class="s", size="5Gi"), storage_class("s", provisioner=LOCAL), *SMALL_AND_LARGE],
        USES_C,
        "a",
    ),
    "static, other class": (
        [
            claim("c", storage_class="s"),
            storage_class("s", provisioner=LOCAL),
            volume("v", storage_class="t"),
        ],
        USES_C,
        "",
    ),
    "static, other access mode": (
        [
            claim("c", storage_class="s", modes=("ReadWriteMany",)),
            storage_class("s", provisioner=LOCAL),
            volume("v", storage_class="s"),
        ],
        USES_C,
        "",
    ),
    "static, other volume mode": (
        [
            claim("c", storage_class="s", volumeMode="Block"),
            storage_class("s", provisioner=LOCAL),
            volume("v", storage_class="s"),
        ],
        USES_C,
        "",
    ),
    "static, selector": (
        [
            claim("c", storage_class="s", selector={"matchLabels": {"tier": "fast"}}),
            storage_class("s", provisioner=LOCAL),
            volume("v", "a", storage_class="s"),
            volume("w", "b", {"tier": "fast"}, storage_class="s"),
        ],
        USES_C,
        "b",
    ),
    "static, taken": (
        [
            claim("c", storage_class="s"),
            storage_class("s", provisioner=LOCAL),
            volume("v", "a", storage_class="s", claimRef={"namespace": "default", "name": "other"}),
        ],
        USES_C,
        "",
    ),
    "static, kept for it": (
        [
            claim("c", storage_class="s"),
            storage_class("s", provisioner=LOCAL),
            volume("v", "a", storage_class="s", claimRef={"namespace": "default", "name": "c"}),
            volume("w", "b", storage_class="s"),
        ],
        USES_C,
        "a",
    ),
    "static, not available": (
        [
            claim("c", storage_class="s"),
            storage_class("s", provisioner=LOCAL),
            volume("v", storage_class="s") | {"status": {"phase": "Released"}},
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
    "ephemeral, yet to be made": ([storage_class("s", allowedTopologies=ONLY_A)], ephemeral("s"), "a"),
    "ephemeral, immediate": ([storage_class("s", waits=False)], ephemeral("s"), ""),
    "ephemeral, made and bound": ([claim("p-v", "v"), volume("v", "b")], ephemeral("s"), "b"),
}


@pytest.mark.parametrize(("storage", "about", "allowed"), VOLUMES.values(), ids=VOLUMES.keys())
def test_volumes(storage: list[Raw], about: Raw, allowed: str) -> None:
    objects = [*ZONES, *storage, pod("p", **about)]
    assert [n for n in "abc" if reason(objects, "p", n) is None] == allowed.split()


def test_zone_labels_do_not_matter_where_nodes_have_none() -> None:
    objects = [node("n"), claim("c", "v"), volume("v", labels={ZONE: "b"}), pod("p", **USES_C)]
    assert reason(objects, "p", "n") is None


@pytest.mark.parametrize(
    ("mode", "there", "fits"),
    [
        ("ReadWriteOncePod", pod("q", on="b", volumes=uses("c")), False),
        ("ReadWriteOncePod", pod("q", on="b", volumes=uses("c"), phase="Succeeded"), True),
        ("ReadWriteOncePod", pod("q", on="b", volumes=uses("c"), namespace="other"), True),
        ("ReadWriteOncePod", pod("q", on="b", volumes=uses("d")), True),
        ("ReadWriteOnce", pod("q", on="b", volumes=uses("c")), True),
    ],
)
def test_sole_use(mode: str, there: Raw, fits: bool) -> None:
    storage = [claim("c", "v", (mode,)), volume("v"), claim("d", "w"), volume("w")]
    assert (reason([*ZONES, *storage, there, pod("p", **USES_C)], "p", "a") is None) == fits


def csi(name: str, handle: str) -> list[Raw]:
    return [
        claim(name, f"pv-{name}"),
        volume(f"pv-{name}", csi={"driver": "csi.example.com", "volumeHandle": handle}),
    ]


LIMITS: dict[str, tuple[list[Raw], Raw, bool]] = {
    "below the limit": ([pod("q", on="a", volumes=uses("c1"))], {"volumes": uses("c2")}, True),
    "at the limit": (
        [pod("q", on="a", volumes=uses("c1", "c2"))],
        {"volumes": uses("c3")},
        False,
    ),
    "one volume counts once": (
        [pod("q", on="a", volumes=uses("c1", "c2"))],
        {"volumes": uses("c1")},
        True,
    ),
    "one handle counts once": ([pod("q", on="a", volumes=uses("c1", "c2"))], {"volumes": uses("c1b")}, True),
    "elsewhere": ([pod("q", on="b", volumes=uses("c1", "c2"))], {"volumes": uses("c3")}, True),
    "no volume on a full node": ([pod("q", on="a", volumes=uses("c1", "c2", "c3"))], {}, True),
    "a volume yet to be made counts": (
        [pod("q", on="a", volumes=uses("c1", "c2"))],
        {"volumes": uses("new")},
        False,
    ),
    "another driver does not": (
        [pod("q", on="a", volumes=uses("c1", "c2"))],
        {"volumes": uses("plain")},
        True,
    ),
    "two at once": ([pod("q", on="a", volumes=uses("c1"))], {"volumes": uses("c2", "c3")}, False),
}
CSI = [*csi("c1", "h1"), *csi("c1b", "h1"), *csi("c2", "h2"), *csi("c3", "h3")]
CSI += [claim("new", storage_class="s"), storage_class("s"), claim("plain", "pv-plain"), volume("pv-plain")]


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
