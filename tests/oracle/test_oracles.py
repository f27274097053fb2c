"""The oracles are code too: hand-made cases with known answers, and three opinions that must agree."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.verify.filters import place, why_not
from maitred.verify.group_reading import read_groups
from maitred.verify.objects import read_cluster
from maitred.verify.policy import read_policy
from maitred.verify.world import world_of
from tests.oracle import brute, hard, program
from tests.oracle.builders import (
    HOSTNAME,
    ZONE,
    Obj,
    csi_node,
    expr,
    gang,
    namespace,
    near,
    node,
    pod,
    pod_group,
    pods,
    port,
    priority_class,
    pv,
    pvc,
    spread,
    storage_class,
)
from tests.oracle.effort import examples
from tests.oracle.floor import Floor, Table
from tests.oracle.guests import guest, requests
from tests.oracle.reading import Group, groups, only_group
from tests.oracle.selectors import amount, requirement_holds, tolerated
from tests.oracle.strategies import HARMLESS, clusters, one_group

ORDER_FREE = HARMLESS - {"bound_volumes", "waiting_volumes", "rwop", "csi", "namespaces"}


def the_group(objects: Sequence[Obj]) -> Group:
    group = only_group(objects)
    assert group is not None
    return group


def most(*objects: Obj) -> int:
    """The opinion of brute force, and of the integer program where it has one."""
    group = the_group(objects)
    found = brute.most_seated(objects, group)
    assert brute.seatable(objects, group) == (found >= group.needed)
    if not any(member["spec"].get("volumes") for member in group.pending):
        assert program.most_seated(objects, group) == found
        assert program.seatable(objects, group) == (found >= group.needed)
    return found


def three(**fields: Any) -> list[Obj]:
    return [pod_group("pg", 3), *pods("w", 3, "1", group="pg", **fields)]


# ---- reading


@pytest.mark.parametrize(
    ("resource", "text", "expected"),
    [
        ("cpu", "1", 1000),
        ("cpu", "1.5", 1500),
        ("cpu", "100u", 1),
        ("memory", "1Ki", 1024),
        ("memory", "1500m", 2),
        ("memory", "1e3", 1000),
        ("nvidia.com/gpu", 8, 8),
    ],
)
def test_amounts_are_exact_and_rounded_up(resource: str, text: str, expected: int) -> None:
    assert amount(resource, text) == expected


def test_init_containers_count_by_their_peak_and_sidecars_all_the_time() -> None:
    def step(name: str, cpu: str, **more: str) -> Obj:
        return {"name": name, "resources": {"requests": {"cpu": cpu}}, **more}

    init = [step("first", "2"), step("side", "1", restartPolicy="Always"), step("second", "3")]
    assert requests(pod("p", "2", init=init)["spec"]) == {"cpu": 4000, "pods": 1}
    assert requests(pod("p", "4", init=init, overhead={"cpu": "1"})["spec"])["cpu"] == 6000


@pytest.mark.parametrize(
    ("labels", "operator", "values", "expected"),
    [
        ({"a": "2"}, "Gt", ["1"], True),
        ({"a": "1"}, "Gt", ["1"], False),
        ({"a": "x"}, "Lt", ["1"], False),
        ({}, "Lt", ["1"], False),
        ({}, "NotIn", ["1"], True),
        ({}, "DoesNotExist", [], True),
    ],
)
def test_requirements(labels: dict[str, str], operator: str, values: list[str], expected: bool) -> None:
    assert requirement_holds(expr("a", operator, *values), labels) is expected


def test_a_toleration_without_key_and_effect_tolerates_everything() -> None:
    taint = {"key": "team", "value": "red", "effect": "NoSchedule"}
    assert tolerated(taint, [{"operator": "Exists"}])
    assert tolerated(taint, [{"key": "team", "value": "red"}])
    assert not tolerated(taint, [{"key": "team", "operator": "Exists", "effect": "NoExecute"}])


def test_who_is_a_member_and_what_counts() -> None:
    members = [
        pod("a", group="pg", node="n"),
        pod("b", group="pg", phase="Succeeded"),
        pod("c", group="pg", phase="Failed"),
        pod("d", group="pg", node="n", deleted=True),
        pod("e", group="pg"),
    ]
    group = the_group([pod_group("pg", 4), *members, pod("f", annotations=gang("other", 2), node="n")])
    assert (len(group.members), group.placed, group.needed, group.created) == (5, 2, 2, 3)
    assert not group.open


def test_flaws_of_a_group() -> None:
    def flaws(*members: Obj, priority: int | None = None) -> tuple[str, ...]:
        return groups([pod_group("pg", 1, priority=priority), *members])[0].flaws

    assert flaws(pod("a", group="pg"), pod("b", group="pg", scheduler="x")) == ("scheduler",)
    assert flaws(pod("a", group="pg", priority=3), priority=3) == ()
    assert flaws(pod("a", group="pg", priority=3), priority=4) == ("priority",)
    assert flaws(pod("a", group="pg", priority_class="none")) == ("class",)
    ranked = [
        priority_class("high", 9),
        pod_group("pg", 1, priority=9),
        pod("a", group="pg", priority_class="high"),
    ]
    assert groups(ranked)[0].flaws == ()


# ---- known answers


def test_members_of_two_sizes_fit_only_one_way() -> None:
    nodes = [node("a", "5"), node("b", "4")]
    members = [*pods("big", 2, "3", group="pg"), *pods("small", 3, "1", group="pg")]
    assert most(*nodes, pod_group("pg", 5), *members) == 5
    assert most(*nodes, pod("old", "1", node="a"), pod_group("pg", 5), *members) == 4


def test_a_quorum_is_any_subset_of_that_size() -> None:
    objects = [
        node("a", "2"),
        pod_group("pg", 2),
        pod("big", "2", group="pg"),
        *pods("s", 2, "1", group="pg"),
    ]
    assert most(*objects) == 2
    assert brute.seatable(objects, the_group(objects))


def test_required_topology_takes_the_best_domain() -> None:
    nodes = [node("a", "2", rack="r1"), node("b", "2", rack="r2"), node("c", "9"), node("d", "1", rack="r2")]
    members = pods("w", 4, "1", group="pg")
    assert most(*nodes, pod_group("pg", 3, "rack"), *members) == 3
    settled = pod("w-9", "1", group="pg", node="a")
    assert most(*nodes, pod_group("pg", 3, "rack"), *members, settled) == 1
    lost = pod("w-9", "1", group="pg", node="c")
    assert most(*nodes, pod_group("pg", 3, "rack"), *members, lost) == 0


def test_the_first_of_a_series_seats_the_rest() -> None:
    together = [near("rack", {"app": "a"})]
    nodes = [node("a", "2", rack="r1"), node("b", "2", rack="r2"), node("c", "1", rack="r2")]
    members = three(labels={"app": "a"}, affinity=together)
    assert most(*nodes, *members) == 3
    assert most(*nodes, *members, pod("old", node="a", labels={"app": "a"})) == 2
    assert most(*nodes, *three(affinity=together)) == 0


def test_a_lead_must_be_there_first_and_the_order_is_found() -> None:
    nodes = [node("a", "3", rack="r1"), node("b", "3", rack="r2")]
    follow = [near("rack", {"role": "lead"})]
    lead = pod("z", "1", group="pg", labels={"role": "lead"})
    assert most(*nodes, pod_group("pg", 3), *pods("w", 2, "1", group="pg", affinity=follow), lead) == 3
    assert most(*nodes, pod_group("pg", 3), *pods("w", 3, "1", group="pg", affinity=follow), lead) == 3


def test_anti_affinity_counts_from_both_sides() -> None:
    nodes = [node("a", rack="r1"), node("b", rack="r2"), node("c")]
    assert most(*nodes, *three(labels={"app": "a"}, anti_affinity=[near("hostname", {"app": "a"})])) == 3
    apart = three(labels={"app": "a"}, anti_affinity=[near("rack", {"app": "a"})])
    assert most(*nodes, *apart) == 3, "nodes without the key do not count as one domain"
    assert most(*nodes[:2], *apart) == 2
    guard = pod("old", node="a", anti_affinity=[near("rack", {"app": "a"})])
    assert most(*nodes[:2], guard, *apart) == 1


def test_spread_is_level_at_every_step() -> None:
    level = [spread("zone", {"app": "a"})]
    members = three(labels={"app": "a"}, spread=level)
    assert most(node("a", "3", zone="z1"), node("b", "1", zone="z2"), *members) == 3
    assert most(node("a", "3", zone="z1"), node("b", "0", zone="z2"), *members) == 1
    assert most(node("a", "3", zone="z1"), node("b", "3"), *members) == 3
    assert (
        most(
            node("a", "3", zone="z1"),
            *three(labels={"app": "a"}, spread=[spread("zone", {"app": "a"}, min_domains=2)]),
        )
        == 1
    )


def test_host_ports_conflict_by_address_and_protocol() -> None:
    assert most(node("a"), *three(ports=[80])) == 1
    taken = pod("old", node="a", ports=[port(80, "TCP", "10.0.0.1")])
    assert most(node("a"), taken, *three(ports=[port(80, "TCP", "10.0.0.2")])) == 1
    assert most(node("a"), taken, *three(ports=[port(80, "UDP")])) == 1
    assert most(node("a"), taken, *three(ports=[80])) == 0


def test_volumes() -> None:
    nodes = [node("a", zone="z1"), node("b", zone="z2")]
    waits = [pvc(f"c{i}", storage_class="local") for i in range(3)]
    local = storage_class("local", "kubernetes.io/no-provisioner")
    disks = [pv(f"v{i}", storage_class="local", on=[expr(HOSTNAME, "In", "a")]) for i in range(2)]
    members = [pod(f"w-{i}", group="pg", claims=[f"c{i}"]) for i in range(3)]
    assert most(*nodes, local, *waits, *disks, pod_group("pg", 3), *members) == 2
    made = storage_class("local", zones=["z2"])
    assert most(*nodes, made, *waits, pod_group("pg", 3), *members) == 3
    assert most(*nodes[:1], made, *waits, pod_group("pg", 3), *members) == 0
    sole = pvc("only", modes=["ReadWriteOncePod"], volume="v")
    sharing = three(claims=["only"])
    assert most(*nodes, sole, pv("v", claim="default/only"), *sharing) == 1
    bound = [pvc(f"c{i}", volume=f"v{i}") for i in range(3)]
    attached = [pv(f"v{i}", driver="d", claim=f"default/c{i}") for i in range(3)]
    assert most(*nodes[:1], csi_node("a", {"d": 2}), *bound, *attached, pod_group("pg", 3), *members) == 2


def test_namespaces_of_affinity_terms() -> None:
    friend = pod("old", namespace="ml", node="a", labels={"app": "x"})
    nodes = [node("a", "1"), node("b", "9")]

    def wish(**where: Any) -> list[Obj]:
        return three(affinity=[near("hostname", {"app": "x"}, **where)])

    assert most(*nodes, friend, *wish()) == 0
    assert most(*nodes, friend, *wish(namespaces=["ml"])) == 1
    assert most(*nodes, friend, *wish(namespace_selector={})) == 1
    labelled = {"matchLabels": {"team": "x"}}
    assert most(*nodes, friend, *wish(namespace_selector=labelled)) == 0
    assert most(*nodes, friend, namespace("ml", {"team": "x"}), *wish(namespace_selector=labelled)) == 1


# ---- the empty cluster


def on_empty(*objects: Obj, policy: dict[str, object] | None = None, generous: bool = False) -> bool:
    return brute.seatable_on_empty(objects, the_group(objects), policy, generous)


def test_empty_means_without_others_and_healthy_but_with_daemons() -> None:
    assert on_empty(node("a", "3"), pod("old", "3", node="a"), *three())
    assert on_empty(node("a", "3", cordoned=True, ready=False), *three())
    assert not on_empty(node("a", "3", taints=["team=x:NoSchedule"]), *three())
    assert not on_empty(node("a", "3"), pod("agent", "1", node="a", owner="DaemonSet/agent"), *three())


def test_the_whole_group_is_placed_anew() -> None:
    rest = [
        pod_group("pg", 3, "rack"),
        pod("w-0", "1", group="pg", node="a"),
        *pods("w", 2, "1", start=1, group="pg"),
    ]
    assert on_empty(node("a", "1", rack="r1"), node("b", "3", rack="r2"), *rest)
    done = [pod_group("pg", 3), pod("w-0", "1", group="pg", phase="Succeeded"), *rest[2:]]
    assert on_empty(node("a", "2"), *done)


def test_who_runs_may_succeed_before_the_others_sit_down() -> None:
    running, rest = pod("w-0", "1", group="pg", node="a"), pods("w", 2, "1", start=1, group="pg")
    done = pod("w-9", "1", group="pg", phase="Succeeded")
    assert not on_empty(node("a", "2"), pod_group("pg", 3), running, *rest)
    assert on_empty(node("a", "2"), pod_group("pg", 4), running, done, *rest)
    assert not on_empty(node("a", "1"), pod_group("pg", 4), running, done, *rest)


def test_what_others_may_bring_is_taken_for_granted() -> None:
    assert on_empty(node("a", "3"), *three(claims=["not-made-yet"]))
    assert on_empty(node("a", "3"), *three(affinity=[near("hostname", {"app": "cache"})]))
    assert not on_empty(node("a", "3"), *three(affinity=[near("rack", {"app": "cache"})]))


def test_company_can_make_a_spread_possible() -> None:
    """Pods outside the group can lift the emptiest domain: the empty cluster is not always the easiest."""
    nodes = [node("a", "2", zone="z1"), node("b", "1", zone="z2")]
    rule = spread("zone", {"app": "a"}, affinity_policy="Ignore")
    one: dict[str, Any] = {"group": "pg", "labels": {"app": "a"}, "where": {ZONE: "z1"}, "spread": [rule]}
    members = [pod_group("pg", 2), *pods("w", 2, "1", **one)]
    friend = pod("old", "1", node="b", labels={"app": "a"})
    assert brute.seatable([*nodes, friend, *members], the_group([*nodes, friend, *members]))
    assert not on_empty(*nodes, friend, *members)
    assert on_empty(*nodes, friend, *members, generous=True)


def test_node_templates_are_counted() -> None:
    template = {"name": "big", "allocatable": {"cpu": "1", "memory": "1Gi"}, "max": 2}
    assert not on_empty(node("a", "1"), *three(), policy={"nodeTemplates": []})
    assert on_empty(node("a", "1"), *three(), policy={"nodeTemplates": [template]})
    assert not on_empty(*three(), policy={"nodeTemplates": [template]})


# ---- agreement


@given(clusters(), st.data())
@examples(200)
def test_the_checkers_filters_say_the_same(objects: list[Obj], data: st.DataObject) -> None:
    """A random walk: whoever may sit down according to one, may according to the other."""
    waiting = [obj for obj in objects if obj["kind"] == "Pod" and not obj["spec"].get("nodeName")]
    floor = Floor(brute.nodes(objects), [o for o in objects if o["kind"] == "Pod"], objects)
    cluster = read_cluster(objects)
    world = world_of(cluster, cluster.pods.values())
    for raw in waiting:
        theirs = cluster.pods[f"{raw['metadata']['namespace']}/{raw['metadata']['name']}"]
        ours = guest(raw)
        free = [table for table in floor.tables if floor.passes(ours, table)]
        allowed = [name for name, where in cluster.nodes.items() if why_not(world, theirs, where) is None]
        assert [table.name for table in free] == allowed, raw["metadata"]["name"]
        stay_out: Table | None = None
        chosen = data.draw(st.sampled_from([stay_out, *free]))
        if chosen is not None:
            floor.seat(ours, chosen)
            place(world, theirs, cluster.nodes[chosen.name])


@given(clusters())
@examples(200)
def test_the_checker_reads_the_same_groups(objects: list[Obj]) -> None:
    theirs = {
        group.key: group for group in read_groups(read_cluster(objects), read_policy(None)) if group.pending
    }
    assert theirs.keys() == {group.name for group in groups(objects)}
    for ours in groups(objects):
        other = theirs[ours.name]
        assert (ours.placed, ours.created, ours.gated) == (other.counted, other.created, bool(other.gated))
        assert (ours.quorum, ours.topology or "") == (other.quorum, other.topology)
        assert bool(ours.flaws) == bool(other.problems) or other.doubts


@given(one_group(features=ORDER_FREE))
@examples(200)
def test_brute_force_and_the_integer_program_agree(objects: list[Obj]) -> None:
    group = only_group(objects)
    if group is None:
        return
    try:
        found = program.most_seated(objects, group)
    except program.OutsideError:
        return
    assert found == brute.most_seated(objects, group)
    assert program.seatable(objects, group) == brute.seatable(objects, group)


@given(st.integers(0, 10**6))
@examples(100)
def test_hard_instances_are_as_promised(seed: int) -> None:
    made = hard.instance(seed)
    assert made.objects == hard.instance(seed).objects
    group = the_group(made.objects)
    assert (len(group.pending), len(brute.nodes(made.objects)), group.open) == (12, 12, True)
    if made.solution is not None:
        assert program.most_seated(made.objects, group) == 12


@given(one_group(max_size=4))
def test_a_seating_can_be_replayed(objects: list[Obj]) -> None:
    group = only_group(objects)
    if group is None:
        return
    floor = Floor(brute.nodes(objects), [o for o in objects if o["kind"] == "Pod"], objects)
    tables = {table.name: table for table in floor.tables}
    members = {member["metadata"]["name"]: guest(member) for member in group.pending}
    for name, place_name in brute.best_seating(objects, group):
        assert floor.passes(members[name], tables[place_name])
        floor.seat(members[name], tables[place_name])
