"""One run of a scenario: one policy, one seed."""

from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from maitred.cluster.queues.tree import QueueTree
from maitred.model.manifest.errors import InputError
from maitred.model.policy import (
    LIVE_ORDERS,
    PREEMPTIVE_ORDERS,
    SHARING_PLACEMENTS,
    Placement,
    Policy,
    Topology,
)
from maitred.model.queues import DEFAULT_QUEUE
from maitred.model.words import counted
from maitred.simulate.clock import SECOND, Time
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.jobs import WHOLE, Workload
from maitred.simulate.loop import RunObserver, Simulation
from maitred.simulate.nodes import SimulatedNodes
from maitred.simulate.results import End, JobOutcome, Run
from maitred.simulate.seating.displacing import Displacing
from maitred.simulate.seating.pod_by_pod import PodByPod
from maitred.simulate.seating.queued_groups import QueuedGroups
from maitred.simulate.seating.seater import Seater
from maitred.simulate.seating.shares.shared_devices import SharedDevices
from maitred.simulate.seating.whole_groups import WholeGroups
from maitred.simulate.setup import Setup


def simulate(
    setup: Setup,
    name: str,
    policy: Policy,
    seed: int,
    tick: Callable[[float], None] = lambda fraction: None,
    watchers: Sequence[RunObserver] = (),
) -> Run:
    """The same setup, policy and seed give the same Run."""
    if not policy.topology.levels:
        policy = msgspec.structs.replace(policy, topology=Topology(setup.levels))
    check_jobs(name, policy, setup.workload)
    policy = check_queues(name, policy, setup.workload)
    check_holds(name, policy)
    floor = SimulatedNodes(setup.nodes, policy, setup.levels)
    seater = seater_for(policy, setup, seed)
    loop = Simulation(
        floor,
        seater,
        setup.workload,
        setup.faults,
        setup.horizon,
        setup.period,
        watchers,
        tick,
        setup.reaction,
    )
    loop.run()
    return run_of(loop, name, seed, setup.warnings, policy.placement)


def seater_for(policy: Policy, setup: Setup, seed: int) -> Seater:
    if policy.placement == "pod-by-pod":
        return PodByPod(setup.nodes, seed)
    if policy.placement in SHARING_PLACEMENTS:
        return SharedDevices(setup.nodes, policy, setup.workload)
    if policy.order in PREEMPTIVE_ORDERS:
        return Displacing(setup.nodes, policy)
    if policy.queues:
        return QueuedGroups(setup.nodes, policy, heals=setup.reaction is not None)
    return WholeGroups(setup.nodes, policy, heals=setup.reaction is not None)


def check_jobs(name: str, policy: Policy, workload: Workload) -> None:
    """No placement ignores what a job asks for."""
    sharing = policy.placement in SHARING_PLACEMENTS
    advice = "whole-groups" if sharing else f"one of {', '.join(SHARING_PLACEMENTS)}"
    for job in workload:
        if not sharing and any(crew.share for crew in job.crews):
            what = "takes a share of a device"
        elif sharing and job.members > 1:
            what = f"has {job.members} members"
        elif sharing and job.within:
            what = f"has to be within one {job.within}"
        else:
            continue
        words = f"{policy.placement!r} cannot place job {job.name}, which {what}"
        raise InputError(f"policy {name}", "", "placement", f"{words}; use {advice}, or leave such jobs out")


def check_holds(name: str, policy: Policy) -> None:
    if not policy.holds.depth:
        return
    if policy.placement != "whole-groups":
        what = f"placement {policy.placement} knows no holds; set depth: 0"
        raise InputError(f"policy {name}", "", "holds.depth", what)
    if policy.order in PREEMPTIVE_ORDERS:
        what = f"order {policy.order} takes places at any time, so it knows no holds; set depth: 0"
        raise InputError(f"policy {name}", "", "holds.depth", what)


def check_queues(name: str, policy: Policy, workload: Workload) -> Policy:
    """The policy as a run takes it: the jobs say which queues they are in, so nobody asks whether their
    namespaces may use these."""
    if not policy.queues:
        return policy
    source = f"policy {name}"
    if policy.placement != "whole-groups":
        what = f"placement {policy.placement} knows no queues; leave them out"
        raise InputError(source, "", "queues", what)
    if isinstance(policy.order, str) and policy.order not in LIVE_ORDERS:
        what = f"order {policy.order} knows no queues; use {' or '.join(LIVE_ORDERS)}, or leave queues out"
        raise InputError(source, "", "queues", what)
    tree = QueueTree(policy.queues)
    for queue in dict.fromkeys(job.queue for job in workload if job.queue):
        if queue not in tree.number:
            raise InputError(source, "", "queues", f"there is no queue {queue}, in which jobs are; add it")
        if not tree.is_leaf(tree.number[queue]):
            what = f"queue {queue} is divided, and jobs are in it; put them into a queue below it"
            raise InputError(source, "", "queues", what)
    queues = tuple(msgspec.structs.replace(queue, namespaces=None) for queue in policy.queues)
    return msgspec.structs.replace(policy, queues=queues)


def run_of(
    loop: Simulation, name: str, seed: int, warnings: Sequence[str], placement: Placement = "whole-groups"
) -> Run:
    books, floor = loop.books, loop.floor
    outcomes = [outcome_of(group, loop) for group in loop.groups]
    absent = [
        JobOutcome(
            job.name,
            "notArrived",
            job.arrival / SECOND,
            job.members,
            job.devices,
            job.priority,
            queue=job.queue or msgspec.UNSET,
        )
        for job in loop.workload[len(loop.groups) :]
    ]
    ended = [group.ended for group in loop.groups if group.ended is not None]
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
        preemptions=books.preemptions,
        evicted_units=books.evicted_units,
        evicted_pods=books.evicted_pods,
        receipts_device_seconds=books.receipts_device_seconds,
        failures=books.failures,
        healed_pods=books.healed_pods,
        splits=sum(group.split for group in loop.groups),
        astray=sum(group.astray for group in loop.groups),
        deadlocks=books.deadlocks,
        deadlocked_seconds=books.deadlocked_for / SECOND,
        wait_by_blocker={what: time / SECOND for what, time in sorted(books.wait_by_blocker.items()) if time},
        cycles=loop.cycles,
        outcomes=(*outcomes, *absent),
        samples=books.meter.samples(),
        floor=books.picture,
        placement=placement,
        warnings=(*warnings, *left_waiting(loop)),
        device_seconds_by_queue=held_by_queue(loop),
    )


def held_by_queue(loop: Simulation) -> dict[str, float] | msgspec.UnsetType:
    """Device-seconds. Jobs that name no queue are in the queue `default`."""
    queues = dict.fromkeys(job.queue for job in loop.workload)
    if not any(queues):
        return msgspec.UNSET
    held = Counter[str]({queue or DEFAULT_QUEUE: 0 for queue in queues})
    for queue, time in loop.books.held_by_queue.totals.items():
        held[queue or DEFAULT_QUEUE] += time
    return {queue: held[queue] / SECOND / WHOLE for queue in sorted(held)}


def left_waiting(loop: Simulation) -> list[str]:
    """A run without a horizon ends when nobody nears an end, and then some may still wait."""
    waiting = sum(group.waits for group in loop.groups)
    if loop.horizon is not None or not waiting:
        return []
    told = f"{counted(waiting, 'job')} still waited, and no running job was going to end"
    return [f"{told}; times and device-hours are counted up to then: set a horizon to compare policies"]


def outcome_of(group: SimulatedGroup, loop: Simulation) -> JobOutcome:
    job = group.job
    standing: End = "waiting" if group.waits else "running"
    end, why = loop.ends.get(group, (standing, loop.seater.why(group) if standing == "waiting" else ""))
    return JobOutcome(
        job=job.name,
        end=end,
        arrival=job.arrival / SECOND,
        members=job.members,
        devices=job.devices,
        priority=job.priority,
        started=_seconds(group.first_seated),
        ended=_seconds(group.ended),
        waited=group.waited / SECOND,
        evictions=group.evictions,
        failures=group.failures,
        split=group.split,
        astray=group.astray,
        useful_device_seconds=group.done(group.since if group in loop.ends else loop.now) / SECOND / WHOLE,
        why=why,
        queue=job.queue or msgspec.UNSET,
    )


def _seconds(time: Time | None) -> float | None:
    return None if time is None else time / SECOND
