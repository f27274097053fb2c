"""How pods are doing, and what was said about them: looked up when somebody asks."""

import asyncio
import logging
from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from maitred.explain.why.progress import is_ready
from maitred.explain.why.schedulers import lease_of
from maitred.explain.why.seen import (
    FAILED_CREATE,
    NOTHING_SEEN,
    Leases,
    Seen,
    SeenEvent,
    SeenJob,
    SeenLease,
)
from maitred.kube.client import Client
from maitred.kube.errors import ApiError, KubeError
from maitred.kube.lists import list_all
from maitred.kube.resources import EVENTS, JOBS, LEASES, PODS
from maitred.model.group import PodGroup
from maitred.model.pod import Pod

log = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
ABOUT_PODS = "regarding.kind=Pod"
REFUSED = f"reason={FAILED_CREATE}"
SYSTEM = "kube-system"
NOT_ALLOWED = "it is not known whether a scheduler of that name runs, because you may not read its Lease"
NOT_READ = "it is not known whether a scheduler of that name runs: its Lease could not be read"
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
            (pods, events), refused, jobs = await asyncio.gather(
                looking, _refusals(client, namespace), _jobs(client, namespace, names)
            )
    except (TimeoutError, KubeError, ExceptionGroup) as error:
        if isinstance(error, ExceptionGroup) and error.split(KubeError)[1] is not None:
            raise
        log.warning("the pods of namespace %s could not be read: %s", namespace, error)
        return NOTHING_SEEN
    return Seen(tuple(pods), (*events, *refused), tuple(groups), jobs)


async def _all(client: Client, namespace: str) -> tuple[list[Pod], list[SeenEvent]]:
    async with asyncio.TaskGroup() as tasks:
        pods = tasks.create_task(list_all(client, PODS, Pod, namespace))
        events = tasks.create_task(_events(client, namespace, ABOUT_PODS))
    return pods.result().objects, events.result()


async def _by_name(client: Client, namespace: str, names: Iterable[str]) -> tuple[list[Pod], list[SeenEvent]]:
    turns = asyncio.Semaphore(IN_FLIGHT)

    async def pod(name: str) -> Pod | None:
        async with turns:
            try:
                return await client.get(PODS.path(namespace, name), Pod)
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


async def _refusals(client: Client, namespace: str) -> list[SeenEvent]:
    """Why controllers could not make pods there."""
    found = await _events(client, namespace, REFUSED)
    return [event for event in found if event.about[0] != "Pod"]


async def _jobs(client: Client, namespace: str, names: Collection[str] | None) -> tuple[SeenJob, ...]:
    """What became of them, where it is not known whether there are pods; those who may not see Jobs do
    without."""
    if names is not None:
        return ()
    try:
        return tuple((await list_all(client, JOBS, SeenJob, namespace)).objects)
    except ApiError as error:
        if error.status != 403:
            raise
        return ()


async def leases_of(client: Client, home: str, schedulers: Collection[str]) -> Leases:
    """The Leases of these schedulers: in the namespace that is maitred's, or in that of the system."""
    places = [(namespace, lease_of(name)) for name in schedulers for namespace in (home, SYSTEM)]
    found, doubt = list[SeenLease](), ""
    for namespace, name in places:
        try:
            found.append(await client.get(LEASES.path(namespace, name), SeenLease))
        except ApiError as error:
            if error.status != 404:
                doubt = NOT_ALLOWED if error.status == 403 else NOT_READ
        except KubeError:
            doubt = NOT_READ
    return Leases(tuple(found), datetime.now(UTC), doubt)


async def _events(client: Client, namespace: str, selector: str) -> list[SeenEvent]:
    listed = await list_all(client, EVENTS, SeenEvent, namespace, {"fieldSelector": selector})
    return listed.objects
