"""Devices that were promised to claims, from the order on: it takes a moment until the watch shows it.

Until then the next cycle must not give the same devices to another claim. So the state has a promised claim
as allocated, which is how the API server will have it. What the API server shows as allocated stands.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from maitred.cluster.state import ClusterState, Delete, Put
from maitred.kube.wire import WatchedClaim, WatchedClaimMeta
from maitred.model.devices.claims import Allocation, Consumer, ResourceClaim, ResourceClaimSpec
from maitred.model.meta import ObjectMeta, key_of
from maitred.model.plan import ClaimAllocation

NOT_WRITTEN = -1


@dataclass(slots=True)
class ClaimPromise:
    wanted: ClaimAllocation
    version: int = NOT_WRITTEN
    """Of the claim once it was written: the state is as the server has it when the watch has come so far."""
    kept: asyncio.Event = field(default_factory=asyncio.Event)
    """The watch has come so far, or it never will."""


class PromisedClaims:
    """Resource claims pass through here on their way to the state. `seen`: as the API server has them."""

    def __init__(self, state: ClusterState, seen: Mapping[str, WatchedClaim]) -> None:
        self._state = state
        self._seen = seen
        self._promises: dict[str, ClaimPromise] = {}
        self._orders: Counter[str] = Counter()
        """How many groups are being bound with each: those that share a claim are with the same."""

    def begin(self, claims: Iterable[ClaimAllocation]) -> None:
        """A group is about to get these."""
        for claim in claims:
            self._orders[claim.claim] += 1
            found = self._seen.get(claim.claim)
            if found is None or found.status.allocation is None:
                self._promises.setdefault(claim.claim, ClaimPromise(claim))
                self._state.apply(Put(as_decided_on(as_promised(found, claim))))

    def written(self, claim: WatchedClaim) -> None:
        """The server has it, and the watch will show it."""
        if (promise := self._promises.get(key_of(claim.metadata))) is not None:
            promise.version = version_of(claim)

    def end(self, claims: Iterable[ClaimAllocation]) -> None:
        """The group is bound; or it is not, and what was not written by now never will be. What was written,
        and is taken back, the watch will tell."""
        for key in (claim.claim for claim in claims):
            self._orders[key] -= 1
            if not self._orders[key]:
                del self._orders[key]
                if key in self._promises and self._promises[key].version == NOT_WRITTEN:
                    self._drop(key)
                    self._show(key)

    def is_ordered(self, key: str) -> bool:
        """Whether a group is being bound with this claim."""
        return key in self._orders

    def is_promised(self, key: str) -> bool:
        """Whether the watch has yet to show the allocation."""
        return key in self._promises

    async def shown(self, claims: Iterable[ClaimAllocation]) -> None:
        """When the watch has shown what was written of these, and so all that others had written before."""
        for promise in [self._promises[one.claim] for one in claims if one.claim in self._promises]:
            await promise.kept.wait()

    def put(self, claim: WatchedClaim) -> None:
        key = key_of(claim.metadata)
        promise = self._promises.get(key)
        if promise is not None:
            if claim.status.allocation is not None or NOT_WRITTEN < promise.version <= version_of(claim):
                self._drop(key)
            else:
                claim = as_promised(claim, promise.wanted)
        self._state.apply(Put(as_decided_on(claim)))

    def gone(self, key: str) -> None:
        self._drop(key)
        self._state.apply(Delete(ResourceClaim, key))

    def _drop(self, key: str) -> None:
        if (promise := self._promises.pop(key, None)) is not None:
            promise.kept.set()

    def _show(self, key: str) -> None:
        found = self._seen.get(key)
        self._state.apply(Delete(ResourceClaim, key) if found is None else Put(as_decided_on(found)))


def as_promised(found: WatchedClaim | None, promised: ClaimAllocation) -> WatchedClaim:
    """Of a claim that does not exist yet, what it will be."""
    if found is None:
        namespace, _, name = promised.claim.partition("/")
        spec = {} if promised.made is None else promised.made.spec
        meta = WatchedClaimMeta(name=name, namespace=namespace)
        found = WatchedClaim(metadata=meta, spec=msgspec.convert(spec, ResourceClaimSpec))
    consumers = msgspec.convert(promised.reserved_for, tuple[Consumer, ...])
    reserved = {one.uid: one for one in (*found.status.reserved_for, *consumers)}
    status = msgspec.structs.replace(
        found.status,
        allocation=msgspec.convert(promised.allocation, Allocation),
        reserved_for=tuple(reserved.values()),
    )
    return msgspec.structs.replace(found, status=status)


def as_decided_on(claim: WatchedClaim) -> ResourceClaim:
    """Without what no decision reads: a finalizer, or what a driver says of a device, is no news to groups
    that wait."""
    about = {name: getattr(claim.metadata, name) for name in ObjectMeta.__struct_fields__}
    status = msgspec.structs.replace(claim.status, devices=())
    return ResourceClaim(ObjectMeta(**about), spec=claim.spec, status=status)


def version_of(claim: WatchedClaim) -> int:
    """Versions are opaque, but they are numbers that grow, on every server that there is."""
    version = claim.metadata.resource_version
    return int(version) if version.isdecimal() else 0
