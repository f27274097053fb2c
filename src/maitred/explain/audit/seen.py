"""Objects as an audit reads them: the model's, and with it the times at which things happened."""

from maitred.explain.floorplan import SaidCondition
from maitred.model.membership import ForeignGroup
from maitred.model.meta import Lean, ObjectMeta, Timestamp
from maitred.model.objects import Object
from maitred.model.pod import Pod, PodStatus
from maitred.model.training import API_GROUP, TrainingJob


class Running(Lean, frozen=True):
    started_at: Timestamp | None = None


class Terminated(Running, frozen=True):
    finished_at: Timestamp | None = None


class ContainerState(Lean, frozen=True):
    running: Running | None = None
    terminated: Terminated | None = None


class ContainerStatus(Lean, frozen=True):
    restart_count: int = 0
    state: ContainerState = ContainerState()


class SeenPodStatus(PodStatus, frozen=True):
    conditions: tuple[SaidCondition, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class SeenPodMeta(ObjectMeta, frozen=True):
    @property
    def deleted_at(self) -> float | None:
        """When it was told to go, in seconds since 1970. Its deletion timestamp is when it has to be gone."""
        gone = self.deletion_timestamp
        return None if gone is None else gone.timestamp() - self.deletion_grace_period_seconds


class SeenPod(Pod, frozen=True, kw_only=True):
    metadata: SeenPodMeta
    status: SeenPodStatus = SeenPodStatus()


Seen = Object | ForeignGroup | TrainingJob

FOREIGN_GROUPS = {
    "scheduling.x-k8s.io": "v1alpha1",
    "scheduling.volcano.sh": "v1beta1",
    "scheduling.run.ai": "v2alpha2",
    "scheduling.sigs.k8s.io": "v1alpha1",
    "scheduling.godel.kubewharf.io": "v1alpha1",
}
"""API groups with PodGroups of their own, and the version that is read."""
TRAINING = (API_GROUP, "v1", "PyTorchJob")
KINDS: dict[tuple[str, str], type[ForeignGroup | TrainingJob]] = {
    **{(f"{group}/{version}", "PodGroup"): ForeignGroup for group, version in FOREIGN_GROUPS.items()},
    (f"{TRAINING[0]}/{TRAINING[1]}", TRAINING[2]): TrainingJob,
}
"""What decisions do not read, and audits do, by API version and kind."""
