"""What kubelets write of the containers of a pod. No decision reads it; audits, answers and traces do."""

from msgspec import field

from maitred.model.meta import Lean, Timestamp


class WaitingContainer(Lean, frozen=True):
    """Of a container that does not run yet."""

    reason: str = ""
    message: str = ""


class RunningContainer(Lean, frozen=True):
    started_at: Timestamp | None = None


class EndedContainer(RunningContainer, frozen=True):
    exit_code: int = 0
    signal: int = 0
    reason: str = ""
    finished_at: Timestamp | None = None


class ContainerState(Lean, frozen=True):
    waiting: WaitingContainer | None = None
    running: RunningContainer | None = None
    terminated: EndedContainer | None = None


class DeviceReport(Lean, frozen=True):
    """Of one device that a container has."""

    resource_id: str = field(default="", name="resourceID")
    health: str = ""


class DeviceReports(Lean, frozen=True):
    """Of the devices that a container has of one resource, or by one claim."""

    name: str = ""
    resources: tuple[DeviceReport, ...] = ()


class ContainerStatus(Lean, frozen=True):
    name: str = ""
    image: str = ""
    ready: bool = False
    restart_count: int = 0
    state: ContainerState = ContainerState()
    last_state: ContainerState = ContainerState()
    allocated_resources_status: tuple[DeviceReports, ...] = ()
