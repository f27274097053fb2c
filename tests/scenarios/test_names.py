"""Two tenants push each other off the nodes, and neither reads a name of the other in their namespace."""

import json
import secrets

import pytest

from maitred.kube.resources import EVENTS, NAMESPACES, PODS, Resource
from maitred.model.suspension import SUSPENDED
from tests.scenarios.api import Api, Json, eventually
from tests.scenarios.dialect import pod_bodies
from tests.scenarios.objects import Group, Job, Pods, members, nodes
from tests.scenarios.preemption import HIGH, LOW, TOP, ranked
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Bound, Create, Running

OWN, STRANGE = "okapi", "zebra"
"""Each is in every name of one tenant, and in no other."""
JOB = Job(f"{OWN}-job", 2, spec=ranked(LOW))
LONE = Pods(f"{OWN}-lone", spec=ranked(LOW))
LATE = Pods(f"{OWN}-late", spec=ranked(TOP))
GANG = Group(f"{STRANGE}-gang", quorum=3, rank="high", whole=True)
STRANGERS = members(GANG, 3, spec=ranked(HIGH))


@pytest.fixture
def scenario() -> Scenario:
    return Scenario("tenants who do not know each other", nodes(1, cpu=3), ())


def test_no_object_in_a_namespace_names_anything_of_another(server: Server, scenario: Scenario) -> None:
    async def act(stage: Stage) -> None:
        strange = Api(stage.api.client, f"{STRANGE}-{secrets.token_hex(4)}")
        await strange.create(NAMESPACES, {"metadata": {"name": strange.namespace}})
        try:
            own = [*await make_way(stage, strange), *await take_back(stage, strange)]
            assert_unnamed(own, STRANGE)
            assert_unnamed(await everything_in(strange), OWN)
            told = json.dumps(own)
            assert "evicted for a group in another namespace (priority 100 > 10)" in told
            assert "3 pods in other namespaces" in told
        finally:
            for resource in (PODS, stage.served.groups):
                if resource is not None:
                    await strange.delete_all(resource)
            await strange.delete(NAMESPACES, strange.namespace)

    play(server, scenario, act)


async def make_way(stage: Stage, strange: Api) -> list[Json]:
    """Strangers take the places of a Job, which is suspended, and of a lone pod. What we can read then."""
    stage.start()
    await stage.play(Create(LOW, HIGH, TOP, JOB, LONE), Running(JOB), Running(LONE))
    declared = stage.dialect.declare(GANG)
    if declared is not None and stage.served.groups is not None:
        await strange.create(stage.served.groups, declared)
    for body in pod_bodies(STRANGERS, stage.dialect):
        await strange.create(PODS, body)
    subjects = {f"Job/{JOB.name}", f"Pod/{LONE.name}-0", *(f"Pod/{JOB.name}-{n}" for n in range(JOB.size))}
    await eventually(lambda: untold(stage.api, "Preempted", subjects, prefix=True))
    await eventually(lambda: waiting_in(strange))
    found = await everything_in(stage.api)
    assert any(SUSPENDED in item["metadata"].get("annotations", {}) for item in found)
    return found


async def take_back(stage: Stage, strange: Api) -> list[Json]:
    """One of ours takes the place of the strangers. What we can read then."""
    await stage.play(Create(LATE), Bound(LATE))
    await eventually(lambda: untold(strange, "Preempted", {f"Pod/{name}" for name in STRANGERS.names}))
    await eventually(lambda: untold(stage.api, "Preempting", {f"Pod/{LATE.name}-0"}))
    return await everything_in(stage.api)


async def untold(api: Api, reason: str, subjects: set[str], prefix: bool = False) -> str:
    """Of whom no such Event was written yet; pods of a Job have names that begin like this."""
    events = [event for event in await api.list(EVENTS) if event["reason"] == reason]
    told = {f"{event['regarding']['kind']}/{event['regarding']['name']}" for event in events}
    missing = {one for one in subjects if one not in told}
    if prefix:
        missing = {one for one in missing if not any(name.startswith(f"{one}-") for name in told)}
    return f"no Event {reason} on {sorted(missing)}" if missing else ""


async def waiting_in(api: Api) -> str:
    return ", ".join(pod["metadata"]["name"] for pod in await api.list(PODS) if "nodeName" not in pod["spec"])


async def everything_in(api: Api) -> list[Json]:
    """Every object of every kind in the namespace, as it is served."""
    found = list[Json]()
    for resource in await kinds(api):
        found += await api.list(resource)
    assert found
    return found


async def kinds(api: Api) -> list[Resource]:
    """All that can be listed in a namespace."""
    groups = (await api.client.get("/apis", dict))["groups"]
    versions = ["v1", *(version["groupVersion"] for group in groups for version in group["versions"])]
    found = list[Resource]()
    for name in versions:
        group, _, version = name.rpartition("/")
        path = f"/apis/{name}" if group else f"/api/{name}"
        for kind in (await api.client.get(path, dict))["resources"]:
            if kind["namespaced"] and "list" in kind["verbs"]:
                found.append(Resource(group, version, kind["name"], kind["kind"]))
    return found


def assert_unnamed(objects: list[Json], marker: str) -> None:
    telling = [item for item in objects if marker in json.dumps(item)]
    assert not telling, json.dumps(telling, indent=1)
