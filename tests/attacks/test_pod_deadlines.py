"""Whoever holds maitred's token, with the right to end pods, ends pods and makes none of them run anything
else."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import pytest
import yaml

from maitred.kube.client import Client
from maitred.kube.errors import ApiError
from maitred.kube.resources import CONFIG_MAPS, PODS
from maitred.sandbox.users import MAITRED
from tests.attacks.harness import LIMITS, Ground
from tests.scenarios.api import Api, eventually
from tests.scenarios.conftest import KINDS, RBAC, apply

Json = dict[str, Any]

NUMBERS = count(100)
"""No two alike: what changes nothing is never refused."""
RESOURCES = {**KINDS, **LIMITS}
EVIL = {"name": "main", "image": "evil"}
REFUSED: dict[str, tuple[Json, str]] = {
    "what it runs": ({"spec": {"containers": [EVIL]}}, "nothing else in its spec"),
    "what it runs, and its end": (
        {"spec": {"activeDeadlineSeconds": 40, "containers": [EVIL]}},
        "nothing else in its spec",
    ),
    "what it tolerates": (
        {"spec": {"tolerations": [{"key": "a", "operator": "Exists"}]}},
        "nothing else in its spec",
    ),
    "a label": ({"metadata": {"labels": {"a": "b"}}}, "the labels"),
    "an annotation": ({"metadata": {"annotations": {"maitred.dev/queue": "b"}}}, "the labels"),
    "a finalizer": ({"metadata": {"finalizers": ["example.com/never"]}}, "the labels"),
}
END = {"spec": {"activeDeadlineSeconds": 60}}


def body(name: str, **metadata: Any) -> Json:
    container = {"name": "main", "image": "none"}
    spec = {"containers": [container], "schedulerName": "nobody", "restartPolicy": "Never"}
    return {"metadata": {"name": name, **metadata}, "spec": spec}


@asynccontextmanager
async def may_end_pods(admin: Api) -> AsyncIterator[None]:
    files = [RBAC.parents[1] / "pods" / f"{name}.yaml" for name in ("limits", "rbac")]
    bodies = [one for file in files for one in yaml.safe_load_all(file.read_text())]
    for one in bodies:
        await apply(admin, RESOURCES[one["kind"]], one)
    try:
        yield
    finally:
        for one in bodies:
            await admin.delete(RESOURCES[one["kind"]], one["metadata"]["name"])


def test_a_stolen_token_ends_pods_and_changes_nothing_else_in_them(ground: Ground) -> None:
    async def attack(ground: Ground) -> None:
        victim = await ground.tenant("victim")
        made = await victim.api.create(CONFIG_MAPS, {"metadata": {"name": "owner"}})
        owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": made["metadata"]["uid"]}
        await victim.api.create(PODS, body("alone"))
        await victim.api.create(PODS, body("owned", ownerReferences=[{**owner, "controller": True}]))
        system = Api(ground.admin.client, "kube-system")
        await system.create(PODS, body("critical"))
        try:
            async with may_end_pods(ground.admin), Client(ground.plane.connection(MAITRED)) as client:
                await tries(Api(client, victim.namespace), Api(client, "kube-system"))
        finally:
            await system.delete(PODS, "critical")

    ground.run(attack)


async def tries(thief: Api, in_system: Api) -> None:
    await eventually(lambda: not_yet_limited(thief))
    for change, words in REFUSED.values():
        with pytest.raises(ApiError, match=words) as refusal:
            await thief.patch(PODS, "alone", change)
        assert refusal.value.status == 422
    found = await thief.patch(PODS, "alone", END)
    assert found["spec"]["activeDeadlineSeconds"] == 60
    assert found["spec"]["containers"][0]["image"] == "none"
    with pytest.raises(ApiError, match="no pod that somebody controls"):
        await thief.patch(PODS, "owned", END)
    with pytest.raises(ApiError, match="no pod in a namespace of the system"):
        await in_system.patch(PODS, "critical", END)


async def not_yet_limited(thief: Api) -> str:
    """Rights take a moment to be there, and so does the policy that limits them."""
    try:
        await thief.patch(PODS, "alone", {"metadata": {"labels": {"try": str(next(NUMBERS))}}})
    except ApiError as error:
        return "" if error.status == 422 else str(error)
    return "the policy is not in force"
