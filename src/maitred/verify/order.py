"""Constraints hold if some order of the binds passes the filters one by one: the search for that order."""

from collections.abc import Sequence

from .filters import AMOUNTS, FILTERS, place, why_not
from .pods import Pod, term_matches
from .rules import Bind
from .selectors import matches
from .volumes import claim_of
from .world import World

FEW = 14
EVERY_ORDER = FEW * 2**FEW  # enough to try every pod after every set of others
ORDER_STEPS = 20_000
MANY = 200


def misfits(world: World, seats: Sequence[Bind]) -> list[tuple[Pod, str]]:
    """The pods that cannot have these seats all together, with the reason."""
    return _overfull(world.copy(), seats) or stuck(world, seats)


def _overfull(world: World, seats: Sequence[Bind]) -> list[tuple[Pod, str]]:
    """Amounts, which `stuck` leaves out: one pod after the other."""
    found = []
    everything_else = FILTERS.keys() - AMOUNTS
    for pod, node in seats:
        reason = why_not(world, pod, node, everything_else)
        if reason is not None:
            found.append((pod, reason))
        world.put(pod, node.name)
    return found


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
