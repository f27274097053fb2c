"""Standing promises: places that waiting members were nominated to before, and which of these hold."""

from collections.abc import Iterable
from itertools import groupby

from .case import Case, in_line, rank
from .groups import Group
from .order import misfits
from .placement import find_placement
from .pods import Pod
from .rights import is_refused
from .rules import Bind
from .selectors import matches
from .trees import Tree, rule_of
from .world import World


def promised(case: Case, pods: Iterable[Pod]) -> list[Bind]:
    nodes = case.cluster.nodes
    return [(pod, nodes[pod.nominated]) for pod in pods if pod.nominated in nodes]


def kept(case: Case) -> list[Bind]:
    """The places that are held for those who were promised them, whoever decides about them.

    A promise holds if its group will fit once all who leave have left, beside those who rank higher, and
    beside its equals whose promises come first: where two were promised the same place, one of them has it.
    """
    waiting = [group for group in case.groups if _has_promises(case, group)]
    found: list[Bind] = []
    for _, equals in groupby(sorted(waiting, key=in_line), key=rank):
        peers = list(equals)
        world = _in_turn(case, peers[0], found)
        for group in peers:
            seats = _standing(case, world, group)
            # Who will have others of these nodes may have any of them: whoever follows does not count on one.
            either = [*seats, *promised(case, group.pending)] if seats else []
            for pod, node in dict.fromkeys(either):
                world.put(pod, node.name)
            found += seats
    return found


def _has_promises(case: Case, group: Group) -> bool:
    """Whether it was promised places for all that its quorum lacks, and nothing but room is missing.
    Limits of its queue may have changed since."""
    needed, seats = group.needed, promised(case, group.pending)
    if case.invalid(group) or group.barred or needed is None or needed <= 0 or len(group.pending) < needed:
        return False
    return group.met({pod.key for pod, _ in seats}) and not (seats and is_refused(case, seats))


def _in_turn(case: Case, group: Group, held: list[Bind]) -> World:
    """What will be left when its turn comes: who ranks higher is seated, and who yields to it is gone."""

    def above(other: Group) -> bool:
        """Room that is kept because hardware failed comes before what equals were promised."""
        equal = other in case.healed and other is not group and rank(other) == rank(group)
        return equal or rank(other) > rank(group)

    gone = [e.pod for other in case.preempting if above(other) for e in case.evicted_for(other)]
    undecided = [seat for seat in held if not case.allowed(case.group_of[seat[0].key])]
    every = (*case.binds, *case.along, *case.nominations, *case.reserved)
    decided = [seat for seat in every if above(case.group_of[seat[0].key])]
    return case.once_gone(gone, [*decided, *undecided])


def _standing(case: Case, world: World, group: Group) -> list[Bind]:
    """The places that it was promised if it fits there, else others on the same nodes, if there are any."""
    every, managed, staying = promised(case, group.pending), case.policy.managed, case.staying(group)
    seats = every if isinstance(group, Tree) else every[: group.needed]
    pods, nodes = [pod for pod, _ in seats], list({node.name: node for _, node in seats}.values())
    if managed is not None and not all(matches(managed, node.labels) for node in nodes):
        return []
    if rule_of(group, staying, seats) is None and not misfits(world, seats):
        return every
    if isinstance(group, Tree):
        return []
    found = find_placement(world, group, pods, len(pods), nodes, staying) or {}
    return [(pod, found[pod.key]) for pod in pods if pod.key in found]
