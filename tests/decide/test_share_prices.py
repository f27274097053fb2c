"""Prices of shares: in demands whose best packing is plain to see, and what holds for all."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.decide.shares.prices import MOST_SIZES, worths
from maitred.simulate.jobs import WHOLE
from tests.oracle.effort import examples


@pytest.mark.parametrize(
    ("size", "on_a_device"), [(500, 2), (501, 1), (334, 2), (333, 3), (250, 4), (999, 1), (1, 1000)]
)
def test_a_share_costs_its_part_of_a_device_that_is_full_of_them(size: int, on_a_device: int) -> None:
    worth = worths(Counter({size: 7}))
    for room in (0, size - 1, size, 2 * size - 1, WHOLE):
        if room <= WHOLE:
            assert worth[room] == pytest.approx(min(room // size, on_a_device) / on_a_device)


def test_what_fills_a_gap_that_is_there_anyway_costs_nothing() -> None:
    """Each 700 leaves room for a 300, and there are more of those who leave it."""
    worth = worths(Counter({700: 10, 300: 5}))
    assert (worth[700], worth[300]) == (pytest.approx(1), pytest.approx(0))


def test_what_needs_devices_of_its_own_costs_a_part_of_them() -> None:
    """Beside each 700 there is one 300, and three of the others share a device."""
    worth = worths(Counter({700: 5, 300: 20}))
    assert (worth[700], worth[300]) == (pytest.approx(2 / 3), pytest.approx(1 / 3))


def test_sets_of_several_sizes_are_found() -> None:
    """One of each fills a device to the brim."""
    worth = worths(Counter({550: 4, 310: 4, 140: 4}))
    assert worth[550] + worth[310] + worth[140] == pytest.approx(1)


def test_without_a_demand_shares_are_worth_nothing() -> None:
    assert not worths(Counter()).any()


DEMANDS = st.dictionaries(st.integers(20, 999), st.integers(1, 50), min_size=1, max_size=MOST_SIZES + 2)


@examples(60)
@given(DEMANDS)
def test_no_set_costs_more_than_a_device_and_all_together_at_least_their_size(demand: dict[int, int]) -> None:
    """Prices by size alone would be allowed, so the best are at least as high."""
    worth = worths(Counter(demand)).tolist()
    assert worth[WHOLE] == pytest.approx(1, abs=1e-6)
    assert worth == sorted(worth)
    for size in demand:
        rest = WHOLE - size
        assert worth[size] + worth[rest] <= worth[WHOLE] + 1e-6
    kept = dict(Counter(demand).most_common(MOST_SIZES))
    price = sum(count * worth[size] for size, count in kept.items())
    assert price >= sum(count * size for size, count in kept.items()) / WHOLE - 1e-6
