"""A cluster as it is at one moment: everything that a decision reads, listed once."""

import asyncio
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from maitred.kube.client import Client, Params, decoder
from maitred.kube.discovery import discover
from maitred.kube.errors import ApiError
from maitred.kube.nesting import UNREADABLE, decode
from maitred.kube.reflector import LIST_SECONDS, PAGE, ListPage
from maitred.kube.resources import NODES, PODS, Resource
from maitred.kube.wire import look_again
from maitred.model.objects import Object

T = TypeVar("T")
_EVERYTHING: Params = {}

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
    async with asyncio.TaskGroup() as tasks:
        lists = [
            tasks.create_task(list_some(client, resource, kind))
            for kind, resource in served.resources.items()
        ]
    found = [one.result() for one in lists]
    return Listed(
        [item for one in found for item in one.objects],
        tuple(warning for one in found for warning in one.warnings),
        served.groups is not None,
    )


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
        return decode(decoder(kind), raw), ""
    except UNREADABLE:
        item, faults = look_again(raw, kind)
    outcome = "is ignored" if item is None else "is read in part"
    return item, f"{resource}: one object {outcome}, because it is not valid: {faults}" if faults else ""
