"""Places that were promised: kept for whoever they were promised to, and taken by no equal.

Each of these once went wrong, or nearly did; the properties of law 6 find them again by chance only.
"""

from datetime import datetime
from typing import Any

from maitred.verify import verify
from tests.oracle.builders import HOSTNAME, Obj, near, node, pod, pod_group
from tests.support import NOON, decide

BUDGET = {
    "apiVersion": "policy/v1",
    "kind": "PodDisruptionBudget",
    "metadata": {"namespace": "default", "name": "web"},
    "spec": {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 1},
    "status": {"disruptionsAllowed": 1},
}


def waiting(name: str, cpu: int, priority: int, promised: str = "", **more: Any) -> Obj:
    made = pod(name, cpu, priority=priority, **more)
    if promised:
        made["status"]["nominatedNodeName"] = promised
    return made


def leaving(name: str, cpu: int, at: str) -> Obj:
    return pod(name, cpu, node=at, priority=0, deleted=True)


def binds(plan: Obj) -> dict[str, str]:
    return {bind["pod"].removeprefix("default/"): bind["node"] for bind in plan["binds"]}


def promises(plan: Obj) -> dict[str, str]:
    return {bind["pod"].removeprefix("default/"): bind["node"] for bind in plan["nominations"]}


def test_a_group_is_bound_where_it_was_promised_to_be() -> None:
    """n0 would be the tighter fit for a, but b was promised it and fits nowhere else."""
    b = waiting("b", 2, 1, "n0", where={HOSTNAME: "n0"})
    plan = decide([node("n0", 2), node("n2", 3), waiting("a", 2, 5, "n2"), b])
    assert binds(plan) == {"a": "n2", "b": "n0"}


def test_a_group_is_bound_elsewhere_if_it_can_be_and_its_place_is_not_free_yet() -> None:
    plan = decide([node("n0", 2), node("n1", 2), leaving("old", 2, "n0"), waiting("a", 2, 5, "n0")])
    assert binds(plan) == {"a": "n1"}


def test_promises_stay_as_they_are_while_victims_leave() -> None:
    """Both members would fit on n1, too."""
    members = [
        waiting("g-0", 1, 5, "n0", group="g", index=0),
        waiting("g-1", 1, 5, "n1", group="g", index=1),
    ]
    old = [leaving("old-0", 1, "n0"), leaving("old-1", 2, "n1")]
    plan = decide([node("n0", 1), node("n1", 2), *old, pod_group("g", 2), *members])
    assert promises(plan) == {"g-0": "n0", "g-1": "n1"}
    assert plan["evictions"] == []


def test_promises_of_different_members_stay_as_they_are_while_victims_leave() -> None:
    members = [
        waiting("g-0", 2, 5, "n1", group="g", index=0),
        waiting("g-1", 1, 5, "n0", group="g", index=1),
    ]
    old = [leaving("old-0", 1, "n0"), leaving("old-1", 3, "n1")]
    plan = decide([node("n0", 1), node("n1", 3), *old, pod_group("g", 2), *members])
    assert promises(plan) == {"g-0": "n1", "g-1": "n0"}


def test_who_waits_for_its_place_takes_no_place_of_an_equal() -> None:
    """n1 is free already, but b was promised it; a has to wait until n0 is."""
    a, b = waiting("a", 2, 5, "n0", created=0), waiting("b", 2, 5, "n1", created=10)
    plan = decide([node("n0", 2), node("n1", 2), leaving("old", 2, "n0"), a, b])
    assert (binds(plan), promises(plan)) == ({"b": "n1"}, {"a": "n0"})


def test_who_waits_for_its_place_may_take_that_of_a_lesser_group() -> None:
    """A promise holds against equals and lesser groups, and not against those who rank higher."""
    a, b = waiting("a", 1, 5, "n0"), waiting("b", 2, 1, "n1", where={HOSTNAME: "n1"})
    plan = decide([node("n0", 1), node("n1", 2), leaving("old", 1, "n0"), a, b])
    assert (binds(plan), promises(plan)) == ({"a": "n1"}, {})


def test_who_ranks_higher_leaves_what_was_promised_where_it_can_sit_elsewhere() -> None:
    """n0 would be the tighter fit for a. Others have left it for b, and would have left in vain."""
    a, b = waiting("a", 2, 5), waiting("b", 2, 1, "n0", where={HOSTNAME: "n0"})
    plan = decide([node("n0", 2), node("n1", 3), a, b])
    assert binds(plan) == {"a": "n1", "b": "n0"}


def test_surplus_of_a_higher_rank_leaves_nobody_behind_for_a_promise() -> None:
    """Of the two, one would find a place elsewhere; but then the other had none."""
    late = [waiting(f"g-{i}", 2, 9, group="g", index=i) for i in (1, 2)]
    gang = [pod_group("g", 1, priority=9), pod("g-0", 1, node="n2", group="g", priority=9), *late]
    b = waiting("b", 2, 1, "n0", where={HOSTNAME: "n0"})
    plan = decide([node("n0", 2), node("n1", 3), node("n2", 1), *gang, b])
    assert set(binds(plan)) == {"g-1", "g-2"}


def test_of_two_that_were_promised_one_place_the_older_has_it() -> None:
    a, b = waiting("a", 2, 5, "n0", created=10), waiting("b", 2, 5, "n0", created=0)
    plan = decide([node("n0", 2), leaving("old", 2, "n0"), a, b])
    assert (binds(plan), promises(plan)) == ({}, {"b": "n0"})


def test_nobody_leaves_for_room_that_others_would_take() -> None:
    """The late member ranks higher and makes nobody leave, but would sit where the lesser one has left."""
    gang = [pod_group("g", 1, priority=9), pod("g-0", 1, node="n1", group="g", priority=9)]
    late = waiting("g-1", 1, 9, group="g", where={HOSTNAME: "n0"})
    old, a = pod("old", 1, node="n0", priority=0), waiting("a", 1, 5)
    plan = decide([node("n0", 1), node("n1", 1), *gang, late, old, a])
    assert (plan["evictions"], promises(plan)) == ([], {})


def test_who_lost_its_node_takes_no_place_of_an_equal() -> None:
    """a is older, but the node it was promised is gone; b was promised the only one that is being emptied."""
    a, b = waiting("a", 2, 5, "gone", created=0), waiting("b", 2, 5, "n0", created=10)
    plan = decide([node("n0", 2), leaving("old", 2, "n0"), a, b])
    assert promises(plan) == {"b": "n0"}


def test_who_lost_its_node_and_ranks_higher_takes_what_it_needs() -> None:
    a, b = waiting("a", 2, 6, "gone"), waiting("b", 2, 5, "n0")
    plan = decide([node("n0", 2), leaving("old", 2, "n0"), a, b])
    assert promises(plan) == {"a": "n0"}


def test_a_budget_is_used_up_by_the_victims_of_those_who_came_before() -> None:
    """Two groups take a pod each, and the budget allows one: the second violates it."""
    nodes = [node(f"n{i}", 1) for i in range(2)]
    old = [pod(f"old-{i}", 1, node=f"n{i}", priority=0, labels={"app": "web"}) for i in range(2)]
    plan = decide([*nodes, *old, BUDGET, waiting("a", 1, 9), waiting("b", 1, 5)])
    by_group = {eviction["for"]: eviction["receipt"] for eviction in plan["evictions"]}
    assert [by_group[f"default/{name}"]["toll"]["violations"] for name in "ab"] == [0, 1]
    assert by_group["default/b"]["budgets"] == ["default/web"]


def test_a_second_group_prefers_victims_that_no_budget_counts_any_more() -> None:
    """The first took what the budget allows, so the dearer pod without a budget is the better victim."""
    nodes = [node(f"n{i}", 1) for i in range(3)]
    old = [pod(f"old-{i}", 1, node=f"n{i}", priority=0, labels={"app": "web"}) for i in range(2)]
    dear = pod("dear", 1, node="n2", priority=1)
    plan = decide([*nodes, *old, dear, BUDGET, waiting("a", 1, 9), waiting("b", 1, 5)])
    victims = {eviction["for"]: eviction["pod"] for eviction in plan["evictions"]}
    assert victims["default/b"] == "default/dear"


def test_places_that_a_second_try_was_promised_stay_held_in_the_next_round() -> None:
    """Each needs the company of one who comes after it, so all but b are tried again: a, which is promised
    the room that old leaves, then d in vain, then c. Now d has company, and would fit where a is to sit."""
    nodes = [node("n1", 2, zone="z"), node("n2", 2, zone="z")]
    a = waiting("a", 2, 10, affinity=[near("zone", {"app": "b"})])
    b = waiting("b", 1, 1, labels={"app": "b"}, created=2, where={HOSTNAME: "n2"})
    c = waiting("c", 1, 1, labels={"app": "c"}, created=1, affinity=[near("zone", {"app": "b"})])
    d = waiting("d", 1, 5, affinity=[near("zone", {"app": "c"})])
    plan = decide([*nodes, leaving("old", 1, "n1"), a, b, c, d])
    assert binds(plan) == {"b": "n2", "c": "n2"}
    assert promises(plan) == {"a": "n1"}


def test_what_victims_on_other_nodes_leave_is_room_for_whoever_comes_next() -> None:
    """One place on n2 is held for a. Then b takes the place of a band on n1, whose other member leaves n2, so
    that nobody need stay off the two that are free there."""
    a = [waiting(f"a-{at}", 1, 9, at, group="a", where={HOSTNAME: at}) for at in ("n2", "n3")]
    b = waiting("b", 1, 5, where={HOSTNAME: "n1"}, created=1)
    c = [waiting(f"c-{i}", 1, 5, group="c", where={HOSTNAME: "n2"}, created=2) for i in range(2)]
    band = [
        pod_group("band", 2, disruption="all"),
        pod("band-0", 1, node="n1", priority=0, group="band"),
        pod("band-1", 2, node="n2", priority=0, group="band"),
    ]
    nodes = [node("n1", 1), node("n2", 4), node("n3", 1), leaving("old", 1, "n3")]
    plan = decide([*nodes, *band, pod_group("a", 2), *a, b, pod_group("c", 2), *c])
    assert promises(plan) == {"a-n2": "n2", "a-n3": "n3", "b": "n1"}
    assert binds(plan) == {"c-0": "n2", "c-1": "n2"}


def test_a_second_try_takes_nobody_whose_group_was_seated_in_between() -> None:
    """Only its second try finds the company of b. A gang could leave n1 for a then, but its third member has
    been bound in the same cycle, and would be alone. That e makes old leave is why a is looked at anew."""
    nodes = [node("n1", 2, zone="z"), node("n2", 1, zone="z"), node("n3", 1), node("n4", 1)]
    a = waiting("a", 2, 10, affinity=[near("zone", {"app": "b"})])
    b = waiting("b", 1, 1, labels={"app": "b"}, where={HOSTNAME: "n2"})
    runs = [pod(f"g-{i}", 1, node="n1", priority=1, group="g") for i in range(2)]
    late = waiting("g-2", 1, 1, group="g", where={HOSTNAME: "n3"})
    e = [waiting("e", 1, 5, where={HOSTNAME: "n4"}), pod("old", 1, node="n4", priority=0)]
    objects = [*nodes, a, b, pod_group("g", 2), *runs, late, *e]
    plan = decide(objects)
    assert binds(plan) == {"b": "n2", "g-2": "n3"}
    assert [one["pod"] for one in plan["evictions"]] == ["default/old"]
    assert verify(objects, plan, now=datetime.fromisoformat(NOON)) == []


def test_places_are_promised_in_the_cycle_that_seats_the_company() -> None:
    """p ranks higher than its company x, so its turn comes first, and then no place would do."""
    p = waiting("p", 2, 10, affinity=[near("hostname", {"app": "x"})])
    x = waiting("x", 1, 5, labels={"app": "x"})
    victim = pod("old", 2, node="n1", priority=0)
    plan = decide([node("n1", 4), victim, p, x])
    assert (binds(plan), promises(plan)) == ({"x": "n1"}, {"p": "n1"})
    assert [gone["pod"] for gone in plan["evictions"]] == ["default/old"]
