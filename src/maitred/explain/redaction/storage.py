"""Claims of strangers, the volumes that they have, and what their pods need of them.

A volume that no claim has may be anybody's: it is the cluster's, and keeps its name, as classes and drivers
do.
"""

from maitred.cluster.volumes import StorageView, VolumeNeed, class_name, handle_of
from maitred.explain.redaction.aliases import MARK, Aliases
from maitred.explain.redaction.pods import each
from maitred.explain.redaction.vocabulary import Vocabulary
from maitred.model.meta import ObjectMeta
from maitred.model.selector import Requirement
from maitred.model.storage import (
    PLACE_LABELS,
    AttachmentSource,
    AzureDisk,
    ClaimReference,
    ClaimSpec,
    CSISource,
    GoogleDisk,
    PersistentVolume,
    PersistentVolumeClaim,
    Place,
    VolumeAttachment,
    VolumeAttachmentSpec,
    VolumeById,
    VolumeNodeAffinity,
    VolumeSpec,
)

NOT_READY = "one of its volumes is not ready"


class StorageFields:
    def __init__(self, storage: StorageView, names: Aliases, words: Vocabulary) -> None:
        self._storage, self._names, self._words = storage, names, words
        told = [volume for name, volume in storage.volumes.items() if self._is_told(name)]
        self._drivers = {volume.spec.csi.driver for volume in told if volume.spec.csi is not None}
        self._disks = {disk for volume in told if (disk := disk_of(volume))}
        """Of volumes that keep their names. A disk may be the volume of several names."""
        pairs = [(volume, self._volume(name, volume)) for name, volume in storage.volumes.items()]
        self._handles = {
            old[1]: new[1]
            for volume, shown in pairs
            if (old := handle_of(volume)) is not None and (new := handle_of(shown)) is not None
        }
        self.view = StorageView(
            claims={names.key(key): self._claim(key, claim) for key, claim in storage.claims.items()},
            volumes={shown.metadata.name: shown for _, shown in pairs},
            classes=storage.classes,
            csi_nodes=storage.csi_nodes,
            drivers=storage.drivers,
            attachments={
                f"{MARK}{number}": self._attachment(one)
                for number, one in enumerate(storage.attachments.values(), 1)
            },
        )

    def _is_told(self, name: str) -> bool:
        volume = self._storage.volumes.get(name)
        reference = None if volume is None else volume.spec.claim_ref
        mine = reference is None or self._names.is_own(f"{reference.namespace}/{reference.name}")
        return volume is not None and mine

    def _name(self, name: str) -> str:
        return name if self._is_told(name) else self._names.other(name)

    def _claim(self, key: str, claim: PersistentVolumeClaim) -> PersistentVolumeClaim:
        if self._names.is_own(key):
            return claim
        namespace, _, name = self._names.key(key).partition("/")
        spec = ClaimSpec(
            volume_name=self._name(claim.spec.volume_name),
            storage_class_name=self._words.told(class_name(claim, claim.spec, self._storage)),
        )
        return PersistentVolumeClaim(ObjectMeta(name=name, namespace=namespace), spec)

    def _volume(self, name: str, volume: PersistentVolume) -> PersistentVolume:
        spec, reference = volume.spec, volume.spec.claim_ref
        if self._is_told(name) or reference is None:
            return volume
        namespace, _, claim = self._names.key(f"{reference.namespace}/{reference.name}").partition("/")
        places = {key: value for key, value in volume.metadata.labels.items() if key in PLACE_LABELS}
        disk = self._disk(disk_of(volume))
        by_id = VolumeById(disk)
        return PersistentVolume(
            ObjectMeta(name=self._name(name), labels=places),
            VolumeSpec(
                claim_ref=ClaimReference(namespace, claim, self._names.other(reference.uid)),
                node_affinity=VolumeNodeAffinity(self._words.selector(spec.node_affinity.required)),
                csi=None if spec.csi is None else CSISource(self._driver(spec.csi.driver), disk),
                aws_elastic_block_store=None if spec.aws_elastic_block_store is None else by_id,
                gce_persistent_disk=None if spec.gce_persistent_disk is None else GoogleDisk(disk),
                azure_disk=None if spec.azure_disk is None else AzureDisk(disk, "Managed"),
                cinder=None if spec.cinder is None else by_id,
                portworx_volume=None if spec.portworx_volume is None else by_id,
            ),
        )

    def _driver(self, driver: str) -> str:
        return driver if driver in self._drivers else self._words.told(driver)

    def _disk(self, disk: str) -> str:
        return disk if disk in self._disks else self._names.other(disk)

    def _attachment(self, attachment: VolumeAttachment) -> VolumeAttachment:
        spec = attachment.spec
        return VolumeAttachment(
            ObjectMeta(),
            VolumeAttachmentSpec(
                attacher=self._driver(spec.attacher),
                node_name=self._words.node(spec.node_name),
                source=AttachmentSource(self._name(spec.source.persistent_volume_name)),
            ),
        )

    def need(self, need: VolumeNeed) -> VolumeNeed:
        return VolumeNeed(
            problem=need.problem and NOT_READY,
            affinity=self._words.selector(need.affinity),
            places=each(self._place, need.places),
            topologies=need.topologies,
            candidates=each(self._name, need.candidates),
            unbound=need.unbound,
            provisioned=need.provisioned,
            driver=self._driver(need.driver),
            migrated=need.migrated,
            handle=self._handle(need),
            selected_node=need.selected_node and self._words.node(need.selected_node),
            exclusive=self._names.key(need.exclusive),
        )

    def _handle(self, need: VolumeNeed) -> str:
        """Of a volume; of one that is not chosen yet, the claim."""
        if need.unbound:
            return self._names.key(need.handle)
        return self._handles.get(need.handle) or self._names.other(need.handle)

    def _place(self, place: Place) -> Place:
        """A zone or region: a label of nodes."""
        values = self._words.requirement(Requirement(place.key, "In", place.values)).values
        return Place(place.key, place.modern, values)


def disk_of(volume: PersistentVolume) -> str:
    """What a driver calls it; of a disk of Google, only the part that its place does not tell."""
    if volume.spec.csi is None and volume.spec.gce_persistent_disk is not None:
        return volume.spec.gce_persistent_disk.pd_name
    return (handle_of(volume) or ("", ""))[1]
