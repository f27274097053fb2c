"""Seats that are chosen are taken in an order in which everyone finds the company that it must have."""

from typing import Any

import numpy as np
import pytest

from maitred.cluster.supply.fit import Company
from maitred.decide.ordering import find_order
from maitred.decide.rules import Rules
from maitred.decide.seats import Seats, Steps

NODES = 2


def rules(*companies: tuple[Company, ...]) -> Rules:
    nothing: Any = None
    shapes = tuple(range(len(companies)))
    return Rules(nothing, shapes, [], [], [], [], list(companies), [() for _ in shapes], [])


def company(provided_by: tuple[bool, ...], own: bool, anywhere: bool = False) -> Company:
    """With pods on the same node; there is none on any node so far."""
    return Company(
        (np.arange(NODES, dtype=np.int32),),
        (np.zeros(NODES + 1, dtype=np.bool_),),
        anywhere,
        provided_by,
        own,
    )


def order(made: Rules, *runs: tuple[int, int, int]) -> list[tuple[int, int, int]] | None:
    found = find_order(made, Seats(list(runs)), Steps(1000))
    return None if found is None else found.runs


def test_who_needs_company_sits_down_after_it() -> None:
    needy = company((False, True), own=False)
    assert order(rules((needy,), ()), (0, 0, 1), (1, 0, 1)) == [(1, 0, 1), (0, 0, 1)]
    assert order(rules((needy,), ()), (0, 0, 1), (1, 1, 1)) is None


@pytest.mark.parametrize(
    ("own", "anywhere", "may"), [(True, False, True), (True, True, False), (False, False, False)]
)
def test_the_first_of_a_series_may_go_ahead_while_there_is_none(own: bool, anywhere: bool, may: bool) -> None:
    assert (order(rules((company((own,), own, anywhere),)), (0, 0, 1)) is not None) == may


def test_the_second_of_a_series_follows_the_first() -> None:
    series = rules((company((True,), own=True),))
    assert order(series, (0, 0, 2)) is not None
    assert order(series, (0, 0, 1), (0, 1, 1)) is None
