"""Every remedy works: whoever carries it out sees the group scheduled, and nobody pushed out for it."""

import json
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given

from maitred.cluster.snapshot import Snapshot
from maitred.decide import decide as decide_snapshot
from maitred.explain.remedies import growth, seeking
from maitred.explain.remedies.added import Pattern, with_copies
from maitred.explain.remedies.changes import MoreNodes
from maitred.explain.remedies.rehearsal import with_running
from maitred.explain.situation import Situation
from maitred.model.meta import Timestamp
from tests.explain.applying import SLICE_SIZE, SLICE_TOPOLOGY, check_remedies, remedied
from tests.explain.capacity_situations import nodes
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.oracle.strategies import clusters
from tests.support import NOON, policy_of, snapshot_of

LEVELS = {
    "topology": {"levels": [{"name": "zone", "key": b.ZONE}, {"name": "shelf", "key": "rack"}]},
}


def offers(objects: list[Obj], group: str = "default/crew", policy: Obj | None = None) -> dict[str, Obj]:
    """The remedies for a group by kind, each of which has been carried out and found to work."""
    plan = remedied(objects, policy)
    check_remedies(objects, plan, policy)
    (entry,) = (entry for entry in plan["groups"] if entry["group"] == group)
    return {remedy["detail"]["kind"]: remedy for remedy in entry["remedies"]}


def crew(count: int, quorum: int | None = None, level: str | None = None, **fields: Any) -> list[Obj]:
    group = b.pod_group("crew", count if quorum is None else quorum, level, created=0)
    return [group, *b.pods("crew", count, group="crew", **{"created": 0, **fields})]


# ---- fewer members


def test_the_most_members_that_fit() -> None:
    objects = [*nodes(7), *crew(8, gpu=8)]
    remedy = offers(objects)["members"]
    assert remedy["change"] == "run with 7 of 8 members"
    assert remedy["detail"]["without"] == ["default/crew-7"]


def test_an_elastic_group_lowers_its_quorum() -> None:
    remedy = offers([*nodes(4), *crew(8, quorum=6, gpu=8)])["quorum"]
    assert remedy["change"] == "run with 4 of 8 members: lower the quorum from 6 to 4"
    assert remedy["detail"] == {"kind": "quorum", "from": 6, "to": 4}


def test_members_that_run_already_count() -> None:
    running = [b.pod(f"crew-{i}", gpu=8, group="crew", node=f"n{i}", created=0) for i in range(2)]
    waiting = b.pods("crew", 3, gpu=8, group="crew", start=2, created=0)
    found = offers([*nodes(4), b.pod_group("crew", 5, created=0), *running, *waiting])
    assert found["members"]["change"] == "run with 4 of 5 members"


def test_a_broken_gang_may_run_with_the_members_it_has() -> None:
    running = [b.pod(f"crew-{i}", gpu=8, group="crew", node=f"n{i}", created=0) for i in range(3)]
    late = b.pod("crew-3", gpu=8, group="crew", created=0)
    found = offers([*nodes(3), b.pod_group("crew", 4, created=0), *running, late])
    assert found["quorum"]["detail"] == {"kind": "quorum", "from": 4, "to": 3}


def test_who_comes_after_may_lose_its_seats_and_is_named() -> None:
    """The group of lower priority has its seats only because the one before it does not fit."""
    low = [b.pod_group("low", 2, created=1), *b.pods("low", 2, gpu=8, group="low", created=1, priority=0)]
    high = crew(6, quorum=5, gpu=8, priority=10)
    found = offers([*nodes(4), *low, *high])
    members = "run with 4 of 6 members: lower the quorum from 5 to 4; then default/low would wait"
    assert found["quorum"]["change"] == members
    assert found["nodes"]["detail"] == {
        "kind": "nodes",
        "count": 1,
        "like": "n0",
        "labels": {},
        "instead": ["default/low"],
    }


def test_a_lone_kind_of_member_is_kept_or_missed_plainly() -> None:
    def without(launcher: int) -> str:
        pods = [b.pod("crew-launcher", launcher, group="crew"), *b.pods("crew", 2, 4, group="crew")]
        found = offers([b.node("n1", cpu=8), b.pod_group("crew", 3), *pods])
        return str(found["members"]["change"])

    assert without(1) == "run with 2 of 3 members, without default/crew-1"
    lost = "without default/crew-launcher; no pod like default/crew-launcher would be left"
    assert without(8) == f"run with 2 of 3 members, {lost}"


def test_priority_is_no_remedy_among_pods_of_one_job() -> None:
    pods = b.pods("crew", 5, 1, owner="Job/crew", created=5)
    entry = next(
        group for group in remedied([b.node("n1", cpu=4), *pods])["groups"] if group["verdict"] == "Waiting"
    )
    assert entry["blockers"][0]["category"] == "Priority"
    assert [remedy["detail"]["kind"] for remedy in entry["remedies"]] == ["nodes"]


def test_a_small_rest_is_not_worth_telling() -> None:
    assert "members" not in offers([*nodes(1), *crew(8, gpu=8)])


def test_groups_declared_by_marks() -> None:
    marks = b.gang("crew", 4, "rack")
    pods = b.pods("crew", 4, gpu=8, annotations=marks, created=0)
    found = offers([*nodes(3, per_rack=3), *pods])
    assert found["members"]["detail"]["to"] == 3


# ---- a wider level


def test_the_next_wider_level_that_works() -> None:
    objects = [*nodes(8), *crew(3, level="rack", gpu=8)]
    remedy = offers(objects, policy=LEVELS)["topology"]
    assert remedy["change"] == "require one zone instead of one shelf"
    assert remedy["detail"] == {"kind": "topology", "constraint": "required", "from": "shelf", "to": "zone"}


def test_no_level_at_all() -> None:
    objects = [*nodes(8), *crew(6, level="rack", gpu=8)]
    assert offers(objects, policy=LEVELS)["topology"]["change"] == "do not require one shelf"
    assert offers(objects)["topology"]["change"] == "do not require one rack"


def test_levels_that_only_groups_name() -> None:
    """Without a policy, levels are those that groups name: here the other one's zone is wider than a rack."""
    other = [b.pod_group("other", 1, b.ZONE, created=9), b.pod("other-0", group="other", created=9)]
    objects = [*nodes(8), *crew(3, level="rack", gpu=8), *other]
    assert offers(objects)["topology"]["detail"]["to"] == b.ZONE


def test_slices_in_wider_domains() -> None:
    marks = {SLICE_SIZE: "4", SLICE_TOPOLOGY: "rack"}
    pods = b.pods("crew", 8, gpu=8, annotations={**b.gang("crew", 8), **marks}, created=0)
    found = offers([*nodes(8), *pods], policy=LEVELS)
    assert found["topology"]["change"] == "keep each slice within one zone instead of one shelf"


def test_slices_of_a_group_in_one_zone() -> None:
    marks = {SLICE_SIZE: "3", SLICE_TOPOLOGY: "rack", b.TOPOLOGY: "zone"}
    pods = b.pods("crew", 3, gpu=8, annotations={**b.gang("crew", 3), **marks}, created=0)
    found = offers([*nodes(4), *pods], policy=LEVELS)
    assert found["topology"]["detail"] == {
        "kind": "topology",
        "constraint": "slice",
        "from": "shelf",
        "to": "zone",
    }


# ---- a smaller request


def test_the_largest_number_of_devices_that_fits() -> None:
    load = [b.pod(f"old-{i}", gpu=2, node=f"n{i}") for i in range(4)]
    remedy = offers([*nodes(4), *load, *crew(4, gpu=8)])["request"]
    assert remedy["change"] == "ask for 6 instead of 8 nvidia.com/gpu for each member"
    assert remedy["detail"] == {"kind": "request", "resource": b.GPU, "from": "8", "to": "6"}


@pytest.mark.parametrize(
    ("asked", "free", "fits"),
    [
        ({"cpu": "7"}, {"cpu": "6500m"}, {"resource": "cpu", "from": "7", "to": "6500m"}),
        ({"cpu": "7"}, {"cpu": "6450m"}, {"resource": "cpu", "from": "7", "to": "6400m"}),
        ({"memory": "8Gi"}, {"memory": "7000Mi"}, {"resource": "memory", "from": "8Gi", "to": "7000Mi"}),
        ({"memory": "64Gi"}, {"memory": "50000Mi"}, {"resource": "memory", "from": "64Gi", "to": "48Gi"}),
    ],
)
def test_steps_that_people_take(asked: Obj, free: Obj, fits: Obj) -> None:
    found = offers(
        [b.node("n0", **{"cpu": "64", "memory": "512Gi", **free}), b.pod("one", **asked)], "default/one"
    )
    assert found["request"]["detail"] == {"kind": "request", **fits}


def test_a_request_larger_than_any_node() -> None:
    found = offers([b.node("n0", gpu=8), b.pod("one", gpu=16)], "default/one")
    assert found["request"]["change"] == "ask for 8 instead of 16 nvidia.com/gpu"


def test_only_the_large_members_ask_for_less() -> None:
    small = b.pods("crew", 3, gpu=1, group="crew", created=0)
    large = b.pods("crew", 1, gpu=8, group="crew", start=3, created=0)
    remedy = offers([b.node("n0", gpu=8), b.pod_group("crew", 4, created=0), *small, *large])["request"]
    assert remedy["change"] == "ask for at most 5 nvidia.com/gpu for each member, instead of up to 8"


# ---- more nodes


def test_the_fewest_nodes() -> None:
    remedy = offers([*nodes(5), *crew(8, gpu=8)])["nodes"]
    assert remedy["change"] == "add 3 nodes like n0 (8 nvidia.com/gpu, 64 cpu, 32Gi memory)"
    assert remedy["detail"] == {"kind": "nodes", "count": 3, "like": "n0", "labels": {}}


def test_nodes_where_the_group_nearly_fits() -> None:
    busy = [b.pod("old", gpu=8, node="n0")]
    remedy = offers([*nodes(4), *busy, *crew(3, level="rack", gpu=8)])["nodes"]
    assert remedy["change"].endswith(" in rack r1")
    assert remedy["detail"]["like"] == "n2"


def test_a_kind_of_node_from_elsewhere() -> None:
    """No node like those of the rack that the group is in would do; one like those of another would."""
    here = [
        b.node("a0", gpu=4, rack="r0", zone="z0"),
        b.pod("crew-0", gpu=4, group="crew", node="a0", created=0),
    ]
    there = [b.node("b0", gpu=8, rack="r1", zone="z1"), b.pod("old", gpu=8, node="b0")]
    late = b.pod("crew-1", gpu=8, group="crew", created=0)
    remedy = offers([*here, *there, b.pod_group("crew", 2, "rack", created=0), late])["nodes"]
    assert remedy["detail"] == {
        "kind": "nodes",
        "count": 1,
        "like": "b0",
        "labels": {"rack": "r0", b.ZONE: "z0"},
    }


def test_new_nodes_are_well_and_run_their_daemons() -> None:
    sick = b.node("n0", gpu=8, cpu=8, cordoned=True, taints=["pool=ml:NoSchedule"])
    agent = b.pod("agent", cpu=1, node="n0", owner="DaemonSet/agent")
    pods = crew(2, gpu=1, cpu=7, tolerations=["pool=ml:NoSchedule"])
    assert offers([sick, agent, *pods])["nodes"]["detail"]["count"] == 2
    pods = crew(2, gpu=1, cpu=8, tolerations=["pool=ml:NoSchedule"])
    assert "nodes" not in offers([sick, agent, *pods])


def test_new_nodes_declare_the_features_of_the_one_that_they_are_like() -> None:
    feature = "RestartAllContainersOnContainerExits"
    full = [b.node("n0", cpu=1, features=[feature]), b.pod("old", cpu=1, node="n0")]
    found = offers([b.node("n1", cpu=4), *full, *crew(1, cpu=1, restarts_all=True)])
    assert found["nodes"]["change"].startswith("add 1 node like n0 ")


def test_who_waits_ahead_takes_new_nodes_first() -> None:
    ahead = [b.pod_group("ahead", 3, created=0), *b.pods("ahead", 3, gpu=8, group="ahead", created=0)]
    objects = [*nodes(2), *ahead, *crew(4, gpu=8, created=5)]
    assert offers(objects, "default/ahead")["nodes"]["detail"]["count"] == 1
    remedy = offers(objects)["nodes"]
    assert remedy["change"].endswith(", enough also for default/ahead, which comes before it")
    assert (remedy["detail"]["count"], remedy["detail"]["ahead"]) == (5, ["default/ahead"])


def test_where_many_wait_ahead_it_is_said_that_new_nodes_were_not_tried() -> None:
    """All of them would take of the new nodes first. Nobody knows how many there would have to be."""
    queue = [b.pod(f"p{number}", gpu=8, created=number) for number in range(growth.MOST_AHEAD + 2)]
    snapshot, now = (
        snapshot_of([*nodes(1), b.pod("first", node="n0", gpu=8), *queue]),
        msgspec.convert(NOON, Timestamp),
    )
    situation = Situation(snapshot, policy_of(None), now)
    told = [seeking.sought_for(situation, f"default/{pod['metadata']['name']}") for pod in queue]
    assert [one is not None and one.crowded for one in told] == [False] * (len(queue) - 1) + [True]


def test_nothing_is_said_of_who_waits_ahead_and_gets_no_room() -> None:
    """The older gang needs three nodes: one is enough for the younger pod, and for nobody else."""
    ahead = [b.pod_group("big", 3, created=0), *b.pods("big", 3, gpu=8, group="big", created=0)]
    full = b.pod("old", gpu=8, node="n0")
    remedy = offers([*nodes(1), full, *ahead, b.pod("small", gpu=8, created=5)], "default/small")["nodes"]
    assert remedy["change"] == "add 1 node like n0 (8 nvidia.com/gpu, 64 cpu, 32Gi memory)"
    assert remedy["detail"] == {"kind": "nodes", "count": 1, "like": "n0", "labels": {}}


@pytest.mark.parametrize("policy", [None, {"topology": {"levels": [{"name": "host", "key": b.HOSTNAME}]}}])
def test_a_new_node_is_a_host_of_its_own(policy: Obj | None) -> None:
    """Nobody can add a node in the hostname of another."""
    objects = [*nodes(2), *(b.pod(f"old-{i}", gpu=8, node=f"n{i}") for i in range(2))]
    remedy = offers([*objects, *crew(2, level=b.HOSTNAME, gpu=2)], policy=policy)["nodes"]
    assert remedy["change"] == "add 1 node like n0 (8 nvidia.com/gpu, 64 cpu, 32Gi memory)"
    assert remedy["detail"]["labels"] == {}


def test_no_new_node_for_who_has_to_be_on_a_host_that_is_there() -> None:
    running = b.pod("crew-0", gpu=4, group="crew", node="n0", created=0)
    group = [b.pod_group("crew", 2, b.HOSTNAME, created=0), running]
    objects = [*nodes(1), *group, b.pod("old", gpu=4, node="n0")]
    assert "nodes" not in offers([*objects, b.pod("crew-1", gpu=4, group="crew", created=0)])


# ---- nodes brought back


def test_as_few_nodes_as_will_do_are_brought_back() -> None:
    closed = [b.node(f"n{i}", gpu=8, cordoned=True) for i in range(2, 7)]
    remedy = offers([*nodes(2), *closed, *crew(4, gpu=8)])["health"]
    assert remedy["change"] == "uncordon n2, n3"


def test_nodes_are_brought_back_where_the_group_must_be() -> None:
    sick = [b.node("a0", gpu=8, rack="r9", ready=False), b.node("a1", gpu=8, rack="r0", ready=False)]
    remedy = offers([*nodes(2), *sick, *crew(3, level="rack", gpu=8)])["health"]
    assert remedy["change"] == "bring back a1 (not-ready)"


def test_who_waits_ahead_may_take_what_comes_back() -> None:
    """One node would do, but the older group takes it; both together have room on two."""
    closed = [b.node(f"n{i}", gpu=8, cordoned=True) for i in range(2)]
    older = b.pod("older", gpu=8, created="2000-01-01T00:00:00Z")
    objects = [*closed, older, *crew(1, gpu=8, created=5)]
    assert offers(objects)["health"]["detail"]["nodes"] == ["n0", "n1"]


# ---- constraints


def test_a_mixed_group_keeps_what_the_others_ask_for() -> None:
    """Only the worker has the selector; the launcher is none the wiser."""
    launcher = b.pod("crew-9", gpu=1, group="crew", created=0)
    worker = b.pod("crew-0", gpu=8, group="crew", created=0, where={"disk": "ssd"})
    remedy = offers([*nodes(2), b.pod_group("crew", 2, created=0), launcher, worker])["selector"]
    assert remedy["change"] == "do not select nodes by disk=ssd"


def test_the_least_skew_that_works() -> None:
    spread = [b.spread("zone", {"app": "crew"})]
    zones = [b.node("n1", cpu=8, zone="z1"), b.node("n2", cpu=1, zone="z2")]
    remedy = offers([*zones, *crew(6, cpu=1, labels={"app": "crew"}, spread=spread)])["spread"]
    assert remedy["detail"]["to"] == 4


# ---- which, and for whom


def test_the_smallest_come_first() -> None:
    """One of eight members, one of six devices, one more of two levels: in this order of shares."""
    load = [b.pod("old", gpu=1, node="n7")]
    objects = [*nodes(8, per_rack=8), *load, *crew(8, level="rack", gpu=8)]
    changes = [remedy["detail"]["kind"] for remedy in offers(objects).values()]
    assert changes == ["members", "request", "nodes"]


@pytest.mark.parametrize(
    "objects",
    [
        [*nodes(1), b.pod_group("crew", 9), *b.pods("crew", 2, gpu=1, group="crew")],
        [*nodes(1), *crew(2, gpu=8, gates=["example.com/quota"])],
        [*nodes(1), *crew(1, gpu=8), b.pod("crew-x", gpu=8, group="crew", priority=5)],
        [*nodes(1), *b.pods("crew", 2, gpu=8, group="crew")],
    ],
    ids=["members", "gated", "invalid", "no group"],
)
def test_nothing_is_offered_where_a_start_would_not_be_enough(objects: list[Obj]) -> None:
    assert offers(objects) == {}


def test_a_plan_in_which_nobody_waits_is_left_alone() -> None:
    objects = [*nodes(2), *crew(2, gpu=8)]
    assert remedied(objects) == msgspec.to_builtins(
        decide_snapshot(snapshot_of(objects), policy_of(None), msgspec.convert(NOON, Timestamp))
    )


def test_an_empty_cluster() -> None:
    assert offers(crew(2, gpu=8)) == {}


def test_one_scheduler_only() -> None:
    objects = [*nodes(1), *crew(2, gpu=8, scheduler="maitred"), b.pod("other", gpu=8, created=1)]
    (entry,) = remedied(objects, scheduler="maitred")["groups"]
    assert {remedy["detail"]["kind"] for remedy in entry["remedies"]} == {"members", "request", "nodes"}


# ---- at random


def fleet(seed: int) -> list[Obj]:
    """Racks of GPU nodes with some load, and a queue of gangs, alike and not, of several ranks and ages."""
    rng = Random(seed)
    objects: list[Obj] = nodes(rng.randint(3, 12), rng.choice([2, 3]), gpu=rng.choice([4, 8]))
    for i, node in enumerate(list(objects)):
        if rng.random() < 0.6:
            objects.append(b.pod(f"old-{i}", gpu=rng.randint(1, 4), node=node["metadata"]["name"]))
        if rng.random() < 0.3:
            objects.append(b.pod(f"agent-{i}", 1, node=node["metadata"]["name"], owner="DaemonSet/agent"))
    for g in range(rng.randint(2, 6)):
        count = rng.choice([1, 2, 4, 4, 8])
        quorum = max(1, count - rng.choice([0, 0, 1, 2]))
        level, rank = rng.choice([None, None, "rack", "zone"]), rng.choice([0, 0, 10])
        gpu, created = rng.choice([1, 2, 4, 8]), rng.randint(0, 5)
        marks = {SLICE_SIZE: "2", SLICE_TOPOLOGY: "rack"} if level == "zone" and rng.random() < 0.5 else {}
        group = b.pod_group(f"g{g}", quorum, level, annotations=marks, created=created)
        pods = b.pods(
            f"g{g}", count, rng.choice([1, 8]), gpu=gpu, group=f"g{g}", priority=rank, created=created
        )
        objects += [group, *pods]
    return objects


@pytest.mark.parametrize("seed", [*range(40), 398])
def test_every_remedy_works_in_a_fleet(seed: int) -> None:
    objects = fleet(seed)
    policy = LEVELS if seed % 2 else None
    check_remedies(objects, remedied(objects, policy), policy)


@given(clusters())
@examples(100)
def test_every_remedy_works_whatever_the_constraints(objects: list[Obj]) -> None:
    check_remedies(objects, remedied(objects))


@pytest.mark.parametrize("seed", range(10))
def test_the_remedies_of_one_group_need_no_other_explained(seed: int) -> None:
    objects, policy, now = fleet(seed), policy_of(LEVELS), msgspec.convert(NOON, Timestamp)
    snapshot = snapshot_of(objects)
    for entry in remedied(objects, LEVELS)["groups"]:
        sought = seeking.sought_for(Situation(snapshot, policy, now), entry["group"])
        assert msgspec.to_builtins(sought.remedies if sought else ()) == entry["remedies"]


@pytest.mark.parametrize("seed", range(5))
def test_same_input_same_remedies(seed: int) -> None:
    objects = fleet(seed)
    first = json.dumps(remedied(objects))
    for _ in range(3):
        Random(seed).shuffle(objects)
        assert json.dumps(remedied(objects)) == first


def test_the_work_is_bounded_and_the_first_in_turn_come_first(monkeypatch: pytest.MonkeyPatch) -> None:
    queue: list[Obj] = []
    for g in range(30):
        queue += [
            b.pod_group(f"g{g:02}", 3, created=g),
            *b.pods(f"g{g:02}", 3, gpu=5 + g % 4, group=f"g{g:02}", created=g),
        ]
    objects = [*nodes(2), *queue]
    offered = [bool(entry["remedies"]) for entry in remedied(objects)["groups"]]
    assert all(offered)
    monkeypatch.setattr(seeking, "EFFORT", 100)
    fewer = [bool(entry["remedies"]) for entry in remedied(objects)["groups"]]
    assert fewer[0]
    assert not all(fewer)


def test_memory_does_not_grow_from_group_to_group(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them wants nodes of another kind, and copies of a cluster take much."""
    kinds = range(3 * growth.MOST_PATTERNS)
    objects: list[Obj] = [b.node(f"n{kind}", gpu=8, labels={"kind": str(kind)}) for kind in kinds]
    for kind in kinds:
        group = b.pod_group(f"g{kind}", 2, created=kind)
        where = {"kind": str(kind)}
        objects += [group, *b.pods(f"g{kind}", 2, gpu=8, group=f"g{kind}", created=kind, where=where)]
    made, make = list[Pattern](), with_copies

    def counted(snapshot: Snapshot, pattern: Pattern, count: int) -> Snapshot:
        made.append(pattern)
        return make(snapshot, pattern, count)

    monkeypatch.setattr(growth, "with_copies", counted)
    situation = Situation(snapshot_of(objects), policy_of(None), msgspec.convert(NOON, Timestamp))
    for kind in kinds:
        sought = seeking.sought_for(situation, f"default/g{kind}")
        assert sought is not None
        assert any(isinstance(change, MoreNodes) for change in sought.changes)
    assert len(set(made)) == len(kinds)
    assert len(situation.once(seeking.Seeking)._finder.growth._grown) == growth.MOST_PATTERNS


@pytest.mark.slow
@given(clusters(max_groups=4))
@examples(300)
def test_every_remedy_works_at_length(objects: list[Obj]) -> None:
    check_remedies(objects, remedied(objects))


def test_members_that_no_memory_holds_are_not_supposed_to_be_created() -> None:
    """An owner may say that it makes two billion pods."""
    assert "create" in offers([*nodes(1), *crew(1, 3)])
    template = {"spec": {"containers": [{"name": "main"}]}}
    roles = {"Worker": {"replicas": 2**31 - 1, "template": template}}
    owner = b.owner_object("kubeflow.org/v1", "PyTorchJob", "crew", "default", {"pytorchReplicaSpecs": roles})
    pod = b.pod("crew-0")
    reference = {"kind": "PyTorchJob", "name": "crew", "uid": owner["metadata"]["uid"], "controller": True}
    pod["metadata"]["ownerReferences"] = [{"apiVersion": owner["apiVersion"], **reference}]
    assert "create" not in offers([*nodes(1), owner, pod])


def test_what_is_supposed_to_run_runs_on_the_account_of_its_group() -> None:
    pods = [b.pod(name, cpu=1, annotations={"maitred.dev/queue": name}) for name in ("a", "b")]
    there = b.pod("there", cpu=1, node="n", annotations={"maitred.dev/queue": "c"})
    snapshot = snapshot_of([b.node("n", cpu=8), *pods, there])
    seats = [(view.payer, [(int(view.shapes[0]), 0)]) for view in snapshot.groups]
    after = with_running(snapshot, seats)
    assert [after.payers[number].queue for number in after.bound.payer] == ["c", "a", "b"]
