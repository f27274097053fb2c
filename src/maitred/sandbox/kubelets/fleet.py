"""Hundreds or thousands of kubelets in one event loop, with one watch for all their pods."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from itertools import count

from maitred.kube.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Client, decoder
from maitred.kube.reflector import Reflector, Sink
from maitred.kube.resources import LEASES, NODES, PODS
from maitred.model.node import NOT_READY, UNREACHABLE, Taint
from maitred.sandbox.companions import Companions, companions
from maitred.sandbox.housekeeping.work import all_of
from maitred.sandbox.kubelets import bodies
from maitred.sandbox.kubelets.adoption import Adoption, NodeGone
from maitred.sandbox.kubelets.api import KubeletApi
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.kubelets.devices import PreparedDevices
from maitred.sandbox.kubelets.handlers import NodeHandler, PodHandler
from maitred.sandbox.kubelets.kubelet import Kubelet, KubeletPace
from maitred.sandbox.kubelets.marks import is_faulty
from maitred.sandbox.kubelets.objects import Node, Pod

log = logging.getLogger(__name__)

HEARTBEAT_SECONDS = 15.0
"""Real kubelets renew their lease every 10 s; the node controller gives a node up after 50."""
ROUNDS = 30
"""So many parts the heartbeats of all nodes are spread over, so that they do not come as one burst."""
LEASE_NAMESPACE = "kube-node-lease"
START_SECONDS = STOP_SECONDS = 0.05
BOUND = {"fieldSelector": "spec.nodeName!="}


@asynccontextmanager
async def kubelets(
    client: Client,
    machines: Iterable[Machine],
    *,
    start_seconds: float = START_SECONDS,
    stop_seconds: float = STOP_SECONDS,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
    run: bool = True,
) -> AsyncIterator["Fleet"]:
    """Kubelets for these machines, whose nodes are created, or adopted where they exist.

    Without `run` there are nodes and heartbeats, and nobody cares for pods. Nodes stay when this ends.
    """
    async with fleet(client, KubeletPace(start_seconds, stop_seconds), heartbeat_seconds) as made:
        await made.start(machines, run)
        yield made


@asynccontextmanager
async def kubelets_of_marked_nodes(
    client: Client,
    *,
    start_seconds: float = START_SECONDS,
    stop_seconds: float = STOP_SECONDS,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
) -> AsyncIterator["Fleet"]:
    """Kubelets for all nodes that have the mark, as they come and go; see `marks`."""
    async with fleet(client, KubeletPace(start_seconds, stop_seconds), heartbeat_seconds) as made:
        await made.follow()
        yield made


@asynccontextmanager
async def fleet(client: Client, pace: KubeletPace, heartbeat_seconds: float) -> AsyncIterator["Fleet"]:
    async with companions() as others:
        yield Fleet(client, others, pace, heartbeat_seconds)


class Fleet:
    """The kubelets; see `kubelets` and `kubelets_of_marked_nodes`, which make one."""

    def __init__(
        self, client: Client, others: Companions, pace: KubeletPace, heartbeat_seconds: float
    ) -> None:
        self._client = client
        self._api = KubeletApi(client)
        # Signs of life do not queue behind thousands of pods that start: their nodes would be given up.
        self._pulse = KubeletApi(client)
        self._spawn = others.start
        self._pace = pace
        self._heartbeat_seconds = heartbeat_seconds
        self._devices = PreparedDevices(self._api)
        self._kubelets: dict[str, Kubelet] = {}
        self._node_addresses = addresses("172")
        self._pod_addresses = addresses("10")
        self._pod_handler = PodHandler(self._kubelets)

    async def start(self, machines: Iterable[Machine], run: bool) -> None:
        async with asyncio.TaskGroup() as adding:
            for machine in machines:
                adding.create_task(self.add(machine))
        self._spawn(self._beat())
        if run:
            await self._watch(NodeHandler(self._kubelets))

    async def follow(self) -> None:
        """Nodes that are there have a kubelet soon, not at once."""
        self._spawn(self._beat())
        await self._watch(Adoption(self, self._spawn))

    def kubelet(self, name: str) -> Kubelet | None:
        return self._kubelets.get(name)

    async def add(self, machine: Machine) -> None:
        """A node of this name is there and ready, and its kubelet cares for the pods that are bound to it."""
        answer = await self._api.send("POST", NODES.path(), bodies.node(machine))
        created = None if answer is None else decoder(Node).decode(answer)
        if created is None:
            await self._patch_status(machine.name, bodies.node_status(machine))
        self._employ(await self._set_reachable(machine.name, True, created))

    async def remove(self, name: str) -> None:
        """The node is deleted, and its pods with it as soon as someone collects them."""
        await self._api.send("DELETE", NODES.path(name=name), {})
        await self.dismiss(name)

    async def adopt(self, node: Node) -> None:
        """A node that others have made gets a kubelet; a dead one, if it has a fault."""
        if is_faulty(node.metadata):
            self._employ(await self._set_lost(node.metadata.name)).die()
        else:
            self._employ(await self._set_ready(node))

    async def dismiss(self, name: str) -> None:
        """There is no such node any more."""
        self._kubelets.pop(name).die()
        await self._api.send("DELETE", LEASES.path(LEASE_NAMESPACE, name), {})

    async def fail(self, name: str) -> None:
        """The machine is lost. What the node controller would say of it after a while is said at once."""
        self._kubelets[name].die()
        await self._set_lost(name)

    async def heal(self, name: str) -> None:
        kubelet = self._kubelets[name]
        await self._renew(name)
        await self._patch_status(name, bodies.adopted_status(kubelet.node.status.allocatable))
        kubelet.node = await self._set_reachable(name, True)
        kubelet.revive()

    async def refresh(self, name: str) -> None:
        """A node that others gave up is alive all the same."""
        await self._renew(name)
        self._kubelets[name].node = await self._set_ready(self._kubelets[name].node)

    def _employ(self, node: Node) -> Kubelet:
        kubelet = Kubelet(
            node,
            next(self._node_addresses),
            self._pace,
            self._api,
            self._spawn,
            self._pod_addresses,
            self._devices,
        )
        self._kubelets[node.metadata.name] = kubelet
        self._pod_handler.welcome(node.metadata.name)
        return kubelet

    async def _watch(self, nodes: Sink[Node]) -> None:
        watches = (
            Reflector(self._client, NODES, Node, nodes),
            Reflector(self._client, PODS, Pod, self._pod_handler, selector=BOUND),
        )
        for watch in watches:
            self._spawn(watch.run())
        for watch in watches:
            await watch.synced.wait()
        self._pod_handler.open()

    # -- nodes ---------------------------------------------------------------------------------------------

    async def _set_ready(self, node: Node) -> Node:
        """What already is as it should be is not written: a world has thousands of nodes."""
        name, status = node.metadata.name, node.status
        if not (status.is_ready and "pods" in status.allocatable):
            await self._patch_status(name, bodies.adopted_status(status.allocatable))
        elif all(taint.key not in (NOT_READY, UNREACHABLE) for taint in node.spec.taints):
            return node
        return await self._set_reachable(name, True)

    async def _set_lost(self, name: str) -> Node:
        await self._patch_status(name, bodies.readiness(False))
        return await self._set_reachable(name, False)

    async def _set_reachable(self, name: str, reachable: bool, node: Node | None = None) -> Node:
        """By the taints that the node controller would set. Others may write taints meanwhile."""
        lost = [] if reachable else [Taint(UNREACHABLE, "NoSchedule"), Taint(UNREACHABLE, "NoExecute")]
        while True:
            node = node or await self._api.node(name)
            if node is None:
                raise NodeGone(name)
            others = [taint for taint in node.spec.taints if taint.key not in (NOT_READY, UNREACHABLE)]
            version = {"resourceVersion": node.metadata.resource_version}
            body = {"metadata": version, "spec": bodies.taints(others + lost)}
            answer = await self._api.send("PATCH", NODES.path(name=name), body, MERGE_PATCH)
            if answer is not None:
                return decoder(Node).decode(answer)
            node = None

    async def _patch_status(self, name: str, status: bodies.Json) -> None:
        path = NODES.path(name=name, subresource="status")
        await self._api.send("PATCH", path, {"status": status}, STRATEGIC_MERGE_PATCH)

    async def _beat(self) -> None:
        """By the clock: on a busy machine a pause after each round would leave nodes without for too long."""
        clock = asyncio.get_running_loop().time
        due = clock()
        for beat in count():
            names = [name for name, kubelet in self._kubelets.items() if kubelet.alive]
            refused = await all_of(self._renew, names[beat % ROUNDS :: ROUNDS])
            if refused is not None:
                log.warning("a heartbeat of a node was refused: %.400s", refused)
            due = max(due + self._heartbeat_seconds / ROUNDS, clock())
            await asyncio.sleep(due - clock())

    async def _renew(self, name: str) -> None:
        lease = bodies.lease(name)
        path = LEASES.path(LEASE_NAMESPACE, name)
        if await self._pulse.send("PATCH", path, lease, MERGE_PATCH) is None:
            await self._pulse.send("POST", LEASES.path(LEASE_NAMESPACE), lease)


def addresses(network: str) -> Iterator[str]:
    """Addresses that look real; nobody is there."""
    for number in count(1):
        yield f"{network}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
