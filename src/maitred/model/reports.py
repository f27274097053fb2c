"""What kubelets and controllers report of pods and nodes. No decision reads it; answers and audits do.

It is kept out of the structs that the scheduler reads from its watches: most events of pods and nodes are
such reports, and must cost as little as possible.
"""

from maitred.model.container_status import ContainerStatus
from maitred.model.meta import Lean, ObjectMeta, Timestamp
from maitred.model.pod import Pod, PodStatus


class SaidCondition(Lean, frozen=True):
    type: str = ""
    status: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: Timestamp | None = None


class SeenPodStatus(PodStatus, frozen=True):
    reason: str = ""
    message: str = ""
    conditions: tuple[SaidCondition, ...] = ()
    init_container_statuses: tuple[ContainerStatus, ...] = ()
    container_statuses: tuple[ContainerStatus, ...] = ()


class SeenPod(Pod, frozen=True, kw_only=True):
    metadata: ObjectMeta
    status: SeenPodStatus = SeenPodStatus()


class TimedTaint(Lean, frozen=True):
    key: str = ""
    value: str = ""
    effect: str = ""
    time_added: Timestamp | None = None


class SeenNodeSpec(Lean, frozen=True):
    taints: tuple[TimedTaint, ...] = ()
    unschedulable: bool = False


class SeenNodeStatus(Lean, frozen=True):
    conditions: tuple[SaidCondition, ...] = ()


class SeenNode(Lean, frozen=True):
    metadata: ObjectMeta
    spec: SeenNodeSpec = SeenNodeSpec()
    status: SeenNodeStatus = SeenNodeStatus()
