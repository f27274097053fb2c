"""Kinship: pods that break together because of their group, because of their owner, or because of both.

An owner that is suspended takes all of its pods along, whatever groups they are in; and a group that loses
its quorum loses its other members too, whatever owners they have. So families of the one kind and of the
other that share a pod are one family.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from maitred.cluster.nodes import Ints

SINGLE = -1
"""The family of a pod that breaks with no other."""


class Kinship(NamedTuple):
    family: Ints
    """Of every pod; SINGLE for one that breaks with no other."""
    names: Mapping[int, str]
    larger: frozenset[int]
    """Families of groups that are more than their group: none of their pods can go by itself."""


def joined(
    of_group: Ints, below: Ints, owners: Sequence[str], names: Mapping[int, str], first: int
) -> Kinship:
    """`of_group`: the family of each pod by its group; `below`: the place of its owner among the `owners`;
    `names`: of the families of groups, which have numbers below `first`."""
    owned = below != SINGLE
    if not owned.any():
        return Kinship(of_group, names, frozenset())
    pairs = np.unique(np.stack((of_group[owned], below[owned] + first)), axis=1).T.tolist()
    kin: Ints = np.arange(first + len(owners))
    for one, lowest in lowest_of(pair for pair in pairs if SINGLE not in pair).items():
        kin[one] = lowest
    groups = Counter(int(kin[group]) for group in {group for group, _ in pairs} - {SINGLE})
    called, larger = dict(names), set[int]()
    for group, owner in sorted(pairs, key=lambda pair: owners[pair[1] - first], reverse=True):
        family = int(kin[owner])
        if group == SINGLE or groups[family] > 1:
            called[family] = owners[owner - first]
            larger.add(family)
    either = np.where(of_group == SINGLE, np.where(owned, below + first, 0), of_group)
    alone = (of_group == SINGLE) & ~owned
    return Kinship(np.where(alone, SINGLE, kin[either]), called, frozenset(larger))


def lowest_of(pairs: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Everyone in these pairs, and the lowest number that is tied to them."""
    above = dict[int, int]()

    def lowest(one: int) -> int:
        while (other := above.setdefault(one, one)) != one:
            above[one] = above[other]
            one = other
        return one

    for pair in pairs:
        first, second = sorted(map(lowest, pair))
        above[second] = first
    return {one: lowest(one) for one in list(above)}
