"""A small imitation of the JobSet operator: it makes Jobs, and suspends and resumes them with their JobSet.

It is there for servers on which the real one does not run. It knows one replicated job of one replica, and
nothing of restarts; tests/operators has the real one.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from maitred.kube.errors import ApiError, KubeError
from maitred.kube.resources import JOBS, Resource, resource_of
from maitred.model.kinds import row_of
from maitred.model.objects import Object
from maitred.model.operators.jobset import JOB_SET_NAME, REPLICATED_JOB, JobSet
from tests.scenarios.api import Api, Json, eventually

JOB_SETS = resource_of(JobSet)
DEFINITIONS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", namespaced=False
)
OPEN = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
SECONDS_BETWEEN_LOOKS = 0.05
WORKERS = "workers"


def definition(kind: type[Object]) -> Json:
    """The least that makes a server take objects of the kind, whatever is in them."""
    row = row_of(kind)
    version = {
        "name": row.versions[0],
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": OPEN, "status": OPEN}}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{row.plural}.{row.group}"},
        "spec": {
            "group": row.group,
            "scope": "Namespaced",
            "names": {"plural": row.plural, "singular": row.name.lower(), "kind": row.name},
            "versions": [version],
        },
    }


@asynccontextmanager
async def defined(api: Api, *kinds: type[Object]) -> AsyncIterator[None]:
    """The server has these kinds, until the end of the block."""
    for kind in kinds:
        try:
            await api.create(DEFINITIONS, definition(kind))
        except ApiError as error:
            if not error.is_conflict:
                raise
        await eventually(lambda kind=kind: not_served(api, kind))  # type: ignore[misc]
    try:
        yield
    finally:
        for kind in kinds:
            await api.delete(DEFINITIONS, definition(kind)["metadata"]["name"])


async def not_served(api: Api, kind: type[Object]) -> str:
    try:
        await api.list(resource_of(kind))
    except KubeError as error:
        return str(error)
    return ""


@asynccontextmanager
async def job_set_operator(api: Api) -> AsyncIterator[None]:
    async def run() -> None:
        while True:
            try:
                for one in await api.list(JOB_SETS):
                    await follow(api, one)
            except ApiError as error:
                if not (error.is_gone or error.is_conflict):
                    raise
            await asyncio.sleep(SECONDS_BETWEEN_LOOKS)

    async with defined(api, JobSet):
        operator = asyncio.create_task(run())
        try:
            yield
        finally:
            operator.cancel()
            await asyncio.gather(operator, return_exceptions=True)


async def follow(api: Api, one: Json) -> None:
    meta, spec = one["metadata"], one["spec"]
    if "deletionTimestamp" in meta:
        return
    name, suspend = f"{meta['name']}-{WORKERS}-0", bool(spec.get("suspend"))
    job = next((job for job in await api.list(JOBS) if job["metadata"]["name"] == name), None)
    if job is None:
        await api.create(JOBS, job_of(one, name, suspend))
    elif bool(job["spec"].get("suspend")) != suspend:
        await api.patch(JOBS, name, {"spec": {"suspend": suspend}})


def job_of(one: Json, name: str, suspend: bool) -> Json:
    meta = one["metadata"]
    [several] = one["spec"]["replicatedJobs"]
    labels = {JOB_SET_NAME: meta["name"], REPLICATED_JOB: several["name"]}
    owner = {
        "apiVersion": JOB_SETS.api_version,
        "kind": JOB_SETS.kind,
        "name": meta["name"],
        "uid": meta["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    template = several["template"]["spec"]
    pods = {**template["template"], "metadata": {"labels": labels}}
    return {
        "metadata": {"name": name, "labels": labels, "ownerReferences": [owner]},
        "spec": {**template, "template": pods, "suspend": suspend},
    }
