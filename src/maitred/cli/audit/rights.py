"""What an audit reads of a cluster, and what of it the user may read."""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from maitred.explain.audit.seen import SeenPod
from maitred.kube.client import Client
from maitred.kube.discovery import Served, discover
from maitred.kube.errors import ApiError, KubeError
from maitred.kube.lists import NEEDED
from maitred.kube.resources import Resource
from maitred.model.objects import Object
from maitred.model.pod import Pod

GRANT = "maitred audit --role | kubectl apply -f - grants it"
NOBODY = "maitred-audit-probe"
"""No object is called so: a watch for it answers, and has nothing to say."""


@dataclass(frozen=True, slots=True)
class AuditedResource:
    """A resource, and what its objects are read as."""

    resource: Resource
    kind: type[Object]


async def everything(client: Client) -> list[AuditedResource]:
    """All that this server has of what an audit reads."""
    return list(audited(await discover(client)))


def audited(served: Served) -> Iterator[AuditedResource]:
    for kind, resource in served.resources.items():
        yield AuditedResource(resource, SeenPod if kind is Pod else kind)


async def readable(
    client: Client, known: Sequence[AuditedResource], verbs: Sequence[str]
) -> tuple[list[AuditedResource], tuple[str, ...]]:
    """What the user may read, and warnings about the rest. Raises KubeError where that is too little."""
    checks = [missing(client, source.resource, verb) for source in known for verb in verbs]
    lacking = [found for found in await asyncio.gather(*checks) if found is not None]
    refused = {resource for _, resource in lacking}
    if needed := [(verb, resource) for verb, resource in lacking if resource in NEEDED]:
        raise KubeError(f"you may not {told(needed)}; {GRANT}")
    warnings = tuple(
        f"you may not {verb} {resource}, so the audit assumes that there are none; {GRANT}"
        for verb, resource in lacking
    )
    return [source for source in known if source.resource not in refused], warnings


async def missing(client: Client, resource: Resource, verb: str) -> tuple[str, Resource] | None:
    """The verb, if the user may not do this."""
    params = {"limit": "1"}
    if verb == "watch":
        params = {"watch": "true", "timeoutSeconds": "1", "fieldSelector": f"metadata.name={NOBODY}"}
    try:
        await client.request("GET", resource.path(), params=params)
    except ApiError as error:
        if error.status != 403:
            raise
        return verb, resource
    return None


def told(lacking: Iterable[tuple[str, Resource]]) -> str:
    return ", ".join(f"{verb} {resource}" for verb, resource in lacking)
