"""One case: pods of low priority have all GPUs, and a gang comes for which a tenth of them must leave."""

import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from benchmarks.figures import say
from benchmarks.kube.bodies import GROUPS, NODE_GPUS, Body, body, node_name
from benchmarks.kube.checks import Places, WrongError
from benchmarks.kube.cluster import collect_garbage, create, delete, in_parallel, placements
from benchmarks.kube.contenders import KUBE_SCHEDULER, MAITRED, SCHEDULER_NAMES, scheduler
from benchmarks.kube.kubelets import kubelets
from benchmarks.kube.race import Size, together
from benchmarks.kube.usage import Usage, forget_peak, until_idle, used_by
from benchmarks.kube.witness import Witness, witness
from benchmarks.objects import Obj, Template, job_pod, pod_group
from maitred.kube.client import MERGE_PATCH, Client, encode
from maitred.kube.resources import NODES, PODS, PRIORITY_CLASSES
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.process import Process
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.kubelets.marks import KUBELET, SIMULATED

LIMIT_SECONDS = 300.0
URGENT, VICTIM, PREEMPTOR = "urgent", "filler", "urgent-gang"
MEMBER = Template(cpu="64", memory="512Gi", gpus=NODE_GPUS)


@dataclass(frozen=True, slots=True)
class Eviction:
    """What came of one scheduler once. Times are in seconds since the last member was created."""

    first_eviction: float
    last_eviction: float
    last_bind: float
    evicted: int
    bound: int
    own: Usage


@dataclass(frozen=True, slots=True)
class Evictions:
    """Both schedulers in one case."""

    nodes: int
    runs: dict[str, list[Eviction]]

    @property
    def members(self) -> int:
        return gang_size(self.nodes)

    def mean(self, name: str, what: Callable[[Eviction], float]) -> float:
        return statistics.mean(map(what, self.runs[name]))

    def evicted(self, name: str) -> int:
        return max(run.evicted for run in self.runs[name])

    def own(self, name: str) -> Usage | None:
        return together([run.own for run in self.runs[name]])


def gang_size(nodes: int) -> int:
    return max(1, nodes // 10)


async def race_evictions(plane: ControlPlane, size: Size) -> Evictions:
    """One after the other on the same nodes, which are filled up again in between."""
    runs = defaultdict[str, list[Eviction]](list)
    async with Client(plane.connection(ADMIN)) as client:
        await client.request("POST", PRIORITY_CLASSES.path(), body=encode(urgency()))
        await in_parallel(partial(ask_for_kubelet, client), range(size.nodes))
        with kubelets(plane) as nodes, witness(plane) as seen:
            for name in (MAITRED, KUBE_SCHEDULER) * size.rounds:
                await fill(client, size.nodes)
                await until_idle(nodes.pid, seen.changes)
                runs[name].append(await once(plane, client, seen, nodes, size.nodes, name))
    return Evictions(size.nodes, dict(runs))


async def ask_for_kubelet(client: Client, number: int) -> None:
    mark = encode({"metadata": {"labels": {KUBELET: SIMULATED}}})
    path = NODES.path(name=node_name(number))
    await client.request("PATCH", path, body=mark, content_type=MERGE_PATCH)


async def fill(client: Client, nodes: int) -> None:
    """As many one-GPU pods as there are GPUs, each on its node."""
    there = await placements(client)
    await create(client, (pod for pod in victims(nodes) if pod.name not in there))


async def once(
    plane: ControlPlane, client: Client, seen: Witness, nodes: Process, count: int, name: str
) -> Eviction:
    group, members = preemptor(count, SCHEDULER_NAMES[name])
    began = time.monotonic()
    forget_peak(plane.apiserver.pid)
    with scheduler(plane, name) as process:
        await create(client, [group, *members[:-1]])
        await until_idle(process.pid, seen.changes)
        await collect_garbage(client)
        seen.forget()
        with used_by(process.pid) as own:
            await create(client, members[-1:])
            await seen.until({member.name for member in members}, LIMIT_SECONDS)
        await until_idle(nodes.pid, seen.changes)
    run = measured(seen, members, own)
    check(members, await placements(client), run)
    for member in members:
        await delete(client, PODS, member.name)
    await delete(client, GROUPS, group.name)
    say(
        f"  {name}: first eviction after {run.first_eviction:.2f} s, last after {run.last_eviction:.2f} s, "
        f"last bind after {run.last_bind:.2f} s, {run.evicted:,} evicted "
        f"({time.monotonic() - began:.0f} s with all that is around it)"
    )
    return run


def measured(seen: Witness, members: list[Body], own: Usage) -> Eviction:
    """A scheduler that has not finished is one whose last bind is at the limit."""
    names = {member.name for member in members}
    started = max(moment for pod, moment in seen.created.items() if pod in names)
    evicted = [moment - started for pod, moment in seen.evicted.items() if pod not in names]
    bound = [moment - started for pod, (moment, _) in seen.bound.items() if pod in names]
    last = max(bound) if len(bound) == len(names) else LIMIT_SECONDS
    first, final = (min(evicted), max(evicted)) if evicted else (LIMIT_SECONDS, LIMIT_SECONDS)
    return Eviction(first, final, last, len(evicted), len(bound), own)


def check(members: list[Body], found: Places, run: Eviction) -> None:
    """A whole gang or nothing of it, and no node with more than it has."""
    seats = [found[member.name] for member in members if found[member.name]]
    if len(seats) not in (0, len(members)):
        raise WrongError(f"the gang has {len(members)} members, and {len(seats)} are bound")
    if run.bound != len(seats):
        raise WrongError(f"the watcher has seen {run.bound} binds, and the server has {len(seats)}")
    names = {member.name for member in members}
    taken = Counter(node for pod, node in found.items() if pod not in names)
    taken.update(dict.fromkeys(seats, NODE_GPUS))
    for node, gpus in taken.items():
        if gpus > NODE_GPUS:
            raise WrongError(f"node {node} has {NODE_GPUS} GPUs, and {gpus} are taken")
    if run.evicted < len(seats) * NODE_GPUS:
        raise WrongError(f"{len(seats)} nodes were full, and only {run.evicted} pods were seen leaving")


# -- what is created -----------------------------------------------------------------------------------


def urgency() -> Obj:
    return {"metadata": {"name": URGENT}, "value": 1000}


def victims(nodes: int) -> Iterator[Body]:
    """They have no owner, so that nobody makes them again."""
    template = Template(spec={"schedulerName": "nobody"})
    for number in range(nodes * NODE_GPUS):
        pod = job_pod(VICTIM, number, template, node_name=node_name(number // NODE_GPUS))
        del pod["metadata"]["ownerReferences"]
        yield body(PODS, pod)


def preemptor(nodes: int, scheduler: str) -> tuple[Body, list[Body]]:
    size = gang_size(nodes)
    group = pod_group(PREEMPTOR, size)
    group["spec"]["priorityClassName"] = URGENT
    spec = {"schedulerName": scheduler, "priorityClassName": URGENT, "priority": 1000}
    template = Template(MEMBER.cpu, MEMBER.memory, MEMBER.gpus, spec)
    members = [body(PODS, job_pod(PREEMPTOR, number, template, PREEMPTOR)) for number in range(size)]
    return body(GROUPS, {**group, "apiVersion": GROUPS.api_version}), members
