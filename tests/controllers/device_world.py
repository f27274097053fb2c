"""A gang with claims, a server that keeps what is written, and schedulers of it that can be killed.

The Plan is written by hand: each pod has a claim of its own, and all of them share the claim of their
PodGroup.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from maitred.controllers.scheduling.allocating import DevicePreparer
from maitred.controllers.scheduling.amending import users
from maitred.controllers.scheduling.binding import Binder, Order
from maitred.controllers.scheduling.claim_shares import by_user, share_of
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.reclaiming import ClaimRepair
from maitred.controllers.scheduling.seating import SeatingRecord
from maitred.kube.claim_writes import ClaimWriter
from maitred.kube.permit import NotLeading
from maitred.kube.resources import resource_of
from maitred.kube.wire import WatchedClaim, WatchedPod
from maitred.kube.writes import Writer
from maitred.model.devices.claims import ALLOCATED_BY, FINALIZER, ResourceClaim
from maitred.model.plan import Bind, ClaimAllocation, GroupVerdict
from maitred.model.policy import Devices, Policy
from tests.cluster.seen import put
from tests.controllers.watched import watched_group
from tests.kube.claim_server import ClaimServer
from tests.oracle.builders import node, pod

GROUP_UID = "uid-of-group"
SECONDS = 20.0
"""Long enough on any machine: nothing here waits for a clock unless it fails."""
READY, BROKEN = "example.com/ready", "example.com/broken"


class Mortal:
    """A permit until the nth write, which is never sent."""

    def __init__(self, writes: int | None = None) -> None:
        self.left = writes

    def check(self) -> None:
        if self.left is not None:
            if not self.left:
                raise NotLeading("killed")
            self.left -= 1


def device(name: str, pool: str = "n1", **more: Any) -> dict[str, Any]:
    return {"request": "gpu", "driver": "d.example.com", "pool": pool, "device": name, **more}


def allocation(name: str, **more: Any) -> dict[str, Any]:
    return {"devices": {"results": [device(name, **more)]}}


@dataclass
class World:
    """`size` members `g-0`, `g-1` ... with the claims `g-0-gpu` ...; all of them use `shared`."""

    size: int = 4
    scheduler: str = "maitred"
    conditions: dict[str, Any] = field(default_factory=dict)
    """What the devices have to be before pods are bound."""
    server: ClaimServer = field(default_factory=ClaimServer)

    def __post_init__(self) -> None:
        self.server.add_claim("shared")
        for number in range(self.size):
            self.server.add_claim(f"g-{number}-gpu")
            self.server.add(f"g-{number}")

    @property
    def names(self) -> list[str]:
        return [f"g-{number}" for number in range(self.size)]

    def uid(self, name: str) -> str:
        return str(self.server.pods[name]["metadata"]["uid"])

    def claims(self) -> list[ClaimAllocation]:
        group = {
            "apiGroup": "scheduling.k8s.io",
            "resource": "podgroups",
            "name": "g",
            "uid": GROUP_UID,
        }
        own = [
            ClaimAllocation(
                f"default/{name}-gpu",
                allocation(f"gpu-{name}", **self.conditions),
                ({"resource": "pods", "name": name, "uid": self.uid(name)},),
            )
            for name in self.names
        ]
        return [*own, ClaimAllocation("default/shared", allocation("switch", **self.conditions), (group,))]

    def watched(self, name: str) -> WatchedPod:
        """As the server has it."""
        found = self.server.pods[name]
        raw = pod(name, cpu=1, scheduler=self.scheduler)
        raw["metadata"] |= found["metadata"]
        raw["spec"] |= {"schedulingGroup": {"podGroupName": "g"}, **found["spec"]}
        return msgspec.convert(raw, WatchedPod)

    # -- what is left in the end -----------------------------------------------------------------------

    def bound(self) -> list[str]:
        return [name for name in self.server.pods if self.server.pods[name]["spec"].get("nodeName")]

    def allocated(self) -> list[str]:
        return sorted(name for name, one in self.server.claims.items() if one["status"].get("allocation"))

    def marked(self) -> list[str]:
        """Claims on which we have left anything at all."""
        found = ((name, one["metadata"]) for name, one in self.server.claims.items())
        return sorted(
            name
            for name, meta in found
            if FINALIZER in meta.get("finalizers", ()) or ALLOCATED_BY in meta.get("annotations", {})
        )

    def reserved(self, claim: str) -> list[str]:
        return [one["name"] for one in self.server.claims[claim]["status"].get("reservedFor", ())]


class Run:
    """One scheduler, from a fresh look at the server on. With a slow watch it hears nothing of its writes."""

    def __init__(
        self, world: World, writer: Writer, policy: Policy, in_flight: int, slow_watch: bool
    ) -> None:
        self.world, self.mirror = world, Mirror("maitred")
        put(self.mirror.state, node("n1", cpu=100))
        group = watched_group("g", world.size)
        meta = msgspec.structs.replace(group.metadata, uid=GROUP_UID)
        self.mirror.put_group(msgspec.structs.replace(group, metadata=meta))
        for name in world.server.pods:
            self.mirror.put_pod(world.watched(name))
        for name, claim in world.server.claims.items():
            self.see(name, claim)
        claims = ClaimWriter(writer, resource_of(ResourceClaim), "maitred")
        self.devices = DevicePreparer(self.mirror, writer, claims, "maitred", in_flight)
        self.repair = ClaimRepair(self.mirror, self.devices)
        self.finished = asyncio.Event()
        self.binder = Binder(
            writer, self.mirror, in_flight, lambda _: self.finished.set(), self.devices, lambda: policy
        )
        if not slow_watch:
            world.server.changed = self.see
            world.server.bound = lambda name: self.mirror.put_pod(world.watched(name))

    def see(self, name: str, claim: dict[str, Any] | None) -> None:
        if claim is None:
            self.mirror.claim_gone(f"default/{name}")
        else:
            self.mirror.put_claim(msgspec.convert(claim, WatchedClaim))

    def order(
        self, names: Sequence[str] = (), claims: Sequence[ClaimAllocation] = (), quorum: int | None = None
    ) -> Order:
        """As the loop makes it of a Plan: the pods are taken as seated from now on."""
        world, chosen = self.world, names or [n for n in self.world.names if n not in self.world.bound()]
        binds = [Bind(f"default/{name}", world.uid(name), "n1", "default/g") for name in chosen]
        for bind in binds:
            assert self.mirror.overlay.assume(bind.pod, bind.uid, bind.node)
        placed = len(self.world.bound()) + len(binds)
        verdict = GroupVerdict("default/g", "Scheduled", world.size, quorum or world.size, placed)
        seating = SeatingRecord(datetime.now(UTC), len(binds), len(binds))
        share = share_of(users(binds, self.mirror.waiting), by_user(claims or world.claims()))
        order = Order(verdict, binds, seating, 0.0, (), share)
        self.binder.send(order)
        self.binder.explained(order, verdict)
        return order

    async def until_settled(self) -> None:
        async with asyncio.timeout(SECONDS):
            await self.finished.wait()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(SECONDS):
            while not condition():
                await asyncio.sleep(0.01)


def play(
    world: World,
    act: Callable[[Run], Any],
    *,
    permit: Mortal | None = None,
    in_flight: int = 8,
    timeout: str = "10m",
    slow_watch: bool = False,
) -> Run:
    """Let a scheduler act until it has, or is killed."""
    policy = Policy(devices=Devices(binding_timeout=timeout))

    async def run() -> Run:
        async with world.server.running() as client:
            found = Run(world, Writer(client, permit or Mortal()), policy, in_flight, slow_watch)
            try:
                async with asyncio.TaskGroup() as tasks:
                    work = tasks.create_task(found.binder.run())
                    await act(found)
                    work.cancel()
            except* NotLeading:
                pass
            return found

    return asyncio.run(run())
