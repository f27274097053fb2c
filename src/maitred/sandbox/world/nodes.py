"""What happens to the nodes of a world: they come, are lost and found, and go."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any

from maitred.kube.errors import ApiError, first_of
from maitred.kube.resources import NODES
from maitred.model.manifest import InputError
from maitred.model.node import HEALTH_TAINTS, HOSTNAME, Taint
from maitred.model.policy import Policy, is_device
from maitred.model.requests import amounts
from maitred.model.world import BLOCK, MOST_NODES, RACK, node_name
from maitred.sandbox.kubelets import bodies
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.kubelets.marks import FAULT, KUBELET, SIMULATED
from maitred.sandbox.world.objects import Json, WorldObjects
from maitred.sandbox.world.targets import chosen, full_key, labels_of, name_of

AT_ONCE = 32
DEFAULT_FAULT = "lost"


async def simulated(objects: WorldObjects) -> list[Json]:
    """All nodes that only pretend; others are none of our business, whatever cluster this is."""
    return await objects.list(NODES, {"labelSelector": f"{KUBELET}={SIMULATED}"})


async def meant(objects: WorldObjects, targets: Iterable[str]) -> list[Json]:
    return chosen(targets, await simulated(objects))


async def fail(objects: WorldObjects, nodes: Sequence[Json], reason: str = DEFAULT_FAULT) -> None:
    await annotate(objects, nodes, reason)


async def heal(objects: WorldObjects, nodes: Sequence[Json]) -> None:
    await annotate(objects, nodes, None)
    await mend_devices(objects, [node for node in nodes if has_unwell(node)])


async def break_devices(objects: WorldObjects, nodes: Sequence[Json], count: int) -> None:
    """So many devices of each node are unwell from now on, as a device plugin reports it: the node has them
    and does not offer them. Raises InputError before anything is changed."""
    offered = {name_of(node): with_unwell(node, count) for node in nodes}
    await for_each(nodes, lambda node: offer(objects, node, offered[name_of(node)]))


async def mend_devices(objects: WorldObjects, nodes: Sequence[Json]) -> None:
    """All devices of these nodes are well, however they were when the nodes were looked at."""
    await for_each(nodes, lambda node: offer(objects, node, devices_of(node)))


async def offer(objects: WorldObjects, node: Json, devices: Mapping[str, int]) -> None:
    change = {"status": {"allocatable": {name: str(count) for name, count in devices.items()}}}
    await objects.patch(NODES.path(name=name_of(node), subresource="status"), change)


def with_unwell(node: Json, count: int) -> dict[str, int]:
    """What a node offers of its devices once so many are unwell."""
    has = devices_of(node)
    if not has:
        raise InputError(name_of(node), "", "", "has no devices that could be unwell")
    resource, there = next(iter(has.items()))
    if count > there:
        raise InputError("--devices", "", "", f"{name_of(node)} has {there} {resource}, fewer than {count}")
    return {resource: there - count}


def devices_of(node: Json) -> dict[str, int]:
    """All that a node has, well or not."""
    capacity = amounts(node.get("status", {}).get("capacity") or {})
    return {name: capacity[name] for name in sorted(capacity) if capacity[name] and is_device(Policy(), name)}


def has_unwell(node: Json) -> bool:
    """Whether it has devices that it does not offer."""
    offered = amounts({**resources_of(node)})
    return any(there > offered.get(name, 0) for name, there in devices_of(node).items())


def is_broken(node: Json) -> bool:
    """Whether there is something to heal."""
    return is_lost(node) or has_unwell(node)


def is_lost(node: Json) -> bool:
    return FAULT in (node["metadata"].get("annotations") or {})


def is_closed(node: Json) -> bool:
    return bool(node.get("spec", {}).get("unschedulable"))


async def annotate(objects: WorldObjects, nodes: Sequence[Json], fault: str | None) -> None:
    change = {"metadata": {"annotations": {FAULT: fault}}}
    await for_each(nodes, lambda node: objects.patch(NODES.path(name=name_of(node)), change))


async def close(objects: WorldObjects, nodes: Sequence[Json], closed: bool) -> None:
    """Cordon or uncordon."""
    change = {"spec": {"unschedulable": closed or None}}
    await for_each(nodes, lambda node: objects.patch(NODES.path(name=name_of(node)), change))


async def remove(objects: WorldObjects, nodes: Sequence[Json]) -> None:
    await for_each(nodes, lambda node: objects.delete(NODES.path(name=name_of(node))))


async def create(objects: WorldObjects, machines: Iterable[Machine]) -> list[str]:
    """The nodes of these machines, ready as soon as their kubelets say so. Names of those that are new."""
    made = list[str]()

    async def make(machine: Machine) -> None:
        try:
            await objects.create({"apiVersion": "v1", "kind": "Node", **bodies.node(machine)})
        except ApiError as error:
            if not error.is_conflict:
                raise
        else:
            made.append(machine.name)

    await for_each(list(machines), make)
    return sorted(made)


def more_like(
    like: Json, nodes: Sequence[Json], count: int, places: Mapping[str, str], labels: Mapping[str, str]
) -> list[Machine]:
    """So many machines like that node; `places` may name another block or rack for them."""
    if len(nodes) + count > MOST_NODES:
        raise InputError("COUNT", "", "", f"there would be more than {MOST_NODES} nodes, which is the limit")
    own = {key: value for key, value in labels_of(like).items() if key != HOSTNAME}
    keys = {level.name: full_key(level.name, nodes) for level in (BLOCK, RACK)}
    for name, value in places.items():
        # A world may have the name of a rack under more than one label.
        before = own.get(keys[name])
        own = {key: value if had == before else had for key, had in own.items()} | {keys[name]: value}
    own |= dict(labels)
    block, rack = (own.get(keys[level.name], level.name) for level in (BLOCK, RACK))
    taken, names, number = set(map(name_of, nodes)), list[str](), 0
    while len(names) < count:
        number += 1
        name = node_name(block, rack, number)
        if name not in taken:
            names.append(name)
    well = {name: str(count) for name, count in devices_of(like).items()}
    resources, taints = {**resources_of(like), **well}, taints_of(like)
    return [Machine(name, resources, own, taints) for name in names]


def resources_of(node: Json) -> dict[str, str]:
    status = node.get("status", {})
    return dict(status.get("allocatable") or status.get("capacity") or {})


def taints_of(node: Json) -> tuple[Taint, ...]:
    """Those that say what a node is for; how the one at hand fares is its own affair."""
    found: list[dict[str, Any]] = node.get("spec", {}).get("taints") or []
    return tuple(
        Taint(taint["key"], taint["effect"], taint.get("value", ""))
        for taint in found
        if taint["key"] not in HEALTH_TAINTS
    )


async def for_each(items: Iterable[Any], work: Callable[[Any], Awaitable[object]]) -> None:
    """All at once, as far as a server likes it. The first error stops the others and is raised as it is."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(item: Any) -> None:
        async with gate:
            await work(item)

    try:
        async with asyncio.TaskGroup() as tasks:
            for item in items:
                tasks.create_task(one(item))
    except ExceptionGroup as errors:
        raise first_of(errors) from None
