"""Who owns whom, by UID, over all kinds of objects."""

from collections.abc import Iterator
from dataclasses import dataclass

from maitred.kube.resources import Resource
from maitred.sandbox.housekeeping.objects import Meta, Owner

FOREGROUND = "foregroundDeletion"
ORPHAN = "orphan"


@dataclass(frozen=True, slots=True)
class Thing:
    resource: Resource
    metadata: Meta

    @property
    def waits_for_dependents(self) -> bool:
        return self.metadata.deletion_timestamp is not None and FOREGROUND in self.metadata.finalizers

    @property
    def leaves_orphans(self) -> bool:
        return self.metadata.deletion_timestamp is not None and ORPHAN in self.metadata.finalizers

    def reference_to(self, uid: str) -> Owner | None:
        return next((owner for owner in self.metadata.owner_references if owner.uid == uid), None)


class Graph:
    def __init__(self) -> None:
        self._things: dict[str, Thing] = {}
        self._dependents: dict[str, set[str]] = {}
        """Owner -> those that name it, whether or not the owner is there."""

    def __getitem__(self, uid: str) -> Thing | None:
        return self._things.get(uid)

    def put(self, thing: Thing) -> None:
        uid = thing.metadata.uid
        known = self._things.get(uid)
        self._things[uid] = thing
        before = known.metadata.owner_references if known is not None else ()
        if before != thing.metadata.owner_references:
            self._unlink(uid, before)
            for owner in thing.metadata.owner_references:
                self._dependents.setdefault(owner.uid, set()).add(uid)

    def remove(self, uid: str) -> None:
        thing = self._things.pop(uid, None)
        if thing is not None:
            self._unlink(uid, thing.metadata.owner_references)

    def dependents(self, uid: str) -> list[Thing]:
        return [self._things[dependent] for dependent in self._dependents.get(uid, ())]

    def owners(self, metadata: Meta) -> Iterator[Thing]:
        """Those that are known."""
        for owner in metadata.owner_references:
            if (thing := self._things.get(owner.uid)) is not None:
                yield thing

    def _unlink(self, uid: str, owners: tuple[Owner, ...]) -> None:
        for owner in owners:
            left = self._dependents.get(owner.uid, set())
            left.discard(uid)
            if not left:
                self._dependents.pop(owner.uid, None)
