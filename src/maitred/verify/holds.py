"""Law 5, the room: what is held for a nominated member is not given to its equals or to lesser groups."""

from collections.abc import Iterator

from .case import Breach, Case, breach
from .filters import place
from .groups import Group
from .objects import Node
from .pods import Pod
from .rules import Bind
from .world import World, world_of


def judge_holds(case: Case) -> Iterator[Breach]:
    """Nominations of pods that this Plan does not decide. Its own are judged with everything it binds."""
    theirs = [(pod, node) for pod, node in standing(case) if not case.allowed(case.group_of[pod.key])]
    for name, node in case.cluster.nodes.items():
        holders = [pod for pod, seat in theirs if seat.name == name]
        for rank in sorted({_rank(case, pod) for pod in holders}):
            yield from _judge_node(case, node, rank, holders)


def standing(case: Case) -> list[Bind]:
    """Waiting pods that have been promised a node before, and of which the Plan says nothing new."""
    nodes, decided = case.cluster.nodes, {pod.key for pod, _ in (*case.binds, *case.nominations)}
    return [
        (pod, nodes[pod.nominated])
        for pod in case.cluster.pods.values()
        if pod.pending and pod.nominated in nodes and pod.key not in decided
    ]


def _rank(case: Case, pod: Pod) -> float:
    rank = case.group_of[pod.key].rank
    return float("-inf") if rank is None else rank


def _judge_node(case: Case, node: Node, rank: float, holders: list[Pod]) -> Iterator[Breach]:
    """Those who hold at this rank or above fit beside what stays and what ranks higher; then so they must
    beside the rest."""
    gone = {eviction.pod.key for eviction in case.evictions}
    pods = [p for p in case.cluster.pods.values() if p.key not in gone and not p.terminating]
    base = world_of(case.cluster, pods)
    new = [pod for pod, seat in (*case.binds, *case.nominations) if seat is node]
    for pod in (*holders, *new):
        if (pod in holders and _rank(case, pod) >= rank) or (pod in new and _rank(case, pod) > rank):
            base.put(pod, node.name)
    lesser = [pod for pod in new if _rank(case, pod) <= rank]
    for resource in sorted({name for pod in lesser for name, amount in pod.requests.items() if amount > 0}):
        free = base.free(node, resource)
        taken = sum(pod.requests.get(resource, 0) for pod in lesser)
        if 0 <= free < taken:
            held = ", ".join(pod.key for pod in holders if _rank(case, pod) >= rank)
            yield breach(
                5, node.name, f"{taken} of {resource} are given away; {free} is left by what {held} holds"
            )


def crowded(case: Case, group: Group, leaving: bool) -> World:
    """The world at its fullest: everything bound and promised to others, victims and all.

    Terminating pods are in it if `leaving`. Who fits in this world had no reason to wait, or to evict.
    """
    pods = [pod for pod in case.cluster.pods.values() if leaving or not pod.terminating]
    world = world_of(case.cluster, pods)
    for pod, node in (*case.binds, *case.nominations, *standing(case)):
        if case.group_of[pod.key] is not group:
            place(world, pod, node)
    return world
