"""Volumes that were promised to claims, from the order on: it takes a moment until the watches show it.

Until then the next cycle must not give the same volume to another claim, nor choose another node for a claim
whose volume is being made. So the state has a promised volume as one that is kept for its claim, and a claim
whose volume is to be made with the node selected, which is how the API server will have them.
"""

from collections import Counter
from collections.abc import Iterable

import msgspec

from maitred.cluster.state import ClusterState, Delete, Put
from maitred.model.meta import key_of
from maitred.model.objects import Object
from maitred.model.plan import VolumeChoice
from maitred.model.storage import SELECTED_NODE, ClaimReference, PersistentVolume, PersistentVolumeClaim

Thing = tuple[type[Object], str]
"""What a promise changes: the volume, or the claim for which one is to be made."""


class PromisedVolumes:
    """Storage objects pass through here on their way to the state."""

    def __init__(self, state: ClusterState) -> None:
        self._state = state
        self._promises: dict[Thing, VolumeChoice] = {}
        self._orders: Counter[Thing] = Counter()
        """How many groups wait for each: those that share a claim wait for the same."""
        self._shown: dict[Thing, Object] = {}
        """Of these, what the API server has."""

    def add(self, choices: Iterable[VolumeChoice]) -> None:
        for choice in choices:
            thing = thing_of(choice)
            self._orders[thing] += 1
            if self._orders[thing] == 1:
                self._promises[thing] = choice
                if (found := self._found(thing)) is not None:
                    self.put(found)

    def remove(self, choices: Iterable[VolumeChoice]) -> None:
        """They are there by now, or never will be."""
        for thing in map(thing_of, choices):
            self._orders[thing] -= 1
            if not self._orders[thing]:
                del self._orders[thing], self._promises[thing]
                if (shown := self._shown.pop(thing, None)) is not None:
                    self._state.apply(Put(shown))

    def put(self, item: Object) -> None:
        name = item.metadata.name if isinstance(item, PersistentVolume) else key_of(item.metadata)
        thing = (type(item), name)
        choice = self._promises.get(thing)
        if choice is not None:
            self._shown[thing] = item
            item = as_promised(item, choice)
        self._state.apply(Put(item))

    def gone(self, kind: type[Object], key: str) -> None:
        self._shown.pop((kind, key), None)
        self._state.apply(Delete(kind, key))

    def _found(self, thing: Thing) -> Object | None:
        kind, key = thing
        storage = self._state.storage
        return storage.volumes.get(key) if kind is PersistentVolume else storage.claims.get(key)


def thing_of(choice: VolumeChoice) -> Thing:
    if choice.volume is None:
        return PersistentVolumeClaim, choice.claim
    return PersistentVolume, choice.volume


def as_promised(item: Object, choice: VolumeChoice) -> Object:
    """What the API server says already stands."""
    if isinstance(item, PersistentVolume) and item.spec.claim_ref is None:
        namespace, _, name = choice.claim.partition("/")
        spec = msgspec.structs.replace(item.spec, claim_ref=ClaimReference(namespace, name))
        return msgspec.structs.replace(item, spec=spec)
    if isinstance(item, PersistentVolumeClaim) and not item.spec.volume_name:
        selected = {**item.metadata.annotations, SELECTED_NODE: choice.node}
        metadata = msgspec.structs.replace(item.metadata, annotations=selected)
        return msgspec.structs.replace(item, metadata=metadata)
    return item
