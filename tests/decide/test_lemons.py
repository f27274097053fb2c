"""When a node is a lemon, which lemons are tainted, and what is put onto them."""

import pytest

from tests.decide.healing import train
from tests.decide.lemons import DAY, TAINT, TAINTED, Story, at, fleet, memory, score, with_lost
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import decide


def failing(story: Story, *names: str, days: float = 0.0) -> Obj:
    """Nodes that are lost, and come back half an hour later."""
    start = days * DAY
    story.goes_on(with_lost(fleet(), *names, since=at(start - 5)), at(start))
    return story.goes_on(fleet(), at(start + 30))


def tainted(names: tuple[str, ...], nodes: list[Obj]) -> list[Obj]:
    for node in nodes:
        if node["metadata"]["name"] in names:
            node["spec"]["taints"] = [{"key": TAINT, "effect": "NoSchedule"}]
    return nodes


# -- what is a lemon -----------------------------------------------------------------------------------


def test_a_node_that_fails_twice_within_a_week_is_a_lemon() -> None:
    story = Story()
    failing(story, "n00")
    assert story.of("n00")["lemonSince"] is None
    failing(story, "n00", days=5)
    assert story.of("n00")["lemonSince"] == at(5 * DAY)
    assert story.plan["taints"] == []


def test_a_node_that_fails_every_two_weeks_is_none() -> None:
    story = Story()
    for days in (0, 14, 28):
        failing(story, "n00", days=days)
    assert story.of("n00")["lemonSince"] is None


def test_a_lemon_is_released_after_a_good_run_and_time_alone_does_it() -> None:
    story = Story()
    failing(story, "n00")
    plan = failing(story, "n00", days=1)
    assert plan["wakeAt"] == at(4 * DAY)
    story.goes_on(fleet(), at(4 * DAY - 1))
    assert story.of("n00")["lemonSince"] is not None
    story.goes_on(fleet(), plan["wakeAt"])
    assert story.of("n00")["lemonSince"] is None
    writes = story.writes
    story.goes_on(fleet(), at(4 * DAY + 10))
    assert story.writes == writes


def test_a_lemon_that_is_broken_still_is_not_released_by_time() -> None:
    story = Story()
    failing(story, "n00")
    nodes = with_lost(fleet(), "n00", since=at(DAY - 5))
    story.goes_on(nodes, at(DAY))
    story.goes_on(nodes, at(5 * DAY))
    assert story.of("n00")["lemonSince"] is not None


# -- taints --------------------------------------------------------------------------------------------


def test_a_lemon_is_tainted_with_its_evidence_if_the_policy_says_so() -> None:
    story = Story(TAINTED)
    failing(story, "n00")
    story.goes_on(with_lost(fleet(), "n00", since=at(DAY - 5)), at(DAY))
    [one] = story.plan["taints"]
    assert (one["node"], one["key"], one["value"], one["add"]) == ("n00", TAINT, "NotReady", True)
    assert one["words"].startswith("it fails more often than others (score 1.91): ")
    assert one["words"].count("does not answer") == 2
    assert story.of("n00")["tainted"]


def test_a_taint_that_is_there_is_not_added_again_and_one_that_is_missing_is() -> None:
    story = Story(TAINTED)
    failing(story, "n00")
    failing(story, "n00", days=1)
    writes = story.writes
    assert story.goes_on(tainted(("n00",), fleet()), at(DAY + 40))["taints"] == []
    assert [one["add"] for one in story.goes_on(fleet(), at(DAY + 41))["taints"]] == [True]
    assert story.writes == writes


def test_a_released_lemon_loses_its_taint() -> None:
    story = Story(TAINTED)
    failing(story, "n00")
    failing(story, "n00", days=1)
    marked = tainted(("n00",), fleet())
    [one] = story.goes_on(marked, at(4 * DAY + 1))["taints"]
    assert (one["node"], one["add"]) == ("n00", False)
    assert one["words"] == f"it has not failed since {at(DAY)}"
    assert story.goes_on(marked, at(4 * DAY + 2))["taints"] == [one]
    assert story.goes_on(fleet(), at(4 * DAY + 3))["taints"] == []
    assert not story.of("n00")["tainted"]


def test_the_policy_may_be_changed_back() -> None:
    story = Story(TAINTED)
    failing(story, "n00")
    failing(story, "n00", days=1)
    story.policy = None
    [one] = story.goes_on(tainted(("n00",), fleet()), at(DAY + 40))["taints"]
    assert (one["add"], one["words"]) == (False, "the policy does not taint lemons")


def test_of_ten_nodes_one_is_tainted_and_the_worst_first() -> None:
    lemons = [score(f"n{i:02}", 2.0 + i, lemonSince=at(-10)) for i in range(5)]
    plan = decide([*fleet(20), memory(*lemons)], TAINTED, at(1))
    assert [one["node"] for one in plan["taints"]] == ["n03", "n04"]
    assert decide([*fleet(9), memory(*lemons)], TAINTED, at(1))["taints"] == []


def test_so_many_of_each_domain() -> None:
    nodes = fleet(20)
    for number, node in enumerate(nodes):
        node["metadata"]["labels"]["rack"] = f"r{number % 2}"
    lemons = [score(f"n{i:02}", 2.0 + i, lemonSince=at(-10)) for i in range(5)]
    limits = {"taint": True, "level": "rack", "perDomain": 1}
    plan = decide([*nodes, memory(*lemons)], {"healing": {"lemons": limits}}, at(1))
    assert [one["node"] for one in plan["taints"]] == ["n03", "n04"]
    limits["perDomain"] = 0
    assert decide([*nodes, memory(*lemons)], {"healing": {"lemons": limits}}, at(1))["taints"] == []


def test_who_is_tainted_stays_so_when_a_worse_one_comes() -> None:
    first = score("n00", 2.0, lemonSince=at(-10), tainted=True)
    worse = score("n01", 9.0, lemonSince=at(-10))
    plan = decide([*tainted(("n00",), fleet(10)), memory(first, worse)], TAINTED, at(1))
    assert plan["taints"] == []


def test_a_taint_that_nothing_is_remembered_of_goes_after_a_good_run() -> None:
    story = Story(TAINTED)
    marked = tainted(("n00",), fleet())
    assert story.goes_on(marked, at(0))["taints"] == []
    assert [one["add"] for one in story.goes_on(marked, at(3 * DAY + 1))["taints"]] == [False]
    assert decide(marked)["taints"] == []  # where the policy taints no lemons, whoever did it had a reason


def test_the_taint_counts_as_one_of_health() -> None:
    marked = tainted(("n00", "n01"), fleet(2))
    plan = decide([*marked, b.pod("p", gpu=8)])
    [group] = plan["groups"]
    assert (group["verdict"], group["blockers"][0]["category"]) == ("Waiting", "Health")
    assert "n00 (lemon)" in group["blockers"][0]["message"]


# -- avoided -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("quorum", [1, 3])
def test_of_equal_nodes_those_that_have_failed_come_last(quorum: int) -> None:
    objects = [*fleet(4), *train(*[""] * quorum, quorum=quorum)]
    before = {bind["node"] for bind in decide(objects)["binds"]}
    assert before == {f"n{i:02}" for i in range(quorum)}
    worn = memory(score("n00", 0.5), score("n01", 0.25, lemonSince=None))
    after = {bind["node"] for bind in decide([*objects, worn])["binds"]}
    assert after == ({"n02"} if quorum == 1 else {"n01", "n02", "n03"})


def test_an_older_failure_is_better_than_a_new_one_of_the_same_weight() -> None:
    scores = memory(score("n00", 1.0, at(0)), score("n01", 1.0, at(-60)), score("n02", 1.5, at(-20 * 60)))
    plan = decide([*fleet(3), b.pod("p", gpu=8), scores])
    assert plan["binds"][0]["node"] == "n01"


def test_a_lemon_comes_after_all_others_even_if_it_costs_a_rack() -> None:
    nodes = [b.node(f"n{i}", gpu=8, rack=f"r{i // 2}") for i in range(4)]
    policy = {"topology": {"levels": [{"name": "rack", "key": "rack"}]}}
    worn = memory(score("n1", 1.6, lemonSince=at(0)))
    plan = decide([*nodes, *train("", "", "", quorum=3), worn], policy)
    assert {bind["node"] for bind in plan["binds"]} == {"n0", "n2", "n3"}
    plan = decide([*nodes, *train("", "", quorum=2), worn], policy)
    assert {bind["node"] for bind in plan["binds"]} == {"n2", "n3"}


def test_packing_goes_before_how_often_a_node_has_failed() -> None:
    nodes = [b.node("n0", gpu=8), b.node("n1", gpu=8), b.pod("there", gpu=4, node="n0")]
    plan = decide([*nodes, b.pod("p", gpu=4), memory(score("n0", 3.0, lemonSince=at(0)))])
    assert plan["binds"][0]["node"] == "n0"


def test_a_group_does_not_go_back_to_where_a_member_was_refused() -> None:
    members = train("n01", "n02", "", "", quorum=3)
    refused = b.pod("train-2", gpu=8, group="train", index=2, node="n00", owner="Job/train", phase="Failed")
    refused["status"].update(reason="UnexpectedAdmissionError", startTime=at(-1))
    refused["metadata"]["name"] = "train-2-before"
    objects = [*fleet(5), *members, refused]
    story = Story()
    assert [bind["node"] for bind in story.goes_on(objects, at(0))["binds"]] == ["n03", "n04"]
    narrow = [*fleet(4), *members, refused]
    story = Story()
    assert [bind["node"] for bind in story.goes_on(narrow, at(0))["binds"]] == ["n03", "n00"]
