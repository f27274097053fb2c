"""A world: how many nodes of which kinds, in which racks of which blocks, from one short file."""

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec

from maitred.model.manifest.checks import (
    check_key,
    check_quantities,
    check_taints,
    label_key_problem,
    name_problem,
)
from maitred.model.manifest.errors import FieldError, InputError
from maitred.model.manifest.settings import check_distinct, read_settings
from maitred.model.node import Taint as NodeTaint
from maitred.model.pod import Resources
from maitred.model.policy import Level, Setting
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.kubelets.marks import BLOCK_MARK, KUBELET, RACK_MARK, SIMULATED
from maitred.sandbox.kubelets.objects import Taint

MOST_NODES = 20_000
KIND = "node.kubernetes.io/instance-type"
BLOCK = Level("block", "example.com/block")
RACK = Level("rack", "example.com/rack")

Count = Annotated[int, msgspec.Meta(ge=1, le=MOST_NODES)]


class Levels(Setting, frozen=True):
    """The node labels that say in which block and rack a node is."""

    block: str = BLOCK.key
    rack: str = RACK.key


class Kind(Setting, frozen=True):
    """Nodes that are alike: so many in each rack, so many racks in each block, so many blocks."""

    name: str
    resources: Resources
    blocks: Count = 1
    racks: Count = 1
    nodes: Count = 1
    labels: dict[str, str] = {}
    taints: tuple[NodeTaint, ...] = ()

    @property
    def total(self) -> int:
        return self.blocks * self.racks * self.nodes


USUAL = Kind(
    "h100",
    {"cpu": "96", "memory": "1Ti", "nvidia.com/gpu": "8"},
    blocks=2,
    racks=4,
    nodes=8,
    labels={"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
)


class World(Setting, frozen=True):
    """Without a file: 64 nodes with 8 GPUs each, in 8 racks of 2 blocks."""

    api_version: Literal["maitred.dev/v1alpha1"] = "maitred.dev/v1alpha1"
    kind: Literal["World"] = "World"
    levels: Levels = Levels()
    kinds: tuple[Kind, ...] = (USUAL,)


def read_world(data: bytes, source: str) -> World:
    """Raises InputError, which names the file and the field."""
    world, _ = read_settings(data, source, World)
    try:
        check(world)
    except FieldError as problem:
        raise InputError(source, "", problem.field, problem.what) from None
    return world


def check(world: World) -> None:
    check_key("levels.block", world.levels.block)
    check_key("levels.rack", world.levels.rack)
    if world.levels.block == world.levels.rack:
        raise FieldError("levels.rack", f"{world.levels.rack!r} is the key of the blocks too")
    for position, kind in enumerate(world.kinds):
        check_kind(f"kinds[{position}]", kind, world.levels)
    check_distinct("kinds", "name", [kind.name for kind in world.kinds])
    total = sum(kind.total for kind in world.kinds)
    if total > MOST_NODES:
        raise FieldError("kinds", f"{total} nodes in all; at most {MOST_NODES} are simulated")


def check_kind(field: str, kind: Kind, levels: Levels) -> None:
    if problem := name_problem(kind.name, 63):
        raise FieldError(f"{field}.name", problem)
    check_quantities([(f"{field}.resources", kind.resources)])
    for key in kind.labels:
        if problem := label_key_problem(key):
            raise FieldError(f"{field}.labels", problem)
        if key in (levels.block, levels.rack, KUBELET, KIND):
            raise FieldError(f"{field}.labels", f"{key} is set for every node; leave it out")
    check_taints(f"{field}.taints", kind.taints)


def machines(world: World) -> Iterator[Machine]:
    """Blocks, racks and the nodes of a rack are counted from 1: `b1-r3-n05`. No two racks share a number."""
    block = rack = 0
    for kind in world.kinds:
        for _ in range(kind.blocks):
            block += 1
            for _ in range(kind.racks):
                rack += 1
                for number in range(1, kind.nodes + 1):
                    yield machine(kind, world.levels, f"b{block}", f"r{rack}", number)


def machine(kind: Kind, levels: Levels, block: str, rack: str, number: int) -> Machine:
    return Machine(
        name=node_name(block, rack, number),
        resources={resource: str(quantity) for resource, quantity in kind.resources.items()},
        labels={
            KUBELET: SIMULATED,
            KIND: kind.name,
            **place(levels.block, BLOCK, BLOCK_MARK, block),
            **place(levels.rack, RACK, RACK_MARK, rack),
            **kind.labels,
        },
        taints=tuple(Taint(taint.key, taint.effect, taint.value) for taint in kind.taints),
    )


def place(key: str, level: Level, mark: str, name: str) -> dict[str, str]:
    """The label that says where a node is, and a mark if nobody would find it by the name of the level."""
    return {key: name} if key.rpartition("/")[2] == level.name else {key: name, mark: name}


def node_name(block: str, rack: str, number: int) -> str:
    return f"{block}-{rack}-n{number:02}"
