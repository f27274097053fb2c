"""Events are valid as the strictest server wants them, and never get in anyone's way."""

import asyncio
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from maitred.kube import events
from maitred.kube.bodies import Regarding, micro_time
from maitred.kube.events import Events, event_name, shortened
from maitred.kube.permit import Always, Permit, ShadowPermit
from tests.kube.pod_server import Fault, PodServer

GROUP = Regarding("scheduling.k8s.io/v1beta1", "PodGroup", "train", "team", "uid-g")
NODE = Regarding("v1", "Node", "n1", uid="uid-n")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> PodServer:
    monkeypatch.setattr(events, "pause", lambda attempt, asked=None: 0.0)
    return PodServer()


def record(server: PodServer, regarding: Regarding = GROUP, permit: Permit | None = None) -> tuple[int, int]:
    async def run() -> tuple[int, int]:
        async with server.running() as client:
            written = Events(client, permit or Always(), "host_1")
            await written.record(regarding, "Unschedulable", "no room", "Scheduling", "Warning")
            return written.sent, written.failed

    return asyncio.run(run())


def only(things: Mapping[str, Any]) -> Any:
    [thing] = things.values()
    return thing


def test_an_event_says_what_happened_to_whom(server: PodServer) -> None:
    assert record(server) == (1, 0)
    assert server.asked == [("POST", "/apis/events.k8s.io/v1/namespaces/team/events")]
    written = only(server.events)
    assert re.fullmatch(r"train\.[0-9a-f]{16}", written["metadata"].pop("name"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", written.pop("eventTime"))
    assert written == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"namespace": "team"},
        "regarding": {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "name": "train",
            "namespace": "team",
            "uid": "uid-g",
        },
        "type": "Warning",
        "reason": "Unschedulable",
        "action": "Scheduling",
        "note": "no room",
        "reportingController": "maitred.dev/scheduler",
        "reportingInstance": "host_1",
    }


def test_what_has_no_namespace_is_told_of_in_the_default_one(server: PodServer) -> None:
    assert record(server, NODE) == (1, 0)
    assert server.asked == [("POST", "/apis/events.k8s.io/v1/namespaces/default/events")]
    assert "namespace" not in only(server.events)["regarding"]


@pytest.mark.parametrize("fault", [Fault(), Fault(executed=True), Fault(429), Fault(500, executed=True)])
def test_a_second_attempt_writes_no_second_event(server: PodServer, fault: Fault) -> None:
    server.faults = [fault]
    assert record(server) == (1, 0)
    assert len(server.events) == 1


def test_there_is_no_third_attempt_and_no_error(server: PodServer) -> None:
    server.faults = [Fault(503)] * 3
    assert record(server) == (0, 1)
    assert len(server.asked) == 2


def test_a_refusal_is_counted(server: PodServer) -> None:
    server.faults = [Fault(403, 'User "x" cannot create resource "events"')]
    assert record(server) == (0, 1)
    assert len(server.asked) == 1


def test_a_namespace_that_is_going_is_no_failure(server: PodServer) -> None:
    server.faults = [
        Fault(403, "unable to create new content in namespace team because it is being terminated")
    ]
    assert record(server) == (0, 0)


def test_a_shadow_tells_nobody(server: PodServer) -> None:
    assert record(server, permit=ShadowPermit()) == (0, 0)
    assert server.asked == []


def test_a_long_note_is_cut_by_bytes_and_not_within_a_character() -> None:
    assert shortened("é" * 512) == "é" * 512
    cut = shortened("é" * 513)
    assert cut == "é" * 510 + "…"
    assert len(cut.encode()) <= 1024


def test_the_name_of_an_event_is_a_name_that_the_server_takes() -> None:
    assert len(event_name("a" * 253)) == 253
    # The cut falls behind a dot here: "x..hex" would be refused.
    assert ".." not in event_name("a" * 235 + "." + "b" * 17)


def test_a_moment_without_microseconds_has_six_digits_all_the_same() -> None:
    assert micro_time(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) == "2026-01-02T03:04:05.000000Z"
