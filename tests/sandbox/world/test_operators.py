"""Workloads on the sandbox: their kinds are served, and what their operators would make is made."""

import asyncio
from collections.abc import Iterator

import pytest

from maitred.cli.sandbox.loading import is_workload
from maitred.kube.client import Client
from maitred.kube.resources import PODS, resource_of
from maitred.model.job import Job
from maitred.model.kinds import OPERATED
from maitred.model.manifest import documents
from maitred.model.operators.jobset import JobSet, TrainJob
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.world.objects import Json, WorldObjects
from maitred.sandbox.world.operators import definitions, submit
from tests.controllers.answers.house import House, connection, running_house
from tests.docs.console import ROOT

EXAMPLES = sorted((ROOT / "examples/workloads").glob("*.yaml"))
WORKLOADS = [file for file in EXAMPLES if file.stem != "nodes"]


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    with running_house("127.0.0.1") as found:
        yield found


def test_every_kind_of_an_operator_can_be_served() -> None:
    found = {(one["spec"]["group"], one["spec"]["names"]["plural"]) for one in definitions()}
    assert found >= {(row.group, row.plural) for row in OPERATED}


def test_every_example_is_a_workload_and_a_dump_is_none() -> None:
    assert all(is_workload(file.read_bytes(), file.name) for file in WORKLOADS)
    assert not is_workload((ROOT / "examples/planning/cluster.yaml").read_bytes(), "dump")


def test_each_workload_gets_the_pods_of_its_operator(house: House) -> None:
    """Those of Jobs are for the Job controller to make."""

    async def act() -> None:
        async with Client(connection(house.server, house.tokens[ADMIN])) as client:
            objects, said = WorldObjects(client), list[str]()
            for body in definitions():
                await objects.apply(body)
            for file in WORKLOADS:
                await submit(objects, list(documents(file.read_bytes(), file.name)), said.append)
            pods = await objects.list(PODS, namespace="ml")
            assert {pod["metadata"]["name"] for pod in pods} >= {"ray-head", "serve-1-3", "bert-worker-3"}
            await check_chain(objects)

    async def check_chain(objects: WorldObjects) -> None:
        kinds = (Job, JobSet, TrainJob)
        job, job_set, top = [await found(objects, kind, "finetune") for kind in kinds]
        assert owner_uid(job) == job_set["metadata"]["uid"]
        assert owner_uid(job_set) == top["metadata"]["uid"]

    asyncio.run(act())


async def found(objects: WorldObjects, kind: type, prefix: str) -> Json:
    listed = await objects.list(resource_of(kind), namespace="ml")
    return next(one for one in listed if one["metadata"]["name"].startswith(prefix))


def owner_uid(body: Json) -> str:
    (owner,) = body["metadata"]["ownerReferences"]
    return str(owner["uid"])
