"""What is asked of a server, and how long it takes: the same for the sandbox and for a real one."""

import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from benchmarks.kube.bodies import Body
from benchmarks.kube.checks import WrongError
from benchmarks.kube.cluster import in_parallel
from benchmarks.sandbox.servers import KUBECTL, Server, started
from maitred.kube.bodies import binding
from maitred.kube.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Client, encode
from maitred.kube.resources import PODS
from maitred.model.meta import Lean
from maitred.sandbox.kubelets.bodies import running
from maitred.sandbox.kubelets.objects import Pod

REPEATS = 3
PAGE = "500"
"""Objects that kubectl asks for at a time."""
JSON = "application/json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
WATCHERS = Path(__file__).with_name("watchers.py")
WATCHES = 10


async def rate(work: Callable[[int], Awaitable[object]], count: int) -> float:
    """How many of them are done in a second, 64 at a time."""
    began = time.monotonic()
    await in_parallel(work, range(count))
    return count / (time.monotonic() - began)


# -- writing -----------------------------------------------------------------------------------------------


async def creates(client: Client, bodies: Sequence[Body]) -> float:
    async def create(number: int) -> None:
        await client.request("POST", bodies[number].path, body=bodies[number].data)

    return await rate(create, len(bodies))


async def binds(client: Client, bodies: Sequence[Body], nodes: Sequence[str]) -> float:
    async def bind(number: int) -> None:
        pod = bodies[number]
        body = binding(pod.name, "", nodes[number % len(nodes)], {})
        await client.request("POST", f"{pod.path}/{pod.name}/binding", body=body)

    return await rate(bind, len(bodies))


async def status_patches(client: Client, bodies: Sequence[Body]) -> float:
    """As kubelets say that a pod runs."""
    pod = msgspec.json.decode(bodies[0].data)
    pod["metadata"] |= {"uid": "", "resourceVersion": ""}
    status = encode({"status": running(msgspec.convert(pod, Pod), "10.0.0.1", "172.0.0.1")})

    async def patch(number: int) -> None:
        path = f"{bodies[number].path}/{bodies[number].name}/status"
        await client.request("PATCH", path, body=status, content_type=STRATEGIC_MERGE_PATCH)

    return await rate(patch, len(bodies))


async def watched(server: Server, client: Client, bodies: Sequence[Body]) -> float:
    """Events per second that ten watches in a process of their own get while labels of pods are patched."""
    change = encode({"metadata": {"labels": {"seen": "yes"}}})

    async def patch(pod: Body) -> None:
        path = f"{pod.path}/{pod.name}"
        await client.request("PATCH", path, body=change, content_type=MERGE_PATCH)

    first, *others = bodies
    command: list[str | Path] = [WATCHERS, server.kubeconfig, str(WATCHES), str(len(bodies))]
    with started(command, server.directory / "watchers.log") as watchers:
        watchers.until("ready")
        await patch(first)
        watchers.until("first", WATCHES)
        began = time.monotonic()
        await in_parallel(patch, others)
        watchers.until("last", WATCHES)
        return WATCHES * len(others) / (time.monotonic() - began)


# -- reading -----------------------------------------------------------------------------------------------


class ListMeta(Lean, frozen=True):
    token: str = msgspec.field(default="", name="continue")


class Page(Lean, frozen=True):
    metadata: ListMeta
    items: tuple[msgspec.Raw, ...] = ()
    rows: tuple[msgspec.Raw, ...] = ()


async def listed(client: Client, params: Mapping[str, str], accept: str = JSON) -> int:
    """How many objects there are, page by page where there is a limit."""
    count, token = 0, ""
    while True:
        wanted = {**params, **({"continue": token} if token else {})}
        page = await client.get(PODS.path(), Page, params=wanted, accept=accept)
        count, token = count + len(page.items) + len(page.rows), page.metadata.token
        if not token:
            return count


async def lists(client: Client, pods: int, params: Mapping[str, str], accept: str = JSON) -> float:
    """Seconds for one of them: the median of three."""
    seconds = list[float]()
    for _ in range(REPEATS):
        began = time.monotonic()
        found = await listed(client, params, accept)
        seconds.append(time.monotonic() - began)
        if found != pods:
            raise WrongError(f"a list of pods has {found} of them, and there are {pods}")
    return statistics.median(seconds)


def kubectl_seconds(server: Server, pods: int) -> float:
    command = [str(KUBECTL), f"--kubeconfig={server.kubeconfig}", "get", "pods", "--all-namespaces"]
    seconds = list[float]()
    for _ in range(REPEATS):
        began = time.monotonic()
        shown = subprocess.run(command, check=True, capture_output=True, cwd=server.directory).stdout
        seconds.append(time.monotonic() - began)
        found = len(shown.splitlines()) - 1
        if found != pods:
            raise WrongError(f"kubectl shows {found} pods, and there are {pods}")
    return statistics.median(seconds)
