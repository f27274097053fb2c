"""Objects as an audit reads them: the model's, and with it the times at which things happened."""

from maitred.explain.floorplan import SaidCondition
from maitred.model.meta import Lean, ObjectMeta, Timestamp
from maitred.model.pod import Pod, PodStatus


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
