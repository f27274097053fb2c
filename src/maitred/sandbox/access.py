"""How to reach a cluster of ours: the API server in this process, or a real one."""

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from maitred.kube.connection import Connection
from maitred.kube.credentials import Fixed, with_token
from maitred.sandbox.apiserver.server import ApiServer
from maitred.sandbox.apiserver.users import ADMIN, User
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.kubeconfig import remove_ours, write_kubeconfig
from maitred.sandbox.users import MAITRED, Tokens, make_tokens


@dataclass(frozen=True, slots=True)
class Access:
    url: str
    authority: bytes
    tokens: Tokens
    brings_controllers: bool
    """Whether it has those that a bare API server lacks."""
    is_old: bool = False
    """Whether it is of a release before 1.37."""

    def connection(self, user: User) -> Connection:
        secure = ssl.create_default_context(cadata=self.authority.decode())
        return Connection(self.url, Fixed(with_token({}, self.tokens[user])), ssl=secure)

    def write_kubeconfig(self, path: Path) -> None:
        """For the administrator."""
        write_kubeconfig(path, self.url, self.authority, self.tokens[ADMIN])

    def remove_kubeconfig(self, path: Path) -> None:
        """Only what was written for this cluster."""
        remove_ours(path, self.tokens[ADMIN])


@asynccontextmanager
async def embedded() -> AsyncIterator[Access]:
    """The API server of the sandbox, for as long as this lasts."""
    tokens = make_tokens([ADMIN, MAITRED])
    async with ApiServer({token: user for user, token in tokens.items()}) as server:
        yield Access(server.url, server.authority, tokens, brings_controllers=False)


def real(plane: ControlPlane) -> Access:
    is_old = plane.release.name.startswith("1.36.")
    return Access(plane.url, plane.authority, plane.tokens, brings_controllers=True, is_old=is_old)
