"""Which sandbox is meant, and that it is one: what breaks nodes must never reach a cluster that is in use."""

import asyncio
import functools
import logging
import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import click

from maitred.cli import output

if TYPE_CHECKING:
    from maitred.kube.client import Client

INTERRUPTED = 130
LOOK_SECONDS = 1.0
MOST_MISSED = 3
"""Times in a row that it does not answer before it is taken to be gone; it may only be busy."""

P = ParamSpec("P")

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}
_DURATION = re.compile(r"(\d{1,6}(?:\.\d{1,3})?)([smh]?)")


class Duration(click.ParamType[float]):
    """Seconds, or with a unit: 90, 90s, 5m, 1h."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        match = _DURATION.fullmatch(str(value))
        if match is None:
            self.fail(f"{value!r} is not a duration such as 90s, 5m or 1h", param, ctx)
        return float(match[1]) * _UNITS[match[2]]


def on_sandbox(work: Callable[Concatenate["Client", P], Awaitable[None]]) -> Callable[..., None]:
    """A command that is given a client of the sandbox, and says in one line what goes wrong."""

    @click.option(
        "--kubeconfig",
        metavar="FILE",
        help="Kubeconfig of the sandbox.  [default: $KUBECONFIG, or the one that `maitred up` wrote]",
    )
    @functools.wraps(work)
    def command(kubeconfig: str | None, *args: P.args, **kwargs: P.kwargs) -> None:
        async def run() -> None:
            this = asyncio.current_task()
            assert this is not None
            # As Ctrl-C does, so that what was begun is tidied up.
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
            with quiet():
                async with sandbox(kubeconfig) as client, beside(until_gone(client)):
                    await work(client, *args, **kwargs)

        try:
            asyncio.run(run())
        except (KeyboardInterrupt, asyncio.CancelledError):
            sys.exit(INTERRUPTED)
        except Exception as error:
            output.end_in_words(error)
            raise

    return command


@contextmanager
def quiet() -> Iterator[None]:
    """When the sandbox goes, one line says so; everything that watches it would say so too, many times."""
    log = logging.getLogger("maitred.kube")
    before = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(before)


@asynccontextmanager
async def beside(guard: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """What the guard raises ends what is done meanwhile, too."""
    from maitred.sandbox.companions import companions

    async with companions() as others:
        others.start(guard)
        yield


async def until_gone(client: "Client") -> None:
    """The sandbox may end while a command waits for something in it. Raises KubeError then."""
    from maitred.kube.errors import KubeError, Unreachable

    missed = 0
    while missed < MOST_MISSED:
        await asyncio.sleep(LOOK_SECONDS)
        try:
            await client.request("GET", "/version", seconds=LOOK_SECONDS)
        except Unreachable:
            missed += 1
        else:
            missed = 0
    raise KubeError("the sandbox has stopped; start another with `maitred up`")


@asynccontextmanager
async def sandbox(kubeconfig: str | None) -> AsyncIterator["Client"]:
    """A client of the sandbox that is meant. Raises ConfigError if there is none."""
    from maitred.kube.client import Client
    from maitred.kube.connect import connect

    async with Client(connect(await meant(kubeconfig))) as client:
        if not await is_sandbox(client):
            raise no_sandbox(client)
        yield client


async def meant(kubeconfig: str | None) -> str | None:
    """The kubeconfig that is named; else $KUBECONFIG (None), if that is a sandbox; else the usual one."""
    from maitred.kube.client import Client
    from maitred.kube.connect import connect
    from maitred.kube.errors import ConfigError, KubeError
    from maitred.sandbox.place import sandbox_kubeconfig_path

    if kubeconfig is not None:
        return kubeconfig
    usual = sandbox_kubeconfig_path()
    if named := os.environ.get("KUBECONFIG"):
        if not any(os.path.exists(path) for path in named.split(os.pathsep) if path):
            raise ConfigError(
                f"$KUBECONFIG is {named}, and there is no such file; unset it to use the sandbox of "
                f"`maitred up`, or name a kubeconfig with --kubeconfig"
            )
        if not usual.exists():
            return None
        try:
            async with Client(connect()) as client:
                if await is_sandbox(client):
                    return None
        except KubeError:
            pass  # A cluster that does not answer is not the sandbox that runs here.
    if not usual.exists():
        raise ConfigError(
            "no sandbox is running; start one with `maitred up`, or name its kubeconfig with --kubeconfig"
        )
    return str(usual)


async def is_sandbox(client: "Client") -> bool:
    from maitred.kube.errors import ApiError
    from maitred.kube.resources import CONFIG_MAPS
    from maitred.kube.wire import ConfigMap
    from maitred.sandbox.place import MARKER, MARKER_NAMESPACE

    try:
        await client.get(CONFIG_MAPS.path(MARKER_NAMESPACE, MARKER), ConfigMap)
    except ApiError as error:
        if error.status in (403, 404):
            return False
        raise
    return True


def no_sandbox(client: "Client") -> Exception:
    from maitred.kube.errors import ConfigError
    from maitred.sandbox.place import MARKER, MARKER_NAMESPACE

    origin = client.connection.origin or client.connection.server
    return ConfigError(
        f"{origin} is not a sandbox: it has no ConfigMap {MARKER_NAMESPACE}/{MARKER}. Nothing was "
        f"changed. Start a sandbox with `maitred up`, or name its kubeconfig with --kubeconfig"
    )
