"""Law 5, the placement: as many members as the quorum lacks, where the whole group may sit, and kept."""

from collections.abc import Iterator

from .case import Breach, Case, breach
from .groups import Group
from .holds import undecided
from .order import misfits
from .promises import promised
from .rights import Books, is_refused, might_be_refused
from .rules import Bind
from .selectors import matches
from .trees import Tree, rule_of


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
            yield breach(5, group.key, "lost the places that were held for it, although they will be free")


def _faults(case: Case, group: Group) -> Iterator[str]:
    nominated = case.nominated(group)
    if group.problems:
        yield f"but it is invalid: {group.problems[0]}"
    if group.barred:
        yield f"but {group.barred}"
    if group.needed is not None and not _enough(group, {pod.key for pod, _ in nominated}):
        yield f"{len(nominated)} members nominated, {group.needed} needed"
    broken = rule_of(group, case.staying(group), nominated)
    if broken is not None:
        yield broken


def _enough(group: Group, nominated: set[str]) -> bool:
    """Exactly the missing quorum; slices are nominated whole, so that the last one may be above it."""
    if isinstance(group, Tree):
        idle = any(group.met(nominated - {pod}) for pod in nominated)
        return group.met(nominated) and (not idle or any(leaf.slice_size for leaf in group.leaves))
    needed = group.needed or 0
    return needed <= len(nominated) < needed + max(1, group.slice_size)


def _others(case: Case, group: Group) -> list[Bind]:
    seats = (*case.binds, *case.nominations)
    return [seat for seat in seats if case.group_of[seat[0].key] is not group]


def _broken(case: Case, group: Group) -> bool:
    """Whether places that the quorum of a group had been promised still work, and it was not left them.

    They work if it fits there once terminating pods are gone, beside all that is bound and promised, or if
    the promise holds against whoever was decided instead. The latter is not asked where pods look at others:
    who sits where changes what works.
    """
    seats, open_nodes = promised(case, group.pending), {node.name for node in case.open_to(group)}
    if case.bound(group) or group.barred or case.invalid(group) or len(seats) != group.needed:
        return False
    if case.links.of(group) is not None or case.links.is_unclear(group) or group in case.healed:
        return False  # it needs room for others, too, or for more of its own
    if not group.met({pod.key for pod, _ in seats}):
        return False
    if case.is_hour_missing:
        return False
    if seats and (might_be_refused(case, group) or is_refused(case, seats, _others(case, group))):
        return False
    if set(seats) == set(case.nominated(group)):
        return False
    if any(node.name not in open_nodes for _, node in seats):
        return False
    if rule_of(group, case.staying(group), seats) is not None:
        return False
    held = (*case.nominations, *case.reserved, *undecided(case))
    others = [seat for seat in held if case.group_of[seat[0].key] is not group]
    if not misfits(case.once_gone((), [*case.binds, *case.along]), [*others, *seats]):
        return True
    pods = [pod for pod, _ in (*seats, *case.nominations, *case.binds)]
    if any(
        pod.affinity or pod.anti_affinity or pod.spreads or pod.claims or pod.wants_devices for pod in pods
    ):
        return False
    return set(seats) <= set(case.kept) and not _yields(case, group, seats)


def _yields(case: Case, group: Group, seats: list[Bind]) -> bool:
    """Whether somebody of another queue gets places on these nodes. Whoever is within its guarantee goes
    before who borrows, and whether it is, is not asked here."""
    books, places = Books(case), {node.name for _, node in seats}
    own = {books.queue(pod) for pod, _ in seats}
    others = (pod for pod, node in _others(case, group) if node.name in places)
    return bool(case.policy.rights) and any(books.queue(pod) not in own for pod in others)
