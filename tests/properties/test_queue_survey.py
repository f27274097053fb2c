"""What `maitred queues` shows, over small random clusters: the numbers of the oracle, queue by queue."""

import msgspec
from hypothesis import given

from maitred.explain.queues.answer import QueueAmounts
from maitred.explain.queues.survey import queues
from maitred.explain.situation import Situation
from maitred.model.meta import Timestamp
from tests.oracle.builders import GPU
from tests.oracle.effort import examples
from tests.oracle.queues import Queues, Use, part, plus
from tests.properties.test_queues import World, worlds
from tests.support import NOON, decide, policy_of

NOW = msgspec.convert(NOON, Timestamp)


@given(worlds())
@examples(60)
def test_what_queues_have_borrow_and_lend_is_as_the_rules_say(world: World) -> None:
    oracle, seated = world.oracle(), world.seated()
    found = queues(Situation(world.snapshot(), policy_of(world.policy), NOW))
    assert {one.queue for one in found.queues} == set(oracle.named)
    free = less(dict(oracle.there), plus(*(group.use for group in seated)))
    for one in found.queues:
        used, entitled = oracle.used(one.queue, seated), oracle.entitled(one.queue, seated)
        inside = [group for group in seated if one.queue in oracle.path(group.queue)]
        borrowed = plus(*(group.use for group in inside if group.name not in entitled))
        assert one.share == round(float(oracle.share(one.queue, seated)), 9)
        assert {(row.model, row.used, row.borrowed) for row in one.amounts} == {
            (row.model, amount(used, row), amount(borrowed, row)) for row in one.amounts
        }
        stated = {pattern: most for resource, pattern, most in oracle.guarantees(one.queue)}
        assert {row.model: row.guarantee for row in one.amounts if row.guarantee} == {
            pattern: str(most) for pattern, most in stated.items()
        }
        for row in one.amounts:
            if row.guarantee is not None:
                missing = stated[row.model] - part(used, GPU, row.model) - part(free, GPU, row.model)
                assert row.lent == str(max(0, missing))


@given(worlds())
@examples(40)
def test_who_waits_is_as_a_decision_says(world: World) -> None:
    oracle = world.oracle()
    found = queues(Situation(world.snapshot(), policy_of(world.policy), NOW))
    verdicts = {one["group"]: one["verdict"] for one in decide(world.objects(), world.policy)["groups"]}
    for one in found.queues:
        waiting = [
            team
            for team in world.teams
            if one.queue in oracle.path(team.queue)
            and verdicts.get(f"default/{team.name}", "Scheduled") not in ("Scheduled", "Invalid")
        ]
        assert one.waiting_groups == len(waiting)
        asked = sum(team.devices * team.members for team in waiting)
        assert sum(int(row.waiting or 0) for row in one.amounts) == (asked if is_limited(oracle) else 0)


def amount(use: Use, row: QueueAmounts) -> str:
    return str(part(use, GPU, row.model))


def less(whole: Use, taken: Use) -> Use:
    return {key: whole[key] - taken.get(key, 0) for key in whole}


def is_limited(oracle: Queues) -> bool:
    return bool(oracle.limited)
