"""Histories of a small cluster, for whoever must keep up with one."""

from random import Random

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from maitred.cluster.state import Change, Delete, Put
from tests.cluster.seen import name_of
from tests.oracle.strategies import clusters
from tests.support import read


@st.composite
def changes(draw: DrawFn, most: int) -> list[Change]:
    """One small cluster comes up; then its objects and those of another, of the same names, come and go."""
    one, two = (read(draw(clusters(3, 3, 2))) for _ in range(2))
    random = Random(draw(st.integers(0, 2**16)))
    random.shuffle(one)
    pool = [*one, *two]
    found: list[Change] = [Put(item) for item in one]
    for index, gone in draw(st.lists(st.tuples(st.integers(0, len(pool) - 1), st.booleans()), max_size=most)):
        found.append(Delete(*name_of(pool[index])) if gone else Put(pool[index]))
    return found
