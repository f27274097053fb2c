"""What is sent to the API server: exactly the fields that we set, so that nothing else is changed."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from msgspec import UNSET, UnsetType

from maitred.kube.client import encode
from maitred.kube.wire import Condition
from maitred.model.meta import Lean
from maitred.model.runtime import SET_DEADLINE


def wall_clock() -> datetime:
    """For people who read what we wrote. Nothing is decided by it."""
    return datetime.now(UTC)


def timestamp() -> str:
    """Now, as objects have it: to the second."""
    return wall_clock().strftime("%Y-%m-%dT%H:%M:%SZ")


def micro_time(moment: datetime) -> str:
    """Always six digits: the server refuses a MicroTime that has fewer."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Target(Lean, frozen=True):
    name: str
    kind: str


class WrittenMeta(Lean, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    annotations: Mapping[str, str] = {}


class Binding(Lean, frozen=True):
    api_version: str
    kind: str
    metadata: WrittenMeta
    target: Target


def binding(name: str, uid: str, node: str, annotations: Mapping[str, str]) -> bytes:
    metadata = WrittenMeta(name=name, uid=uid, annotations=annotations)
    return encode(Binding("v1", "Binding", metadata, Target(node, "Node")))


class ClaimPatch(Lean, frozen=True):
    metadata: WrittenMeta


def claim_patch(uid: str, annotations: Mapping[str, str]) -> bytes:
    return encode(ClaimPatch(WrittenMeta(uid=uid, annotations=annotations)))


class KeptFor(Lean, frozen=True):
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str


class VersionedMeta(WrittenMeta, frozen=True):
    resource_version: str = ""


class KeptVolume(Lean, frozen=True):
    claim_ref: KeptFor


class VolumePatch(Lean, frozen=True):
    metadata: VersionedMeta
    spec: KeptVolume


def volume_patch(version: str, annotations: Mapping[str, str], claim: KeptFor) -> bytes:
    """With the version that was read, so that it fails where anyone has written since."""
    return encode(
        VolumePatch(VersionedMeta(annotations=annotations, resource_version=version), KeptVolume(claim))
    )


class Preconditions(Lean, frozen=True):
    uid: str


class DeleteOptions(Lean, frozen=True):
    api_version: str
    kind: str
    preconditions: Preconditions
    grace_period_seconds: int | UnsetType = UNSET


def delete_options(uid: str, grace_seconds: int | None) -> DeleteOptions:
    grace = UNSET if grace_seconds is None else grace_seconds
    return DeleteOptions("v1", "DeleteOptions", Preconditions(uid), grace)


def deletion(uid: str, grace_seconds: int | None) -> bytes:
    return encode(delete_options(uid, grace_seconds))


class EvictionBody(Lean, frozen=True):
    api_version: str
    kind: str
    metadata: WrittenMeta
    delete_options: DeleteOptions


def eviction(name: str, uid: str, grace_seconds: int | None) -> bytes:
    options = delete_options(uid, grace_seconds)
    return encode(EvictionBody("policy/v1", "Eviction", WrittenMeta(name=name), options))


class MergedCondition(Lean, frozen=True):
    """A condition to be merged by its type. An empty text is sent too: left out, the old one would stay."""

    type: str
    status: str
    reason: str
    message: str
    last_transition_time: datetime | UnsetType = UNSET
    observed_generation: int | UnsetType = UNSET


class ConditionsPatch(Lean, frozen=True):
    conditions: tuple[MergedCondition, ...]


class StatusPatch(Lean, frozen=True):
    metadata: VersionedMeta
    status: ConditionsPatch


def condition_patch(uid: str, condition: Condition, version: str) -> bytes:
    moment = condition.last_transition_time
    merged = MergedCondition(
        condition.type,
        condition.status,
        condition.reason,
        condition.message,
        UNSET if moment is None else moment.astimezone(UTC).replace(microsecond=0),
        condition.observed_generation or UNSET,
    )
    metadata = VersionedMeta(uid=uid, resource_version=version)
    return encode(StatusPatch(metadata, ConditionsPatch((merged,))))


class Nomination(Lean, frozen=True):
    """An empty name is sent too: it takes a nomination back."""

    nominated_node_name: str


class NominationPatch(Lean, frozen=True):
    metadata: WrittenMeta
    status: Nomination


def nomination(uid: str, node: str) -> bytes:
    return encode(NominationPatch(WrittenMeta(uid=uid), Nomination(node)))


class NamedClaim(Lean, frozen=True):
    resource_claim_name: str
    request_mappings: Sequence[Mapping[str, Any]]


class NamedClaimStatus(Lean, frozen=True):
    extended_resource_claim_status: NamedClaim


class NamedClaimPatch(Lean, frozen=True):
    metadata: WrittenMeta
    status: NamedClaimStatus


def extended_claim(uid: str, claim: str, mappings: Sequence[Mapping[str, Any]]) -> bytes:
    return encode(NamedClaimPatch(WrittenMeta(uid=uid), NamedClaimStatus(NamedClaim(claim, mappings))))


class MarkedMeta(Lean, frozen=True):
    uid: str
    resource_version: str
    annotations: Mapping[str, str | None]
    """A null takes the annotation away."""


class OwnerPatch(Lean, frozen=True):
    metadata: MarkedMeta
    spec: Mapping[str, object]


def owner_patch(
    uid: str, version: str, path: Sequence[str], value: bool, annotations: Mapping[str, str | None]
) -> bytes:
    """One flag in the spec of an owner of pods, with the version that was read, so that it fails where its
    user has written since. The path begins below `spec`."""
    spec: Mapping[str, object] = {path[-1]: value}
    for step in reversed(path[:-1]):
        spec = {step: spec}
    return encode(OwnerPatch(MarkedMeta(uid, version, annotations), spec))


def job_deadline(uid: str, version: str, seconds: int | None) -> bytes:
    """The deadline of a Job, with a note that it is ours, and the version that was read."""
    note = None if seconds is None else str(seconds)
    meta = MarkedMeta(uid, version, {SET_DEADLINE: note})
    return encode(OwnerPatch(meta, {"activeDeadlineSeconds": seconds}))


class PodPatch(Lean, frozen=True):
    metadata: WrittenMeta
    spec: Mapping[str, object]


def pod_deadline(uid: str, seconds: int) -> bytes:
    return encode(PodPatch(WrittenMeta(uid=uid), {"activeDeadlineSeconds": seconds}))


class LabelledMeta(Lean, frozen=True):
    name: str
    labels: Mapping[str, str]
    resource_version: str = ""


class WrittenConfigMap(Lean, frozen=True):
    api_version: str
    kind: str
    metadata: LabelledMeta
    data: Mapping[str, str]


def config_map(name: str, labels: Mapping[str, str], data: Mapping[str, str], version: str = "") -> bytes:
    """With a version: in the place of that one, and of no later one."""
    return encode(WrittenConfigMap("v1", "ConfigMap", LabelledMeta(name, labels, version), data))


def entries(data: Mapping[str, str]) -> bytes:
    return encode({"data": data})


def cordon() -> bytes:
    return encode({"spec": {"unschedulable": True}})


class WrittenNamespace(Lean, frozen=True):
    api_version: str
    kind: str
    metadata: WrittenMeta


def namespace(name: str) -> bytes:
    return encode(WrittenNamespace("v1", "Namespace", WrittenMeta(name)))


class Regarding(Lean, frozen=True):
    """The object that an Event is about; no namespace for cluster-scoped ones."""

    api_version: str
    kind: str
    name: str
    namespace: str = ""
    uid: str = ""


EventType = Literal["Normal", "Warning"]


class Event(Lean, frozen=True):
    api_version: str
    kind: str
    metadata: WrittenMeta
    event_time: str
    regarding: Regarding
    type: EventType
    reason: str
    action: str
    note: str
    reporting_controller: str
    reporting_instance: str
