"""Overrides over small random clusters: others feel only what the lifted group gets, and it ends."""

from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from maitred.explain.overriding.answer import OverrideWish
from maitred.explain.overriding.asking import override_of
from maitred.model.overrides import OverrideMemory
from maitred.verify import verify
from tests.decide.test_overrides import kept
from tests.explain.whys import situation_of
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.properties.test_queues import World, moment_of, worlds
from tests.support import NOON, decide

LATER = "2026-01-31T13:00:00Z"
DECIDED = ("binds", "nominations", "evictions", "holds")


def waiting(world: World) -> list[str]:
    return [team.name for team in world.teams if not team.nodes]


def with_override(world: World, name: str, hours: float = 2) -> list[Obj]:
    objects = world.objects()
    wish = OverrideWish("it matters today", moment_of(NOON) + timedelta(hours=hours))
    found = override_of(situation_of(objects, policy=world.policy), name, "default", None, wish, "alice")
    return [*objects, kept(OverrideMemory((found,)))]


@given(worlds().filter(waiting), st.data())
@examples(60)
def test_it_breaks_no_law_and_reaches_others_only_by_what_the_group_gets(
    world: World, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(waiting(world)))
    objects, plain = with_override(world, name), decide(world.objects(), world.policy, NOON)
    plan = decide(objects, world.policy, NOON)
    assert verify(objects, plan, world.policy, now=moment_of(NOON)) == []
    key, seats = f"default/{name}", (*plan["binds"], *plan["nominations"])
    before = (*plain["binds"], *plain["nominations"])
    if not any(seat["group"] == key for seat in (*seats, *before)):
        assert [plan[what] for what in DECIDED] == [plain[what] for what in DECIDED]
    for eviction in plan["evictions"]:
        assert (eviction["receipt"]["override"] is not None) == (eviction["for"] == key)


@given(worlds().filter(waiting), st.data())
@examples(40)
def test_when_it_is_over_all_is_as_if_it_had_never_been(world: World, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(waiting(world)))
    objects = with_override(world, name, 1)
    plan = decide(objects, world.policy, LATER)
    assert verify(objects, plan, world.policy, now=moment_of(LATER)) == []
    assert plan["overrides"] == {"overrides": []}
    assert {**plan, "overrides": None} == decide(world.objects(), world.policy, LATER)
