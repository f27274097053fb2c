"""Law 5, the placement: as many members as the quorum lacks, where the whole group may sit, and kept."""

from collections.abc import Iterable, Iterator

from .case import Breach, Case, breach
from .groups import Group
from .need import overfull, unseated
from .pods import Pod
from .rules import Bind, group_rule
from .selectors import matches


def judge_nominations(case: Case) -> Iterator[Breach]:
    for pod, node in case.nominations:
        group = case.group_of[pod.key]
        if group not in case.preempting:
            yield breach(5, pod.key, f"nominated, but {group.key} is not Preempting")
        if case.policy.managed is not None and not matches(case.policy.managed, node.labels):
            yield breach(5, pod.key, f"nominated to {node.name}, which the policy does not manage")
    for group in case.preempting:
        for fault in _faults(case, group):
            yield breach(5, group.key, f"Preempting: {fault}")
    for group in case.groups:
        if case.allowed(group) and _broken(case, group):
            yield breach(
                5, group.key, "lost the places that it was promised, though they are as good as free"
            )


def _faults(case: Case, group: Group) -> Iterator[str]:
    nominated = case.nominated(group)
    if group.problems:
        yield f"but it is invalid: {group.problems[0]}"
    if group.gated:
        yield f"but {group.gated} members are gated"
    if group.needed is not None and not _enough(group, len(nominated)):
        yield f"{len(nominated)} members nominated, {group.needed} needed"
    broken = group_rule(group, case.running(group), nominated)
    if broken is not None:
        yield broken


def _enough(group: Group, nominated: int) -> bool:
    """Exactly the missing quorum; slices are nominated whole, so that the last one may be above it."""
    needed = group.needed or 0
    return needed <= nominated < needed + max(1, group.slice_size)


def _promised(case: Case, pods: Iterable[Pod]) -> list[Bind]:
    nodes = case.cluster.nodes
    return [(pod, nodes[pod.nominated]) for pod in pods if pod.nominated in nodes]


def _broken(case: Case, group: Group) -> bool:
    """Whether places that the quorum of a group had been promised still work, and it was not left them.

    They work if it fits there once terminating pods are gone, beside all that the Plan binds and promises,
    or beside those who have a better right to be where they are. The latter is not asked of pods that look
    at others: who sits where changes what works.
    """
    promised, managed = _promised(case, group.pending), case.policy.managed
    if case.bound(group) or group.gated or group.problems or len(promised) != group.needed:
        return False
    if {(p.key, n.name) for p, n in promised} == {(p.key, n.name) for p, n in case.nominated(group)}:
        return False
    if managed is not None and not all(matches(managed, node.labels) for _, node in promised):
        return False
    if group_rule(group, case.running(group), promised) is not None:
        return False
    others = [seat for seat in case.nominations if case.group_of[seat[0].key] is not group]
    if not unseated(case, [], case.binds, [*others, *promised]):
        return True
    pods = [pod for pod, _ in (*promised, *case.nominations, *case.binds)]
    if any(pod.affinity or pod.anti_affinity or pod.spreads or pod.claims or pod.devices for pod in pods):
        return False
    return not unseated(case, [], [], [*_rightful(case, group), *promised])


def _rightful(case: Case, group: Group) -> list[Bind]:
    """The seats that count against what a group was promised.

    Equals and lesser groups have a right to what they were promised, and to nothing that was promised to
    others. Those who rank higher may take what they need, unless they could have what they were promised.
    """
    found: list[Bind] = []
    for other in case.groups:
        bound = case.bound(other)
        seats = bound or case.nominated(other)
        promised = _promised(case, [pod for pod, _ in seats])
        free = bool(bound) and len(promised) == len(seats) and not overfull(case.before.copy(), promised)
        if other is not group:
            found += promised if free or _outranked(other, group) else seats
    return found


def _outranked(other: Group, group: Group) -> bool:
    return other.rank is not None and group.rank is not None and other.rank <= group.rank
