"""Devices and claims as housekeeping reads them, and how pods, groups and claims belong together."""

from collections.abc import Iterator

from maitred.kube.resources import PODS, resource_of
from maitred.model.devices.claims import (
    POD_CLAIM_NAME,
    Consumer,
    ResourceClaim,
    ResourceClaimTemplate,
)
from maitred.model.devices.slices import (
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintSelector,
    ResourcePool,
    ResourceSlice,
)
from maitred.model.meta import Lean, Timestamp
from maitred.model.pod import PodResourceClaim
from maitred.sandbox.housekeeping.objects import POD_GROUPS, SCHEDULING, Json, Meta, Owner, Pod, PodGroup

CLAIMS = resource_of(ResourceClaim)
TEMPLATES = resource_of(ResourceClaimTemplate)
SLICES = resource_of(ResourceSlice)
TAINT_RULES = resource_of(DeviceTaintRule)
LONGEST_BASE = 57
"""Of a generated name: with a hyphen and five random characters it has 63."""


class ClaimObject(ResourceClaim, frozen=True):
    metadata: Meta

    @property
    def controller(self) -> Owner | None:
        return self.metadata.controller


class ClaimTemplateObject(Lean, frozen=True):
    metadata: Meta
    spec: Json = {}


class TaintWithTime(DeviceTaint, frozen=True):
    time_added: Timestamp | None = None


class TaintedDevice(Lean, frozen=True):
    name: str = ""
    taints: tuple[TaintWithTime, ...] = ()


class SliceSpec(Lean, frozen=True):
    driver: str = ""
    pool: ResourcePool = ResourcePool()
    devices: tuple[TaintedDevice, ...] = ()


class SliceObject(Lean, frozen=True):
    metadata: Meta
    spec: SliceSpec = SliceSpec()


class TaintRuleSpec(Lean, frozen=True):
    device_selector: DeviceTaintSelector | None = None
    taint: TaintWithTime = TaintWithTime()


class TaintRule(Lean, frozen=True):
    metadata: Meta
    spec: TaintRuleSpec = TaintRuleSpec()


# -- who uses which claim ----------------------------------------------------------------------------------


def claim_name(owner: Pod | PodGroup, claim: PodResourceClaim) -> str | None:
    """Of the claim that is meant; None if it is to be made from a template and is not known yet."""
    if claim.resource_claim_name is not None:
        return claim.resource_claim_name
    made = owner.status.resource_claim_statuses
    return next((each.resource_claim_name for each in made if each.name == claim.name), None)


def claims_in_use(owner: Pod | PodGroup) -> Iterator[str]:
    """The names of all claims that it names itself, or that were made for it."""
    yield from (name for claim in owner.spec.resource_claims if (name := claim_name(owner, claim)))
    extended = owner.status.extended_resource_claim_status if isinstance(owner, Pod) else None
    if extended is not None:
        yield extended.resource_claim_name


def is_of_group(claim: PodResourceClaim, group: PodGroup | None) -> bool:
    """Whether a pod means a claim of its group: the group has the same entry."""
    return group is not None and claim in group.spec.resource_claims


def consumer_of(pod: Pod, claim: PodResourceClaim, group: PodGroup | None) -> Consumer:
    if group is not None and is_of_group(claim, group):
        return Consumer(POD_GROUPS.plural, group.metadata.name, group.metadata.uid, SCHEDULING)
    return Consumer(PODS.plural, pod.metadata.name, pod.metadata.uid)


def is_done(pod: Pod) -> bool:
    """It will not run any more; one that is being deleted on a node still runs there."""
    return pod.is_finished or (pod.metadata.deletion_timestamp is not None and not pod.spec.node_name)


# -- claims from templates ---------------------------------------------------------------------------------


def claim_from(template: ClaimTemplateObject, owner: Pod | PodGroup, name: str) -> Json:
    """`name`: what the owner calls the claim."""
    meta: Json = template.spec.get("metadata") or {}
    kind = PODS if isinstance(owner, Pod) else POD_GROUPS
    reference = {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": owner.metadata.name,
        "uid": owner.metadata.uid,
        "controller": True,
    }
    return {
        "metadata": {
            "generateName": generated_base(owner.metadata.name, name),
            "labels": meta.get("labels") or {},
            "annotations": {**(meta.get("annotations") or {}), POD_CLAIM_NAME: name},
            "ownerReferences": [reference],
        },
        "spec": template.spec.get("spec") or {},
    }


def generated_base(owner: str, name: str) -> str:
    """Both parts are cut in proportion if they are too long, so that something of each is left."""
    base = f"{owner}-{name}-"
    if len(base) <= LONGEST_BASE:
        return base
    first, second = (part[: len(part) * LONGEST_BASE // len(base)] for part in (owner, name))
    return f"{first}-{second}"


def owner_key(claim: ClaimObject) -> str | None:
    """UID of the owner and name of the entry that the claim was made for."""
    owner, name = claim.controller, claim.metadata.annotations.get(POD_CLAIM_NAME)
    return None if owner is None or name is None else f"{owner.uid}/{name}"


def owner_object(claim: ClaimObject) -> tuple[str, str] | None:
    """Kind and key of the pod or group that a claim was made for."""
    owner = claim.controller
    return None if owner is None else (owner.kind, f"{claim.metadata.namespace}/{owner.name}")


def namespace_of_user(pod: Pod) -> str | None:
    return pod.metadata.namespace if pod.spec.resource_claims else None


def pool_key(each: SliceObject) -> str:
    return f"{each.spec.driver} {each.spec.pool.name}"
