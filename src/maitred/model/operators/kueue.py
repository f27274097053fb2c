"""Kueue's Workloads: whether what was submitted may run, and whether it was admitted."""

from maitred.model.meta import Lean
from maitred.model.objects import Object
from maitred.model.operators.parts import OperatorCondition, Several, holds


class KueueWorkloadSpec(Lean, frozen=True):
    active: bool = True
    """False: it is not to run, and is evicted if it does."""


class KueueWorkloadStatus(Lean, frozen=True):
    conditions: Several[OperatorCondition] = ()


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
