"""Preemption carried out: in which order, on what is still true, and with what is believed meanwhile."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from maitred.controllers.scheduling import evicting
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.outcomes import RefusalReason, Refused, Unknown
from maitred.model.plan import GroupVerdict, Plan
from maitred.model.suspension import parse_suspension
from tests.controllers.making_room import (
    ALL,
    CLEARED,
    FORBIDDEN,
    GANG,
    JOB_LEAVES,
    NOTHING,
    PROMISED,
    SEATS,
    TAKEN,
    House,
    Outcome,
)
from tests.controllers.victims import eviction, preempting, seat
from tests.controllers.watched import watched_group, watched_pod
from tests.oracle.builders import gang


@pytest.fixture
def house() -> Iterator[House]:
    with asyncio.Runner() as runner:
        yield House(runner)


def test_all_are_nominated_before_anyone_is_marked_and_each_is_marked_before_it_goes(
    house: House,
) -> None:
    written = house.carry_out(ALL)
    assert sorted(written[:2]) == ["nominate a to n1", "nominate b to n2"]
    assert sorted(written[2:]) == [f"{what} {name}" for what in ("delete", "mark") for name in "xyz"]
    for name in "xyz":
        assert written.index(f"mark {name}") < written.index(f"delete {name}")
    assert house.record.said[0].startswith("evicted for default/g (priority 100 > 10): ")
    [order] = house.finished
    assert {e.pod for e in order.departed} == {"default/x", "default/y", "default/z"}
    assert order.failures == []


def test_it_is_believed_from_the_order_on(house: House) -> None:
    house.evicter.decided(ALL, NOTHING, 0.0)
    assert house.leaving == {"x", "y", "z"}
    assert house.promised == PROMISED
    assert house.mirror.overlay.promised("default/g") == PROMISED


def test_late_news_of_before_the_writes_change_nothing(house: House) -> None:
    house.carry_out(ALL)
    house.mirror.put_pod(house.victim("x", "n1"))
    house.mirror.put_pod(watched_pod("a", cpu=2, annotations=GANG, labels={"touched": "yes"}))
    assert house.leaving == {"x", "y", "z"}
    assert house.promised == PROMISED


def test_the_same_plan_again_orders_nothing(house: House) -> None:
    house.carry_out(ALL)
    house.record.written.clear()
    assert house.carry_out(preempting(seats=SEATS)) == []


def test_a_job_all_of_whose_pods_leave_is_suspended_once_and_says_why(house: House) -> None:
    house.put_job()
    written = house.carry_out(preempting(*(eviction(name, job="train") for name in "xyz"), seats=SEATS))
    assert sorted(written[2:5]) == ["mark x", "mark y", "mark z"]
    assert written[5:] == ["record", "suspend train"]
    record = parse_suspension(house.record.said[-2])
    assert record is not None
    assert (record.preemptor, record.members, record.group) == ("default/g", 3, "default/train")
    assert (record.key, record.uid, record.by) == ("default/train", "job-train", "maitred")
    assert house.record.said[-1] == record.line


@pytest.mark.parametrize(
    ("membership", "name"),
    [({"group": "train"}, "train"), ({"annotations": gang("train", 1)}, "")],
    ids=["of the PodGroup", "of a group of that name that marks make"],
)
def test_the_record_names_the_pod_group_that_the_pods_are_in_and_no_other_of_that_name(
    house: House, membership: dict[str, Any], name: str
) -> None:
    house.put_job()
    house.mirror.put_group(watched_group("train", 1))
    for pod, where in (("x", "n1"), ("y", "n1"), ("z", "n2")):
        house.mirror.put_pod(house.victim(pod, where, **membership))
    leaves = (eviction(pod, job="train", group="default/train") for pod in "xyz")
    house.carry_out(preempting(*leaves, seats=SEATS))
    record = parse_suspension(house.record.said[-2])
    assert record is not None
    assert (record.group, record.pod_group) == ("default/train", name)


def test_a_job_that_its_user_has_suspended_meanwhile_is_not_ours_to_resume(house: House) -> None:
    house.put_job()
    house.record.answers = {"suspend train": [TAKEN]}
    assert house.carry_out(JOB_LEAVES)[5:] == ["record", "suspend train", "forget"]
    assert house.leaving == {"x", "y", "z"}


def test_a_suspension_whose_answer_was_lost_is_ours_all_the_same(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evicting, "SECONDS_BETWEEN_LOOKS", 0.0)
    house.put_job()
    house.record.answers = {"suspend train": [Unknown("no answer"), TAKEN]}
    assert house.carry_out(JOB_LEAVES)[5:] == ["record", "suspend train"] * 2


def test_an_earlier_record_gives_way(house: House) -> None:
    house.put_job()
    house.record.answers = {"record": [Refused(RefusalReason.TAKEN, "there is one")]}
    assert house.carry_out(JOB_LEAVES)[5:] == ["record", "forget", "record", "suspend train"]


def test_nothing_is_suspended_without_a_record(house: House) -> None:
    house.put_job()
    house.record.answers = {"record": [FORBIDDEN]}
    assert house.carry_out(JOB_LEAVES)[5:] == ["record"]
    assert house.leaving == set()


def test_nothing_is_begun_where_the_owner_to_be_suspended_is_not_there_any_more(house: House) -> None:
    assert house.carry_out(JOB_LEAVES) == []
    assert (house.leaving, house.promised) == (set(), {})


def test_a_victim_that_has_gone_since_is_decided_again(house: House) -> None:
    house.mirror.pod_gone("default/z")
    assert house.carry_out(ALL) == []
    assert house.begun == [False]
    assert house.leaving == set()
    assert house.promised == {}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda m: m.pod_gone("default/b"), id="gone"),
        pytest.param(lambda m: m.put_pod(watched_pod("b", cpu=2, annotations=GANG, node="n2")), id="bound"),
        pytest.param(lambda m: m.overlay.assume("default/b", "default-b", "n2"), id="being bound"),
    ],
)
def test_a_member_that_needs_no_place_any_more_evicts_nobody(
    house: House, change: Callable[[Mirror], object]
) -> None:
    change(house.mirror)
    assert house.carry_out(ALL) == []
    assert house.begun == [False]
    assert house.leaving == set()
    assert house.promised == {}


def test_another_pod_of_the_name_is_no_victim(house: House) -> None:
    another = house.victim("z", "n2")
    meta = msgspec.structs.replace(another.metadata, uid="other")
    house.mirror.put_pod(msgspec.structs.replace(another, metadata=meta))
    assert house.carry_out(ALL) == []
    assert house.leaving == set()


def test_a_stale_order_does_not_undo_an_earlier_one(house: House) -> None:
    house.evicter.decided(preempting(eviction("x"), seats=SEATS), NOTHING, 0.0)
    house.evicter.decided(ALL, NOTHING, 0.0)
    assert house.begun == [True, False]
    assert house.leaving == {"x"}


# -- things go wrong ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [FORBIDDEN, Unknown("lost"), Refused(RefusalReason.GONE, "gone")])
def test_nobody_is_told_to_go_for_a_nomination_that_was_not_written(house: House, answer: Outcome) -> None:
    house.record.answers = {"nominate b to n2": [answer]}
    assert sorted(house.carry_out(ALL)) == ["nominate a to n1", "nominate b to n2"]
    [order] = house.finished
    assert "nomination of default/b to n2" in order.failures[0]
    assert house.leaving == set()
    assert house.promised == {"default/a": "n1"}  # that one was


def test_nobody_goes_who_could_not_be_told_why(house: House) -> None:
    house.record.answers = {"mark x": [FORBIDDEN]}
    plan = preempting(eviction("x", group="default/v"), eviction("y", group="default/v"), seats=SEATS)
    assert "delete" not in " ".join(house.carry_out(plan))
    assert house.leaving == set()
    assert house.finished[0].failures == ["condition of default/x: Forbidden: no"]


def test_who_was_not_removed_stays_and_who_was_leaves(house: House) -> None:
    house.record.answers = {"delete y": [FORBIDDEN]}
    plan = preempting(eviction("x", group="default/v"), eviction("y", group="default/v"), seats=SEATS)
    house.carry_out(plan)
    assert house.leaving == {"x"}
    [order] = house.finished
    assert [e.pod for e in order.departed] == ["default/x"]
    assert order.failures == ["deletion of default/y: Forbidden: no"]


def test_a_victim_that_vanishes_while_it_is_marked_has_gone(house: House) -> None:
    house.record.answers = {"mark x": [Refused(RefusalReason.GONE, "gone")]}
    house.carry_out(preempting(eviction("x"), seats=SEATS))
    assert house.finished[0].failures == []


def test_a_removal_whose_outcome_is_unknown_is_looked_at_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evicting, "SECONDS_BETWEEN_LOOKS", 0.0)
    house.record.answers = {"delete x": [Unknown("lost"), Unknown("lost")]}
    written = house.carry_out(preempting(eviction("x"), seats=SEATS))
    assert written.count("delete x") == 3
    assert house.leaving == {"x"}
    assert len(house.finished[0].departed) == 1


def test_a_group_that_is_gone_in_between_evicts_nobody_more(house: House) -> None:
    def vanish() -> None:
        for name in ("a", "b"):
            house.mirror.pod_gone(f"default/{name}")

    house.record.meanwhile = {"mark x": vanish}
    written = house.carry_out(preempting(eviction("x"), seats=SEATS))
    assert written[-1] == "mark x"
    assert house.leaving == set()
    assert house.finished[0].failures == []


def test_a_group_that_is_seated_elsewhere_in_between_evicts_nobody_more(house: House) -> None:
    house.record.meanwhile = {"mark x": lambda: house.mirror.overlay.assume("default/a", "default-a", "n2")}
    assert house.carry_out(preempting(eviction("x"), seats=SEATS))[-1] == "mark x"


# -- what is no longer held --------------------------------------------------------------------------------


def waiting(*seats: str) -> Plan:
    verdict = GroupVerdict("default/g", "Waiting", 2, 2, 0)
    return Plan(groups=(verdict,), binds=tuple(seat(name, "n1") for name in seats))


def test_a_promise_that_no_longer_holds_is_taken_back(house: House) -> None:
    for name, where in (("a", "n1"), ("b", "n2")):
        pod = watched_pod(name, cpu=2, annotations=GANG)
        status = msgspec.structs.replace(pod.status, nominated_node_name=where)
        house.mirror.put_pod(msgspec.structs.replace(pod, status=status))
    assert house.promised == PROMISED
    assert sorted(house.carry_out(waiting())) == CLEARED
    assert house.promised == {}
    house.mirror.put_pod(watched_pod("a", cpu=2, annotations=GANG))
    house.mirror.put_pod(watched_pod("b", cpu=2, annotations=GANG))
    house.record.written.clear()
    assert house.carry_out(waiting()) == []


def test_a_promise_is_not_taken_back_from_a_pod_that_is_being_bound(house: House) -> None:
    house.carry_out(preempting(seats=SEATS))
    house.record.written.clear()
    assert house.carry_out(waiting("a", "b")) == []
    assert house.carry_out(waiting("a")) == ["nominate b to none"]


def test_a_group_that_is_not_decided_keeps_its_promises(house: House) -> None:
    house.carry_out(preempting(seats=SEATS))
    house.record.written.clear()
    assert house.carry_out(Plan()) == []


def test_what_was_decided_last_is_written_last(house: House) -> None:
    """The second order comes before the first has begun: whatever is written, it ends with nothing held."""
    written = house.carry_out(ALL, waiting())
    assert written[-2:] == CLEARED
    assert not any(line.startswith("delete") for line in written)
    assert house.promised == {}
    assert house.leaving == set()


def test_orders_that_are_done_are_forgotten(house: House) -> None:
    """Otherwise a scheduler would remember every group that it ever made room for."""
    house.carry_out(ALL, preempting(seats=SEATS))
    assert house.evicter._last == {}


def test_a_place_elsewhere_takes_the_old_one_back(house: House) -> None:
    house.carry_out(preempting(seats=SEATS))
    house.record.written.clear()
    other = (seat("a", "n2"), seat("b", "n2"))
    written = house.carry_out(preempting(eviction("z"), seats=other))
    assert written == ["nominate a to n2", "mark z", "delete z"]
    assert house.promised == {"default/a": "n2", "default/b": "n2"}


def test_a_promise_that_cannot_be_taken_back_is_seen_again(house: House) -> None:
    house.carry_out(preempting(seats=SEATS))
    pod = watched_pod("a", cpu=2, annotations=GANG)
    status = msgspec.structs.replace(pod.status, nominated_node_name="n1")
    house.mirror.put_pod(msgspec.structs.replace(pod, status=status))
    house.record.answers = {
        "nominate a to none": [FORBIDDEN],
        "nominate b to none": [Refused(RefusalReason.GONE, "")],
    }
    house.carry_out(waiting())
    assert house.promised == {"default/a": "n1"}
    assert len(house.finished[-1].failures) == 1
