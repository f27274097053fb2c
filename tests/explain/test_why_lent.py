"""What `why` says of places that were lent: how much, to whom, and until when at the latest."""

from typing import Any

import pytest

from tests.explain.forecasts import at, gang, nodes
from tests.explain.test_forecast_queues import inside, queue
from tests.explain.whys import why_of
from tests.oracle.builders import Obj

OURS = queue("ours", 8)
KEEPS = queue("theirs", minRuntime="2h")


def busy() -> list[Obj]:
    """Two nodes of eight, on which another queue has been for an hour."""
    return [*nodes(2), *inside("theirs", gang("busy", 2, on="n0 n1", ran=1, gpu=8))]


def said(objects: list[Obj], *queues: Obj, asks: int = 8, **policy: Any) -> list[str]:
    new = inside("ours", gang("new", 1, gpu=asks))
    answer = why_of([*objects, *new], "default/new", policy={"queues": list(queues), **policy})
    return [note for note in answer.notes if " lent: " in note]


def test_places_that_were_lent_come_back_once_whoever_has_them_may_be_evicted() -> None:
    (note,) = said(busy(), OURS, KEEPS)
    assert note == (
        "8 nvidia.com/gpu of what queue ours is guaranteed are lent: queue theirs has borrowed 16, until "
        f"{at(1)} at the latest, if it is wanted back"
    )


def test_or_once_that_has_ended_for_certain() -> None:
    objects = busy()
    for one in objects:
        if one["kind"] == "Pod":
            one["spec"]["activeDeadlineSeconds"] = 5400
    (note,) = said(objects, OURS, KEEPS)
    assert note.endswith(f"has borrowed 16, until {at(0.5)} at the latest")


def test_an_end_that_nobody_enforces_is_none() -> None:
    (note,) = said(busy(), OURS, queue("theirs", runtime={"default": "90m"}), preemption={"mode": "never"})
    assert note.endswith("has borrowed 16, and no end of that is known")


@pytest.mark.parametrize("policy", [{}, {"order": ["fair-share", "age"]}])
def test_what_may_be_taken_back_now_is_told_so(policy: Obj) -> None:
    (note,) = said(busy(), OURS, queue("theirs"), preemption={"delay": "5h"}, **policy)
    assert note.endswith("has borrowed 16, which it may have to give back at any time")


def test_every_guarantee_on_the_way_up_is_told_with_who_has_borrowed_most_first() -> None:
    objects = [
        *nodes(2),
        *inside("theirs", gang("busy", 1, on="n0", ran=1, gpu=8)),
        *inside("cousin", gang("near", 1, on="n1", ran=1, gpu=6)),
    ]
    tree = (
        queue("top", 12),
        queue("ours", 8, parent="top"),
        queue("cousin", minRuntime="3h", parent="top"),
        KEEPS,
    )
    own, above = said(objects, *tree)
    assert "6 nvidia.com/gpu of what queue ours is guaranteed are lent: queue theirs has borrowed 8" in own
    assert f"queue cousin has borrowed 6, until {at(2)} at the latest" in own
    assert "4 nvidia.com/gpu of what queue top is guaranteed are lent: queue theirs has borrowed 8" in above
    assert "cousin" not in above


def test_nothing_is_said_where_nothing_that_it_asks_for_was_lent() -> None:
    assert said(busy(), queue("ours"), KEEPS) == []
    assert said(busy(), OURS, KEEPS, asks=0) == []
    assert said(busy()) == []
