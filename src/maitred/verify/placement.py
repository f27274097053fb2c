"""The search for any placement of a group at all. One that is found proves something; none proves nothing."""

from collections.abc import Callable, Collection, Iterator, Sequence

from .filters import place, why_not
from .groups import Group
from .objects import Node
from .pods import Pod
from .rules import Bind, domain_broken, slices_broken, slices_in_part
from .world import World

Seats = dict[str, Node]  # by pod
Unit = list[Pod]  # pods that are seated together or not at all
Rank = Callable[[World, Node], tuple[int, str]]

STEPS = 200_000
SMALL = 6


def find_placement(
    world: World,
    group: Group,
    pods: Sequence[Pod],
    need: int,
    nodes: Sequence[Node],
    fixed: Sequence[Bind] = (),
) -> Seats | None:
    """Seats for at least `need` of the pods, or None if none were found, which proves nothing.

    `fixed` are members that already sit in this world and that the group's rules speak of too.
    """
    if need <= 0:
        return {}
    search = _Search(group, pods, need, fixed)
    for choice in domains_of(group.topology, _roomy(world, pods, nodes), fixed):
        for order in _orders(_units(group, pods)):
            for rank in (_as_named, _fullest, _emptiest):
                seats = search.greedy(world.copy(), order, choice, rank)
                if seats is not None:
                    return seats
        if len(pods) <= SMALL and len(choice) <= SMALL:
            seats = search.exhaust(world, list(pods), choice, [])
            if seats is not None:
                return seats
    return None


def _roomy(world: World, pods: Sequence[Pod], nodes: Sequence[Node]) -> list[Node]:
    """The nodes that have as much free as every pod asks for at least: on others nobody fits."""
    names = {resource for pod in pods for resource in pod.requests}
    least = {name: min((pod.requests.get(name, 0) for pod in pods), default=0) for name in names}
    some = {name: amount for name, amount in least.items() if amount > 0}
    return [node for node in nodes if all(world.free(node, name) >= some[name] for name in some)]


def domains_of(key: str, nodes: Sequence[Node], fixed: Sequence[Bind]) -> Iterator[list[Node]]:
    """The sets of nodes that a group or a slice may use: one domain each, or all of them."""
    if not key:
        yield list(nodes)
        return
    values = {node.labels.get(key) for _, node in fixed} or None
    for value in sorted({node.labels[key] for node in nodes if key in node.labels}):
        if values is None or values == {value}:
            yield [node for node in nodes if node.labels.get(key) == value]


def _units(group: Group, pods: Sequence[Pod]) -> list[Unit]:
    if not group.slice_size:
        return [[pod] for pod in pods]
    slices: dict[int, Unit] = {}
    for pod in pods:
        slices.setdefault(group.slice_of(pod), []).append(pod)
    return list(slices.values())


def _orders(units: list[Unit]) -> list[list[Unit]]:
    """Orders worth trying: as they come, and largest or smallest first."""

    def size(unit: Unit) -> list[list[tuple[str, int]]]:
        return [sorted(pod.requests.items()) for pod in unit]

    orders = [units, sorted(units, key=size, reverse=True), sorted(units, key=size)]
    return [order for i, order in enumerate(orders) if order not in orders[:i]]


def _as_named(world: World, node: Node) -> tuple[int, str]:
    return 0, node.name


def _fullest(world: World, node: Node) -> tuple[int, str]:
    return -sum(world.used[node.name].values()), node.name


def _emptiest(world: World, node: Node) -> tuple[int, str]:
    return sum(world.used[node.name].values()), node.name


class _Search:
    """One search, bounded by how often it asks whether a pod fits."""

    def __init__(self, group: Group, pods: Sequence[Pod], need: int, fixed: Sequence[Bind]) -> None:
        self.group = group
        self.pods = pods
        self.need = need
        self.fixed = list(fixed)
        self.steps = STEPS
        self.seen: set[frozenset[tuple[str, str]]] = set()

    def greedy(self, world: World, units: Sequence[Unit], nodes: Sequence[Node], rank: Rank) -> Seats | None:
        """Seat unit after unit where it fits, until enough sit or nobody moves."""
        seated: list[Bind] = []
        waiting = list(units)
        while len(seated) < self.need:
            left = []
            for unit in waiting:
                done = None if len(seated) >= self.need else self._seat(world, unit, nodes, seated, rank)
                if done is None:
                    left.append(unit)
                else:
                    world, seated = done
            if len(left) == len(waiting) or self.steps <= 0:
                return None
            waiting = left
        return {pod.key: node for pod, node in seated}

    def _seat(
        self, world: World, unit: Unit, nodes: Sequence[Node], seated: list[Bind], rank: Rank
    ) -> tuple[World, list[Bind]] | None:
        """The world with all the pods of a unit seated, in one domain if it is a slice."""
        for choice in domains_of(self.group.slice_topology if self.group.slice_size else "", nodes, ()):
            trial, seats = (world if len(unit) == 1 else world.copy()), list(seated)
            for pod in unit:
                ranked = sorted(choice, key=lambda node: rank(trial, node))
                node = next((node for node in ranked if self._fits(trial, pod, node, seats)), None)
                if node is None:
                    break
                place(trial, pod, node)
                seats.append((pod, node))
            else:
                return trial, seats
        return None

    def _fits(self, world: World, pod: Pod, node: Node, seated: Collection[Bind]) -> bool:
        self.steps -= 1
        if self.steps <= 0 or why_not(world, pod, node) is not None:
            return False
        seats = [*self.fixed, *seated, (pod, node)]
        return domain_broken(self.group, seats) is None and slices_broken(self.group, seats) is None

    def exhaust(
        self, world: World, waiting: list[Pod], nodes: Sequence[Node], seated: list[Bind]
    ) -> Seats | None:
        """Every way to seat enough pods, in every order."""
        seats = {pod.key: node for pod, node in seated}
        if len(seats) >= self.need and not slices_in_part(self.group, self.pods, seats):
            return seats
        state = frozenset((pod, node.name) for pod, node in seats.items())
        if state in self.seen:
            return None
        self.seen.add(state)
        for pod in waiting:
            rest = [other for other in waiting if other is not pod]
            for node in nodes:
                if self._fits(world, pod, node, seated):
                    after = world.copy()
                    place(after, pod, node)
                    found = self.exhaust(after, rest, nodes, [*seated, (pod, node)])
                    if found is not None:
                        return found
        return None
