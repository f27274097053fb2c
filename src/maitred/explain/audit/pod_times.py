"""Pods over time: when each came, got its node, was ready and went. Times are in seconds since 1970."""

from dataclasses import dataclass

from maitred.explain.audit.seen import SeenPod
from maitred.model.container_status import ContainerStatus
from maitred.model.membership import PodWords, said_by
from maitred.model.meta import Timestamp
from maitred.model.pod import Pod
from maitred.model.policy import Policy, is_device
from maitred.model.requests import pod_requests

RUNNING, SUCCEEDED, FAILED = "Running", "Succeeded", "Failed"


@dataclass(slots=True)
class PodTimes:
    """One pod as far as it is known. What has not happened, or is not known, is None."""

    pod: Pod
    said: PodWords
    """What it says of its group."""
    devices: dict[str, int]
    created: float
    bound: float | None = None
    ready: float | None = None
    """When it was ready for the first time."""
    leaving: float | None = None
    """From when on it counts for nobody, though it may hold its devices still."""
    ended: float | None = None
    """From when on it holds nothing."""
    seen: bool = False
    """Whether this is not the first look at it."""

    @property
    def succeeded(self) -> bool:
        return self.pod.status.phase == SUCCEEDED

    @property
    def over(self) -> bool:
        return self.ended is not None

    def update(self, pod: SeenPod, at: float) -> None:
        """What is seen of it at this time. Nothing that happened once can be unseen."""
        self.pod = pod
        if self.bound is None and pod.spec.node_name:
            self.bound = min(bound_at(pod, at if self.seen else self.created), at)
        self.seen = True
        if self.ready is None and (ready := ready_at(pod)) is not None:
            self.ready = max(ready, self.created)  # What could not start is said to have started in 1970.
        deleted = pod.metadata.deleted_at
        if self.leaving is None and deleted is not None:
            self.leaving = min(deleted, at)
        if self.ended is None and pod.status.phase in (SUCCEEDED, FAILED):
            self.ended = min(ended_at(pod) or at, at)


def stay_of(pod: SeenPod, at: float, policy: Policy) -> PodTimes:
    created = pod.metadata.creation_timestamp
    requests = pod_requests(pod.spec)
    stay = PodTimes(
        pod,
        said_by(pod),
        {resource: count for resource, count in requests.items() if is_device(policy, resource)},
        at if created is None else min(created.timestamp(), at),
    )
    stay.update(pod, at)
    return stay


def bound_at(pod: SeenPod, unsaid: float) -> float:
    """`unsaid` where nobody says when: a pod that was created on its node is no scheduler's affair."""
    told = [time for time in (since(pod, "PodScheduled"), seconds(pod.status.start_time)) if time is not None]
    return told[0] if told else unsaid


def ready_at(pod: SeenPod) -> float | None:
    """A pod that was restarted, or has ended, was ready some time before; how early, its start says. So it
    does where nobody has written down whether it is ready."""
    restarted = any(container.restart_count for container in pod.status.container_statuses)
    unsaid = pod.status.phase == RUNNING and not pod.status.conditions
    if pod.status.phase in (SUCCEEDED, FAILED) or restarted or unsaid:
        starts = [started_at(container) for container in pod.status.container_statuses]
        known = [start for start in (*starts, seconds(pod.status.start_time)) if start is not None]
        return min(known, default=None)
    return since(pod, "Ready")


def started_at(container: ContainerStatus) -> float | None:
    state = container.state.running or container.state.terminated
    return None if state is None else seconds(state.started_at)


def ended_at(pod: SeenPod) -> float | None:
    ends = [container.state.terminated for container in pod.status.container_statuses]
    times = [seconds(end.finished_at) for end in ends if end is not None]
    return max((time for time in times if time is not None), default=None)


def since(pod: SeenPod, condition: str) -> float | None:
    """From when on the condition holds."""
    told = next((said for said in pod.status.conditions if said.type == condition), None)
    return None if told is None or told.status != "True" else seconds(told.last_transition_time)


def unready_since(pod: Pod) -> float | None:
    """From when on it has been said not to be ready."""
    told = pod.status.conditions if isinstance(pod, SeenPod) else ()
    ready = next((said for said in told if said.type == "Ready"), None)
    return None if ready is None or ready.status == "True" else seconds(ready.last_transition_time)


def seconds(moment: Timestamp | None) -> float | None:
    return None if moment is None else moment.timestamp()
