"""Law 5, the room: what is held for a nominated member is not given to its equals or to lesser groups."""

from collections.abc import Iterator

from .case import Breach, Case, breach, rank
from .filters import place
from .groups import Group
from .objects import Node
from .pods import Pod
from .rules import Bind
from .turns import bound_ahead
from .world import World


def judge_holds(case: Case) -> Iterator[Breach]:
    """Nominations of pods that this Plan does not decide. Its own are judged with everything it binds."""
    holders: dict[str, list[Pod]] = {}
    if case.policy.rights:
        return  # who is entitled goes before a higher priority
    for pod, node in undecided(case):
        holders.setdefault(node.name, []).append(pod)
    for name, pods in sorted(holders.items()):
        for floor in sorted({_rank(case, pod) for pod in pods}):
            yield from _judge_node(case, case.cluster.nodes[name], floor, pods)


def undecided(case: Case) -> list[Bind]:
    """Places that are held for those of whom this Plan does not speak."""
    return [seat for seat in case.kept if not case.allowed(case.group_of[seat[0].key])]


def _rank(case: Case, pod: Pod) -> float:
    return rank(case.group_of[pod.key])


def _judge_node(case: Case, node: Node, floor: float, holders: list[Pod]) -> Iterator[Breach]:
    """Those who hold at this rank or above fit beside what stays and what ranks higher; then so they must
    beside the rest."""
    new = [pod for pod, seat in (*case.binds, *case.nominations) if seat is node]
    first = [pod for pod in holders if _rank(case, pod) >= floor]
    first += [pod for pod in new if _rank(case, pod) > floor]
    base = case.once_gone([eviction.pod for eviction in case.evictions], [(pod, node) for pod in first])
    lesser = [pod for pod in new if _rank(case, pod) <= floor]
    for resource in sorted({name for pod in lesser for name, amount in pod.requests.items() if amount > 0}):
        free = base.free(node, resource)
        taken = sum(pod.requests.get(resource, 0) for pod in lesser)
        if 0 <= free < taken:
            held = ", ".join(pod.key for pod in holders if _rank(case, pod) >= floor)
            yield breach(
                5, node.name, f"{taken} of {resource} are given away; {free} is left by what {held} holds"
            )


def held_against(case: Case, group: Group) -> list[Bind]:
    """The places that the Plan leaves to others though nobody is bound there, and that bind this group:
    a promise holds against equals and lesser groups, and not against those who rank higher."""
    seats = (*case.nominations, *case.reserved, *undecided(case))
    return [seat for seat in seats if _binds(case, seat, group)]


def _binds(case: Case, seat: Bind, group: Group) -> bool:
    other = case.group_of[seat[0].key]
    return other is not group and (rank(other) >= rank(group) or bool(case.policy.rights))


def crowded(case: Case, group: Group, leaving: bool) -> World:
    """The world at its fullest for a group in its turn: everything that may have been bound to others before,
    or is held against it, victims and all.

    Terminating pods are in it if `leaving`. Who fits in this world had no reason to wait, or to evict. Equals
    may have been bound elsewhere than they were promised, but only after their turn: both places count.
    """
    world = case.before.copy() if leaving else case.once_gone((), ())
    surely, maybe = bound_ahead(case, group)
    seats = [*surely, *maybe, *held_against(case, group)]
    known = {(pod.key, node.name) for pod, node in seats}
    equals = [(p, n) for p, n in case.kept if _binds(case, (p, n), group) and _rank(case, p) == rank(group)]
    seats += [(pod, node) for pod, node in equals if (pod.key, node.name) not in known]
    for pod, node in seats:
        place(world, pod, node)
    return world
