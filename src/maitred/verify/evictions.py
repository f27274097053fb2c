"""Law 4: whom a Plan evicts and for whom. Who may not be a victim, and who breaks with whom."""

from collections.abc import Iterator

from .allowances import heeded, marks_of
from .case import BUDGET, PREEMPTION, RECLAIM, Breach, Case, Eviction, breach
from .groups import Group
from .impossible import stays
from .priorities import standing
from .protection import shield
from .times import thousandths
from .units import house, sacrifices

MADE_ROOM = (PREEMPTION, RECLAIM, BUDGET)
NOT_HEEDED = "does not count"


def judge_evictions(case: Case) -> Iterator[Breach]:
    protected = heeded(case) if case.evictions else set()
    for eviction in case.evictions:
        if not eviction.cause:
            yield breach(4, eviction.pod.key, "evicted without a cause")
        if not eviction.receipt.raw:
            yield breach(4, eviction.pod.key, "evicted without a receipt")
        if eviction.cause in MADE_ROOM:
            for fault in _faults(case, eviction, protected):
                yield breach(4, eviction.pod.key, fault)
    yield from _judge_units(case)
    for group in case.preempting:
        bound = len(case.bound(group))
        if bound:
            yield breach(4, group.key, f"Preempting, and yet {bound} members are bound")


def _faults(case: Case, eviction: Eviction, protected: set[str]) -> Iterator[str]:
    """What is wrong with evicting this pod for that group."""
    pod, rules = eviction.pod, case.policy.preemption
    group = next((group for group in case.preempting if group.key == eviction.preemptor), None)
    if group is None:
        yield f"evicted for {eviction.preemptor or 'no group'}, which is not Preempting"
        return
    rights = eviction.cause in (RECLAIM, BUDGET)
    if not (rules.allowed if rights else rules.by_priority):
        yield f"evicted for {group.key}, but the policy allows no preemption"
    if group.preemption_policy == "Never":
        yield f"evicted for {group.key}, whose preemptionPolicy is Never"
    if _too_soon(case, group):
        yield f"evicted for {group.key} before the policy's delay is over"
    if stays(pod):
        yield "evicted, but it belongs to its node"
    if rules.own_only and pod.scheduler not in {member.scheduler for member in group.pending}:
        yield f"evicted for {group.key}, but it belongs to the scheduler {pod.scheduler}"
    if rights:
        # Neither priorities nor marks keep what is borrowed or not paid for; rights.py and scavengers.py
        # judge whether it is.
        if not case.policy.rights:
            yield f"reclaimed for {group.key}, but the policy has no queues"
        return
    rank = standing(case.cluster, case.leaf_of[pod.key], pod)
    if rank is None or group.rank is None or rank >= group.rank:
        yield f"priority {rank} yields to {group.key} of priority {group.rank}"
    yield from _judge_marks(case, eviction, protected)


def _judge_marks(case: Case, eviction: Eviction, protected: set[str]) -> Iterator[str]:
    pod = eviction.pod
    why = shield(pod, marks_of(case, pod), case.now)
    if why is None:
        return
    if pod.key in protected:
        yield f"evicted, but {why}"
    elif NOT_HEEDED not in eviction.receipt.text("rule"):
        yield f"evicted although {why}, and its receipt does not say why that does not count"


def _too_soon(case: Case, group: Group) -> bool:
    """Whether its youngest waiting member has not waited as long as the policy asks for."""
    times = [pod.created for pod in group.pending if pod.created is not None]
    delay = case.policy.preemption.delay
    return bool(times and delay) and case.now is not None and case.now < thousandths(max(times)) + delay


def _judge_units(case: Case) -> Iterator[Breach]:
    """What breaks together is evicted together, and for one group."""
    for sacrifice in sacrifices(case):
        for unit in sacrifice.units:
            if unit.left:
                stay = ", ".join(pod.key for pod in unit.left)
                yield breach(4, unit.name, f"is evicted as a whole, but {stay} would stay")
    others = [eviction.pod for eviction in case.evictions if eviction.cause not in MADE_ROOM]
    gone = {eviction.pod.key for eviction in case.evictions}
    for group in {id(group): group for pod in others if (group := case.leaf_of[pod.key]).atomic}.values():
        kin = [
            other for tree in case.groups for other in tree.leaves if house(case, other) == house(case, group)
        ]
        left = [pod.key for other in kin for pod in other.running if pod.key not in gone]
        if left:
            yield breach(4, group.key, f"is evicted as a whole, but {', '.join(left)} would stay")
