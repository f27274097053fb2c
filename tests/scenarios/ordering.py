"""What people order of the scheduler that leads, and a scheduler that dies while it writes that down."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from maitred.controllers.answers.backlog import Backlog, Update
from maitred.controllers.answers.follower import StateFollower
from maitred.controllers.answers.orders import OrderDesk
from maitred.controllers.answers.refusals import RefusedError
from maitred.controllers.answers.routes import ROUTES
from maitred.controllers.answers.service import Service
from maitred.controllers.scheduling.term import Witnesses
from maitred.kube.answers import Reason, own_token
from maitred.kube.client import Client
from tests.scenarios.api import Json, eventually
from tests.scenarios.line import Send, Trouble, never
from tests.scenarios.stage import Stage


class CrashAtRecord(Trouble):
    """The process dies when it writes a record: before that is sent, or when it is executed."""

    def __init__(self, record: str, executed: bool) -> None:
        self.reached = asyncio.Event()
        self._record, self._executed = record, executed

    async def request(self, verb: str, path: str, send: Send) -> bytes:
        if verb in ("POST", "PUT") and path.endswith(("/configmaps", self._record)):
            if self._executed:
                await send()
            self.reached.set()
        return await (never() if self.reached.is_set() else send())


async def crash_at_record(
    stage: Stage, trouble: CrashAtRecord, ask: Callable[[Service], Awaitable[None]], **started: Any
) -> None:
    """A scheduler that dies when it writes down what is asked."""
    backlog = Backlog()
    actor = stage.start("mortal", trouble=trouble, witnesses=Witnesses(backlog=backlog), **started)
    async with answering(stage.api.client, backlog) as service:
        asking = asyncio.ensure_future(ask(service))
        await eventually(lambda: "" if trouble.reached.is_set() else "nothing is written")
        await actor.crash()
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    del stage.actors["mortal"]


@asynccontextmanager
async def answering(client: Client, backlog: Backlog) -> AsyncIterator[Service]:
    """As the process that answers does."""

    async def news(afresh: bool) -> Update:
        return backlog.update()

    desk = OrderDesk(backlog.orders.put)
    follower = StateFollower(news, settle=desk.settle)
    service = Service(client, follower.view, desk=desk)
    try:
        yield service
    finally:
        service.close()


async def order(stage: Stage, service: Service, path: str, values: Mapping[str, str], body: Json) -> None:
    """By one who may do everything."""
    user = await service.visitor(await own_token(stage.api.client))
    [route] = (one for one in ROUTES if one.path == path and one.order is not None)

    async def posted() -> bytes:
        return json.dumps(body).encode()

    async def done() -> str:
        try:
            await service.answer(route, dict(values), user, posted)
        except RefusedError as error:
            if error.reason is not Reason.NOT_LEADING:
                raise
            return str(error)
        return ""

    await eventually(done)
