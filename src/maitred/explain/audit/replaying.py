"""What was seen, run once more: the same jobs on the same nodes, pod by pod and in whole groups.

What was measured says what incomplete gangs held. What another way of seating would have made of the same
jobs nobody can measure, so it is simulated, both ways under the same assumptions.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

from maitred.explain.audit.answer import ReplayedJobs, ReplayedPlacement
from maitred.explain.audit.gangs import FoundGroup, found_groups, fullest
from maitred.explain.audit.holding import whole_since
from maitred.explain.audit.observer import Observer
from maitred.explain.audit.pod_times import PodTimes
from maitred.model.membership import ALONE, GroupId
from maitred.model.meta import key_of
from maitred.model.node import Node
from maitred.model.policy import Placement, Policy
from maitred.model.words import counted, moment
from maitred.simulate.clock import SECOND, Time
from maitred.simulate.jobs import SimulatedJob
from maitred.simulate.run import simulate
from maitred.simulate.setup import Setup
from maitred.simulate.summary import HOUR_S, summarise
from maitred.simulate.traces.kubectl import crews_of, told_apart
from maitred.simulate.traces.traced import pod_name

PLACEMENTS: tuple[Placement, ...] = ("pod-by-pod", "whole-groups")
SEED = 1
"""Of the ties that kube-scheduler breaks at random."""
ENDLESS = "still run or wait: in the replay they stay until its end"
TRACELESS = (
    "a dump does not have deleted jobs, so the replay has fewer jobs than the cluster had; watch with "
    "--for to see all"
)


def replayed(observer: Observer, now: datetime) -> ReplayedJobs | None:
    """None where there is nothing to run."""
    nodes = tuple(sorted(observer.every(Node), key=lambda node: node.metadata.name))
    work = Work(observer, now.timestamp())
    if not nodes or not work.jobs:
        return None
    horizon = work.time(now.timestamp())
    runs = [
        simulate(
            Setup(nodes, work.jobs, iter(()), horizon=horizon), placement, rules(observer, placement), SEED
        )
        for placement in PLACEMENTS
    ]
    told = tuple(
        ReplayedPlacement(
            placement=one.policy,
            finished=round(one.jobs["finished"]),
            jobs=len(work.jobs),
            mean_wait_seconds=one.times.wait.mean,
            productive_device_hours=one.device_hours["productive"],
            incomplete_device_hours=one.device_hours["incomplete"],
            deadlocks=round(one.deadlocks),
        )
        for one in summarise(runs)
    )
    return ReplayedJobs(
        since=moment(int(work.begin)),
        hours=horizon / SECOND / HOUR_S,
        runs=told,
        saved_device_hours=told[0].incomplete_device_hours - told[1].incomplete_device_hours,
        warnings=tuple(work.warnings()),
    )


def rules(observer: Observer, placement: Placement) -> Policy:
    return msgspec.structs.replace(observer.policy, placement=placement, order="priority")


class Work:
    """What arrived: gangs, and pods on their own that take devices."""

    def __init__(self, observer: Observer, now: float) -> None:
        self._observer, self._now = observer, now
        self._changed, self._names = Counter[str](), Counter[str]()
        found = [unit for unit in units(observer) if takes_devices(unit.stays)]
        since = min((stay.created for unit in found for stay in unit.stays), default=now)
        self.begin = since if observer.watched_since is None else observer.watched_since
        jobs = [self._job(unit) for unit in found if not is_before(unit, self.begin)]
        self.jobs = tuple(sorted(jobs, key=lambda job: (job.arrival, job.name)))

    def time(self, moment: float) -> Time:
        return max(0, round((moment - self.begin) * SECOND))

    def _job(self, unit: FoundGroup) -> SimulatedJob:
        """It runs for as long as it did from when it was whole. One that never was, and is gone, was given
        up."""
        quorum, members = unit.quorum or 1, fullest(unit.stays)
        ends = [stay.ended for stay in unit.stays]
        end = None if None in ends else max(end for end in ends if end is not None)
        whole = whole_since(unit, self._now)
        runs = None if end is None or whole is None else end - max(whole, self.begin)
        self._changed[ENDLESS] += end is None
        return SimulatedJob(
            name=told_apart(pod_name(unit.key), self._names),
            arrival=self.time(min(stay.created for stay in unit.stays)),
            crews=tuple(crews_of((stay.pod.spec for stay in members), self._changed, self._observer.policy)),
            quorum=min(quorum, len(members)),
            run_time=None if runs is None else round(max(runs, 0.0) * SECOND),
            priority=members[0].pod.spec.priority or 0,
            cancelled=None if end is None or whole is not None else self.time(end),
        )

    def warnings(self) -> Iterator[str]:
        if self._observer.watched_since is None:
            yield TRACELESS
        for what, count in self._changed.items():
            if count:
                yield f"{counted(count, 'job')} {what}" if what == ENDLESS else f"{count} {what}"


def units(observer: Observer) -> Iterable[FoundGroup]:
    """Gangs as they are, and everyone else alone."""
    together = set[int]()
    for found_group in found_groups(observer):
        if found_group.is_gang:
            together.update(map(id, found_group.stays))
            yield found_group
    for stay in observer.stays():
        if id(stay) not in together:
            yield FoundGroup(GroupId(ALONE, key_of(stay.pod.metadata)), 1, (stay,))


def takes_devices(stays: Sequence[PodTimes]) -> bool:
    return any(stay.devices for stay in stays)


def is_before(unit: FoundGroup, begin: float) -> bool:
    """Over when the time that is looked at began."""
    return all(stay.ended is not None and stay.ended <= begin for stay in unit.stays)
