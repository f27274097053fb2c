"""The topology that labels make: domains, what is free in them, and labels that lack or contradict."""

from typing import Any

from maitred.explain.topology import Domain, TopologyReport, topology_of
from maitred.explain.topology_tables import topology_lines
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.oracle.device_builders import claim_spec, device, resource_claim, resource_slice
from tests.support import policy_of, snapshot_of

BLOCK = "example.com/block"
POLICY = {"topology": {"levels": [{"name": "block", "key": BLOCK}, {"name": "rack", "key": "rack"}]}}


def survey(objects: list[Obj], policy: Obj | None = POLICY) -> TopologyReport:
    return topology_of(snapshot_of(objects), policy_of(policy))


def node(name: str, block: str | None, rack: str | None, **fields: Any) -> Obj:
    labels = {} if block is None else {BLOCK: block}
    return b.node(name, **{"cpu": 16, "memory": "64Gi", "gpu": 8, **fields}, rack=rack, labels=labels)


TIDY = [node(f"n{i}", f"b{i // 4}", f"r{i // 2}") for i in range(8)]
BUSY = [b.pod(f"old-{i}", 4, "8Gi", 8 - i, node=f"n{i}") for i in range(4)]


def lines(topology: TopologyReport, width: int | None = None) -> list[str]:
    return [line.plain for line in topology_lines(topology, width)]


def names(domains: tuple[Domain, ...]) -> list[Any]:
    """The tree as nested lists."""
    return [
        [domain.domain, *names(domain.domains)] if domain.domains else domain.domain for domain in domains
    ]


def test_the_tree_and_its_sums() -> None:
    found = survey([*TIDY, *BUSY])
    assert names(found.domains) == [["b0", "r0", "r1"], ["b1", "r2", "r3"]]
    b0 = found.domains[0]
    assert (b0.level, b0.nodes, b0.unwell) == ("block", 4, 0)
    assert b0.allocatable == {b.GPU: "32", "cpu": "64", "memory": "256Gi"}
    assert b0.free == {b.GPU: "6", "cpu": "48", "memory": "224Gi"}
    assert list(b0.free) == [b.GPU, "cpu", "memory"]
    assert b0.domains[1].free[b.GPU] == "5"
    assert found.problems == ()


def test_levels_and_their_largest_free_domain() -> None:
    found = survey([*TIDY, *BUSY, b.pod("late", gpu=1, node="n4")])
    assert [(level.name, level.key, level.domains) for level in found.levels] == [
        ("block", BLOCK, 2),
        ("rack", "rack", 4),
    ]
    largest = [level.largest_free for level in found.levels]
    assert [one and (one.domain, one.free[b.GPU]) for one in largest] == [("b1", "31"), ("r3", "16")]


def test_equal_domains_go_by_the_next_resource_and_then_by_name() -> None:
    (level,) = survey(TIDY, {"topology": {"levels": [{"name": "rack", "key": "rack"}]}}).levels
    assert level.largest_free is not None
    assert level.largest_free.domain == "r0"
    busy = [b.pod("old", 1, node="n0")]
    (level,) = survey([*TIDY, *busy], {"topology": {"levels": [{"name": "rack", "key": "rack"}]}}).levels
    assert level.largest_free is not None
    assert level.largest_free.domain == "r1"


def test_what_is_closed_or_unwell_is_not_free() -> None:
    found = survey(
        [node("n0", "b0", "r0"), node("n1", "b0", "r0", cordoned=True), node("n2", "b0", "r1", ready=None)]
    )
    assert (found.nodes, found.unwell) == (3, 2)
    b0 = found.domains[0]
    assert (b0.unwell, b0.allocatable[b.GPU], b0.free[b.GPU]) == (2, "24", "8")


def test_devices_that_nodes_do_not_offer_are_told() -> None:
    """Also where none is left in a domain."""
    objects = [
        node("n0", "b0", "r0", broken=3),
        node("n1", "b0", "r0"),
        node("n2", "b0", "r1", broken=8),
    ]
    found = survey(objects)
    racks = [
        (one.allocatable[b.GPU], one.free[b.GPU], one.unwell_devices) for one in found.domains[0].domains
    ]
    assert racks == [("16", "13", {b.GPU: 3}), ("8", "0", {b.GPU: 8})]
    assert "0 of 8, 8 unwell" in "\n".join(lines(found))


def test_devices_that_claims_are_for_are_counted_by_driver() -> None:
    gpus = [device(f"gpu-{i}", {"model": "h100"}) for i in range(3)]
    broken = device("gpu-3", {"model": "a100"}, taints=["bad:NoSchedule"])
    results = [{"request": "r", "driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}]
    objects = [
        node("n1", "b1", "r1", cpu=8),
        node("n2", "b1", "r2", cpu=8),
        *(resource_slice(f"{n}-gpus", "gpu.example.com", [*gpus, broken], node=n) for n in ("n1", "n2")),
        resource_claim("c", claim_spec(), {"devices": {"results": results}}),
        resource_slice("fabric", "fabric.example.com", [device("c0")], everywhere=True),
    ]
    (block,) = survey(objects).domains
    found = [(one.allocatable, one.free, one.unwell_devices) for one in (block, *block.domains)]
    assert [(have["gpu.example.com"], free["gpu.example.com"], ill) for have, free, ill in found] == [
        ("8", "5", {"gpu.example.com": 2}),
        ("4", "2", {"gpu.example.com": 1}),
        ("4", "3", {"gpu.example.com": 1}),
    ]
    assert "fabric.example.com" not in block.free
    assert "5 of 8, 2 unwell" in "\n".join(lines(survey(objects)))


def test_more_taken_than_there_is_leaves_nothing_free() -> None:
    found = survey([node("n0", "b0", "r0"), b.pod("old", 20, node="n0")])
    assert found.domains[0].free["cpu"] == "0"


def test_levels_that_groups_name() -> None:
    gang = [b.pod_group("crew", 2, "rack"), *b.pods("crew", 2, 1, group="crew")]
    found = survey([*TIDY, *gang], None)
    assert [level.name for level in found.levels] == ["rack"]
    assert names(found.domains) == ["r0", "r1", "r2", "r3"]


def test_nodes_without_a_label() -> None:
    found = survey(
        [*TIDY, node("x2", "b1", None), node("x1", "b1", None), node("y", None, "r9"), node("z", None, None)]
    )
    assert names(found.domains) == [["b0", "r0", "r1"], ["b1", "r2", "r3"], [None, "r9"]]
    assert [(problem.kind, problem.level, problem.nodes) for problem in found.problems] == [
        ("Unlabelled", "block", ("y", "z")),
        ("Unlabelled", "rack", ("x1", "x2", "z")),
    ]
    assert found.problems[1].message == "3 nodes lack the label rack of level rack"


def test_a_level_that_no_node_has() -> None:
    found = survey([b.node("n0", rack="r0")])
    assert found.levels[0].largest_free is None
    assert found.problems[0].message == f"no node has the label {BLOCK} of level block"
    assert names(found.domains) == [[None, "r0"]]


def test_a_domain_in_two_wider_ones() -> None:
    found = survey([*TIDY, node("stray", "b1", "r0")])
    (problem,) = found.problems
    assert (problem.kind, problem.level, problem.domain) == ("Misnested", "rack", "r0")
    assert problem.parents == {"b0": ("n0", "n1"), "b1": ("stray",)}
    assert problem.message == "rack r0 is in 2 domains of level block: b0 (n0, n1), b1 (stray)"
    assert names(found.domains) == [["b0", "r0", "r1"], ["b1", "r0", "r2", "r3"]]


def test_a_domain_astray_further_out() -> None:
    """Racks without a block are still looked at one level further out."""
    levels = [
        {"name": "zone", "key": b.ZONE},
        {"name": "block", "key": BLOCK},
        {"name": "rack", "key": "rack"},
    ]
    objects = [b.node("n0", rack="r0", zone="z0"), b.node("n1", rack="r0", zone="z1")]
    found = survey(objects, {"topology": {"levels": levels}})
    assert [problem.message for problem in found.problems if problem.kind == "Misnested"] == [
        "rack r0 is in 2 domains of level zone: z0 (n0), z1 (n1)"
    ]


def test_labels_that_look_like_levels() -> None:
    extra = {"nvidia.com/gpu.clique": "c1", "disktype": "ssd", "topology.example.com/node": "{}"}
    objects = [
        b.node(f"n{i}", rack=f"r{i // 2}", zone="z0", labels={k: v.format(f"n{i}") for k, v in extra.items()})
        for i in range(4)
    ]
    found = survey(objects, None)
    assert (found.levels, found.domains) == ((), ())
    assert [(one.key, one.domains, one.nodes) for one in found.candidates] == [
        ("nvidia.com/gpu.clique", 1, 4),
        (b.ZONE, 1, 4),
        ("rack", 2, 4),
    ]
    assert lines(found) == [
        "No level of the topology is known: the policy names none, and no waiting group asks for one.",
        "These labels of the nodes look like levels; name them in the policy under topology.levels:",
        "",
        "KEY                          DOMAINS  NODES",
        "nvidia.com/gpu.clique        1        4",
        "topology.kubernetes.io/zone  1        4",
        "rack                         2        4",
        "",
        "4 nodes.",
    ]


def test_no_labels_at_all() -> None:
    shown = lines(survey([b.node("n0")], None))
    assert shown[1] == "No label of the nodes looks like one either."


def test_no_nodes() -> None:
    assert lines(survey([])) == ["There are no nodes."]


def test_the_whole_page() -> None:
    objects = [
        *TIDY[:4],
        *BUSY[:1],
        node("stray", "b1", "r0", cordoned=True, memory="63500Mi"),
        node("bare", "b1", None),
    ]
    assert lines(survey(objects)) == [
        "LEVEL  KEY                DOMAINS  LARGEST FREE",
        "block  example.com/block  2        b0: 24 nvidia.com/gpu, 60 cpu, 248Gi memory",
        "rack   rack               2        r1: 16 nvidia.com/gpu, 32 cpu, 128Gi memory",
        "",
        "DOMAIN     NODES            FREE nvidia.com/gpu  FREE cpu  FREE memory",
        "block b0   4                24 of 32             60 of 64  248Gi of 256Gi",
        "  rack r0  2                8 of 16              28 of 32  120Gi of 128Gi",
        "  rack r1  2                16 of 16             32 of 32  128Gi of 128Gi",
        "block b1   2 (1 unhealthy)  8 of 16              16 of 32  64Gi of 126Gi",
        "  rack r0  1 (1 unhealthy)  0 of 8               0 of 16   0Gi of 62Gi",
        "",
        "Problems",
        "  Unlabelled  1 node lacks the label rack of level rack: bare",
        "  Misnested   rack r0 is in 2 domains of level block: b0 (n0, n1), b1 (stray)",
        "",
        "6 nodes; 1 of them cordoned or unhealthy; their room does not count as free; 2 levels, 2 problems.",
    ]


def test_many_nodes_without_a_label_are_told_by_some_names() -> None:
    objects = [*TIDY, *(node(f"x{i}", "b1", None) for i in range(9))]
    assert "  Unlabelled  9 nodes lack the label rack of level rack: x0, x1, x2, x3, x4 and 4 more" in lines(
        survey(objects)
    )


def test_a_narrow_terminal() -> None:
    shown = lines(survey([*TIDY, *(node(f"some-long-name-{i}", "b1", None) for i in range(9))]), 80)
    assert max(len(line) for line in shown if "nodes lack" in line) <= 80
