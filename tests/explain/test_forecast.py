"""Start estimates: what is known of ends, and what follows from it for those who wait."""

import msgspec
import pytest

from maitred.explain.forecast.estimate import Estimate
from maitred.explain.forecast.forecast import SLACK, estimate, estimates, range_of
from maitred.explain.forecast.future import Future
from maitred.explain.forecast.runs import NEVER, stem
from maitred.explain.forecast.starting_point import StartingPoint
from maitred.explain.remedies.attempt_budget import AttemptBudget
from tests.explain.forecasts import HOUR, NOW, at, gang, hours, nodes, past, remembered, requests, situation
from tests.oracle import builders as b

SLACK_HOURS = SLACK / HOUR
BUSY = [*nodes(1), *gang("run", lasts="3h", on="n0", ran=1)]
WAITS = gang("wait", lasts="1h")


def test_it_starts_when_those_who_run_say_that_they_end() -> None:
    found = estimate(situation([*BUSY, *WAITS]), "default/wait")
    assert (found.earliest, found.likely, found.basis) == (at(2), at(2), "known")
    assert found.latest == at(2 + SLACK_HOURS)
    condition = "if running groups end at their declared times and no new groups arrive"
    assert found.words == f"about 14:00 to 14:01 UTC, {condition}"
    assert "1 group on nodes will end at the declared time" in found.assumptions
    assert "no new groups arrive: there is no history of arrivals" in found.assumptions


def test_estimates_travel_as_json() -> None:
    found = estimate(situation([*BUSY, *WAITS]), "default/wait")
    assert msgspec.json.decode(msgspec.json.encode(found), type=Estimate) == found
    assert msgspec.to_builtins(found)["kind"] == "Estimate"


def test_groups_ahead_start_and_end_first() -> None:
    objects = [*BUSY, *gang("first", lasts="30m", waited=2), *gang("second", lasts="1h")]
    found = estimates(situation(objects), ["default/first", "default/second"])
    assert [entry.earliest for entry in found.values()] == [at(2), at(2.5)]


def test_a_small_one_behind_takes_what_a_large_one_cannot_use() -> None:
    objects = [
        *nodes(2),
        *gang("short", lasts="1h", on="n0"),
        *gang("long", lasts="4h", on="n1"),
        *gang("large", 2, lasts="1h", waited=2),
        *gang("small", lasts="5h"),
    ]
    found = estimates(situation(objects), ["default/large", "default/small"])
    assert hours(found["default/small"].earliest) == 1
    assert hours(found["default/large"].earliest) == 6


def test_a_higher_priority_takes_the_room_first() -> None:
    objects = [*BUSY, *gang("old", lasts="1h", waited=3), *gang("urgent", lasts="1h", priority=10)]
    never = {"preemption": {"mode": "never"}}
    found = estimates(situation(objects, never), ["default/old", "default/urgent"])
    assert [hours(entry.earliest) for entry in found.values()] == [3, 2]


def test_whoever_ends_is_displaced_by_a_higher_priority_later_on_too() -> None:
    """The low one sits down first, for the high one has no room; it has to leave when there is enough."""
    objects = [
        *nodes(2),
        *gang("short", lasts="1h", on="n0", priority=10),
        *gang("long", lasts="2h", on="n1", priority=10),
        *gang("high", 2, lasts="1h", priority=10),
        *gang("low", lasts="9h", waited=5),
    ]
    found = estimates(situation(objects), ["default/high", "default/low"])
    assert [hours(entry.earliest) for entry in found.values()] == [2, 1]


def test_who_says_nothing_is_taken_not_to_end() -> None:
    objects = [*nodes(1), *gang("run", on="n0", ran=1), *WAITS]
    found = estimate(situation(objects), "default/wait")
    assert (found.earliest, found.latest, found.basis) == (None, None, "none")
    assert found.words == "not known: it has no room until other groups end, and they declare no run time"
    assert "1 group on nodes will not end: no run time is declared" in found.assumptions


def test_a_deadline_is_only_a_bound() -> None:
    objects = [*nodes(1), *gang("run", on="n0", ran=1, spec={"activeDeadlineSeconds": 3 * 3600}), *WAITS]
    found = estimate(situation(objects), "default/wait")
    assert 0 < hours(found.earliest) < hours(found.likely) < 2
    assert hours(found.latest) <= 2 + SLACK_HOURS


def test_the_deadline_of_a_job_counts_from_its_start() -> None:
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "run", "namespace": "default", "uid": "job-run"},
        "spec": {"activeDeadlineSeconds": 4 * 3600, "template": {"spec": {"containers": []}}},
        "status": {"startTime": at(-3)},
    }
    objects = [*nodes(1), job, *gang("run", lasts="9h", on="n0", ran=1, owner="Job/run"), *WAITS]
    assert hours(estimate(situation(objects), "default/wait").earliest) == 1


def test_who_is_late_is_expected_to_be_later() -> None:
    objects = [*nodes(1), *gang("run", lasts="1h", on="n0", ran=3), *WAITS]
    found = estimate(situation(objects), "default/wait")
    assert 0 < hours(found.earliest) < hours(found.latest) <= 2 + SLACK_HOURS
    assert found.words.endswith(
        "if running groups end at any moment where they are late and no new groups arrive"
    )
    late = "1 group on nodes, past the declared time, will end at any moment until the delay has doubled"
    assert late in found.assumptions


@pytest.mark.parametrize(("policy", "latest"), [({}, 1), ({"preemption": {"graceLimit": "2h"}}, 2)])
def test_victims_that_ask_for_years_will_have_left_when_the_policy_says(policy: b.Obj, latest: float) -> None:
    years = {"terminationGracePeriodSeconds": 10 * 365 * 86_400}
    objects = [*nodes(1), *gang("run", on="n0", ran=3, spec=years), *gang("wait", priority=10)]
    found = estimate(situation(objects, policy), "default/wait")
    assert hours(found.likely) == latest


def test_those_who_run_end_in_several_ways() -> None:
    leaving = gang("leave", on="n0", gpu=1)[1]
    leaving["metadata"] |= {"deletionTimestamp": at(0), "deletionGracePeriodSeconds": 30}
    deadline = {"activeDeadlineSeconds": 9 * 3600}
    objects = [
        *nodes(1),
        *gang("late", lasts="1h", on="n0", ran=3, gpu=1),
        *gang("run", lasts="4h", on="n0", ran=3, gpu=2),
        *gang("bound", on="n0", ran=3, gpu=2, spec=deadline),
        *gang("head", lasts="1h", on="n0 n0", members=2, gpu=0),
        leaving,
        *WAITS,
    ]
    objects[-4]["spec"]["containers"][0]["resources"] = leaving["spec"]["containers"][0]["resources"]
    found = estimate(situation(objects), "default/wait")
    assert found.words.endswith(
        "if running groups end at their declared times, at any moment where they are late, "
        "within their grace periods, by their deadlines, and no new groups arrive"
    )
    assert "1 terminating pod will be gone within the grace period" in found.assumptions
    assert "2 groups on nodes will end at the declared time" in found.assumptions, "one member holds a GPU"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"claims": ["gone"]}, "storage is not ready: claim default/gone does not exist"),
        (
            {"where": {"pool": "sick"}},
            "it would fit, but n1 (unschedulable) is not available; the other nodes have room for 0 of 1",
        ),
    ],
)
@pytest.mark.parametrize("busy", [False, True])
def test_where_no_end_of_others_helps_it_says_what_would(more: b.Obj, reason: str, busy: bool) -> None:
    sick = b.node("n1", cpu=64, gpu=8, labels={"pool": "sick"}, cordoned=True)
    objects = [*nodes(1), sick, *(gang("run", lasts="1h", on="n0") if busy else ()), *gang("wait", **more)]
    found = estimate(situation(objects), "default/wait")
    assert found.words == f"not known, and it would not start even if other groups ended: {reason}"
    assert (found.earliest, found.assumptions) == (None, ())


def test_two_groups_of_one_name_have_their_turns() -> None:
    bound = gang("wait", lasts="1h")
    bound[0]["spec"]["schedulingConstraints"] = {"topology": [{"key": b.HOSTNAME}]}
    marked = b.pod("other", cpu=1, gpu=8, annotations=b.gang("wait", 1), created=at(-1))
    assert hours(estimate(situation([*BUSY, *bound, marked]), "default/wait").earliest) == 2


def test_who_comes_takes_effort_though_there_is_no_room() -> None:
    """Else a cluster that stays full would be looked at for ever."""
    objects = [*nodes(1), *gang("run", on="n0"), *WAITS]
    asked = requests(situation([*nodes(1), *gang("small", gpu=4)]).snapshot)
    came = [past(f"small-{number}", number + 0.5, 2, asked) for number in range(24)]
    outset, effort = StartingPoint(situation(objects, history=remembered(came))), AttemptBudget(1000)
    future = Future(outset, effort, 0, outset.arrivals.stream(0.0))
    future.run(["default/wait"])
    assert effort.spent
    assert future.now < NOW.timestamp() + 1000 * HOUR


def test_earlier_runs_of_the_same_name_say_how_long_it_runs() -> None:
    objects = [*nodes(1), *gang("train-7f9c2", on="n0", ran=1), *WAITS]
    asked = requests(situation(objects).snapshot)
    runs = [past(f"train-{number}", 20, lasts, asked) for number, lasts in enumerate((0.5, 2, 3, 4))]
    found = estimate(situation(objects, history=remembered(runs, since=0.1)), "default/wait")
    assert found.basis == "history"
    assert 1 <= hours(found.earliest) < hours(found.latest) <= 3 + SLACK_HOURS
    assert "1 group on nodes will run as long as similar groups did" in found.assumptions


def test_others_who_keep_coming_delay_it() -> None:
    """Each hour one comes for two hours and takes half a node; the gang needs a whole one."""
    objects = [
        *nodes(1),
        *gang("run", lasts="150m", on="n0", ran=1, gpu=4),
        *gang("other", lasts="2h", on="n0", gpu=4),
        *gang("wait", lasts="1h", gpu=8),
    ]
    small = gang("small", gpu=4)
    asked = requests(situation([*nodes(1), *small]).snapshot)
    came = [past(f"small-{number}", number + 0.5, 2, asked) for number in range(24)]
    alone = estimate(situation(objects), "default/wait")
    crowded = estimate(situation(objects, history=remembered(came)), "default/wait")
    assert alone.earliest == crowded.earliest == at(2)
    assert crowded.latest is None or hours(crowded.latest) > hours(alone.latest)
    assert "new groups arrive as in the last 24 hours: 24 groups" in crowded.assumptions


def test_who_is_promised_places_starts_when_others_have_left() -> None:
    objects = [*BUSY, *gang("urgent", lasts="1h", priority=10)]
    found = estimate(situation(objects), "default/urgent")
    assert (found.earliest, found.likely) == (at(0), at(30 / HOUR))
    assert "as soon as the pods that leave for it are gone" in found.words


def test_victims_want_to_come_back() -> None:
    """The urgent one runs for an hour on their node; they run again from the start, before the other."""
    objects = [*BUSY, *gang("urgent", lasts="1h", priority=10), *gang("wait", lasts="1h", waited=0.1)]
    found = estimate(situation(objects), "default/wait")
    assert hours(found.earliest) == pytest.approx(1 + 30 / HOUR, abs=0.01)


def test_late_members_leave_with_their_group() -> None:
    objects = [
        *nodes(2),
        *gang("elastic", 2, lasts="2h", on="n0", quorum=1, ran=1),
        *gang("short", lasts="30m", on="n1"),
        *gang("wait", 2, lasts="1h", waited=0.1),
    ]
    assert hours(estimate(situation(objects), "default/wait").earliest) == 1


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        (
            [*nodes(1), *gang("wait", 2, quorum=3)],
            "not known: the group needs 3 members to start, and only 2",
        ),
        ([*nodes(1), *gang("wait", gates=["hold"])], "not known: 1 of 1 waiting members have"),
        ([*nodes(1), *gang("wait", gpu=9)], "never on this cluster"),
        ([*nodes(1), *gang("wait", on="n0")], "it does not wait"),
        ([*nodes(1), *gang("wait", 2, on="n0", quorum=1)], "it has started"),
        ([*nodes(1)], "it does not wait"),
    ],
)
def test_why_there_is_no_estimate(objects: list[b.Obj], words: str) -> None:
    found = estimate(situation(objects), "default/wait")
    assert found.words.startswith(words)
    assert found.basis == "none"


def test_what_has_room_starts_now() -> None:
    found = estimate(situation([*nodes(1), *gang("wait")]), "default/wait")
    assert (found.earliest, found.latest, found.words) == (at(0), at(0), "now")


def test_an_empty_cluster() -> None:
    assert estimate(situation([*gang("wait")]), "default/wait").earliest is None


def test_the_range_leaves_out_one_in_ten() -> None:
    starts = [5.0, *map(float, range(10, 30))]
    found = range_of(starts)
    assert (found.earliest, found.likely) == (5, 19)
    assert found.latest - SLACK == pytest.approx(27.9)
    few = range_of([10.0, 12.0, 14.0])
    assert few.latest - SLACK == pytest.approx(14 + 0.7 * 4 / 2)
    assert range_of([10.0, 11.0, NEVER]).latest == NEVER
    assert range_of([10.0]).latest == 10 + SLACK


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a/train-llama-7b-x2k9q", "a/train-llama-7b"),
        ("a/nightly-20260101-3", "a/nightly"),
        ("a/sweep-0001", "a/sweep"),
        ("a/plain", "a/plain"),
        ("a/run-5f3e9c1a", "a/run"),
    ],
)
def test_names_without_what_tells_one_run_from_the_next(name: str, kind: str) -> None:
    assert stem(name) == kind


def test_protection_that_ends_is_something_to_wait_for() -> None:
    low = b.pod("low", gpu=8, node="n0", annotations={"maitred.dev/min-runtime": "4h"})
    low["status"] |= {"phase": "Running", "startTime": "2026-01-31T10:00:00Z"}
    objects = [*nodes(1), low, b.pod("crew", gpu=8, priority=10)]
    found = estimate(situation(objects), "default/crew")
    assert (found.earliest, found.words[:24]) == ("2026-01-31T14:00:00Z", "about 14:00 to 14:01 UTC")
