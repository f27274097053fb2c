"""Objects whose owners are gone go too; owners that are to go last wait for them.

An owner counts as gone only when the server itself has said so: one watch may be behind another. An owner of
a kind that is not served can be neither gone nor there, and what names it is left alone.
"""

import asyncio
from collections.abc import Collection
from functools import partial

from maitred.kube.errors import ApiError, KubeError
from maitred.kube.resources import Resource
from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.cache import ObjectCache
from maitred.sandbox.housekeeping.graph import FOREGROUND, ORPHAN, Graph, Thing
from maitred.sandbox.housekeeping.kinds import Kinds, served_kinds
from maitred.sandbox.housekeeping.objects import Anything, Json, Meta, Owner, WithMeta
from maitred.sandbox.housekeeping.work import WorkQueue

NEVER_COLLECTED = "events"
DISCOVERY_SECONDS = 30.0
CATCH_UP_SECONDS = 0.2
"""For the watch of an owner to tell what that of its dependent has told."""
MOST_ABSENT = 4096


class Garbage:
    """Make it last: it watches all kinds that nobody else does."""

    def __init__(self, stock: ObjectCache, api: ControllerApi, kinds: Kinds) -> None:
        self._stock = stock
        self._api = api
        self._kinds = kinds
        self._graph = Graph()
        self._absent: dict[str, None] = {}
        """UIDs of owners that the server does not have, the latest."""
        self._queue = WorkQueue("garbage", self._attend)
        for resource in collected(kinds):
            stock.shelf(resource, Anything).listen(partial(self._told, resource))

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._queue.run())
            tasks.create_task(self._discover())

    async def _discover(self) -> None:
        """Anyone may define new kinds at any time."""
        while True:
            await asyncio.sleep(DISCOVERY_SECONDS)
            try:
                self._kinds = await served_kinds(self._api.client)
            except KubeError:
                continue  # The next look is soon.
            for resource in collected(self._kinds):
                shelf = self._stock.add(resource, Anything)
                if shelf is not None:
                    shelf.listen(partial(self._told, resource))

    # -- what happened ---------------------------------------------------------------------------------

    def _told(self, resource: Resource, old: WithMeta | None, new: WithMeta | None) -> None:
        if old is not None and (new is None or new.metadata.uid != old.metadata.uid):
            self._gone(old.metadata)
            old = None
        if new is not None:
            self._put(Thing(resource, new.metadata), None if old is None else old.metadata)

    def _gone(self, metadata: Meta) -> None:
        self._graph.remove(metadata.uid)
        for dependent in self._graph.dependents(metadata.uid):
            self._queue.add(dependent.metadata.uid)
        self._wake_waiting_owners(metadata)

    def _put(self, thing: Thing, before: Meta | None) -> None:
        self._graph.put(thing)
        metadata = thing.metadata
        if before is None or before.owner_references != metadata.owner_references:
            if before is not None:
                self._wake_waiting_owners(before)
            owners = list(self._graph.owners(metadata))
            known = len(owners) == len(metadata.owner_references)
            if not known or any(owner.waits_for_dependents for owner in owners):
                self._queue.add_after(metadata.uid, CATCH_UP_SECONDS)
        if thing.leaves_orphans or thing.waits_for_dependents:
            self._queue.add(metadata.uid)
        if thing.waits_for_dependents and (before is None or before.deletion_timestamp is None):
            for dependent in self._graph.dependents(metadata.uid):
                self._queue.add(dependent.metadata.uid)

    def _wake_waiting_owners(self, metadata: Meta) -> None:
        for owner in self._graph.owners(metadata):
            if owner.waits_for_dependents:
                self._queue.add(owner.metadata.uid)

    # -- one object ------------------------------------------------------------------------------------

    async def _attend(self, uid: str) -> None:
        thing = self._graph[uid]
        if thing is None:
            return
        if thing.leaves_orphans:
            await self._orphan(thing)
        elif thing.waits_for_dependents:
            await self._finish(thing)
        elif thing.metadata.deletion_timestamp is None and thing.metadata.owner_references:
            await self._judge(thing)

    async def _orphan(self, owner: Thing) -> None:
        """Those that it owns are not to follow it: they forget it first."""
        uid = owner.metadata.uid
        for dependent in self._graph.dependents(uid):
            await self._forget_owners(dependent, {uid})
        await self._api.remove_finalizer(owner.resource, owner.metadata, ORPHAN)

    async def _finish(self, owner: Thing) -> None:
        """It waits for those dependents that insist on being waited for."""
        uid = owner.metadata.uid
        blocking = [
            dependent
            for dependent in self._graph.dependents(uid)
            if (reference := dependent.reference_to(uid)) is not None and reference.block_owner_deletion
        ]
        if not blocking:
            await self._api.remove_finalizer(owner.resource, owner.metadata, FOREGROUND)
        for dependent in blocking:
            if dependent.metadata.deletion_timestamp is None:
                self._queue.add(dependent.metadata.uid)

    async def _judge(self, thing: Thing) -> None:
        """An object stays as long as one of its owners does."""
        solid, gone, waiting = set[str](), set[str](), set[str]()
        for reference in thing.metadata.owner_references:
            owner = await self._owner(thing, reference)
            if owner is None:
                gone.add(reference.uid)
            elif owner.waits_for_dependents:
                waiting.add(reference.uid)
            else:
                solid.add(reference.uid)
        if not solid:
            await self._collect(thing, bool(waiting))
        elif gone or waiting:
            await self._forget_owners(thing, gone | waiting)

    async def _collect(self, thing: Thing, owner_waits: bool) -> None:
        metadata = thing.metadata
        dependents = self._graph.dependents(metadata.uid)
        policy = "Background"
        if owner_waits and dependents:
            policy = "Foreground"
            if any(dependent.waits_for_dependents for dependent in dependents):
                await self._unblock(thing)  # Or each of a circle would wait for the next.
                return
        elif ORPHAN in metadata.finalizers:
            policy = "Orphan"
        elif FOREGROUND in metadata.finalizers:
            policy = "Foreground"
        await self._api.delete(thing.resource, metadata, policy=policy, unchanged=True)

    async def _unblock(self, thing: Thing) -> None:
        blocking = [owner for owner in thing.metadata.owner_references if owner.block_owner_deletion]
        if blocking:
            references = [written(owner, blocks=False) for owner in thing.metadata.owner_references]
            await self._write_owners(thing, references)
        else:
            await self._api.delete(thing.resource, thing.metadata, policy="Foreground", unchanged=True)

    async def _forget_owners(self, thing: Thing, uids: Collection[str]) -> None:
        owners = thing.metadata.owner_references
        left = [written(owner, owner.block_owner_deletion) for owner in owners if owner.uid not in uids]
        await self._write_owners(thing, left)

    async def _write_owners(self, thing: Thing, references: list[Json]) -> None:
        body = {"metadata": {"ownerReferences": references}}
        try:
            await self._api.merge(thing.resource, thing.metadata, body, Anything)
        except ApiError as error:
            if not error.is_gone:
                raise

    # -- owners ----------------------------------------------------------------------------------------

    async def _owner(self, thing: Thing, reference: Owner) -> Thing | None:
        """None if there is no such object; the thing itself where that cannot be told."""
        known = self._graph[reference.uid]
        if known is not None:
            return known if known.metadata.namespace in ("", thing.metadata.namespace) else None
        if reference.uid in self._absent:
            return None
        resource = self._kinds.named(reference.api_version, reference.kind)
        if resource is None or (resource.namespaced and not thing.metadata.namespace):
            return thing
        place = thing.metadata.namespace if resource.namespaced else ""
        wanted = Meta(name=reference.name, namespace=place, uid=reference.uid)
        found = await self._api.get(resource, wanted, Anything)
        if found is not None:
            return Thing(resource, found.metadata)
        self._absent[reference.uid] = None
        if len(self._absent) > MOST_ABSENT:
            del self._absent[next(iter(self._absent))]
        return None


def collected(kinds: Kinds) -> list[Resource]:
    return [r for r in kinds.that_can("list", "watch", "delete") if r.plural != NEVER_COLLECTED]


def written(owner: Owner, blocks: bool) -> Json:
    reference: Json = {
        "apiVersion": owner.api_version,
        "kind": owner.kind,
        "name": owner.name,
        "uid": owner.uid,
    }
    if owner.controller:
        reference["controller"] = True
    if blocks:
        reference["blockOwnerDeletion"] = True
    return reference
