"""The numbers in blockers, worked out again."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property

from .case import Case, turn
from .devices import shown_device
from .drains import MAINTENANCE, is_rearranged
from .fields import Doc
from .filters import FILTERS, place, why_not
from .groups import Group
from .holds import held_against
from .impossible import empty_world
from .models import by_model
from .objects import Node
from .pods import Pod
from .quantity import parse, units
from .rights import is_bounded
from .rules import Bind
from .turns import bound_ahead, comes_after
from .world import World


class Measure:
    """What can be measured of a group, each number once."""

    def __init__(self, case: Case, group: Group, verdict: str) -> None:
        self.case = case
        self.group = group
        self.verdict = verdict
        self.seated = verdict == "Scheduled"
        self._eligible: dict[World, list[Node]] = {}

    @cached_property
    def needed(self) -> set[int]:
        """Members still to be seated; on the empty cluster those that run are seated anew.

        Once the quorum is met the blockers speak of the rest, of which one member more would be something.
        """
        if self.seated:
            return {1}
        later = len(self.coming)
        own = {self.group.needed or 0} | ({self.group.anew} if self.verdict == "Impossible" else set())
        # Where each follows another into its domain, all that wait are needed.
        link = self.case.links.of(self.group)
        bonded = {len(self.group.pending)} if link is not None and link.bonds else set()
        return {count + later for count in own | bonded}

    @cached_property
    def coming(self) -> list[Pod]:
        """Pods that are not there, for which there must be room as well."""
        return self.case.links.coming(self.group)

    @cached_property
    def roomiest(self) -> World:
        """In its turn, with all that was bound to others before for certain, and with what is bound to it."""
        own = [seat for seat in self.case.along if self.case.group_of[seat[0].key] is self.group]
        return self._with(self.case.before, [*self._ahead[0], *self.case.bound(self.group), *own])

    @cached_property
    def tightest(self) -> World:
        """The same with all that may have been bound to others before."""
        return self._with(self.roomiest, self._ahead[1]) if self._ahead[1] else self.roomiest

    @cached_property
    def _ahead(self) -> tuple[list[Bind], list[Bind]]:
        return bound_ahead(self.case, self.group)

    @staticmethod
    def _with(world: World, seats: Iterable[Bind]) -> World:
        fuller = world.copy()
        for pod, node in seats:
            place(fuller, pod, node)
        return fuller

    @cached_property
    def worlds(self) -> list[World]:
        """Where free room may have been measured: in its turn, or empty if that is what was judged."""
        empty = [empty_world(self.case, 0)] if self.verdict == "Impossible" else []
        return [self.roomiest, self.tightest, *empty]

    @cached_property
    def bounds(self) -> list[World]:
        """Between what worlds a group was measured where there are promises, or doubts about turns.

        A group that preempts is measured in its turn, when not all had been bound yet.
        """
        if not self.case.nominations and not self.held:
            return [self.roomiest, self.tightest]
        first = [self.case.before] if self.verdict == "Preempting" else []
        return [self.roomiest, self.tightest, self.fullest, *first]

    @cached_property
    def held(self) -> list[Bind]:
        return held_against(self.case, self.group)

    @cached_property
    def fullest(self) -> World:
        """The same with everybody there for whom a place is held."""
        world = self.tightest.copy()
        for pod, node in self.held:
            world.put(pod, node.name)
        return world

    @cached_property
    def reserved(self) -> dict[tuple[str, str], int]:
        """What of the room that is free now is held, by node and resource: what leaves is used first."""
        found: Counter[tuple[str, str]] = Counter()
        for pod, node in self.held:
            found.update({(node.name, name): amount for name, amount in pod.requests.items()})
        for pod in self.case.leaving:
            found.subtract({(pod.node_name, name): amount for name, amount in pod.requests.items()})
        return +found

    @cached_property
    def plain(self) -> bool:
        """Whether copies on each node can be counted one node at a time: one shape, no ties between pods."""
        pods, link = [*self.group.pending, *self.coming], self.case.links.of(self.group)
        ties = any(
            p.affinity or p.anti_affinity or p.spreads or p.ports or p.claims or p.wants_devices for p in pods
        )
        if (
            ties
            or self.group.topology
            or self.group.slice_size
            or not self.group.pending
            or (link is not None and bool(link.bonds or link.shared or link.topologies))
            or self.group.leaves != [self.group]
        ):
            return False
        if self.verdict == "Impossible" and self.case.policy.templates:
            return False
        if len({frozenset(pod.requests.items()) for pod in pods}) > 1:
            return False
        worlds = (*self.worlds, self.fullest, self.case.before)
        return all(self._passing(w, pod) == self.eligible(w) for w in worlds for pod in _kinds(pods, w))

    def eligible(self, world: World) -> list[Node]:
        """The nodes that pass every filter but amounts."""
        if world not in self._eligible:
            self._eligible[world] = self._passing(world, self.group.pending[0])
        return self._eligible[world]

    def _passing(self, world: World, pod: Pod) -> list[Node]:
        nodes = [world.cluster.nodes[node.name] for node in self.case.managed()]
        return [node for node in nodes if why_not(world, pod, node, ("resources",)) is None]

    def free(self, world: World, resource: str) -> int:
        """What the group could take now, so that what is held against it is not free."""
        beside, held = world, dict[tuple[str, str], int]()
        if world in (self.roomiest, self.tightest):
            beside, held = self.fullest, self.reserved
        rooms = {node.name: world.free(node, resource) for node in self.eligible(beside)}
        return sum(max(0, room - held.get((name, resource), 0)) for name, room in rooms.items())

    @cached_property
    def is_early(self) -> bool:
        """Whether places may have been promised or bound only after its turn that are held against it now."""
        if self.case.policy.rights:
            return True
        others = [self.case.group_of[pod.key] for pod, _ in self.held]
        return any(turn(other) > turn(self.group) for other in others)

    def free_at_first(self, resource: str) -> int:
        """What was free before anybody had a turn."""
        world = self.case.before
        return sum(max(0, world.free(node, resource)) for node in self.eligible(world))

    def copies(self, world: World, nodes: list[Node] | None = None) -> int:
        """How many members fit, counted node by node."""
        requests = {r: a for r, a in self.group.pending[0].requests.items() if a > 0}
        return sum(
            max(0, min(world.free(node, resource) // amount for resource, amount in requests.items()))
            for node in (self.eligible(world) if nodes is None else nodes)
        )

    @cached_property
    def fitted_before(self) -> bool:
        """Whether the missing quorum fitted before this Plan's binds."""
        return any(
            self.copies(self.case.before, nodes) >= max(self.needed)
            for nodes in by_model(self.case, self.group, self.eligible(self.case.before))
        )


def _kinds(pods: Iterable[Pod], world: World) -> Iterable[Pod]:
    """One pod of each kind, among pods that look at no others: labels matter if others look at them."""

    def kind(pod: Pod) -> object:
        labels = frozenset(pod.labels.items()) if world.wary else None
        return pod.namespace, labels, pod.node_selector, pod.node_terms, pod.tolerations

    return {kind(pod): pod for pod in pods}.values()


def judge_numbers(measure: Measure, blocker: Doc, first: bool) -> Iterator[str]:
    """What is wrong with the numbers of one blocker."""
    category, detail = blocker.text("category"), blocker.doc("detail")
    yield from _judge_needed(measure, category, detail)
    check = CHECKS.get(category)
    if check is not None:
        yield from check(measure, detail)
    calm = first and not measure.case.nominations and measure.verdict == "Waiting"
    if (
        calm
        and not is_bounded(measure.case, measure.group)
        and category in ("Priority", "Capacity", "Fragmentation")
        and measure.plain
    ):
        if category == "Priority" and not measure.fitted_before:
            yield "its quorum did not fit before this Plan's other binds either"
        if category != "Priority" and measure.fitted_before:
            yield "its quorum fitted before this Plan's other binds: should be Priority"


def _judge_needed(measure: Measure, category: str, detail: Doc) -> Iterator[str]:
    if not detail.given("needed"):
        return
    needed, holds = detail.integer("needed"), detail.integer("holds")
    if needed not in measure.needed:
        yield f"needed is {needed}, should be {min(measure.needed)}"
    if detail.given("holds") and category != "Priority" and not 0 <= holds < needed:
        yield f"holds {holds} of {needed} needed, which would be enough"


def _judge_members(measure: Measure, detail: Doc) -> Iterator[str]:
    group = measure.group
    _, quorum, created = group.tally({pod.key for pod in group.pending})
    for name, number in (("created", created), ("quorum", quorum)):
        if detail.raw.get(name) != number:
            yield f"{name} is {detail.raw.get(name)}, should be {number}"
    if not measure.seated and group.quorum is not None and not group.short:
        yield f"all {group.quorum} members of the quorum have been created"


def _judge_gated(measure: Measure, detail: Doc) -> Iterator[str]:
    if detail.given("notBefore"):
        if not measure.group.held_back and not measure.case.is_hour_missing:
            yield f"it may start before {detail.raw.get('notBefore')}"
        return
    gated = measure.group.gated
    if detail.raw.get("gated") != gated or not gated:
        yield f"gated is {detail.raw.get('gated')}, should be {gated}"


def _amount(detail: Doc, name: str, resource: str) -> int:
    """An amount in a blocker. A Plan that cannot be read is an error like any other input."""
    try:
        return units(resource, parse(detail.raw.get(name)))
    except ValueError as error:
        raise detail.error(name, str(error)) from None


def _judge_request(measure: Measure, detail: Doc) -> Iterator[str]:
    """A request larger than any node: of a member, and larger than the largest node really is."""
    if detail.given("problem"):
        return
    if not detail.given("resource"):
        yield "names neither a resource nor a problem"
        return
    resource = detail.text("resource")
    requested, largest = _amount(detail, "requested", resource), _amount(detail, "largest", resource)
    asked = {pod.requests.get(resource, 0) for pod in (*measure.group.active, *measure.coming)}
    if requested not in asked:
        yield f"requested is {requested} of {resource}, the members ask for {sorted(asked)}"
    sizes = _largest(measure, resource)
    if largest not in sizes:
        yield f"largest is {largest} of {resource}, should be {max(sizes)}"
    if requested <= largest:
        yield f"{requested} of {resource} is no more than the largest node has, {largest}"


def _largest(measure: Measure, resource: str) -> set[int]:
    """The largest node, of all or of those that members may choose, with daemons on it or without."""
    world = empty_world(measure.case, 1)
    every = list(world.cluster.nodes.values())
    here = [node for node in every if node.name in measure.case.cluster.nodes]
    fixed = FILTERS.keys() - {"node choice", "taints"}
    members = [*measure.group.active, *measure.coming]
    chosen = [node for node in every if any(why_not(world, pod, node, fixed) is None for pod in members)]
    sizes = set()
    for nodes in (every, here, chosen):
        sizes.add(max((node.allocatable.get(resource, 0) for node in nodes), default=0))
        sizes.add(max((world.free(node, resource) for node in nodes), default=0))
    return sizes


def _judge_room(measure: Measure, detail: Doc) -> Iterator[str]:
    """Capacity and Fragmentation: what is asked for, what is free, and on how many nodes."""
    names = ("resource", "requested", "free", "eligibleNodes", "holds", "needed")
    missing = [name for name in names if not detail.given(name)]
    if missing and not measure.seated:
        yield f"does not say {', '.join(missing)}"
    if any(not detail.given(name) for name in names[:4]):
        return
    yield from _judge_excluded(measure, detail)
    if not measure.plain or is_rearranged(measure.case):
        return
    resource = detail.text("resource")
    each = measure.group.pending[0].requests.get(resource, 0)
    requested = _amount(detail, "requested", resource)
    wanted = {each * needed for needed in measure.needed}
    if not measure.seated and requested not in wanted:
        yield f"requested is {requested} of {resource}, should be {min(wanted)}"
    free = _amount(detail, "free", resource)
    between = measure.bounds if measure.verdict == "Preempting" else [measure.roomiest, measure.tightest]
    early = measure.is_early and measure.free(measure.tightest, resource) <= free
    if not (early and free <= measure.free_at_first(resource)) and not _measured(
        measure.worlds, between, lambda world: measure.free(world, resource), free
    ):
        yield f"free is {free} of {resource}, should be {measure.free(measure.worlds[-1], resource)}"
    eligible = detail.integer("eligibleNodes")
    if not _measured(measure.worlds, measure.bounds, lambda world: len(measure.eligible(world)), eligible):
        yield f"eligibleNodes is {eligible}, should be {len(measure.eligible(measure.worlds[-1]))}"
    if not measure.seated and detail.given("holds"):
        copies = [measure.copies(w) for w in (*measure.worlds, *measure.bounds, measure.case.before)]
        if not min(copies) <= detail.integer("holds") <= max(copies):
            yield f"holds is {detail.integer('holds')}, should be {min(copies)}"


def _judge_excluded(measure: Measure, detail: Doc) -> Iterator[str]:
    """Every node is eligible or excluded for one reason."""
    told = detail.raw.get("excluded")
    nodes, eligible = len(measure.case.cluster.nodes), detail.integer("eligibleNodes")
    if isinstance(told, dict) and eligible + sum(told.values()) != nodes:
        yield f"{eligible} nodes are eligible and {sum(told.values())} excluded, and there are {nodes}"


def _measured(
    worlds: Iterable[World], bounds: Iterable[World], count: Callable[[World], int], number: int
) -> bool:
    """Whether a number is what is counted in some world, or lies between two that it may come from."""
    ends = [count(world) for world in bounds]
    exact = any(count(world) == number for world in worlds)
    return exact or (bool(ends) and min(ends) <= number <= max(ends))


def _judge_capacity(measure: Measure, detail: Doc) -> Iterator[str]:
    yield from _judge_room(measure, detail)
    yield from _judge_sum(measure, detail, enough=False)


def _judge_fragmentation(measure: Measure, detail: Doc) -> Iterator[str]:
    yield from _judge_room(measure, detail)
    yield from _judge_sum(measure, detail, enough=True)


def _judge_sum(measure: Measure, detail: Doc, enough: bool) -> Iterator[str]:
    """Fragmentation says that there is enough in total, Capacity that there is not."""
    if measure.seated or not detail.given("requested") or not detail.given("free"):
        return
    resource = detail.text("resource")
    requested, free = _amount(detail, "requested", resource), _amount(detail, "free", resource)
    if (free >= requested) != enough:
        yield f"{free} of {resource} free for {requested} requested is {'not ' if enough else ''}enough"


def _judge_priority(measure: Measure, detail: Doc) -> Iterator[str]:
    """Who went first must have got something in this Plan, or hold a promise, or move elsewhere; and somebody
    must have."""
    case = measure.case
    if detail.given("ahead") and not detail.items("ahead"):
        yield "it names no group that goes first"
    places = (*case.binds, *case.nominations, *case.kept, *case.reserved)
    everyone = [*case.groups, *case.links.hosts()]
    moving = {case.group_of[one.pod.key].key for one in case.evictions if one.cause == MAINTENANCE}
    favoured = {case.group_of[pod.key].key for pod, _ in places} | moving
    for name in detail.texts("ahead"):
        if name not in favoured:
            yield f"it says that {name} goes first, but no member of that is bound or nominated"
        elif name not in moving and all(
            comes_after(case, group, measure.group) for group in everyone if group.key == name
        ):
            yield f"it says that {name} goes first, but that comes after it"


def _judge_health(measure: Measure, detail: Doc) -> Iterator[str]:
    """Nodes that health taints close, if they are what is in the way; and devices that are not offered."""
    case, devices = measure.case, detail.docs("devices")
    ill = {n.name for n in case.cluster.nodes.values() if any(t.key in case.policy.health for t in n.taints)}
    told, gone = detail.raw.get("unwell", 0), detail.docs("gone")
    others = bool(devices) or detail.given("tainted") or bool(gone)
    if told != len(ill) and (told or not others):
        yield f"unwell is {told}, should be {len(ill)}"
    yield from (f"node {name} is well" for name in detail.texts("nodes") if name not in ill)
    for one in gone:
        id = one.text("driver"), one.text("pool"), one.text("device")
        pool = case.cluster.pools.get(id[:2])
        if pool is not None and id in pool.devices:
            yield f"device {shown_device(id)} is published"
    asked = {r for pod in (*measure.group.active, *measure.coming) for r, n in pod.requests.items() if n}
    for one in devices:
        name, resource = one.text("node"), one.text("resource")
        node = case.cluster.nodes.get(name)
        if node is None or resource not in asked:
            yield f"no member asks for {resource} on node {name}, or there is no such node"
            continue
        right = node.unwell(resource, case.cluster.device_resources)
        wrong = [key for key, value in right.items() if one.raw.get(key) != value]
        yield from (f"{key} of {resource} on {name} should be {right[key]}" for key in wrong)
        if not right:
            yield f"all {resource} of {name} are well"


CHECKS: dict[str, Callable[[Measure, Doc], Iterator[str]]] = {
    "Members": _judge_members,
    "Gated": _judge_gated,
    "Request": _judge_request,
    "Capacity": _judge_capacity,
    "Fragmentation": _judge_fragmentation,
    "Priority": _judge_priority,
    "Health": _judge_health,
}
