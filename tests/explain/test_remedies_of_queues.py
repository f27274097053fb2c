"""What is left to a group of its queue: what the same cycle has given to others counts, for all who ask."""

import numpy as np
import pytest

from maitred.explain.capacity.survey import Survey
from maitred.explain.remedies.attempt_budget import AttemptBudget
from maitred.explain.remedies.rehearsal import Rehearsal
from maitred.explain.why.nearest import OWN_QUEUE
from tests.explain.applying import check_remedies, remedied
from tests.explain.forecasts import gang, nodes
from tests.explain.test_forecast_queues import inside, queue
from tests.explain.whys import situation_of, why_of
from tests.oracle.builders import GPU, Obj

CAPPED: Obj = {"queues": [queue("a", cap=8)]}
SCENE = [
    *nodes(2),
    *inside("a", gang("before", 1, on="n0", ran=1, gpu=1)),
    *inside("a", gang("first", 1, waited=2, gpu=4)),
    *inside("a", gang("crew", 1, gpu=8)),
]


@pytest.mark.parametrize("of_survey", [False, True])
def test_what_the_cycle_has_given_away_counts_for_its_queue(of_survey: bool) -> None:
    situation = situation_of(SCENE, CAPPED)
    if of_survey:
        trial = Survey(situation).settled
    else:
        trial = Rehearsal(situation.cycle(), AttemptBudget(0)).leftover(situation.snapshot)
    assert trial.queues is not None
    book = trial.queues.book
    used = trial.queues.of_queue(book.tree.number["a"])
    assert np.array_equal(book.by_resource(used), [5])


def test_a_smaller_request_is_what_the_queue_has_left() -> None:
    answer = why_of(SCENE, "default/crew", policy=CAPPED)
    assert [blocker.category for blocker in answer.blockers] == ["Quota"]
    (request,) = (one for one in answer.remedies if one.detail["kind"] == "request")
    assert request.change == "ask for 3 instead of 8 nvidia.com/gpu"


def test_where_it_is_nearest_names_the_queue_only_where_it_is_in_the_way() -> None:
    for policy, told in ((CAPPED, True), ({"queues": [queue("a", cap=64)]}, False)):
        objects = SCENE if told else [*SCENE, *inside("a", gang("full", 1, on="n1", ran=1, gpu=1))]
        nearest = why_of(objects, "default/crew", policy=policy).nearest
        assert nearest is not None
        assert (OWN_QUEUE in {place.why for place in nearest.places}) == told


def limits(objects: list[Obj], *queues: Obj) -> list[Obj]:
    """The remedies by higher limits for the crew; all remedies have been carried out and found to work."""
    policy: Obj = {"queues": list(queues), "preemption": {"mode": "never"}}
    plan = remedied(objects, policy)
    check_remedies(objects, plan, policy)
    (crew,) = (one for one in plan["groups"] if one["group"] == "default/crew")
    return [one for one in crew["remedies"] if one["detail"]["kind"] == "limits"]


def test_every_limit_in_the_way_is_raised_as_far_as_it_needs() -> None:
    (remedy,) = limits(SCENE, queue("top", cap=12), queue("a", cap=8, parent="top"))
    assert remedy["change"] == (
        "in the policy, raise the cap of queue a from 8 to 13 nvidia.com/gpu, and the cap of queue top "
        "from 12 to 13 nvidia.com/gpu"
    )


def test_a_limit_per_user_is_raised() -> None:
    paid = {"name": "a", "limits": [{"resource": GPU, "cap": 14, "perUser": 6}]}
    (remedy,) = limits(SCENE, paid)
    assert (
        remedy["change"] == "in the policy, raise the limit per user of queue a from 6 to 13 nvidia.com/gpu"
    )


def test_no_limit_is_raised_where_there_is_no_room_or_somebody_ahead_takes_it() -> None:
    full = [*SCENE, *inside("b", gang("full", 1, on="n1", ran=1, gpu=1))]
    assert limits(full, queue("a", cap=8), queue("b")) == []
    ahead = [*SCENE, *inside("a", gang("ahead", 1, waited=1.5, gpu=8))]
    assert limits(ahead, queue("a", cap=8)) == []


def changes(objects: list[Obj], *queues: Obj) -> list[str]:
    found = [one["change"] for one in limits(objects, *queues)]
    assert all(one.startswith("in the policy, ") for one in found)
    return [one.removeprefix("in the policy, ") for one in found]


BORROWS = "let queue a borrow what others leave idle (borrow: always)"


def test_a_queue_that_never_borrows_may_borrow_or_is_guaranteed_more() -> None:
    """It is guaranteed no more than the nodes have, and no more than its cap."""
    guaranteed = "raise the guarantee of queue a from 5 to 13 nvidia.com/gpu"
    shy = queue("a", 5, 14, borrow="never")
    assert changes(SCENE, shy) == [BORROWS, guaranteed]
    assert changes(SCENE, shy, queue("b", 4)) == [BORROWS]
    capped = "the cap of queue a from 12 to 13 nvidia.com/gpu"
    assert changes(SCENE, queue("a", 5, 12, borrow="never")) == [
        f"raise {capped}, and {BORROWS}",
        f"{guaranteed}, and {capped}",
    ]


def test_a_queue_that_never_lends_may_lend_or_the_other_is_guaranteed_more() -> None:
    lends = "let queue b lend what it leaves idle (lend: always)"
    assert changes(SCENE, queue("a", cap=14), queue("b", 8, lend="never")) == [lends]
    assert changes(SCENE, queue("a", 5), queue("b", 4, lend="never")) == [lends]
    guaranteed = "raise the guarantee of queue a from 5 to 13 nvidia.com/gpu"
    scene = [*SCENE, *inside("c", gang("borrower", 1, on="n0", ran=1, gpu=3))]
    assert changes(scene, queue("a", 5), queue("b", 3, lend="never"), queue("c")) == [lends, guaranteed]


def test_a_budget_is_raised_to_what_the_group_needs_and_it_is_said_until_when() -> None:
    """It is noon. Who runs has spent one and commits three, and who starts first costs sixteen."""
    paid: Obj = {
        "name": "a",
        "budget": {"deviceHours": 40, "period": "day"},
        "runtime": {"default": "4h"},
    }
    assert changes(SCENE, paid) == [
        "raise the budget of queue a from 40 to 52 device-hours a day, at least until 2026-02-01T00:00:00Z"
    ]
    late = {**paid, "runtime": {"default": "20h"}, "budget": {"deviceHours": 150, "period": "day"}}
    assert changes(SCENE, late) == [
        "raise the budget of queue a from 150 to 157 device-hours a day, at least until 2026-02-01T00:00:00Z"
    ]


def test_a_budget_above_and_a_limit_are_raised_together() -> None:
    top: Obj = {**queue("top", cap=12), "budget": {"deviceHours": 45, "period": "week"}}
    below = {"name": "a", "parent": "top", "runtime": {"default": "4h"}}
    assert changes(SCENE, top, below) == [
        "raise the cap of queue top from 12 to 13 nvidia.com/gpu, and the budget of queue top from 45 to 52 "
        "device-hours a week, at least until 2026-02-02T00:00:00Z"
    ]


def test_those_who_come_later_and_would_wait_are_named() -> None:
    later = inside("b", gang("later", 1, gpu=8, priority=-1))
    (remedy,) = limits([*SCENE, *later], queue("a", cap=8), queue("b"))
    assert remedy["detail"]["instead"] == ["default/later"]
    assert remedy["change"].endswith("; then default/later would wait")


def test_large_numbers_are_written_for_people() -> None:
    scene = [
        *nodes(160),
        *inside("a", gang("busy", 2, on="n0 n1", ran=1, gpu=8)),
        *inside("a", gang("crew", 150, gpu=8)),
    ]
    rich = {**queue("a", cap=1100), "budget": {"deviceHours": 1500}, "runtime": {"default": "4h"}}
    assert changes(scene, rich) == [
        "raise the cap of queue a from 1,100 to 1,216 nvidia.com/gpu, and the budget of queue a from 1,500 "
        "to 4,864 device-hours a month, at least until 2026-02-01T00:00:00Z"
    ]
    answer = why_of(scene, "default/crew", policy={"queues": [rich]})
    assert answer.blockers[0].message.startswith(
        "it would fit, but queue a may have 1,100 nvidia.com/gpu and has 16, and the group asks for 1,200"
    )
    assert answer.blockers[0].detail["asked"] == "1200"
