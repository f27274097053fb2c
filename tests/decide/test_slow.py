"""Members that are slow are replaced, if the policy says so: after a checkpoint, where there is room."""

from datetime import datetime

import pytest

from maitred.model.manifest.errors import FieldError
from maitred.model.manifest.settings import check_healing
from maitred.model.policy import Healing, SlowRules
from maitred.verify import verify
from tests.decide.healing import MARK, again
from tests.decide.slow import EARLIER, NOW, POLICY, a_budget, cluster
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.support import decide


def decided(objects: list[Obj], policy: Obj | None = POLICY, now: str = NOW) -> Obj:
    plan = decide(objects, policy, now)
    assert verify(objects, plan, policy, now=datetime.fromisoformat(now)) == []
    return plan


def test_a_slow_member_is_replaced_after_a_checkpoint_and_room_is_kept_elsewhere() -> None:
    plan = decided(cluster())
    [one] = plan["healing"]
    assert (one["rule"], one["family"], one["group"]) == ("replace", "Degradation", "default/train")
    assert [(pod["pod"], pod["delete"]) for pod in one["pods"]] == [("default/train-3", True)]
    assert [(hold["node"], hold["cause"]) for hold in plan["holds"]] == [("n5", "Healing")]
    assert one["heldUntil"] == "2026-01-31T12:10:00Z"
    assert "9.5 s" in one["words"]
    assert "1 pod is deleted" in one["does"]


def test_without_the_field_nothing_is_done() -> None:
    plan = decided(cluster(), None)
    assert (plan["healing"], plan["holds"], plan["memory"], plan["wakeAt"]) == ([], [], None, None)
    waiting = b.pod("other", gpu=8)
    assert decided([*cluster(), waiting], None) == decided([*cluster(steps=("2",) * 4), waiting], None)


@pytest.mark.parametrize("saved", [EARLIER, None])
def test_between_checkpoints_and_without_them_it_stays(saved: str | None) -> None:
    plan = decided(cluster(saved))
    [one] = plan["healing"]
    assert (one["rule"], one["pods"], plan["holds"]) == ("none", [], [])
    assert "checkpoint" in one["does"]
    assert plan["memory"] is None


def test_without_room_elsewhere_it_stays() -> None:
    plan = decided(cluster(nodes=4))
    [one] = plan["healing"]
    assert (one["rule"], plan["holds"], plan["memory"]) == ("none", [], None)
    assert "no room" in one["does"]


@pytest.mark.parametrize("rule", ["none", "hold", "restart", "panic"])
def test_groups_that_ask_for_something_else_are_left_alone(rule: str) -> None:
    plan = decided(cluster(annotations={MARK: rule}))
    assert [(one["rule"], one["pods"]) for one in plan["healing"]] == [("none", [])]


def test_members_that_nobody_recreates_stay() -> None:
    [one] = decided(cluster(owner=None))["healing"]
    assert (one["rule"], "no controller" in one["does"]) == ("none", True)


def test_those_who_wait_go_first() -> None:
    plan = decided([*cluster(), b.pod("other", gpu=8)])
    assert [bind["node"] for bind in plan["binds"]] == ["n5"]
    assert [one["rule"] for one in plan["healing"]] == ["none"]


def test_as_long_as_it_is_there_it_is_told_again_and_its_room_is_kept_against_equals() -> None:
    plan = decided(cluster())
    objects = again([*cluster(), b.pod("other", gpu=8)], plan)
    plan = decided(objects, now="2026-01-31T12:00:05Z")
    assert plan["binds"] == []
    assert [pod["delete"] for pod in plan["healing"][0]["pods"]] == [True]
    assert [hold["node"] for hold in plan["holds"]] == ["n5"]


def test_it_happens_once() -> None:
    plan = decided(cluster())
    objects = again(cluster(saved="2026-01-31T12:30:00Z", steps=("9.5", "2", "2", "2")), plan)
    ended = decided(objects, now="2026-01-31T12:30:10Z")
    later = decided(again(objects, ended), now="2026-01-31T12:30:20Z")
    [one] = later["healing"]
    assert (one["rule"], "replaced for that less than 1d ago" in one["does"]) == ("none", True)


def test_members_whose_budget_does_not_allow_it_stay() -> None:
    [one] = decided([*cluster(), a_budget()])["healing"]
    assert (one["rule"], "PodDisruptionBudget all" in one["does"]) == ("none", True)


def test_protected_gangs_are_left_alone() -> None:
    [one] = decided(cluster(annotations={"maitred.dev/non-preemptible": "true"}))["healing"]
    assert (one["rule"], "non-preemptible" in one["does"]) == ("none", True)


def test_who_is_no_longer_slow_stays() -> None:
    plan = decided(cluster())
    after = decided(again(cluster(steps=("2", "2", "2", "2")), plan), now="2026-01-31T12:00:05Z")
    assert (after["healing"], after["holds"]) == ([], [])
    assert [one["isWhole"] for one in after["memory"]["incidents"]] == [True]


def test_no_node_is_blamed() -> None:
    assert decided(cluster())["memory"]["scores"] == []


@pytest.mark.parametrize("words", ["quite fast", "-1", "1e9", "99999999999", "", "nan"])
def test_what_is_no_number_counts_for_nothing(words: str) -> None:
    plan = decided(cluster(steps=("2.0", "2.0", "2.0", words)))
    assert (plan["healing"], plan["memory"]) == ([], None)


@pytest.mark.parametrize("said", ["soon", "0s", "-1h", ""])
def test_a_time_that_cannot_be_read_is_refused(said: str) -> None:
    with pytest.raises(FieldError) as caught:
        check_healing(Healing(slow=SlowRules(again=said)), ())
    assert caught.value.field == "healing.slow.again"
