"""What probes and Prometheus are told."""

import asyncio
import socket

import aiohttp
import pytest

from maitred.controllers import health
from maitred.controllers.health import ProcessHealth, serving
from maitred.controllers.scheduling.metrics import Metrics, Now
from maitred.model.manifest import InputError
from maitred.model.plan import Plan


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def ask(address: str, path: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(f"http://{address}{path}") as answer:
        return answer.status, await answer.text()


@pytest.mark.parametrize(
    ("ready", "state", "status"),
    [(False, "reading the cluster", 503), (True, "standing by", 200), (True, "leading", 200)],
)
def test_readiness_says_what_the_process_is_doing(ready: bool, state: str, status: int) -> None:
    async def story() -> None:
        health, address = ProcessHealth(), f"127.0.0.1:{free_port()}"
        async with serving(address, health, Metrics().registry):
            assert await ask(address, "/readyz") == (503, "starting\n")
            health.set(ready, state)
            assert await ask(address, "/readyz") == (status, f"{state}\n")
            assert await ask(address, "/healthz") == (200, "ok\n")
            assert (await ask(address, "/nothing"))[0] == 404

    asyncio.run(story())


def test_metrics_are_in_the_form_of_prometheus() -> None:
    async def story() -> None:
        metrics, address = Metrics(), f"127.0.0.1:{free_port()}"
        metrics.cycles.inc()
        async with serving(address, ProcessHealth(), metrics.registry):
            status, text = await ask(address, "/metrics")
        assert status == 200
        assert "maitred_cycles_total 1.0" in text.splitlines()

    asyncio.run(story())


def test_an_address_that_is_taken_is_refused_with_a_way_out() -> None:
    async def story() -> None:
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            address = f"127.0.0.1:{other.getsockname()[1]}"
            async with serving(address, ProcessHealth(), Metrics().registry):
                raise AssertionError("two on one address")

    with pytest.raises(InputError, match=r"--listen: 127.0.0.1:\d+: address already in use; choose another"):
        asyncio.run(story())


def test_gauges_show_what_is_and_not_what_was() -> None:
    metrics, waiting = Metrics(), [3]
    metrics.follow(Now(waiting_pods=lambda: waiting[0], waiting_groups=lambda category: len(category)))
    assert metrics.registry.get_sample_value("maitred_waiting_pods") == 3
    waiting[0] = 1
    assert metrics.registry.get_sample_value("maitred_waiting_pods") == 1
    assert metrics.registry.get_sample_value("maitred_waiting_groups", {"category": "Quota"}) == 5
    metrics.follow(Now())
    assert metrics.registry.get_sample_value("maitred_waiting_pods") == 0


@pytest.mark.parametrize("exhausted", [True, False])
def test_cycles_are_counted_and_those_whose_search_was_cut_short(exhausted: bool) -> None:
    metrics = Metrics()
    metrics.cycle(Plan(search_exhausted=exhausted), 0.2)
    value = metrics.registry.get_sample_value
    assert value("maitred_cycles_total") == 1
    assert value("maitred_searches_exhausted_total") == exhausted


def test_nothing_listens_without_an_address(monkeypatch: pytest.MonkeyPatch) -> None:
    started = list[str]()
    monkeypatch.setattr(health, "bound", lambda listen, option: started.append(listen))

    async def story() -> None:
        async with serving("", ProcessHealth(), Metrics().registry):
            assert started == []

    asyncio.run(story())
