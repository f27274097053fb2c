"""What is left to a group of its queue: what the same cycle has given to others counts, for all who ask."""

import numpy as np
import pytest

from maitred.explain.capacity.survey import Survey
from maitred.explain.remedies.attempt_budget import AttemptBudget
from maitred.explain.remedies.rehearsal import Rehearsal
from maitred.explain.why.nearest import OWN_QUEUE
from tests.explain.forecasts import gang, nodes
from tests.explain.test_forecast_queues import inside, queue
from tests.explain.whys import situation_of, why_of
from tests.oracle.builders import Obj

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
