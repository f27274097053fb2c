"""Limits on claims for volumes whose reaches overlap."""

import numpy as np
import pytest

from maitred.cluster.supply.attachments import Pool
from maitred.cluster.supply.volume_limits import MOST_OVERLAPS, FreePool, _enough_for

NODES = MOST_OVERLAPS + 2


def chain() -> list[FreePool]:
    """One pool more than can be chosen from, each with one volume for its own node and the next."""
    nodes = np.arange(NODES)
    reaches = [(nodes == first) | (nodes == first + 1) for first in range(MOST_OVERLAPS + 1)]
    return [(Pool(reach, (f"v{number}",), True), 1) for number, reach in enumerate(reaches)]


def allowed(claims: dict[int, int], in_favour: bool, made_on: tuple[int, ...] = ()) -> bool:
    """Whether so many claims on nodes keep all limits."""
    counts, made = np.zeros(NODES, dtype=np.int64), np.isin(np.arange(NODES), made_on)
    counts[list(claims)] = list(claims.values())
    limits = _enough_for(chain(), made, in_favour)
    return all(counts[inside].sum() <= limit for inside, limit in limits)


@pytest.mark.parametrize(
    ("claims", "enough", "perhaps"),
    [
        (dict.fromkeys(range(6), 1), True, True),
        (dict.fromkeys(range(1, 7), 1), True, True),
        ({0: 2}, False, False),
        ({1: 2}, True, True),
        ({1: 3}, False, False),
        ({0: 1, 1: 2}, False, False),
        (dict.fromkeys(range(7), 1), False, True),
        ({6: 1}, True, True),
        ({6: 2}, False, True),
        ({7: 1}, False, True),
    ],
)
def test_of_too_many_pools_the_last_are_not_used_or_not_limited(
    claims: dict[int, int], enough: bool, perhaps: bool
) -> None:
    """The last pool reaches nodes 6 and 7. Without it there are too few volumes there, never too many."""
    assert allowed(claims, in_favour=False) == enough
    assert allowed(claims, in_favour=True) == perhaps


def test_where_a_volume_can_be_made_there_is_no_limit() -> None:
    assert allowed({0: 5, 7: 5}, in_favour=False, made_on=(0, 7))
