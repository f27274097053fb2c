"""A service of answers over a cluster that two teams share, and an API server that knows who asks."""

import asyncio
import ssl
import threading
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from maitred.cli.manifest import objects as installed
from maitred.controllers.answers.orders import OrderBox, OrderDesk
from maitred.controllers.answers.question_queue import QuestionQueue
from maitred.controllers.answers.replica import View
from maitred.controllers.answers.routes import ROUTES
from maitred.controllers.answers.service import Service
from maitred.controllers.answers.serving import serving_answers
from maitred.controllers.listening import bound as bound_to
from maitred.kube.answers import TOKEN_HEADER
from maitred.kube.client import Client
from maitred.kube.connection import Connection
from maitred.kube.credentials import Fixed, with_token
from maitred.model.policy import Policy
from maitred.sandbox.apiserver.server import ApiServer
from maitred.sandbox.apiserver.users import ADMIN, User
from maitred.sandbox.users import MAITRED, make_tokens
from maitred.sandbox.world.objects import WorldObjects
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import read, state_of

ANN = User("ann")
"""Of team-a, and of no other."""
ELSE = User("else")
"""Of no team at all."""
LEFT_OUT = ("ConfigMap", "Deployment", "NetworkPolicy", "PodDisruptionBudget")
SECRETS = ("team-b", "hidden")
"""What only team-b may know."""
RBAC = "rbac.authorization.k8s.io"


def cluster() -> list[Obj]:
    """Four nodes. team-b runs on two of them, and has a gang that waits before that of team-a."""
    theirs: Obj = {"cpu": 4, "namespace": "team-b"}
    running = [b.pod(f"hidden-run-{i}", node=f"n{i}", group="hidden-run", **theirs) for i in range(2)]
    earlier = [b.pod(f"hidden-big-{i}", group="hidden-big", created=1, **theirs) for i in range(2)]
    own = [b.pod(f"train-{i}", cpu=4, namespace="team-a", group="train", created=2) for i in range(2)]
    return [
        *(b.node(f"n{i}", cpu=4, pods=10) for i in range(4)),
        *(b.namespace(name) for name in ("team-a", "team-b")),
        *(b.pod_group(name, 2, namespace="team-b", created=1) for name in ("hidden-run", "hidden-big")),
        b.pod_group("train", 2, namespace="team-a", created=2),
        *running,
        *earlier,
        *own,
    ]


@dataclass
class House:
    port: int
    tokens: dict[User, str]
    server: ApiServer
    admin: Client
    view: View | None
    """None: this scheduler does not lead."""
    http: aiohttp.ClientSession = field(repr=False)
    orders: OrderBox = field(default_factory=OrderBox)
    desk: OrderDesk = field(init=False)

    def __post_init__(self) -> None:
        self.desk = OrderDesk(self.orders.put)

    async def known(self, question_queue: QuestionQueue) -> View | None:
        self.desk.settle(self.orders.outcomes())
        return self.view

    async def ask(
        self, path: str, user: User | str | None = ANN, method: str = "GET", **request: Any
    ) -> tuple[int, Any]:
        token = self.tokens[user] if isinstance(user, User) else user
        headers = {} if token is None else {TOKEN_HEADER: token}
        async with self.http.request(
            method, f"https://127.0.0.1:{self.port}{path}", headers=headers, ssl=False, **request
        ) as answer:
            assert answer.content_type == "application/json", await answer.text()
            return answer.status, await answer.json()

    async def told(self, path: str, user: User = ANN) -> Any:
        status, answer = await self.ask(f"/v1alpha1/{path}", user)
        assert status == 200, answer
        return answer

    async def refused(self, path: str, user: User | str | None = ANN, **request: Any) -> tuple[int, str, str]:
        status, answer = await self.ask(path, user, **request)
        assert answer["kind"] == "Status"
        assert answer["code"] == status
        return status, answer["reason"], answer["message"]


def connection(server: ApiServer, token: str) -> Connection:
    secure = ssl.create_default_context(cadata=server.authority.decode())
    return Connection(server.url, Fixed(with_token({}, token)), ssl=secure)


@asynccontextmanager
async def house(host: str = "127.0.0.1") -> AsyncIterator[House]:
    tokens = dict(make_tokens([ADMIN, MAITRED, ANN, ELSE]))
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ApiServer({token: user for user, token in tokens.items()}))
        admin = await stack.enter_async_context(Client(connection(server, tokens[ADMIN])))
        own = await stack.enter_async_context(Client(connection(server, tokens[MAITRED])))
        await furnish(WorldObjects(admin))
        state = state_of(read(cluster()))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        found = House(0, tokens, server, admin, View(state, {}, Policy(), None), http)
        [listener] = bound_to(f"{host}:0", "--answers")
        found.port = stack.enter_context(closing(listener)).getsockname()[1]
        service = Service(own, found.known, desk=found.desk)
        await stack.enter_async_context(serving_answers([listener], service, ROUTES))
        yield found


async def furnish(objects: WorldObjects) -> None:
    """The rights of the scheduler and of its users, as they are installed, and Ann's in her namespace."""
    for body in installed("base"):
        if body["kind"] not in LEFT_OUT:
            await objects.apply(body)
    for name in ("team-a", "team-b"):
        await objects.apply(b.namespace(name))
    look = {"apiGroups": [""], "resources": ["pods"], "verbs": ["list"]}
    await objects.apply(made("Role", "member", "team-a", rules=[look]))
    await objects.apply(bound("member", "team-a", "Role", ANN))
    await objects.apply(bound("maitred-user", "maitred-system", "ClusterRole", ANN, ELSE))


def made(kind: str, name: str, namespace: str, **fields: Any) -> Obj:
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": meta, **fields}


def bound(role: str, namespace: str, kind: str, *users: User) -> Obj:
    subjects = [{"kind": "User", "name": user.name, "apiGroup": RBAC} for user in users]
    reference = {"apiGroup": RBAC, "kind": kind, "name": role}
    return made("RoleBinding", f"{role}-{users[0].name}", namespace, roleRef=reference, subjects=subjects)


@contextmanager
def running_house(host: str = "127.0.0.1") -> Iterator[House]:
    """In a thread of its own, for those who wait for each answer."""
    ready, loop = Future[House](), asyncio.new_event_loop()
    ended = asyncio.Event()

    async def live() -> None:
        async with house(host) as found:
            ready.set_result(found)
            await ended.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(live())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield ready.result(30)
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(30)
