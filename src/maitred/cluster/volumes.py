"""What the claims of a pod mean for its place: resolved from claims, volumes, classes and attach limits."""

from collections import Counter
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import cached_property

import msgspec

from maitred.model.meta import Lean
from maitred.model.migration import IN_TREE, driver_of, migrated_source
from maitred.model.pod import NodeSelector, Pod
from maitred.model.quantity import STORAGE, amount
from maitred.model.selector import matches, selector_of
from maitred.model.storage import (
    BIND_COMPLETED,
    DEFAULT_CLASS,
    NO_PROVISIONER,
    OLD_CLASS,
    PLACE_LABELS,
    READ_WRITE_ONCE_POD,
    SELECTED_NODE,
    ClaimSpec,
    CSIDriver,
    CSINode,
    PersistentVolume,
    PersistentVolumeClaim,
    Place,
    StorageClass,
    TopologyTerm,
    VolumeAttachment,
)

Handle = tuple[str, str]
"""Driver and name of a volume."""


@dataclass(frozen=True, eq=False)
class StorageView:
    """The storage objects of one moment, by name (claims by `namespace/name`)."""

    claims: Mapping[str, PersistentVolumeClaim] = field(default_factory=dict)
    volumes: Mapping[str, PersistentVolume] = field(default_factory=dict)
    classes: Mapping[str, StorageClass] = field(default_factory=dict)
    csi_nodes: Mapping[str, CSINode] = field(default_factory=dict)
    drivers: Mapping[str, CSIDriver] = field(default_factory=dict)
    attachments: Mapping[str, VolumeAttachment] = field(default_factory=dict)

    def with_attachments(self, attachments: Mapping[str, VolumeAttachment]) -> "StorageView":
        """The same with others attached, which changes with every pod: what is known of the rest is kept."""
        twin = replace(self, attachments=attachments)
        lasting = ("unclaimed", "reserved", "shared_handles")
        twin.__dict__.update({name: self.__dict__[name] for name in lasting if name in self.__dict__})
        return twin

    @cached_property
    def unclaimed(self) -> Mapping[str, Sequence[PersistentVolume]]:
        """Storage class -> volumes that any claim may have, smallest first."""
        found: dict[str, list[PersistentVolume]] = {}
        for volume in self.volumes.values():
            if volume.spec.claim_ref is None and volume.status.phase in ("", "Available"):
                found.setdefault(class_of_volume(volume), []).append(volume)
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

    @cached_property
    def shared_handles(self) -> Set[Handle]:
        """Volumes that go by several names: they are attached once, whoever mounts them by which name."""
        counts = Counter(handle for handle in map(handle_of, self.volumes.values()) if handle is not None)
        return {handle for handle, names in counts.items() if names > 1}

    @cached_property
    def attached(self) -> Mapping[str, Set[Handle]]:
        """Node -> CSI volumes that are attached to it, or are to be, whether or not a pod there uses them."""
        found: dict[str, set[Handle]] = {}
        for attachment in self.attachments.values():
            spec = attachment.spec
            volume = self.volumes.get(spec.source.persistent_volume_name)
            if spec.attacher and volume is not None and volume.spec.csi is not None:
                found.setdefault(spec.node_name, set()).add((spec.attacher, volume.spec.csi.volume_handle))
        return found


class VolumeNeed(Lean, frozen=True):
    """One volume of a pod as far as placement goes. Equal needs are interchangeable between pods."""

    problem: str = ""
    """Why no node will do, as long as the storage objects stay as they are."""
    affinity: NodeSelector | None = None
    places: tuple[Place, ...] = ()
    """Where it is, from the labels of an older volume."""
    topologies: tuple[TopologyTerm, ...] = ()
    candidates: tuple[str, ...] = ()
    """Existing volumes that could be bound; each serves one claim."""
    unbound: bool = False
    """Waits for its first user; then one of the candidates, or a new volume, is chosen."""
    provisioned: bool = False
    """A new volume can be made, within the topologies."""
    driver: str = ""
    migrated: bool = False
    """The driver took over from a built-in plugin; it counts only on nodes where it could be."""
    handle: str = ""
    """Names a volume that several pods may share; empty for one of the pod's own."""
    selected_node: str = ""
    """The node that a volume is being made for already."""
    exclusive: str = ""
    """The claim, when only one pod at a time may use it."""


def claim_names(pod: Pod) -> tuple[str, ...]:
    """`namespace/name` of every claim that the pod mounts, generic ephemeral ones included; each once."""
    names = list[str]()
    for volume in pod.spec.volumes:
        if volume.persistent_volume_claim is not None:
            names.append(volume.persistent_volume_claim.claim_name)
        elif volume.ephemeral is not None:
            names.append(f"{pod.metadata.name}-{volume.name}")
    namespace = pod.metadata.namespace or "default"
    return tuple([f"{namespace}/{name}" for name in dict.fromkeys(names)])


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
                selector=spec.selector,
                volume_mode=spec.volume_mode,
                volume_attributes_class_name=spec.volume_attributes_class_name,
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
        if claim is not None and not is_bound(claim):
            return VolumeNeed(
                problem=f"claim {claim_key} names volume {spec.volume_name} and is not bound yet"
            )
        return bound(spec.volume_name, shared, exclusive, storage)
    need = unbound(claim_key, claim, spec, shared, storage)
    return msgspec.structs.replace(need, exclusive=exclusive)


def is_bound(claim: PersistentVolumeClaim) -> bool:
    """Whether a claim that names a volume has it. A manifest that says nothing of it is taken at its word."""
    return BIND_COMPLETED in claim.metadata.annotations or claim.status.phase != "Pending"


def bound(volume_name: str, shared: bool, exclusive: str, storage: StorageView) -> VolumeNeed:
    volume = storage.volumes.get(volume_name)
    if volume is None:
        return VolumeNeed(problem=f"volume {volume_name} does not exist")
    driver, handle = handle_of(volume) or ("", "")
    return VolumeNeed(
        affinity=volume.spec.node_affinity.required,
        places=place_labels(volume),
        driver=driver,
        migrated=bool(driver) and volume.spec.csi is None,
        handle=handle if shared or (driver, handle) in storage.shared_handles else "",
        exclusive=exclusive,
    )


def handle_of(volume: PersistentVolume) -> Handle | None:
    """Driver and handle of a volume that some driver attaches."""
    csi = volume.spec.csi
    return migrated_source(volume) if csi is None else (csi.driver, csi.volume_handle)


def place_labels(volume: PersistentVolume) -> tuple[Place, ...]:
    """A label with an empty zone in it says nothing, as in kube-scheduler."""
    found = []
    for key, value in sorted(volume.metadata.labels.items()):
        zones = [zone.strip() for zone in value.split("__")]
        if key in PLACE_LABELS and all(zones):
            found.append(Place(key, PLACE_LABELS[key], tuple(sorted(set(zones)))))
    return tuple(found)


def unbound(
    claim_key: str, claim: PersistentVolumeClaim | None, spec: ClaimSpec, shared: bool, storage: StorageView
) -> VolumeNeed:
    name = class_name(claim, spec, storage)
    chosen = storage.classes.get(name)
    if chosen is None:
        what = f"storage class {name} does not exist" if name else "no storage class is the default"
        return VolumeNeed(problem=f"claim {claim_key} is not bound, and {what}")
    if chosen.volume_binding_mode == "Immediate":
        return VolumeNeed(problem=f"claim {claim_key} is not bound yet (class {name} binds immediately)")
    provisioned = chosen.provisioner != NO_PROVISIONER
    selected = claim.metadata.annotations.get(SELECTED_NODE, "") if claim else ""
    uid = claim.metadata.uid if claim else ""
    return VolumeNeed(
        topologies=chosen.allowed_topologies if provisioned else (),
        # Once a node is selected a volume is made for it, whatever else there is.
        candidates=() if selected else candidates(claim_key, uid, spec, name, storage),
        unbound=True,
        provisioned=provisioned,
        driver=driver_of(chosen.provisioner) if provisioned else "",
        migrated=chosen.provisioner in IN_TREE,
        handle=claim_key if shared else "",
        selected_node=selected,
    )


def class_name(claim: PersistentVolumeClaim | None, spec: ClaimSpec, storage: StorageView) -> str:
    old = claim.metadata.annotations.get(OLD_CLASS) if claim else None
    if old is not None:
        return old
    return default_class(storage) if spec.storage_class_name is None else spec.storage_class_name


def class_of_volume(volume: PersistentVolume) -> str:
    return volume.metadata.annotations.get(OLD_CLASS, volume.spec.storage_class_name)


def default_class(storage: StorageView) -> str:
    marked = [n for n, c in storage.classes.items() if c.metadata.annotations.get(DEFAULT_CLASS) == "true"]
    return min(marked, default="")


def candidates(
    claim_key: str, uid: str, spec: ClaimSpec, class_name: str, storage: StorageView
) -> tuple[str, ...]:
    """Volumes that the claim could be bound to: one kept for it, or else all others, smallest first."""
    selector = () if spec.selector is None else selector_of(spec.selector)
    reserved = storage.reserved.get(claim_key, ())
    kept = [
        volume
        for volume in reserved
        if volume.spec.claim_ref
        and volume.spec.claim_ref.uid in ("", uid)
        and class_of_volume(volume) == class_name
        and _would_do(volume, spec)
    ]
    return tuple(
        volume.metadata.name
        for volume in kept or storage.unclaimed.get(class_name, ())
        if kept
        or (
            _would_do(volume, spec)
            and set(spec.access_modes) <= set(volume.spec.access_modes)
            and matches(selector, volume.metadata.labels)
        )
    )


def _would_do(volume: PersistentVolume, spec: ClaimSpec) -> bool:
    """What is asked even of a volume that is kept for the claim."""
    return (
        volume.metadata.deletion_timestamp is None
        and _capacity(volume) >= amount(STORAGE, spec.resources.requests.get(STORAGE, 0))
        and volume.spec.volume_mode == spec.volume_mode
        and volume.spec.volume_attributes_class_name == spec.volume_attributes_class_name
    )


def _capacity(volume: PersistentVolume) -> int:
    return amount(STORAGE, volume.spec.capacity.get(STORAGE, 0))
