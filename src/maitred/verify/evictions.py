"""Laws 4 and 5: whom a Plan evicts, for whom, and whether it had to."""

from collections.abc import Iterator

from .case import Breach, Case, Eviction, breach
from .filters import AMOUNTS, FILTERS, place, why_not
from .groups import Group, pod_priority
from .order import stuck
from .pods import Pod
from .world import World, world_of

PREEMPTION = "Preemption"


def judge_evictions(case: Case) -> Iterator[Breach]:
    for eviction in case.evictions:
        yield from _judge_rank(case, eviction)
    yield from _judge_units(case)
    for group in _preempting(case):
        bound = len(case.bound(group))
        if bound:
            yield breach(4, group.key, f"Preempting, and yet {bound} members are bound")
        nominated = sum(case.group_of[pod.key] is group for pod, _ in case.nominations)
        if group.needed is not None and nominated < group.needed:
            yield breach(5, group.key, f"Preempting: {nominated} members nominated, {group.needed} needed")
    yield from _judge_need(case)


def _preempting(case: Case) -> list[Group]:
    verdicts = {key: [e.text("verdict") for e in entries] for key, entries in case.entries.items()}
    return [group for group in case.groups if "Preempting" in verdicts.get(group.key, []) and group.pending]


def _judge_rank(case: Case, eviction: Eviction) -> Iterator[Breach]:
    """A preemption victim ranks strictly lower than the group that it yields to."""
    pod = eviction.pod
    if not eviction.cause:
        yield breach(4, pod.key, "evicted without a cause")
    if eviction.cause != PREEMPTION:
        return
    group = next((group for group in _preempting(case) if group.key == eviction.preemptor), None)
    if group is None:
        yield breach(4, pod.key, f"evicted for {eviction.preemptor or 'nobody'}, which is not Preempting")
        return
    rank = _rank(case, pod)
    if rank is None or group.priority is None or rank >= group.priority:
        yield breach(4, pod.key, f"priority {rank} yields to {group.key} of priority {group.priority}")
    if group.preemption_policy == "Never":
        yield breach(4, pod.key, f"evicted for {group.key}, whose preemptionPolicy is Never")


def _rank(case: Case, pod: Pod) -> int | None:
    """The rank of a victim is that of its group; a group at odds with itself has only its pods' ranks."""
    group = case.group_of[pod.key]
    return pod_priority(case.cluster, pod) if group.priority is None else group.priority


def _judge_units(case: Case) -> Iterator[Breach]:
    """Groups that are disrupted as a whole are evicted as a whole."""
    gone = {eviction.pod.key for eviction in case.evictions}
    for group in case.groups:
        left = [pod.key for pod in group.running if pod.key not in gone]
        if group.atomic and left and len(left) < len(group.running):
            yield breach(4, group.key, f"is disrupted as a whole, but {', '.join(left)} would stay")


def _judge_need(case: Case) -> Iterator[Breach]:
    """Law 5: with the victims gone the nominated members fit, and with any one unit back they do not."""
    if not case.nominations:
        return
    reasons = _unseated(case, [eviction.pod for eviction in case.evictions])
    for pod, reason in reasons:
        yield breach(5, pod.key, f"nominated where it will not fit: {reason}")
    if reasons:
        return
    for name, unit in sorted(_units(case).items()):
        gone = [eviction.pod for eviction in case.evictions if eviction.pod not in unit]
        if not _unseated(case, gone):
            yield breach(5, name, "evicted, but all nominated members fit without that")


def _units(case: Case) -> dict[str, list[Pod]]:
    """Preemption victims by the units that are evicted together."""
    units: dict[str, list[Pod]] = {}
    for eviction in case.evictions:
        group = case.group_of[eviction.pod.key]
        if eviction.cause == PREEMPTION:
            units.setdefault(group.key if group.atomic else eviction.pod.key, []).append(eviction.pod)
    return units


def _unseated(case: Case, gone: list[Pod]) -> list[tuple[Pod, str]]:
    """The nominated members that do not fit once some pods, and those already terminating, are gone."""
    pods = [pod for pod in case.cluster.pods.values() if pod not in gone and not pod.terminating]
    world = world_of(case.cluster, pods)
    for pod, node in case.binds:
        place(world, pod, node)
    return _over(world.copy(), case) or stuck(world, case.nominations)


def _over(world: World, case: Case) -> list[tuple[Pod, str]]:
    """Amounts, which `stuck` leaves out: the nominated members one after the other."""
    found = []
    everything_else = FILTERS.keys() - AMOUNTS
    for pod, node in case.nominations:
        reason = why_not(world, pod, node, everything_else)
        if reason is not None:
            found.append((pod, reason))
        world.put(pod, node.name)
    return found
