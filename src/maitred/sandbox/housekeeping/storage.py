"""Claims and volumes, and which volume a claim may have."""

from collections.abc import Iterable

from maitred.kube.resources import VOLUME_CLAIMS
from maitred.model.pod import Resources
from maitred.model.quantity import STORAGE, amount
from maitred.model.selector import matches, selector_of
from maitred.model.storage import (
    OLD_CLASS,
    SELECTED_NODE,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    StoragePhase,
)
from maitred.sandbox.housekeeping.objects import Json, Meta

BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"


class ClaimStatus(StoragePhase, frozen=True):
    access_modes: tuple[str, ...] = ()
    capacity: Resources = {}


class Claim(PersistentVolumeClaim, frozen=True, kw_only=True):
    metadata: Meta
    status: ClaimStatus = ClaimStatus()

    @property
    def storage_class(self) -> str:
        return self.metadata.annotations.get(OLD_CLASS) or self.spec.storage_class_name or ""

    @property
    def size(self) -> int:
        return amount(STORAGE, self.spec.resources.requests.get(STORAGE, 0))


class BindableVolume(PersistentVolume, frozen=True, kw_only=True):
    metadata: Meta

    @property
    def size(self) -> int:
        return amount(STORAGE, self.spec.capacity.get(STORAGE, 0))


class VolumeClass(StorageClass, frozen=True, kw_only=True):
    metadata: Meta


def is_kept_for(volume: BindableVolume, claim: Claim) -> bool:
    """By name, and by UID as far as it says one."""
    kept = volume.spec.claim_ref
    return (
        kept is not None
        and (kept.namespace, kept.name) == (claim.metadata.namespace, claim.metadata.name)
        and kept.uid in ("", claim.metadata.uid)
    )


def satisfies(volume: BindableVolume, claim: Claim) -> bool:
    """What even a claim that names its volume must ask no more than."""
    return (
        volume.metadata.deletion_timestamp is None
        and volume.size >= claim.size
        and volume.spec.storage_class_name == claim.storage_class
        and volume.spec.volume_mode == claim.spec.volume_mode
        and set(claim.spec.access_modes) <= set(volume.spec.access_modes)
    )


def best_volume(claim: Claim, volumes: Iterable[BindableVolume], waits: bool) -> BindableVolume | None:
    """One that is kept for the claim, else the smallest that will do; a claim that waits for its first
    consumer only gets what was kept for it."""
    fitting = [volume for volume in volumes if satisfies(volume, claim)]
    kept = next((volume for volume in fitting if is_kept_for(volume, claim)), None)
    if kept is not None or waits:
        return kept
    selector = selector_of(claim.spec.selector) if claim.spec.selector is not None else ()
    free = [
        volume
        for volume in fitting
        if volume.spec.claim_ref is None
        and volume.status.phase == "Available"
        and matches(selector, volume.metadata.labels)
    ]
    return min(free, key=lambda volume: (volume.size, volume.metadata.name), default=None)


def waits_for_consumer(claim: Claim, classes: dict[str, VolumeClass]) -> bool:
    found = classes.get(claim.storage_class)
    waits = found is not None and found.volume_binding_mode == "WaitForFirstConsumer"
    return waits and SELECTED_NODE not in claim.metadata.annotations


def reference(claim: Claim) -> Json:
    return {
        "apiVersion": VOLUME_CLAIMS.api_version,
        "kind": VOLUME_CLAIMS.kind,
        "namespace": claim.metadata.namespace,
        "name": claim.metadata.name,
        "uid": claim.metadata.uid,
        "resourceVersion": claim.metadata.resource_version,
    }
