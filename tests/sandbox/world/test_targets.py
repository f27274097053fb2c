"""Which nodes people mean."""

import pytest

from maitred.model.manifest import InputError
from maitred.model.world import World
from maitred.sandbox.kubelets import bodies
from maitred.sandbox.world.layout import machines
from maitred.sandbox.world.nodes import more_like
from maitred.sandbox.world.objects import Json
from maitred.sandbox.world.targets import chosen, name_of

NODES: list[Json] = [bodies.node(machine) for machine in machines(World())]


@pytest.mark.parametrize(
    ("targets", "count", "first"),
    [
        (["b1-r3-n05"], 1, "b1-r3-n05"),
        (["b1-r3-n05", "b1-r3-n05"], 1, "b1-r3-n05"),
        (["rack=r3"], 8, "b1-r3-n01"),
        (["example.com/rack==r3"], 8, "b1-r3-n01"),
        (["rack=r3", "rack=r7"], 16, "b1-r3-n01"),
        (["block=b2"], 32, "b2-r5-n01"),
        (["block=b2,rack!=r5"], 24, "b2-r6-n01"),
        (["rack=r1,nvidia.com/gpu.product"], 8, "b1-r1-n01"),
        (["rack=r1,!zone"], 8, "b1-r1-n01"),
    ],
)
def test_targets(targets: list[str], count: int, first: str) -> None:
    found = chosen(targets, NODES)
    assert (len(found), name_of(found[0])) == (count, first)


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ("b1-r3-n5", "b1-r3-n5: matches no simulated node; did you mean b1-r3-n05?"),
        ("rack=r9", "rack=r9: matches no simulated node; example.com/rack is one of r1, r2, r3, r4"),
        ("zone=a", "zone=a: matches no simulated node; no node has a label zone"),
        ("rack in (r1)", "rack in (r1): is neither the name of a node nor labels such as rack=r1"),
        ("rack=r1,", "rack=r1,: is neither the name of a node nor labels such as rack=r1"),
        ("", "TARGET: is empty; name a node, or labels such as rack=r1"),
        ("rack", "rack: is a label without a value; example.com/rack is one of r1, r2, r3, r4"),
        ("rack,block", "rack,block: is a label without a value"),
        ("rack!=", "rack!=: would match every node; example.com/rack is one of r1"),
        ("rakc!=r1", "rakc!=r1: would match every node; no node has a label rakc"),
        ("zone", "zone: matches no simulated node"),
    ],
)
def test_what_means_nothing_is_refused(target: str, error: str) -> None:
    with pytest.raises(InputError) as refused:
        chosen(["rack=r1", target], NODES)
    assert str(refused.value).startswith(error)


def test_more_nodes_like_one_that_is_there() -> None:
    made = more_like(NODES[0], NODES, 2, {"rack": "r9", "block": "b2"}, {"pool": "new"})
    assert [machine.name for machine in made] == ["b2-r9-n01", "b2-r9-n02"]
    assert made[0].labels["example.com/rack"] == "r9"
    assert made[0].labels["pool"] == "new"
    assert made[0].resources["nvidia.com/gpu"] == "8"


def test_names_that_are_taken_are_passed_over() -> None:
    assert [machine.name for machine in more_like(NODES[0], NODES, 1, {}, {})] == ["b1-r1-n09"]


def test_how_a_node_fares_is_not_copied() -> None:
    taints = [
        {"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"},
        {"key": "inference", "effect": "NoSchedule", "value": "yes"},
    ]
    [made] = more_like({**NODES[0], "spec": {"taints": taints}}, NODES, 1, {}, {})
    assert [taint.key for taint in made.taints] == ["inference"]


def test_there_is_an_end_to_it() -> None:
    with pytest.raises(InputError, match="more than 20000 nodes"):
        more_like(NODES[0], NODES, 20_000, {}, {})
