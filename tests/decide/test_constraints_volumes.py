"""What volumes ask of a node: reach, place, volumes to be had, sole use and attach limits.

One line bites, the next does not. The pod is always ``p`` and the node that is asked about always ``n``, in
zone z1; the other nodes are full.
"""

from typing import Any

import pytest

from tests.decide.fitting import fits
from tests.decide.reading import first, nodes_used, seated, seats, verdict
from tests.oracle.builders import (
    HOSTNAME,
    REGION,
    ZONE,
    Obj,
    csi_node,
    expr,
    near,
    node,
    on_nodes,
    pod,
    pod_group,
    pods,
    pv,
    pvc,
    storage_class,
)
from tests.support import decide

HERE = node("n", cpu=8, zone="z1", labels={REGION: "r1"})
FULL = node("far", cpu=0, zone="z2", labels={REGION: "r1"})
USER = pod("p", 1, claims=["disk"])
BOUND = pvc("disk", volume="v")
OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
OLD_REGION = "failure-domain.beta.kubernetes.io/region"


def volume(*on: Any, **labels: str) -> list[Obj]:
    """A claim that is bound to a volume with this reach and these labels."""
    return [BOUND, pv("v", claim="default/disk", on=on, labels=labels)]


def placed(**labels: str) -> list[Obj]:
    return volume(**labels)


def waiting(*objects: Obj, selected: str | None = None) -> list[Obj]:
    """A claim of class ``late``, bound when its pod is placed, and what else there is."""
    claim = pvc("disk", "10Gi", storage_class="late")
    if selected:
        claim["metadata"]["annotations"] = {"volume.kubernetes.io/selected-node": selected}
    return [claim, *objects]


def for_earlier(found: Obj) -> Obj:
    """Kept for a claim that was deleted, and of which only the name has come back."""
    found["spec"]["claimRef"] = {"namespace": "default", "name": "disk", "uid": "long-gone"}
    return in_phase("Released", found)


def in_phase(phase: str, found: Obj) -> Obj:
    found["status"] = {"phase": phase}
    return found


def in_state(phase: str, objects: list[Obj]) -> list[Obj]:
    return [{**objects[0], "status": {"phase": phase}}, *objects[1:]]


def being_deleted(objects: list[Obj]) -> list[Obj]:
    dying = {**objects[0]["metadata"], "deletionTimestamp": "2026-01-01T00:00:00Z"}
    return [{**objects[0], "metadata": dying}, *objects[1:]]


LATE = storage_class("late")
LOCAL = storage_class("late", "kubernetes.io/no-provisioner")


def local(size: str = "10Gi", on: str = "n", **more: Any) -> Obj:
    fields: Obj = {"storage_class": "late", "on": [expr(HOSTNAME, "In", on)], **more}
    return pv(f"v-{on}-{size}".lower(), size, **fields)


CASES: dict[str, tuple[list[Obj], bool]] = {
    # bound volumes
    "a volume that reaches everywhere": (volume(), True),
    "a volume that reaches the node": (volume(expr(HOSTNAME, "In", "n")), True),
    "a volume that reaches another node": (volume(expr(HOSTNAME, "In", "far")), False),
    "a volume of the zone": (volume(expr(ZONE, "In", "z1", "z2")), True),
    "a volume of another zone": (volume(expr(ZONE, "In", "z2")), False),
    "a volume that excludes the zone": (volume(expr(ZONE, "NotIn", "z1")), False),
    "one of the terms of a volume": (volume([expr(ZONE, "In", "z2")], [expr(HOSTNAME, "In", "n")]), True),
    "a volume that names the node": (volume(on_nodes("n")), True),
    "a volume that names another node: fields of nodes are not looked at": (volume(on_nodes("far")), True),
    "a claim whose volume is gone": ([BOUND], False),
    "a claim that is missing": ([], False),
    # place labels of older volumes
    "the label of the zone": (placed(**{ZONE: "z1"}), True),
    "the label of another zone": (placed(**{ZONE: "z2"}), False),
    "the label of several zones": (placed(**{ZONE: "z2__z1"}), True),
    "the label of several other zones": (placed(**{ZONE: "z2__z3"}), False),
    "the label of the region": (placed(**{REGION: "r1"}), True),
    "the label of another region": (placed(**{REGION: "r2"}), False),
    "the older label of the zone": (placed(**{OLD_ZONE: "z1"}), True),
    "the older label of another zone": (placed(**{OLD_ZONE: "z2"}), False),
    "the older label of another region": (placed(**{OLD_REGION: "r2"}), False),
    "zone and region together": (placed(**{ZONE: "z1", REGION: "r2"}), False),
    "labels that say nothing of a place": (placed(disk="fast"), True),
    # claims that are bound when their pod is placed
    "a volume can be made": (waiting(LATE), True),
    "a class that does not exist": (waiting(), False),
    "a class that binds immediately": (waiting(storage_class("late", wait=False)), False),
    "a volume can be made in the zone": (waiting(storage_class("late", zones=["z2", "z1"])), True),
    "a volume can be made in another zone only": (waiting(storage_class("late", zones=["z2"])), False),
    "a volume exists where none can be made": (waiting(storage_class("late", zones=["z2"]), local()), True),
    "nothing can be made and nothing exists": (waiting(LOCAL), False),
    "a volume exists": (waiting(LOCAL, local()), True),
    "a volume exists on another node": (waiting(LOCAL, local(on="far")), False),
    "a larger volume exists": (waiting(LOCAL, local("11Gi")), True),
    "a smaller volume exists": (waiting(LOCAL, local("9Gi")), False),
    "a volume of another class exists": (waiting(LOCAL, local(storage_class="fast")), False),
    "a volume with more access modes exists": (
        waiting(LOCAL, local(modes=["ReadWriteOnce", "ReadOnlyMany"])),
        True,
    ),
    "a volume without the access mode exists": (waiting(LOCAL, local(modes=["ReadOnlyMany"])), False),
    "a volume that is kept for the claim": (waiting(LOCAL, local(claim="default/disk")), True),
    "a volume that is kept for another claim": (waiting(LOCAL, local(claim="default/other")), False),
    "a volume that is kept for a claim of another namespace": (
        waiting(LOCAL, local(claim="other/disk")),
        False,
    ),
    "a volume that is kept for an earlier claim of that name": (waiting(LOCAL, for_earlier(local())), False),
    "a volume that failed": (waiting(LOCAL, in_phase("Failed", local())), False),
    "a volume that is not ready yet": (waiting(LOCAL, in_phase("Pending", local())), False),
    "a claim for which this node was selected": (waiting(LATE, selected="n"), True),
    "a claim for which another node was selected": (waiting(LATE, selected="far"), False),
    # the state of a claim
    "a claim that has lost its volume": (in_state("Lost", volume()), False),
    "a claim that is being deleted": (being_deleted(volume()), False),
    "a claim that another pod uses too": (
        [*volume(), pod("a", node="n", claims=["disk"])],
        True,
    ),
}


@pytest.mark.parametrize(("objects", "right"), CASES.values(), ids=CASES.keys())
def test_volumes(objects: list[Obj], right: bool) -> None:
    assert fits(FULL, HERE, *objects, USER) is right


def test_a_node_without_any_place_label_takes_volumes_of_every_zone() -> None:
    """As kube-scheduler does for clusters of a single zone, whose nodes have no such labels."""
    assert fits(FULL, node("n"), *placed(**{ZONE: "z9", REGION: "r9"}), USER)
    assert not fits(FULL, node("n", labels={REGION: "r9"}), *placed(**{ZONE: "z9"}), USER)


def test_an_older_label_is_answered_by_the_newer_one_of_the_node() -> None:
    assert fits(FULL, node("n", zone="z1"), *placed(**{OLD_ZONE: "z1"}), USER)
    assert fits(FULL, node("n", labels={OLD_ZONE: "z1"}), *placed(**{OLD_ZONE: "z1"}), USER)
    assert not fits(FULL, node("n", zone="z2"), *placed(**{OLD_ZONE: "z1"}), USER)


def test_all_volumes_of_a_pod_must_be_reached() -> None:
    near_by, remote = (
        [pvc(name, volume=name), pv(name, claim=f"default/{name}", on=[expr(ZONE, "In", zone)])]
        for name, zone in (("a", "z1"), ("b", "z2"))
    )
    assert fits(FULL, HERE, *near_by, pod("p", claims=["a"]))
    assert not fits(FULL, HERE, *near_by, *remote, pod("p", claims=["a", "b"]))


def test_the_default_class_serves_claims_that_name_none() -> None:
    default = storage_class("usual")
    default["metadata"]["annotations"] = {"storageclass.kubernetes.io/is-default-class": "true"}
    assert fits(FULL, HERE, default, pvc("disk"), USER)
    assert not fits(FULL, HERE, storage_class("usual"), pvc("disk"), USER)


def test_a_claim_selects_volumes_by_label() -> None:
    claim = pvc("disk", storage_class="late")
    claim["spec"]["selector"] = {"matchLabels": {"tier": "gold"}}
    assert fits(FULL, HERE, LOCAL, claim, local(labels={"tier": "gold"}), USER)
    assert not fits(FULL, HERE, LOCAL, claim, local(labels={"tier": "tin"}), USER)


def test_a_block_volume_serves_no_claim_for_a_file_system() -> None:
    raw = local()
    raw["spec"]["volumeMode"] = "Block"
    assert not fits(FULL, HERE, LOCAL, *waiting(), raw, USER)
    claim = pvc("disk", storage_class="late")
    claim["spec"]["volumeMode"] = "Block"
    assert fits(FULL, HERE, LOCAL, claim, raw, USER)


# ---- local volumes serve one claim each


def claims(count: int, **fields: Any) -> list[Obj]:
    return [pvc(f"disk-{i}", "1Gi", storage_class="late", **fields) for i in range(count)]


def users(count: int, *, quorum: int | None = None, **fields: Any) -> list[Obj]:
    """A gang whose members have a claim each."""
    members = [pod(f"g-{i}", 1, group="g", index=i, claims=[f"disk-{i}"], **fields) for i in range(count)]
    return [pod_group("g", quorum or count), *members]


def local_volumes(**per_node: int) -> list[Obj]:
    return [
        pv(f"{name}-{i}", storage_class="late", on=[expr(HOSTNAME, "In", name)])
        for name, count in per_node.items()
        for i in range(count)
    ]


TWO = [node("n1", cpu=8), node("n2", cpu=8)]


def test_local_volumes_are_counted() -> None:
    base = [*TWO, LOCAL, *claims(3), *users(3)]
    plan = decide([*base, *local_volumes(n1=1, n2=2)])
    assert sorted(seats(plan).values()) == ["n1", "n2", "n2"]
    plan = decide([*base, *local_volumes(n1=1, n2=1)])
    assert (seated(plan), first(plan)) == ([], "Volume")


def test_as_many_members_are_seated_as_there_are_local_volumes() -> None:
    plan = decide([*TWO, LOCAL, *claims(3), *users(3, quorum=1), *local_volumes(n1=2)])
    assert seats(plan) == {"g-0": "n1", "g-1": "n1"}


def test_groups_do_not_take_each_others_local_volumes() -> None:
    one, two = (pod(name, 1, claims=[f"disk-{i}"], created=i) for i, name in enumerate(("one", "two")))
    plan = decide([*TWO, LOCAL, *claims(2), *local_volumes(n1=1), one, two])
    assert seats(plan) == {"one": "n1"}
    assert (verdict(plan, "two"), first(plan, "two")) == ("Waiting", "Priority")


def test_a_pod_with_two_claims_takes_two_local_volumes() -> None:
    pair = pod("p", 1, claims=["disk-0", "disk-1"])
    base = [*TWO, LOCAL, *claims(2), pair]
    assert seats(decide([*base, *local_volumes(n1=1, n2=1)])) == {}
    assert seats(decide([*base, *local_volumes(n1=1, n2=2)])) == {"p": "n2"}


def test_a_claim_takes_the_smallest_volume_that_will_do() -> None:
    """The large claim needs the large volume, which the small one, first in turn, must leave alone."""
    small, large = pvc("disk-0", "1Gi", storage_class="late"), pvc("disk-1", "5Gi", storage_class="late")
    volumes = [local("2Gi"), local("8Gi")]
    plan = decide([HERE, LOCAL, small, large, *volumes, *users(2)])
    assert seated(plan) == ["g-0", "g-1"]


def test_volumes_that_exist_are_taken_before_more_are_made() -> None:
    """One volume exists in z1, and more can only be made in z2."""
    zones = [node("n1", zone="z1"), node("n2", zone="z2")]
    found = pv("v", storage_class="late", on=[expr(ZONE, "In", "z1")])
    base = [*zones, storage_class("late", zones=["z2"]), *claims(2), found]
    apart = [near("hostname", {"app": "g"})]
    plan = decide([*base, *users(2, labels={"app": "g"}, anti_affinity=apart)])
    assert nodes_used(plan) == {"n1", "n2"}


def test_pods_that_share_a_waiting_claim_need_one_volume() -> None:
    sharing = [pod_group("g", 2), *pods("g", 2, 1, group="g", claims=["disk-0"])]
    plan = decide([*TWO, LOCAL, *claims(1, modes=["ReadWriteMany"]), *one_shared_volume(), *sharing])
    assert seats(plan) == {"g-0": "n1", "g-1": "n1"}


def one_shared_volume() -> list[Obj]:
    return [
        pv("v", storage_class="late", modes=["ReadWriteMany"], on=[expr(HOSTNAME, "In", "n1")]),
    ]


def test_pods_that_share_a_waiting_claim_are_seated_where_one_volume_reaches() -> None:
    """A volume on each node, but the claim can have only one of them."""
    apart = [near("hostname", {"app": "g"})]
    sharing = pods("g", 2, 1, group="g", claims=["disk-0"], labels={"app": "g"}, anti_affinity=apart)
    volumes = [
        pv(f"v-{name}", storage_class="late", modes=["ReadWriteMany"], on=[expr(HOSTNAME, "In", name)])
        for name in ("n1", "n2")
    ]
    plan = decide([*TWO, LOCAL, *claims(1, modes=["ReadWriteMany"]), *volumes, pod_group("g", 2), *sharing])
    assert seats(plan) == {}


def test_pods_that_share_a_claim_whose_volume_is_yet_to_be_made_go_to_one_node() -> None:
    """Once a node is selected for the volume of the first, the second has to follow it there."""
    shared = claims(1, modes=["ReadWriteMany"])
    sharing = pods("g", 2, 1, group="g", claims=["disk-0"], labels={"app": "g"})
    assert len(nodes_used(decide([*TWO, LATE, *shared, pod_group("g", 2), *sharing]))) == 1
    apart = [near("hostname", {"app": "g"})]
    sharing = pods("g", 2, 1, group="g", claims=["disk-0"], labels={"app": "g"}, anti_affinity=apart)
    assert seats(decide([*TWO, LATE, *shared, pod_group("g", 2), *sharing])) == {}


# ---- ReadWriteOncePod


ALONE = pvc("disk", storage_class="late", modes=["ReadWriteOncePod"])
SOLE: dict[str, tuple[list[Obj], bool]] = {
    "nobody else": ([], True),
    "a running pod": ([pod("a", node="n", claims=["disk"])], False),
    "a running pod on another node": ([pod("a", node="far", claims=["disk"])], False),
    "a terminating pod": ([pod("a", node="n", claims=["disk"], deleted=True)], False),
    "a finished pod": ([pod("a", node="n", claims=["disk"], phase="Succeeded")], True),
    "a waiting pod whose turn comes later": ([pod("z", claims=["disk"])], True),
    "a claim of that name in another namespace": (
        [
            pod("a", node="n", claims=["disk"], namespace="other"),
            pvc("disk", namespace="other", storage_class="late", modes=["ReadWriteOncePod"]),
        ],
        True,
    ),
}


@pytest.mark.parametrize(("others", "right"), SOLE.values(), ids=SOLE.keys())
def test_sole_use(others: list[Obj], right: bool) -> None:
    assert fits(FULL, HERE, LATE, ALONE, *others, USER) is right


def test_of_two_pods_with_one_sole_claim_the_first_is_seated() -> None:
    one, two = (pod(name, 1, claims=["disk"], created=i) for i, name in enumerate(("one", "two")))
    assert seated(decide([HERE, LATE, ALONE, one, two])) == ["one"]


# ---- attach limits


CSI = "csi.example.com"


def attached(*names: str, on: str | None = None) -> list[Obj]:
    """A pod with these volumes, each with its claim."""
    return [pod(f"of-{'-'.join(names)}", node=on, claims=names)]


def csi_volumes(*names: str, driver: str = CSI) -> list[Obj]:
    return [
        thing
        for name in names
        for thing in (pvc(name, volume=name), pv(name, claim=f"default/{name}", driver=driver))
    ]


LIMIT = csi_node("n", {CSI: 2})
ATTACHED: dict[str, tuple[list[Obj], bool]] = {
    "room for one more": ([*csi_volumes("a", "disk"), *attached("a", on="n")], True),
    "no room": ([*csi_volumes("a", "b", "disk"), *attached("a", "b", on="n")], False),
    "no room, attached by two pods": (
        [*csi_volumes("a", "b", "disk"), *attached("a", on="n"), *attached("b", on="n")],
        False,
    ),
    "attached elsewhere": ([*csi_volumes("a", "b", "disk"), *attached("a", "b", on="far")], True),
    "attached there already": ([*csi_volumes("a", "disk"), *attached("a", "disk", on="n")], True),
    "shared by the pods there": (
        [*csi_volumes("a", "disk"), *attached("a", on="n"), pod("again", node="n", claims=["a"])],
        True,
    ),
    "of another driver": (
        [*csi_volumes("a", "b"), *csi_volumes("disk", driver="other"), *attached("a", "b", on="n")],
        True,
    ),
    "one yet to be made": (
        [*csi_volumes("a", "b"), LATE, *waiting(), *attached("a", "b", on="n")],
        False,
    ),
    "one yet to be made, with room": ([*csi_volumes("a"), LATE, *waiting(), *attached("a", on="n")], True),
    "no CSI volume": ([*volume(), *csi_volumes("a", "b"), *attached("a", "b", on="n")], True),
    "those of finished pods": (
        [*csi_volumes("a", "b", "disk"), pod("done", node="n", claims=["a", "b"], phase="Failed")],
        True,
    ),
    "those of terminating pods": (
        [*csi_volumes("a", "b", "disk"), pod("going", node="n", claims=["a", "b"], deleted=True)],
        False,
    ),
}


@pytest.mark.parametrize(("objects", "right"), ATTACHED.values(), ids=ATTACHED.keys())
def test_attach_limits(objects: list[Obj], right: bool) -> None:
    assert fits(FULL, HERE, LIMIT, *objects, USER) is right


def test_a_node_that_does_not_say_has_no_attach_limit() -> None:
    names = [f"v{i}" for i in range(40)]
    assert fits(FULL, HERE, *csi_volumes(*names, "disk"), *attached(*names, on="n"), USER)


def test_members_share_the_attach_limit_of_a_node() -> None:
    base = [*TWO, csi_node("n1", {CSI: 2}), csi_node("n2", {CSI: 1})]
    volumes = csi_volumes(*(f"disk-{i}" for i in range(4)))
    assert sorted(seats(decide([*base, *volumes, *users(3)])).values()) == ["n1", "n1", "n2"]
    plan = decide([*base, *volumes, *users(4)])
    assert (verdict(plan), first(plan)) == ("Impossible", "Volume")


def test_members_that_share_a_volume_attach_it_once_per_node() -> None:
    sharing = [pod_group("g", 4), *pods("g", 4, 1, group="g", claims=["a"])]
    plan = decide([node("n", cpu=4), csi_node("n", {CSI: 1}), *csi_volumes("a"), *sharing])
    assert len(seated(plan)) == 4


def test_members_of_two_shapes_that_share_a_volume_attach_it_once_per_node() -> None:
    sharing = [pod("g-0", 2, group="g", claims=["a"]), pod("g-1", 1, group="g", claims=["a"])]
    plan = decide([node("n", cpu=4), csi_node("n", {CSI: 1}), *csi_volumes("a"), pod_group("g", 2), *sharing])
    assert seated(plan) == ["g-0", "g-1"]


# ---- generic ephemeral volumes


def ephemeral(name: str, storage: str = "late") -> Obj:
    template = {
        "spec": {
            "storageClassName": storage,
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        }
    }
    return pod(name, 1, spec={"volumes": [{"name": "work", "ephemeral": {"volumeClaimTemplate": template}}]})


def test_an_ephemeral_volume_is_taken_as_its_template_before_its_claim_exists() -> None:
    assert fits(FULL, HERE, LATE, ephemeral("p"))
    assert not fits(FULL, HERE, storage_class("late", zones=["z2"]), ephemeral("p"))
    assert not fits(FULL, HERE, LATE, ephemeral("p", "ghost"))
    elsewhere = ephemeral("p")
    elsewhere["metadata"]["namespace"] = "team"
    assert seats(decide([FULL, HERE, LATE, elsewhere])) == {"team/p": "n"}, (
        "its claim is in its own namespace"
    )


def test_an_ephemeral_volume_is_its_claim_once_that_exists() -> None:
    made = [pvc("p-work", volume="v"), pv("v", claim="default/p-work", on=[expr(ZONE, "In", "z2")])]
    assert not fits(FULL, HERE, LATE, *made, ephemeral("p"))
