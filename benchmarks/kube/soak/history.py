"""What a watch of its own saw: every pod from its first day to its last, and every Job."""

import re
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from maitred.kube.wire import WatchedJob, WatchedPod, WatchedPodStatus
from maitred.model.membership import group_key
from maitred.model.meta import key_of
from maitred.model.suspension import SUSPENDED

JOB_NAME = "batch.kubernetes.io/job-name"
FOR_WHOM = re.compile(r"evicted for (\S+) \(priority (-?\d+) > (-?\d+)\)")
ROUND_SECONDS = 3.0
"""Evictions for one group that are further apart were decided anew."""


@dataclass(slots=True)
class Life:
    """Of one pod, which its UID names. Moments are on the clock of this process, None for what was not."""

    name: str
    party: str
    """The Job or lone pod that it belongs to."""
    group: str
    scheduler: str
    priority: int
    born: float
    node: str = ""
    bound: float | None = None
    refused: str = ""
    evicted: float | None = None
    evicted_for: str = ""
    waived: str = ""
    """By which priorities."""
    gone: float | None = None


@dataclass(slots=True)
class Group:
    """What became of a group that others had to leave for."""

    rounds: list[float] = field(default_factory=list)
    """When somebody was first told to leave for it, each time anew since it was last bound."""
    last: float = 0.0
    """The last time that somebody was."""
    most_rounds: int = 0
    served: bool = True


@dataclass(slots=True)
class Task:
    """A Job."""

    priority: str
    since: float
    """It came, or came back from having been bound."""
    suspended: float | None = None
    ours: bool = False
    suspensions: int = 0
    over: str = ""
    """Complete, or Failed and why."""


class SeenStatus(WatchedPodStatus, frozen=True):
    reason: str = ""


class SeenPod(WatchedPod, frozen=True, kw_only=True):
    status: SeenStatus = SeenStatus()


class Pods:
    """The sink of a reflector."""

    def __init__(self) -> None:
        self.lives: dict[str, Life] = {}
        self.here: dict[str, SeenPod] = {}
        self.groups: dict[str, Group] = defaultdict(Group)
        self.waits: dict[int, list[float]] = defaultdict(list)
        """Of pods that were bound, by their priority: seconds since they were created."""
        self.pairs: dict[tuple[str, str], set[float]] = defaultdict(set)
        """Who left for whom, and when those rounds began."""

    def put(self, pod: SeenPod) -> None:
        now, meta = time.monotonic(), pod.metadata
        self.here[key_of(meta)] = pod
        life = self.lives.get(meta.uid) or self._born(pod, now)
        if pod.spec.node_name and life.bound is None:
            life.node, life.bound = pod.spec.node_name, now
            self.waits[life.priority].append(now - life.born)
            self._served(life.group)
        if pod.status.phase == "Failed" and pod.status.reason.startswith("OutOf"):
            life.refused = pod.status.reason
        self._look_at_conditions(pod, life, now)

    def _born(self, pod: SeenPod, now: float) -> Life:
        meta, spec = pod.metadata, pod.spec
        party = meta.labels.get(JOB_NAME, meta.name)
        group = group_key(pod) or key_of(meta)
        life = Life(meta.name, party, group, spec.scheduler_name, spec.priority or 0, now)
        self.lives[meta.uid] = life
        return life

    def _look_at_conditions(self, pod: SeenPod, life: Life, now: float) -> None:
        for condition in pod.status.conditions:
            told = FOR_WHOM.search(condition.message)
            if condition.type == "DisruptionTarget" and told is not None and life.evicted is None:
                life.evicted, life.evicted_for = now, told[1]
                life.waived = f"{told[2]} > {told[3]}"
                self._evicted(life, now)

    def _evicted(self, life: Life, now: float) -> None:
        group = self.groups[life.evicted_for]
        if now - group.last > ROUND_SECONDS or group.served:
            group.rounds.append(now)
            group.most_rounds = max(group.most_rounds, len(group.rounds))
        group.last, group.served = now, False
        self.pairs[life.party, life.evicted_for].add(group.rounds[-1])

    def _served(self, name: str) -> None:
        if name in self.groups:
            self.groups[name].served = True
            self.groups[name].rounds = []

    def gone(self, key: str) -> None:
        pod = self.here.pop(key)
        self.lives[pod.metadata.uid].gone = time.monotonic()

    def settled(self) -> None:
        """Whoever wants to know looks by itself."""

    # -- questions -------------------------------------------------------------------------------------

    @property
    def evictions(self) -> list[Life]:
        return [life for life in self.lives.values() if life.evicted is not None]

    @property
    def refusals(self) -> list[Life]:
        return [life for life in self.lives.values() if life.refused]

    def waiting(self, prefix: str) -> set[str]:
        """Parties of a kind that have pods without a node."""
        return {
            life.party
            for pod in self.here.values()
            if not pod.spec.node_name
            and (life := self.lives[pod.metadata.uid]).party.startswith(f"{prefix}-")
        }

    def is_explained(self, refused: Life, within_seconds: float) -> bool:
        """Somebody of another scheduler was bound to the same node at about the same time."""
        return any(
            other.scheduler != refused.scheduler
            and other.node == refused.node
            and other.bound is not None
            and refused.bound is not None
            and abs(other.bound - refused.bound) < within_seconds
            for other in self.lives.values()
        )


class Jobs:
    """The sink of a reflector."""

    def __init__(self) -> None:
        self.tasks: dict[str, Task] = {}
        self.here: set[str] = set()

    def put(self, job: WatchedJob) -> None:
        now, name = time.monotonic(), job.metadata.name
        self.here.add(name)
        task = self.tasks.get(name)
        if task is None:
            task = self.tasks[name] = Task(job.spec.template.spec.priority_class_name, now)
        ours = SUSPENDED in job.metadata.annotations
        if job.spec.suspend and task.suspended is None:
            task.suspended, task.suspensions = now, task.suspensions + 1
        if not job.spec.suspend:
            task.suspended = None
        task.ours = ours
        for condition in job.status.conditions:
            if condition.type in ("Complete", "Failed") and condition.status == "True":
                task.over = condition.type if condition.type == "Complete" else f"Failed: {condition.reason}"

    def gone(self, key: str) -> None:
        self.here.discard(key.partition("/")[2])

    def settled(self) -> None:
        """Whoever wants to know looks by itself."""

    def suspended(self) -> list[str]:
        return sorted(name for name in self.here if self.tasks[name].suspended is not None)

    def waiting(self, prefix: str) -> Iterable[str]:
        return (name for name in self.suspended() if name.startswith(f"{prefix}-"))

    def unfinished(self) -> list[str]:
        return sorted(name for name in self.here if not self.tasks[name].over)

    def failed(self) -> dict[str, str]:
        return {name: task.over for name, task in self.tasks.items() if task.over.startswith("Failed")}
