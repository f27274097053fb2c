"""What is handed to the ledger: plain records, made on the event loop and written down elsewhere.

Times are in milliseconds since 1970.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from maitred.cluster.news import PodEnd
from maitred.cluster.snapshot import Snapshot
from maitred.model.memory import Incident
from maitred.model.overrides import Override
from maitred.model.plan import Eviction, KeptRoom, Verdict
from maitred.model.policy import Policy
from maitred.model.queues import Payer
from maitred.model.reservations import ReservedNodes


@dataclass(frozen=True, slots=True)
class Arrival:
    """A group that is decided for the first time."""

    at: int
    group: str
    arrived: int
    members: int
    quorum: int
    priority: int
    requests: tuple[tuple[str, int], ...]
    required: str
    labels: Mapping[str, str]
    payer: Payer | None = None
    """On whose account it would run."""


@dataclass(frozen=True, slots=True)
class VerdictChange:
    at: int
    group: str
    verdict: Verdict
    category: str
    """Of its first blocker; empty where there is none."""


@dataclass(frozen=True, slots=True)
class Evicted:
    """A pod was made to go."""

    at: int
    eviction: Eviction
    queue: str = ""
    """The queue that the pod was in,"""
    evictor_queue: str = ""
    """and that of the group that it left for; empty for none."""


@dataclass(frozen=True, slots=True)
class FailureNoted:
    """What is known of a failure of hardware under a group. The latest counts."""

    at: int
    incident: Incident


@dataclass(frozen=True, slots=True)
class OverrideNoted:
    """Somebody has lifted a group past its queue, or has ended that before its time. The latest counts."""

    at: int
    override: Override
    ended: bool = False


Event = Arrival | VerdictChange | Evicted | FailureNoted | OverrideNoted


@dataclass(frozen=True, slots=True)
class Observation:
    """The cluster at one moment, and the pods that ended since the moment before."""

    at: int
    snapshot: Snapshot
    policy: Policy
    ends: tuple[PodEnd, ...]
    hopeless: frozenset[str]
    """Groups that would wait however the free devices lay."""
    scheduler: str | None = None
    """Whose pods are in queues; None: everybody's."""
    rooms: tuple[KeptRoom, ...] = ()
    """What is kept for members that are not there,"""
    reserved: tuple[ReservedNodes, ...] = ()
    """and what for whom it is reserved."""
