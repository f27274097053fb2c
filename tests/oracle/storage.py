"""Volumes for generated clusters.

The choices kube-scheduler makes among volumes depend on the order of pods (the smallest volume that fits), so
the ones generated here are alike wherever a choice exists: whether a group can be seated then depends on the
nodes alone, and every oracle means the same thing by it.
"""

from collections.abc import Sequence

from tests.oracle.builders import (
    HOSTNAME,
    ZONE,
    Obj,
    attachment,
    csi_driver,
    csi_node,
    expr,
    pv,
    pvc,
    storage_class,
)
from tests.oracle.traits import Deck, Fields

DRIVER = "disk.example.com"
Claimant = tuple[Fields, bool, str]
"""The fields of a pod, whether it waits, and its name."""


def add_volumes(deck: Deck, nodes: Sequence[str], claimants: Sequence[Claimant]) -> list[Obj]:
    """Give some of the pods claims; returns the claims, volumes, classes and attach limits."""
    objects: list[Obj] = []
    for fields, waits, name in claimants:
        space = fields.get("namespace", "default")
        if deck.chance("bound_volumes"):
            objects += _bound(deck, nodes, fields, space, name)
        if waits and deck.chance("waiting_volumes"):
            objects += _waiting(deck, fields, space, name)
        if waits and deck.rarely("lost_volumes"):
            objects += _lost(deck, fields, space, name)
        if deck.chance("csi"):
            _mount(fields, f"{name}-disk")
            objects.append(pvc(f"{name}-disk", namespace=space, volume=f"disk-{name}"))
            objects.append(pv(f"disk-{name}", driver=DRIVER, claim=f"{space}/{name}-disk"))
        if deck.chance("rwop"):
            _mount(fields, "only")
    return objects + _shared(deck, nodes)


def _mount(fields: Fields, claim: str) -> None:
    fields["claims"] = [*fields.get("claims", ()), claim]


def _bound(deck: Deck, nodes: Sequence[str], fields: Fields, space: str, name: str) -> list[Obj]:
    """A claim bound to a volume that lives in one zone, on one node, or behind a zone label."""
    _mount(fields, f"{name}-data")
    ways: list[Fields] = [
        {"on": [expr(ZONE, "In", "z0")]},
        {"on": [expr(HOSTNAME, "In", deck.pick(nodes))]},
        {"labels": {ZONE: "z0"}},
        {"labels": {ZONE: "z0__z1"}},
    ]
    volume = pv(f"data-{name}", claim=f"{space}/{name}-data", **deck.pick(ways))
    return [pvc(f"{name}-data", namespace=space, volume=f"data-{name}"), volume]


def _waiting(deck: Deck, fields: Fields, space: str, name: str) -> list[Obj]:
    """A claim that is bound when its pod is placed: to a disk of the node, or to one made for it."""
    _mount(fields, f"{name}-late")
    return [pvc(f"{name}-late", namespace=space, storage_class=deck.pick(["local", "made", "made-in-z0"]))]


def _lost(deck: Deck, fields: Fields, space: str, name: str) -> list[Obj]:
    """A claim that keeps its pod waiting: missing, of no known class, or to be bound by someone else."""
    _mount(fields, f"{name}-lost")
    way = deck.pick(["missing", "immediate", "unknown"])
    return [] if way == "missing" else [pvc(f"{name}-lost", namespace=space, storage_class=way)]


def _shared(deck: Deck, nodes: Sequence[str]) -> list[Obj]:
    """What does not belong to one pod: classes, free disks, attach limits, the claim for one pod only."""
    objects: list[Obj] = []
    if "waiting_volumes" in deck.features:
        objects.append(storage_class("local", "kubernetes.io/no-provisioner"))
        objects.append(storage_class("made"))
        objects.append(storage_class("made-in-z0", zones=["z0"]))
        for name in nodes:
            disks = range(deck.number(0, 2))
            objects += [
                pv(f"{name}-{k}", storage_class="local", on=[expr(HOSTNAME, "In", name)]) for k in disks
            ]
    if "lost_volumes" in deck.features:
        objects.append(storage_class("immediate", wait=False))
    if "csi" in deck.features:
        objects += [csi_node(name, {DRIVER: deck.number(1, 2)}) for name in nodes if not deck.rarely("csi")]
        objects.append(csi_driver(DRIVER, strict=deck.rarely("csi")))
        for name in nodes:
            if deck.rarely("csi"):
                objects.append(pv(f"left-{name}", driver=DRIVER))
                objects.append(attachment(f"left-{name}", name, f"left-{name}", DRIVER))
    if "rwop" in deck.features:
        for space in ("default", "other"):
            objects.append(pvc("only", namespace=space, modes=["ReadWriteOncePod"], volume=f"only-{space}"))
            objects.append(pv(f"only-{space}", modes=["ReadWriteOncePod"], claim=f"{space}/only"))
    return objects
