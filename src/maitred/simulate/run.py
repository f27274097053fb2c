"""One run of a scenario: one policy, one seed."""

from collections.abc import Callable, Sequence

import msgspec

from maitred.model.policy import PREEMPTIVE_ORDERS, Policy, Topology
from maitred.simulate.clock import SECOND, Time
from maitred.simulate.floor import Floor
from maitred.simulate.jobs import WHOLE
from maitred.simulate.loop import Loop, Watcher
from maitred.simulate.party import Party, Phase
from maitred.simulate.results import End, Outcome, Run
from maitred.simulate.seating.displacing import Displacing
from maitred.simulate.seating.pod_by_pod import PodByPod
from maitred.simulate.seating.seater import Seater
from maitred.simulate.seating.whole_groups import WholeGroups
from maitred.simulate.setup import Setup

STOOD_STILL = "the run was stopped: those who are left wait for each other, or never end"


def simulate(
    setup: Setup,
    name: str,
    policy: Policy,
    seed: int,
    tick: Callable[[float], None] = lambda fraction: None,
    watchers: Sequence[Watcher] = (),
) -> Run:
    """The same setup, policy and seed give the same Run."""
    if not policy.topology.levels:
        policy = msgspec.structs.replace(policy, topology=Topology(setup.levels))
    floor = Floor(setup.nodes, policy, setup.levels)
    seater = seater_for(policy, setup, seed)
    loop = Loop(floor, seater, setup.workload, setup.faults, setup.horizon, setup.period, watchers, tick)
    loop.run()
    return run_of(loop, name, seed, setup.warnings)


def seater_for(policy: Policy, setup: Setup, seed: int) -> Seater:
    if policy.placement == "pod-by-pod":
        return PodByPod(setup.nodes, seed)
    if policy.order in PREEMPTIVE_ORDERS:
        return Displacing(setup.nodes, policy)
    return WholeGroups(setup.nodes, policy)


def run_of(loop: Loop, name: str, seed: int, warnings: Sequence[str]) -> Run:
    books, floor = loop.books, loop.floor
    outcomes = [outcome_of(party, loop) for party in loop.parties]
    absent = [
        Outcome(job.name, "notArrived", job.arrival / SECOND, job.members, job.devices, job.priority)
        for job in loop.workload[len(loop.parties) :]
    ]
    ended = [party.ended for party in loop.parties if party.ended is not None]
    first = loop.workload[0].arrival if loop.workload else 0
    return Run(
        policy=name,
        seed=seed,
        duration=loop.now / SECOND,
        devices=floor.total // WHOLE,
        nodes=len(floor.places),
        device_seconds={bucket: time / SECOND / WHOLE for bucket, time in books.meter.totals.items()},
        makespan=(max(ended) - first) / SECOND if ended else 0.0,
        evictions=books.evictions,
        failures=books.failures,
        splits=sum(party.split for party in loop.parties),
        deadlocks=books.deadlocks,
        deadlocked_seconds=books.deadlocked_for / SECOND,
        wait_by_blocker={what: time / SECOND for what, time in sorted(books.wait_by_blocker.items()) if time},
        cycles=loop.cycles,
        outcomes=(*outcomes, *absent),
        samples=books.meter.samples(),
        floor=books.picture,
        warnings=(*warnings, *([STOOD_STILL] if loop.stood_still else [])),
    )


def outcome_of(party: Party, loop: Loop) -> Outcome:
    job = party.job
    standing: End = "waiting" if party.phase in (Phase.WAITING, Phase.INCOMPLETE) else "running"
    end, why = loop.ends.get(party, (standing, loop.seater.why(party) if standing == "waiting" else ""))
    return Outcome(
        job=job.name,
        end=end,
        arrival=job.arrival / SECOND,
        members=job.members,
        devices=job.devices,
        priority=job.priority,
        started=_seconds(party.first_seated),
        ended=_seconds(party.ended),
        waited=party.waited / SECOND,
        evictions=party.evictions,
        failures=party.failures,
        split=party.split,
        why=why,
    )


def _seconds(time: Time | None) -> float | None:
    return None if time is None else time / SECOND
