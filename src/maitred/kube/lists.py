"""A cluster as it is at one moment: everything that a decision reads, listed once."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from maitred.kube.client import Client, Params, decoder
from maitred.kube.discovery import Served, discover
from maitred.kube.errors import ApiError
from maitred.kube.reflector import LIST_SECONDS, PAGE, ListPage
from maitred.kube.resources import (
    BUDGETS,
    CSI_NODES,
    JOBS,
    NAMESPACES,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    STORAGE_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
    Resource,
)
from maitred.kube.wire import look_again
from maitred.model.budget import PodDisruptionBudget
from maitred.model.device import DeviceClass
from maitred.model.group import CompositePodGroup, PodGroup
from maitred.model.job import Job
from maitred.model.meta import Namespace
from maitred.model.node import Node
from maitred.model.objects import Object
from maitred.model.pod import Pod
from maitred.model.priority import PriorityClass
from maitred.model.storage import (
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    VolumeAttachment,
)

T = TypeVar("T")
_EVERYTHING: Params = {}

PLAIN: tuple[tuple[Resource, type[Object]], ...] = (
    (NODES, Node),
    (NAMESPACES, Namespace),
    (PRIORITY_CLASSES, PriorityClass),
    (BUDGETS, PodDisruptionBudget),
    (VOLUME_CLAIMS, PersistentVolumeClaim),
    (VOLUMES, PersistentVolume),
    (STORAGE_CLASSES, StorageClass),
    (CSI_NODES, CSINode),
)
"""What goes to the state as it is, on every server; pods, groups and Jobs come on top."""
NEEDED = (PODS, NODES)
"""Without these there is nothing to say; without others, less."""


@dataclass(frozen=True, slots=True)
class Listed(Generic[T]):
    objects: list[T]
    warnings: tuple[str, ...]
    group_api: bool | None = None
    """Whether the API server has PodGroups, where it was asked for."""


async def list_cluster(client: Client) -> Listed[Object]:
    """Raises ApiError where pods or nodes may not be listed; for the rest, a warning says what is missing."""
    served = await discover(client)
    kinds = list(read_by_decisions(served))
    async with asyncio.TaskGroup() as tasks:
        lists = [tasks.create_task(list_some(client, resource, kind)) for resource, kind in kinds]
    found = [one.result() for one in lists]
    return Listed(
        [item for one in found for item in one.objects],
        tuple(warning for one in found for warning in one.warnings),
        served.groups is not None,
    )


def read_by_decisions(served: Served) -> Iterator[tuple[Resource, type[Object]]]:
    yield PODS, Pod
    yield JOBS, Job
    yield from PLAIN
    if served.groups is not None:
        yield served.groups, PodGroup
    if served.composites is not None:
        yield served.composites, CompositePodGroup
    yield from served_plain(served)


def served_plain(served: Served) -> Iterator[tuple[Resource, type[Object]]]:
    """What goes to the state as it is, where the server has it."""
    known: tuple[tuple[Resource | None, type[Object]], ...] = (
        (served.csi_drivers, CSIDriver),
        (served.attachments, VolumeAttachment),
        (served.device_classes, DeviceClass),
    )
    for resource, kind in known:
        if resource is not None:
            yield resource, kind


async def list_some(client: Client, resource: Resource, kind: type[Object]) -> Listed[Object]:
    try:
        return await list_all(client, resource, kind)
    except ApiError as error:
        if error.status != 403 or resource in NEEDED:
            raise
    return Listed([], (f"{resource}: you may not list them, so this answer assumes that there are none",))


async def list_all(
    client: Client, resource: Resource, kind: type[T], namespace: str = "", selector: Params = _EVERYTHING
) -> Listed[T]:
    """In pages of one moment. Where that moment is forgotten too soon, anew in one piece."""
    path = resource.path(namespace)
    try:
        items = await raw_items(client, path, {**selector, "limit": str(PAGE)})
    except ApiError as error:
        if not error.is_expired:
            raise
        items = await raw_items(client, path, selector)
    found = [read(item, kind, resource) for item in items]
    return Listed(
        [item for item, _ in found if item is not None], tuple(fault for _, fault in found if fault)
    )


async def raw_items(client: Client, path: str, params: Params) -> list[msgspec.Raw]:
    items, rest = list[msgspec.Raw](), ""
    while True:
        more = {**params, **({"continue": rest} if rest else {})}
        page = await client.get(path, ListPage, params=more, seconds=LIST_SECONDS)
        items += page.items or ()
        rest = page.metadata.rest
        if not rest:
            return items


def read(raw: msgspec.Raw, kind: type[T], resource: Resource) -> tuple[T | None, str]:
    """The object, if it can be read, and what is wrong with it, if anything is."""
    try:
        return decoder(kind).decode(raw), ""
    except (msgspec.DecodeError, UnicodeDecodeError):
        item, faults = look_again(raw, kind)
    outcome = "is ignored" if item is None else "is read in part"
    return item, f"{resource}: one object {outcome}, because it is not valid: {faults}" if faults else ""
