"""maitred and kube-scheduler on the same world: who places the pod, and whether kube-scheduler takes what
maitred has chosen."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.devices.made import World
from tests.devices.ours import Ours, decided, faults_of
from tests.devices.pinning import comparable, pinned
from tests.devices.server import Outcome, Server, Waiting

Obj = dict[str, Any]
Device = tuple[str, str, str]

PAUSES = (0.05, 0.5, 2.0, 8.0)
"""kube-scheduler hears of objects a little later than we do, so a difference is asked about again."""


@dataclass(frozen=True)
class Compared:
    kube: Outcome
    ours: Ours
    wrong: tuple[str, ...]


async def compared(server: Server, make: Callable[[int], World]) -> Compared:
    """What differed, however often it was asked. Each attempt has a world of its own."""
    found = None
    for attempt, pause in enumerate(PAUSES):
        world = make(attempt)
        async with server.standing(world):
            found = await _compared(server, world, pause)
        if not found.wrong:
            break
    assert found is not None
    return found


async def _compared(server: Server, world: World, pause: float) -> Compared:
    async with server.waiting(world) as waiting:
        seen = await server.seen(world)
        ours = decided(seen, world.pod["metadata"]["name"])
        kube = await server.outcome(waiting, pause)
    wrong = [f"the checker finds in maitred's Plan: {fault}" for fault in ours.faults]
    if kube.node is not None and not _served_by_class(world):
        faults = faults_of(seen, waiting.pod, kube.node, kube.allocations)
        wrong += [f"the checker finds in what kube-scheduler did: {fault}" for fault in faults]
    if ours.node is not None:
        wrong += await _written(server, world, pause)
        wrong += await _narrowed(server, world, pause, ours, waiting)
    elif kube.node is not None:
        placed = f"kube-scheduler binds to {kube.node}, with {_short(kube.allocations)}"
        wrong.append(f"{placed}; maitred: {ours.why_not}")
    return Compared(kube, ours, tuple(wrong))


async def _written(server: Server, world: World, pause: float) -> list[str]:
    """The allocations of the Plan, written to the claims: the pod must come to the node of the Plan."""
    if _served_by_class(world):
        return []
    async with server.waiting(world) as waiting:
        ours = decided(await server.seen(world), world.pod["metadata"]["name"])
        await server.allocate(waiting, ours.claims)
        outcome = await server.outcome(waiting, pause)
    if outcome.node == ours.node:
        return []
    return [f"maitred has allocated for {ours.node}; kube-scheduler: {_words(outcome)}"]


async def _narrowed(server: Server, world: World, pause: float, ours: Ours, waiting: Waiting) -> list[str]:
    """Requests that match only what the Plan has: kube-scheduler must allocate the same."""
    assert ours.node is not None
    chosen = ours.allocations(waiting.claims)
    async with server.waiting(pinned(world, ours.node, waiting.claims, chosen)) as again:
        outcome = await server.outcome(again, pause)
    if outcome.node != ours.node and _looked_at_first(chosen):
        return []
    if outcome.node != ours.node:
        return [f"maitred allocates {_short(chosen)} on {ours.node}; kube-scheduler: {_words(outcome)}"]
    pairs = {name: (comparable(chosen[name]), comparable(outcome.allocations[name])) for name in chosen}
    return [
        f"claim {name}: maitred writes {mine}, kube-scheduler {theirs}"
        for name, (mine, theirs) in pairs.items()
        if mine != theirs
    ]


def _looked_at_first(chosen: Mapping[str, Obj]) -> bool:
    """Whether one claim has admin access to a device of another: kube-scheduler allows that in one order of
    the claims only. docs/compatibility.md has a row for it."""
    looked_at, had = defaultdict[Device, set[str]](set), defaultdict[Device, set[str]](set)
    for name, allocation in chosen.items():
        for found in allocation["devices"]["results"]:
            whose = looked_at if found.get("adminAccess") else had
            whose[found["driver"], found["pool"], found["device"]].add(name)
    return any(looked_at[device] - names for device, names in had.items())


def _served_by_class(world: World) -> bool:
    """Whether the pod asks for a resource for which a claim is made by whoever binds it."""
    [container] = world.pod["spec"]["containers"]
    return any("/" in resource for resource in container["resources"]["requests"])


def _words(outcome: Outcome) -> str:
    return f"binds to {outcome.node}" if outcome.node else f"{outcome.reason}: {outcome.message}"


def _short(allocations: Mapping[str, Obj]) -> str:
    told = {
        name: [f"{f['request']}={f['pool']}/{f['device']}" for f in allocation["devices"]["results"]]
        for name, allocation in allocations.items()
    }
    return str(told)
