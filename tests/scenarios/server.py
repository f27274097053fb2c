"""What a scenario asks of a server beyond its API, so that any server can be put in its place."""

from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, Protocol

from maitred.kube.connection import Connection
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.users import MAITRED
from tests.sandbox.apiserver.running import RunningServer


class Server(Protocol):
    def admin(self) -> Connection:
        """One who may do everything."""

    def scheduler(self) -> Connection:
        """The account of maitred, with the rights of its role."""

    def scheduler_kubeconfig(self) -> Path: ...

    @property
    def running(self) -> bool: ...

    def stop(self) -> None:
        """At once; what was written stays."""

    def start(self) -> None:
        """At the same address. Does not wait until it is ready."""

    def another_scheduler(self) -> AbstractContextManager[Any]:
        """kube-scheduler, for the pods that name no other."""


class RealServer:
    def __init__(self, plane: ControlPlane) -> None:
        self.running = True
        self._plane = plane

    def admin(self) -> Connection:
        return self._plane.connection(ADMIN)

    def scheduler(self) -> Connection:
        return self._plane.connection(MAITRED)

    def scheduler_kubeconfig(self) -> Path:
        return self._plane.kubeconfig(MAITRED)

    def stop(self) -> None:
        self.running = False
        self._plane.apiserver.stop()

    def start(self) -> None:
        self._plane.apiserver.start()
        self.running = True

    def another_scheduler(self) -> AbstractContextManager[Any]:
        return self._plane.kube_scheduler()


class SandboxServer:
    """The one that comes with maitred, with its own controllers in place of those of Kubernetes."""

    def __init__(self, server: RunningServer) -> None:
        self.running = True
        self._server = server

    def admin(self) -> Connection:
        return self._server.connection(ADMIN)

    def scheduler(self) -> Connection:
        return self._server.connection(MAITRED)

    def scheduler_kubeconfig(self) -> Path:
        return self._server.kubeconfig(MAITRED)

    def stop(self) -> None:
        self.running = False
        self._server.stop()

    def start(self) -> None:
        self._server.start()
        self.running = True

    def another_scheduler(self) -> AbstractContextManager[Any]:
        """It has one for the pods that name no other, all the time."""
        return nullcontext()
