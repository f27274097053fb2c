"""The one store of what was last said of groups."""

from maitred.controllers.scheduling.last_verdicts import LastVerdicts, first_category
from maitred.model.categories import Category
from maitred.model.plan import Blocker, GroupVerdict


def waiting(group: str, category: Category) -> GroupVerdict:
    return GroupVerdict(group, "Waiting", 1, 1, 0, {}, (Blocker(category, "x"),), ())


def test_the_last_verdict_of_who_waits_is_kept_and_the_one_before_it_told() -> None:
    groups = {"a": 1, "b": 1}
    verdicts = LastVerdicts(groups)
    verdicts.note([waiting("a", "Members"), waiting("b", "Capacity")])
    assert (verdicts.before("a"), verdicts.before("b")) == (None, None)
    verdicts.note([waiting("a", "Topology")])
    before = verdicts.before("a")
    assert before is not None
    assert first_category(before) == "Members"
    assert {one.group: first_category(one) for one in verdicts} == {"a": "Topology", "b": "Capacity"}


def test_one_that_waits_no_more_is_forgotten_so_that_its_namesake_is_new() -> None:
    groups = {"a": 1}
    verdicts = LastVerdicts(groups)
    verdicts.note([waiting("a", "Capacity")])
    del groups["a"]
    verdicts.note([])
    assert list(verdicts) == []
    groups["a"] = 1
    verdicts.note([waiting("a", "Capacity")])
    assert verdicts.before("a") is None


def test_that_a_group_is_scheduled_is_told_when_it_has_its_places_and_kept_until_then() -> None:
    groups = {"a": 1}
    verdicts = LastVerdicts(groups)
    scheduled = GroupVerdict("a", "Scheduled", 1, 1, 1)
    verdicts.note([scheduled])
    assert verdicts.to_tell("a") is None  # it is on its way: the binds may yet be refused
    verdicts.scheduled(scheduled)
    del groups["a"]
    verdicts.note([])
    assert (verdicts.to_tell("a"), list(verdicts)) == (scheduled, [])
    verdicts.told("a")
    assert verdicts.to_tell("a") is None


def test_a_later_verdict_is_told_instead() -> None:
    verdicts = LastVerdicts({"a": 1})
    verdicts.scheduled(GroupVerdict("a", "Scheduled", 1, 1, 1))
    verdicts.note([waiting("a", "Capacity")])
    assert verdicts.to_tell("a") == waiting("a", "Capacity")
