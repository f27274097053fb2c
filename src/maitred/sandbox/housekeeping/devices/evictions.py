"""Pods leave devices that are tainted with NoExecute, at once or after the time that their claim bears it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from maitred.kube.resources import PODS
from maitred.model.devices.claims import AllocatedDevice, DeviceToleration
from maitred.sandbox.claims import is_for, is_reserved_for
from maitred.sandbox.housekeeping.api import ControllerApi
from maitred.sandbox.housekeeping.cache import Index, ObjectCache, key_of
from maitred.sandbox.housekeeping.devices.objects import (
    CLAIMS,
    SLICES,
    TAINT_RULES,
    ClaimObject,
    SliceObject,
    TaintRule,
    TaintWithTime,
    claim_name,
    namespace_of_user,
    pool_key,
)
from maitred.sandbox.housekeeping.evictions import disrupted
from maitred.sandbox.housekeeping.objects import Pod
from maitred.sandbox.housekeeping.recorder import EventRecorder
from maitred.sandbox.housekeeping.work import WorkQueue

DEVICE_TAINT_EVICTION = "device-taint-eviction"
NO_EXECUTE = "NoExecute"


class DeviceTaintEvictions:
    def __init__(self, stock: ObjectCache, api: ControllerApi, recorder: EventRecorder) -> None:
        self._api = api
        self._recorder = recorder
        self._pods = stock.shelf(PODS, Pod)
        self._claims = stock.shelf(CLAIMS, ClaimObject)
        self._slices = stock.shelf(SLICES, SliceObject)
        self._rules = stock.shelf(TAINT_RULES, TaintRule)
        self._users_in = Index(self._pods, namespace_of_user)
        self._slices_of = Index(self._slices, pool_key)
        self._queue = WorkQueue("device eviction", self._attend)
        self._pods.listen(self._pod_told)
        self._claims.listen(self._claim_told)
        self._slices.listen(self._slice_told)
        self._rules.listen(self._rule_told)

    async def run(self) -> None:
        await self._queue.run()

    # -- what happened -------------------------------------------------------------------------------------

    def _pod_told(self, old: Pod | None, new: Pod | None) -> None:
        if new is None or not new.spec.resource_claims or not new.spec.node_name:
            return
        if old is None or not old.spec.node_name or claims(old) != claims(new):
            self._queue.add(key_of(new.metadata))

    def _claim_told(self, old: ClaimObject | None, new: ClaimObject | None) -> None:
        if new is None or new.status.allocation is None or not any(map(self._taints, results(new))):
            return
        for pod in self._users_in[new.metadata.namespace]:
            if new.metadata.name in claims(pod):
                self._queue.add(key_of(pod.metadata))

    def _slice_told(self, old: SliceObject | None, new: SliceObject | None) -> None:
        if any(each is not None and any(driving_out(each)) for each in (old, new)):
            self._look_at_all()

    def _rule_told(self, old: TaintRule | None, new: TaintRule | None) -> None:
        if new is not None and new.spec.taint.effect == NO_EXECUTE:
            self._look_at_all()

    def _look_at_all(self) -> None:
        for key, pod in self._pods.items.items():
            if pod.spec.resource_claims and pod.spec.node_name:
                self._queue.add(key)

    # -- what becomes of a pod -----------------------------------------------------------------------------

    async def _attend(self, key: str) -> None:
        pod = self._pods.items.get(key)
        if pod is None or not pod.spec.node_name or pod.metadata.deletion_timestamp is not None:
            return
        times = [time for claim in self._claims_of(pod) for time in self._leaves(claim)]
        if not times:
            return
        left = (min(times) - datetime.now(UTC)).total_seconds()
        if left > 0:
            self._queue.add_after(key, left)
        else:
            await self._evict(pod)

    def _claims_of(self, pod: Pod) -> Iterator[ClaimObject]:
        for wanted in pod.spec.resource_claims:
            claim = self._claims.items.get(f"{pod.metadata.namespace}/{claim_name(pod, wanted)}")
            if claim is None or not is_reserved_for(pod, claim):
                continue
            if wanted.resource_claim_name is not None or is_for(pod, claim):
                yield claim

    def _leaves(self, claim: ClaimObject) -> Iterator[datetime]:
        for device in results(claim):
            for taint in self._taints(device):
                borne = seconds_borne(taint, device.tolerations)
                if borne is not None:
                    yield (taint.time_added or datetime.now(UTC)) + timedelta(seconds=borne)

    def _taints(self, device: AllocatedDevice) -> list[TaintWithTime]:
        """Those that drive pods out: of the newest generation of its pool, and of rules."""
        slices = self._slices_of[f"{device.driver} {device.pool}"]
        newest = max((each.spec.pool.generation for each in slices), default=0)
        found = [
            taint
            for each in slices
            if each.spec.pool.generation == newest
            for name, taint in driving_out(each)
            if name == device.device
        ]
        rules = (rule for rule in self._rules.items.values() if means(rule, device))
        return found + [rule.spec.taint for rule in rules if rule.spec.taint.effect == NO_EXECUTE]

    async def _evict(self, pod: Pod) -> None:
        words = "Marking for deletion"
        self._recorder.record(DEVICE_TAINT_EVICTION, PODS, pod.metadata, "DeviceTaintManagerEviction", words)
        why = "Device Taint manager: deleting due to NoExecute taint"
        told = disrupted(pod, "DeletionByDeviceTaintManager", why)
        await self._api.patch_pod_status(pod, {"conditions": [told]})
        await self._api.delete(PODS, pod.metadata)


def claims(pod: Pod) -> set[str | None]:
    return {claim_name(pod, claim) for claim in pod.spec.resource_claims}


def results(claim: ClaimObject) -> tuple[AllocatedDevice, ...]:
    return () if claim.status.allocation is None else claim.status.allocation.devices.results


def driving_out(published: SliceObject) -> Iterator[tuple[str, TaintWithTime]]:
    for device in published.spec.devices:
        yield from ((device.name, taint) for taint in device.taints if taint.effect == NO_EXECUTE)


def means(rule: TaintRule, device: AllocatedDevice) -> bool:
    """A rule without a selector taints nothing; one with an empty selector, everything."""
    selector = rule.spec.device_selector
    if selector is None:
        return False
    pairs = ((selector.driver, device.driver), (selector.pool, device.pool), (selector.device, device.device))
    return all(wanted in (None, found) for wanted, found in pairs)


def seconds_borne(taint: TaintWithTime, tolerations: tuple[DeviceToleration, ...]) -> float | None:
    """How long after the taint came a pod stays; None: for ever. Only tolerations of this effect count."""
    limits = list[int]()
    for toleration in tolerations:
        if toleration.effect != NO_EXECUTE or not tolerates(toleration, taint):
            continue
        if toleration.toleration_seconds is None:
            return None
        limits.append(max(0, toleration.toleration_seconds))
    return float(min(limits, default=0))


def tolerates(toleration: DeviceToleration, taint: TaintWithTime) -> bool:
    return toleration.key in ("", taint.key) and (
        toleration.operator == "Exists"
        or (toleration.operator == "Equal" and toleration.value == taint.value)
    )
