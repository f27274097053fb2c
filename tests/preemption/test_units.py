"""What groups that preempt share is as good as what each would have worked out for itself."""

from collections import Counter
from random import Random

import msgspec
import numpy as np
import pytest

from benchmarks import crowd
from benchmarks.loading import NOW
from maitred.cluster.nodes import Mask
from maitred.cluster.trial import Trial
from maitred.decide.ask import ask_of
from maitred.decide.attempt import attempt, quorum_of
from maitred.decide.context import Context
from maitred.decide.levels import known_levels
from maitred.decide.preemption.evictable import EvictablePods
from maitred.decide.preemption.feasibility import Feasibility
from maitred.decide.preemption.sparing import take, take_in_turn
from maitred.decide.preemption.units import Units
from maitred.model.meta import Timestamp
from maitred.model.policy import Policy
from tests.preemption.cases import case
from tests.support import snapshot_of

HIGHEST = 2_000_000_000


def roster_of(seed: int) -> EvictablePods:
    scene = case(seed)
    now = round(msgspec.convert(scene.now, Timestamp).timestamp() * 1000)
    return EvictablePods(snapshot_of(scene.objects), Policy(), now)


def told(units: Units) -> Counter[tuple[object, ...]]:
    """Every unit that is there, and all that is said of it."""
    alone = (units.chosen([place]) for place in np.flatnonzero(units.present).tolist())
    return Counter((*units.names(one), *units.price(one), *units.pods_of(one).tolist()) for one in alone)


@pytest.mark.parametrize("seed", range(12))
def test_units_after_some_have_left_are_those_that_would_be_put_together_then(seed: int) -> None:
    evictable = roster_of(seed)
    standing: Mask = ~evictable.bound.terminating
    candidates = evictable.below(HIGHEST, ()) & standing
    units = Units(evictable, standing, candidates)
    for place in range(len(units)):
        gone = np.zeros_like(standing)
        gone[units.pods_of(units.chosen([place]))] = True
        later = units.after(standing & ~gone, candidates & ~gone)
        assert told(later) == told(Units(evictable, standing & ~gone, candidates & ~gone))


@pytest.mark.parametrize("seed", range(12))
def test_who_sits_where_once_some_have_left_is_what_a_trial_without_them_finds(seed: int) -> None:
    compare_with_trials(roster_of(seed), Random(seed), tries=20)


def test_so_it_is_for_members_who_mind_others_and_for_several_shapes() -> None:
    reading = snapshot_of(list(crowd.objects(32, 24, 24)))
    compare_with_trials(EvictablePods(reading, Policy(), round(NOW.timestamp() * 1000)), Random(1), tries=8)


def compare_with_trials(evictable: EvictablePods, rng: Random, tries: int) -> None:
    snapshot, context = evictable.snapshot, Context(Policy(), known_levels(Policy(), evictable.snapshot))
    standing: Mask = ~evictable.bound.terminating
    candidates = evictable.below(HIGHEST, ()) & standing
    units, trial = Units(evictable, standing, candidates), Trial.of(snapshot)
    emptied = Trial.of(snapshot)
    emptied.evict(np.flatnonzero(candidates))
    for view in (view for view in snapshot.groups if view.pods):
        feasibility = Feasibility(trial, emptied, ask_of(view), context, units)
        for _ in range(tries):
            share = rng.random()
            chosen = units.closed(np.array([rng.random() < share for _ in range(len(units))]))
            checkpoint = trial.checkpoint()
            trial.evict(units.pods_of(chosen))
            found = attempt(trial, feasibility.ask, context, context.steps())
            trial.rollback(checkpoint)
            assert feasibility.seats(chosen) == (None if found is None else quorum_of(feasibility.ask, found))
            assert not (feasibility.too_few(chosen) and found)


def test_those_who_may_stay_are_the_same_node_by_node_as_one_by_one() -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        slack, nodes = rng.integers(0, 12, (3, 6)), rng.integers(0, 6, 40)
        freed, left = rng.integers(0, 5, (3, 40)), slack.copy()
        one_by_one = [i for i in range(40) if take(left, nodes[i : i + 1], freed[:, i : i + 1])]
        assert take_in_turn(slack, nodes, freed).tolist() == one_by_one
        assert (slack == left).all()
