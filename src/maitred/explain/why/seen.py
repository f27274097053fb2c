"""What nodes and controllers write, which no decision reads: how far pods have got, what became of Jobs,
which schedulers hold a Lease, and events.

Both forms of events are read, those of core/v1 and those of events.k8s.io/v1.
"""

from dataclasses import dataclass, field
from datetime import datetime

from maitred.model.group import PodGroup
from maitred.model.meta import Lean, ObjectMeta, Timestamp, key_of
from maitred.model.pod import Pod
from maitred.model.reports import SaidCondition

FAILED_CREATE = "FailedCreate"
"""The reason of events about workloads whose pods are refused: a quota, an admission webhook."""


class Subject(Lean, frozen=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""


class SeenJobStatus(Lean, frozen=True):
    conditions: tuple[SaidCondition, ...] = ()


class SeenJob(Lean, frozen=True):
    metadata: ObjectMeta
    status: SeenJobStatus = SeenJobStatus()

    def condition(self, kind: str) -> SaidCondition | None:
        """If it is true."""
        return next((one for one in self.status.conditions if (one.type, one.status) == (kind, "True")), None)


class LeaseSpec(Lean, frozen=True):
    holder_identity: str = ""
    lease_duration_seconds: int = 0
    renew_time: Timestamp | None = None


class SeenLease(Lean, frozen=True):
    metadata: ObjectMeta
    spec: LeaseSpec = LeaseSpec()


@dataclass(frozen=True, slots=True)
class Leases:
    """Those by which schedulers say that they run."""

    found: tuple[SeenLease, ...] = ()
    at: datetime | None = None
    """When they were read; of a dump, the last time at which one of its Leases was renewed."""
    doubt: str = ""
    """Why a scheduler may run although its Lease is not among these; empty if it would be."""


class Series(Lean, frozen=True):
    count: int = 0
    last_observed_time: Timestamp | None = None


class SeenEvent(Lean, frozen=True):
    involved_object: Subject = Subject()
    regarding: Subject = Subject()
    reason: str = ""
    message: str = ""
    note: str = ""
    count: int = 0
    series: Series | None = None
    event_time: Timestamp | None = None
    first_timestamp: Timestamp | None = None
    last_timestamp: Timestamp | None = None
    deprecated_last_timestamp: Timestamp | None = None

    @property
    def about(self) -> tuple[str, str]:
        """What it is about: a kind, and `namespace/name`."""
        one = self.regarding if self.regarding.name else self.involved_object
        return one.kind, f"{one.namespace or 'default'}/{one.name}"

    @property
    def words(self) -> str:
        return self.note or self.message

    @property
    def latest(self) -> Timestamp | None:
        times = (
            self.series.last_observed_time if self.series else None,
            self.last_timestamp or self.deprecated_last_timestamp,
            self.event_time,
            self.first_timestamp,
        )
        return next((time for time in times if time is not None), None)


@dataclass(frozen=True)
class Seen:
    """Of the namespace that is asked about, or of all."""

    pods: tuple[Pod, ...] = ()
    events: tuple[SeenEvent, ...] = ()
    groups: tuple[PodGroup, ...] = ()
    jobs: tuple[SeenJob, ...] = ()
    leases: Leases | None = None
    """None where a scheduler answers, which runs."""
    _pods: dict[str, Pod] = field(default_factory=dict, compare=False, repr=False)
    _events: dict[tuple[str, str], list[SeenEvent]] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        for pod in self.pods:
            self._pods[key_of(pod.metadata)] = pod
        for event in self.events:
            self._events.setdefault(event.about, []).append(event)

    def pod(self, key: str) -> Pod | None:
        return self._pods.get(key)

    def events_of(self, pod: str) -> list[SeenEvent]:
        return self._events.get(("Pod", pod), [])

    def failures_of(self, kind: str, key: str) -> list[SeenEvent]:
        """Why a controller could not make the pods of a workload."""
        return [event for event in self._events.get((kind, key), ()) if event.reason == FAILED_CREATE]

    def job(self, key: str) -> SeenJob | None:
        return next((job for job in self.jobs if key_of(job.metadata) == key), None)


NOTHING_SEEN = Seen()
