"""Objects as controllers read them: the model's, and with it what decisions never look at.

Anyone may have written an object, and a newer server may know more than we do. One that we cannot read must
not keep us from reading the others, so what fails to decode is looked at again, with more patience.
"""

import re
from typing import Any, TypeVar

import msgspec

from maitred.model.devices.claims import ResourceClaim
from maitred.model.group import CompositePodGroup, PodGroup, PodGroupStatus
from maitred.model.job import Job, JobSpec, JobStatus
from maitred.model.manifest.errors import field_error
from maitred.model.manifest.parsing import without_nulls
from maitred.model.meta import Lean, ObjectMeta, OwnerReference, Timestamp
from maitred.model.objects import Object
from maitred.model.operators.jobset import JobSet, TrainJob
from maitred.model.operators.ray import RayCluster, RayJob
from maitred.model.pod import Pod, PodStatus
from maitred.model.reports import SaidCondition
from maitred.model.training import JAXJob, MPIJob, PaddleJob, PyTorchJob, TFJob, XGBoostJob

T = TypeVar("T")

MOST_FAULTS = 20
"""An object with more faults than this is not what it says it is."""

_STEP = re.compile(r"([^.\[\]]+)")


WatchedOwner = OwnerReference


class WatchedMeta(ObjectMeta, frozen=True):
    resource_version: str = ""
    generation: int = 0


class Condition(SaidCondition, frozen=True):
    """Of a pod or of a group; pods have no `observedGeneration` unless the kubelet is recent."""

    observed_generation: int = 0


class WatchedPodStatus(PodStatus, frozen=True):
    conditions: tuple[Condition, ...] = ()


class WatchedPod(Pod, frozen=True, kw_only=True):
    metadata: WatchedMeta
    status: WatchedPodStatus = WatchedPodStatus()


class WatchedClaimMeta(WatchedMeta, frozen=True):
    finalizers: tuple[str, ...] = ()


class WatchedClaim(ResourceClaim, frozen=True, kw_only=True):
    metadata: WatchedClaimMeta


class GroupStatus(PodGroupStatus, frozen=True):
    conditions: tuple[Condition, ...] = ()


class WatchedGroup(PodGroup, frozen=True, kw_only=True):
    metadata: WatchedMeta
    status: GroupStatus = GroupStatus()


class WatchedComposite(CompositePodGroup, frozen=True, kw_only=True):
    metadata: WatchedMeta
    status: GroupStatus = GroupStatus()


class WatchedJobSpec(JobSpec, frozen=True):
    pod_replacement_policy: str = ""


class WatchedJobStatus(JobStatus, frozen=True):
    terminating: int = 0


class WatchedJob(Job, frozen=True, kw_only=True):
    metadata: WatchedMeta
    spec: WatchedJobSpec = WatchedJobSpec()
    status: WatchedJobStatus = WatchedJobStatus()


class WatchedJobSet(JobSet, frozen=True, kw_only=True):
    metadata: WatchedMeta


class WatchedTrainJob(TrainJob, frozen=True, kw_only=True):
    metadata: WatchedMeta


class WatchedRayJob(RayJob, frozen=True, kw_only=True):
    metadata: WatchedMeta


class WatchedRayCluster(RayCluster, frozen=True, kw_only=True):
    metadata: WatchedMeta


class WatchedPyTorchJob(PyTorchJob, frozen=True, kw_only=True):
    metadata: WatchedMeta


class WatchedTFJob(TFJob, frozen=True, kw_only=True):
    metadata: WatchedMeta


class WatchedJAXJob(JAXJob, frozen=True, kw_only=True):
    metadata: WatchedMeta


class WatchedXGBoostJob(XGBoostJob, frozen=True, kw_only=True):
    metadata: WatchedMeta


class WatchedPaddleJob(PaddleJob, frozen=True, kw_only=True):
    metadata: WatchedMeta


class WatchedMPIJob(MPIJob, frozen=True, kw_only=True):
    metadata: WatchedMeta


WatchedOwnerOfPods = (
    WatchedJob
    | WatchedJobSet
    | WatchedTrainJob
    | WatchedRayJob
    | WatchedRayCluster
    | WatchedPyTorchJob
    | WatchedTFJob
    | WatchedJAXJob
    | WatchedXGBoostJob
    | WatchedPaddleJob
    | WatchedMPIJob
)
WATCHED_OWNERS: dict[type[Object], type[WatchedOwnerOfPods]] = {
    Job: WatchedJob,
    JobSet: WatchedJobSet,
    TrainJob: WatchedTrainJob,
    RayJob: WatchedRayJob,
    RayCluster: WatchedRayCluster,
    PyTorchJob: WatchedPyTorchJob,
    TFJob: WatchedTFJob,
    JAXJob: WatchedJAXJob,
    XGBoostJob: WatchedXGBoostJob,
    PaddleJob: WatchedPaddleJob,
    MPIJob: WatchedMPIJob,
}
"""Kinds that can be suspended, as those read them who suspend and resume."""


class ConfigMap(Lean, frozen=True):
    metadata: WatchedMeta
    data: dict[str, str] = {}


class LeaseSpec(Lean, frozen=True):
    holder_identity: str = ""
    lease_duration_seconds: int = 0
    acquire_time: Timestamp | None = None
    renew_time: Timestamp | None = None
    lease_transitions: int = 0


def look_again(raw: bytes | msgspec.Raw, into: type[T]) -> tuple[T | None, str]:
    """An object that did not decode: what can be made of it, if anything, and what is wrong with it.

    Explicit nulls are harmless; nothing is wrong then. A pod on a node takes room there whether we understand
    it or not, so it is read without its faults. Anything else with a fault is left alone: without the part
    that we cannot read, a waiting pod could be seated where it must not be.
    """
    try:
        plain = without_nulls(msgspec.json.decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return None, str(error)
    faults = list[str]()
    while len(faults) < MOST_FAULTS:
        try:
            return msgspec.convert(plain, into), "; ".join(faults)
        except msgspec.ValidationError as error:
            fault = field_error(error, plain, into)
        faults.append(f"{fault.field}: {fault.what}" if fault.field else fault.what)
        if not (issubclass(into, Pod) and is_on_node(plain) and cut_out(plain, fault.field)):
            break
    return None, "; ".join(faults)


def is_on_node(plain: Any) -> bool:
    spec = plain.get("spec") if isinstance(plain, dict) else None
    return isinstance(spec, dict) and isinstance(spec.get("nodeName"), str) and spec["nodeName"] != ""


def cut_out(plain: Any, field: str) -> bool:
    """Remove what is at the path, or what is nearest above it; False if there is nothing to remove."""
    inside: Any = None
    step: Any = None
    for name in _STEP.findall(field):
        key = int(name) if isinstance(plain, list) else name
        try:
            inner = plain[key]
        except (LookupError, TypeError):
            break
        inside, step, plain = plain, key, inner
    if inside is None:
        return False
    del inside[step]
    return True
