"""What a scenario asks of a server beyond its API, so that any server can be put in its place."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from maitred.kube.connection import Connection
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.controlplane.users import ADMIN, MAITRED


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
