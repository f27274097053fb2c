"""What verbs ask a cluster about operators: which are there, and which templates their objects refer to."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maitred.cli.asking import ClusterOptions
from maitred.cli.connecting import connection
from maitred.cli.files import sources
from maitred.explain.proposal.expansion import RuntimeName, is_runtime
from maitred.kube.errors import ApiError
from maitred.model.manifest import Reader, documents
from maitred.model.objects import Object
from maitred.model.operators.runtimes import AnyRuntime, TrainingRuntime
from maitred.model.owners import OwnerKind

if TYPE_CHECKING:
    from maitred.kube.client import Client

BUILT_IN = ("", "apps", "batch")
"""API groups of kinds whose controllers every cluster has."""


@dataclass(frozen=True, slots=True)
class Looked:
    runtimes: tuple[Object, ...] = ()
    """Those that were asked for and are there."""
    unserved: tuple[OwnerKind, ...] = ()
    """Kinds that the API server does not have."""


def not_installed(kind: OwnerKind) -> str:
    return f"no operator for {kind.title} is installed in this cluster: nothing will create its pods"


def look(cluster: ClusterOptions, kinds: Iterable[OwnerKind], runtimes: Sequence[RuntimeName]) -> Looked:
    """A dump does not tell which operators there are. Raises InputError and KubeError."""
    operated = list({kind.title: kind for kind in kinds if kind.group not in BUILT_IN}.values())
    if cluster.files:
        return Looked(tuple(in_dump(cluster.files, runtimes)) if runtimes else ())
    if not operated and not runtimes:
        return Looked()
    return asyncio.run(in_cluster(cluster, operated, runtimes))


def in_dump(paths: Sequence[str], wanted: Sequence[RuntimeName]) -> list[Object]:
    """Standard input can be read only once, and not here."""
    reader = Reader()
    for source, data in sources(path for path in paths if path != "-"):
        for document in documents(data, source):
            if is_runtime(document):
                reader.take(document)
    names = {(one.kind, one.namespace, one.name) for one in wanted}
    return [item for item in reader.objects if name_of(item) in names]


def name_of(item: Object) -> tuple[type[Object], str, str]:
    namespace = item.metadata.namespace or "default" if isinstance(item, TrainingRuntime) else ""
    return type(item), namespace, item.metadata.name


async def in_cluster(
    cluster: ClusterOptions, kinds: Sequence[OwnerKind], wanted: Sequence[RuntimeName]
) -> Looked:
    from maitred.kube.client import Client
    from maitred.kube.discovery import resources_of

    async with Client(connection(cluster.kubeconfig, cluster.context)) as client:
        served = await resources_of(client, {kind.group for kind in kinds})
        there = {(one.group, one.kind) for one in served}
        found = [await runtime(client, one) for one in wanted]
    return Looked(
        tuple(one for one in found if one is not None),
        tuple(kind for kind in kinds if (kind.group, kind.kind) not in there),
    )


async def runtime(client: "Client", wanted: RuntimeName) -> AnyRuntime | None:
    from maitred.kube.resources import resource_of

    path = resource_of(wanted.kind).path(wanted.namespace, wanted.name)
    try:
        return await client.get(path, wanted.kind)
    except ApiError as error:
        if error.status in (403, 404):
            return None
        raise
