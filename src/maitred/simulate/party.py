"""A job in a run: who of it sits where, how far it is, and how long it has waited."""

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from maitred.simulate.clock import Time
from maitred.simulate.jobs import Job


class Phase(Enum):
    WAITING = auto()
    """Nobody sits."""
    INCOMPLETE = auto()
    """Some sit, and wait for the rest of the quorum."""
    STARTING = auto()
    """The quorum sits and does not work yet."""
    WORKING = auto()
    OVER = auto()


class Stretch(NamedTuple):
    """Work at one speed on the same devices."""

    start: Time
    end: Time
    speed: int
    load: int

    @property
    def work(self) -> int:
        return self.speed * (self.end - self.start)


@dataclass(eq=False)
class Party:
    """Members are numbered from 0, crew after crew."""

    job: Job
    number: int
    """Its place in the order of arrival."""
    seats: list[str] = field(default_factory=list)
    """The node of each member; empty for those who wait."""
    created: list[Time] = field(default_factory=list)
    """When each member, as it is now, was created."""
    births: list[int] = field(default_factory=list)
    """How often each member has been created."""
    ready: set[int] = field(default_factory=set)
    """Members who sit and have started."""
    sitting: int = 0
    phase: Phase = Phase.WAITING
    round: int = 0
    """Grows with every interruption: what was expected before it no longer comes true."""
    saved: int = 0
    """Work that nothing takes away any more."""
    served: int = 0
    """Work that it ever did, useful or not."""
    stretches: list[Stretch] = field(default_factory=list)
    """Work since it last started, up to `since`."""
    since: Time = 0
    speed: int = 0
    load: int = 0
    """Of the members who work since `since`."""
    pace: int = 0
    """Grows when the speed changes."""
    first_seated: Time | None = None
    ended: Time | None = None
    waiting_since: Time | None = None
    waited: Time = 0
    evictions: int = 0
    failures: int = 0
    split: bool = False
    astray: bool = False

    def __post_init__(self) -> None:
        members = self.job.members
        self.seats, self.births = [""] * members, [1] * members
        self.created = [self.job.arrival] * members

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def has_quorum(self) -> bool:
        return self.sitting >= self.job.quorum

    @property
    def waits(self) -> bool:
        """Whether it lacks seats for its quorum."""
        return self.phase in (Phase.WAITING, Phase.INCOMPLETE)

    @property
    def runs(self) -> bool:
        return self.phase in (Phase.STARTING, Phase.WORKING)

    @property
    def nears_its_end(self) -> bool:
        return self.speed > 0 and self.job.work is not None

    @property
    def age(self) -> Time:
        """When the oldest of its members was created."""
        return min(self.created)

    def sitters(self) -> list[int]:
        return [member for member, node in enumerate(self.seats) if node]

    def standing(self) -> list[int]:
        """Members who want seats."""
        return [member for member, node in enumerate(self.seats) if not node]

    def missing_load(self) -> int:
        """The least that the rest of its quorum takes. Surplus that stands does not count."""
        missing = self.job.quorum - self.sitting
        if missing <= 0:
            return 0
        if not self.sitting:
            return self.job.quorum_load
        crew_of = self.job.crew_of
        return sum(sorted(crew_of[member].load for member in self.standing())[:missing])

    # -- work ------------------------------------------------------------------------------------------

    def pause(self, now: Time) -> None:
        """Put down what was done up to now."""
        if self.speed and now > self.since:
            self.stretches.append(Stretch(self.since, now, self.speed, self.load))
            self.served += self.speed * (now - self.since)
        self.since = now

    def change_speed(self, now: Time) -> None:
        """Those who are ready work from now on."""
        self.pause(now)
        job = self.job
        self.speed = sum(job.speed_of(member) for member in self.ready)
        self.load = sum(job.crew_of[member].load for member in self.ready)
        self.pace += 1

    def interrupt(self, now: Time) -> list[Stretch]:
        """Everyone stops. What is done since the last checkpoint is lost, and returned."""
        self.pause(now)
        lost = self._since_checkpoint()
        self.saved += sum(stretch.work for stretch in self.stretches)
        self.saved -= sum(stretch.work for stretch in lost)
        self.stretches = []
        self.speed = self.load = 0
        self.ready.clear()
        self.round += 1
        return lost

    def _since_checkpoint(self) -> list[Stretch]:
        interval = self.job.checkpoint
        if interval == 0:
            return []
        elapsed = sum(stretch.end - stretch.start for stretch in self.stretches)
        lost = elapsed if interval is None else elapsed % interval
        found = []
        for stretch in reversed(self.stretches):
            if lost <= 0:
                break
            start = max(stretch.start, stretch.end - lost)
            found.append(stretch._replace(start=start))
            lost -= stretch.end - start
        return found

    def remaining(self, now: Time) -> int | None:
        """Work that is left; None if it never ends."""
        if self.job.work is None:
            return None
        done = sum(stretch.work for stretch in self.stretches)
        return self.job.work - self.saved - done - self.speed * (now - self.since)

    def attained(self, now: Time) -> int:
        return self.served + self.speed * (now - self.since)
