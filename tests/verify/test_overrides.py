"""The checker accepts a group beyond a limit only with an override that counts, and judges what is left."""

from typing import Any

import msgspec
import pytest

from maitred.model.meta import Timestamp
from maitred.model.overrides import OverrideMemory
from maitred.verify import verify
from tests.decide.test_overrides import FULL, NOW, asks, cluster, kept, lifted
from tests.oracle import builders as b
from tests.support import NOON, Obj, decide

OBJECTS = cluster(asks("demo"))
MEMORY = lifted(OBJECTS, FULL, "demo")


def changed(**fields: Any) -> Obj:
    [override] = MEMORY.overrides
    return kept(OverrideMemory((msgspec.structs.replace(override, **fields),)))


def laws(plan: Obj, *more: Obj, objects: list[Obj] = OBJECTS, now: str | None = NOON) -> list[int]:
    moment = None if now is None else msgspec.convert(now, Timestamp)
    return [one.law for one in verify([*objects, *more], plan, FULL, now=moment)]


def test_beyond_a_cap_it_takes_an_override_that_counts() -> None:
    plan = decide([*OBJECTS, kept(MEMORY)], FULL, NOON)
    assert laws(plan, kept(MEMORY)) == []
    assert laws(plan, kept(MEMORY), now=None) == []
    for other in (
        kept(""),
        kept("{}"),
        kept("[]"),
        kept('{"overrides":[{"group":"default/demo"}]}'),
        changed(group="default/other"),
        changed(asks={b.GPU: 0}),
        changed(reason="two\nlines"),
        changed(by=""),
        changed(until=NOW.replace(year=2027)),
    ):
        assert 14 in laws(plan, other), other
    younger = [*OBJECTS[:-1], asks("demo", created="2026-01-31T12:00:10Z")]
    assert laws(plan, kept(MEMORY), objects=younger) == [14]


def test_when_it_is_over_the_cap_holds_and_it_is_to_be_forgotten() -> None:
    late = "2026-01-31T16:00:00Z"
    plan = decide([*OBJECTS, kept(MEMORY)], FULL, NOON)
    assert laws(plan, kept(MEMORY), now=late) == [14, 14]
    right = decide([*OBJECTS, kept(MEMORY)], FULL, late)
    assert laws(right, kept(MEMORY), now=late) == []
    assert laws({**right, "overrides": None}, kept(MEMORY), now=late) == [14]


@pytest.mark.parametrize("said", [{"overrides": []}, {"overrides": [{"group": "default/other"}]}])
def test_nothing_is_forgotten_that_is_not_over(said: Obj) -> None:
    plan = decide([*OBJECTS, kept(MEMORY)], FULL, NOON)
    assert laws({**plan, "overrides": said}, kept(MEMORY)) == [14]
    assert laws({**decide(OBJECTS, FULL, NOON), "overrides": said}) == [14]
