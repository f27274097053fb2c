"""What all nodes and pods report: looked up when somebody asks, so that an idle scheduler pays nothing."""

import asyncio
import logging
from collections.abc import Iterable
from typing import TypeVar

from maitred.explain.health.look import FleetLook
from maitred.kube.client import Client
from maitred.kube.errors import KubeError
from maitred.kube.lists import list_all
from maitred.kube.resources import NODES, PODS, Resource
from maitred.model.group import PodGroup
from maitred.model.node import Node
from maitred.model.pod import Pod

log = logging.getLogger(__name__)

LOOK_SECONDS = 20.0
T = TypeVar("T")


async def look_at_fleet(client: Client, groups: Iterable[PodGroup] = ()) -> FleetLook:
    """Best effort: an answer without some of it says so. Nodes come last: a pod on a node that is not among
    them is on one that is gone."""
    pods = await _listed(client, PODS, Pod)
    nodes = await _listed(client, NODES, Node)
    unread = [
        f"the {what} could not be read" for what, found in (("nodes", nodes), ("pods", pods)) if found is None
    ]
    notes = [f"{words}, so this answer is without what they report; ask again" for words in unread]
    return FleetLook(tuple(nodes or ()), tuple(pods or ()), tuple(groups), tuple(notes))


async def _listed(client: Client, resource: Resource, kind: type[T]) -> list[T] | None:
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            return (await list_all(client, resource, kind)).objects
    except (TimeoutError, KubeError) as error:
        log.warning("the %s could not be read: %s", resource, error)
        return None
