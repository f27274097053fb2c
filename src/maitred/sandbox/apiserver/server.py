"""The server as a whole: its parts put together, and its life."""

import hmac
import logging
import socket
import ssl
from collections.abc import Mapping
from contextlib import AsyncExitStack
from copy import deepcopy
from types import TracebackType
from typing import Self

import trustme
from aiohttp.http_exceptions import HttpProcessingError

from maitred.sandbox.apiserver.admission import Admission
from maitred.sandbox.apiserver.authorization import Authorizer
from maitred.sandbox.apiserver.builtin import BUILTIN, DEFINED
from maitred.sandbox.apiserver.call import Call
from maitred.sandbox.apiserver.connections import Connections, serving
from maitred.sandbox.apiserver.custom_kinds import CustomKinds
from maitred.sandbox.apiserver.deletion import Deletion
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.kinds.priorities import SYSTEM_CLASSES
from maitred.sandbox.apiserver.lists import Lists
from maitred.sandbox.apiserver.objects import Objects
from maitred.sandbox.apiserver.pages import Pages
from maitred.sandbox.apiserver.receiving import conformed
from maitred.sandbox.apiserver.request_handler import ApiRequests
from maitred.sandbox.apiserver.reviews import Authenticate, Reviews
from maitred.sandbox.apiserver.schema.times import now
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.served import Served
from maitred.sandbox.apiserver.store import Store
from maitred.sandbox.apiserver.subresources import Subresources
from maitred.sandbox.apiserver.users import ADMIN, User
from maitred.sandbox.apiserver.verbs import Verbs

HOST = "127.0.0.1"
IDLE_SECONDS = 75.0
NAMESPACES = ("default", "kube-node-lease", "kube-public", "kube-system")


class ApiServer:
    """Serves on loopback, in the event loop that starts it, whoever has one of the tokens.

        async with ApiServer({token: ADMIN}) as server:
            print(server.url)

    It speaks TLS, because kubectl sends its token to no other server; `authority` is the certificate to check
    it by. What it holds is in memory. `stop` and `start` are as a crash and a restart: the objects are there
    again, at the same address, and every watch has to begin anew.
    """

    def __init__(self, tokens: Mapping[str, User], port: int = 0) -> None:
        self._tokens = {token.encode(): user for token, user in tokens.items()}
        self._socket = listening(port)
        self.url = f"https://{HOST}:{self._socket.getsockname()[1]}"
        self.authority, self._secure = identity()
        self._store = Store()
        self.front = assemble(self._store, self.authenticate, self.url)
        self._serving: AsyncExitStack | None = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        # Cancelled when its client is gone, a watch does not wait for something to tell it.
        connections = Connections(
            self.front,
            logger=protocol_log(),
            access_log=None,
            keepalive_timeout=IDLE_SECONDS,
            handler_cancellation=True,
            auto_decompress=False,
        )
        if self._socket.fileno() < 0:
            self._socket = listening(int(self.url.rpartition(":")[2]))
        self._serving = AsyncExitStack()
        await self._serving.enter_async_context(serving(connections, self._socket, self._secure))

    async def stop(self) -> None:
        """At once: connections are cut."""
        if self._serving is not None:
            await self._serving.aclose()
            await self.front.proxy.close()
            self._store.forget_history()
            self._serving = None

    def authenticate(self, token: str) -> User | None:
        """In the same time, whatever is wrong with the token."""
        found, said = None, token.encode(errors="surrogateescape")
        for known, user in self._tokens.items():
            if hmac.compare_digest(known, said):
                found = user
        return found


def protocol_log() -> logging.Logger:
    log = logging.getLogger(f"{__name__}.protocol")
    log.addFilter(is_own_fault)
    return log


def is_own_fault(record: logging.LogRecord) -> bool:
    """What is not even HTTP is answered, and there is nothing for anybody here to look into."""
    return not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))


def identity() -> tuple[bytes, ssl.SSLContext]:
    """A certificate for loopback, and the authority that it is from, which signs no other."""
    authority = trustme.CA(organization_name="maitred sandbox", key_type=trustme.KeyType.ECDSA)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(HOST, "localhost", key_type=trustme.KeyType.ECDSA).configure_cert(context)
    return authority.cert_pem.bytes(), context


def listening(port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setblocking(False)
    try:
        listener.bind((HOST, port))
    except OSError:
        listener.close()
        raise
    return listener


def assemble(store: Store, authenticate: Authenticate, url: str) -> ApiRequests:
    served, authorizer = Served(BUILTIN), Authorizer(store)
    admission = Admission(store, authorizer)
    objects = Objects(store, admission)
    deletion = Deletion(objects, admission)
    budgets = find(served, "PodDisruptionBudget")
    subresources = Subresources(objects, deletion, admission, find(served, "Pod"), budgets)
    verbs = Verbs(objects, Lists(store), deletion, subresources, Reviews(authenticate, authorizer))
    store.shelf(DEFINED.shelf).listen(CustomKinds(served, objects).follow)
    furnish(objects, served)
    address = url.partition("://")[2]
    return ApiRequests(authenticate, authorizer, served, store, verbs, Pages(served, address))


def find(served: Served, name: str) -> Kind:
    return next(kind for kind in served if kind.name == name)


def furnish(objects: Objects, served: Served) -> None:
    """What every cluster has from its first moment."""
    for name in NAMESPACES:
        create(objects, find(served, "Namespace"), {"metadata": {"name": name}})
    for body in SYSTEM_CLASSES:
        create(objects, find(served, "PriorityClass"), deepcopy(body))


def create(objects: Objects, kind: Kind, body: Body) -> None:
    call = Call(ADMIN, now(), "maitred-sandbox")
    objects.create(kind, "", conformed(kind, body, call), call)
