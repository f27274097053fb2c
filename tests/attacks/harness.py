"""The ground for attacks: one cluster of simulated nodes and one scheduler process, shared by this folder.

An attack is a test that takes the fixture `ground` and runs one coroutine on it:

    def test_forged_records(ground: Ground) -> None:
        async def attack(ground: Ground) -> None:
            mallory = await ground.tenant()
            await mallory.api.create(JOBS, {...})       # with the rights of an admin of one namespace
            await ground.seats_an_innocent_gang(mallory)

        ground.run(attack)

- `ground.tenant()` makes a namespace, and a service account that may do all that the ClusterRole `admin` of
  Kubernetes allows in it, and write PodGroups, resource claims and their templates. `tenant.api` speaks with
  its token, and RBAC is the server's own.
- `ground.admin` is an `Api` of one who may do everything.
- `ground.seats_an_innocent_gang()` is the verdict. A gang of 8 that needs 8 whole nodes comes to another
  namespace, and must be seated within two cycles and 2 s of the scheduler's CPU; the Lease must be kept, the
  memory stay under 500 MB, and nobody read a name of the other's namespace. Where others have to leave first,
  their grace period passes whatever the scheduler does: cycles count from the first one that saw 8 nodes
  without a pod.
- `ground.scheduler` is the process: `cpu_seconds()`, `memory()`, `healthz()`, `cycles()` and `log()`. It runs
  with the rights and the limits of deploy/, and answers questions at `ground.answers`.

What tenants made is gone when `run` ends. Nodes: NODES of them, with 8 GPUs, 64 cores and 110 pods each.
"""

import asyncio
import os
import re
import secrets
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import dropwhile
from pathlib import Path
from typing import Any

import aiohttp
import msgspec

from maitred.cli.manifest import objects as installed
from maitred.cli.replay import lines_of
from maitred.controllers.recording.ring import segments
from maitred.kube.client import Client
from maitred.kube.connect import connect
from maitred.kube.resources import EVENTS, JOBS, LEASES, NAMESPACES, PODS, PRIORITY_CLASSES, Resource
from maitred.model import recording
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane, free_ports
from maitred.sandbox.kubeconfig import write_kubeconfig
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.kubelets.fleet import kubelets
from maitred.sandbox.users import MAITRED
from tests.oracle.builders import gang
from tests.scenarios.api import Api, eventually
from tests.scenarios.conftest import KINDS, SYSTEM_NAMESPACE, apply, grant, revoke
from tests.scenarios.server import RealServer

Json = dict[str, Any]

NODES = 40
MACHINES = frozenset(f"attack-{number:02}" for number in range(NODES))
GPU = "nvidia.com/gpu"
ROOM = {"cpu": "64", "memory": "256Gi", "pods": "110", GPU: "8"}
GANG = 8
MOST_CYCLES = 2
MOST_CPU_SECONDS = 2.0
MOST_MEMORY = 500 * 2**20
SLOWEST_HEALTHZ = 5.0
"""As the liveness probe of deploy/ has it."""
POLICY = "preemption: {graceLimit: 3s}"
"""The default limit is an hour, which nobody can wait for here."""
CLASSES = {"attack-low": 10, "attack-high": 1000}
SERVICE_ACCOUNTS = Resource("", "v1", "serviceaccounts", "ServiceAccount")
LIMITS = {
    kind: Resource("admissionregistration.k8s.io", "v1", plural, kind, namespaced=False)
    for kind, plural in (
        ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
        ("ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
    )
}
GATE = "example.com/not-yet"
ALSO = {
    "scheduling.k8s.io": ["podgroups"],
    "resource.k8s.io": ["resourceclaims", "resourceclaimtemplates"],
}
"""What tenants may write beside what the role of an admin allows. The status of claims is not among it."""
OF_TENANTS = (JOBS, PODS)


@dataclass(frozen=True)
class Tenant:
    namespace: str
    api: Api

    def pod(self, name: str, *, gpus: int = 8, **spec: Any) -> Json:
        """A pod that asks for so many GPUs. `metadata` goes there, all else into its spec."""
        return pod_body(name, gpus, **spec)


@dataclass(frozen=True)
class Cycle:
    """One decision of the scheduler: when it looked, which pods it could have bound then, how many nodes
    had no pod, and the groups that it bound something of."""

    at: datetime
    waiting: frozenset[str]
    free_nodes: int
    bound: frozenset[str]


class Body(msgspec.Struct):
    """What a record says of a pod, as far as it matters here."""

    class Meta(msgspec.Struct):
        name: str
        namespace: str

    class Spec(msgspec.Struct, rename="camel"):
        node_name: str | None = None
        scheduling_gates: list[object] = msgspec.field(default_factory=list)

    class Status(msgspec.Struct):
        phase: str = ""

    metadata: Meta
    spec: Spec
    status: Status = msgspec.field(default_factory=Status)

    @property
    def node(self) -> str | None:
        """None once it has ended: the object may stay, but takes no room."""
        return None if self.status.phase in ("Succeeded", "Failed") else self.spec.node_name

    @property
    def waits(self) -> bool:
        return not (
            self.status.phase in ("Succeeded", "Failed") or self.spec.node_name or self.spec.scheduling_gates
        )


class SchedulerProcess:
    def __init__(self, pid: int, listen: int, record: Path, log: Path) -> None:
        self.pid = pid
        self.slowest_healthz = 0.0
        self.listen = listen
        self._record = record
        self._log = log

    def cpu_seconds(self) -> float:
        """Of the process that seats. The one that answers questions has its own, and nobody waits for it."""
        return cpu_ticks(self.pid) / os.sysconf("SC_CLK_TCK")

    def memory(self) -> int:
        """Bytes that it has resident, with those that it has started."""
        return sum(resident(pid) for pid in family(self.pid))

    async def healthz(self) -> float:
        """Seconds that an answer takes."""
        began = time.monotonic()
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{self.listen}/healthz") as answer,
        ):
            assert answer.status == 200
        return time.monotonic() - began

    async def waiting_pods(self) -> int:
        """Pods that it has to seat, stand-ins among them."""
        async with (
            aiohttp.ClientSession() as session,
            session.get(f"http://127.0.0.1:{self.listen}/metrics") as answer,
        ):
            found = re.search(r"^maitred_waiting_pods (\S+)$", await answer.text(), re.MULTILINE)
        assert found is not None
        return int(float(found[1]))

    def cycles(self) -> Iterator[Cycle]:
        """All of this process, from its record."""
        look: tuple[datetime, frozenset[str], int] | None = None
        for path in segments(self._record):
            # A segment begins with everything that is known.
            nodes, waiting = dict[str, str | None](), set[str]()
            for line in lines_of(path, []):
                found = recording.decode(line)
                if isinstance(found, recording.Came) and found.kind == "Pod":
                    pod = msgspec.json.decode(found.object, type=Body)
                    key = f"{pod.metadata.namespace}/{pod.metadata.name}"
                    nodes[key] = pod.node
                    (waiting.add if pod.waits else waiting.discard)(key)
                elif isinstance(found, recording.Gone) and found.kind == "Pod":
                    nodes.pop(found.key, None)
                    waiting.discard(found.key)
                elif isinstance(found, recording.Look):
                    free_nodes = len(MACHINES - set(nodes.values()))
                    look = (datetime.fromisoformat(found.now), frozenset(waiting), free_nodes)
                elif isinstance(found, recording.Decision) and look is not None:
                    yield Cycle(*look, frozenset(bind.group for bind in found.plan.binds))

    def log(self) -> str:
        return self._log.read_text()


@dataclass
class Ground:
    plane: ControlPlane
    admin: Api
    scheduler: SchedulerProcess
    answers: str
    """`host:port` of its answers."""
    folder: Path
    runner: asyncio.Runner
    _tenants: list[Tenant] = field(default_factory=list)
    _clients: AsyncExitStack = field(default_factory=AsyncExitStack)

    def run(self, attack: Callable[["Ground"], Awaitable[None]]) -> None:
        self.runner.run(self._run(attack))

    async def _run(self, attack: Callable[["Ground"], Awaitable[None]]) -> None:
        probing = asyncio.create_task(self._probe())
        try:
            await attack(self)
            assert self.scheduler.slowest_healthz < SLOWEST_HEALTHZ
        except BaseException:
            sys.stderr.write("\n".join(self.scheduler.log().splitlines()[-40:]) + "\n")
            raise
        finally:
            probing.cancel()
            await self._clear()

    async def _probe(self) -> None:
        """As a kubelet does, and more often."""
        self.scheduler.slowest_healthz = 0.0
        while True:
            took = await self.scheduler.healthz()
            self.scheduler.slowest_healthz = max(self.scheduler.slowest_healthz, took)
            await asyncio.sleep(0.1)

    # -- who is there ----------------------------------------------------------------------------------

    async def tenant(self, prefix: str = "mallory") -> Tenant:
        namespace = f"{prefix}-{secrets.token_hex(4)}"
        admin = Api(self.admin.client, namespace)
        await admin.create(NAMESPACES, {"metadata": {"name": namespace}})
        await admin.create(SERVICE_ACCOUNTS, {"metadata": {"name": "tenant"}})
        more = [
            {"apiGroups": [group], "resources": resources, "verbs": ["*"]}
            for group, resources in ALSO.items()
        ]
        await admin.create(KINDS["Role"], {"metadata": {"name": "more"}, "rules": more})
        for kind, role in (("ClusterRole", "admin"), ("Role", "more")):
            await admin.create(KINDS["RoleBinding"], binding(role, kind, namespace))
        path = SERVICE_ACCOUNTS.path(namespace, "tenant", "token")
        made = await admin._send("POST", path, {"spec": {"expirationSeconds": 3600}})
        kubeconfig = self.folder / namespace
        write_kubeconfig(kubeconfig, self.plane.url, self.plane.authority, made["status"]["token"])
        client = await self._clients.enter_async_context(Client(connect(str(kubeconfig))))
        tenant = Tenant(namespace, Api(client, namespace))
        self._tenants.append(tenant)
        await eventually(lambda: self._refusal(tenant))
        return tenant

    async def _refusal(self, tenant: Tenant) -> str:
        """Roles take a moment to be known."""
        try:
            await tenant.api.list(JOBS)
            await tenant.api.try_out(PODS, tenant.pod("x"))
        except Exception as error:
            return str(error)
        return ""

    async def _clear(self) -> None:
        for tenant in self._tenants:
            api = Api(self.admin.client, tenant.namespace)
            for resource in OF_TENANTS:
                await api.delete_all(resource)
            await eventually(lambda api=api: pods_left(api))  # type: ignore[misc]
            await api.delete(NAMESPACES, tenant.namespace)
        self._tenants.clear()
        await self._clients.aclose()
        self._clients = AsyncExitStack()

    # -- the verdict -----------------------------------------------------------------------------------

    async def seats_an_innocent_gang(self, *others: Tenant, priority: str = "") -> None:
        innocent = await self.tenant("innocent")
        names = [f"quiet-{number}" for number in range(GANG)]
        for name in names:
            body = pod_body(
                name, 8, metadata={"annotations": gang("quiet", GANG)}, priorityClassName=priority
            )
            body["spec"]["schedulingGates"] = [{"name": GATE}]
            await innocent.api.create(PODS, body)
        for name in names[1:]:
            await ungate(innocent.api, name)
        lease, cpu = await self._lease(), self.scheduler.cpu_seconds()
        since = datetime.now(UTC)
        await ungate(innocent.api, names[0])
        await eventually(lambda: unbound(innocent.api))
        spent = self.scheduler.cpu_seconds() - cpu
        assert spent <= MOST_CPU_SECONDS, f"{spent:.1f} s of CPU"
        group = f"{innocent.namespace}/quiet"
        await eventually(lambda: self._not_recorded(group, since))
        needed = self._cycles_until_bound(group, f"{innocent.namespace}/{names[0]}", since)
        assert needed <= MOST_CYCLES, f"seated in cycle {needed}"
        after = await self._lease()
        assert after["holderIdentity"] == lease["holderIdentity"]
        assert after.get("leaseTransitions") == lease.get("leaseTransitions")
        memory = self.scheduler.memory()
        assert memory < MOST_MEMORY, f"{memory / 2**20:.0f} MB"
        everyone = [innocent, *others]
        for reader in everyone:
            await reads_no_name_of(reader, [other for other in everyone if other is not reader])

    async def _not_recorded(self, group: str, since: datetime) -> str:
        """Binds go out before the cycle has come to its end and is recorded."""
        bound = any(group in cycle.bound for cycle in self.scheduler.cycles() if cycle.at >= since)
        return "" if bound else f"no cycle that bound {group} is in the record"

    def _cycles_until_bound(self, group: str, last: str, since: datetime) -> int:
        """1 if the first cycle that knew of its last member, and saw room for it, has bound it."""
        later = (cycle for cycle in self.scheduler.cycles() if cycle.at >= since)
        able = dropwhile(lambda cycle: last not in cycle.waiting or cycle.free_nodes < GANG, later)
        return next(number for number, cycle in enumerate(able, 1) if group in cycle.bound)

    async def _lease(self) -> Json:
        found = await Api(self.admin.client, SYSTEM_NAMESPACE).get(LEASES, "maitred")
        return dict(found["spec"])


# -- starting ------------------------------------------------------------------------------------------------


@asynccontextmanager
async def opened(plane: ControlPlane, folder: Path, runner: asyncio.Runner) -> AsyncIterator[Ground]:
    server = RealServer(plane)
    await grant(server)
    machines = [Machine(name, ROOM, {}) for name in sorted(MACHINES)]
    async with (
        Client(plane.connection(ADMIN)) as client,
        kubelets(client, machines) as fleet,
        scheduler(plane, folder) as (process, answers),
    ):
        admin = Api(client, "default")
        for body in limits():
            await apply(admin, LIMITS[body["kind"]], body)
        for name, value in CLASSES.items():
            await admin.create(PRIORITY_CLASSES, {"metadata": {"name": name}, "value": value})
        try:
            yield Ground(plane, admin, process, answers, folder, runner)
        finally:
            for name in CLASSES:
                await admin.delete(PRIORITY_CLASSES, name)
            for body in limits():
                await admin.delete(LIMITS[body["kind"]], body["metadata"]["name"])
            for machine in machines:
                await fleet.remove(machine.name)
    await revoke(server)


def limits() -> list[Json]:
    """What deploy/admission says about maitred's own account."""
    return [body for body in installed("admission") if body["metadata"]["name"] == "maitred-limits"]


@asynccontextmanager
async def scheduler(plane: ControlPlane, folder: Path) -> AsyncIterator[tuple[SchedulerProcess, str]]:
    listen, answers = free_ports(2)
    record, log, policy = folder / "record", folder / "log", folder / "policy.yaml"
    policy.write_text(POLICY)
    with log.open("w") as stderr:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "maitred.cli", "scheduler", "--leader-election", "--ledger", "none"),
            *("--kubeconfig", str(plane.kubeconfig(MAITRED)), "--listen", f"127.0.0.1:{listen}"),
            *("--policy", str(policy)),
            *("--answers", f"127.0.0.1:{answers}", "--record", str(record), "--log-form", "json"),
            stderr=stderr,
        )
    made = SchedulerProcess(process.pid, listen, record, log)
    try:
        await eventually(lambda: "" if "the cluster was read" in made.log() else "it does not lead yet")
        yield made, f"127.0.0.1:{answers}"
        assert process.returncode is None, "the scheduler has ended by itself"
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()


# -- objects -------------------------------------------------------------------------------------------------


def pod_body(name: str, gpus: int, *, metadata: Json | None = None, **spec: Any) -> Json:
    amounts = {"cpu": "1", **({GPU: str(gpus)} if gpus else {})}
    container = {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}
    said = {key: value for key, value in spec.items() if value not in ("", None)}
    return {
        "metadata": {"name": name, **(metadata or {})},
        "spec": {
            "schedulerName": "maitred",
            "terminationGracePeriodSeconds": 1,
            "containers": [container],
            **said,
        },
    }


def binding(role: str, kind: str, namespace: str) -> Json:
    subject = {"kind": "ServiceAccount", "name": "tenant", "namespace": namespace}
    return {
        "metadata": {"name": role},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [subject],
    }


async def ungate(api: Api, name: str) -> None:
    await api.patch(PODS, name, {"spec": {"schedulingGates": None}})


async def unbound(api: Api) -> str:
    names = [pod["metadata"]["name"] for pod in await api.list(PODS) if not pod["spec"].get("nodeName")]
    return f"not seated: {', '.join(names)}" if names else ""


async def pods_left(api: Api) -> str:
    return ", ".join(pod["metadata"]["name"] for pod in await api.list(PODS))


async def reads_no_name_of(reader: Tenant, others: Sequence[Tenant]) -> None:
    """In nothing that stands in the reader's namespace."""
    for resource in (PODS, JOBS, EVENTS):
        for item in await reader.api.list(resource):
            for other in others:
                assert other.namespace not in str(item), f"{reader.namespace} reads it in {item}"


# -- /proc ---------------------------------------------------------------------------------------------------


def family(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            found += family(int(child))
    return found


def cpu_ticks(pid: int) -> int:
    """User and system time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def resident(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
