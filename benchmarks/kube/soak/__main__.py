"""`python -m benchmarks.kube.soak --minutes 60`: mixed priorities on a real server, beside kube-scheduler.

Exits with 0 if nothing was wrong from the first minute to the last. Dumps that show what was wrong are kept.
"""

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from benchmarks.figures import say
from benchmarks.kube.bodies import GROUPS
from benchmarks.kube.cluster import ROLE_BINDINGS, rights
from benchmarks.kube.contenders import started_maitred
from benchmarks.kube.soak.dumps import Dumps, every
from benchmarks.kube.soak.history import Jobs, Pods, SeenPod
from benchmarks.kube.soak.judge import Judge
from benchmarks.kube.soak.load import (
    NAMESPACE,
    PRIORITIES,
    WISHES,
    Arrival,
    Json,
    Load,
    Wish,
    machines,
    settings,
)
from maitred.kube.client import Client, encode
from maitred.kube.discovery import discover
from maitred.kube.errors import ApiError, first_of
from maitred.kube.reflector import Reflector
from maitred.kube.resources import JOBS, NAMESPACES, PODS, Resource
from maitred.kube.wire import WatchedJob
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.companions import Companions, companions
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.controlplane.versions import RELEASES
from maitred.sandbox.kubelets.fleet import kubelets

RELEASE = RELEASES["1.37.1"]
STOP_SECONDS = 5.0
"""Pods take their whole grace period to leave, which is 5 s at most."""
LOOK_SECONDS, DUMP_SECONDS, TELL_SECONDS, SWEEP_SECONDS = 5.0, 30.0, 60.0, 20.0
DRAIN_SECONDS = 900.0
AT_ONCE = {"gracePeriodSeconds": 0}


class Soak:
    def __init__(self, client: Client, dumps: Dumps, seed: int) -> None:
        self.client = client
        self.pods, self.jobs = Pods(), Jobs()
        self.judge = Judge(self.pods, self.jobs)
        self.load = Load(seed)
        self.dumps = dumps
        self.came = 0
        self.open = True
        self.began = time.monotonic()

    async def start(self, others: Companions) -> None:
        watches = (
            Reflector(self.client, PODS, SeenPod, self.pods, namespace=NAMESPACE),
            Reflector(self.client, JOBS, WatchedJob, self.jobs, namespace=NAMESPACE),
        )
        for watch in watches:
            others.start(watch.run())
        for watch in watches:
            await watch.synced.wait()
        for wish in WISHES:
            others.start(self._come(wish))
        others.start(every(LOOK_SECONDS, self._look))
        others.start(every(DUMP_SECONDS, self._dump))
        others.start(every(TELL_SECONDS, self._tell))
        others.start(every(SWEEP_SECONDS, self._sweep))

    async def _come(self, wish: Wish) -> None:
        while True:
            pause, arrival = self.load.next(wish)
            await asyncio.sleep(pause)
            while self.open and self._waiting(wish) >= wish.most_waiting:
                await asyncio.sleep(1.0)
            if not self.open:
                return
            await self._create(arrival)

    def _waiting(self, wish: Wish) -> int:
        return len(self.pods.waiting(wish.name) | set(self.jobs.waiting(wish.name)))

    async def _create(self, arrival: Arrival) -> None:
        self.came += 1
        made = await self._post(arrival.resource, arrival.body)
        if arrival.group is not None:
            owner = {"apiVersion": "batch/v1", "kind": "Job", "controller": True, "name": arrival.name}
            owner["uid"] = made["metadata"]["uid"]
            arrival.group["metadata"]["ownerReferences"] = [owner]
            await self._post(GROUPS, arrival.group)

    async def _post(self, resource: Resource, body: Json) -> Json:
        answer = await self.client.request("POST", resource.path(NAMESPACE), body=encode(body))
        return dict(msgspec.json.decode(answer))

    async def _look(self) -> None:
        for breach in self.judge.look():
            say(f"  BROKEN {breach}")

    async def _dump(self) -> None:
        for breach in self.judge.note(await self.dumps.take()):
            say(f"  BROKEN {breach}")

    async def _sweep(self) -> None:
        """Lone pods that have finished have nobody else to clear them away."""
        for pod in list(self.pods.here.values()):
            if pod.status.phase in ("Succeeded", "Failed") and not pod.metadata.owner_references:
                await self._delete(PODS.path(NAMESPACE, pod.metadata.name))

    async def _delete(self, path: str) -> None:
        try:
            await self.client.request("DELETE", path, body=encode(AT_ONCE))
        except ApiError as error:
            if not error.is_gone:
                raise

    async def _tell(self) -> None:
        minutes = (time.monotonic() - self.began) / 60
        say(f"  {minutes:3.0f} min: {self.figures()}")

    def figures(self) -> str:
        tasks = self.jobs.tasks.values()
        rounds = [len(moments) for moments in self.pods.pairs.values()]
        return (
            f"{self.came:,} arrivals, {len(self.pods.evictions):,} pods evicted for "
            f"{len(self.pods.groups):,} groups, {sum(task.suspensions for task in tasks):,} suspensions, "
            f"{len(self.jobs.suspended())} suspended now, {self.judge.races} lost races, "
            f"the same for the same {max(rounds, default=0)} times at most, "
            f"{self.dumps.taken} dumps, {len(self.judge.breaches)} breaches"
        )

    async def drain(self) -> None:
        """Nobody comes any more, and everyone must come to an end."""
        self.open = False
        deadline = time.monotonic() + DRAIN_SECONDS
        while self.judge.left_over() and time.monotonic() < deadline:
            await asyncio.sleep(1.0)
        self.judge.note([*self.judge.look(), *self.judge.left_over(), *self.judge.failed()])

    def report(self) -> str:
        names = {value: name for name, value in PRIORITIES.items()}
        lines = [self.figures()]
        for priority, waits in sorted(self.pods.waits.items()):
            half, most = statistics.median(waits), max(waits)
            bound = f"{names[priority]}: {len(waits):,} pods bound"
            lines.append(f"{bound}, half of them after {half:.1f} s, all after {most:.1f} s")
        return "\n".join([*lines, *(f"BROKEN {breach}" for breach in self.judge.breaches)])


async def soak(minutes: float, seed: int, folder: Path) -> list[str]:
    with (
        ControlPlane(RELEASE, say=say) as plane,
        plane.controller_manager(),
        plane.kube_scheduler(),
        started_maitred(plane) as running,
    ):
        async with Client(plane.connection(ADMIN)) as client:
            await client.request("POST", NAMESPACES.path(), body=encode({"metadata": {"name": NAMESPACE}}))
            await client.request("POST", ROLE_BINDINGS.path(), body=encode(rights()))
            for path, body in settings():
                await client.request("POST", path, body=encode(body))
            running.wait_for("/readyz", lambda line: line == "leading")
            dumps = Dumps(client, await discover(client), folder, time.monotonic)
            async with kubelets(client, machines(), stop_seconds=STOP_SECONDS), companions() as others:
                played = Soak(client, dumps, seed)
                await played.start(others)
                await asyncio.sleep(minutes * 60)
                await played.drain()
        print(played.report())
    return played.judge.breaches


def main() -> int:
    arguments = options()
    folder = arguments.keep or Path(tempfile.mkdtemp(prefix="soak-"))
    say(f"soak: {arguments.minutes:g} minutes, seed {arguments.seed}; dumps of breaches go to {folder}")
    try:
        breaches = asyncio.run(soak(arguments.minutes, arguments.seed, folder))
    except ExceptionGroup as errors:
        raise first_of(errors) from None
    return int(bool(breaches))


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kube.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0, metavar="COUNT", help="without it 60")
    parser.add_argument("--seed", type=int, default=1, metavar="NUMBER", help="of who comes; without it 1")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="where dumps of breaches go; it must exist")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
