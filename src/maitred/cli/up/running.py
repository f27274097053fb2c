"""One evening of the sandbox: everything is put together, and taken apart again when it ends."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from maitred.cli.garbage_collection import expect_much_to_stay
from maitred.cli.manifest import NAMESPACE
from maitred.cli.manifest import objects as installed
from maitred.cli.up.answering import answering
from maitred.cli.up.showing import FloorDisplay, showing
from maitred.controllers.answers.backlog import Backlog
from maitred.controllers.bookkeeping import Keeping
from maitred.controllers.health import ProcessHealth
from maitred.controllers.policy import PolicyFile, PolicyKeeper, PolicySource
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.scheduler import Scheduler
from maitred.controllers.scheduling.term import SchedulerSettings, Witnesses
from maitred.kube.client import Client
from maitred.kube.connect import connect
from maitred.kube.errors import KubeError
from maitred.kube.lease import LeaderLease
from maitred.ledger.store import Ledger
from maitred.model.manifest import InputError
from maitred.model.policy import Level, Policy, Topology
from maitred.model.world import BLOCK, RACK, World
from maitred.sandbox.access import Access, embedded, real
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.housekeeping.controllers import housekeeping
from maitred.sandbox.kubeconfig import token_of_ours
from maitred.sandbox.kubelets.fleet import kubelets_of_marked_nodes
from maitred.sandbox.place import MARKER, MARKER_NAMESPACE, SCHEDULER, sandbox_kubeconfig_path
from maitred.sandbox.users import MAITRED
from maitred.sandbox.world import devices, nodes
from maitred.sandbox.world.layout import machines
from maitred.sandbox.world.objects import Json, WorldObjects
from maitred.sandbox.world.operators import definitions
from maitred.sandbox.world.player import Player
from maitred.sandbox.world.story import Story
from maitred.sandbox.world.watcher import WorldWatcher, watching

LEDGER_DAYS = 1
RENEW_SECONDS = 3.0
"""Numbers in messages are newer than in a cluster: people look at them beside the floor."""
RIGHTS = ("Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
"""What of an installation there must be for a scheduler that runs here, and not in a pod."""


@dataclass(frozen=True, slots=True)
class Evening:
    world: World
    story: Story | None
    policy: str | None
    """The file; without one, the levels of the world are all that the scheduler is told."""
    kubeconfig: Path
    """Where to write it."""

    @property
    def next_verb(self) -> str:
        """A story of ours needs the usual world, and the floor to itself."""
        if self.story is not None:
            return "drain rack=r2"
        return "load two-gangs" if self.world == World() else "stories"


class LevelsOf:
    """A policy that names the levels of a world, so that messages say `rack r1`."""

    def __init__(self, world: World) -> None:
        levels = (Level(BLOCK.name, world.levels.block), Level(RACK.name, world.levels.rack))
        self._policy = Policy(topology=Topology(levels=levels))

    async def run(self, keeper: PolicyKeeper) -> None:
        keeper.offer(msgspec.json.encode(self._policy), "the levels of the world")


async def run(evening: Evening, plane: ControlPlane | None) -> None:
    """Until it is interrupted."""
    if plane is None:
        expect_much_to_stay()
    stop = asyncio.Event()
    for number in endings():
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        access = real(plane) if plane else await stack.enter_async_context(embedded())
        admin = await stack.enter_async_context(Client(access.connection(ADMIN)))
        await furnish(WorldObjects(admin), evening.world)
        if not access.brings_controllers:
            for body in definitions():
                await WorldObjects(admin).apply(body)
            await stack.enter_async_context(housekeeping(admin))
        await stack.enter_async_context(kubelets_of_marked_nodes(admin))
        await stack.enter_async_context(written(access, evening.kubeconfig))
        await attend(evening, access, admin, stop)


async def attend(evening: Evening, access: Access, admin: Client, stop: asyncio.Event) -> None:
    """The scheduler, the story and the view, each until the end."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(Client(access.connection(MAITRED)))
        keeping = stack.enter_context(ledger_of_one_evening())
        metrics, backlog = Metrics(), Backlog()
        seating = scheduler(client, evening, keeping, backlog, metrics)
        watcher = await stack.enter_async_context(watching(admin, seating.last_verdicts))
        stage = stack.enter_context(showing(watcher, evening.kubeconfig, access.url, evening.next_verb))
        await stack.enter_async_context(answering(access, admin, backlog, keeping, metrics))
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        scheduling = tasks.create_task(seating.run(stop))
        others = [tasks.create_task(while_open(stage.run, stop))]
        if evening.story is not None:
            playing = partial(play, evening.story, admin, watcher, stage)
            others.append(tasks.create_task(while_open(playing, stop)))
        await stop.wait()
        for task in others:
            task.cancel()
        await scheduling


def endings() -> Iterator[int]:
    """Signals that end it: also the end of its terminal, unless it was started to outlive that (nohup)."""
    yield from (signal.SIGTERM, signal.SIGINT)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is not signal.SIG_IGN:
            yield number


async def while_open(work: Callable[[], Coroutine[Any, Any, None]], stop: asyncio.Event) -> None:
    """Whoever closes the terminal or the pipe that it writes to has seen enough.

    The work begins in here: a task that is cancelled before its first step must leave no coroutine behind.
    """
    try:
        await work()
    except OSError:
        stop.set()


async def play(story: Story, client: Client, watcher: WorldWatcher, stage: FloorDisplay) -> None:
    """A story that goes wrong is no reason to close: people may have broken a node that it needed."""
    try:
        await Player(client, watcher, stage.say).play(story, keep=True)  # It all goes when this ends.
    except KubeError as error:
        stage.say(f"the story stopped: {error}")


@contextmanager
def ledger_of_one_evening() -> Iterator[Keeping]:
    with TemporaryDirectory(prefix="maitred-", ignore_cleanup_errors=True) as folder:
        yield Keeping(Ledger(str(Path(folder) / "ledger.db")), LEDGER_DAYS)


def scheduler(
    client: Client, evening: Evening, keeping: Keeping, backlog: Backlog, metrics: Metrics
) -> Scheduler:
    source: PolicySource = (
        PolicyFile(os.path.abspath(evening.policy)) if evening.policy else LevelsOf(evening.world)
    )
    lease = LeaderLease(client, NAMESPACE, SCHEDULER)
    return Scheduler(
        client,
        source,
        SchedulerSettings(scheduler=SCHEDULER, namespace=NAMESPACE, renew_seconds=RENEW_SECONDS),
        lease=lease,
        instance=lease.identity,
        metrics=metrics,
        health=ProcessHealth(),
        witnesses=Witnesses(backlog=backlog, ledger=keeping),
    )


async def furnish(objects: WorldObjects, world: World) -> None:
    """The rights of the scheduler, the sign that this is a sandbox, the nodes, and their devices."""
    for body in installed("base"):
        if body["kind"] in RIGHTS:
            await objects.apply(body)
    await objects.apply(sign())
    await nodes.create(objects, machines(world))
    if world.devices:
        await devices.publish(objects, world, await nodes.simulated(objects))


def sign() -> Json:
    meta = {"name": MARKER, "namespace": MARKER_NAMESPACE}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"startedBy": "maitred up"}}


@asynccontextmanager
async def written(access: Access, path: Path) -> AsyncIterator[None]:
    """The kubeconfig is there for as long as what it leads to."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        access.write_kubeconfig(path)
    except OSError as error:
        raise KubeError(
            f"the kubeconfig cannot be written to {path}: {error.strerror}; name another file with "
            f"--kubeconfig FILE"
        ) from None
    try:
        yield
    finally:
        access.remove_kubeconfig(path)
        if path == sandbox_kubeconfig_path():
            with suppress(OSError):  # something else is in it
                path.parent.rmdir()


async def make_room(path: Path) -> None:
    """What a sandbox left behind when it was killed is removed, and nothing else.

    Raises InputError if the file is someone else's, and KubeError if its sandbox is up.
    """
    if not os.path.lexists(path):
        return
    if token_of_ours(path) is None:
        what = "exists already and was not written by a sandbox; name another file with --kubeconfig FILE"
        raise InputError(str(path), "", "", what)
    try:
        async with Client(connect(str(path))) as client:
            await client.request("GET", "/version", seconds=2.0)
    except KubeError:
        path.unlink(missing_ok=True)
        return
    raise KubeError(
        f"a sandbox is running already, its kubeconfig is {path}; stop it with Ctrl-C in its terminal, "
        f"or name another file for the kubeconfig of this one with --kubeconfig FILE"
    )
