"""What the resource claims of a pod mean for its place: resolved from pods, groups, claims and templates."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import msgspec

from maitred.model.devices.claims import (
    MOST_CONSUMERS,
    DeviceClaim,
    ResourceClaim,
    ResourceClaimTemplate,
)
from maitred.model.devices.counting import DevicesByClass, allocated_by_class
from maitred.model.group import PodGroup
from maitred.model.meta import Lean, controller_of
from maitred.model.pod import NodeSelector, Pod, PodResourceClaim

UNLIMITED = 2**31
STAND_IN = ":"
"""In the UID of a pod that stands in for one which is not there: no API server gives such UIDs."""


class PodClaim(NamedTuple):
    """One claim of a pod, as its spec and its status have it."""

    source: PodResourceClaim
    made: str | None = None
    """The name of the claim that was made from a template; empty if none is needed, None if none is made."""


class ClaimNeed(Lean, frozen=True):
    """One claim of a pod as far as placement goes. Equal needs are interchangeable between pods."""

    problem: str = ""
    """Why no node will do, as long as the objects stay as they are."""
    spec: bytes = b""
    """What is asked for, if nothing is allocated yet; empty if no device is."""
    claim: str = ""
    """Names a claim that several pods may share; empty for one of the pod's own."""
    allocated: bool = False
    reach: NodeSelector | None = None
    """The nodes from which what was allocated can be used; None for all."""
    group: tuple[str, str] | None = None
    """Name and UID of the PodGroup that a claim belongs to: it is reserved for that, and not for its pods."""
    consumers: int = UNLIMITED
    """How many more pods may use a claim that several may share."""
    held: DevicesByClass = ()
    """What was allocated."""
    resource: str = ""
    """For which the claim stands, if the pod asks for devices by an extended resource."""


class ClaimIdentity(NamedTuple):
    """Which object a claim of a pod is."""

    key: str
    template: str
    """The template that it is made from; empty if it is named by the pod."""
    of_group: bool
    """It belongs to the PodGroup of the pod, and all members share it."""
    made: bool
    """Whether it was made already, as somebody's status says."""


def pod_claims(pod: Pod) -> tuple[PodClaim, ...]:
    made = {one.name: one.resource_claim_name for one in pod.status.resource_claim_statuses}
    return tuple([PodClaim(one, made.get(one.name)) for one in pod.spec.resource_claims])


def named(claim: PodClaim, pod: str, group: PodGroup | None) -> ClaimIdentity | None:
    """None if the pod needs no object for it."""
    namespace, _, name = pod.partition("/")
    source, of_group = claim.source, False
    owner, made = name, claim.made
    if group is not None and source in group.spec.resource_claims:
        of_group, owner = True, group.metadata.name
        recorded = {one.name: one.resource_claim_name for one in group.status.resource_claim_statuses}
        made = recorded.get(source.name) or made
    if source.resource_claim_name is not None:
        return ClaimIdentity(f"{namespace}/{source.resource_claim_name}", "", of_group, True)
    if made == "":
        return None
    template = f"{namespace}/{source.resource_claim_template_name or ''}"
    key = f"{namespace}/{made or f'{owner}-{source.name}'}"
    return ClaimIdentity(key, template, of_group, made is not None)


def sought_bytes(spec: DeviceClaim) -> bytes:
    """Empty if nothing is asked for: such a claim is allocated without devices."""
    return spec_bytes(spec) if spec.requests else b""


def spec_bytes(spec: DeviceClaim) -> bytes:
    return msgspec.json.encode(spec, order="deterministic")


@lru_cache(maxsize=16_384)
def spec_of(text: bytes) -> DeviceClaim:
    return msgspec.json.decode(text, type=DeviceClaim)


class ClaimReader:
    """Resolves claims. `waits`: what is not there yet will be made, so it is waited for; in files, and for
    pods that only stand in for others, it is taken to be as its template says."""

    def __init__(
        self,
        claims: Mapping[str, ResourceClaim],
        templates: Mapping[str, ResourceClaimTemplate],
        waits: bool,
    ) -> None:
        self._claims, self._templates, self._waits = claims, templates, waits

    def needs(
        self, claims: tuple[PodClaim, ...], pod: str, uid: str, group: PodGroup | None
    ) -> Iterator[tuple[str, ClaimNeed]]:
        """The key of each claim, and what it means for the place of the pod."""
        for claim in claims:
            known = named(claim, pod, group)
            if known is not None:
                yield known.key, self._need(known, uid, group)

    def _need(self, known: ClaimIdentity, uid: str, group: PodGroup | None) -> ClaimNeed:
        claim = self._claims.get(known.key)
        if claim is None:
            return self._unmade(known, group, waits=self._waits and bool(uid) and STAND_IN not in uid)
        if claim.metadata.deletion_timestamp is not None:
            return ClaimNeed(problem=f"claim {known.key} is being deleted")
        owner = controller_of(claim.metadata)
        if known.template and owner is not None:
            maker = (group.metadata.uid if group is not None else "") if known.of_group else uid
            if maker and owner.uid and owner.uid != maker:
                return ClaimNeed(problem=f"claim {known.key} was made for another {owner.kind}")
        own = bool(known.template) and not known.of_group
        shared = "" if own else known.key
        left = MOST_CONSUMERS - len(claim.status.reserved_for)
        if own or known.of_group or any(one.uid == uid for one in claim.status.reserved_for):
            left = UNLIMITED
        allocation, owner_group = claim.status.allocation, _group(known, group)
        if allocation is not None:
            reach = allocation.node_selector
            held = allocated_by_class(claim.spec.devices, allocation)
            return ClaimNeed(
                claim=shared, allocated=True, reach=reach, group=owner_group, consumers=left, held=held
            )
        spec = sought_bytes(claim.spec.devices)
        return ClaimNeed(spec=spec, claim=shared, group=owner_group, consumers=left)

    def _unmade(self, known: ClaimIdentity, group: PodGroup | None, waits: bool) -> ClaimNeed:
        if not known.template:
            return ClaimNeed(problem=f"claim {known.key} does not exist")
        template = self._templates.get(known.template)
        if template is None:
            return ClaimNeed(problem=f"claim template {known.template} does not exist")
        if waits:
            return ClaimNeed(problem=f"no claim has been made yet from template {known.template}")
        spec = sought_bytes(template.spec.spec.devices)
        return ClaimNeed(spec=spec, claim=known.key if known.of_group else "", group=_group(known, group))


def _group(known: ClaimIdentity, group: PodGroup | None) -> tuple[str, str] | None:
    if group is None or not known.of_group:
        return None
    return group.metadata.name, group.metadata.uid
