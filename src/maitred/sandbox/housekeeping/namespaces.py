"""A namespace that is being deleted is emptied, and when nothing is left in it, it is let go."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass

from maitred.kube.errors import ApiError
from maitred.kube.resources import NAMESPACES, Resource
from maitred.model.meta import Lean
from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.cache import ObjectCache, key_of
from maitred.sandbox.housekeeping.kinds import served_kinds
from maitred.sandbox.housekeeping.objects import Json, Namespace
from maitred.sandbox.housekeeping.work import WorkQueue

log = logging.getLogger(__name__)

FINALIZER = "kubernetes"
LOOK_SECONDS = (0.2, 10.0)
"""Until the next look at what is left, shorter first: pods end, finalizers go."""


class ListedItem(Lean, frozen=True):
    pass


class ListedItems(Lean, frozen=True):
    items: tuple[ListedItem, ...] = ()


@dataclass(frozen=True, slots=True)
class Left:
    """What a namespace still had at the last look. While it has it, nothing else need be looked for."""

    resources: list[Resource]
    looks: int = 0


class NamespaceController:
    def __init__(self, stock: ObjectCache, api: ControllerApi) -> None:
        self._api = api
        self._namespaces = stock.shelf(NAMESPACES, Namespace)
        self._left: dict[str, Left] = {}
        self._queue = WorkQueue("namespace", self._empty)
        self._namespaces.listen(self._told)

    async def run(self) -> None:
        await self._queue.run()

    def _told(self, old: Namespace | None, new: Namespace | None) -> None:
        if new is not None and new.metadata.deletion_timestamp is not None:
            self._queue.add(key_of(new.metadata))

    async def _empty(self, key: str) -> None:
        namespace = self._namespaces.items.get(key)
        if namespace is None or FINALIZER not in namespace.spec.finalizers:
            self._left.pop(key, None)
            return
        left = self._left.get(key)
        if left is None or not await self._delete_each(key, left.resources):
            left = Left(await self._delete_each(key, await self._resources()))
        if not left.resources:
            await self._finalize(namespace)
            return
        log.debug("namespace %s: still has %s", key, ", ".join(map(str, left.resources)))
        shortest, longest = LOOK_SECONDS
        self._queue.add_after(key, min(shortest * 2.0**left.looks, longest))
        self._left[key] = Left(left.resources, left.looks + 1)

    async def _delete_each(self, key: str, resources: Iterable[Resource]) -> list[Resource]:
        """Those of which some are left."""
        return [resource for resource in resources if await self._delete_all(key, resource)]

    async def _resources(self) -> Iterable[Resource]:
        """As served now: what was defined a moment ago may have objects, too."""
        kinds = await served_kinds(self._api.client)
        return [resource for resource in kinds.that_can("list", "deletecollection") if resource.namespaced]

    async def _delete_all(self, namespace: str, resource: Resource) -> bool:
        """Whether any is left after all were asked to go."""
        path = resource.path(namespace)
        try:
            if not await self._any(path):
                return False
            await self._api.send("DELETE", path, {"propagationPolicy": "Background"})
            return await self._any(path)
        except ApiError as error:
            if error.is_gone or error.status == 405:
                return False  # The resource itself has gone meanwhile.
            raise

    async def _any(self, path: str) -> bool:
        listed = await self._api.client.get(path, ListedItems, params={"limit": "1"})
        return bool(listed.items)

    async def _finalize(self, namespace: Namespace) -> None:
        left = [finalizer for finalizer in namespace.spec.finalizers if finalizer != FINALIZER]
        metadata = {
            "name": namespace.metadata.name,
            "uid": namespace.metadata.uid,
            "resourceVersion": namespace.metadata.resource_version,
        }
        body: Json = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": metadata,
            "spec": {"finalizers": left},
        }
        path = NAMESPACES.path(name=namespace.metadata.name, subresource="finalize")
        await self._api.send("PUT", path, body)
