"""What the claims of a pod mean for its place: resolved from claims, volumes, classes and attach limits."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import msgspec

from maitred.model.meta import Lean
from maitred.model.pod import NodeSelector, Pod
from maitred.model.quantity import STORAGE, amount
from maitred.model.selector import matches, selector_of
from maitred.model.storage import (
    DEFAULT_CLASS,
    NO_PROVISIONER,
    PLACE_LABELS,
    READ_WRITE_ONCE_POD,
    SELECTED_NODE,
    ClaimSpec,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    TopologyTerm,
)


@dataclass(frozen=True, eq=False)
class StorageView:
    """The storage objects of one moment, by name (claims by `namespace/name`)."""

    claims: Mapping[str, PersistentVolumeClaim] = field(default_factory=dict)
    volumes: Mapping[str, PersistentVolume] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    csi_nodes: Mapping[str, CSINode] = field(default_factory=dict)

    @cached_property
    def unclaimed(self) -> Mapping[str, Sequence[PersistentVolume]]:
        """Storage class -> volumes that any claim may have, smallest first."""
        found: dict[str, list[PersistentVolume]] = {}
        for volume in self.volumes.values():
            if volume.spec.claim_ref is None and volume.status.phase in ("", "Available"):
                found.setdefault(volume.spec.storage_class_name, []).append(volume)
        for volumes in found.values():
            volumes.sort(key=lambda volume: (_capacity(volume), volume.metadata.name))
        return found

    @cached_property
    def reserved(self) -> Mapping[str, Sequence[PersistentVolume]]:
        """Claim -> volumes that are kept for it."""
        found: dict[str, list[PersistentVolume]] = {}
        for name in sorted(self.volumes):
            reference = self.volumes[name].spec.claim_ref
            if reference is not None:
                found.setdefault(f"{reference.namespace}/{reference.name}", []).append(self.volumes[name])
        return found


class VolumeNeed(Lean, frozen=True):
    """One volume of a pod as far as placement goes. Equal needs are interchangeable between pods."""

    problem: str = ""
    """Why no node will do, as long as the storage objects stay as they are."""
    affinity: NodeSelector | None = None
    places: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = ()
    """Node label keys (any of them) and the values that will do, from the labels of an older volume."""
    topologies: tuple[TopologyTerm, ...] = ()
    candidates: tuple[str, ...] = ()
    """Existing volumes that could be bound; each serves one claim."""
    unbound: bool = False
    """Waits for its first user; then one of the candidates, or a new volume, is chosen."""
    provisioned: bool = False
    """A new volume can be made, within the topologies."""
    driver: str = ""
    handle: str = ""
    """Names a volume that several pods may share; empty for one of the pod's own."""
    selected_node: str = ""
    """The node that a volume is being made for already."""
    exclusive: str = ""
    """The claim, when only one pod at a time may use it."""


def claim_names(pod: Pod) -> tuple[str, ...]:
    """`namespace/name` of every claim that the pod mounts, generic ephemeral ones included."""
    namespace = pod.metadata.namespace or "default"
    names = []
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            names.append(f"{namespace}/{volume.persistent_volume_claim.claim_name}")
        elif volume.ephemeral is not None:
            names.append(f"{namespace}/{pod.metadata.name}-{volume.name}")
    return tuple(names)


def ephemeral_specs(pod: Pod) -> dict[str, ClaimSpec]:
    """Claims that the pod brings along, as their templates describe them before they exist."""
    namespace, specs = pod.metadata.namespace or "default", {}
    for volume in pod.spec.volumes:
        template = volume.ephemeral.volume_claim_template if volume.ephemeral else None
        if template is not None:
            spec = template.spec
            specs[f"{namespace}/{pod.metadata.name}-{volume.name}"] = ClaimSpec(
                storage_class_name=spec.storage_class_name,
                access_modes=spec.access_modes,
                resources=spec.resources,
            )
    return specs


def resolve(
    claim_key: str, shared: bool, brought: Mapping[str, ClaimSpec], storage: StorageView
) -> VolumeNeed:
    """The need behind one claim. `shared`: other pods mount it too, so its volume must keep its name."""
    claim = storage.claims.get(claim_key)
    spec = claim.spec if claim is not None else brought.get(claim_key)
    if spec is None:
        return VolumeNeed(problem=f"claim {claim_key} does not exist")
    if claim is not None and claim.metadata.deletion_timestamp is not None:
        return VolumeNeed(problem=f"claim {claim_key} is being deleted")
    if claim is not None and claim.status.phase == "Lost":
        return VolumeNeed(problem=f"claim {claim_key} has lost its volume")
    exclusive = claim_key if READ_WRITE_ONCE_POD in spec.access_modes and shared else ""
    if spec.volume_name:
        return bound(spec.volume_name, shared, exclusive, storage)
    need = unbound(claim_key, claim, spec, shared, storage)
    return msgspec.structs.replace(need, exclusive=exclusive)


def bound(volume_name: str, shared: bool, exclusive: str, storage: StorageView) -> VolumeNeed:
    volume = storage.volumes.get(volume_name)
    if volume is None:
        return VolumeNeed(problem=f"volume {volume_name} does not exist")
    csi = volume.spec.csi
    return VolumeNeed(
        affinity=volume.spec.node_affinity.required,
        places=place_labels(volume),
        driver=csi.driver if csi else "",
        handle=csi.volume_handle if csi and shared else "",
        exclusive=exclusive,
    )


def place_labels(volume: PersistentVolume) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
    return tuple(
        (PLACE_LABELS[key], tuple(sorted(value.split("__"))))
        for key, value in sorted(volume.metadata.labels.items())
        if key in PLACE_LABELS
    )


def unbound(
    claim_key: str, claim: PersistentVolumeClaim | None, spec: ClaimSpec, shared: bool, storage: StorageView
) -> VolumeNeed:
    name = default_class(storage) if spec.storage_class_name is None else spec.storage_class_name
    chosen = storage.classes.get(name)
    if chosen is None:
        what = f"storage class {name} does not exist" if name else "no storage class is the default"
        return VolumeNeed(problem=f"claim {claim_key} is not bound, and {what}")
    if chosen.volume_binding_mode == "Immediate":
        return VolumeNeed(problem=f"claim {claim_key} is not bound yet (class {name} binds immediately)")
    provisioned = chosen.provisioner != NO_PROVISIONER
    return VolumeNeed(
        topologies=chosen.allowed_topologies if provisioned else (),
        candidates=candidates(claim_key, claim.metadata.uid if claim else "", spec, name, storage),
        unbound=True,
        provisioned=provisioned,
        driver=chosen.provisioner if provisioned else "",
        handle=claim_key if shared else "",
        selected_node=claim.metadata.annotations.get(SELECTED_NODE, "") if claim else "",
    )


def default_class(storage: StorageView) -> str:
    marked = [n for n, c in storage.classes.items() if c.metadata.annotations.get(DEFAULT_CLASS) == "true"]
    return min(marked, default="")


def candidates(
    claim_key: str, uid: str, spec: ClaimSpec, class_name: str, storage: StorageView
) -> tuple[str, ...]:
    """Volumes that the claim could be bound to: those kept for it, then the others, smallest first."""
    wanted = amount(STORAGE, spec.resources.requests.get(STORAGE, 0))
    selector = () if spec.selector is None else selector_of(spec.selector)
    reserved = storage.reserved.get(claim_key, ())
    kept = [v for v in reserved if v.spec.claim_ref and v.spec.claim_ref.uid in ("", uid)]
    return tuple(
        volume.metadata.name
        for volume in (*kept, *storage.unclaimed.get(class_name, ()))
        if volume.spec.storage_class_name == class_name
        and _capacity(volume) >= wanted
        and volume.spec.volume_mode == spec.volume_mode
        and set(spec.access_modes) <= set(volume.spec.access_modes)
        and matches(selector, volume.metadata.labels)
    )


def _capacity(volume: PersistentVolume) -> int:
    return amount(STORAGE, volume.spec.capacity.get(STORAGE, 0))
