"""An independent witness: what a watch of its own saw of the pods of a scenario, from first to last."""

from dataclasses import dataclass, field

from maitred.kube.wire import Condition, WatchedMeta
from maitred.model.meta import Lean

JOB_NAME = "batch.kubernetes.io/job-name"


class SeenSpec(Lean, frozen=True):
    node_name: str = ""
    scheduler_name: str = ""


class SeenStatus(Lean, frozen=True):
    phase: str = ""
    reason: str = ""
    nominated_node_name: str = ""
    conditions: tuple[Condition, ...] = ()


class SeenPod(Lean, frozen=True):
    metadata: WatchedMeta
    spec: SeenSpec = SeenSpec()
    status: SeenStatus = SeenStatus()

    @property
    def is_finished(self) -> bool:
        return self.status.phase in ("Succeeded", "Failed")

    @property
    def told(self) -> Condition | None:
        """Why it is not scheduled, if anyone has said so."""
        return next((c for c in self.status.conditions if c.type == "PodScheduled"), None)

    @property
    def must_leave(self) -> bool:
        """It was told that somebody else needs its place."""
        return any(
            (c.type, c.status, c.reason) == ("DisruptionTarget", "True", "PreemptionByScheduler")
            for c in self.status.conditions
        )


@dataclass(slots=True)
class Life:
    """Of one pod, which its UID names."""

    name: str
    nodes: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    """For which it failed."""
    nominated: str = ""
    """The node that it was promised last."""
    told_to_leave: bool = False
    grace: int | None = None
    """With which it was deleted."""


class Observer:
    """The sink of a reflector."""

    def __init__(self) -> None:
        self.pods: dict[str, SeenPod] = {}
        self.lives: dict[str, Life] = {}

    def put(self, pod: SeenPod) -> None:
        name = pod.metadata.name
        self.pods[name] = pod
        life = self.lives.setdefault(pod.metadata.uid, Life(name))
        if pod.spec.node_name and pod.spec.node_name not in life.nodes[-1:]:
            life.nodes.append(pod.spec.node_name)
        if pod.status.phase == "Failed" and pod.status.reason not in life.reasons:
            life.reasons.append(pod.status.reason)
        life.nominated = pod.status.nominated_node_name or life.nominated
        life.told_to_leave |= pod.must_leave
        if life.grace is None and pod.metadata.deletion_timestamp is not None:
            life.grace = pod.metadata.deletion_grace_period_seconds

    def gone(self, key: str) -> None:
        del self.pods[key.partition("/")[2]]

    def settled(self) -> None:
        """Whoever waits for something looks by itself."""

    def of_job(self, name: str) -> list[SeenPod]:
        """Its pods that have not failed."""
        return [
            pod
            for pod in self.pods.values()
            if pod.metadata.labels.get(JOB_NAME) == name
            and pod.status.phase != "Failed"
            and pod.metadata.deletion_timestamp is None
        ]

    @property
    def starting(self) -> list[str]:
        """Pods that have a node, whose kubelet has not yet said whether it takes them."""
        return [
            name
            for name, pod in self.pods.items()
            if pod.metadata.deletion_timestamp is not None
            or (pod.spec.node_name and pod.status.phase in ("", "Pending"))
        ]

    @property
    def moved(self) -> list[str]:
        """Pods that were bound twice."""
        return [f"{life.name}: {' → '.join(life.nodes)}" for life in self.lives.values() if life.nodes[1:]]

    @property
    def refused(self) -> list[str]:
        """Pods that a kubelet did not take, because their node was overcommitted."""
        return [
            f"{life.name} on {life.nodes[-1]}: {reason}"
            for life in self.lives.values()
            for reason in life.reasons
            if reason.startswith("OutOf")
        ]
