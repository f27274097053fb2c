"""A world: how many nodes of which kinds, in which racks of which blocks, from one short file."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec

from maitred.model.manifest.checks import (
    check_distinct,
    check_key,
    check_quantities,
    check_taints,
    label_key_problem,
    name_problem,
)
from maitred.model.manifest.errors import FieldError, InputError
from maitred.model.manifest.settings import read_settings
from maitred.model.node import Taint
from maitred.model.pod import Resources
from maitred.model.policy import Level
from maitred.model.quantity import thousandths
from maitred.model.setting import Setting
from maitred.model.world_devices import WorldDevice, check_devices

MOST_NODES = 20_000
KIND = "node.kubernetes.io/instance-type"
BLOCK = Level("block", "example.com/block")
RACK = Level("rack", "example.com/rack")

Count = Annotated[int, msgspec.Meta(ge=1, le=MOST_NODES)]


class Levels(Setting, frozen=True):
    """The node labels that say in which block and rack a node is."""

    block: str = BLOCK.key
    rack: str = RACK.key


class NodeKind(Setting, frozen=True):
    """Nodes that are alike: so many in each rack, so many racks in each block, so many blocks."""

    name: str
    resources: Resources
    blocks: Count = 1
    racks: Count = 1
    nodes: Count = 1
    labels: dict[str, str] = {}
    taints: tuple[Taint, ...] = ()

    @property
    def total(self) -> int:
        return self.blocks * self.racks * self.nodes


USUAL = NodeKind(
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
    kinds: tuple[NodeKind, ...] = (USUAL,)
    devices: tuple[WorldDevice, ...] = ()
    """Published for claims; what is in the resources of nodes is not among them."""


@dataclass(frozen=True, slots=True)
class NodePlace:
    """Where one node of a kind stands, and what it is called for it."""

    kind: NodeKind
    block: str
    rack: str
    number: int

    @property
    def name(self) -> str:
        return node_name(self.block, self.rack, self.number)


def read_world(data: bytes, source: str, taken: Collection[str] = ()) -> World:
    """Raises InputError, which names the file and the field. `taken`: labels that every node gets anyway."""
    world, _ = read_settings(data, source, World)
    try:
        check_floor(world.levels, world.kinds, taken)
        names = [kind.name for kind in world.kinds]
        check_devices(world.devices, names, sum(kind.total for kind in world.kinds))
    except FieldError as problem:
        raise InputError(source, "", problem.field, problem.what) from None
    return world


def check_floor(levels: Levels, kinds: Sequence[NodeKind], taken: Collection[str] = ()) -> None:
    check_levels(levels)
    for position, kind in enumerate(kinds):
        check_kind(f"kinds[{position}]", kind, {levels.block, levels.rack, KIND, *taken})
    check_distinct("kinds", "name", [kind.name for kind in kinds])
    total = sum(kind.total for kind in kinds)
    if total > MOST_NODES:
        raise FieldError("kinds", f"{total} nodes in all; at most {MOST_NODES} are simulated")


def check_levels(levels: Levels) -> None:
    check_key("levels.block", levels.block)
    check_key("levels.rack", levels.rack)
    if levels.block == levels.rack:
        raise FieldError("levels.rack", f"{levels.rack!r} is also the key of the blocks; use another")


def check_kind(field: str, kind: NodeKind, taken: Collection[str]) -> None:
    if problem := name_problem(kind.name, 63):
        raise FieldError(f"{field}.name", problem)
    check_resources(f"{field}.resources", kind.resources)
    for key in kind.labels:
        if problem := label_key_problem(key):
            raise FieldError(f"{field}.labels", problem)
        if key in taken:
            raise FieldError(f"{field}.labels", f"the sandbox sets {key} on every node; leave it out")
    check_taints(f"{field}.taints", kind.taints)


def check_resources(field: str, resources: Resources) -> None:
    """Of what has a vendor's name in front, such as devices, the API server takes whole numbers only."""
    check_quantities([(field, resources)])
    for resource, quantity in resources.items():
        if "/" in resource and thousandths(quantity) % 1000:
            raise FieldError(f"{field}.{resource}", f"{quantity!r} is not a whole number")


def places(kinds: Sequence[NodeKind]) -> Iterator[NodePlace]:
    """Blocks, racks and the nodes of a rack are counted from 1: `b1-r3-n05`. No two racks share a number."""
    block = rack = 0
    for kind in kinds:
        for _ in range(kind.blocks):
            block += 1
            for _ in range(kind.racks):
                rack += 1
                for number in range(1, kind.nodes + 1):
                    yield NodePlace(kind, f"b{block}", f"r{rack}", number)


def node_name(block: str, rack: str, number: int) -> str:
    return f"{block}-{rack}-n{number:02}"
