"""Hundreds or thousands of kubelets in one event loop, with one watch for all their pods."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable, Iterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

from maitred.kube.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Client, decoder
from maitred.kube.reflector import Reflector
from maitred.kube.resources import LEASES, NODES, PODS
from maitred.sandbox.kubelets import bodies
from maitred.sandbox.kubelets.api import Api
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.kubelets.kubelet import Kubelet, Pace
from maitred.sandbox.kubelets.objects import Node, Pod, Taint

HEARTBEAT_SECONDS = 15.0
"""Real kubelets renew their lease every 10 s; the node controller gives a node up after 50."""
ROUNDS = 30
"""So many parts the heartbeats of all nodes are spread over, so that they do not come as one burst."""
LEASE_NAMESPACE = "kube-node-lease"
NOT_READY = "node.kubernetes.io/not-ready"
UNREACHABLE = "node.kubernetes.io/unreachable"
BOUND = {"fieldSelector": "spec.nodeName!="}


@asynccontextmanager
async def kubelets(
    client: Client,
    machines: Iterable[Machine],
    *,
    start_seconds: float = 0.05,
    stop_seconds: float = 0.05,
    heartbeat_seconds: float = HEARTBEAT_SECONDS,
    run: bool = True,
) -> AsyncIterator["Fleet"]:
    """Kubelets for these machines, whose nodes are created, or adopted where they exist.

    Without `run` there are nodes and heartbeats, and nobody cares for pods. Nodes stay when this ends.
    """
    failure: BaseException | None = None
    async with asyncio.TaskGroup() as tasks:
        fleet = Fleet(client, tasks, Pace(start_seconds, stop_seconds), heartbeat_seconds)
        try:
            await fleet.start(machines, run)
            yield fleet
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            failure = error  # The group would wrap what is none of its business.
        finally:
            fleet.stop()
    if failure is not None:
        raise failure


class Fleet:
    """The kubelets; see `kubelets`, which makes one."""

    def __init__(
        self, client: Client, tasks: asyncio.TaskGroup, pace: Pace, heartbeat_seconds: float
    ) -> None:
        self._client = client
        self._api = Api(client)
        self._tasks = tasks
        self._running = set[asyncio.Task[None]]()
        self._pace = pace
        self._heartbeat_seconds = heartbeat_seconds
        self._kubelets: dict[str, Kubelet] = {}
        self._node_addresses = addresses("172")
        self._pod_addresses = addresses("10")
        self._desk = Desk(self._kubelets)

    async def start(self, machines: Iterable[Machine], run: bool) -> None:
        async with asyncio.TaskGroup() as adding:
            for machine in machines:
                adding.create_task(self.add(machine))
        self._spawn(self._beat())
        if run:
            nodes = Reflector(self._client, NODES, Node, NodeDesk(self._kubelets))
            pods = Reflector(self._client, PODS, Pod, self._desk, selector=BOUND)
            for reflector in (nodes, pods):
                self._spawn(reflector.run())
            await nodes.synced.wait()
            await pods.synced.wait()
            self._desk.open()

    def stop(self) -> None:
        for task in list(self._running):
            task.cancel()

    async def add(self, machine: Machine) -> None:
        """A node of this name is there and ready, and its kubelet cares for the pods that are bound to it."""
        answer = await self._api.send("POST", NODES.path(), bodies.node(machine))
        created = None if answer is None else decoder(Node).decode(answer)
        if created is None:
            await self._patch_status(machine.name, bodies.node_status(machine))
        node = await self._set_reachable(machine.name, True, created)
        kubelet = Kubelet(
            node, next(self._node_addresses), self._pace, self._api, self._spawn, self._pod_addresses
        )
        self._kubelets[machine.name] = kubelet
        self._desk.welcome(machine.name)

    async def remove(self, name: str) -> None:
        """The node is deleted, and its pods with it as soon as someone collects them."""
        self._kubelets.pop(name).die()
        await self._api.send("DELETE", NODES.path(name=name), {})
        await self._api.send("DELETE", LEASES.path(LEASE_NAMESPACE, name), {})

    async def fail(self, name: str) -> None:
        """The machine is lost. What the node controller would say of it after a while is said at once."""
        self._kubelets[name].die()
        await self._patch_status(name, bodies.readiness(False))
        await self._set_reachable(name, False)

    async def heal(self, name: str) -> None:
        await self._renew(name)
        await self._patch_status(name, bodies.readiness(True))
        self._kubelets[name].node = await self._set_reachable(name, True)
        self._kubelets[name].revive()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self._tasks.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    # -- nodes ---------------------------------------------------------------------------------------------

    async def _set_reachable(self, name: str, reachable: bool, node: Node | None = None) -> Node:
        """By the taints that the node controller would set. Others may write taints meanwhile."""
        lost = [] if reachable else [Taint(UNREACHABLE, effect) for effect in ("NoSchedule", "NoExecute")]
        while True:
            node = node or await self._api.node(name)
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
        for beat in count():
            names = [name for name, kubelet in self._kubelets.items() if kubelet.alive]
            async with asyncio.TaskGroup() as renewing:
                for name in names[beat % ROUNDS :: ROUNDS]:
                    renewing.create_task(self._renew(name))
            await asyncio.sleep(self._heartbeat_seconds / ROUNDS)

    async def _renew(self, name: str) -> None:
        lease = bodies.lease(name)
        path = LEASES.path(LEASE_NAMESPACE, name)
        if await self._api.send("PATCH", path, lease, MERGE_PATCH) is None:
            await self._api.send("POST", LEASES.path(LEASE_NAMESPACE), lease)


class NodeDesk:
    """Tells every kubelet how its node looks to others."""

    def __init__(self, kubelets: dict[str, Kubelet]) -> None:
        self._kubelets = kubelets

    def put(self, node: Node) -> None:
        kubelet = self._kubelets.get(node.metadata.name)
        if kubelet is not None:
            kubelet.node = node

    def gone(self, key: str) -> None:
        """A kubelet does not notice: what it runs, it runs on."""

    def settled(self) -> None:
        """Nothing waits for it."""


class Desk:
    """Hands pods to the kubelets of their nodes."""

    def __init__(self, kubelets: dict[str, Kubelet]) -> None:
        self._kubelets = kubelets
        self._pods: dict[str, Pod] = {}
        self._is_open = False

    def put(self, pod: Pod) -> None:
        self._pods[f"{pod.metadata.namespace}/{pod.metadata.name}"] = pod
        if self._is_open:
            self._hand_over(pod)

    def gone(self, key: str) -> None:
        pod = self._pods.pop(key)
        kubelet = self._kubelets.get(pod.spec.node_name)
        if kubelet is not None:
            kubelet.lose(pod.metadata.uid)

    def settled(self) -> None:
        """Pods are attended to as they arrive."""

    def open(self) -> None:
        """All that was there before is known. A list has no order: what runs already goes first, then age."""
        self._is_open = True
        for pod in sorted(self._pods.values(), key=seniority):
            self._hand_over(pod)

    def welcome(self, node: str) -> None:
        """This node is new; pods may have been bound to it before."""
        for pod in sorted((pod for pod in self._pods.values() if pod.spec.node_name == node), key=seniority):
            self.put(pod)

    def _hand_over(self, pod: Pod) -> None:
        kubelet = self._kubelets.get(pod.spec.node_name)
        if kubelet is not None:
            kubelet.take(pod)


def seniority(pod: Pod) -> tuple[bool, str, str]:
    created = pod.metadata.creation_timestamp
    return pod.status.phase != "Running", created.isoformat() if created else "", pod.metadata.name


def addresses(network: str) -> Iterator[str]:
    """Addresses that look real; nobody is there."""
    for number in count(1):
        yield f"{network}.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
