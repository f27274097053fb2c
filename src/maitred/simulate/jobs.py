"""What arrives in a run: jobs, each of which is one group of pods."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from maitred.decide.shares.prices import WHOLE as WHOLE
from maitred.model.pod import PodSpec
from maitred.simulate.clock import Time

Disruption = Literal["Pod", "PodGroup"]


@dataclass(frozen=True)
class Crew:
    """Members of a job that are alike."""

    spec: PodSpec
    count: int
    devices: int
    """Devices that each member takes whole."""
    share: int = 0
    """Thousandths of one device that each member takes instead, side by side with others on that device."""
    models: tuple[str, ...] = ()
    """The device models that will do; empty: any."""

    @property
    def load(self) -> int:
        """Thousandths of devices that each member takes."""
        return self.devices * WHOLE or self.share


@dataclass(frozen=True)
class SimulatedJob:
    """A group of pods with a known amount of work. One whose crew is a single pod is a lone pod."""

    name: str
    arrival: Time
    crews: tuple[Crew, ...]
    quorum: int
    run_time: Time | None
    """How long it computes with all its members seated. None: it never ends by itself."""
    priority: int = 0
    within: str = ""
    """The topology level of which one domain must hold it all."""
    queue: str = ""
    """The queue that it names. Empty: none."""
    user: str = ""
    """Who made it, for the limits of users. Empty: nobody knows."""
    start_up: Time = 0
    """From seats to work: images, rendezvous, loading the last checkpoint."""
    checkpoint: Time | None = None
    """Each member saves its work each time it has computed for so long. None: never; 0: all the time."""
    limit: Time | None = None
    """How long its pods keep their places at most, by their own deadline. None: nobody says."""
    grace: Time = 0
    """How long members who are evicted hold their devices before they are gone."""
    min_run_time: Time = 0
    """How long it must have computed before it may be evicted."""
    non_preemptible: bool = False
    disruption: Disruption = "Pod"
    """Whether it loses all of its members whenever it loses one, or may lose those above its quorum."""
    cancelled: Time | None = None
    """When its user gives it up, if it has not ended by then."""
    patience: Time | None = None
    """How long after arrival it waits for its first seats before its user gives it up. None: for ever."""
    rendezvous: Time | None = None
    """How long members that sit wait for the others of the quorum before all of them fail and are created
    anew. None: for ever."""

    @cached_property
    def members(self) -> int:
        return sum(crew.count for crew in self.crews)

    @property
    def is_elastic(self) -> bool:
        """Whether it works without some of its members."""
        return self.quorum < self.members

    @cached_property
    def crew_of(self) -> tuple[Crew, ...]:
        """The crew of each member; members are numbered crew after crew."""
        return tuple(crew for crew in self.crews for _ in range(crew.count))

    @cached_property
    def load(self) -> int:
        """Thousandths of devices that all of it takes."""
        return sum(crew.count * crew.load for crew in self.crews)

    @property
    def devices(self) -> int:
        """Devices that all of it takes; a share counts as part of the next whole one."""
        return -(-self.load // WHOLE)

    def speed_of(self, member: int) -> int:
        """What a member adds to the work in a microsecond: its devices, or 1 each where nobody has any."""
        return self.crew_of[member].load if self.load else WHOLE

    @cached_property
    def work(self) -> int | None:
        """Thousandths of device-microseconds until it is done."""
        if self.run_time is None:
            return None
        return self.run_time * (self.load or self.members * WHOLE)

    @cached_property
    def quorum_load(self) -> int:
        """The least that its quorum can take."""
        return sum(sorted(crew.load for crew in self.crew_of)[: self.quorum])


Workload = tuple[SimulatedJob, ...]
"""Jobs in the order of their arrival."""
