"""Slow members that are told to leave: the checker finds by itself whether that was right."""

from copy import deepcopy
from datetime import UTC, datetime, timedelta

import pytest

from maitred.verify import verify
from tests.decide.slow import EARLIER, NOW, POLICY, STEPS, a_budget, cluster
from tests.oracle.builders import Obj
from tests.support import decide

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)
KEEP = "maitred.dev/non-preemptible"
HOLD = "maitred.dev/on-failure"


def breaches(objects: list[Obj], plan: Obj, policy: Obj | None = POLICY, at: datetime = AT) -> str:
    return "; ".join(str(one) for one in verify(objects, plan, policy, now=at))


def lawful() -> Obj:
    return decide(cluster(), POLICY, NOW)


def test_what_is_right_is_lawful() -> None:
    assert not breaches(cluster(), lawful())


WRONG: dict[str, tuple[list[Obj], str]] = {
    "nobody is slow": (cluster(steps=("2", "2", "2", "2")), "nothing has failed under it"),
    "another is": (cluster(steps=STEPS[::-1]), "nothing has failed under it"),
    "not saved of late": (cluster(EARLIER), "not the time of a checkpoint"),
    "never saved": (cluster(None), "not the time of a checkpoint"),
    "protected": (cluster(annotations={KEEP: "true"}), f"it is {KEEP}"),
    "asks for something else": (cluster(annotations={HOLD: "hold"}), f"its {HOLD} is hold"),
    "a budget": ([*cluster(), a_budget()], "default/all does not allow that"),
    "nobody makes another": (cluster(owner=None), "no controller would recreate it"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(name: str) -> None:
    objects, words = WRONG[name]
    assert words in breaches(objects, lawful())


def test_without_the_policy_or_at_another_time_it_is_wrong() -> None:
    assert "nothing has failed under it" in breaches(cluster(), lawful(), None)
    late = breaches(cluster(), lawful(), at=AT + timedelta(minutes=2))
    assert "not the time of a checkpoint" in late


def test_its_room_must_be_kept_elsewhere() -> None:
    plan = lawful()
    assert "room for 0 of 1 is kept" in breaches(cluster(), {**plan, "holds": []})
    moved = deepcopy(plan)
    moved["holds"][0]["node"] = "n4"
    assert "kept on n4, where it is" in breaches(cluster(), moved)
