"""Small ones first, or room held for a large one: both futures, and what the second costs."""

import msgspec
import pytest

from maitred.explain.forecast.estimate import Orders
from maitred.explain.forecast.orders import orders
from tests.explain.forecasts import at, gang, hours, nodes, situation

CROWD = [
    *nodes(2),
    *gang("one", lasts="1h", on="n0"),
    *gang("two", lasts="3h", on="n1"),
    *gang("large", 2, lasts="1h", waited=5),
    *gang("small-1", lasts="4h", waited=3),
    *gang("small-2", lasts="4h", waited=2),
]
"""As things go, a small one takes the first node for four hours, and the other one the second."""


def test_holding_room_starts_the_large_one_earlier_and_says_what_it_costs() -> None:
    found = orders(situation(CROWD), "default/large")
    assert (hours(found.as_now), hours(found.holding), found.gained_hours) == (7, 3, 4)
    shifts = {shift.group: shift.hours for shift in found.shifted}
    assert shifts == {"default/small-1": 3, "default/small-2": 1}
    assert found.idle_device_hours == 8 * 2, "one node, from the end of the first to that of the second"
    assert found.words == (
        "in the current order, it starts about 19:00 UTC; with room held for it, it starts about 15:00 UTC, "
        "which leaves 16 device-hours idle, and 2 groups now waiting would start 2.0 hours later on average"
    )


def test_one_that_starts_later_has_no_average() -> None:
    found = orders(situation(CROWD[: -len(gang("small-2"))]), "default/large")
    assert found.words.endswith("and 1 group now waiting would start 3.0 hours later")


def test_it_travels_as_json() -> None:
    found = orders(situation(CROWD), "default/large")
    assert msgspec.json.decode(msgspec.json.encode(found), type=Orders) == found


def test_others_of_its_kind_do_not_keep_it_from_the_places_held_for_it() -> None:
    objects = [*CROWD, *gang("alike", 2, lasts="1h", waited=1)]
    found = orders(situation(objects), "default/large")
    assert hours(found.holding) == 3


def test_where_nobody_comes_after_it_holding_gains_nothing() -> None:
    objects = [*nodes(1), *gang("run", lasts="1h", on="n0"), *gang("large", lasts="1h")]
    found = orders(situation(objects), "default/large")
    assert (found.as_now, found.holding, found.gained_hours) == (at(1), at(1), 0)
    assert found.idle_device_hours == 0
    assert found.shifted == ()
    assert found.words.endswith("in either order: holding room for it gains nothing")


def test_places_are_kept_only_where_it_will_sit() -> None:
    """A node of the small one's own is not in its way."""
    free = [*nodes(1), *gang("run", lasts="2h", on="n0")]
    free += [
        {**node, "metadata": {**node["metadata"], "name": "spare"}} for node in nodes(1, labels={"pool": "x"})
    ]
    objects = [
        *free,
        *gang("busy", lasts="1h", on="spare"),
        *gang("large", lasts="1h", waited=2, where={"pool": "y"}),
        *gang("small", lasts="9h", where={"pool": "x"}),
    ]
    objects[0]["metadata"]["labels"]["pool"] = "y"
    found = orders(situation(objects), "default/large")
    assert found.shifted == ()
    assert hours(found.holding) == 2


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ([*nodes(1), *gang("large")], "it does not wait for room"),
        ([*nodes(1)], "it does not wait for room"),
        (
            [*nodes(1), *gang("run", on="n0"), *gang("large")],
            "it is not known when it starts, even with room held for it",
        ),
    ],
)
def test_nothing_to_compare(objects: list[dict[str, object]], words: str) -> None:
    found = orders(situation(objects), "default/large")
    assert (found.words, found.as_now, found.holding) == (words, None, None)


def test_nobody_knows_who_starts_later_if_the_large_one_may_run_for_ever() -> None:
    objects = [
        *nodes(2),
        *gang("one", lasts="1h", on="n0"),
        *gang("two", lasts="3h", on="n1"),
        *gang("large", 2, waited=5),
        *gang("small", lasts="1h", waited=3),
        *gang("long", lasts="6h", waited=2),
    ]
    found = orders(situation(objects), "default/large")
    assert found.unknown, found
    assert "no waiting group starts later" not in found.words
    assert "now waiting start" in found.words
    assert found.words.endswith("then, because the large one declares no run time")
