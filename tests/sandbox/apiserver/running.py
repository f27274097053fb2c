"""A sandbox in a thread of its own, for tests whose event loops come and go."""

import asyncio
import secrets
import ssl
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import TypeVar

from maitred.kube.client import Client
from maitred.kube.connection import Connection
from maitred.kube.credentials import Fixed, with_token
from maitred.sandbox.apiserver.server import ApiServer
from maitred.sandbox.apiserver.users import ADMIN, User
from maitred.sandbox.housekeeping.controllers import housekeeping
from maitred.sandbox.kubeconfig import write_kubeconfig
from maitred.sandbox.users import MAITRED, make_tokens

T = TypeVar("T")


class RunningServer:
    def __init__(self, directory: Path, *, kept: bool) -> None:
        """`kept`: with the controllers that a bare API server lacks."""
        self._tokens = make_tokens([ADMIN, MAITRED])
        self._directory = directory
        self._kept = kept
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self.server = ApiServer({token: user for user, token in self._tokens.items()})

    @property
    def url(self) -> str:
        return self.server.url

    def token(self, user: User) -> str:
        return self._tokens[user]

    def connection(self, user: User) -> Connection:
        secure = ssl.create_default_context(cadata=self.server.authority.decode())
        return Connection(self.url, Fixed(with_token({}, self._tokens[user])), ssl=secure)

    def kubeconfig(self, user: User) -> Path:
        path = self._directory / f"{secrets.token_hex(4)}.kubeconfig"
        write_kubeconfig(path, self.url, self.server.authority, self._tokens[user])
        return path

    def stop(self) -> None:
        self.call(self.server.stop)

    def start(self) -> None:
        self.call(self.server.start)

    def call(self, work: Callable[[], Awaitable[T]]) -> T:
        async def run() -> T:
            return await work()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(30)

    def serve(self, ready: "Future[None]") -> None:
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._life(ready))
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            raise

    async def _life(self, ready: "Future[None]") -> None:
        async with self._parts():
            ready.set_result(None)
            await self._ended.wait()

    @asynccontextmanager
    async def _parts(self) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.server)
            if self._kept:
                client = await stack.enter_async_context(Client(self.connection(ADMIN)))
                await stack.enter_async_context(housekeeping(client))
            yield

    def end(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)


@contextmanager
def running_server(directory: Path, *, kept: bool = False) -> Iterator[RunningServer]:
    server, ready = RunningServer(directory, kept=kept), Future[None]()
    thread = threading.Thread(target=server.serve, args=(ready,), daemon=True)
    thread.start()
    ready.result(30)
    try:
        yield server
    finally:
        server.end()
        thread.join(30)
