"""The process that answers, as the scheduling process sees it: started, fed, and started again when it ends.

Nothing here waits for it. It has its own interpreter, its own connection to the API server and its own bound
of memory, so whatever people ask costs the scheduling loop no more than to pass on what has changed.
"""

import asyncio
import logging
import socket
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from maitred.controllers.answers.backlog import Backlog
from maitred.controllers.answers.channel import LONGEST_LINE, Config, Ours

log = logging.getLogger(__name__)

MODULE = "maitred.controllers.answers"
SILENT_SECONDS = 60.0
"""It speaks every two seconds. After this it is taken as stuck."""
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
STEADY_SECONDS = 60.0
"""One that lived for so long is started again at once."""
GOODBYE_SECONDS = 1.5


@asynccontextmanager
async def answering(
    sockets: Sequence[socket.socket], backlog: Backlog, config: Config, restarted: Callable[[], None]
) -> AsyncIterator[None]:
    """For as long as the block runs. The sockets listen already, and stay the caller's: whoever connects
    while there is no process waits for the next one."""
    task = asyncio.create_task(run(sockets, backlog, config, restarted))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def run(
    sockets: Sequence[socket.socket], backlog: Backlog, config: Config, restarted: Callable[[], None]
) -> None:
    pause = SHORTEST_PAUSE
    while True:
        began = time.monotonic()
        try:
            why = await live(sockets, backlog, config)
        except Exception as error:  # A defect here must not leave everyone without answers.
            log.exception("the connection to the process that answers questions was lost")
            why = f"lost its connection: {error!r}"
        if time.monotonic() - began > STEADY_SECONDS:
            pause = SHORTEST_PAUSE
        log.warning("the process that answers questions %s; it is started again in %g s", why, pause)
        restarted()
        await asyncio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)


async def live(sockets: Sequence[socket.socket], backlog: Backlog, config: Config) -> str:
    """From the start of a process to its end, and how that came about."""
    ours, theirs = socket.socketpair()
    numbers = [theirs.fileno(), *(one.fileno() for one in sockets)]
    try:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-P", "-m", MODULE, *map(str, numbers)),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            pass_fds=numbers,
            start_new_session=True,  # Ctrl-C on a terminal is for the scheduling process alone.
        )
    except OSError as error:
        ours.close()
        return f"could not be started: {error}"
    finally:
        theirs.close()
    channel = Ours(*await asyncio.open_unix_connection(sock=ours, limit=LONGEST_LINE))
    try:
        backlog.start_over()
        await serve(channel, backlog, config)
        async with asyncio.timeout(GOODBYE_SECONDS):
            status = await process.wait()
        return f"has ended with status {status}"
    except TimeoutError:
        return f"has said nothing for {SILENT_SECONDS:g} s" if process.returncode is None else "has ended"
    except ConnectionError:
        return "has ended"
    finally:
        channel.close()
        await put_an_end_to(process)


async def serve(channel: Ours, backlog: Backlog, config: Config) -> None:
    await channel.configure(config)
    while True:
        async with asyncio.timeout(SILENT_SECONDS):
            said = await channel.heard()
        if said is None:
            return
        if said.order is not None:
            backlog.orders.put(said.order)
        elif said.wants:
            if said.afresh:
                backlog.start_over()
            async with asyncio.timeout(SILENT_SECONDS):
                await channel.tell(backlog.update())
        else:
            logging.getLogger(said.logger).log(said.level, "%s", said.message)


async def put_an_end_to(process: asyncio.subprocess.Process) -> None:
    if process.returncode is not None:
        return
    with suppress(ProcessLookupError):
        process.terminate()
    try:
        async with asyncio.timeout(GOODBYE_SECONDS):
            await process.wait()
    except TimeoutError:
        with suppress(ProcessLookupError):
            process.kill()
        await process.wait()
