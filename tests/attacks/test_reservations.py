"""Attacks with reservations: without the right, with a record of one's own, and with what breaks readers."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from maitred.kube.errors import ApiError
from maitred.kube.resources import CONFIG_MAPS, PODS
from tests.attacks.harness import GATE, Ground
from tests.attacks.test_overrides import post
from tests.scenarios.api import Api
from tests.scenarios.conftest import SYSTEM_NAMESPACE

RESERVATIONS = "maitred-reservations"


def asking(namespace: str, **fields: Any) -> dict[str, Any]:
    begin = datetime.now(UTC)
    times = {"from": begin, "until": begin + timedelta(hours=1)}
    said = {name: time.strftime("%Y-%m-%dT%H:%M:%S") for name, time in times.items()}
    return {"name": "mine", "for": {"namespace": namespace}, "nodes": {}, **said, **fields}


def test_a_tenant_reserves_nothing_and_writes_no_reservation(ground: Ground) -> None:
    """An admin of a namespace has no right to the nodes of all."""

    async def attack(ground: Ground) -> None:
        mallory, victim = await ground.tenant(), await ground.tenant()
        await mallory.api.create(PODS, mallory.pod("wish", gpus=1, schedulingGates=[{"name": GATE}]))
        for namespace in (mallory.namespace, victim.namespace):
            for path, body in (
                ("reservations", asking(namespace)),
                ("reservations", asking(namespace, every="FREQ=SECONDLY", name="x" * 1_000_000)),
                ("reservations/demo/cancel", {}),
            ):
                status, words = await post(ground, mallory.api.client, path, body)
                assert status == 403, words
                assert "takes the verb reserve on groups.maitred.dev in all namespaces" in words
        for fields in (
            {"name": "x" * 100_000},
            {"name": "\x1b[2J"},
            {"timeZone": "../../../etc/passwd"},
            {"every": "FREQ=DAILY;INTERVAL=1;BYDAY=" + "MO," * 10_000},
            {"nodes": {"matchLabels": {f"k{i}": "v" for i in range(5_000)}}},
            {"for": {"group": "a/" + "b" * 100_000}},
            {"until": "9999-12-31T23:59:59"},
        ):
            status, words = await post(
                ground, ground.admin.client, "reservations", asking(mallory.namespace, **fields)
            )
            assert status == 400, words
            assert words.isprintable()
            assert len(words) < 600
        system = Api(mallory.api.client, SYSTEM_NAMESPACE)
        record = {"metadata": {"name": RESERVATIONS}, "data": {"record": "{}"}}
        with pytest.raises(ApiError, match="403"):
            await system.create(CONFIG_MAPS, record)
        own = {
            "metadata": {"name": RESERVATIONS, "labels": {"maitred.dev/record": "reservations"}},
            "data": {"record": "{"},
        }
        await mallory.api.create(CONFIG_MAPS, own)
        home = Api(ground.admin.client, SYSTEM_NAMESPACE)
        assert RESERVATIONS not in [one["metadata"]["name"] for one in await home.list(CONFIG_MAPS)]
        await ground.seats_an_innocent_gang(mallory)

    ground.run(attack)
