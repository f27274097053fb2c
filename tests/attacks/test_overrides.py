"""Attacks with overrides: without the right, on the group of another, and on what is remembered of them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import aiohttp
import pytest

from maitred.kube.answers import TOKEN_HEADER, own_token
from maitred.kube.client import Client
from maitred.kube.errors import ApiError
from maitred.kube.resources import CONFIG_MAPS, PODS
from tests.attacks.harness import GATE, Ground
from tests.scenarios.api import Api
from tests.scenarios.conftest import SYSTEM_NAMESPACE

OVERRIDES = "maitred-overrides"


async def post(ground: Ground, client: Client, path: str, body: Any) -> tuple[int, str]:
    url, headers = f"https://{ground.answers}/v1alpha1/{path}", {TOKEN_HEADER: await own_token(client)}
    async with (
        aiohttp.ClientSession() as http,
        http.post(url, json=body, headers=headers, ssl=False) as answer,
    ):
        return answer.status, (await answer.json())["message"]


def test_a_tenant_lifts_nobody_and_writes_no_override(ground: Ground) -> None:
    """An admin of a namespace has no right to override in it, and none to anything of maitred's."""

    async def attack(ground: Ground) -> None:
        mallory, victim = await ground.tenant(), await ground.tenant()
        await mallory.api.create(PODS, mallory.pod("wish", gpus=1, schedulingGates=[{"name": GATE}]))
        wish = {"reason": "because", "until": (datetime.now(UTC) + timedelta(hours=1)).isoformat()}
        for namespace in (mallory.namespace, victim.namespace, SYSTEM_NAMESPACE):
            for path in (f"overrides/{namespace}/wish", f"overrides/{namespace}/wish/end"):
                body = {} if path.endswith("/end") else wish
                status, words = await post(ground, mallory.api.client, path, body)
                assert status == 403, words
                assert "takes the verb override on groups.maitred.dev there" in words
        for reason in ("two\nlines", "\x1b[2J", "x" * 100_000, ""):
            status, words = await post(
                ground,
                ground.admin.client,
                f"overrides/{mallory.namespace}/wish",
                {**wish, "reason": reason},
            )
            assert status == 400, words
            assert words.isprintable()
        system = Api(mallory.api.client, SYSTEM_NAMESPACE)
        record = {"metadata": {"name": OVERRIDES}, "data": {"record": "{}"}}
        with pytest.raises(ApiError, match="403"):
            await system.create(CONFIG_MAPS, record)
        own = {
            "metadata": {"name": OVERRIDES, "labels": {"maitred.dev/record": "overrides"}},
            "data": {"record": "{"},
        }
        await mallory.api.create(CONFIG_MAPS, own)
        home = Api(ground.admin.client, SYSTEM_NAMESPACE)
        assert OVERRIDES not in [one["metadata"]["name"] for one in await home.list(CONFIG_MAPS)]
        await ground.seats_an_innocent_gang(mallory)

    ground.run(attack)
