"""A control plane that runs for as long as a `with` block does."""

import atexit
import json
import secrets
import socket
import ssl
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from maitred.kube.connect import connect
from maitred.kube.connection import Connection
from maitred.sandbox.apiserver.users import ADMIN, User
from maitred.sandbox.controlplane import commands
from maitred.sandbox.controlplane.build import CERTIFICATES, programs
from maitred.sandbox.controlplane.commands import CLIENT_QPS, HOST, Command, Server
from maitred.sandbox.controlplane.process import Process
from maitred.sandbox.controlplane.progress_lines import Progress
from maitred.sandbox.controlplane.versions import Release
from maitred.sandbox.controlplane.workspace import workspace
from maitred.sandbox.kubeconfig import write_kubeconfig
from maitred.sandbox.users import CONTROLLER_MANAGER, KUBE_SCHEDULER, MAITRED, make_tokens, write_token_file

PORTS = range(20_000, 32_000)
"""Below those that the kernel gives to outgoing connections: one of them could take the port of a server
while it restarts."""


class ControlPlane:
    """etcd and kube-apiserver on loopback, with RBAC; the controllers and kube-scheduler on request.

        with ControlPlane(RELEASES["1.37.1"], say=print) as plane, plane.controller_manager():
            async with Client(plane.connection(ADMIN)) as client: ...

    All of it is gone when this process is, also after a SIGKILL. `users` come on top of those in `users.py`;
    the server reads them once, so there is no adding later.
    """

    def __init__(
        self, release: Release, *, workload_gates: bool = True, users: Iterable[User] = (), say: Progress
    ) -> None:
        self.release = release
        self.workload_gates = workload_gates
        self._workloads = release if workload_gates else None
        self.tokens = make_tokens({ADMIN, MAITRED, CONTROLLER_MANAGER, KUBE_SCHEDULER, *users})
        self._say = say

    def __enter__(self) -> Self:
        self._programs = programs(self.release, self._say)
        with ExitStack() as stack:
            self.directory = stack.enter_context(workspace())
            self.certificate, self.key = make_certificate(self._programs, self.directory)
            self._ssl = ssl.create_default_context(cafile=self.certificate)
            self._server = self._free_server()
            self._start(stack)
            self._stack = stack.pop_all()
        atexit.register(self._stack.close)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        atexit.unregister(self._stack.close)
        self._stack.close()

    def _start(self, stack: ExitStack) -> None:
        client, peer = (f"http://{HOST}:{port}" for port in free_ports(2))
        tokens = self.directory / "tokens.csv"
        write_token_file(tokens, self.tokens)
        etcd = commands.etcd(self._programs, self.directory / "etcd", client, peer)
        stack.enter_context(self._running(etcd))
        # It waits for etcd by itself.
        self.apiserver = stack.enter_context(
            self._running(commands.apiserver(self._programs, self._server, client, tokens, self._workloads))
        )
        self.wait_ready()

    @property
    def url(self) -> str:
        return self._server.url

    @property
    def authority(self) -> bytes:
        """The certificate to check its servers by."""
        return self.certificate.read_bytes()

    def connection(self, user: User) -> Connection:
        return connect(str(self.kubeconfig(user)))

    def kubeconfig(self, user: User) -> Path:
        """A file for kubectl and other programs; it lives as long as the control plane."""
        path = self.directory / f"{user.name.replace(':', '-')}.kubeconfig"
        if not path.exists():
            write_kubeconfig(path, self.url, self.authority, self.tokens[user])
        return path

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """What kubectl says, as the administrator."""
        command = [f"{self._programs}/kubectl", f"--kubeconfig={self.kubeconfig(ADMIN)}", *arguments]
        return subprocess.run(
            command, input=stdin, check=True, stdout=subprocess.PIPE, text=True, cwd=self.directory
        ).stdout

    def wait_ready(self) -> None:
        self.apiserver.wait_ready(f"{self.url}/readyz", self._ssl)

    def restart_apiserver(self) -> None:
        """As after a crash: no goodbye to anyone, and the same address when it is back."""
        self.apiserver.stop()
        self.apiserver.start()
        self.wait_ready()

    @contextmanager
    def controller_manager(self, names: Sequence[str] = commands.CONTROLLERS) -> Iterator[Process]:
        server, kubeconfig = self._free_server(), self.kubeconfig(CONTROLLER_MANAGER)
        command = commands.controllers(self._programs, server, kubeconfig, self._workloads, names)
        with self._running(command) as process:
            process.wait_ready(f"{server.url}/healthz", self._ssl)
            yield process

    @contextmanager
    def kube_scheduler(
        self, *, qps: int = CLIENT_QPS, settings: Mapping[str, Any] | None = None
    ) -> Iterator[Process]:
        """`settings` are further fields of its KubeSchedulerConfiguration, such as `profiles`."""
        server, config = self._free_server(), self.directory / "kube-scheduler.json"
        connection = {"kubeconfig": str(self.kubeconfig(KUBE_SCHEDULER)), "qps": qps, "burst": qps}
        content = {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "clientConnection": connection,
            "leaderElection": {"leaderElect": False},
            **(settings or {}),
        }
        config.write_text(json.dumps(content))
        with self._running(commands.scheduler(self._programs, server, config, self._workloads)) as process:
            process.wait_ready(f"{server.url}/readyz", self._ssl)
            yield process

    @contextmanager
    def _running(self, command: Command) -> Iterator[Process]:
        process = Process(command, self.directory / f"{Path(command[0]).name}.log")
        process.start()
        try:
            yield process
        finally:
            process.stop()

    def _free_server(self) -> Server:
        [port] = free_ports(1)
        return Server(port, self.certificate, self.key)


def make_certificate(programs: Path, directory: Path) -> tuple[Path, Path]:
    """A certificate for loopback that is its own authority, and its key."""
    command = [f"{programs}/{CERTIFICATES}", "--ca", "--ecdsa-curve=P256", f"--host={HOST},localhost"]
    subprocess.run(command, cwd=directory, check=True, capture_output=True)
    return directory / "cert.pem", directory / "key.pem"


def free_ports(count: int) -> list[int]:
    found = list[int]()
    for port in secrets.SystemRandom().sample(PORTS, len(PORTS)):
        with socket.socket() as probe:
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        found.append(port)
        if len(found) == count:
            return found
    raise OSError(f"no free port on {HOST} between {PORTS.start} and {PORTS.stop}")
