"""What came of a run, as data: every job accounted for, every device-second in exactly one bucket."""

from typing import Literal, get_args

from msgspec import UNSET, UnsetType

from maitred.model.meta import Lean
from maitred.model.policy import API_VERSION, Placement

Bucket = Literal[
    "productive",
    "starting",
    "incomplete",
    "stalled",
    "leaving",
    "lostToEviction",
    "lostToFailure",
    "reserved",
    "spare",
    "fragmented",
    "idle",
    "broken",
]
BUCKETS: tuple[Bucket, ...] = get_args(Bucket)

End = Literal["finished", "cancelled", "gaveUp", "impossible", "running", "waiting", "notArrived"]
ENDS: tuple[End, ...] = get_args(End)
"""How a job may stand at the end of a run. It is exactly one of these."""


class ResultRecord(Lean, frozen=True, omit_defaults=False):
    """Part of a result: every field is always written."""


class JobOutcome(ResultRecord, frozen=True):
    """One job at the end of a run. Times in seconds since the run began."""

    job: str
    end: End
    arrival: float
    members: int
    devices: int
    priority: int
    started: float | None = None
    """When its quorum first had seats."""
    ended: float | None = None
    waited: float = 0.0
    """All the time in which it wanted seats for its quorum and had none, evictions and failures included."""
    evictions: int = 0
    failures: int = 0
    split: bool = False
    """Whether a scheduler ever left it with some members seated and its quorum not."""
    astray: bool = False
    """Whether a scheduler ever seated it outside the one domain that it requires."""
    useful_device_seconds: float = 0.0
    """Work that was kept; of a job without devices, counted as if each member had one."""
    why: str = ""
    """For jobs that are impossible, or still wait: what was in the way."""
    queue: str | UnsetType = UNSET
    """The queue that it names, if it names one."""


class Sample(ResultRecord, frozen=True):
    """Devices by bucket, on average, from one moment to the next."""

    start: float
    end: float
    devices: dict[Bucket, float]
    waiting: float
    """Devices that waiting jobs asked for."""


class FloorPlanNode(ResultRecord, frozen=True):
    """A node in the floor plan."""

    node: str
    block: str
    rack: str
    devices: int
    broken: int
    seats: tuple[tuple[str, float], ...]
    """Jobs and how many devices each has here; less than one where devices are shared."""


class FloorPlan(ResultRecord, frozen=True):
    """Who sat where at one moment."""

    time: float
    tables: tuple[FloorPlanNode, ...]
    incomplete: tuple[str, ...]
    """Jobs that held seats without their quorum."""
    waiting: tuple[str, ...]


class Run(ResultRecord, frozen=True):
    """One policy with one seed."""

    policy: str
    seed: int
    duration: float
    """Virtual seconds from the beginning to the horizon, or to the last event."""
    devices: int
    nodes: int
    device_seconds: dict[Bucket, float]
    """They add up to devices × duration."""
    makespan: float
    """From the first arrival to the end of the last job that ended."""
    evictions: int
    """Groups that were sent away, each time counted."""
    failures: int
    """Groups that lost members to broken nodes or devices, each time counted."""
    splits: int
    """Jobs that a scheduler left with some members seated and without their quorum."""
    astray: int
    """Jobs that a scheduler seated outside the one domain, such as the rack, that they require."""
    deadlocks: int
    """How often the incomplete groups came to hold so much that none of them could ever be completed."""
    deadlocked_seconds: float
    wait_by_blocker: dict[str, float]
    """Seconds that jobs waited, by what was in the way."""
    cycles: int
    outcomes: tuple[JobOutcome, ...]
    samples: tuple[Sample, ...]
    floor: FloorPlan | None
    placement: Placement = "whole-groups"
    preemptions: int = 0
    """How often a group made others leave."""
    evicted_units: int = 0
    """Groups that were sent away, and single members whom their group could do without."""
    evicted_pods: int = 0
    receipts_device_seconds: float = 0.0
    """Work lost to preemption by priority, as the receipts have it."""
    healed_pods: int = 0
    """Members that were told to leave because hardware had failed under them."""
    warnings: tuple[str, ...] = ()
    device_seconds_by_queue: dict[str, float] | UnsetType = UNSET
    """What jobs of each queue held; left out where no job names one."""


class Distribution(ResultRecord, frozen=True):
    """Of several numbers. All zero where there are none."""

    count: int = 0
    mean: float = 0.0
    p50: float = 0.0
    p99: float = 0.0
    max: float = 0.0


class JobTimes(ResultRecord, frozen=True):
    """Seconds. Waits of all jobs that arrived and are not impossible, so far where they still wait: a policy
    does no better by letting jobs wait for ever. Completions of those that finished."""

    wait: Distribution
    completion: Distribution


class QueueFigures(ResultRecord, frozen=True):
    """The jobs of one queue."""

    jobs: float
    """Those that arrived."""
    wait: Distribution
    device_hours: float
    """What they held, from bind to release."""
    share: float
    """That as a part of what jobs of all queues held."""


class SeedRange(ResultRecord, frozen=True):
    """Of one figure over several seeds."""

    least: float
    most: float


class AcrossSeeds(ResultRecord, frozen=True):
    """How far the seeds are apart: of each run the mean wait, the mean completion and so on."""

    wait: SeedRange
    completion: SeedRange
    productive: SeedRange
    makespan: SeedRange


class PolicyDifference(ResultRecord, frozen=True):
    """Of one figure between two policies: of their summaries, and over pairs of runs with the same seed."""

    amount: float
    least: float
    most: float


class Against(ResultRecord, frozen=True):
    """A policy against another one: how much more of each it has; below zero, less."""

    policy: str
    """The other one."""
    finished: PolicyDifference
    wait: PolicyDifference
    """Mean wait in seconds."""
    hours_in_vain: PolicyDifference
    """Device-hours held by incomplete or stalled groups, lost to eviction or lost to failure."""
    deadlocks: PolicyDifference


class FailureCost(ResultRecord, frozen=True):
    """What failures took of the devices, in device-hours. They add up to `total`."""

    below_quorum: float = 0.0
    """Held by groups that lacked members, or that were stalled by dead ones."""
    done_twice: float = 0.0
    """Work since the last checkpoint, lost to failures."""
    spares: float = 0.0
    """Free, and kept for repairs."""
    total: float = 0.0


class PolicySummary(ResultRecord, frozen=True):
    """One policy, over all seeds: means of what the runs came to; times of all their jobs together."""

    policy: str
    placement: Placement
    seeds: tuple[int, ...]
    jobs: dict[End, float]
    utilisation: dict[Bucket, float]
    """Shares of all device-seconds. They add up to 1, unless there were none."""
    device_hours: dict[Bucket, float]
    makespan: float
    evictions: float
    failures: float
    splits: float
    astray: float
    deadlocks: float
    deadlocked_seconds: float
    wait_by_blocker: dict[str, float]
    """Seconds, by what was in the way; what cost the most first."""
    times: JobTimes
    by_size: dict[str, JobTimes]
    """By devices: none, 1, 2-8, 9-64, 65+; those that occur."""
    by_priority: dict[str, JobTimes]
    """The highest first."""
    across_seeds: AcrossSeeds
    failure_cost: FailureCost = FailureCost()
    preemptions: float = 0.0
    evicted_units: float = 0.0
    evicted_pods: float = 0.0
    receipts_device_hours: float = 0.0
    against: Against | None = None
    """Against the first policy that seats pod by pod, or else the first of all. That one has nothing here."""
    warnings: tuple[str, ...] = ()
    by_queue: dict[str, QueueFigures] | UnsetType = UNSET
    """Left out where no job names a queue."""


class Result(ResultRecord, frozen=True):
    """All runs of a scenario."""

    scenario: str
    summaries: tuple[PolicySummary, ...]
    runs: tuple[Run, ...]
    api_version: str = API_VERSION
    kind: str = "SimulationResult"
