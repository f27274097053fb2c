"""The oracle of backfill: first come first served, EASY and conservative, on a machine of alike processors.

As the textbooks have them: Lifka, The ANL/IBM SP Scheduling System (1995), and Mu'alem and Feitelson,
Utilization, Predictability, Workloads, and User Runtime Estimates in Scheduling the IBM SP2 with Backfilling
(2001). A job takes so many processors from its start to its end. What is known of its end beforehand is its
limit, which it never exceeds. The queue is in the order of arrival. Nothing here knows maitred.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Job(NamedTuple):
    """Times are whole numbers."""

    name: str
    arrival: int
    size: int
    """Processors."""
    run_time: int
    limit: int
    """What its user says that it needs at most."""


class Running(NamedTuple):
    job: Job
    start: int

    @property
    def end(self) -> int:
        return self.start + self.job.run_time

    @property
    def expected_end(self) -> int:
        return self.start + self.job.limit


class Machine(NamedTuple):
    """What a scheduler sees."""

    now: int
    processors: int
    running: Sequence[Running]
    queue: Sequence[Job]

    @property
    def free(self) -> int:
        return self.processors - sum(one.job.size for one in self.running)


Scheduler = Callable[[Machine], tuple[list[Job], int | None]]
"""Which jobs start now, and when to ask again although no job arrives or ends."""


def schedule(jobs: Sequence[Job], processors: int, scheduler: Scheduler) -> dict[str, int]:
    """When each job starts. Ends and arrivals of a moment come before its decision."""
    coming = sorted(jobs, key=lambda job: job.arrival)
    starts, queue, running = dict[str, int](), list[Job](), list[Running]()
    wake: int | None = None
    while coming or queue:
        times = [one.end for one in running] + [job.arrival for job in coming[:1]]
        now = min([*times, *([] if wake is None else [wake])])
        running = [one for one in running if one.end > now]
        while coming and coming[0].arrival <= now:
            queue.append(coming.pop(0))
        begin, wake = scheduler(Machine(now, processors, running, queue))
        for job in begin:
            queue.remove(job)
            running.append(Running(job, now))
            starts[job.name] = now
        assert Machine(now, processors, running, queue).free >= 0
    return starts


def first_fit(machine: Machine) -> tuple[list[Job], None]:
    """Whoever finds room starts: nothing is kept for anybody."""
    begin, free = list[Job](), machine.free
    for job in machine.queue:
        if job.size <= free:
            begin.append(job)
            free -= job.size
    return begin, None


def first_come_first_served(machine: Machine) -> tuple[list[Job], None]:
    begin, free = list[Job](), machine.free
    for job in machine.queue:
        if job.size > free:
            break
        begin.append(job)
        free -= job.size
    return begin, None


# -- EASY --------------------------------------------------------------------------------------------------


def easy(machine: Machine) -> tuple[list[Job], None]:
    """Only the first in the queue has a promise. Others start if they end before it, by their limits, or take
    processors that it does not need."""
    begin, _ = first_come_first_served(machine)
    running = [*machine.running, *(Running(job, machine.now) for job in begin)]
    free = machine.processors - sum(one.job.size for one in running)
    waiting = machine.queue[len(begin) :]
    if not waiting:
        return begin, None
    shadow, extra = shadow_of(waiting[0], machine.processors, running)
    for job in waiting[1:]:
        if job.size > free:
            continue
        if machine.now + job.limit > shadow:
            if job.size > extra:
                continue
            extra -= job.size
        free -= job.size
        begin.append(job)
    return begin, None


def shadow_of(first: Job, processors: int, running: Sequence[Running]) -> tuple[int, int]:
    """When the first job can start at the latest, and how many processors it leaves then."""
    for shadow in sorted({one.expected_end for one in running}):
        there = processors - sum(one.job.size for one in running if one.expected_end > shadow)
        if there >= first.size:
            return shadow, there - first.size
    raise AssertionError("no job is larger than the machine")


# -- conservative ------------------------------------------------------------------------------------------


class Conservative:
    """Every job has a promise from its arrival on, which never moves to a later time.

    When a job ends before its limit, the schedule is compressed: in the order of arrival, each job that waits
    is taken out of the profile, and put back where it can start earliest among all others as they stand. That
    is never later than before. Another job may have left room meanwhile, so it goes on until nothing moves.
    """

    def __init__(self) -> None:
        self.promised: dict[Job, int] = {}

    def __call__(self, machine: Machine) -> tuple[list[Job], int | None]:
        profile = Profile(machine.now, machine.processors)
        for one in machine.running:
            profile.take(one.job.size, machine.now, one.expected_end)
        for job in machine.queue:
            if job in self.promised:
                profile.take(job.size, self.promised[job], self.promised[job] + job.limit)
        self.compress(machine, profile)
        for job in machine.queue:
            if job not in self.promised:
                self.promised[job] = profile.earliest(job.size, job.limit)
                profile.take(job.size, self.promised[job], self.promised[job] + job.limit)
        begin = [job for job in machine.queue if self.promised[job] == machine.now]
        for job in begin:
            del self.promised[job]
        return begin, min(self.promised.values(), default=None)

    def compress(self, machine: Machine, profile: "Profile") -> None:
        moved = True
        while moved:
            moved = False
            for job in machine.queue:
                if job not in self.promised:
                    continue
                before = self.promised[job]
                profile.take(-job.size, before, before + job.limit)
                self.promised[job] = profile.earliest(job.size, job.limit)
                profile.take(job.size, self.promised[job], self.promised[job] + job.limit)
                assert self.promised[job] <= before
                moved |= self.promised[job] < before


@dataclass
class Profile:
    """How many processors are free from each of these times until the next one; the last lasts for ever."""

    now: int
    processors: int
    times: list[int] = field(init=False)
    free: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.times, self.free = [self.now], [self.processors]

    def take(self, size: int, start: int, end: int) -> None:
        """Or give back, if the size is negative."""
        for step in range(self.step_at(start), self.step_at(end)):
            self.free[step] -= size

    def step_at(self, time: int) -> int:
        """The step that begins then; there is one from now on."""
        step = bisect_left(self.times, time)
        if step == len(self.times) or self.times[step] != time:
            self.times.insert(step, time)
            self.free.insert(step, self.free[step - 1])
        return step

    def earliest(self, size: int, span: int) -> int:
        """When so many processors are free for so long."""
        anchor: int | None = None
        for time, free in zip(self.times, self.free, strict=True):
            if anchor is not None and time >= anchor + span:
                return anchor
            if free < size:
                anchor = None
            elif anchor is None:
                anchor = time
        assert anchor is not None, "no job is larger than the machine"
        return anchor
