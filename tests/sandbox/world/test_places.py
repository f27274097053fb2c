"""Racks that are called otherwise: by a world of one's own, or in a cluster that was taken over."""

import msgspec

from maitred.explain.floorplan import Declared, FloorVerdicts, floor_of, table_of
from maitred.model.node import Node
from maitred.model.world import Levels, NodeKind, World
from maitred.sandbox.kubelets import bodies
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.kubelets.marks import BLOCK_MARK, RACK_MARK
from maitred.sandbox.world.layout import machines
from maitred.sandbox.world.nodes import more_like
from maitred.sandbox.world.objects import Json
from maitred.sandbox.world.takeover import take_over
from maitred.sandbox.world.targets import chosen, name_of

WORLD = World(
    levels=Levels("acme.io/pod", "acme.io/shelf"),
    kinds=(NodeKind("small", {"nvidia.com/gpu": "8"}, blocks=2, racks=2, nodes=2),),
)


def nodes(found: list[Machine]) -> list[Json]:
    return [bodies.node(machine) for machine in found]


def racks(found: list[Json]) -> list[tuple[str, str, int]]:
    tables = [table_of(msgspec.convert(node, Node)) for node in found]
    return [
        (rack.block, rack.rack, len(rack.nodes))
        for rack in floor_of(tables, [], Declared(), FloorVerdicts("maitred")).racks
    ]


def test_the_floor_has_the_racks_of_a_world_whatever_they_are_called() -> None:
    expected = [("b1", "r1", 2), ("b1", "r2", 2), ("b2", "r3", 2), ("b2", "r4", 2)]
    assert racks(nodes(list(machines(WORLD)))) == expected


def test_targets_mean_them_by_the_name_of_the_level_and_by_their_own() -> None:
    there = nodes(list(machines(WORLD)))
    assert chosen(["rack=r3"], there) == chosen(["shelf=r3"], there) == chosen(["acme.io/shelf=r3"], there)


def test_nodes_that_are_added_to_a_rack_are_in_it_by_every_label() -> None:
    there = nodes(list(machines(WORLD)))
    [added] = more_like(there[0], there, 1, {"rack": "r9"}, {})
    assert added.name == "b1-r9-n01"
    assert (added.labels[RACK_MARK], added.labels["acme.io/shelf"]) == ("r9", "r9")
    assert (added.labels[BLOCK_MARK], added.labels["acme.io/pod"]) == ("b1", "b1")


def test_the_usual_world_needs_no_marks() -> None:
    assert not any(RACK_MARK in machine.labels for machine in machines(World()))


def test_a_dump_has_the_racks_that_it_is_said_to_have() -> None:
    dump = [
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": f"n{number}",
                "labels": {"tor": f"t{number}", "zone": "z", "a.io/rack": "x"},
            },
            "status": {"allocatable": {"nvidia.com/gpu": "8"}},
        }
        for number in range(2)
    ]
    assert racks(take_over(dump).objects) == [("z", "x", 2)]
    said = take_over(dump, {RACK_MARK: "tor"}).objects
    assert racks(said) == [("z", "t0", 1), ("z", "t1", 1)]
    assert [name_of(node) for node in chosen(["rack=t1"], said)] == ["n1"]
