"""Domains for members along a line: which takes a seat in which, so that few neighbours sit apart.

How many seats each domain has is given. Where there are few ways to give them out, the best is found by
looking at all of them; else a good one is, in one pass.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from maitred.decide.seats import Steps

MOST_LOOKS = 30_000
"""More than this are not taken for one group: they last some 20 milliseconds."""

Neighbours = list[tuple[bool, tuple[int, ...]]]
"""For each member: whether the member before it in the list is its neighbour, and the domains of neighbours
that stay where they are."""


Distance = Callable[[int, int], int]
"""What it costs if neighbours sit in these two domains."""


def tried(
    neighbours: Neighbours, seats: Counter[int], paths: Mapping[int, tuple[int, ...]], steps: Steps
) -> list[int]:
    """A domain for each member. `paths` has each domain with the wider ones around it."""

    def distance(one: int, other: int) -> int:
        """To cross the narrowest level costs most: more than any number of pairs that cross a wider one."""
        cost = 0
        for here, there in zip(paths[one], paths[other], strict=True):
            cost = (cost << 20) + (here != there)
        return cost

    looks = _looks(neighbours, seats)
    if looks <= steps.left and steps.take(looks):
        return _best(neighbours, seats, distance)[1]
    return _in_one_pass(neighbours, seats)


def fewest_crossings(follows: Sequence[bool], domains: Sequence[int]) -> int | None:
    """How few neighbours must sit apart if anybody may take any of these seats; None if it is not known."""
    seats, neighbours = Counter(domains), Neighbours((linked, ()) for linked in follows)
    if _looks(neighbours, seats) > MOST_LOOKS:
        return None
    return _best(neighbours, seats, lambda one, other: int(one != other))[0]


NOWHERE = -1
Left = tuple[tuple[int, ...], int]
"""Seats that are left in each domain, and the domain of the last member where the next is its neighbour."""
Chosen = tuple["Chosen", int] | None
"""The domain of the last member, after those of the members before it."""
Way = tuple[int, Chosen]


def _looks(neighbours: Neighbours, seats: Counter[int]) -> int:
    ways = math.prod(count + 1 for count in seats.values()) if len(seats) < 64 else MOST_LOOKS
    return ways * len(seats) * (len(seats) if any(linked for linked, _ in neighbours) else 1)


def _best(neighbours: Neighbours, seats: Counter[int], distance: Distance) -> tuple[int, list[int]]:
    """Member by member: of ways that leave the same seats, and end in the same domain, the best is kept."""
    domains = list(seats)
    apart = [[distance(one, other) for other in domains] for one in domains]
    known: dict[Left, Way] = {(tuple(seats.values()), NOWHERE): (0, None)}
    for position, (linked, beside) in enumerate(neighbours):
        goes_on = position + 1 < len(neighbours) and neighbours[position + 1][0]
        alone = [sum(distance(domain, other) for other in beside) for domain in domains]
        found: dict[Left, Way] = {}
        for (left, last), (cost, before) in known.items():
            for number, count in enumerate(left):
                if count:
                    total = cost + alone[number] + (apart[last][number] if linked else 0)
                    state = ((*left[:number], count - 1, *left[number + 1 :]), number if goes_on else NOWHERE)
                    if state not in found or total < found[state][0]:
                        found[state] = (total, (before, domains[number]))
        known = found
    cost, way = min(known.values(), key=lambda one: one[0])
    chosen = list[int]()
    while way is not None:
        way, domain = way
        chosen.append(domain)
    return cost, chosen[::-1]


def _in_one_pass(neighbours: Neighbours, seats: Counter[int]) -> list[int]:
    """Who sits beside somebody that stays joins them, while there are seats; the others fill what is left,
    run by run, the longest first, each in the domain that it fills best."""
    left, chosen = Counter(seats), dict[int, int]()

    def take(position: int, domain: int) -> None:
        left[domain] -= 1
        chosen[position] = domain

    spread = [(len(set(beside)), position) for position, (_, beside) in enumerate(neighbours) if beside]
    for _, position in sorted(spread):
        for domain, _ in Counter(neighbours[position][1]).most_common():
            if left[domain] and position not in chosen:
                take(position, domain)
    for run in sorted(_runs(neighbours), key=lambda run: -len(run)):
        waiting = [position for position in run if position not in chosen]
        while waiting:
            domain = _fitting(left, len(waiting), chosen.get(waiting[0] - 1))
            for position in waiting[: left[domain]]:
                take(position, domain)
            waiting = [position for position in waiting if position not in chosen]
    return [chosen[position] for position in range(len(neighbours))]


def _runs(neighbours: Neighbours) -> list[list[int]]:
    runs: list[list[int]] = []
    for position, (linked, _) in enumerate(neighbours):
        if linked:
            runs[-1].append(position)
        else:
            runs.append([position])
    return runs


def _fitting(left: Counter[int], count: int, before: int | None) -> int:
    """The domain of the neighbour before, if it has a seat; else the tightest that holds all; else the
    largest."""
    if before is not None and left[before]:
        return before
    enough = [domain for domain, seats in left.items() if seats >= count]
    if enough:
        return min(enough, key=lambda domain: (left[domain], domain))
    return max(left, key=lambda domain: (left[domain], -domain))
