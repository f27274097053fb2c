"""Room that a Plan keeps for pods that come later: enough of it, where they fit, and for nobody else.

Law 2: who is bound has room for what comes after it. Laws 1 and 3: the room is there. Law 7: nobody waits
because of room that is kept for nothing.
"""

from collections.abc import Iterable, Iterator, Sequence

from .case import Breach, Case, breach, rank, shown
from .drains import MAINTENANCE, keeps_for
from .filters import AMOUNTS, FILTERS, why_not
from .healing import is_healing
from .holds import held_against
from .later import Link, named
from .objects import Node
from .pods import Pod
from .policy import PRIORITY
from .rules import Bind, one_domain
from .selectors import matches
from .spares import is_spare
from .whole import place_whole
from .world import World

BY_COMPANY = frozenset({"pod affinity", "topology spread"})
"""What these say depends on who else comes, and in what order."""
OF_OTHERS = frozenset({"volumes", "sole use", "attach limits", "missing drivers", "device claims"})
"""And these on objects that are made with the pod."""
TRIES, FEW = 20_000, 200
"""How often a place is tried for a pod that differs from others, and for how many of these."""


# -- which pods the room is for ----------------------------------------------------------------------------


def seat_held(case: Case) -> None:
    """Put a pod into the room that the Plan keeps for each, as far as it says that rightly."""
    for link in case.links.every:
        bound = bool(case.bound(link.host))
        if not bound and not link.before:
            continue
        seats = case.along if bound else case.reserved
        for key, pods in _pools(link, bound).items():
            slots = [
                case.cluster.nodes[hold.text("node")]
                for hold in case.held_for(key)
                if hold.text("node") in case.cluster.nodes
                for _ in range(min(hold.integer("pods"), len(pods)))
            ]
            seats += _Matching(case, link).seats(pods, slots)
        for pod in (pod for pods in _pools(link, bound).values() for pod in pods):
            case.group_of[pod.key] = link.host


def seat_moving(case: Case) -> None:
    """The same for those who leave nodes that are drained: members like them come back."""
    groups = {group.key: group for group in case.groups}
    for key in sorted({hold.text("group") for hold in case.plan.docs("holds")} & groups.keys()):
        holds = [hold for hold in case.held_for(key) if hold.text("cause") == MAINTENANCE]
        group = groups[key]
        slots = [
            case.cluster.nodes[hold.text("node")]
            for hold in holds
            if hold.text("node") in case.cluster.nodes
            for _ in range(hold.integer("pods"))
        ]
        like = [pod for pod in group.members if not pod.succeeded]
        if not slots or not like:
            continue
        stand_ins = [named(pod, f"{pod.name}:held") for pod in like]
        kinds = {(frozenset(pod.requests.items()), pod.ports) for pod in like}
        case.vague = case.vague or len(kinds) > 1 or len(stand_ins) < len(slots)
        for pod, node in zip(stand_ins, slots, strict=False):
            case.reserved.append((pod, node))
            case.group_of[pod.key] = group


def _pools(link: Link, bound: bool) -> dict[str, list[Pod]]:
    found = {key: list(pods) for key, pods in link.coming.items()}
    if not bound:
        waiting = link.host.pending[: max(0, link.host.needed or 0)]
        found.setdefault(link.host.key, []).extend(named(pod, f"{pod.name}:held") for pod in waiting)
    return found


class _Matching:
    """Which pod is where: the Plan only says how many there are. Any way that fits is right."""

    def __init__(self, case: Case, link: Link) -> None:
        self.case, self.link, self.tries = case, link, TRIES
        self.world = case.once_gone([eviction.pod for eviction in case.evictions], case.binds)

    def seats(self, pods: Sequence[Pod], slots: Sequence[Node]) -> list[Bind]:
        if len({self._kind(pod) for pod in pods}) > 1:
            few = len(pods) <= FEW
            found = self._match(self.world, list(pods), list(slots)) if few else None
            self.case.vague = self.case.vague or (found is None and (self.tries <= 0 or not few))
            if found is not None:
                return found
        return list(zip(pods, slots, strict=False))

    def _kind(self, pod: Pod) -> object:
        choice = (pod.node_selector, str(pod.node_terms), str(pod.tolerations))
        # Pods that follow others into their domains differ by whom they follow.
        follows = pod.controller if self.link.bonds else None
        return frozenset(pod.requests.items()), pod.ports, choice, follows

    def _match(self, world: World, pods: list[Pod], slots: list[Node]) -> list[Bind] | None:
        if not pods or not slots:
            return []
        tried = set[object]()
        for pod in pods:
            self.tries -= 1
            if self.tries <= 0:
                return None
            if self._kind(pod) in tried or not self._fits(world, pod, slots[0]):
                continue
            tried.add(self._kind(pod))
            after = world.copy()
            after.put(pod, slots[0].name)
            rest = self._match(after, [other for other in pods if other is not pod], slots[1:])
            if rest is not None:
                return [(pod, slots[0]), *rest]
        return None

    def _fits(self, world: World, pod: Pod, node: Node) -> bool:
        if _astray(self.case, self.link, pod, node) is not None:
            return False
        return why_not(world, pod, node, BY_COMPANY | OF_OTHERS) is None


def _astray(case: Case, link: Link, pod: Pod, node: Node) -> str | None:
    """Whether it is not in the domain of the first pod of its controller; then what that pod is in."""
    if pod.key not in link.bonds:
        return None
    level, controller = link.bonds[pod.key]
    before = [seat for group in link.before for seat in case.staying(group)]
    first = (
        at
        for one, at in (*case.seats(link.host), *before)
        if one.controller is not None and one.controller[1] == controller
    )
    domains = {at.labels.get(level) for at in first}
    return f"{level} {domains.pop()}" if len(domains) == 1 and node.labels.get(level) not in domains else None


# -- judging -----------------------------------------------------------------------------------------------


def judge_room(case: Case) -> Iterator[Breach]:
    yield from _judge_entries(case)
    for link in case.links.every:
        yield from _judge_link(case, link)
    if not case.vague:
        yield from _judge_fit(case)


def _judge_entries(case: Case) -> Iterator[Breach]:
    owners = {key: link.owner for link in case.links.every for key in (link.host.key, *link.coming)}
    for hold in case.plan.docs("holds"):
        key, owner, node = hold.text("group"), hold.text("owner"), hold.text("node")
        if is_healing(hold) or is_spare(hold):
            continue
        moves = hold.text("cause") == MAINTENANCE
        if case.links.unclear_owner(owner):
            continue
        if node not in case.cluster.nodes:
            yield breach(1, key, f"room is kept for it on {node or 'no node'}, which does not exist")
        if hold.integer("pods") < 1:
            yield breach(7, key, f"room is kept for {hold.integer('pods')} pods of it")
        if moves:
            if not keeps_for(case, key):
                yield breach(7, key, "room is kept for it, but it does not leave nodes that are drained")
        elif key not in owners:
            yield breach(7, key, "room is kept for it, but no pod of it comes later")
        elif owner != owners[key]:
            yield breach(
                7, key, f"room is kept for pods of {owner or 'nobody'}, but {owners[key]} creates them"
            )


def _judge_link(case: Case, link: Link) -> Iterator[Breach]:
    host, bound = link.host, bool(case.bound(link.host))
    expected = link.expected(bound)
    held = {key: case.held_count(key) for key in {host.key, *link.coming}}
    held = {key: count for key, count in held.items() if count}
    if bound:
        for key, count in sorted(expected.items()):
            if held.get(key, 0) < count:
                words = f"{link.owner} creates {count} pods of {key} later, and room is kept for"
                yield breach(2, host.key, f"bound, but {words} {held.get(key, 0)}")
        for key, count in sorted(held.items()):
            if count > expected.get(key, 0):
                yield breach(7, key, f"room is kept for {count} pods of it, but {expected.get(key, 0)} come")
    elif held:
        for reason in _for_nothing(case, link):
            yield breach(7, host.key, f"room is kept for it, but {reason}")
        if link.before and held != expected:
            yield breach(7, host.key, f"room is kept for {_counts(held)}, but there come {_counts(expected)}")
    elif (seats := _unkept(case, link)) is not None:
        yield breach(2, host.key, f"{link.owner} creates it next, and no room is kept for it: {shown(seats)}")


def _counts(counts: dict[str, int]) -> str:
    return " and ".join(f"{count} of {key}" for key, count in sorted(counts.items())) or "none"


def _for_nothing(case: Case, link: Link) -> Iterator[str]:
    if not link.before:
        yield "it is not bound, and others come after it"
        return
    if link.suspended:
        yield f"{link.owner} is suspended"
    if case.now is not None and link.since is not None and case.now >= link.since + case.policy.keep_room:
        yield "those before it have run for longer than the policy keeps room"
    if case.nominated(link.host):
        yield "it is nominated"
    if link.host.problems or link.host.barred:
        yield "it could not be bound if it came: it is invalid, or may not start yet"


def _unkept(case: Case, link: Link) -> dict[str, str] | None:
    """Seats for one that comes next beside all who rank higher or are promised room, if a search finds some.

    Nobody else may have them. Not asked where pods look at others, as it may have been different in its turn,
    nor where it is not known whether the time is over.
    """
    host, pods = link.host, (*link.host.pending, *link.pods)
    over = link.since is not None and (case.now is None or case.now >= link.since + case.policy.keep_room)
    if not link.before or link.suspended or over or host.problems or host.doubts or host.barred:
        return None
    if case.nominated(host) or case.exhausted or case.policy.order != PRIORITY or case.is_hour_missing:
        return None
    if case.scheduler is not None and {pod.scheduler for pod in (*link.pods, *_members(link))} != {
        case.scheduler
    }:
        return None
    if any(pod.affinity or pod.spreads or pod.wants_devices or pod.claims for pod in pods):
        return None
    if any(
        pod.node_name not in case.cluster.nodes for group in (host, *link.before) for pod in group.running
    ):
        return None
    world = case.before.copy()
    for pod, node in (*case.binds, *case.along):
        other = case.group_of[pod.key]
        promised = case.links.is_next(other) or any(one.nominated for one in other.pending)
        if rank(other) > rank(host) or (rank(other) == rank(host) and promised):
            world.put(pod, node.name)
    for pod, node in (*held_against(case, host), *case.kept):
        if case.group_of[pod.key] is not host:
            world.put(pod, node.name)
    anchors = [seat for group in link.before for seat in case.staying(group)]
    need = max(0, min(host.needed or 0, len(host.pending)))
    seats = place_whole(world, host, link, host.pending, need, case.managed(), case.staying(host), anchors)
    return None if seats is None else {pod: node.name for pod, node in seats.items()}


def _members(link: Link) -> Iterable[Pod]:
    return (pod for group in (link.host, *link.before) for pod in group.active)


def _judge_fit(case: Case) -> Iterator[Breach]:
    """The room that comes with what is bound is there now; all the room is there once who leaves has left."""
    now = case.after.copy()
    yield from _crowd(case, now, case.along)
    gone = [eviction.pod for eviction in case.evictions]
    then = case.once_gone(gone, [*case.binds, *case.nominations, *case.along])
    yield from _crowd(case, then, case.reserved)
    for link in case.links.every:
        yield from _judge_domains(case, link)


def _crowd(case: Case, world: World, seats: Sequence[Bind]) -> Iterator[Breach]:
    """Put pods into the room that is kept for them, where they can be."""
    managed = case.policy.managed
    for pod, node in seats:
        kept = f"room is kept on {node.name} for a pod of {case.group_of[pod.key].key}"
        if managed is not None and not matches(managed, node.labels):
            yield breach(3, pod.key, f"{kept}, which the policy does not manage")
        elif (reason := why_not(world, pod, node, BY_COMPANY | OF_OTHERS | AMOUNTS)) is not None:
            yield breach(3, pod.key, f"{kept}, but {reason}")
        elif (reason := why_not(world, pod, node, FILTERS.keys() - AMOUNTS | OF_OTHERS)) is not None:
            yield breach(1, node.name, f"{kept}, but it {reason}")
        world.put(pod, node.name)


def _judge_domains(case: Case, link: Link) -> Iterator[Breach]:
    """Law 3 for what must be in one domain together."""
    keys = {pod.key: key for key, pods in link.coming.items() for pod in pods}
    seats = [(pod, node) for pod, node in (*case.along, *case.reserved) if pod.key in keys]
    if not seats:
        return
    before = [seat for group in link.before for seat in case.staying(group)]
    first = [*case.seats(link.host), *before]
    if link.shared and (broken := one_domain(link.shared, [*first, *seats], "what comes later")) is not None:
        yield breach(3, link.host.key, broken)
    for key, level in sorted(link.topologies.items()):
        own = [seat for seat in seats if keys[seat[0].key] == key]
        own += case.seats(link.host) if key == link.host.key else []
        if (broken := one_domain(level, own, key)) is not None:
            yield breach(3, key, broken)
    for pod, node in seats:
        if (domain := _astray(case, link, pod, node)) is not None:
            yield breach(3, keys[pod.key], f"room is kept on {node.name} for pods that must be in {domain}")
