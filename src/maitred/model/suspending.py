"""Owners that can be suspended: the table of their kinds, and which of them makes some pods leave.

Pods of such an owner leave without being counted as failures: a field of the owner says that it is to have
none, its own controller deletes them, and makes them anew when the field is taken back. Only the topmost
owner is ever written to. A Job of a JobSet belongs to the controller of the JobSets, which would undo, or
misunderstand, what others write there.

Whatever Kueue has admitted leaves by Kueue's own object, its Workload: whoever resumed the owner itself would
run it outside of its quota.

To add a kind: a row in `SUSPENDABLE`. Whoever writes, watches, grants and limits goes by the table.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from maitred.model.job import JOB_CONTROLLER, SYSTEM_NAMESPACES, Job
from maitred.model.meta import ObjectMeta, controller_of, key_of
from maitred.model.objects import Object
from maitred.model.operators.jobset import (
    JOB_SET_CONTROLLER,
    TRAIN_JOB_CONTROLLER,
    JobSet,
    TrainJob,
)
from maitred.model.operators.kueue import KueueWorkload
from maitred.model.operators.parts import OperatorCondition, holds
from maitred.model.operators.ray import KUBERAY, RayCluster, RayJob
from maitred.model.owner_chain import Found, owners_above
from maitred.model.owners import BATCH_JOB, kind_of
from maitred.model.training import (
    MPI_OPERATOR,
    OPERATOR,
    JAXJob,
    MPIJob,
    PaddleJob,
    PyTorchJob,
    TFJob,
    XGBoostJob,
)

Path = tuple[str, ...]


class OwnerName(NamedTuple):
    """Objects of several kinds may have one name in a namespace."""

    kind: str
    """The title of its row in the table,"""
    key: str
    """and `namespace/name`."""

    @property
    def namespace(self) -> str:
        return self.key.partition("/")[0]

    @property
    def name(self) -> str:
        return self.key.partition("/")[2]

    def __str__(self) -> str:
        return f"{self.kind} {self.key}"


@dataclass(frozen=True, slots=True)
class SuspendableKind:
    title: str
    type: type[Object]
    managers: tuple[str, ...]
    """What its own controller is called in `managedBy`. An object that another one manages is left alone:
    nobody knows what its fields lead to."""
    over: tuple[str, ...] = ()
    """Conditions that say that it has come to its end."""
    path: Path = ("spec", "suspend")
    """The field that suspends it,"""
    value: bool = True
    """and what is written there."""
    refuses: Callable[[Any], bool] = lambda one: False
    """Whether its controller refuses, or ignores, the field in this object."""
    ended: Callable[[Any], bool] = lambda one: False
    """Whether it has come to its end, where no condition says so."""
    whole: bool = True
    """Whether all of its pods break together. Those of a Job may be independent of each other."""

    @property
    def field(self) -> str:
        return ".".join(self.path)

    def is_suspended(self, one: Object) -> bool:
        return self._at(one, self.path) is self.value

    def is_over(self, one: Object) -> bool:
        """Whether it makes no more pods, for good."""
        conditions: tuple[OperatorCondition, ...] = self._at(one, ("status", "conditions")) or ()
        if one.metadata.deletion_timestamp is not None or self.ended(one):
            return True
        return any(holds(conditions, type) for type in self.over)

    def is_own(self, one: Object) -> bool:
        """Whether its own controller manages it."""
        managed_by = self._at(one, (*self.path[:-1], "managed_by"))
        return not managed_by or managed_by in self.managers

    def may_be_suspended(self, one: Object) -> bool:
        in_system = one.metadata.namespace in SYSTEM_NAMESPACES
        return self.is_own(one) and not in_system and not self.refuses(one)

    @staticmethod
    def _at(one: Object, path: Path) -> Any:
        found: Any = one
        for step in path:
            found = getattr(found, RENAMED.get(step, step), None)
        return found


RENAMED = {"runPolicy": "run_policy"}
OF_TRAINING = ("spec", "runPolicy", "suspend")

OWNERS = (
    SuspendableKind(
        BATCH_JOB.title,
        Job,
        (JOB_CONTROLLER,),
        ("Complete", "Failed", "FailureTarget", "SuccessCriteriaMet"),
        whole=False,
    ),
    SuspendableKind(
        "JobSet",
        JobSet,
        (JOB_SET_CONTROLLER,),
        ("Completed", "Failed"),
        ended=lambda one: bool(one.status.terminal_state),
    ),
    SuspendableKind("TrainJob", TrainJob, (TRAIN_JOB_CONTROLLER,), ("Complete", "Failed")),
    SuspendableKind(
        "RayJob",
        RayJob,
        (KUBERAY,),
        refuses=lambda one: not one.spec.may_be_suspended,
        ended=lambda one: one.status.job_deployment_status in ("Complete", "Failed"),
    ),
    SuspendableKind("RayCluster", RayCluster, (KUBERAY,)),
    *(
        SuspendableKind(kind.__name__, kind, (OPERATOR,), ("Succeeded", "Failed"), OF_TRAINING)
        for kind in (PyTorchJob, TFJob, JAXJob, XGBoostJob, PaddleJob)
    ),
    SuspendableKind("MPIJob", MPIJob, (OPERATOR, MPI_OPERATOR), ("Succeeded", "Failed"), OF_TRAINING),
)
KUEUE_WORKLOAD = SuspendableKind(
    "Workload", KueueWorkload, (), ("Finished",), ("spec", "active"), value=False
)
"""It owns no pods: it stands for the owner that it names."""
SUSPENDABLE = (*OWNERS, KUEUE_WORKLOAD)
BY_TITLE = {row.title: row for row in SUSPENDABLE}
_OWNERS = {row.type: row for row in OWNERS}


def row_of_suspendable(kind: type[Object]) -> SuspendableKind | None:
    """The row of a kind that pods may have above them."""
    return next((_OWNERS[one] for one in kind.__mro__ if one in _OWNERS), None)


@dataclass(frozen=True, slots=True)
class TopOwner:
    """The owner that is suspended to make some pods leave."""

    name: OwnerName
    uid: str
    whole: bool
    """Whether all pods below it leave together, or none."""
    suspended: bool = False
    """It is already; whoever has done that."""
    workload: str = ""
    """The name of the Workload by which Kueue stops it, if it is Kueue's,"""
    workload_uid: str = ""

    @property
    def written(self) -> tuple[OwnerName, str]:
        """What is written to make its pods leave, and the UID of that."""
        if not self.workload:
            return self.name, self.uid
        return OwnerName(KUEUE_WORKLOAD.title, f"{self.name.namespace}/{self.workload}"), self.workload_uid


def top_owner(
    about: ObjectMeta, known: Found, workload_of: Callable[[Object], KueueWorkload | None]
) -> TopOwner | None:
    """The owner to suspend so that a pod leaves; None where there is none, or where it must not be. Then pods
    are deleted one by one. `workload_of`: the Workload in which Kueue has an object, if it has."""
    found = ((one, row_of_suspendable(type(one))) for one in owners_above(about, known))
    above = [(one, row) for one, row in found if row is not None]
    if not above or above[-1][0].metadata.namespace in SYSTEM_NAMESPACES:
        return None
    for one, row in reversed(above):
        if (workload := workload_of(one)) is not None:
            name, its = OwnerName(row.title, key_of(one.metadata)), workload.metadata
            return TopOwner(name, one.metadata.uid, True, not workload.spec.active, its.name, its.uid)
    one, row = above[-1]
    if _is_child(one) or not row.may_be_suspended(one):
        return None
    name = OwnerName(row.title, key_of(one.metadata))
    return TopOwner(name, one.metadata.uid, row.whole, row.is_suspended(one))


def is_kueues(workload: KueueWorkload, one: Object) -> bool:
    """Whether Kueue's Workload stands for the object: by its UID, within one namespace."""
    if workload.metadata.namespace != one.metadata.namespace or not one.metadata.uid:
        return False
    return any(owner.uid == one.metadata.uid for owner in workload.metadata.owner_references)


def _is_child(one: Object) -> bool:
    """Whether a controller stands above it that we cannot see, and that would be bypassed. A CronJob, or
    whoever else makes plain Jobs, leaves `suspend` of its Jobs alone; who makes larger things may not."""
    owner = controller_of(one.metadata)
    if owner is None:
        return False
    return not isinstance(one, Job) or kind_of(owner) in BY_TITLE
