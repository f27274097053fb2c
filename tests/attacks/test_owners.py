"""Attacks with the objects of operators: made-up owners, owners that nobody stops, and maitred's own token.

No operator runs here, so a tenant can say what it likes in such objects, and nobody acts on it.
"""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from maitred.kube.client import Client
from maitred.kube.errors import ApiError
from maitred.kube.resources import PODS, resource_of
from maitred.model.objects import Object
from maitred.model.operators.jobset import JobSet
from maitred.model.operators.kueue import KueueWorkload
from maitred.model.operators.ray import RayCluster
from maitred.model.suspension import SUSPENDED
from maitred.model.training import MPIJob
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.users import MAITRED
from tests.attacks.harness import GANG, NODES, Ground, Tenant, binding
from tests.controllers.owners.made import record
from tests.oracle.builders import gang
from tests.scenarios.api import Api, eventually
from tests.scenarios.conftest import KINDS
from tests.scenarios.small_operator import DEFINITIONS, defined, definition

Json = dict[str, Any]

OPERATED: tuple[type[Object], ...] = (JobSet, RayCluster, MPIJob, KueueWorkload)
MOST = 2**31 - 1
LONG_ENOUGH = 180.0
"""For pods to stay until they count as running again, and to be deleted then."""


@pytest.fixture(scope="module")
def kinds(control_plane: ControlPlane) -> Iterator[None]:
    async def define() -> None:
        async with Client(control_plane.connection(ADMIN)) as client:
            context = defined(Api(client, "default"), *OPERATED)
            await context.__aenter__()

    async def forget() -> None:
        async with Client(control_plane.connection(ADMIN)) as client:
            for kind in OPERATED:
                await Api(client, "default").delete(DEFINITIONS, definition(kind)["metadata"]["name"])

    asyncio.run(define())
    yield
    asyncio.run(forget())


async def tenant(ground: Ground) -> Tenant:
    """Who may also write the objects of operators."""
    made = await ground.tenant()
    admin = Api(ground.admin.client, made.namespace)
    groups = sorted({resource_of(kind).group for kind in OPERATED})
    rule = {"apiGroups": groups, "resources": ["*"], "verbs": ["*"]}
    await admin.create(KINDS["Role"], {"metadata": {"name": "operated"}, "rules": [rule]})
    await admin.create(KINDS["RoleBinding"], binding("operated", "Role", made.namespace))

    async def refused() -> str:
        try:
            await made.api.list(resource_of(JobSet))
        except ApiError as error:
            return str(error)
        return ""

    await eventually(refused)
    return made


def body(kind: type[Object], name: str, spec: Json, **meta: Any) -> Json:
    resource = resource_of(kind)
    return {
        "apiVersion": resource.api_version,
        "kind": resource.kind,
        "metadata": {"name": name, **meta},
        "spec": spec,
    }


def test_owners_of_any_size_that_say_we_have_suspended_them_hold_no_node(ground: Ground) -> None:
    async def attack(ground: Ground) -> None:
        mallory = await tenant(ground)
        template = {"spec": mallory.pod("x")["spec"]}
        workers = {"groupName": "w", "replicas": MOST, "numOfHosts": MOST, "template": template}
        job = {"spec": {"parallelism": MOST, "completions": MOST, "template": template}}
        specs: dict[type[Object], Json] = {
            JobSet: {"replicatedJobs": [{"name": "w", "replicas": MOST, "template": job}]},
            RayCluster: {"headGroupSpec": {"template": template}, "workerGroupSpecs": [workers]},
        }
        line = {"annotations": {SUSPENDED: str(record(members=NODES))}}
        for number in range(10):
            for kind, spec in specs.items():
                made = body(kind, f"forged-{number}", {**spec, "suspend": True}, **line)
                await mallory.api.create(resource_of(kind), made)
        await ground.seats_an_innocent_gang(mallory)
        for kind in specs:
            found = await mallory.api.get(resource_of(kind), "forged-0")
            assert found["spec"]["suspend"], "it is not ours to resume"

    ground.run(attack)


def test_pods_of_an_owner_that_nobody_stops_make_room_all_the_same(ground: Ground) -> None:
    """They say that a RayCluster controls them, which is suspended for them and whose pods nobody deletes."""

    async def attack(ground: Ground) -> None:
        mallory = await tenant(ground)
        resource = resource_of(RayCluster)
        workers = {"groupName": "w", "replicas": NODES - 1, "template": {"spec": mallory.pod("x")["spec"]}}
        spec = {"headGroupSpec": {"template": workers["template"]}, "workerGroupSpecs": [workers]}
        cluster = await mallory.api.create(resource, body(RayCluster, "fake", spec))
        owner = {
            "apiVersion": resource.api_version,
            "kind": resource.kind,
            "name": "fake",
            "uid": cluster["metadata"]["uid"],
            "controller": True,
        }
        for number in range(NODES):
            made = mallory.pod(
                f"stays-{number}", metadata={"ownerReferences": [owner]}, priorityClassName="attack-low"
            )
            await mallory.api.create(PODS, made)
        await eventually(lambda: not_all_bound(mallory.api))
        innocent = await ground.tenant("innocent")
        marks = {"annotations": gang("quiet", GANG)}
        for number in range(GANG):
            pod = innocent.pod(f"quiet-{number}", metadata=marks, priorityClassName="attack-high")
            await innocent.api.create(PODS, pod)
        await eventually(lambda: not_all_bound(innocent.api, GANG), LONG_ENOUGH)
        assert "stays-0 was evicted and is still there" in ground.scheduler.log(), "it was asked first"

    ground.run(attack)


async def not_all_bound(api: Api, wanted: int = NODES) -> str:
    bound = sum(bool(pod["spec"].get("nodeName")) for pod in await api.list(PODS))
    return "" if bound == wanted else f"{bound} of {wanted} are bound"


# -- the token -----------------------------------------------------------------------------------------------

BY_FIELD: dict[type[Object], tuple[Json, Json, Json]] = {
    JobSet: ({"network": {}}, {"suspend": True}, {"network": {"enableDNSHostnames": True}}),
    MPIJob: (
        {"runPolicy": {"cleanPodPolicy": "All"}},
        {"runPolicy": {"suspend": True}},
        {"runPolicy": {"cleanPodPolicy": "None"}},
    ),
    KueueWorkload: ({"queueName": "q"}, {"active": False}, {"queueName": "other"}),
}
"""What is there, what maitred may change, and what it may not."""


@pytest.mark.parametrize("kind", BY_FIELD, ids=lambda kind: kind.__name__)
def test_a_stolen_token_changes_one_field_of_an_owner(ground: Ground, kind: type[Object]) -> None:
    async def attack(ground: Ground) -> None:
        victim, resource = await tenant(ground), resource_of(kind)
        there, allowed, refused = BY_FIELD[kind]
        await victim.api.create(resource, body(kind, "one", there, labels={"team": "a"}))
        async with Client(ground.plane.connection(MAITRED)) as client:
            thief = Api(client, victim.namespace)
            await eventually(lambda: not_limited(thief, kind, refused))
            for change in ({"metadata": {"labels": {"team": "b"}}}, {"spec": refused}, {"spec": {"more": 1}}):
                with pytest.raises(ApiError, match="maitred may") as refusal:
                    await thief.patch(resource, "one", change)
                assert refusal.value.status == 422
            line = {"annotations": {SUSPENDED: "for others"}}
            found = await thief.patch(resource, "one", {"spec": allowed, "metadata": line})
            assert found["metadata"]["annotations"] == line["annotations"]

    ground.run(attack)


async def not_limited(thief: Api, kind: type[Object], change: Json) -> str:
    """Rights take a moment to be there, and so does the policy that limits them."""
    try:
        await thief.patch(resource_of(kind), "one", {"spec": change})
    except ApiError as error:
        return "" if error.status == 422 else str(error)
    return "the policy is not in force"
