"""The catalogue: what is wrong is named, with the right number, and what is offered helps."""

from collections import Counter

import pytest

from maitred.verify import verify
from tests.catalogue.chapters import PAIRS, SINGLES
from tests.catalogue.page import PAGE, page, told
from tests.catalogue.situation import CREW, Situation
from tests.explain.applying import applied
from tests.oracle.builders import Obj
from tests.support import decide

SINGLE = [situation for chapter in SINGLES for situation in chapter.situations]
PAIR = [situation for chapter in PAIRS for situation in chapter.situations]


def check(situation: Situation, entry: Obj) -> None:
    """The verdict, the categories that are blamed and no others, and their numbers."""
    found = {blocker["category"]: blocker for blocker in entry["blockers"]}
    assert list(found) == situation.categories
    assert entry["verdict"] == situation.verdict
    for category, numbers in situation.says.items():
        assert {name: found[category]["detail"].get(name) for name in numbers} == numbers


def carry_out(situation: Situation, entry: Obj) -> None:
    """Each remedy gets the group scheduled."""
    for remedy in entry["remedies"]:
        changed = applied(situation.objects, CREW, remedy["detail"])
        (after,) = (one for one in decide(changed, situation.policy)["groups"] if one["group"] == CREW)
        assert after["verdict"] == "Scheduled", remedy["change"]


@pytest.mark.parametrize("situation", SINGLE, ids=str)
def test_one_thing_is_wrong(situation: Situation) -> None:
    entry = told(situation)
    check(situation, entry)
    kinds = [remedy["detail"]["kind"] for remedy in entry["remedies"]]
    assert situation.remedy in kinds if situation.remedy else not kinds
    carry_out(situation, entry)


@pytest.mark.parametrize("situation", PAIR, ids=str)
def test_two_things_are_wrong(situation: Situation) -> None:
    assert len(situation.says) == 2
    entry = told(situation)
    check(situation, entry)
    carry_out(situation, entry)


@pytest.mark.parametrize("situation", [*SINGLE, *PAIR], ids=str)
def test_the_plan_keeps_the_laws(situation: Situation) -> None:
    """The checker, which shares no code with the engine, agrees with the blockers and their numbers."""
    plan = decide(situation.objects, situation.policy)
    assert verify(situation.objects, plan, situation.policy) == []


def test_there_are_enough_of_them() -> None:
    assert len(SINGLE) >= 126
    assert len(PAIR) >= 50
    titles = Counter(situation.title for situation in (*SINGLE, *PAIR))
    assert max(titles.values()) == 1


def test_the_page_shows_what_is_said() -> None:
    assert PAGE.read_text() == page(), "refresh it: python -m tests.catalogue.page"
