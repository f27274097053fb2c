"""Binds, deletions, evictions and status. A write whose outcome is unknown is re-read, never guessed.

Every write names the UID of its object, so it cannot hit another one that has the name by now, and every
write can be sent twice without harm. That is what makes it safe to try again.

Sentences that are written into a namespace name nothing of any other: each passes `told_in` here.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

from maitred.explain.tenant_words import told_in
from maitred.kube import bodies
from maitred.kube.client import JSON, MERGE_PATCH, STRATEGIC_MERGE_PATCH, Client, pause
from maitred.kube.errors import ApiError, KubeError, Unreachable
from maitred.kube.lease import LEASE_SECONDS, RENEW_SECONDS
from maitred.kube.outcomes import Bound, Done, RefusalReason, Refused, Unbound, Unknown
from maitred.kube.permit import Permit
from maitred.kube.resources import CONFIG_MAPS, JOBS, NODES, PODS, VOLUME_CLAIMS, VOLUMES, Resource
from maitred.kube.wire import Condition
from maitred.model.meta import Lean, Timestamp
from maitred.model.runtime import SET_DEADLINE
from maitred.model.storage import SELECTED_NODE, ClaimReference
from maitred.model.suspending import SuspendableKind
from maitred.model.suspension import SUSPENDED

ATTEMPTS = 4
WRITE_SECONDS = LEASE_SECONDS - RENEW_SECONDS
"""For one attempt: what is sent in the last moment of a term is given up before another's can begin."""
LOOK_SECONDS = 10.0
BOUND_BY_CONTROLLER = {"pv.kubernetes.io/bound-by-controller": "yes"}
"""Tells the volume controller that the volume may be had again once the claim is gone."""

BOUND = Bound()
UNBOUND = Unbound()
DONE = Done()

S = TypeVar("S")


class Writer:
    """All that a scheduler writes, but Events. Raises NotLeading, and nothing else, instead of an outcome."""

    def __init__(self, client: Client, permit: Permit) -> None:
        self._client = client
        self._permit = permit

    async def bind(
        self, namespace: str, name: str, uid: str, node: str, annotations: Mapping[str, str] = {}
    ) -> Bound | Refused | Unknown:
        """Give the pod its node; the server adds the annotations to the pod in the same transaction.

        When the outcome is unknown, keep the place and `look` again later.
        """

        async def judge(error: KubeError) -> Bound | Refused | None:
            if (refused := refusal(error)) or was_not_executed(error):
                return refused
            seen = await self.look(namespace, name, uid, node)
            return seen if isinstance(seen, Bound | Refused) else None

        path = PODS.path(namespace, name, "binding")
        return await self._write("POST", path, bodies.binding(name, uid, node, annotations), BOUND, judge)

    async def look(
        self, namespace: str, name: str, uid: str, node: str
    ) -> Bound | Unbound | Refused | Unknown:
        """What became of a bind whose outcome was unknown. Reads only, so it needs no permit."""
        try:
            return fate(await self._find(namespace, name), uid, node)
        except KubeError as error:
            return Unknown(str(error))

    async def delete_pod(
        self, namespace: str, name: str, uid: str, grace_seconds: int | None = None
    ) -> Done | Refused | Unknown:
        """Done when that pod is gone or on its way. One that is on its way already gets no more time by this,
        but it may get less."""

        async def judge(error: KubeError) -> Done | Refused | None:
            return await self._judge_removal(error, namespace, name, uid, grace_seconds)

        path = PODS.path(namespace, name)
        return await self._write("DELETE", path, bodies.deletion(uid, grace_seconds), DONE, judge)

    async def evict(
        self, namespace: str, name: str, uid: str, grace_seconds: int | None = None
    ) -> Done | Refused | Unknown:
        """As `delete_pod`, if the disruption budgets of the pod allow it now."""

        async def judge(error: KubeError) -> Done | Refused | None:
            if isinstance(error, ApiError) and is_budget(error):
                return Refused(RefusalReason.BUDGET, error.message)
            return await self._judge_removal(error, namespace, name, uid, grace_seconds)

        path = PODS.path(namespace, name, "eviction")
        return await self._write("POST", path, bodies.eviction(name, uid, grace_seconds), DONE, judge)

    async def select_node(self, namespace: str, claim: str, uid: str, node: str) -> Done | Refused | Unknown:
        """Ask the provisioner of a claim to make its volume for this node."""
        path = VOLUME_CLAIMS.path(namespace, claim)
        body = bodies.claim_patch(uid, {SELECTED_NODE: node})
        return await self._write("PATCH", path, body, DONE, by_its_answer, MERGE_PATCH)

    async def keep_volume(
        self, volume: str, namespace: str, claim: str, uid: str
    ) -> Done | Refused | Unknown:
        """Keep an existing volume for a claim; the volume controller then binds the two."""
        path = VOLUMES.path(name=volume)
        try:
            found = await self._client.get(path, FoundVolume)
        except KubeError as error:
            return refusal(error) or Unknown(str(error))
        kept = found.spec.claim_ref
        if kept is not None and kept.uid == uid:
            return DONE
        if kept is not None and (kept.namespace, kept.name, kept.uid) != (namespace, claim, ""):
            return Refused(
                RefusalReason.TAKEN, f"volume {volume} is reserved for claim {kept.namespace}/{kept.name}"
            )

        async def judge(error: KubeError) -> Done | Refused | None:
            if isinstance(error, ApiError) and error.is_conflict:
                return Refused(RefusalReason.TAKEN, f"volume {volume} was changed at the same time")
            return refusal(error)

        owner = bodies.KeptFor("v1", "PersistentVolumeClaim", namespace, claim, uid)
        body = bodies.volume_patch(found.metadata.resource_version, BOUND_BY_CONTROLLER, owner)
        return await self._write("PATCH", path, body, DONE, judge, MERGE_PATCH)

    async def name_claim(
        self, namespace: str, name: str, uid: str, claim: str, mappings: Sequence[Mapping[str, Any]]
    ) -> Done | Refused | Unknown:
        """Say in the status of a pod which claim has the devices that it asks for by a resource."""
        path, body = PODS.path(namespace, name, "status"), bodies.extended_claim(uid, claim, mappings)
        return await self._write("PATCH", path, body, DONE, by_its_answer, STRATEGIC_MERGE_PATCH)

    async def nominate(self, namespace: str, name: str, uid: str, node: str) -> Done | Refused | Unknown:
        """Say which node the pod is to have once there is room; an empty name takes that back."""
        path = PODS.path(namespace, name, "status")
        return await self._write(
            "PATCH", path, bodies.nomination(uid, node), DONE, by_its_answer, STRATEGIC_MERGE_PATCH
        )

    async def suspend(self, owner: "OwnerToWrite", annotation: str) -> Done | Refused | Unknown:
        """With this line on it for people. Taken: it was suspended before this was asked."""
        looked = False

        def settled(found: FoundOwner) -> Done | Refused | None:
            nonlocal looked
            before, looked = not looked, True
            if not found.is_suspended(owner):
                return None
            return Refused(RefusalReason.TAKEN, f"the {owner.title} is suspended already") if before else DONE

        return await self._change_owner(owner, told_in(owner.namespace, annotation), settled)

    async def resume(self, owner: "OwnerToWrite") -> Done | Refused | Unknown:
        """Undo `suspend`, and take the line off it."""

        def settled(found: FoundOwner) -> Done | None:
            return None if found.is_suspended(owner) or SUSPENDED in found.metadata.annotations else DONE

        return await self._change_owner(owner, None, settled)

    async def tidy(self, owner: "OwnerToWrite") -> Done | Refused | Unknown:
        """Take the line off an owner that runs. Stale: it is suspended; what the server says counts, not what
        a watch has told us so far."""

        def settled(found: FoundOwner) -> Done | Refused | None:
            if found.is_suspended(owner):
                return Refused(RefusalReason.STALE, f"the {owner.title} is suspended")
            return None if SUSPENDED in found.metadata.annotations else DONE

        return await self._change_owner(owner, None, settled)

    async def set_deadline(
        self, namespace: str, name: str, uid: str, seconds: int | None
    ) -> Done | Refused | Unknown:
        """When a Job ends, counted from its start; None takes back what we have set. A deadline of somebody
        else is never made later: stale where the Job has one that is earlier, or that is to be taken back and
        is not ours. Users write to Jobs too, so each attempt is made on the Job as it was just read."""

        async def judge(error: KubeError) -> Done | Refused | None:
            stale = isinstance(error, ApiError) and error.is_conflict
            return Refused(RefusalReason.STALE, str(error)) if stale else refusal(error)

        path = JOBS.path(namespace, name)
        for _ in range(ATTEMPTS):
            try:
                found = await self.read(path, FoundJob)
            except KubeError as error:
                return refusal(error) or Unknown(str(error))
            if found is None:
                return Refused(RefusalReason.GONE, "the Job does not exist any more")
            if found.metadata.uid != uid:
                why = f"another Job has this name now, with UID {found.metadata.uid}"
                return Refused(RefusalReason.REPLACED, why)
            if (outcome := found.settled(seconds)) is not None:
                return outcome
            body = bodies.job_deadline(uid, found.metadata.resource_version, seconds)
            written = await self._write("PATCH", path, body, DONE, judge, MERGE_PATCH)
            if not (isinstance(written, Refused) and written.why is RefusalReason.STALE):
                return written
        return Unknown(f"PATCH {path}: another client changed the Job at the same time, {ATTEMPTS} times")

    async def set_pod_deadline(
        self, namespace: str, name: str, uid: str, seconds: int
    ) -> Done | Refused | Unknown:
        """When a pod ends, counted from its start. The server itself lets nobody make that later: stale where
        the pod has an earlier deadline by now."""

        async def judge(error: KubeError) -> Refused | None:
            late = isinstance(error, ApiError) and error.status == 422 and "activeDeadline" in error.message
            return Refused(RefusalReason.STALE, str(error)) if late else refusal(error)

        path, body = PODS.path(namespace, name), bodies.pod_deadline(uid, seconds)
        return await self._write("PATCH", path, body, DONE, judge, MERGE_PATCH)

    async def _change_owner(
        self,
        owner: "OwnerToWrite",
        annotation: str | None,
        settled: "Callable[[FoundOwner], Done | Refused | None]",
    ) -> Done | Refused | Unknown:
        """Suspend it with an annotation, or resume it without. Users write to owners too, so each attempt is
        made on the object as it was just read; `settled` says of that whether there is nothing to write."""

        async def judge(error: KubeError) -> Done | Refused | None:
            stale = isinstance(error, ApiError) and error.is_conflict
            return Refused(RefusalReason.STALE, str(error)) if stale else refusal(error)

        kind, path = owner.kind, owner.resource.path(owner.namespace, owner.name)
        value = kind.value if annotation is not None else not kind.value
        for _ in range(ATTEMPTS):
            try:
                found = await self.read(path, FoundOwner)
            except KubeError as error:
                return refusal(error) or Unknown(str(error))
            if found is None:
                return Refused(RefusalReason.GONE, f"the {owner.title} does not exist any more")
            if found.metadata.uid != owner.uid:
                return Refused(
                    RefusalReason.REPLACED,
                    f"another {owner.title} has this name now, with UID {found.metadata.uid}",
                )
            if (outcome := settled(found)) is not None:
                return outcome
            version, marks = found.metadata.resource_version, {SUSPENDED: annotation}
            body = bodies.owner_patch(owner.uid, version, kind.path[1:], value, marks)
            written = await self._write("PATCH", path, body, DONE, judge, MERGE_PATCH)
            if not (isinstance(written, Refused) and written.why is RefusalReason.STALE):
                return written
        return Unknown(
            f"PATCH {path}: another client changed the {owner.title} at the same time, {ATTEMPTS} times"
        )

    async def create(self, resource: Resource, namespace: str, body: bytes) -> Done | Refused | Unknown:
        """Taken: there is an object of this name, which may be what an earlier attempt has made."""

        async def judge(error: KubeError) -> Done | Refused | None:
            taken = isinstance(error, ApiError) and error.is_conflict
            return Refused(RefusalReason.TAKEN, str(error)) if taken else refusal(error)

        return await self._write("POST", resource.path(namespace), body, DONE, judge)

    async def delete(self, resource: Resource, namespace: str, name: str) -> Done | Refused | Unknown:
        """Whichever object has this name; done also if none has."""

        async def judge(error: KubeError) -> Done | Refused | None:
            refused = refusal(error)
            return DONE if refused is not None and refused.why is RefusalReason.GONE else refused

        return await self._write("DELETE", resource.path(namespace, name), b"", DONE, judge)

    async def note_progress(
        self, namespace: str, name: str, data: Mapping[str, str]
    ) -> Done | Refused | Unknown:
        """Entries of a ConfigMap; the others stay as they are."""
        path = CONFIG_MAPS.path(namespace, name)
        return await self._write("PATCH", path, bodies.entries(data), DONE, by_its_answer, MERGE_PATCH)

    async def cordon(self, node: str) -> Done | Refused | Unknown:
        """No scheduler puts pods there from now on."""
        path = NODES.path(name=node)
        return await self._write("PATCH", path, bodies.cordon(), DONE, by_its_answer, MERGE_PATCH)

    async def patch_pod_condition(
        self, namespace: str, name: str, uid: str, condition: Condition, version: str = ""
    ) -> Done | Refused | Unknown:
        """Set one condition. Without a `last_transition_time` the one that is there stays.

        With a `version` it is refused if the pod has changed since: a bind, say, has overtaken it.
        """
        return await self._patch_condition(PODS, namespace, name, uid, condition, version)

    async def patch_group_condition(
        self, groups: Resource, namespace: str, name: str, uid: str, condition: Condition
    ) -> Done | Refused | Unknown:
        """As `patch_pod_condition`; `groups` is the resource in the version that is served."""
        return await self._patch_condition(groups, namespace, name, uid, condition, "")

    async def _patch_condition(
        self, resource: Resource, namespace: str, name: str, uid: str, condition: Condition, version: str
    ) -> Done | Refused | Unknown:
        async def judge(error: KubeError) -> Done | Refused | None:
            if version and isinstance(error, ApiError) and error.is_conflict:
                return Refused(RefusalReason.STALE, error.message)
            return refusal(error)

        path = resource.path(namespace, name, "status")
        told = msgspec.structs.replace(condition, message=told_in(namespace, condition.message))
        body = bodies.condition_patch(uid, told, version)
        return await self._write("PATCH", path, body, DONE, judge, STRATEGIC_MERGE_PATCH)

    async def _write(
        self,
        verb: str,
        path: str,
        body: bytes,
        done: S,
        judge: Callable[[KubeError], Awaitable[S | Refused | None]],
        content_type: str = JSON,
    ) -> S | Refused | Unknown:
        """`send`, where nothing in the answer of the server matters."""
        outcome = await self.send(verb, path, body, judge, content_type)
        return done if isinstance(outcome, bytes) else outcome

    async def send(
        self,
        verb: str,
        path: str,
        body: bytes,
        judge: Callable[[KubeError], Awaitable[S | Refused | None]],
        content_type: str = JSON,
    ) -> bytes | S | Refused | Unknown:
        """Send it until it is done or refused; the server's answer. The judge says what a failure means;
        None: send it again."""
        attempt = 0
        while True:
            self._permit.check()
            try:
                return await self._client.request(
                    verb, path, body=body, content_type=content_type, seconds=WRITE_SECONDS
                )
            except KubeError as error:
                outcome = await judge(error)
                if outcome is not None:
                    return outcome
                attempt += 1
                if attempt == ATTEMPTS:
                    return Unknown(str(error))
                wait = pause(attempt, error.retry_after if isinstance(error, ApiError) else None)
            await asyncio.sleep(wait)

    async def _judge_removal(
        self, error: KubeError, namespace: str, name: str, uid: str, grace_seconds: int | None
    ) -> Done | Refused | None:
        refused = refusal(error)
        if refused is not None and refused.why is RefusalReason.GONE:
            return DONE
        if refused is not None or was_not_executed(error):
            return refused
        try:
            pod = await self._find(namespace, name)
        except KubeError:
            return None
        if pod is None or pod.metadata.uid != uid:
            return DONE
        in_time = grace_seconds is None or pod.metadata.deletion_grace_period_seconds <= grace_seconds
        return DONE if pod.metadata.deletion_timestamp is not None and in_time else None

    async def _find(self, namespace: str, name: str) -> "FoundPod | None":
        return await self.read(PODS.path(namespace, name), FoundPod)

    async def read(self, path: str, kind: type[S]) -> S | None:
        """What is there now; None if nothing is. Raises KubeError."""
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                return await self._client.get(path, kind)
        except TimeoutError:
            raise Unreachable(f"GET {path}: no answer within {LOOK_SECONDS:.0f} s") from None
        except ApiError as error:
            if error.is_gone:
                return None
            raise


class FoundVolumeMeta(Lean, frozen=True):
    resource_version: str = ""


class FoundVolumeSpec(Lean, frozen=True):
    claim_ref: ClaimReference | None = None


class FoundVolume(Lean, frozen=True):
    metadata: FoundVolumeMeta
    spec: FoundVolumeSpec


@dataclass(frozen=True, slots=True)
class OwnerToWrite:
    """An owner of pods that is to be suspended or resumed."""

    kind: SuspendableKind
    resource: Resource
    """In the version that is served."""
    namespace: str
    name: str
    uid: str

    @property
    def title(self) -> str:
        return self.kind.title


class FoundOwnerMeta(Lean, frozen=True):
    uid: str = ""
    resource_version: str = ""
    annotations: dict[str, str] = {}


class FoundOwner(Lean, frozen=True):
    metadata: FoundOwnerMeta
    spec: dict[str, Any] = {}

    def is_suspended(self, owner: OwnerToWrite) -> bool:
        found: Any = self.spec
        for step in owner.kind.path[1:]:
            found = found.get(step) if isinstance(found, dict) else None
        return found is owner.kind.value


class FoundJobSpec(Lean, frozen=True):
    active_deadline_seconds: int | None = None


class FoundJob(Lean, frozen=True):
    """A Job, as far as it says when it ends."""

    metadata: FoundOwnerMeta
    spec: FoundJobSpec

    def settled(self, seconds: int | None) -> Done | Refused | None:
        """Whether there is nothing to write."""
        now = self.spec.active_deadline_seconds
        ours = now is not None and self.metadata.annotations.get(SET_DEADLINE) == str(now)
        if seconds is None:
            if now is None:
                return DONE
            return None if ours else Refused(RefusalReason.STALE, "somebody else has set its deadline")
        if now == seconds:
            return DONE
        earlier = now is not None and now < seconds
        return Refused(RefusalReason.STALE, f"it has a deadline of {now} s by now") if earlier else None


class FoundMeta(Lean, frozen=True):
    uid: str = ""
    deletion_timestamp: Timestamp | None = None
    deletion_grace_period_seconds: int = 0


class Gate(Lean, frozen=True):
    name: str = ""


class FoundSpec(Lean, frozen=True):
    node_name: str = ""
    scheduling_gates: tuple[Gate, ...] = ()


class FoundPod(Lean, frozen=True):
    """A pod, as far as it tells what became of a write."""

    metadata: FoundMeta
    spec: FoundSpec


def fate(pod: FoundPod | None, uid: str, node: str) -> Bound | Unbound | Refused:
    """A pod that got its node and is being deleted since was bound all the same."""
    if pod is None:
        return Refused(RefusalReason.GONE, "the pod does not exist any more")
    if pod.metadata.uid != uid:
        return Refused(RefusalReason.REPLACED, f"another pod has this name now, with UID {pod.metadata.uid}")
    if pod.spec.node_name:
        if pod.spec.node_name == node:
            return BOUND
        return Refused(RefusalReason.BOUND_ELSEWHERE, f"the pod is bound to node {pod.spec.node_name}")
    if pod.metadata.deletion_timestamp is not None:
        return Refused(RefusalReason.DELETING, "the pod is being deleted")
    if pod.spec.scheduling_gates:
        gates = ", ".join(gate.name for gate in pod.spec.scheduling_gates)
        return Refused(RefusalReason.GATED, f"the pod has scheduling gates: {gates}")
    return UNBOUND


async def by_its_answer(error: KubeError) -> Refused | None:
    """For writes where nothing but the answer itself need be looked at."""
    return refusal(error)


def refusal(error: KubeError) -> Refused | None:
    """The refusal in an answer that is final; None where another attempt, or a look, may say otherwise."""
    if not isinstance(error, ApiError) or not error.is_final:
        return None
    if error.is_gone:
        return Refused(RefusalReason.GONE, error.message)
    if error.status == 403:
        return Refused(RefusalReason.FORBIDDEN, str(error))
    # The UID in a patch is a precondition, but the server words it as a field that must not change.
    if error.status == 422 and "metadata.uid" in error.message:
        return Refused(RefusalReason.REPLACED, error.message)
    return Refused(RefusalReason.INVALID, str(error))


def was_not_executed(error: KubeError) -> bool:
    """The server turned the request away before it looked at it."""
    return isinstance(error, ApiError) and error.status in (401, 429)


def is_budget(error: ApiError) -> bool:
    """A budget answers 429, as a busy server does, or 500 where a pod has two. Only the words differ."""
    return "disruption budget" in error.message or "PodDisruptionBudget" in error.message
