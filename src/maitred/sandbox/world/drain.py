"""Emptying nodes as `kubectl drain` does: closed first, then every pod asked to leave, as budgets allow."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from maitred.kube.errors import ApiError, KubeError
from maitred.kube.resources import PODS, Resource
from maitred.model.manifest import InputError
from maitred.model.selector import LabelSelector, matches, selector_of
from maitred.model.words import counted
from maitred.sandbox.world.nodes import close
from maitred.sandbox.world.objects import Json, WorldObjects
from maitred.sandbox.world.takeover import CONTROLLED_BY
from maitred.sandbox.world.targets import name_of

BUDGETS = Resource("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
PAUSE_SECONDS = 0.5
MIRROR = "kubernetes.io/config.mirror"
MOST_SHOWN = 5

Say = Callable[[str], None]


async def drain(
    objects: WorldObjects, nodes: Sequence[Json], say: Say, *, force: bool, seconds: float
) -> None:
    """Raises InputError where pods would be lost for good, and KubeError if it is not done in time."""
    pods = [pod for node in nodes for pod in await pods_on(objects, name_of(node)) if must_leave(pod)]
    lost = [key_of(pod) for pod in pods if not (comes_back(pod) or is_finished(pod))]
    if lost and not force:
        what = f"{some(lost)}: no controller would create them again; use --force to evict them anyway"
        raise InputError("drain", "", "", what)
    await close(objects, nodes, True)
    say(f"{counted(len(nodes), 'node')} cordoned; {counted(len(pods), 'pod')} to evict")
    try:
        async with asyncio.timeout(seconds):
            await evict_all(objects, pods, say)
    except TimeoutError:
        raise KubeError(f"not drained within {seconds:.0f} s; the nodes stay cordoned") from None
    say(f"{counted(len(nodes), 'node')} drained")


async def evict_all(objects: WorldObjects, pods: Sequence[Json], say: Say) -> None:
    """Whoever is refused is asked again; whoever has agreed is waited for."""
    staying = {pod["metadata"]["uid"]: pod for pod in pods}
    asked = set[str]()
    blocked_before: list[str] = []
    while staying:
        for uid in [uid for uid in staying if uid not in asked]:
            if await evict(objects, staying[uid]):
                asked.add(uid)
        for uid in list(staying):
            if uid in asked and await has_left(objects, staying[uid]):
                say(f"evicted {key_of(staying.pop(uid))}")
        blocked = [await blockers(objects, pod) for uid, pod in staying.items() if uid not in asked]
        if blocked and blocked != blocked_before:
            say(f"waiting: {some(sorted(set(blocked)))}")
        blocked_before = blocked
        if staying:
            await asyncio.sleep(PAUSE_SECONDS)


async def evict(objects: WorldObjects, pod: Json) -> bool:
    """Whether it leaves; a budget may keep it for now."""
    metadata = pod["metadata"]
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": metadata["name"], "namespace": metadata["namespace"]},
        "deleteOptions": {"preconditions": {"uid": metadata["uid"]}},
    }
    try:
        await objects.send("POST", PODS.path(metadata["namespace"], metadata["name"], "eviction"), body)
    except ApiError as error:
        if error.status == 429:
            return False
        if not (error.is_gone or error.is_conflict):
            raise
    return True


async def has_left(objects: WorldObjects, pod: Json) -> bool:
    metadata = pod["metadata"]
    found = await objects.find(PODS.path(metadata["namespace"], metadata["name"]))
    return found is None or found["metadata"]["uid"] != metadata["uid"]


async def blockers(objects: WorldObjects, pod: Json) -> str:
    """Which budgets keep the pod: `default/web-0 is kept by budget web (2 healthy, 2 needed)`."""
    namespace, labels = pod["metadata"]["namespace"], pod["metadata"].get("labels") or {}
    kept_by = [
        f"budget {name_of(budget)} ({health(budget.get('status', {}))})"
        for budget in await objects.list(BUDGETS, namespace=namespace)
        if matches(selector_of(budget_selector(budget)), labels)
    ]
    return f"{key_of(pod)} may not be evicted yet because of {' and '.join(kept_by) or 'the server'}"


def health(status: dict[str, Any]) -> str:
    return f"{status.get('currentHealthy', 0)} healthy, {status.get('desiredHealthy', 0)} needed"


def budget_selector(budget: Json) -> LabelSelector | None:
    written = budget.get("spec", {}).get("selector")
    return None if written is None else msgspec.convert(written, LabelSelector)


# -- pods --------------------------------------------------------------------------------------------------


async def pods_on(objects: WorldObjects, node: str) -> list[Json]:
    return await objects.list(PODS, {"fieldSelector": f"spec.nodeName={node}"})


def must_leave(pod: Json) -> bool:
    """Not those that belong to the node, which would be back at once."""
    owner = controller(pod)
    return MIRROR not in (pod["metadata"].get("annotations") or {}) and (
        owner is None or owner.get("kind") != "DaemonSet"
    )


def comes_back(pod: Json) -> bool:
    """Someone would create it again; of a pod that was taken over, someone did where it comes from."""
    return controller(pod) is not None or CONTROLLED_BY in (pod["metadata"].get("annotations") or {})


def controller(pod: Json) -> dict[str, Any] | None:
    owners: list[dict[str, Any]] = pod["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), None)


def is_finished(pod: Json) -> bool:
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def key_of(pod: Json) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def some(names: Iterable[str]) -> str:
    listed = list(names)
    more = len(listed) - MOST_SHOWN
    return ", ".join(listed[:MOST_SHOWN]) + (f" and {more} more" if more > 0 else "")
