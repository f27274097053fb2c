"""Attacks with questions: plans of megabytes, connections that say nothing, a signal in the middle of it."""

import asyncio
import io
import json
import os
import signal
import ssl
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import aiohttp

from maitred.kube.answers import TOKEN_HEADER, own_token
from maitred.kube.client import Client
from maitred.sandbox.controlplane.run import free_ports
from maitred.sandbox.users import MAITRED
from tests.attacks.harness import Ground, Tenant, pod_body
from tests.scenarios.api import eventually

Json = dict[str, Any]

CLIENTS = 8
PODS = 2_600
JUST_ALLOWED = 3_900_000
LORISES = 300
TOLD = {200, 429, 504}
"""An answer, too many, too long."""
LONGEST_END = 10.0


def plan(namespace: str) -> bytes:
    """As much work as fits into a body: every pod of another shape, and each keeps away from the others."""
    apart = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    spread = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    objects = []
    for number in range(PODS):
        body = pod_body(f"wish-{number}", 1, affinity=spread)
        body["spec"]["containers"][0]["resources"]["requests"]["cpu"] = f"{number + 1}m"
        body["metadata"] |= {"namespace": namespace, "labels": {"app": "x", "number": str(number)}}
        objects.append({"apiVersion": "v1", "kind": "Pod", **body})
    objects[0]["metadata"]["annotations"] = {"filler": ""}
    filler = "x" * (JUST_ALLOWED - len(json.dumps({"objects": objects})))
    objects[0]["metadata"]["annotations"]["filler"] = filler
    return json.dumps({"objects": objects}).encode()


class Asker:
    def __init__(self, http: aiohttp.ClientSession, answers: str, token: str) -> None:
        self._http, self._answers, self._token = http, answers, token
        self.told, self.cut_off = Counter[int](), Counter[str]()

    async def get(self, path: str) -> tuple[int, Json]:
        url = f"https://{self._answers}/v1alpha1/{path}"
        async with self._http.get(url, headers={TOKEN_HEADER: self._token}, ssl=False) as answer:
            return answer.status, await answer.json()

    async def post_for_ever(self, namespace: str, body: bytes) -> None:
        url = f"https://{self._answers}/v1alpha1/plan?namespaces={namespace}"
        while True:
            try:
                async with self._http.post(
                    url, data=io.BytesIO(body), headers={TOKEN_HEADER: self._token}, ssl=False
                ) as answer:
                    await answer.read()
                    self.told[answer.status] += 1
            except aiohttp.ClientError as error:
                self.cut_off[str(error)] += 1  # a refusal may come before all of the body was sent
            await asyncio.sleep(0.05)


@asynccontextmanager
async def asker(ground: Ground, client: Client, answers: str = "") -> AsyncIterator[Asker]:
    async with aiohttp.ClientSession() as http:
        yield Asker(http, answers or ground.answers, await own_token(client))


@asynccontextmanager
async def posting(found: Asker, mallory: Tenant) -> AsyncIterator[None]:
    body = await asyncio.to_thread(plan, mallory.namespace)
    assert len(body) >= JUST_ALLOWED
    tasks = [asyncio.create_task(found.post_for_ever(mallory.namespace, body)) for _ in range(CLIENTS)]
    try:
        await eventually(lambda: "" if found.told else f"no answer: {found.cut_off}")
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def test_plans_of_megabytes_delay_nobody(ground: Ground) -> None:
    async def attack(ground: Ground) -> None:
        mallory = await ground.tenant()
        async with (
            asker(ground, mallory.api.client) as found,
            asker(ground, ground.admin.client) as other,
            posting(found, mallory),
        ):
            await ground.seats_an_innocent_gang(mallory)
            status, told = await other.get("capacity")
            assert status == 200, told
            assert ground.scheduler.slowest_healthz < 2
        assert set(found.told) <= TOLD

    ground.run(attack)


def test_connections_that_say_nothing_keep_nobody_out(ground: Ground) -> None:
    async def attack(ground: Ground) -> None:
        host, _, port = ground.answers.partition(":")
        loop = asyncio.get_running_loop()
        blind = ssl.create_default_context()
        blind.check_hostname, blind.verify_mode = False, ssl.CERT_NONE
        async with AsyncExitStack() as stack:

            async def loris(number: int, secure: ssl.SSLContext | None, words: bytes) -> None:
                with suppress(OSError):  # the first of them are cut off for the last
                    transport, _ = await loop.create_connection(asyncio.Protocol, host, number, ssl=secure)
                    stack.callback(transport.abort)
                    transport.write(words)

            for _ in range(LORISES // 10):
                half = b"GET /v1alpha1/capacity HTTP/1.1\r\nHost: x\r\nX-"
                some = [loris(int(port), blind, half) for _ in range(5)]
                some += [loris(int(port), None, b"\x16") for _ in range(3)]
                some += [loris(ground.scheduler.listen, None, b"GET /healthz HT") for _ in range(2)]
                await asyncio.gather(*some)
            await ground.seats_an_innocent_gang()
            async with asker(ground, ground.admin.client) as found:
                assert (await found.get("capacity"))[0] == 200
            assert await ground.scheduler.healthz() < 2

    ground.run(attack)


def test_a_signal_in_the_middle_of_an_answer_ends_it(ground: Ground) -> None:
    async def attack(ground: Ground) -> None:
        mallory = await ground.tenant()
        [port] = free_ports(1)
        process = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-m",
                "maitred.cli",
                "scheduler",
                "--shadow",
                "--ledger",
                "none",
                "--listen",
                "",
            ),
            *("--kubeconfig", str(ground.plane.kubeconfig(MAITRED)), "--answers", f"127.0.0.1:{port}"),
            *("--log-level", "error"),
        )
        try:
            async with asker(ground, mallory.api.client, f"127.0.0.1:{port}") as found:

                async def leads() -> str:
                    try:
                        status, told = await found.get("capacity")
                    except aiohttp.ClientError as error:
                        return str(error)
                    return "" if status == 200 else str(told)

                await eventually(leads)
                async with posting(found, mallory):
                    began = time.monotonic()
                    os.kill(process.pid, signal.SIGTERM)
                    status = await asyncio.wait_for(process.wait(), 3 * LONGEST_END)
            assert status == 0
            assert time.monotonic() - began < LONGEST_END
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()

    ground.run(attack)
