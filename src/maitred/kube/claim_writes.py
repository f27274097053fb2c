"""Allocations and reservations of resource claims, and their end.

An allocation takes two writes, as kube-scheduler does it: first the finalizer, so that the claim is not
deleted in use; then the devices together with those for whom they are reserved. To take it back takes the
same two, the other way around. Every write is made on the claim as it was last seen, so it fails where
anyone has written since; then the claim is read again, and what is left to do is done. Whoever has allocated
a claim first has allocated it.

A claim that was allocated here says so in an annotation. Without it nobody could tell, after a crash, whose
task it is to free the devices of a PodGroup that has no pods any more.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from maitred.kube import bodies
from maitred.kube.client import JSON, MERGE_PATCH, decoder, encode
from maitred.kube.errors import ApiError, KubeError
from maitred.kube.nesting import UNREADABLE, decode
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.resources import Resource
from maitred.kube.wire import WatchedClaim
from maitred.kube.writes import ATTEMPTS, DONE, Writer, refusal
from maitred.model.devices.claims import (
    ALLOCATED_BY,
    EXTENDED_RESOURCE_CLAIM,
    FINALIZER,
    Allocation,
    Consumer,
    ResourceClaimSpec,
)
from maitred.model.plan import ClaimAllocation

MOST_WRITES = 2 * ATTEMPTS
"""Of one change, those among them that came too late."""


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """The next write."""

    change: Mapping[str, Any]
    subresource: str = ""

    def body(self, claim: WatchedClaim) -> bytes:
        """With the version that was seen."""
        about = {"uid": claim.metadata.uid, "resourceVersion": claim.metadata.resource_version}
        return encode({**self.change, "metadata": {**about, **self.change.get("metadata", {})}})


Step = Callable[[WatchedClaim], ClaimChange | Done | Refused]
"""What is left to be done of a change."""


class ClaimWriter:
    """What is done to claims, by the one Writer that there is. `scheduler`: the name of ours."""

    def __init__(self, writer: Writer, resource: Resource, scheduler: str) -> None:
        self._writer = writer
        self._resource = resource
        self._scheduler = scheduler

    async def allocate(
        self, wanted: ClaimAllocation, known: WatchedClaim
    ) -> WatchedClaim | Refused | Unknown:
        """The claim as the server has it then. Taken: others have allocated it before, and differently."""
        allocation = msgspec.convert(wanted.allocation, Allocation)
        consumers = msgspec.convert(wanted.reserved_for, tuple[Consumer, ...])

        def step(found: WatchedClaim) -> ClaimChange | Done | Refused:
            status = found.status
            if found.metadata.deletion_timestamp is not None:
                return Refused(RefusalReason.DELETING, f"claim {wanted.claim} is being deleted")
            if status.allocation is not None and not status.allocation.has_devices_of(allocation):
                return Refused(RefusalReason.TAKEN, others_words(wanted.claim, status.allocation))
            if status.allocation is None and not is_marked(found, self._scheduler):
                finalizers = [*found.metadata.finalizers, FINALIZER]
                marks = {ALLOCATED_BY: self._scheduler}
                return ClaimChange(
                    {"metadata": {"finalizers": list(dict.fromkeys(finalizers)), "annotations": marks}}
                )
            reserved = {one.uid for one in status.reserved_for}
            missing = [one for one in consumers if one.uid not in reserved]
            if status.allocation is not None and not missing:
                return DONE
            change: dict[str, Any] = {"reservedFor": [*status.reserved_for, *missing]}
            if status.allocation is None:
                change["allocation"] = {**wanted.allocation, "allocationTimestamp": bodies.timestamp()}
            return ClaimChange({"status": change}, "status")

        return await self._change(wanted.claim, known.metadata.uid, step, known)

    async def release(
        self, key: str, uid: str, consumers: Collection[str], allocation: Allocation | None = None
    ) -> Done | Refused | Unknown:
        """Reserve it no longer for these UIDs. When nobody is left, its devices are free; so they are if
        nobody ever was, and it has the devices of this allocation. If it has others, they are not ours."""

        def step(found: WatchedClaim) -> ClaimChange | Done | Refused:
            status = found.status
            left = [one for one in status.reserved_for if one.uid not in consumers]
            fewer = len(left) < len(status.reserved_for)
            same, marked = are_same(status.allocation, allocation), is_marked(found, self._scheduler)
            if not left and (fewer or same):
                return ClaimChange({"status": {"reservedFor": None, "allocation": None}}, "status")
            if fewer:
                return ClaimChange({"status": {"reservedFor": left}}, "status")
            if status.allocation is not None and allocation is not None and marked and not same:
                return ClaimChange({"metadata": {"annotations": {ALLOCATED_BY: None}}})
            if status.allocation is None and not left and marked:
                others = [one for one in found.metadata.finalizers if one != FINALIZER]
                return ClaimChange({"metadata": {"finalizers": others, "annotations": {ALLOCATED_BY: None}}})
            return DONE

        outcome = await self._change(key, uid, step, None)
        if isinstance(outcome, WatchedClaim) or is_gone(outcome):
            return DONE
        return outcome

    async def make(self, wanted: ClaimAllocation, pod_uid: str) -> WatchedClaim | Refused | Unknown:
        """Create the claim of a pod that has none. One that an earlier attempt has made will do if it asks
        for the same; if not, it has to go first."""
        assert wanted.made is not None
        namespace, _, name = wanted.claim.partition("/")
        about = made_metadata(name, wanted.made.pod.partition("/")[2], pod_uid, self._scheduler)
        kind = {"apiVersion": self._resource.api_version, "kind": self._resource.kind}
        body = encode({**kind, "metadata": about, "spec": wanted.made.spec})

        async def judge(error: KubeError) -> Refused | None:
            taken = isinstance(error, ApiError) and error.is_conflict
            return Refused(RefusalReason.TAKEN, str(error)) if taken else refusal(error)

        answer = await self._writer.send("POST", self._resource.path(namespace), body, judge, JSON)
        if isinstance(answer, bytes):
            return readable(answer) or Unknown(f"the answer about claim {wanted.claim} could not be read")
        if not (isinstance(answer, Refused) and answer.why is RefusalReason.TAKEN):
            return answer
        found = await self._read(wanted.claim)
        if not isinstance(found, WatchedClaim):
            return found
        same = found.spec == msgspec.convert(wanted.made.spec, ResourceClaimSpec)
        return found if same and is_made_for(found, pod_uid) else answer

    async def remove(self, key: str, uid: str, consumers: Collection[str]) -> Done | Refused | Unknown:
        """Free the devices of a claim that we have made, and delete it."""
        outcome = await self.release(key, uid, consumers)
        if not isinstance(outcome, Done):
            return outcome
        namespace, _, name = key.partition("/")

        async def judge(error: KubeError) -> Done | Refused | None:
            refused = refusal(error)
            replaced = isinstance(error, ApiError) and error.is_conflict
            return DONE if replaced or (refused is not None and is_gone(refused)) else refused

        path, body = self._resource.path(namespace, name), bodies.deletion(uid, None)
        answer = await self._writer.send("DELETE", path, body, judge, JSON)
        return DONE if isinstance(answer, bytes) else answer

    async def _change(
        self, key: str, uid: str, step: Step, known: WatchedClaim | None
    ) -> WatchedClaim | Refused | Unknown:
        """What a watch has told may be old: it is good enough to write on, since the server compares, but
        never to be content with."""
        namespace, _, name = key.partition("/")
        found, is_fresh = known, False
        for _ in range(MOST_WRITES):
            if found is None:
                read = await self._read(key)
                if not isinstance(read, WatchedClaim):
                    return read
                found, is_fresh = read, True
            if found.metadata.uid != uid:
                return Refused(RefusalReason.REPLACED, f"another claim is called {key} now")
            following = step(found)
            if not isinstance(following, ClaimChange):
                if is_fresh:
                    return found if isinstance(following, Done) else following
                found = None
                continue
            path = self._resource.path(namespace, name, following.subresource)
            answer = await self._writer.send("PATCH", path, following.body(found), overtaken, MERGE_PATCH)
            if isinstance(answer, bytes):
                found, is_fresh = readable(answer), True
            elif isinstance(answer, Refused) and answer.why is RefusalReason.STALE:
                found = None
            else:
                return answer
        return Unknown(f"claim {key} was changed by others at the same time, {ATTEMPTS} times")

    async def _read(self, key: str) -> WatchedClaim | Refused | Unknown:
        namespace, _, name = key.partition("/")
        try:
            found = await self._writer.read(self._resource.path(namespace, name), WatchedClaim)
        except KubeError as error:
            return refusal(error) or Unknown(str(error))
        return found or Refused(RefusalReason.GONE, f"claim {key} does not exist any more")


def are_same(found: Allocation | None, allocation: Allocation | None) -> bool:
    return found is not None and allocation is not None and found.has_devices_of(allocation)


async def overtaken(error: KubeError) -> Refused | None:
    stale = isinstance(error, ApiError) and error.is_conflict
    return Refused(RefusalReason.STALE, str(error)) if stale else refusal(error)


def readable(answer: bytes) -> WatchedClaim | None:
    try:
        return decode(decoder(WatchedClaim), answer)
    except UNREADABLE:
        return None


def is_gone(outcome: object) -> bool:
    """The claim, and whatever it had, is no more."""
    return isinstance(outcome, Refused) and outcome.why in (RefusalReason.GONE, RefusalReason.REPLACED)


def is_marked(claim: WatchedClaim, scheduler: str) -> bool:
    """Whether it is protected, and says that it is we who allocate it."""
    meta = claim.metadata
    return FINALIZER in meta.finalizers and meta.annotations.get(ALLOCATED_BY) == scheduler


def is_made_for(claim: WatchedClaim, pod_uid: str) -> bool:
    """Whether a scheduler has made it for this pod."""
    owners = claim.metadata.owner_references
    return claim.metadata.annotations.get(EXTENDED_RESOURCE_CLAIM) == "true" and any(
        owner.controller and owner.kind == "Pod" and owner.uid == pod_uid for owner in owners
    )


def others_words(key: str, allocation: Allocation) -> str:
    first = next(iter(allocation.devices.results), None)
    device = f", with device {first.device} of pool {first.pool}" if first is not None else ""
    return f"another scheduler allocated claim {key} first{device}"


def made_metadata(name: str, pod: str, pod_uid: str, scheduler: str) -> dict[str, Any]:
    """As kube-scheduler has it, and with the finalizer from the start."""
    return {
        "name": name,
        "annotations": {EXTENDED_RESOURCE_CLAIM: "true", ALLOCATED_BY: scheduler},
        "finalizers": [FINALIZER],
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": pod, "uid": pod_uid, "controller": True}
        ],
    }
