"""Law 5, the victims: with them gone the nominated members fit, and with any one unit back they do not."""

from collections.abc import Collection, Iterable, Iterator
from itertools import combinations, islice

from .case import Breach, Case, breach, rank, shown, turn
from .filters import why_not
from .groups import Group
from .holds import crowded
from .models import by_model
from .objects import Node
from .order import misfits
from .pods import Pod
from .rights import is_bounded
from .rules import Bind
from .trees import rule_of
from .units import Sacrifice, Unit, sacrifices
from .whole import place_whole
from .world import World

PARTS = 500


def judge_need(case: Case) -> Iterator[Breach]:
    if not case.nominations:
        return
    world = case.once_gone([eviction.pod for eviction in case.evictions], case.binds)
    reasons = misfits(world, case.nominations)
    for pod, reason in reasons:
        yield breach(5, pod.key, f"nominated where it will not fit: {reason}")
    if reasons:
        return
    several = bool(case.policy.rights) and len(case.preempting) > 1
    for sacrifice in sacrifices(case):
        # Somebody may have to leave for a limit, and where there are queues, who was first is not known.
        if sacrifice.units and not several and not is_bounded(case, sacrifice.preemptor):
            scene = _Scene(case, sacrifice)
            preemptor = sacrifice.preemptor
            # Which victims have the devices is not known.
            devices = any(pod.wants_devices for pod, _ in scene.nominated)
            if not case.links.coming(preemptor) and not case.is_vague(preemptor) and not devices:
                yield from _judge_units(scene, sacrifice)
            yield from _judge_whether(case, sacrifice)
            yield from _judge_heir(case, sacrifice.preemptor, scene)


def _judge_units(scene: "_Scene", sacrifice: Sacrifice) -> Iterator[Breach]:
    """No unit more than the preemptor needs, as things stood when it was decided."""
    for unit in sacrifice.units:
        if scene.fits_with(unit.pods):
            yield breach(5, unit.name, "evicted, but all nominated members fit without this eviction")
        elif any(scene.fits_with([p for p in unit.pods if p not in part]) for part in _parts(scene, unit)):
            yield breach(5, unit.name, f"evicted whole, but {unit.spare} of its pods are enough")


def _parts(scene: "_Scene", unit: Unit) -> Iterator[tuple[Pod, ...]]:
    """The pods of a gang that could go without breaking its quorum, in every choice up to a bound."""
    useful = [pod for pod in unit.pods if pod.node_name in scene.asked]
    return islice(combinations(useful, min(unit.spare, len(useful))), PARTS if unit.spare else 0)


class _Scene:
    """What a preemptor found, with its victims gone: everybody seated who was decided before, or is promised
    places that are not for it to take."""

    def __init__(self, case: Case, sacrifice: Sacrifice) -> None:
        preemptor, names = sacrifice.preemptor, {group.key for group in case.preempting}
        healed = [eviction.pod for eviction in case.evictions if eviction.preemptor not in names]
        before = case.preempting[: case.preempting.index(preemptor) + 1]
        gone = [*sacrifice.earlier, *sacrifice.pods, *healed]
        self.nominated = [seat for group in before for seat in case.nominated(group)]
        seats = [*_binds_before(case, preemptor), *_held_before(case, preemptor)]
        self.world = case.once_gone(gone, dict.fromkeys(seats))
        self.full = self.world.copy()
        self.asked: dict[str, set[str]] = {}  # by node, the resources that somebody is to get there
        for pod, node in self.nominated:
            self.full.put(pod, node.name)
            some = {resource for resource, amount in pod.requests.items() if amount > 0}
            self.asked[node.name] = self.asked.get(node.name, set()) | some

    def fits_with(self, back: Collection[Pod]) -> bool:
        """Whether all nominated members fit with some victims back."""
        if self._overfull(back):
            return False
        world = self.world.copy()
        for pod in back:
            world.put(pod, pod.node_name)
        return not misfits(world, self.nominated)

    def _overfull(self, back: Iterable[Pod]) -> bool:
        """Whether amounts alone say no: they are quickly compared, and mostly do."""
        more: dict[tuple[str, str], int] = {}
        for pod in back:
            for resource in self.asked.get(pod.node_name, set()):
                key = (pod.node_name, resource)
                more[key] = more.get(key, 0) + pod.requests.get(resource, 0)
        nodes = self.full.cluster.nodes
        return any(self.full.free(nodes[node], name) < amount for (node, name), amount in more.items())


def _binds_before(case: Case, preemptor: Group) -> list[Bind]:
    """The binds that were there when a group was decided: those of lesser groups came later.

    A group that looks at other pods may have been decided again after them, so there all of them count.
    """
    pods = [pod for pod, _ in (*case.binds, *case.nominations)]
    # Where there are queues, entitled groups of a lower priority come first.
    if case.policy.rights or any(pod.affinity or pod.anti_affinity or pod.spreads for pod in pods):
        return [*case.binds, *case.along]
    binds = (*case.binds, *case.along)
    return [(pod, node) for pod, node in binds if not _lesser(case.group_of[pod.key], preemptor)]


def _held_before(case: Case, preemptor: Group) -> list[Bind]:
    """What was held against a group: for equals who were decided later, and for those who are not decided."""

    def counts(other: Group) -> bool:
        later = rank(other) == rank(preemptor) and turn(other) > turn(preemptor)
        return later or (rank(other) >= rank(preemptor) and not case.allowed(other))

    kept = [seat for seat in case.kept if counts(case.group_of[seat[0].key])]
    next_ones = [seat for seat in case.reserved if rank(case.group_of[seat[0].key]) >= rank(preemptor)]
    return [*kept, *next_ones]


def _lesser(group: Group, other: Group) -> bool:
    return group.rank is not None and other.rank is not None and group.rank < other.rank


def _judge_whether(case: Case, sacrifice: Sacrifice) -> Iterator[Breach]:
    """Whether anybody had to leave at all, as far as that can be told.

    Not asked where the Plan says that it gave up, nor of members for whom a fuller cluster can be better.
    """
    group = sacrifice.preemptor
    pods = (*group.pending, *case.links.coming(group))
    moving = any(pod.affinity or pod.spreads or pod.wants_devices for pod in pods)
    unknown = any(pod.node_name not in case.cluster.nodes for pod in group.staying)
    if not group.needed or moving or unknown or case.exhausted or case.is_hour_missing:
        return
    if case.is_vague(group):
        return
    world = crowded(case, group, leaving=False)
    link, staying = case.links.of(group), case.staying(group)
    anchors = [] if link is None else [seat for one in link.before for seat in case.staying(one)]
    for nodes in by_model(case, group, case.open_to(group)):
        seats = place_whole(world, group, link, group.pending, group.needed, nodes, staying, anchors)
        if seats is None:
            continue
        words = shown({pod: node.name for pod, node in seats.items()})
        leaving = "once terminating pods are gone, its quorum fits without evictions"
        yield breach(5, group.key, f"evicts, but {leaving}: {words}")


def _judge_heir(case: Case, group: Group, scene: _Scene) -> Iterator[Breach]:
    """Whether the room would go to somebody who ranks higher, and makes nobody leave, so that it is no gain.

    Asked only where there is one answer: for one member, one who waits ahead, and one node for both.
    """
    if case.policy.rights:
        return
    ahead, seats = _waiting_ahead(case, group), case.nominated(group)
    if len(ahead) != 1 or len(seats) != 1 or group.needed != 1 or case.exhausted:
        return
    if any(map(_looks_around, (*ahead, *group.pending))) or group.slice_size or case.links.of(group):
        return
    world = scene.world.copy()
    for pod, node in scene.nominated:
        if case.group_of[pod.key] is not group:
            world.put(pod, node.name)
    heir, (_, place) = ahead[0], seats[0]
    if [node for node in case.open_to(case.group_of[heir.key]) if _may_sit(case, world, heir, node)] != [
        place
    ]:
        return
    world.put(heir, place.name)
    if not any(_may_sit(case, world, pod, node) for pod in group.pending for node in case.open_to(group)):
        yield breach(5, group.key, f"evicts, but {heir.key}, which ranks higher, would take {place.name}")


def _waiting_ahead(case: Case, group: Group) -> list[Pod]:
    """Members of higher rank that the Plan leaves waiting: late ones, surplus, quorums without victims."""
    seated = {pod.key for pod, _ in (*case.binds, *case.nominations)}
    others = [other for other in case.groups if case.allowed(other) and _lesser(group, other)]
    free = [other for other in others if not other.problems and not other.barred and not other.missing]
    return [pod for other in free for pod in other.pending if pod.key not in seated]


def _looks_around(pod: Pod) -> bool:
    near = pod.affinity or pod.anti_affinity or pod.spreads or pod.ports
    return bool(near or pod.claims or pod.wants_devices)


def _may_sit(case: Case, world: World, pod: Pod, node: Node) -> bool:
    """Whether a member can be added to its group there; one that its quorum needs, if it is the last."""
    group = case.group_of[pod.key]
    if not group.met({pod.key, *(bound.key for bound, _ in case.bound(group))}):
        return False
    rule = rule_of(group, case.seats(group), [(pod, node)])
    return rule is None and why_not(world, pod, node) is None
