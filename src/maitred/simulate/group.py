"""A job in a run: who of it sits where, how far it is, and how long it has waited."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from maitred.simulate.clock import Time
from maitred.simulate.jobs import SimulatedJob


class Phase(Enum):
    WAITING = auto()
    """Nobody sits."""
    INCOMPLETE = auto()
    """Some sit, and wait for the rest of the quorum."""
    STALLED = auto()
    """The quorum sits, and too many of them are dead: the others wait for those, and nobody takes a seat."""
    STARTING = auto()
    """The quorum sits and does not work yet."""
    WORKING = auto()
    STOPPED = auto()
    """It was interrupted, and those who must leave have not left yet."""
    OVER = auto()


class Crash(NamedTuple):
    """The end of a member's process, as its kubelet tells of it."""

    at: Time
    by_device: bool
    """Whether the kubelet also says that a device of it is unhealthy."""


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
class SimulatedGroup:
    """Members are numbered from 0, crew after crew."""

    job: SimulatedJob
    number: int
    """Its place in the order of arrival."""
    owned: bool = False
    """Whether its pods say that something owns them that creates them anew."""
    seats: list[str] = field(default_factory=list)
    """The node of each member; empty for those who wait."""
    leaving: dict[int, Time] = field(default_factory=dict)
    """Members who were sent away and hold their seats until then."""
    nominated: dict[int, str] = field(default_factory=dict)
    """Nodes on which places are kept for members, until others have left them."""
    created: list[Time] = field(default_factory=list)
    """When each member, as it is now, was created."""
    births: list[int] = field(default_factory=list)
    """How often each member has been created."""
    starts: list[Time | None] = field(default_factory=list)
    """When each member who sits began to work, or will. None for those who wait for others."""
    ready: set[int] = field(default_factory=set)
    """Members who work."""
    sitting: int = 0
    """How many have seats, and keep them."""
    dead: set[int] = field(default_factory=set)
    """Of those, members that have ended or hang, and have not been created anew."""
    crashed: dict[int, Crash] = field(default_factory=dict)
    """Of the dead, those whose processes ended on nodes that can tell of it."""
    phase: Phase = Phase.WAITING
    round: int = 0
    """Grows with every interruption: what was expected before it no longer comes true."""
    served: int = 0
    """Work that it did up to `since`, useful or not."""
    lost: int = 0
    """Of that, what was in vain."""
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
        self.starts = [None] * members

    @property
    def name(self) -> str:
        return self.job.name

    @property
    def has_quorum(self) -> bool:
        return self.sitting >= self.job.quorum

    @property
    def can_work(self) -> bool:
        """Whether as many as its quorum sit and live."""
        return self.sitting - len(self.dead) >= self.job.quorum

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
        """Members who have seats, and keep them."""
        return [member for member, node in enumerate(self.seats) if node and member not in self.leaving]

    def living(self) -> list[int]:
        """Those of them who can work."""
        return [member for member in self.sitters() if member not in self.dead]

    def seated(self) -> list[int]:
        """Members who have seats, whether or not they keep them."""
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

    def dismiss(self, members: Iterable[int], until: Time) -> None:
        """Members are to leave their seats by then, and count no more."""
        for member in members:
            self.leaving[member] = until
            self.sitting -= 1

    # -- work ------------------------------------------------------------------------------------------

    def pause(self, now: Time) -> None:
        """Put down what was done up to now."""
        self.served += self.speed * (now - self.since)
        self.since = now

    def begin(self, members: Iterable[int], now: Time) -> None:
        self.pause(now)
        self.ready.update(members)
        self._change_speed()

    def stop(self, members: Sequence[int], now: Time) -> list[Stretch]:
        """Members no longer work. What they did since their last checkpoint is lost, and returned."""
        self.pause(now)
        lost = self._since_checkpoint(self.ready.intersection(members), now)
        self.lost += sum(stretch.work for stretch in lost)
        self.ready.difference_update(members)
        for member in members:
            self.starts[member] = None
        self._change_speed()
        return lost

    def interrupt(self, now: Time) -> list[Stretch]:
        """Everyone stops."""
        lost = self.stop(range(self.job.members), now)
        self.round += 1
        return lost

    def _change_speed(self) -> None:
        job = self.job
        self.speed = sum(job.speed_of(member) for member in self.ready)
        self.load = sum(job.crew_of[member].load for member in self.ready)
        self.pace += 1

    def _since_checkpoint(self, members: Iterable[int], now: Time) -> list[Stretch]:
        """One stretch for all who began together."""
        job, interval, together = self.job, self.job.checkpoint, dict[Time, list[int]]()
        for member in members:
            start = self.starts[member]
            assert start is not None  # They are ready.
            elapsed = now - start
            lost = elapsed if interval is None else elapsed % interval if interval else 0
            together.setdefault(lost, []).append(member)
        return [
            Stretch(
                now - lost,
                now,
                speed=sum(job.speed_of(member) for member in losers),
                load=sum(job.crew_of[member].load for member in losers),
            )
            for lost, losers in together.items()
            if lost
        ]

    def done(self, now: Time) -> int:
        """Work that is done and need not be done again."""
        return self.attained(now) - self.lost

    def remaining(self, now: Time) -> int | None:
        """Work that is left; None if it never ends."""
        return None if self.job.work is None else self.job.work - self.done(now)

    def attained(self, now: Time) -> int:
        """Work that it ever did."""
        return self.served + self.speed * (now - self.since)
