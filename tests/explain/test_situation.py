"""One cycle for all who ask: whatever is asked of it, and in whatever order, it says what `decide` says."""

from dataclasses import replace
from random import Random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from maitred.cluster.supposing import supposing
from maitred.explain.situation import Situation
from maitred.model.membership import group_key
from maitred.model.meta import Timestamp, key_of
from maitred.model.pod import Pod
from tests.explain.whys import plan_of, situation_of
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.oracle.strategies import clusters
from tests.preemption.cases import case
from tests.support import read, state_of


@given(clusters(max_groups=4), st.integers(0, 2**16))
@examples(40)
def test_a_kept_cycle_explains_groups_as_decide_does(objects: list[Obj], seed: int) -> None:
    check(situation_of(objects), seed)


@given(st.integers(0, 2**16))
@examples(40)
def test_a_kept_cycle_explains_those_for_whom_others_leave(seed: int) -> None:
    crowded = case(seed)
    situation = replace(situation_of(crowded.objects), now=msgspec.convert(crowded.now, Timestamp))
    check(situation, seed)


def check(situation: Situation, seed: int) -> None:
    right = plan_of(situation)
    keys = [verdict.group for verdict in right.groups]
    Random(seed).shuffle(keys)
    for key in keys:
        found = [verdict for verdict in situation.plan([key]).groups if verdict.group == key]
        assert found == [verdict for verdict in right.groups if verdict.group == key]
    # Whoever is not explained takes less looking for, so the bound may be hit elsewhere.
    whole = msgspec.structs.replace(situation.plan(keys), search_exhausted=right.search_exhausted)
    assert whole == right


@given(clusters(max_groups=4), st.integers(0, 2**16))
@examples(40)
def test_who_waits_in_vain_waits_too_when_others_come(objects: list[Obj], seed: int) -> None:
    """What is known of a state is still true once more is supposed, so nobody need be tried twice."""
    items = read(objects)
    named = sorted({group_of(item) for item in items if isinstance(item, Pod)})
    if not named:
        return
    late = Random(seed).choice(named)
    pods = [item for item in items if isinstance(item, Pod) and not item.spec.node_name]
    supposed = [pod for pod in pods if group_of(pod) == late]
    base = state_of([item for item in items if item not in supposed])
    before = replace(situation_of([]), snapshot=base.snapshot())
    after = replace(situation_of([]), snapshot=supposing(base, supposed))
    known = replace(situation_of([]), snapshot=after.snapshot, waiting=before.in_vain() - {late})
    assert told_of(late, known) == told_of(late, after)


def group_of(pod: Pod) -> str:
    return group_key(pod) or key_of(pod.metadata)


def told_of(group: str, situation: Situation) -> object:
    plan = situation.plan([group])
    return plan.binds, plan.evictions, [verdict for verdict in plan.groups if verdict.group == group]
