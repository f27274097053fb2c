"""Searching: for an order in which given binds pass the filters, and for any placement of a group at all."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from .filters import AMOUNTS, place, why_not
from .groups import Group
from .objects import Node
from .pods import Pod, term_matches
from .selectors import matches
from .volumes import claim_of
from .world import World

Bind = tuple[Pod, Node]
Seats = dict[str, Node]  # by pod

FEW = 14
EVERY_ORDER = FEW * 2**FEW  # enough to try every pod after every set of others
ORDER_STEPS = 20_000
MANY = 200
PLACEMENT_STEPS = 200_000
SMALL = 6


def domain_broken(group: Group, seats: Iterable[Bind]) -> str | None:
    """Why members may not sit where they do together, by the topology that the whole group shares."""
    return _one_domain(group.topology, list(seats), "the group") if group.topology else None


def slices_broken(group: Group, seats: Iterable[Bind]) -> str | None:
    """Why members may not sit where they do together, by the topology that each slice shares."""
    if not group.slice_size:
        return None
    slices: dict[int, list[Bind]] = {}
    for pod, node in seats:
        slices.setdefault(group.slice_of(pod), []).append((pod, node))
    broken = (_one_domain(group.slice_topology, s, f"slice {n}") for n, s in sorted(slices.items()))
    return next((reason for reason in broken if reason is not None), None)


def _one_domain(key: str, seats: list[Bind], what: str) -> str | None:
    bare = sorted(node.name for _, node in seats if key not in node.labels)
    if bare:
        return f"{what} needs the label {key}, which {bare[0]} does not have"
    domains = sorted({node.labels[key] for _, node in seats})
    return (
        f"{what} must be in one domain of {key} and is in {', '.join(domains)}" if len(domains) > 1 else None
    )


def stuck(world: World, binds: Sequence[Bind]) -> list[tuple[Pod, str]]:
    """The binds that no order gets past the filters one by one, with the reason; empty if some order does.

    Amounts are left out: over a set of pods they are the same in every order. The order of the Plan is tried
    first, then whatever passes next, then other orders of the pods that look at each other: all of them if
    those are few, else up to a bound.
    """
    left, after = _greedy(world.copy(), binds)
    if not left or _some_order(world, binds):
        return []
    return [(pod, why_not(after, pod, node, AMOUNTS) or "") for pod, node in left]


def _greedy(world: World, binds: Sequence[Bind]) -> tuple[list[Bind], World]:
    """Place whatever passes until nothing does; what is left over, and the world with the rest placed."""
    left = list(binds)
    while left:
        waiting = []
        for pod, node in left:
            if why_not(world, pod, node, AMOUNTS) is None:
                place(world, pod, node)
            else:
                waiting.append((pod, node))
        if len(waiting) == len(left):
            break
        left = waiting
    return left, world


def _some_order(world: World, binds: Sequence[Bind]) -> bool:
    """Whether some order passes, after the greedy one did not.

    Only pods that look at each other can care who comes first, so each set of pods that are connected in
    this way is ordered by itself. Those that no other looks at pass in every order or in none.
    """
    world = world.copy()
    for component in _components(world, binds):
        if len(component) > MANY:
            left, world = _greedy(world, component)
            if left:
                return False
            continue
        steps = EVERY_ORDER if len(component) <= FEW else ORDER_STEPS
        done = _search(world, component, set(), [steps])
        if done is None:
            return False
        world = done
    return True


def _components(world: World, binds: Sequence[Bind]) -> list[list[Bind]]:
    """Binds in sets of pods that look at each other, directly or through others."""
    components: list[list[Bind]] = []
    for bind in binds:
        linked = [c for c in components if any(_linked(world, bind[0], other) for other, _ in c)]
        apart = [c for c in components if c not in linked]
        components = [*apart, [member for c in linked for member in c] + [bind]]
    return components


def _linked(world: World, a: Pod, b: Pod) -> bool:
    """Whether it may matter which of two pods comes first. Volumes yet to be chosen are a common good."""
    if has_unbound_claims(world, a) and has_unbound_claims(world, b):
        return True
    return _looks_at(world, a, b) or _looks_at(world, b, a)


def _looks_at(world: World, pod: Pod, other: Pod) -> bool:
    return any(term_matches(term, other, world.cluster.namespaces) for term in pod.affinity) or any(
        matches(spread.selector, other.labels) for spread in pod.spreads
    )


def has_unbound_claims(world: World, pod: Pod) -> bool:
    claims = [claim_of(world, pod, use) for use in pod.claims]
    return any(claim is None or not claim.volume for claim in claims)


def _search(world: World, left: list[Bind], dead: set[object], budget: list[int]) -> World | None:
    """The world with all the binds in it, if some order of them passes.

    Worlds with the same pods in them are the same whatever the order, unless they took other volumes: one
    that led nowhere is not tried again.
    """
    if not left:
        return world
    state = (frozenset(pod.key for pod, _ in left), frozenset(world.taken.items()))
    if state in dead:
        return None
    for i, (pod, node) in enumerate(left):
        if budget[0] <= 0:
            return None
        budget[0] -= 1
        if why_not(world, pod, node, AMOUNTS) is None:
            after = world.copy()
            place(after, pod, node)
            done = _search(after, left[:i] + left[i + 1 :], dead, budget)
            if done is not None:
                return done
    dead.add(state)
    return None


def find_placement(
    world: World,
    group: Group,
    pods: Sequence[Pod],
    need: int,
    nodes: Sequence[Node],
    fixed: Sequence[Bind] = (),
) -> Seats | None:
    """Seats for `need` of the pods, or None if none was found, which proves nothing.

    `fixed` are members that already sit in this world and that the group's rules speak of too.
    """
    if need <= 0:
        return {}
    budget = [PLACEMENT_STEPS]
    for choice in _domains(group, nodes, fixed):
        for order in _orders(pods):
            for rank in (_as_named, _fullest, _emptiest):
                seats = _seat(world.copy(), group, order, need, choice, fixed, rank, budget)
                if seats is not None:
                    return seats
        if len(pods) <= SMALL and len(choice) <= SMALL:
            seats = _exhaust(world, group, list(pods), need, choice, list(fixed), set(), budget)
            if seats is not None:
                return seats
    return None


def _domains(group: Group, nodes: Sequence[Node], fixed: Sequence[Bind]) -> Iterator[list[Node]]:
    """The sets of nodes that the whole group may use: one domain each, or all of them."""
    if not group.topology:
        yield list(nodes)
        return
    values = {node.labels.get(group.topology) for _, node in fixed} or None
    for value in sorted({n.labels[group.topology] for n in nodes if group.topology in n.labels}):
        if values is None or values == {value}:
            yield [node for node in nodes if node.labels.get(group.topology) == value]


def _orders(pods: Sequence[Pod]) -> list[list[Pod]]:
    """Orders worth trying: as they come, and largest or smallest first."""

    def size(pod: Pod) -> list[tuple[str, int]]:
        return sorted(pod.requests.items())

    orders = [list(pods), sorted(pods, key=size, reverse=True), sorted(pods, key=size)]
    return [order for i, order in enumerate(orders) if order not in orders[:i]]


def _as_named(world: World, node: Node) -> tuple[int, str]:
    return 0, node.name


def _fullest(world: World, node: Node) -> tuple[int, str]:
    return -sum(world.used[node.name].values()), node.name


def _emptiest(world: World, node: Node) -> tuple[int, str]:
    return sum(world.used[node.name].values()), node.name


def _seat(
    world: World,
    group: Group,
    order: Sequence[Pod],
    need: int,
    nodes: Sequence[Node],
    fixed: Sequence[Bind],
    rank: Callable[[World, Node], tuple[int, str]],
    budget: list[int],
) -> Seats | None:
    """Seat pods one by one where they fit, until enough sit or nobody moves."""
    seated: list[Bind] = []
    waiting = list(order)
    while len(seated) < need:
        progress = False
        for pod in waiting:
            if budget[0] <= 0:
                return None
            ranked = sorted(nodes, key=lambda node: rank(world, node))
            node = next((n for n in ranked if _fits(world, group, pod, n, [*fixed, *seated], budget)), None)
            if node is not None:
                place(world, pod, node)
                seated.append((pod, node))
                progress = True
            if len(seated) == need:
                break
        here = {pod.key for pod, _ in seated}
        waiting = [pod for pod in waiting if pod.key not in here]
        if not progress:
            return None
    return {pod.key: node for pod, node in seated}


def _fits(
    world: World, group: Group, pod: Pod, node: Node, seated: Collection[Bind], budget: list[int]
) -> bool:
    budget[0] -= 1
    if budget[0] <= 0 or why_not(world, pod, node) is not None:
        return False
    seats = [*seated, (pod, node)]
    return domain_broken(group, seats) is None and slices_broken(group, seats) is None


def _exhaust(
    world: World,
    group: Group,
    waiting: list[Pod],
    need: int,
    nodes: Sequence[Node],
    seated: list[Bind],
    dead: set[object],
    budget: list[int],
) -> Seats | None:
    """Every way to seat `need` more pods, in every order."""
    if need == 0:
        return {pod.key: node for pod, node in seated}
    state = frozenset((pod.key, node.name) for pod, node in seated)
    if state in dead:
        return None
    dead.add(state)
    for pod in waiting:
        for node in nodes:
            if not _fits(world, group, pod, node, seated, budget):
                continue
            after = world.copy()
            place(after, pod, node)
            rest = [other for other in waiting if other is not pod]
            found = _exhaust(after, group, rest, need - 1, nodes, [*seated, (pod, node)], dead, budget)
            if found is not None:
                return found
    return None
