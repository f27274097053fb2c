"""API servers without anything else: the sandbox's in a process of its own or in this one, and a real one."""

import os
from pathlib import Path

from benchmarks.figures import say
from benchmarks.kube.bodies import Body, node_name
from benchmarks.kube.cluster import in_parallel, register
from benchmarks.kube.usage import MB, used_by
from benchmarks.objects import NAMESPACE
from benchmarks.sandbox import asking, figures
from benchmarks.sandbox.figures import Found, Size
from benchmarks.sandbox.load import pods
from benchmarks.sandbox.servers import KUBECTL, Server
from maitred.kube.client import Client, encode
from maitred.kube.resources import NAMESPACES
from maitred.sandbox.access import embedded
from maitred.sandbox.apiserver.users import ADMIN

WATCHED_SHARE = 5
"""One in so many pods is patched while there are watches."""
ONE_JOB = {"labelSelector": "job-name=load-0001"}
PAGES = {"limit": asking.PAGE}


async def furnish(client: Client, nodes: int) -> list[str]:
    await client.request("POST", NAMESPACES.path(), body=encode({"metadata": {"name": NAMESPACE}}))
    await in_parallel(lambda number: register(client, number), range(nodes))
    return [node_name(number) for number in range(nodes)]


async def writes(pid: int, client: Client, load: list[Body], nodes: list[str]) -> Found:
    """In the order of a pod's life, so that all pods are there when the first is bound."""
    found: Found = {}
    for measure, cpu, work in (
        (figures.CREATES, figures.CREATE_CPU, asking.creates(client, load)),
        (figures.BINDS, figures.BIND_CPU, asking.binds(client, load, nodes)),
        (figures.STATUS_PATCHES, figures.STATUS_PATCH_CPU, asking.status_patches(client, load)),
    ):
        with used_by(pid) as used:
            found[measure] = await work
        found[cpu] = used.cpu / len(load) * 1e6
        say(f"  {found[measure]:,.0f} {measure.what} a second, {found[cpu]:,.0f} µs of CPU each")
    return found


async def reads(server: Server, client: Client, pods: int, jobs_pods: int) -> Found:
    found = {
        figures.LIST: await asking.lists(client, pods, {}),
        figures.LIST_IN_PAGES: await asking.lists(client, pods, PAGES),
        figures.TABLE_IN_PAGES: await asking.lists(client, pods, PAGES, asking.TABLE),
        figures.SELECTED: await asking.lists(client, jobs_pods, ONE_JOB),
    }
    if KUBECTL.exists():
        found[figures.KUBECTL] = asking.kubectl_seconds(server, pods)
    for measure, seconds in found.items():
        say(f"  {seconds:.2f} s to {measure.what}")
    return found


async def measured(server: Server, size: Size) -> Found:
    """All that can be asked of a server by itself."""
    load = pods("load", size.pods)
    async with server.client() as client:
        nodes = await furnish(client, size.nodes)
        found = await writes(server.pid, client, load, nodes)
        found[figures.MEMORY] = resident(server.pid)
        found |= await reads(server, client, len(load), min(64, len(load) - 64))
        found[figures.WATCHED] = await asking.watched(server, client, load[: len(load) // WATCHED_SHARE])
        say(f"  {found[figures.WATCHED]:,.0f} events a second to {asking.WATCHES} watches")
    return found


async def in_same_process(size: Size) -> Found:
    """Server and client take turns on one core, as they do in tests."""
    async with embedded() as access, Client(access.connection(ADMIN)) as client:
        nodes = await furnish(client, size.nodes)
        return await writes(os.getpid(), client, pods("load", size.pods), nodes)


def resident(pid: int) -> float:
    """MB that the process has in memory now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) * 1024 / MB
