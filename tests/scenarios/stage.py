"""Where scenarios are played: nodes with kubelets, a namespace, schedulers, and a witness of the laws."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol

from maitred.controllers.health import ProcessHealth
from maitred.controllers.policy import Defaults, PolicySource
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.scheduler import Scheduler
from maitred.controllers.scheduling.term import NOBODY_ELSE, SchedulerSettings, Witnesses
from maitred.kube.client import Client
from maitred.kube.discovery import Served, discover
from maitred.kube.errors import first_of
from maitred.kube.lease import LeaderLease
from maitred.kube.reflector import Reflector
from maitred.kube.resources import (
    BUDGETS,
    LEASES,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
)
from maitred.model.devices.claims import ResourceClaim, ResourceClaimTemplate
from maitred.model.devices.classes import DeviceClass
from maitred.model.devices.slices import ResourceSlice
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.kubelets.fleet import LEASE_NAMESPACE, Fleet, kubelets
from maitred.verify import verify
from tests.scenarios.api import DEADLINE_SECONDS, Api, eventually
from tests.scenarios.dialect import JOBS, Dialect, dialect_of
from tests.scenarios.line import Journal, Line, Trouble, never
from tests.scenarios.observer import Observer, SeenPod
from tests.scenarios.server import Server

DEVICE_KINDS = (DeviceClass, ResourceSlice, ResourceClaim, ResourceClaimTemplate)
SETTINGS = SchedulerSettings(complete_within_seconds=1.0)
SYSTEM_NAMESPACE = "maitred-system"


class Step(Protocol):
    async def play(self, stage: "Stage") -> None: ...


@dataclass(frozen=True, slots=True)
class Scenario:
    """Objects, steps, expectations. It starts on an empty cluster that has only these nodes."""

    title: str
    nodes: Sequence[Machine]
    steps: Sequence[Step]
    only: frozenset[str] = frozenset()
    """Versions of the group API where this can happen at all; empty: everywhere, also where there is none."""
    overcommit: bool = False
    """Others fill the nodes while we bind, so kubelets will refuse some of our pods."""
    settings: SchedulerSettings = SETTINGS
    stop_seconds: float = 0.0
    """How long pods take to leave; those with less grace less."""


Act = Callable[["Stage"], Awaitable[None]]
Policies = Callable[[Client], PolicySource]


class Dead(Trouble):
    """A process that was killed: it sends nothing, and hears nothing."""

    async def request(self, verb: str, path: str, send: object) -> bytes:
        return await never()


class Actor:
    """One scheduler of ours in this process. It can be stopped, and it can crash."""

    def __init__(
        self,
        server: Server,
        settings: SchedulerSettings,
        trouble: Trouble,
        source: Policies,
        lease: str = "",
        speed: float = 1.0,
        witnesses: Witnesses = NOBODY_ELSE,
    ) -> None:
        """`lease`: the name of the one that it leads by, if it needs one. `speed`: how fast its time runs."""
        self.line = Line(server.scheduler(), Journal())
        self.line.trouble = trouble
        self.health = ProcessHealth()
        self.metrics = Metrics()
        self._settings = settings
        self._source = source
        self._lease = lease
        self._speed = speed
        self._witnesses = witnesses
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self, tasks: asyncio.TaskGroup) -> None:
        self._task = tasks.create_task(self._run())

    async def _run(self) -> None:
        async with self.line as client:
            scheduler = Scheduler(
                client,
                self._source(client),
                self._settings,
                lease=self._leader_lease(client) if self._lease else None,
                instance="scenario",
                metrics=self.metrics,
                health=self.health,
                witnesses=self._witnesses,
            )
            await scheduler.run(self._stop)

    def _leader_lease(self, client: Client) -> LeaderLease:
        clock = asyncio.get_running_loop().time
        return LeaderLease(client, SYSTEM_NAMESPACE, self._lease, clock=lambda: clock() * self._speed)

    async def stop(self) -> None:
        """As asked to by a signal."""
        self._stop.set()
        await self._ended()

    async def crash(self) -> None:
        """As killed: whatever it would still do, the server does not hear of it."""
        assert self._task is not None
        self.line.trouble = Dead()
        self._task.cancel()
        await self._ended()

    async def _ended(self) -> None:
        assert self._task is not None
        _, running = await asyncio.wait({self._task}, timeout=DEADLINE_SECONDS)
        assert not running, "the scheduler does not end"


@dataclass(slots=True)
class Stage:
    server: Server
    api: Api
    served: Served
    scenario: Scenario
    fleet: Fleet
    observer: Observer
    tasks: asyncio.TaskGroup
    machines: dict[str, Machine]
    actors: dict[str, Actor] = field(default_factory=dict)
    """Schedulers that run, by name; most scenarios have one, the first."""
    journals: list[Journal] = field(default_factory=list)
    """Of all schedulers that there were."""

    @property
    def dialect(self) -> Dialect:
        return dialect_of(self.served)

    async def play(self, *steps: Step) -> None:
        for number, step in enumerate(steps, start=1):
            try:
                await step.play(self)
            except AssertionError as error:
                raise AssertionError(f"step {number}, {step}: {error}\n{self.picture()}") from None

    def start(
        self,
        name: str = "first",
        *,
        trouble: Trouble | None = None,
        settings: SchedulerSettings | None = None,
        source: Policies = lambda _: Defaults(),
        lease: str = "",
        speed: float = 1.0,
        witnesses: Witnesses = NOBODY_ELSE,
    ) -> Actor:
        actor = self.actors[name] = Actor(
            self.server,
            settings or self.scenario.settings,
            trouble or Trouble(),
            source,
            lease,
            speed,
            witnesses,
        )
        self.journals.append(actor.line.journal)
        actor.start(self.tasks)
        return actor

    async def stop(self) -> None:
        for name in list(self.actors):
            await self.actors.pop(name).stop()

    def pods(self, names: Iterable[str]) -> list[SeenPod]:
        return [pod for name in names if (pod := self.observer.pods.get(name)) is not None]

    def picture(self) -> str:
        """All pods, for whoever has to find out what went wrong."""
        return "\n".join(
            f"  {name}: {pod.spec.node_name or '-'} {pod.status.phase} {pod.status.reason}"
            f" {pod.told.message if pod.told and not pod.spec.node_name else ''}"
            for name, pod in sorted(self.observer.pods.items())
        )

    # -- the end -------------------------------------------------------------------------------------------

    async def check_laws(self) -> None:
        """On what the server holds, once the kubelets have said what they think of it."""
        await eventually(lambda: f"not yet running: {self.observer.starting}" * bool(self.observer.starting))
        resources = [NODES, PODS, VOLUMES, VOLUME_CLAIMS, STORAGE_CLASSES, PRIORITY_CLASSES]
        if self.served.groups is not None:
            resources.append(self.served.groups)
        resources += [self.served.resources[kind] for kind in DEVICE_KINDS if kind in self.served.resources]
        objects = [item for resource in resources for item in await self.api.list(resource)]
        breaches = [f"{b.name}: {b.subject}: {b.message}" for b in verify(objects, None, scheduler="maitred")]
        assert not breaches, f"{breaches}\n{self.picture()}"
        assert not self.observer.moved, self.observer.moved
        assert self.scenario.overcommit or not self.observer.refused, self.observer.refused
        forbidden = [answer for journal in self.journals for answer in journal.forbidden]
        assert not forbidden, forbidden

    async def clear(self) -> None:
        """Nothing of the scenario stays but a namespace that is on its way out."""
        await self.api.delete_all(JOBS)
        for resource in (PODS, VOLUME_CLAIMS, BUDGETS):
            await self.api.delete_all(resource)
        for resource in (VOLUMES, STORAGE_CLASSES):
            for item in await self.api.list(resource):
                await self.api.delete(resource, item["metadata"]["name"])
        await eventually(self._pods_left)
        if self.served.groups is not None:
            await self.api.delete_all(self.served.groups)
        for rank in await self.api.list(PRIORITY_CLASSES):
            if not rank["metadata"]["name"].startswith("system-"):
                await self.api.delete(PRIORITY_CLASSES, rank["metadata"]["name"])
        for name in self.machines:
            await self.api.delete(NODES, name)
            await Api(self.api.client, LEASE_NAMESPACE).delete(LEASES, name)
        await self.api.delete(NAMESPACES, self.api.namespace)

    async def _pods_left(self) -> str:
        left = [pod["metadata"]["name"] for pod in await self.api.list(PODS)]
        for name in left:
            await self.api.delete(PODS, name)
        return ", ".join(left)


@asynccontextmanager
async def stage(server: Server, scenario: Scenario) -> AsyncIterator[Stage]:
    """Set for the scenario, without a scheduler; at the end the laws are checked and all is cleared."""
    namespace = f"scenario-{secrets.token_hex(4)}"
    async with Client(server.admin()) as admin:
        api, observer = Api(admin, namespace), Observer()
        served = await discover(admin)
        await api.create(NAMESPACES, {"metadata": {"name": namespace}})
        witness = Reflector(admin, PODS, SeenPod, observer, namespace=namespace)
        async with (
            asyncio.TaskGroup() as tasks,
            kubelets(admin, scenario.nodes, stop_seconds=scenario.stop_seconds) as fleet,
        ):
            watching = tasks.create_task(witness.run())
            await witness.synced.wait()
            machines = {machine.name: machine for machine in scenario.nodes}
            set_stage = Stage(server, api, served, scenario, fleet, observer, tasks, machines)
            try:
                yield set_stage
                await set_stage.check_laws()
            finally:
                await set_stage.stop()
                await set_stage.clear()
                watching.cancel()


def play(server: Server, scenario: Scenario, act: Act | None = None) -> None:
    """The whole scenario with one scheduler that is there from the beginning; or an act of its own."""

    async def run() -> None:
        async with stage(server, scenario) as ready:
            if act is not None:
                await act(ready)
            else:
                ready.start()
                await ready.play(*scenario.steps)

    try:
        asyncio.run(run())
    except ExceptionGroup as errors:
        # One failure is the cause of all others, and its trace is easier to read alone.
        raise first_of(errors) from None
