"""The process that answers: it knows what the scheduling process knows, and nothing waits for it."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from hypothesis import given

from maitred.cluster.state import Change, ClusterState
from maitred.controllers.answers import supervisor
from maitred.controllers.answers.backlog import Backlog
from maitred.controllers.answers.channel import Config
from maitred.controllers.answers.replica import Replica
from maitred.controllers.listening import bound
from maitred.controllers.recording.change_lines import ChangeLines
from maitred.decide import decide
from maitred.kube.answers import TOKEN_HEADER
from maitred.kube.client import Client
from maitred.model.policy import Policy, Preemption
from maitred.sandbox.apiserver.server import ApiServer
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.kubeconfig import write_kubeconfig
from maitred.sandbox.users import MAITRED, make_tokens
from maitred.sandbox.world.objects import WorldObjects
from tests.cluster.changes import changes
from tests.cluster.seen import put
from tests.controllers.answers.house import ANN, SECRETS, cluster, connection, furnish
from tests.oracle import builders as b
from tests.oracle.effort import examples

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
LONG = 60.0


@given(changes(20))
@examples(25)
def test_the_copy_decides_as_the_state_itself(history: list[Change]) -> None:
    """However the news are cut: after each change, after all of them, and from the start when it got lost."""
    chronicle, each, late = ChangeLines(), Backlog(), Backlog()
    state, policy = ClusterState(chronicle), Policy()
    copies = {backlog: Replica() for backlog in (each, late)}
    for backlog in copies:
        backlog.begin(chronicle, lambda: policy, None)
        copies[backlog].follow(backlog.update())
    for change in history:
        state.apply(change)
        copies[each].follow(each.update())
    copies[late].follow(late.update())
    lost = Backlog()
    lost.begin(chronicle, lambda: policy, None)
    expected = decide(state.snapshot(), policy, NOON)
    for backlog, copy in ((each, copies[each]), (late, copies[late]), (lost, Replica())):
        view = copy.follow(backlog.update())
        assert view is not None
        assert decide(view.state.snapshot(), view.policy, NOON) == expected


def test_only_what_is_new_is_handed_over() -> None:
    chronicle, backlog, policy = ChangeLines(), Backlog(), Policy()
    state = ClusterState(chronicle)
    put(state, b.node("n0", cpu=4), b.pod("a", cpu=1, node="n0"))
    assert not backlog.update().leading
    backlog.begin(chronicle, lambda: policy, "maitred")
    first = backlog.update()
    assert (first.leading, first.afresh, first.scheduler, first.policy) == (True, True, "maitred", policy)
    assert len(first.lines) == 2
    for cpu in (1, 2, 3):
        put(state, b.pod("b", cpu=cpu, node="n0"))
    policy = Policy(preemption=Preemption(mode="never"))
    second = backlog.update()
    assert (second.afresh, len(second.lines), second.policy) == (False, 1, policy)
    third = backlog.update()
    assert (third.lines, third.policy) == ((), None)
    backlog.end()
    assert not backlog.update().leading


@dataclass
class Scheduling:
    """What a scheduling process has to do with the one that answers."""

    state: ClusterState
    chronicle: ChangeLines
    backlog: Backlog
    port: int
    token: str
    http: aiohttp.ClientSession
    restarts: int = 0

    def lead(self) -> None:
        self.backlog.begin(self.chronicle, Policy, None)

    def restarted(self) -> None:
        self.restarts += 1

    async def ask(self, path: str) -> tuple[int, Any]:
        url, headers = f"https://127.0.0.1:{self.port}/v1alpha1/{path}", {TOKEN_HEADER: self.token}
        async with self.http.get(url, headers=headers, ssl=False) as answer:
            return answer.status, await answer.json()


@asynccontextmanager
async def scheduling(folder: Path) -> AsyncIterator[Scheduling]:
    tokens, kubeconfig = dict(make_tokens([ADMIN, MAITRED, ANN])), folder / "kubeconfig"
    async with AsyncExitStack() as stack:
        server = await stack.enter_async_context(ApiServer({token: user for user, token in tokens.items()}))
        admin = await stack.enter_async_context(Client(connection(server, tokens[ADMIN])))
        await furnish(WorldObjects(admin))
        write_kubeconfig(kubeconfig, server.url, server.authority, tokens[MAITRED])
        chronicle = ChangeLines()
        state = ClusterState(chronicle)
        put(state, *cluster())
        [listener] = bound("127.0.0.1:0", "--answers")
        port = stack.enter_context(closing(listener)).getsockname()[1]
        http = await stack.enter_async_context(aiohttp.ClientSession())
        found = Scheduling(state, chronicle, Backlog(), port, tokens[ANN], http)
        config = Config(str(kubeconfig), ledger=str(folder / "no-such.db"), ledger_days=1)
        await stack.enter_async_context(
            supervisor.answering([listener], found.backlog, config, found.restarted)
        )
        yield found


def children() -> set[int]:
    return {int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


def test_the_process_answers_follows_and_is_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def story() -> None:
        before = children()
        async with scheduling(tmp_path) as found:
            status, refused = await found.ask("why/team-a/train")
            assert (status, refused["reason"]) == (503, "NotLeading")
            found.lead()
            status, told = await found.ask("why/team-a/train")
            assert (status, told["verdict"]) == (200, "Waiting")
            assert not any(secret in str(told) for secret in SECRETS)
            assert "the ledger cannot be read, so answers have no history: ledger" in caplog.text, (
                "its log lines are ours"
            )
            status, refused = await found.ask("bill")
            assert (status, refused["reason"]) == (404, "NoLedger")
            assert not (tmp_path / "no-such.db").exists()
            put(found.state, *(b.node(f"new-{i}", cpu=4, pods=10) for i in range(2)))
            assert (await found.ask("why/team-a/train"))[1]["verdict"] == "Scheduled"
            [pid] = children() - before
            os.kill(pid, signal.SIGKILL)
            assert (await found.ask("why/team-a/train"))[0] == 200, "whoever connects waits for the next one"
            assert found.restarts == 1
            [pid] = children() - before
            os.kill(pid, signal.SIGSTOP)  # as stuck as a process can be
            began = time.monotonic()
        assert time.monotonic() - began < LONG / 2
        assert not children() - before

    asyncio.run(asyncio.wait_for(story(), LONG))
