"""The process that answers. `maitred scheduler` and `maitred up` start it.

Its arguments are numbers of files that it is given: the channel to the scheduling process, and the sockets
that listen. It writes nothing to the API server but reviews of those who ask: orders go to the scheduling
process.
"""

import asyncio
import gc
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress

from maitred.controllers.answers.channel import LONGEST_LINE, Config, LogToThem, Said, Theirs
from maitred.controllers.answers.follower import StateFollower
from maitred.controllers.answers.orders import OrderDesk
from maitred.controllers.answers.question_queue import QuestionQueue
from maitred.controllers.answers.routes import ROUTES
from maitred.controllers.answers.service import Service
from maitred.controllers.answers.serving import serving_answers
from maitred.controllers.bookkeeping import Keeping
from maitred.kube.client import Client
from maitred.kube.connect import connect
from maitred.kube.errors import KubeError
from maitred.ledger.store import Ledger

log = logging.getLogger("maitred.answers")

STUCK = 70
NICENESS = 5
"""Seating goes first where both want the same processor."""
LEAST_MEMORY = 2**30
TIMES_THE_CLUSTER = 3
"""An answer may take twice what is known of the cluster, beside it."""
SWITCH_SECONDS = 1e-3
"""How long the thread that works answers out may keep the interpreter while others connect."""


def main(numbers: Sequence[str]) -> None:
    channel, *sockets = (socket.socket(fileno=int(number)) for number in numbers)
    sys.setswitchinterval(SWITCH_SECONDS)
    os.nice(NICENESS)
    first_to_go()
    asyncio.run(live(channel, sockets))
    logging.shutdown()
    os._exit(0)  # The thread may still be at work on an answer that is not wanted any more.


def first_to_go() -> None:
    """When a machine has no memory left."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")


def settle_in() -> None:
    """When all of a cluster was read. It stays for as long as a term does, so the collector need not look at
    it again; and by what it takes, it is known how much answers may take."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    with open("/proc/self/statm") as sizes:
        resident = int(sizes.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    most = max(LEAST_MEMORY, TIMES_THE_CLUSTER * resident)
    resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))


async def live(line: socket.socket, sockets: Sequence[socket.socket]) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    channel = Theirs(*await asyncio.open_unix_connection(sock=line, limit=LONGEST_LINE))
    config = await channel.config()
    root = logging.getLogger()
    root.handlers[:] = [LogToThem(channel, loop)]
    root.setLevel(config.log_level)
    try:
        async with Client(connect(config.kubeconfig, config.context)) as client:
            await answer(client, channel, sockets, config, stop)
    except KubeError as error:
        log.error("no questions are answered: %s", error)
        await asyncio.sleep(0)


async def answer(
    client: Client, channel: Theirs, sockets: Sequence[socket.socket], config: Config, stop: asyncio.Event
) -> None:
    desk = OrderDesk(lambda order: channel.say(Said(order=order)))
    question_queue = QuestionQueue(stuck=give_up)
    follower = StateFollower(channel.news, settle_in, desk.settle)
    service = Service(client, follower.view, question_queue=question_queue, desk=desk)
    if config.ledger is not None:
        keeping = Keeping(Ledger(config.ledger), config.ledger_days)
        service = Service(client, follower.view, keeping.history, keeping.usage, question_queue, desk)
    async with serving_answers(sockets, service, ROUTES):
        following = asyncio.create_task(follower.run(question_queue))
        ends = [asyncio.create_task(event.wait()) for event in (stop, channel.is_over)]
        await asyncio.wait((following, *ends), return_when=asyncio.FIRST_COMPLETED)
        if following.done() and not channel.is_over.is_set():
            log.error(
                "the process that answers questions cannot follow the state of the cluster",
                exc_info=following.exception(),
            )


def give_up() -> None:
    """A question cannot be stopped, so the process is. The next one knows nothing of it."""
    os._exit(STUCK)


if __name__ == "__main__":
    main(sys.argv[1:])
