"""Kueue's Workloads: what was submitted, which queue it is in, and whether it was admitted."""

from maitred.model.meta import Lean
from maitred.model.objects import Object
from maitred.model.operators.parts import Name, OperatorCondition, Several, Size, holds


class PodSet(Lean, frozen=True):
    name: Name = "main"
    count: Size = 1
    min_count: Size | None = None


class KueueWorkloadSpec(Lean, frozen=True):
    pod_sets: Several[PodSet] = ()
    queue_name: Name = ""
    active: bool = True
    """False: it is not to run, and is evicted if it does."""
    priority: int | None = None


class PodSetAssignment(Lean, frozen=True):
    name: Name = ""
    count: Size | None = None


class Admission(Lean, frozen=True):
    cluster_queue: Name = ""
    pod_set_assignments: Several[PodSetAssignment] = ()


class KueueWorkloadStatus(Lean, frozen=True):
    conditions: Several[OperatorCondition] = ()
    admission: Admission | None = None


class KueueWorkload(Object, frozen=True):
    """Its owner references name what was submitted."""

    spec: KueueWorkloadSpec = KueueWorkloadSpec()
    status: KueueWorkloadStatus = KueueWorkloadStatus()

    @property
    def is_admitted(self) -> bool:
        return holds(self.status.conditions, "Admitted")

    @property
    def holds_quota(self) -> bool:
        return self.is_admitted or holds(self.status.conditions, "QuotaReserved")

    @property
    def is_finished(self) -> bool:
        return holds(self.status.conditions, "Finished")
