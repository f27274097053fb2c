"""One cycle for all who ask: whatever is asked of it, and in whatever order, it says what `decide` says."""

from dataclasses import replace
from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from maitred.explain.scene import Scene
from maitred.model.meta import Timestamp
from tests.explain.whys import plan_of, scene_of
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.oracle.strategies import clusters
from tests.preemption.cases import case


@given(clusters(max_groups=4), st.integers(0, 2**16))
@examples(40)
def test_a_kept_cycle_explains_groups_as_decide_does(objects: list[Obj], seed: int) -> None:
    check(scene_of(objects), seed)


@given(st.integers(0, 2**16))
@examples(40)
def test_a_kept_cycle_explains_those_for_whom_others_leave(seed: int) -> None:
    crowded = case(seed)
    scene = replace(scene_of(crowded.objects), now=msgspec.convert(crowded.now, Timestamp))
    check(scene, seed)


def check(scene: Scene, seed: int) -> None:
    right = plan_of(scene)
    keys = [verdict.group for verdict in right.groups]
    Random(seed).shuffle(keys)
    for key in keys:
        found = [verdict for verdict in scene.plan([key]).groups if verdict.group == key]
        assert found == [verdict for verdict in right.groups if verdict.group == key]
    # Whoever is not explained takes less looking for, so the bound may be hit elsewhere.
    whole = msgspec.structs.replace(scene.plan(keys), search_exhausted=right.search_exhausted)
    assert whole == right
