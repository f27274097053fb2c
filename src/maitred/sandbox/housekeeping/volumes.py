"""Claims get the volumes that were made for them, and volumes are free again when their claims are gone.

A bind is written in four steps: volume, its phase, claim, its phase. Each step is one that can be found half
done and completed, so nothing is remembered between them.
"""

import asyncio

from maitred.kube.resources import PODS, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from maitred.model.storage import BIND_COMPLETED
from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.cache import Index, ObjectCache, key_of
from maitred.sandbox.housekeeping.objects import Json, Pod
from maitred.sandbox.housekeeping.storage import (
    BOUND_BY_CONTROLLER,
    BindableVolume,
    Claim,
    VolumeClass,
    best_volume,
    is_kept_for,
    reference,
    satisfies,
    waits_for_consumer,
)
from maitred.sandbox.housekeeping.work import WorkQueue

CLAIM_PROTECTION = "kubernetes.io/pvc-protection"
VOLUME_PROTECTION = "kubernetes.io/pv-protection"


class VolumeController:
    def __init__(self, stock: ObjectCache, api: ControllerApi) -> None:
        self._api = api
        self._claims = stock.shelf(VOLUME_CLAIMS, Claim)
        self._volumes = stock.shelf(VOLUMES, BindableVolume)
        self._classes = stock.shelf(STORAGE_CLASSES, VolumeClass)
        self._pods = stock.shelf(PODS, Pod)
        self._pods_in = Index(self._pods, namespace_with_claims)
        # One at a time: two claims must not choose the same volume.
        self._claim_queue = WorkQueue("claim", self._sync_claim, workers=1)
        self._volume_queue = WorkQueue("volume", self._sync_volume)
        self._claims.listen(self._claim_told)
        self._volumes.listen(self._volume_told)
        self._classes.listen(self._class_told)
        self._pods.listen(self._pod_told)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._claim_queue.run())
            tasks.create_task(self._volume_queue.run())

    # -- what happened ---------------------------------------------------------------------------------

    def _claim_told(self, old: Claim | None, new: Claim | None) -> None:
        if new is not None:
            self._claim_queue.add(key_of(new.metadata))
        for claim in (old, new):
            if claim is not None and claim.spec.volume_name:
                self._volume_queue.add(claim.spec.volume_name)
        gone = old is not None and new is None
        for volume in self._volumes.items.values() if gone else ():
            if old is not None and is_kept_for(volume, old):
                self._volume_queue.add(volume.metadata.name)

    def _volume_told(self, old: BindableVolume | None, new: BindableVolume | None) -> None:
        volume = new or old
        assert volume is not None
        self._volume_queue.add(volume.metadata.name)
        for key, claim in self._claims.items.items():
            unbound = claim.status.phase != "Bound"
            if unbound or claim.spec.volume_name == volume.metadata.name:
                self._claim_queue.add(key)

    def _class_told(self, old: VolumeClass | None, new: VolumeClass | None) -> None:
        for key, claim in self._claims.items.items():
            if claim.status.phase != "Bound":
                self._claim_queue.add(key)

    def _pod_told(self, old: Pod | None, new: Pod | None) -> None:
        """A claim that is being deleted waits for its last user."""
        if old is not None and old.spec.volumes and (new is None or new.is_finished):
            for name in claims_of(old):
                self._claim_queue.add(f"{old.metadata.namespace}/{name}")

    # -- claims ----------------------------------------------------------------------------------------

    async def _sync_claim(self, key: str) -> None:
        claim = self._claims.items.get(key)
        if claim is None:
            return
        if claim.metadata.deletion_timestamp is not None and CLAIM_PROTECTION in claim.metadata.finalizers:
            if not self._is_used(claim):
                await self._api.remove_finalizer(VOLUME_CLAIMS, claim.metadata, CLAIM_PROTECTION)
        elif BIND_COMPLETED in claim.metadata.annotations:
            await self._keep_bound(claim)
        else:
            await self._find_volume(claim)

    async def _find_volume(self, claim: Claim) -> None:
        if claim.spec.volume_name:
            volume = self._volumes.items.get(claim.spec.volume_name)
            free = volume is not None and (volume.spec.claim_ref is None or is_kept_for(volume, claim))
            if volume is None or not free or not satisfies(volume, claim):
                volume = None
        else:
            waits = waits_for_consumer(claim, self._classes.items)
            volume = best_volume(claim, self._volumes.items.values(), waits)
        if volume is not None:
            await self._bind(claim, volume)
        elif claim.status.phase != "Pending":
            await self._claim_phase(claim, {"phase": "Pending"})

    async def _keep_bound(self, claim: Claim) -> None:
        """A bind may have been completed in part only, or the volume may be gone."""
        volume = self._volumes.items.get(claim.spec.volume_name)
        if volume is not None and (volume.spec.claim_ref is None or is_kept_for(volume, claim)):
            await self._bind(claim, volume)
        elif claim.status.phase != "Lost":
            await self._claim_phase(claim, {"phase": "Lost", "accessModes": None, "capacity": None})

    async def _bind(self, claim: Claim, volume: BindableVolume) -> None:
        kept = volume.spec.claim_ref
        if kept is None or kept.uid != claim.metadata.uid:
            ours = {"annotations": {BOUND_BY_CONTROLLER: "yes"}} if kept is None else {}
            body: Json = {"metadata": ours, "spec": {"claimRef": reference(claim)}}
            volume = await self._api.merge(VOLUMES, volume.metadata, body, BindableVolume)
            self._volumes.learn(volume)
        if volume.status.phase != "Bound":
            await self._volume_phase(volume, "Bound")
        if claim.spec.volume_name != volume.metadata.name or BIND_COMPLETED not in claim.metadata.annotations:
            marks = {BIND_COMPLETED: "yes"}
            if not claim.spec.volume_name:
                marks[BOUND_BY_CONTROLLER] = "yes"
            body = {"metadata": {"annotations": marks}, "spec": {"volumeName": volume.metadata.name}}
            claim = await self._api.merge(VOLUME_CLAIMS, claim.metadata, body, Claim)
            self._claims.learn(claim)
        if claim.status.phase != "Bound":
            has = {"accessModes": list(volume.spec.access_modes), "capacity": volume.spec.capacity}
            await self._claim_phase(claim, {"phase": "Bound", **has})

    async def _claim_phase(self, claim: Claim, status: Json) -> None:
        body = {"status": status}
        self._claims.learn(await self._api.merge(VOLUME_CLAIMS, claim.metadata, body, Claim, "status"))

    def _is_used(self, claim: Claim) -> bool:
        return any(
            not pod.is_finished and pod.spec.node_name and claim.metadata.name in claims_of(pod)
            for pod in self._pods_in[claim.metadata.namespace]
        )

    # -- volumes ---------------------------------------------------------------------------------------

    async def _sync_volume(self, name: str) -> None:
        volume = self._volumes.items.get(name)
        if volume is None:
            return
        if volume.metadata.deletion_timestamp is not None and volume.status.phase != "Bound":
            if VOLUME_PROTECTION in volume.metadata.finalizers:
                await self._api.remove_finalizer(VOLUMES, volume.metadata, VOLUME_PROTECTION)
            return
        kept = volume.spec.claim_ref
        if kept is None or not kept.uid:
            await self._volume_phase(volume, "Available")
            return
        claim = self._claims.items.get(f"{kept.namespace}/{kept.name}")
        if claim is None or claim.metadata.uid != kept.uid:
            await self._volume_phase(volume, "Released")
        elif claim.spec.volume_name == name:
            await self._volume_phase(volume, "Bound")
        elif claim.spec.volume_name:
            await self._unbind(volume)
        else:
            self._claim_queue.add(key_of(claim.metadata))

    async def _unbind(self, volume: BindableVolume) -> None:
        """Its claim has another volume. If it was a user who kept it for the claim, it stays kept by name."""
        ours = BOUND_BY_CONTROLLER in volume.metadata.annotations
        body: Json = {"spec": {"claimRef": None if ours else {"uid": None, "resourceVersion": None}}}
        if ours:
            body["metadata"] = {"annotations": {BOUND_BY_CONTROLLER: None}}
        volume = await self._api.merge(VOLUMES, volume.metadata, body, BindableVolume)
        self._volumes.learn(volume)
        await self._volume_phase(volume, "Available")

    async def _volume_phase(self, volume: BindableVolume, phase: str) -> None:
        if volume.status.phase != phase:
            body = {"status": {"phase": phase}}
            self._volumes.learn(
                await self._api.merge(VOLUMES, volume.metadata, body, BindableVolume, "status")
            )


def claims_of(pod: Pod) -> list[str]:
    """Those that it names, and those that it brings along."""
    named = [v.persistent_volume_claim.claim_name for v in pod.spec.volumes if v.persistent_volume_claim]
    return named + [f"{pod.metadata.name}-{v.name}" for v in pod.spec.volumes if v.ephemeral]


def namespace_with_claims(pod: Pod) -> str | None:
    return pod.metadata.namespace if pod.spec.volumes else None
