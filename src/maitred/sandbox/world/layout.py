"""The machines of a world, as the simulated kubelets want them."""

from collections.abc import Iterator

from maitred.model.node import Taint
from maitred.model.policy import Level
from maitred.model.world import BLOCK, KIND, RACK, Levels, NodePlace, World, places
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.kubelets.marks import BLOCK_MARK, KUBELET, RACK_MARK, SIMULATED


def machines(world: World) -> Iterator[Machine]:
    return (machine(place, world.levels) for place in places(world.kinds))


def machine(place: NodePlace, levels: Levels) -> Machine:
    kind = place.kind
    return Machine(
        name=place.name,
        resources={resource: str(quantity) for resource, quantity in kind.resources.items()},
        labels={
            KUBELET: SIMULATED,
            KIND: kind.name,
            **label(levels.block, BLOCK, BLOCK_MARK, place.block),
            **label(levels.rack, RACK, RACK_MARK, place.rack),
            **kind.labels,
        },
        taints=tuple(Taint(taint.key, taint.effect, taint.value) for taint in kind.taints),
    )


def label(key: str, level: Level, mark: str, name: str) -> dict[str, str]:
    """The label that says where a node is, and a mark if nobody would find it by the name of the level."""
    return {key: name} if key.rpartition("/")[2] == level.name else {key: name, mark: name}
