"""Claims to devices: made from templates for pods and for groups, and let go of when nobody uses them.

As in Kubernetes, a claim is deallocated when its last consumer leaves it. One that nobody has used yet stays
allocated: it may be on its way to its first consumer.
"""

import asyncio
from dataclasses import dataclass

import msgspec

from maitred.kube.resources import PODS
from maitred.model.devices.claims import FINALIZER, Consumer
from maitred.model.pod import PodResourceClaim
from maitred.sandbox.claims import is_for, is_group, is_pod, is_reserved_for
from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.cache import Index, ObjectCache, key_of
from maitred.sandbox.housekeeping.devices.objects import (
    CLAIMS,
    TEMPLATES,
    ClaimObject,
    ClaimTemplateObject,
    claim_from,
    claim_name,
    claims_in_use,
    consumer_of,
    is_done,
    is_of_group,
    namespace_of_user,
    owner_key,
    owner_object,
)
from maitred.sandbox.housekeeping.objects import POD_GROUPS, Json, Meta, Pod, PodGroup, group_name
from maitred.sandbox.housekeeping.recorder import EventRecorder
from maitred.sandbox.housekeeping.work import WorkQueue

CLAIM_CONTROLLER = "resource_claim"


@dataclass(frozen=True, slots=True)
class NoTemplate(Exception):
    """What a pod or a group names is not there yet. It is looked at again when it is."""

    claim: str
    template: str

    def __str__(self) -> str:
        return f'PodResourceClaim {self.claim}: resource claim template "{self.template}" not found'


class ResourceClaims:
    def __init__(self, stock: ObjectCache, api: ControllerApi, recorder: EventRecorder) -> None:
        self._api = api
        self._recorder = recorder
        self._claims = stock.shelf(CLAIMS, ClaimObject)
        self._templates = stock.shelf(TEMPLATES, ClaimTemplateObject)
        self._pods = stock.shelf(PODS, Pod)
        self._groups = stock.shelf(POD_GROUPS, PodGroup)
        self._users_in = Index(self._pods, namespace_of_user)
        self._members = Index(self._pods, group_name)
        self._made_for = Index(self._claims, owner_key)
        self._made: dict[str, str] = {}
        """UID of an owner and its name for a claim -> the claim, until the watch tells of it."""
        self._pod_queue = WorkQueue("claims of pod", self._sync_pod)
        self._group_queue = WorkQueue("claims of podgroup", self._sync_group)
        self._claim_queue = WorkQueue("resource claim", self._sync_claim)
        self._claims.listen(self._claim_told)
        self._templates.listen(self._template_told)
        self._pods.listen(self._pod_told)
        self._groups.listen(self._group_told)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for queue in (self._pod_queue, self._group_queue, self._claim_queue):
                tasks.create_task(queue.run())

    # -- what happened -------------------------------------------------------------------------------------

    def _pod_told(self, old: Pod | None, new: Pod | None) -> None:
        if new is not None and new.spec.resource_claims and not is_done(new):
            self._pod_queue.add(key_of(new.metadata))
        elif (pod := new or old) is not None:
            self._look_at_claims(pod)

    def _group_told(self, old: PodGroup | None, new: PodGroup | None) -> None:
        group = new or old
        assert group is not None
        if not group.spec.resource_claims:
            return
        if new is None:
            self._look_at_claims(group)
            return
        self._group_queue.add(key_of(new.metadata))
        for pod in self._members[key_of(new.metadata)]:
            self._pod_queue.add(key_of(pod.metadata))

    def _look_at_claims(self, owner: Pod | PodGroup) -> None:
        for name in claims_in_use(owner):
            self._claim_queue.add(f"{owner.metadata.namespace}/{name}")

    def _template_told(self, old: ClaimTemplateObject | None, new: ClaimTemplateObject | None) -> None:
        if new is None:
            return
        namespace, name = new.metadata.namespace, new.metadata.name
        for pod in self._users_in[namespace]:
            if any(claim.resource_claim_template_name == name for claim in pod.spec.resource_claims):
                self._pod_queue.add(key_of(pod.metadata))
        for key, group in self._groups.items.items():
            if group.metadata.namespace == namespace and group.spec.resource_claims:
                self._group_queue.add(key)

    def _claim_told(self, old: ClaimObject | None, new: ClaimObject | None) -> None:
        claim = new or old
        assert claim is not None
        if (made := owner_key(claim)) is not None:
            self._made.pop(made, None)
        if new is None:
            self._make_again(claim)
            return
        self._claim_queue.add(key_of(new.metadata))
        is_new = old is None or old.status.allocation is None
        if is_new and new.status.allocation is not None and not new.status.reserved_for:
            for pod in self._users_in[new.metadata.namespace]:
                if pod.spec.node_name and new.metadata.name in claims_in_use(pod):
                    self._pod_queue.add(key_of(pod.metadata))

    def _make_again(self, claim: ClaimObject) -> None:
        """Its owner may still need it."""
        match owner_object(claim):
            case PODS.kind, key:
                self._pod_queue.add(key)
            case POD_GROUPS.kind, key:
                self._group_queue.add(key)

    # -- claims for pods and groups ------------------------------------------------------------------------

    async def _sync_pod(self, key: str) -> None:
        pod = self._pods.items.get(key)
        if pod is None or pod.metadata.deletion_timestamp is not None:
            return
        group = self._groups.items.get(group_name(pod) or "")
        if group_name(pod) is not None and group is None:
            return
        made = dict[str, str]()
        for claim in pod.spec.resource_claims:
            name = await self._claim_for(pod, claim, group)
            if name is not None:
                made[claim.name] = name
        if made:
            await self._api.patch_pod_status(pod, {"resourceClaimStatuses": statuses_with(pod, made)})
        if pod.spec.node_name:
            await self._reserve(pod, group)

    async def _claim_for(self, pod: Pod, claim: PodResourceClaim, group: PodGroup | None) -> str | None:
        """A claim that the status of the pod must get; None if it is there already, or cannot be made yet."""
        known = claim_name(pod, claim)
        if claim.resource_claim_template_name is None or known == "":
            return None
        if known is not None and await self._is_there(pod, known):
            return None
        if group is not None and is_of_group(claim, group):
            return self._found(group, claim)
        try:
            return self._found(pod, claim) or await self._make(pod, claim)
        except NoTemplate as missing:
            self._complain(PODS.kind, pod.metadata, str(missing))
            return None

    async def _is_there(self, owner: Pod | PodGroup, name: str) -> bool:
        claim = self._claims.items.get(f"{owner.metadata.namespace}/{name}")
        if claim is None:
            return await self._api.exists(CLAIMS, owner.metadata.namespace, name)
        if isinstance(owner, Pod):
            return is_for(owner, claim)
        return claim.controller is not None and claim.controller.uid == owner.metadata.uid

    def _found(self, owner: Pod | PodGroup, claim: PodResourceClaim) -> str | None:
        """One that was made before, by us or by who was killed before it could say so."""
        key = f"{owner.metadata.uid}/{claim.name}"
        names = [found.metadata.name for found in self._made_for[key]]
        return min(names) if names else self._made.get(key)

    async def _make(self, owner: Pod | PodGroup, claim: PodResourceClaim) -> str:
        namespace, wanted = owner.metadata.namespace, claim.resource_claim_template_name or ""
        template = self._templates.items.get(f"{namespace}/{wanted}")
        if template is None:
            raise NoTemplate(claim.name, wanted)
        key = f"{owner.metadata.uid}/{claim.name}"
        made = await self._api.create(CLAIMS, namespace, claim_from(template, owner, claim.name), ClaimObject)
        if not self._made_for[key]:
            self._made[key] = made.metadata.name
        return made.metadata.name

    async def _sync_group(self, key: str) -> None:
        group = self._groups.items.get(key)
        if group is None or group.metadata.deletion_timestamp is not None:
            return
        made = dict[str, str]()
        for claim in group.spec.resource_claims:
            known = claim_name(group, claim)
            if claim.resource_claim_template_name is None or known == "":
                continue
            if known is not None and await self._is_there(group, known):
                continue
            try:
                made[claim.name] = self._found(group, claim) or await self._make(group, claim)
            except NoTemplate as missing:
                self._complain(POD_GROUPS.kind, group.metadata, str(missing))
        if made:
            body = {"status": {"resourceClaimStatuses": statuses_with(group, made)}}
            await self._api.patch(POD_GROUPS, group.metadata, body, "status")
            for pod in self._members[key]:
                self._pod_queue.add(key_of(pod.metadata))

    async def _reserve(self, pod: Pod, group: PodGroup | None) -> None:
        """For pods that came to their node past a scheduler that does it."""
        for wanted in pod.spec.resource_claims:
            name = claim_name(pod, wanted)
            claim = self._claims.items.get(f"{pod.metadata.namespace}/{name}")
            if claim is None or claim.status.allocation is None or is_reserved_for(pod, claim):
                continue
            if wanted.resource_claim_name is None and not is_for(pod, claim):
                continue
            consumers = [*claim.status.reserved_for, consumer_of(pod, wanted, group)]
            await self._write(claim, {"reservedFor": msgspec.to_builtins(consumers)})

    def _complain(self, kind: str, metadata: Meta, words: str) -> None:
        resource = PODS if kind == PODS.kind else POD_GROUPS
        self._recorder.record(
            CLAIM_CONTROLLER, resource, metadata, "FailedResourceClaimCreation", words, "Warning"
        )

    # -- what becomes of claims ----------------------------------------------------------------------------

    async def _sync_claim(self, key: str) -> None:
        claim = self._claims.items.get(key)
        if claim is None:
            return
        consumers = claim.status.reserved_for
        left = [consumer for consumer in consumers if await self._uses(claim, consumer)]
        if len(left) < len(consumers):
            change: Json = {"reservedFor": msgspec.to_builtins(left)}
            if not left and FINALIZER in claim.metadata.finalizers:
                change["allocation"] = None
            claim = await self._release(await self._write(claim, change))
        elif not left and claim.metadata.deletion_timestamp and FINALIZER in claim.metadata.finalizers:
            if claim.status.allocation is not None:
                claim = await self._write(claim, {"allocation": None})
            claim = await self._release(claim)
        if not left:
            await self._delete_unused(claim)

    async def _uses(self, claim: ClaimObject, consumer: Consumer) -> bool:
        """Whether a consumer may still use it. One that is not known here may be new: the server is asked."""
        key = f"{claim.metadata.namespace}/{consumer.name}"
        there = Meta(name=consumer.name, namespace=claim.metadata.namespace, uid=consumer.uid)
        if is_pod(consumer):
            pod = self._pods.items.get(key)
            if pod is None:
                return await self._api.get(PODS, there, Pod) is not None
            return pod.metadata.uid == consumer.uid and not is_done(pod)
        if is_group(consumer):
            group = self._groups.items.get(key)
            if group is None:
                return await self._api.get(POD_GROUPS, there, PodGroup) is not None
            return group.metadata.uid == consumer.uid
        return True

    async def _write(self, claim: ClaimObject, status: Json) -> ClaimObject:
        written = await self._api.merge(CLAIMS, claim.metadata, {"status": status}, ClaimObject, "status")
        self._claims.learn(written)
        return written

    async def _release(self, claim: ClaimObject) -> ClaimObject:
        """Nobody has it, and nothing is allocated: it may go."""
        if claim.status.allocation is None and FINALIZER in claim.metadata.finalizers:
            await self._api.remove_finalizer(CLAIMS, claim.metadata, FINALIZER)
        return claim

    async def _delete_unused(self, claim: ClaimObject) -> None:
        """One that was made for a pod which has ended, and which may be there for long."""
        match owner_object(claim):
            case PODS.kind, key:
                pod, owner = self._pods.items.get(key), claim.controller
                if pod is None or owner is None or claim.metadata.deletion_timestamp is not None:
                    return
                if pod.metadata.uid != owner.uid or is_done(pod):
                    await self._api.delete(CLAIMS, claim.metadata)


def statuses_with(owner: Pod | PodGroup, made: dict[str, str]) -> list[Json]:
    known = {each.name: each.resource_claim_name for each in owner.status.resource_claim_statuses}
    merged = sorted({**known, **made}.items())
    return [{"name": name, "resourceClaimName": claim} for name, claim in merged if claim]
