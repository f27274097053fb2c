"""Where groups go together: required and preferred levels, slices, and the choice among domains."""

import pytest

from tests.decide.reading import detail, entry, first, has, nodes_used, seated, seats, verdict
from tests.oracle.builders import GROUP, MIN_COUNT, TOPOLOGY, ZONE, Obj, node, pod, pod_group, pods
from tests.support import decide

PREFERRED = "maitred.dev/topology-preferred"
SLICE_SIZE = "maitred.dev/slice-size"
SLICE_LEVEL = "maitred.dev/slice-topology"

LEVELS: Obj = {"topology": {"levels": [{"name": "zone", "key": ZONE}, {"name": "rack", "key": "rack"}]}}


def place(name: str, cpu: int, rack: str | None = None, zone: str | None = None) -> Obj:
    return node(name, cpu=cpu, rack=rack, zone=zone)


def gang(count: int, quorum: int) -> list[Obj]:
    """A gang that requires one rack."""
    return asking(count, quorum, {}, "rack")


def asking(count: int, quorum: int | None, marks: Obj, topology: str | None = None) -> list[Obj]:
    return [pod_group("g", quorum, topology, annotations=marks), *pods("g", count, 1, group="g")]


def racks_of(plan: Obj, nodes: list[Obj], key: str = "rack") -> list[str]:
    """The rack of every member, in member order."""
    rack = {n["metadata"]["name"]: n["metadata"]["labels"].get(key, "") for n in nodes}
    return [rack[where] for _, where in sorted(seats(plan, "g").items())]


# ---- required


def test_a_gang_goes_to_a_domain_that_holds_all_of_it() -> None:
    nodes = [place("n1", 2, "r1"), place("n2", 2, "r2"), place("n3", 1, "r2")]
    plan = decide([*nodes, *gang(3, 3)])
    assert racks_of(plan, nodes) == ["r2"] * 3
    assert entry(plan)["domains"] == {"rack": "r2"}


def test_a_gang_that_no_domain_holds_waits() -> None:
    busy = [pod("a", 1, node="n1"), pod("b", 1, node="n2")]
    plan = decide([place("n1", 3, "r1"), place("n2", 3, "r2"), *busy, *gang(3, 3)])
    assert (verdict(plan), seated(plan), first(plan)) == ("Waiting", [], "Topology")
    assert has(detail(plan, "Topology"), level="rack", domains=2, holds=2, needed=3, resource="cpu")


WAYS: dict[str, list[Obj]] = {
    "in the spec": gang(3, 3),
    "by an annotation of the PodGroup": asking(3, 3, {TOPOLOGY: "rack"}),
    "by both": asking(3, 3, {TOPOLOGY: "rack"}, "rack"),
    "by annotations of the pods": [
        pod(f"g-{i}", 1, annotations={GROUP: "g", MIN_COUNT: "3", TOPOLOGY: "rack"}) for i in range(3)
    ],
    "by labels of the pods": [
        pod(f"g-{i}", 1, labels={GROUP: "g", MIN_COUNT: "3", TOPOLOGY: "rack"}) for i in range(3)
    ],
}


@pytest.mark.parametrize("objects", WAYS.values(), ids=WAYS.keys())
def test_the_required_level_is_named(objects: list[Obj]) -> None:
    nodes = [place("n1", 2, "r1"), place("n2", 2, "r2")]
    assert seated(decide([*nodes, *objects])) == []
    plan = decide([*nodes, place("n3", 1, "r1"), *objects])
    assert nodes_used(plan) == {"n1", "n3"}


def test_nodes_without_the_label_are_not_eligible() -> None:
    plan = decide([place("n1", 8), place("n2", 2, "r1"), *gang(3, 3)])
    assert (verdict(plan), first(plan)) == ("Impossible", "Topology")
    assert nodes_used(decide([place("n1", 8), place("n2", 3, "r1"), *gang(3, 3)])) == {"n2"}


def test_nodes_without_the_label_are_no_domain_together() -> None:
    assert verdict(decide([place("n1", 2), place("n2", 2), *gang(3, 3)])) == "Impossible"


def test_a_lone_pod_may_require_a_level() -> None:
    asks = pod("g", 1, annotations={TOPOLOGY: "rack"})
    assert seats(decide([place("a", 1), place("b", 1, "r1"), asks])) == {"g": "b"}
    assert verdict(decide([place("a", 1), asks])) == "Impossible"


def test_no_node_has_the_label() -> None:
    plan = decide([place("n1", 8), *gang(3, 3)])
    assert has(detail(plan, "Topology"), level="rack", domains=0, holds=0, needed=3)


# ---- members that sit already


TWO_RACKS = [place("n1", 4, "r1"), place("n2", 4, "r2")]


def with_running(*running: Obj, quorum: int = 2) -> Obj:
    group = pod_group("g", quorum, "rack")
    return decide([*TWO_RACKS, place("bare", 4), group, *running, *pods("g", 2, 1, group="g", start=5)])


def test_running_members_fix_the_domain() -> None:
    assert nodes_used(with_running(pod("g-0", 1, group="g", node="n2"))) == {"n2"}


def test_late_members_do_not_go_to_another_domain() -> None:
    running = [pod(f"g-{i}", 2, group="g", node="n2") for i in range(2)]
    plan = with_running(*running)
    assert (verdict(plan), seated(plan), first(plan)) == ("Scheduled", [], "Topology")


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_finished_members_do_not_fix_the_domain(phase: str) -> None:
    plan = with_running(pod("g-0", 1, group="g", node="n2", phase=phase))
    assert nodes_used(plan) == {"n1"}


def test_terminating_members_do_not_fix_the_domain() -> None:
    plan = with_running(pod("g-0", 4, group="g", node="n2", deleted=True))
    assert nodes_used(plan) == {"n1"}


def test_members_that_run_in_two_domains_leave_the_others_none() -> None:
    plan = with_running(pod("g-0", 1, group="g", node="n1"), pod("g-1", 1, group="g", node="n2"), quorum=3)
    assert (verdict(plan), seated(plan), first(plan)) == ("Waiting", [], "Topology")


def test_a_member_that_runs_outside_every_domain_leaves_the_others_none() -> None:
    plan = with_running(pod("g-0", 1, group="g", node="bare"), quorum=3)
    assert (verdict(plan), seated(plan), first(plan)) == ("Waiting", [], "Topology")


def test_surplus_stays_in_the_domain_of_the_quorum() -> None:
    plan = decide([place("n1", 3, "r1"), place("n2", 2, "r2"), *gang(5, 2)])
    assert (seated(plan), nodes_used(plan)) == (["g-0", "g-1", "g-2"], {"n1"})
    assert (verdict(plan), first(plan)) == ("Scheduled", "Topology")


def test_surplus_stays_in_the_domain_even_if_another_group_comes_between() -> None:
    """The other quorum takes what was left of the rack: the surplus waits rather than go elsewhere."""
    other = pod("other", 1, created=5, where={"rack": "r1"})
    nodes = [place("n1", 3, "r1"), place("n2", 2, "r2")]
    group = [pod_group("g", 2, "rack"), *pods("g", 3, 1, group="g", created=1)]
    plan = decide([*nodes, *group, other])
    assert seats(plan) == {"g-0": "n1", "g-1": "n1", "other": "n1"}


# ---- preferred


RACKS_IN_ZONES = [
    place("n1", 2, "r1", "z1"),
    place("n2", 2, "r2", "z1"),
    place("n3", 1, "r3", "z2"),
    place("n4", 4, "r4", "z2"),
]


def preferring(count: int, quorum: int, levels: str, nodes: list[Obj] = RACKS_IN_ZONES) -> Obj:
    return decide([*nodes, *asking(count, quorum, {PREFERRED: levels})])


def test_the_first_preferred_level_that_holds_the_group_is_taken() -> None:
    assert nodes_used(preferring(4, 4, f"rack,{ZONE}")) == {"n4"}


def test_the_next_preferred_level_is_taken_if_the_first_cannot_hold_the_group() -> None:
    assert nodes_used(preferring(5, 5, f"rack,{ZONE}")) == {"n3", "n4"}


def test_a_group_is_seated_anywhere_if_no_preferred_level_can_hold_it() -> None:
    plan = preferring(6, 6, f"rack,{ZONE}")
    assert (verdict(plan), len(seated(plan))) == ("Scheduled", 6)


def test_a_preferred_level_alone() -> None:
    nodes = [place("n1", 2, "r1"), place("n2", 1, "r2"), place("n3", 2, "r2"), place("n4", 2)]
    assert nodes_used(preferring(3, 3, "rack", nodes)) == {"n2", "n3"}


def test_preferring_a_level_that_no_node_has_keeps_nobody_waiting() -> None:
    assert verdict(preferring(3, 3, "example.com/row")) == "Scheduled"


def test_preferred_levels_are_tried_inside_the_required_one() -> None:
    """Rack r9 is in both zones, and large enough only over the border."""
    nodes = [
        place("a", 2, "r9", "z1"),
        place("b", 2, "r9", "z2"),
        place("c", 1, "r1", "z2"),
        place("d", 1, "r2", "z2"),
    ]
    plan = decide([*nodes, *asking(4, 4, {PREFERRED: "rack"}, "zone")])
    assert nodes_used(plan) == {"b", "c", "d"}


def test_a_preferred_level_does_not_keep_members_out() -> None:
    """Three fit in one rack, all four only across racks: as many as fit are seated."""
    nodes = [place("n1", 3, "r1"), place("n2", 2, "r2")]
    assert len(seated(preferring(4, 3, "rack", nodes))) == 4


# ---- slices


def sliced(size: int, count: int, nodes: list[Obj], quorum: int | None = None, **more: Obj) -> Obj:
    marks = {SLICE_SIZE: str(size), SLICE_LEVEL: "rack", **more.get("marks", {})}
    return decide([*nodes, *asking(count, quorum or count, marks)])


def test_each_slice_is_in_one_domain() -> None:
    nodes = [place("n1", 3, "r1"), place("n2", 3, "r2")]
    plan = sliced(2, 4, nodes)
    racks = racks_of(plan, nodes)
    assert racks[0] == racks[1]
    assert racks[2] == racks[3]
    assert set(racks) == {"r1", "r2"}


def test_a_slice_is_not_split_though_there_is_room_for_its_members() -> None:
    """Three seats here and three there: one slice of three each, but never two of two and two halves."""
    nodes = [place("n1", 3, "r1"), place("n2", 3, "r2")]
    assert len(seated(sliced(3, 6, nodes))) == 6
    plan = sliced(2, 6, nodes)
    assert (verdict(plan), seated(plan), first(plan)) == ("Impossible", [], "Topology")


def test_slices_may_share_a_domain() -> None:
    nodes = [place("n1", 1, "r1"), place("n2", 4, "r2")]
    assert racks_of(sliced(2, 4, nodes), nodes) == ["r2"] * 4


def test_slices_stay_in_one_domain_of_the_required_level() -> None:
    nodes = [
        place("a", 2, "r1", "z1"),
        place("b", 2, "r2", "z2"),
        place("c", 3, "r3", "z2"),
    ]
    plan = sliced(2, 4, nodes, marks={TOPOLOGY: ZONE})
    assert nodes_used(plan) == {"b", "c"}


def test_slices_that_fit_only_across_domains_of_the_required_level_wait() -> None:
    """As many racks as zones: nothing but a policy could say which of the two levels is the wider one."""
    nodes = [place("a", 2, "r1", "z1"), place("b", 2, "r2", "z2")]
    plan = sliced(2, 4, nodes, marks={TOPOLOGY: ZONE})
    assert (verdict(plan), first(plan)) == ("Impossible", "Topology")


def test_slices_in_racks_that_lie_in_two_zones_do_not_cross_the_border() -> None:
    """Rack r1 has two seats, but one in each zone."""
    nodes = [place("a", 1, "r1", "z1"), place("b", 1, "r1", "z2"), place("c", 1, "r2", "z1")]
    plan = sliced(2, 2, nodes, marks={TOPOLOGY: ZONE})
    assert (verdict(plan), seated(plan)) == ("Impossible", [])
    assert nodes_used(sliced(2, 2, nodes)) == {"a", "b"}


def test_slices_are_cut_by_index() -> None:
    """Of indices 1, 2, 3 only 2 and 3 are one slice of two."""
    nodes = [place("n1", 1, "r1"), place("n2", 2, "r2")]
    group = pod_group("g", 3, annotations={SLICE_SIZE: "2", SLICE_LEVEL: "rack"})
    plan = decide([*nodes, group, *pods("g", 3, 1, group="g", start=1)])
    assert racks_of(plan, nodes) == ["r1", "r2", "r2"]


def test_without_an_index_slices_are_cut_by_age() -> None:
    nodes = [place("n1", 1, "r1"), place("n2", 2, "r2")]
    group = pod_group("g", 3, annotations={SLICE_SIZE: "2", SLICE_LEVEL: "rack"})
    ages = {"a": 3, "b": 1, "c": 2}
    members = [pod(name, 1, group="g", created=age) for name, age in ages.items()]
    assert seats(decide([*nodes, group, *members])) == {"a": "n1", "b": "n2", "c": "n2"}


def test_a_slice_joins_its_running_members() -> None:
    nodes = [place("n1", 4, "r1"), place("n2", 4, "r2")]
    group = pod_group("g", 4, annotations={SLICE_SIZE: "2", SLICE_LEVEL: "rack"})
    running = [
        pod("g-0", 1, group="g", node="n2", index=0),
        pod("g-2", 1, group="g", node="n1", index=2),
    ]
    waiting = [pod("g-1", 1, group="g", index=1), pod("g-3", 1, group="g", index=3)]
    assert seats(decide([*nodes, group, *running, *waiting])) == {"g-1": "n2", "g-3": "n1"}


def test_a_slice_waits_when_the_domain_of_its_running_members_is_full() -> None:
    nodes = [place("n1", 4, "r1"), place("n2", 1, "r2")]
    group = pod_group("g", 2, annotations={SLICE_SIZE: "2", SLICE_LEVEL: "rack"})
    running = pod("g-0", 1, group="g", node="n2", index=0)
    plan = decide([*nodes, group, running, pod("g-1", 1, group="g", index=1)])
    assert (verdict(plan), seated(plan), first(plan)) == ("Waiting", [], "Topology")


def test_whole_slices_beyond_the_quorum_are_seated_as_far_as_they_fit() -> None:
    nodes = [place("n1", 3, "r1"), place("n2", 2, "r2")]
    plan = sliced(2, 6, nodes, quorum=2)
    assert seated(plan) == ["g-0", "g-1", "g-2", "g-3"]


def test_a_slice_is_seated_whole_even_where_the_quorum_ends_within_it() -> None:
    """A quorum of 3 in slices of 2: half a slice beside a group that takes the other half's seat is none."""
    nodes = [place("n1", 2, "r1"), place("n2", 2, "r2")]
    group = pod_group("g", 3, annotations={SLICE_SIZE: "2", SLICE_LEVEL: "rack"})
    members = pods("g", 4, 1, group="g", created=1)
    plan = decide([*nodes, group, *members, pod("other", 1, created=2)])
    racks = racks_of(plan, nodes)
    assert len(racks) in (0, 4)


# ---- levels of the policy


NAMED: Obj = {
    "topology": {
        "levels": [
            {"name": "block", "key": "example.com/block"},
            {"name": "rack", "key": "example.com/rack"},
        ]
    }
}


def blocks(*rows: tuple[str, int, str, str]) -> list[Obj]:
    return [
        node(name, cpu=cpu, labels={"example.com/block": block, "example.com/rack": rack})
        for name, cpu, block, rack in rows
    ]


TWO_BLOCKS = blocks(("a", 2, "b1", "r1"), ("b", 2, "b1", "r2"), ("c", 2, "b2", "r3"))


@pytest.mark.parametrize("level", ["block", "example.com/block"])
def test_a_level_is_named_by_its_name_or_by_its_key(level: str) -> None:
    plan = decide([*TWO_BLOCKS, *asking(4, 4, {TOPOLOGY: level})], NAMED)
    assert nodes_used(plan) == {"a", "b"}
    assert entry(plan)["domains"] == {"block": "b1"}


def test_blockers_call_a_level_by_its_name() -> None:
    busy = pod("busy", 1, node="b")
    plan = decide([*TWO_BLOCKS, busy, *asking(4, 4, {TOPOLOGY: "block"})], NAMED)
    assert has(detail(plan, "Topology"), level="block", domain="b1", domains=2, holds=3, needed=4)


def test_domains_are_told_for_every_level_that_the_members_share() -> None:
    plan = decide([*TWO_BLOCKS, *asking(2, 2, {})], NAMED)
    told = entry(plan)["domains"]
    assert set(told) == {"block", "rack"}


def test_domains_that_members_do_not_share_are_not_told() -> None:
    plan = decide([*TWO_BLOCKS, *asking(5, 5, {})], NAMED)
    assert entry(plan)["domains"] == {}


def test_running_members_count_for_the_shared_domain() -> None:
    running = pod("g-9", 1, group="g", node="a")
    plan = decide([*TWO_BLOCKS, running, *asking(2, 3, {TOPOLOGY: "block"})], NAMED)
    assert entry(plan)["domains"]["block"] == "b1"


# ---- the choice among domains


def test_the_narrowest_level_that_holds_a_group_is_taken() -> None:
    """Zone z1 would hold it across its racks; a rack of zone z2 holds it alone."""
    nodes = [place("n1", 2, "r1", "z1"), place("n2", 2, "r2", "z1"), place("n3", 4, "r3", "z2")]
    plan = decide([*nodes, *asking(3, 3, {}, "zone")], LEVELS)
    assert nodes_used(plan) == {"n3"}


def test_a_group_that_requires_nothing_is_kept_together_too() -> None:
    nodes = [place("n1", 2, "r1", "z1"), place("n2", 2, "r2", "z1"), place("n3", 2, "r2", "z1")]
    plan = decide([*nodes, *asking(3, 3, {})], LEVELS)
    assert nodes_used(plan) == {"n2", "n3"}


def rack_of_nodes(rack: str, *sizes: int) -> list[Obj]:
    return [place(f"{rack}-{i}", cpu, rack) for i, cpu in enumerate(sizes)]


def test_of_the_domains_that_hold_a_group_the_tightest_is_taken() -> None:
    nodes = [*rack_of_nodes("r1", 2, 2, 2), *rack_of_nodes("r2", 2, 1), *rack_of_nodes("r3", 2, 2)]
    assert racks_of(decide([*nodes, *gang(3, 3)]), nodes) == ["r2"] * 3


def test_the_tightest_domain_is_taken_although_a_node_elsewhere_would_hold_all() -> None:
    """Rack r1 stays whole for a larger group."""
    nodes = [*rack_of_nodes("r1", 4, 4), *rack_of_nodes("r2", 2, 1)]
    assert nodes_used(decide([*nodes, *gang(3, 3)])) == {"r2-0", "r2-1"}


def test_within_the_domain_one_node_that_holds_all_is_taken() -> None:
    nodes = [*rack_of_nodes("r1", 4, 4, 4), *rack_of_nodes("r2", 1, 1, 3)]
    assert nodes_used(decide([*nodes, *gang(3, 3)])) == {"r2-2"}


def test_a_lone_pod_leaves_whole_racks_whole() -> None:
    nodes = [*rack_of_nodes("r1", 4, 4), *rack_of_nodes("r2", 4, 4)]
    busy = pod("busy", 4, node="r2-0")
    plan = decide([*nodes, busy, pod("p", 4)], {"topology": {"levels": [{"name": "rack", "key": "rack"}]}})
    assert nodes_used(plan) == {"r2-1"}


def test_what_is_used_already_counts_for_tightness() -> None:
    nodes = [place("n1", 8, "r1"), place("n2", 6, "r2")]
    assert nodes_used(decide([*nodes, pod("a", 5, node="n1"), *gang(3, 3)])) == {"n1"}


def test_room_for_more_members_goes_before_tightness() -> None:
    """Both racks hold the quorum, one of them the surplus too."""
    nodes = [place("n1", 2, "r1"), place("n2", 6, "r2")]
    plan = decide([*nodes, *gang(4, 2)])
    assert (nodes_used(plan), len(seated(plan))) == ({"n2"}, 4)


def test_of_equal_domains_the_first_by_name_is_taken() -> None:
    nodes = [*rack_of_nodes("r2", 2, 1), *rack_of_nodes("r10", 1, 2), *rack_of_nodes("r3", 2, 1)]
    assert racks_of(decide([*nodes, *gang(3, 3)]), nodes) == ["r10"] * 3


def test_a_domain_is_judged_by_the_nodes_that_members_accept() -> None:
    """The smaller rack is the tighter one once the nodes of the wrong kind are left out."""
    nodes = [
        node("n1", cpu=3, rack="r1", labels={"disk": "ssd"}),
        node("n2", cpu=9, rack="r1"),
        node("n3", cpu=4, rack="r2", labels={"disk": "ssd"}),
    ]
    members = pods("g", 3, 1, group="g", where={"disk": "ssd"})
    assert nodes_used(decide([*nodes, pod_group("g", 3, "rack"), *members])) == {"n1"}


def test_constraints_between_members_are_kept_within_the_domain() -> None:
    """One member per node: the rack with two nodes is large enough, the one with three is right."""
    nodes = [place(f"a{i}", 4, "r1") for i in range(2)] + [place(f"b{i}", 1, "r2") for i in range(3)]
    apart = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "g"}}}]
    members = pods("g", 3, 1, group="g", labels={"app": "g"}, anti_affinity=apart)
    assert nodes_used(decide([*nodes, pod_group("g", 3, "rack"), *members])) == {"b0", "b1", "b2"}
