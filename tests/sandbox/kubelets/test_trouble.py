"""Kubelets on a server that refuses, or that is slow: one pod's trouble is nobody else's."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from maitred.kube.errors import ApiError
from maitred.model.meta import ObjectMeta
from maitred.sandbox.kubelets.api import AT_ONCE
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.kubelets.fleet import Fleet, kubelets
from maitred.sandbox.kubelets.kubelet import Kubelet
from maitred.sandbox.kubelets.objects import Container, Pod, PodSpec
from tests.control_plane.waiting import DEADLINE_SECONDS

Sent = tuple[str, str]
Answer = Callable[[str, str], Awaitable[None]]


class Server:
    """Takes every write for a node's, and does before it what `answer` does."""

    def __init__(self, answer: Answer) -> None:
        self.sent = list[Sent]()
        self._answer = answer
        self._news = asyncio.Event()

    async def request(self, verb: str, path: str, **_: Any) -> bytes:
        self.sent.append((verb, path))
        self._news.set()
        await self._answer(verb, path)
        return json.dumps({"metadata": {"name": "n1"}, "status": {"allocatable": {"pods": "1000"}}}).encode()

    async def until(self, holds: Callable[[list[Sent]], bool]) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not holds(self.sent):
                self._news.clear()
                await self._news.wait()


def pod(name: str, deleted: datetime | None = None) -> Pod:
    metadata = ObjectMeta(name=name, namespace="default", uid=name, deletion_timestamp=deleted)
    return Pod(metadata, PodSpec(node_name="n1", containers=(Container("main"),)))


def play(answer: Answer, use: Callable[[Server, Fleet, Kubelet], Awaitable[None]]) -> None:
    async def run() -> None:
        server = Server(answer)
        fleet = kubelets(
            server,  # type: ignore[arg-type]
            [Machine("n1", {"cpu": "8"})],
            start_seconds=0,
            stop_seconds=0,
            heartbeat_seconds=0.3,
            run=False,
        )
        async with fleet as made:
            kubelet = made.kubelet("n1")
            assert kubelet is not None
            await use(server, made, kubelet)

    asyncio.run(run())


def status_of(name: str) -> Sent:
    return "PATCH", f"/api/v1/namespaces/default/pods/{name}/status"


def deletion_of(name: str) -> Sent:
    return "DELETE", f"/api/v1/namespaces/default/pods/{name}"


def test_a_pod_whose_status_is_refused_is_left_and_others_run(caplog: pytest.LogCaptureFixture) -> None:
    async def refuse(verb: str, path: str) -> None:
        if path == status_of("odd")[1]:
            raise ApiError(verb, path, 422, "Invalid", "state: Forbidden: may not be transitioned")

    async def use(server: Server, fleet: Fleet, kubelet: Kubelet) -> None:
        kubelet.take(pod("odd"))
        await server.until(lambda sent: status_of("odd") in sent)
        kubelet.take(pod("even"))
        await server.until(lambda sent: status_of("even") in sent)
        kubelet.take(pod("odd", deleted=datetime(2026, 11, 15, tzinfo=UTC)))
        await server.until(lambda sent: deletion_of("odd") in sent)

    play(refuse, use)
    first = caplog.messages[0]
    assert first.startswith("pod default/odd is ignored: PATCH")
    assert "422 Invalid: state: Forbidden" in first


def test_a_sign_of_life_that_is_refused_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def refuse(verb: str, path: str) -> None:
        if "/leases" in path:
            raise ApiError(verb, path, 403, "Forbidden", "the namespace is being terminated")

    async def use(server: Server, fleet: Fleet, kubelet: Kubelet) -> None:
        await server.until(lambda sent: sum("/leases" in path for _, path in sent) > 2)
        kubelet.take(pod("even"))
        await server.until(lambda sent: status_of("even") in sent)

    play(refuse, use)
    assert caplog.messages[0].startswith("a heartbeat of a node was refused: PATCH")


def test_signs_of_life_do_not_wait_behind_pods_that_start() -> None:
    async def slow(verb: str, path: str) -> None:
        if path.endswith("/status") and "/pods/" in path:
            await asyncio.Event().wait()

    def is_starting(sent: list[Sent]) -> bool:
        return sum("/pods/" in path for _, path in sent) == AT_ONCE

    async def use(server: Server, fleet: Fleet, kubelet: Kubelet) -> None:
        for number in range(2 * AT_ONCE):
            kubelet.take(pod(f"p{number}"))
        await server.until(is_starting)
        before = len(server.sent)
        await server.until(lambda sent: any("/leases/" in path for _, path in sent[before:]))

    play(slow, use)
