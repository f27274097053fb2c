"""Objects as an audit reads them: the model's, and with it the times at which things happened."""

from maitred.model.container_status import ContainerStatus
from maitred.model.meta import ObjectMeta
from maitred.model.pod import Pod, PodStatus
from maitred.model.reports import SaidCondition


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
