"""How the pods of a namespace are doing, and what was said about them: looked up when somebody asks."""

import asyncio
import logging
from collections.abc import Iterable

from maitred.explain.why.seen import NOTHING_SEEN, Seen, SeenEvent, SeenPod
from maitred.kube.client import Client
from maitred.kube.errors import KubeError
from maitred.kube.lists import list_all
from maitred.kube.resources import EVENTS, PODS
from maitred.model.group import PodGroup

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
ABOUT_PODS = {"fieldSelector": "regarding.kind=Pod"}


async def look(client: Client, namespace: str, groups: Iterable[PodGroup] = ()) -> Seen:
    """Best effort: an answer without it says so, and is an answer all the same."""
    try:
        async with asyncio.timeout(LOOK_SECONDS), asyncio.TaskGroup() as tasks:
            pods = tasks.create_task(list_all(client, PODS, SeenPod, namespace))
            events = tasks.create_task(list_all(client, EVENTS, SeenEvent, namespace, ABOUT_PODS))
    except (TimeoutError, ExceptionGroup) as error:
        if isinstance(error, ExceptionGroup) and error.split(KubeError)[1] is not None:
            raise
        log.warning("the pods of namespace %s were not seen: %s", namespace, error)
        return NOTHING_SEEN
    return Seen(tuple(pods.result().objects), tuple(events.result().objects), tuple(groups))
