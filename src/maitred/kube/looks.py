"""How pods are doing, and what was said about them: looked up when somebody asks."""

import asyncio
import logging
from collections.abc import Collection, Iterable

from maitred.explain.why.progress import is_ready
from maitred.explain.why.seen import NOTHING_SEEN, Seen, SeenEvent, SeenPod
from maitred.kube.client import Client
from maitred.kube.errors import ApiError, KubeError
from maitred.kube.lists import list_all
from maitred.kube.resources import EVENTS, PODS
from maitred.model.group import PodGroup

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
ABOUT_PODS = "regarding.kind=Pod"
MOST_ONE_BY_ONE = 128
"""Pods that are asked for by name. A namespace may have a thousand times as many as a group has members."""
MOST_TOLD_OF = 32
"""Of those, pods that are not Ready whose events are asked for."""
IN_FLIGHT = 16


async def look(
    client: Client, namespace: str, groups: Iterable[PodGroup] = (), names: Collection[str] | None = None
) -> Seen:
    """At these pods of the namespace, or at all of them where it is not known which are meant.

    Best effort: an answer without it says so, and is an answer all the same.
    """
    some = names if names is not None and len(names) <= MOST_ONE_BY_ONE else None
    looking = _all(client, namespace) if some is None else _by_name(client, namespace, some)
    try:
        async with asyncio.timeout(LOOK_SECONDS):
            pods, events = await looking
    except (TimeoutError, KubeError, ExceptionGroup) as error:
        if isinstance(error, ExceptionGroup) and error.split(KubeError)[1] is not None:
            raise
        log.warning("the pods of namespace %s were not seen: %s", namespace, error)
        return NOTHING_SEEN
    return Seen(tuple(pods), tuple(events), tuple(groups))


async def _all(client: Client, namespace: str) -> tuple[list[SeenPod], list[SeenEvent]]:
    async with asyncio.TaskGroup() as tasks:
        pods = tasks.create_task(list_all(client, PODS, SeenPod, namespace))
        events = tasks.create_task(_events(client, namespace, ABOUT_PODS))
    return pods.result().objects, events.result()


async def _by_name(
    client: Client, namespace: str, names: Iterable[str]
) -> tuple[list[SeenPod], list[SeenEvent]]:
    turns = asyncio.Semaphore(IN_FLIGHT)

    async def pod(name: str) -> SeenPod | None:
        async with turns:
            try:
                return await client.get(PODS.path(namespace, name), SeenPod)
            except ApiError as error:
                if error.status != 404:
                    raise
                return None

    async def told(name: str) -> list[SeenEvent]:
        async with turns:
            return await _events(client, namespace, f"{ABOUT_PODS},regarding.name={name}")

    found = await asyncio.gather(*map(pod, names))
    pods = [one for one in found if one is not None]
    late = [one.metadata.name for one in pods if not is_ready(one)][:MOST_TOLD_OF]
    events = await asyncio.gather(*map(told, late))
    return pods, [event for some in events for event in some]


async def _events(client: Client, namespace: str, selector: str) -> list[SeenEvent]:
    listed = await list_all(client, EVENTS, SeenEvent, namespace, {"fieldSelector": selector})
    return listed.objects
