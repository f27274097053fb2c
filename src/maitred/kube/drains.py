"""Requests to drain nodes, read and written with the credential of whoever asks."""

from collections.abc import Sequence

from maitred.kube import bodies
from maitred.kube.client import Client
from maitred.kube.errors import ApiError, KubeError
from maitred.kube.lists import list_all
from maitred.kube.resources import CONFIG_MAPS
from maitred.model.drain import DRAIN, PREFIX, RECORD, Drain, drain_data
from maitred.model.memory import MemoryObject
from maitred.model.meta import ObjectMeta

SELECTOR = {"labelSelector": f"{RECORD}={DRAIN}"}
CONFLICT, GONE = 409, 404


async def kept_drains(client: Client, namespace: str) -> Sequence[MemoryObject]:
    """Raises ApiError where they may not be read."""
    return (await list_all(client, CONFIG_MAPS, MemoryObject, namespace, SELECTOR)).objects


async def request_drain(client: Client, namespace: str, drain: Drain) -> None:
    labels = {"app.kubernetes.io/name": "maitred", RECORD: DRAIN}
    body = bodies.config_map(f"{PREFIX}{drain.name}", labels, drain_data(drain))
    try:
        await client.request("POST", CONFIG_MAPS.path(namespace), body=body)
    except ApiError as error:
        if error.status == GONE:
            raise KubeError(
                f"there is no namespace {namespace}, where maitred would read the request: name the "
                f"namespace of the scheduler with --service NAMESPACE/NAME"
            ) from None
        if error.status != CONFLICT:
            raise
        raise KubeError(
            f"there is a request {drain.name} already: see `maitred drain --list`, or cancel it first with "
            f"`maitred drain --cancel {drain.name}`"
        ) from None


async def cancel_drain(client: Client, namespace: str, name: str) -> None:
    try:
        await client.request("DELETE", CONFIG_MAPS.path(namespace, f"{PREFIX}{name}"))
    except ApiError as error:
        if error.status != GONE:
            raise
        raise KubeError(f"there is no drain request {name}: see `maitred drain --list`") from None


def at_home(kept: MemoryObject, home: str) -> MemoryObject:
    """As a decision reads it, which knows one namespace of maitred only."""
    meta = kept.metadata
    return MemoryObject(ObjectMeta(name=meta.name, namespace=home, labels=meta.labels), kept.data)
