"""Law 5, the victims: with them gone the nominated members fit, and with any one unit back they do not."""

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, islice

from .case import Breach, Case, breach, shown
from .filters import AMOUNTS, FILTERS, place, why_not
from .groups import Group
from .holds import crowded
from .order import stuck
from .placement import find_placement
from .pods import Pod
from .rules import Bind
from .units import Sacrifice, Unit, sacrifices
from .world import World, world_of

PARTS = 500


def judge_need(case: Case) -> Iterator[Breach]:
    if not case.nominations:
        return
    reasons = unseated(case, [eviction.pod for eviction in case.evictions], case.binds, case.nominations)
    for pod, reason in reasons:
        yield breach(5, pod.key, f"nominated where it will not fit: {reason}")
    if reasons:
        return
    for sacrifice in sacrifices(case):
        yield from _judge_units(case, sacrifice)
        seats = _without_victims(case, sacrifice)
        if seats is not None:
            leaving = "once terminating pods are gone its quorum fits without"
            yield breach(5, sacrifice.preemptor.key, f"evicts, but {leaving}: {shown(seats)}")


def unseated(
    case: Case, gone: Collection[Pod], binds: Sequence[Bind], nominated: Sequence[Bind]
) -> list[tuple[Pod, str]]:
    """The nominated members that do not fit once some pods, and those already terminating, are gone."""
    absent = {pod.key for pod in gone}
    pods = [pod for pod in case.cluster.pods.values() if pod.key not in absent and not pod.terminating]
    world = world_of(case.cluster, pods)
    for pod, node in binds:
        place(world, pod, node)
    return overfull(world.copy(), nominated) or stuck(world, nominated)


def overfull(world: World, nominated: Sequence[Bind]) -> list[tuple[Pod, str]]:
    """Amounts, which `stuck` leaves out: the nominated members one after the other."""
    found = []
    everything_else = FILTERS.keys() - AMOUNTS
    for pod, node in nominated:
        reason = why_not(world, pod, node, everything_else)
        if reason is not None:
            found.append((pod, reason))
        world.put(pod, node.name)
    return found


def _judge_units(case: Case, sacrifice: Sacrifice) -> Iterator[Breach]:
    """No unit more than the preemptor needs, as things stood when it was decided."""
    for unit in sacrifice.units:
        if _suffices(case, sacrifice, unit, ()):
            yield breach(5, unit.name, "evicted, but all nominated members fit without that")
        elif any(_suffices(case, sacrifice, unit, part) for part in _parts(case, unit)):
            yield breach(5, unit.name, f"evicted whole, but {unit.spare} of its pods are enough")


def _parts(case: Case, unit: Unit) -> Iterator[tuple[Pod, ...]]:
    """The pods of a gang that could go without breaking its quorum, in every choice up to a bound."""
    places = {node.name for _, node in case.nominations}
    useful = [pod for pod in unit.pods if pod.node_name in places]
    return islice(combinations(useful, min(unit.spare, len(useful))), PARTS if unit.spare else 0)


def _suffices(case: Case, sacrifice: Sacrifice, unit: Unit, part: Collection[Pod]) -> bool:
    """Whether the preemptor's members fit with a unit back, or back but for a part of it."""
    preemptor = sacrifice.preemptor
    others = [pod for pod in sacrifice.pods if pod not in unit.pods]
    healed = [eviction.pod for eviction in case.evictions if eviction.preemptor not in _names(case)]
    before = case.preempting[: case.preempting.index(preemptor) + 1]
    nominated = [seat for seat in case.nominations if case.group_of[seat[0].key] in before]
    gone = [*sacrifice.earlier, *others, *part, *healed]
    return not unseated(case, gone, _binds_before(case, preemptor), nominated)


def _names(case: Case) -> set[str]:
    return {group.key for group in case.preempting}


def _binds_before(case: Case, preemptor: Group) -> list[Bind]:
    """The binds that were there when a group was decided: those of lesser groups came later.

    A group that looks at other pods may have been decided again after them, so there all of them count.
    """
    pods = [pod for pod, _ in (*case.binds, *case.nominations)]
    if any(pod.affinity or pod.anti_affinity or pod.spreads for pod in pods):
        return case.binds
    return [(pod, node) for pod, node in case.binds if not _lesser(case.group_of[pod.key], preemptor)]


def _lesser(group: Group, other: Group) -> bool:
    return group.rank is not None and other.rank is not None and group.rank < other.rank


def _without_victims(case: Case, sacrifice: Sacrifice) -> dict[str, str] | None:
    """Seats for the quorum of a preemptor in what terminating pods will leave, if a search finds any.

    Not asked where the Plan says that it gave up, nor of members for whom a fuller cluster can be better.
    """
    group = sacrifice.preemptor
    moving = any(pod.affinity or pod.spreads or pod.devices for pod in group.pending)
    unknown = any(pod.node_name not in case.cluster.nodes for pod in group.running)
    if not sacrifice.units or not group.needed or moving or unknown or case.exhausted:
        return None
    world = crowded(case, group, leaving=False)
    seats = find_placement(world, group, group.pending, group.needed, case.managed(), case.running(group))
    return None if seats is None else {pod: node.name for pod, node in seats.items()}
