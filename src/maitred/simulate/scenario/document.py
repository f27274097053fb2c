"""A scenario as it is written."""

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
from msgspec import field

from maitred.model.pod import Quantity, Resources
from maitred.model.policy import Policy
from maitred.model.setting import Setting
from maitred.model.world import Levels, NodeKind
from maitred.simulate.jobs import Disruption
from maitred.simulate.scenario.values import DrawnCount, DrawnTime, Mean, OneOf, ScenarioDuration, duration
from maitred.simulate.traces.kubectl import Gangs

MOST_JOBS = 2_000_000
RESET, RECOVERY, RESTART = duration("5m"), duration("2.2h"), duration("1m")
"""Of a device by software, of hardware on average (Delta, SC'25), and of what runs on a node."""

Count = Annotated[int, msgspec.Meta(ge=1, le=MOST_JOBS)]
Rate = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
Gpus = Annotated[int, msgspec.Meta(ge=1, le=1024)]
Priority = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
ONE = DrawnCount(OneOf((1,), (1.0,)))


class ClusterTrace(Setting, frozen=True):
    """Nodes from a file."""

    format: Literal["lingjun", "openb", "kubectl", "record"]
    file: str
    resources: Resources = {}
    """What each host has, where the file does not say. Empty: as in the usual world."""


class ScenarioCluster(Setting, frozen=True):
    """As in a World, or from a file."""

    levels: Levels = Levels()
    kinds: tuple[NodeKind, ...] | None = None
    trace: ClusterTrace | None = None


class Window(Setting, frozen=True):
    """A time in which jobs arrive at another rate."""

    start: ScenarioDuration = field(name="from")
    until: ScenarioDuration
    per_hour: Rate


class Arrivals(Setting, frozen=True):
    """When jobs come: by chance at a rate, regularly, at given times, or at rates that change."""

    per_hour: Rate | None = None
    every: ScenarioDuration | None = None
    at: tuple[ScenarioDuration, ...] | None = None
    windows: tuple[Window, ...] | None = None
    daily: bool = False
    """Whether the windows are hours of each day."""
    start: ScenarioDuration = field(default=ScenarioDuration(0), name="from")
    until: ScenarioDuration | None = None
    jobs: Count | None = None
    """So many and no more."""


class Trace(Setting, frozen=True):
    """Jobs from a file. Times are counted from the arrival of its first job."""

    format: Literal["itp", "muri", "openb", "kubectl", "record"]
    file: str
    gangs: Gangs = "declared"
    gpus_per_worker: Gpus = 8
    """Of a job with more GPUs. One with fewer is a single worker."""
    start: ScenarioDuration = field(default=ScenarioDuration(0), name="from")
    until: ScenarioDuration | None = None
    limit: Count | None = None
    speed: Annotated[float, msgspec.Meta(gt=0, le=1e6)] = 1.0
    """How many times as fast jobs arrive. They run as long as they did."""
    shuffle: bool = False
    """Arrive in an order that is drawn, one each second."""
    fill: Annotated[float, msgspec.Meta(gt=0, le=100)] | None = None
    """Take jobs, and draw more when there are no more, until they ask for so many times the devices."""


Times = Annotated[float, msgspec.Meta(ge=1, le=1000)]


class LimitRange(Setting, frozen=True):
    """Run-time limits, as so many times what a job needs from its places to its end."""

    least: Times = field(name="from")
    most: Times = field(name="until")


class JobSource(Setting, frozen=True):
    """Jobs that are drawn from the same spreads, or all jobs of one trace."""

    name: str = ""
    """Part of the names of its jobs. Jobs of a trace: the name of the file without its ending."""
    arrivals: Arrivals | None = None
    trace: Trace | None = None
    workers: DrawnCount = ONE
    quorum: Count | None = None
    """Of jobs with fewer workers: all of them, as it is without it. In a dump: of all its jobs."""
    gpus: DrawnCount = ONE
    """Of each worker, as are cpu and memory."""
    models: tuple[str, ...] = ()
    """The GPU models that will do; none: any."""
    cpu: Quantity | None = None
    memory: Quantity | None = None
    run_time: DrawnTime | None = None
    """In a trace, of those jobs whose run time it does not tell."""
    stay: bool = False
    """Whether jobs run for ever, whatever else is said of their run time."""
    priority: Priority | None = None
    queue: str = ""
    """The queue that its jobs name. In a dump or record: of all its jobs, whatever these say."""
    user: str = ""
    """Who made its jobs."""
    within: str = ""
    start_up: ScenarioDuration = ScenarioDuration(0)
    checkpoint: ScenarioDuration | None = None
    max_runtime: LimitRange | None = None
    """Between which its limits are drawn. None: its jobs have no limits."""
    grace: ScenarioDuration = ScenarioDuration(0)
    min_run_time: ScenarioDuration = ScenarioDuration(0)
    non_preemptible: bool = False
    disruption: Disruption = "Pod"
    cancelled: Share = 0.0
    """How many of them are given up, each at a moment of what would be its run if it began on arrival."""
    patience: ScenarioDuration | None = None
    rendezvous: ScenarioDuration | None = None

    @property
    def title(self) -> str:
        if self.name or self.trace is None:
            return self.name
        return self.trace.file.rpartition("/")[2].partition(".")[0]


class Lemons(Setting, frozen=True):
    """A few nodes that have most of the trouble."""

    share: Annotated[float, msgspec.Meta(gt=0, lt=1)]
    carry: Annotated[float, msgspec.Meta(gt=0, le=1)]
    """Their part of all faults."""


class RepairTimes(Setting, frozen=True):
    """How long it takes to mend what is broken. Devices are reset, or else looked after by someone."""

    device: DrawnTime = DrawnTime(OneOf((RESET, RECOVERY), (1.0, 1.0)))
    node: DrawnTime = DrawnTime(Mean(RECOVERY))
    rack: DrawnTime = DrawnTime(Mean(RECOVERY))
    software: DrawnTime = DrawnTime(OneOf((RESTART,), (1.0,)))


class WrittenReaction(Setting, frozen=True):
    """How a cluster and the owners of pods react to a fault; the defaults are those of Kubernetes 1.37."""

    detection: ScenarioDuration = duration("50s")
    """The grace period of the node monitor."""
    eviction: ScenarioDuration = duration("5m")
    """Every pod tolerates nodes that cannot be reached for so long, unless it says otherwise."""
    retry: ScenarioDuration = duration("10s")
    """The back-off of a Job after its first failure."""
    silent: Share = 0.0
    """The part of the faults of devices that nothing reports."""
    relapse: ScenarioDuration = duration("11m")
    """Median time between retries that fail (Lablup)."""


class Faulty(Setting, frozen=True):
    """How often nodes break, and from what."""

    per_thousand_node_days: Annotated[float, msgspec.Meta(gt=0, le=100_000)]
    lemons: Lemons | None = None
    causes: str = ""
    """A file that counts them. Without it: those of the training of Llama 3."""
    repair: RepairTimes = RepairTimes()
    reaction: WrittenReaction | None = None
    """Without it, all faults are known at once, and owners create anew at once whoever broke down."""


class Scenario(Setting, frozen=True):
    name: str
    workload: tuple[JobSource, ...]
    api_version: Literal["maitred.dev/v1alpha1"] = "maitred.dev/v1alpha1"
    kind: Literal["Scenario"] = "Scenario"
    cluster: ScenarioCluster = ScenarioCluster()
    faults: Faulty | None = None
    policies: dict[str, Policy] = field(default_factory=lambda: {"default": Policy()})
    horizon: ScenarioDuration | None = None
    """When the run stops. Without it: when every job has ended."""
    cycle: ScenarioDuration = ScenarioDuration(0)
    """How long the scheduler rests between two decisions. 0: it decides whenever something happens."""

    def files(self) -> dict[str, str]:
        """The names of all files that are read with it, as they are written, and the field that has each."""
        names = dict[str, str]()
        for place, name in self._files():
            names.setdefault(name, place)
        return names

    def _files(self) -> Iterator[tuple[str, str]]:
        if self.cluster.trace:
            yield "cluster.trace.file", self.cluster.trace.file
        for position, entry in enumerate(self.workload):
            if entry.trace:
                yield f"workload[{position}].trace.file", entry.trace.file
        if self.faults and self.faults.causes:
            yield "faults.causes", self.faults.causes
