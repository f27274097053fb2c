"""What pods and groups say about how long they run."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from maitred.model.job import Job, JobSpec, JobStatus
from maitred.model.meta import MarkSaid, ObjectMeta, OwnerReference
from maitred.model.pod import MIRROR
from maitred.model.runtime import (
    DEFAULT_GRACE,
    EXPECTED_RUNTIME,
    JOB_DEADLINE,
    KUEUE_LIMIT,
    MAX_RUNTIME,
    NO_STAY,
    NO_TERMS,
    NOT_SAID,
    POD_DEADLINE,
    SLINKY_LIMIT,
    RunTerms,
    Runtime,
    Stay,
    can_be_ended,
    common_stay,
    deadline_of,
    ends_of,
    enforced_limit_of,
    is_alone,
    last_end_of,
    limit_of,
    runtime_of,
    stay_of,
    together,
)
from tests.oracle import builders as b
from tests.support import decide, snapshot_of

HOUR = 3_600_000


def test_the_mark_is_read_from_labels_and_annotations() -> None:
    assert runtime_of(ObjectMeta(annotations={EXPECTED_RUNTIME: "4h"})).expected == 4 * HOUR
    assert runtime_of(ObjectMeta(labels={EXPECTED_RUNTIME: "90m"})).expected == 1.5 * HOUR
    assert runtime_of(ObjectMeta()) is NOT_SAID


@pytest.mark.parametrize("text", ["", "soon", "0s", "-1h", "4"])
def test_what_cannot_be_read_is_not_known(text: str) -> None:
    found = runtime_of(ObjectMeta(annotations={EXPECTED_RUNTIME: text}))
    assert found.expected is None
    assert repr(text) in found.problems[0]


def test_deadlines_and_grace_periods_are_in_seconds() -> None:
    found = runtime_of(ObjectMeta(), deadline_seconds=60, grace_seconds=5)
    assert (found.limit, found.grace) == (60_000, 5_000)
    assert runtime_of(ObjectMeta(), grace_seconds=DEFAULT_GRACE // 1000) is NOT_SAID


@pytest.mark.parametrize(
    ("group", "members", "expected", "limit"),
    [
        (Runtime(expected=1), [Runtime(expected=5)], 1, None),
        (NOT_SAID, [Runtime(expected=5), Runtime(expected=7), NOT_SAID], 7, None),
        (NOT_SAID, [Runtime(limit=5), Runtime(limit=7)], None, 7),
        (NOT_SAID, [Runtime(limit=5), NOT_SAID], None, None),
        (NOT_SAID, [], None, None),
    ],
)
def test_a_group_has_the_last_word(
    group: Runtime, members: list[Runtime], expected: int | None, limit: int | None
) -> None:
    found = together(group, members)
    assert (found.expected, found.limit) == (expected, limit)


def test_snapshots_have_it_of_groups_that_run_and_of_groups_that_wait() -> None:
    def gang(name: str, **more: Any) -> list[b.Obj]:
        return [
            b.pod_group(name, 1, annotations={EXPECTED_RUNTIME: "2h"}),
            b.pod(f"{name}-0", cpu=1, group=name, spec={"activeDeadlineSeconds": 60}, **more),
        ]

    snapshot = snapshot_of([b.node("n1"), *gang("run", node="n1"), *gang("wait")])
    (view,) = snapshot.groups
    (seated,) = (seated for seated in snapshot.seated if seated)
    assert view.runtime == seated.runtime == Runtime(expected=2 * HOUR, limit=60_000, endable=True)


def test_a_mark_that_cannot_be_read_is_warned_of_and_changes_nothing() -> None:
    pods = [b.node("n1"), b.pod("lone", cpu=1, annotations={EXPECTED_RUNTIME: "soon"})]
    plan = decide(pods)
    assert [bind["pod"] for bind in plan["binds"]] == ["default/lone"]
    (warning,) = plan["warnings"]
    assert "'soon' is not a duration" in warning
    assert "it is not known when it ends" in warning


# -- run-time limits ---------------------------------------------------------------------------------------


def said(key: str, value: str) -> list[MarkSaid]:
    return [MarkSaid(key, "annotation", value)]


def job(parallelism: int | None = 2, completions: int | None = 2, **more: Any) -> Job:
    spec = JobSpec(parallelism=parallelism, completions=completions, **more)
    return Job(ObjectMeta(name="j", namespace="default"), spec)


@pytest.mark.parametrize(
    ("key", "value", "asked"),
    [
        (MAX_RUNTIME, "4h", 4 * HOUR),
        (MAX_RUNTIME, "1500ms", 1_500),
        (KUEUE_LIMIT, "7200", 2 * HOUR),
        (SLINKY_LIMIT, "90", 1.5 * HOUR),
    ],
)
def test_limits_are_read_in_the_words_of_others_too(key: str, value: str, asked: int) -> None:
    found = stay_of([said(key, value)], None, False)
    assert (found.asked, found.key, found.unread) == (asked, key, "")


@pytest.mark.parametrize("key", [MAX_RUNTIME, KUEUE_LIMIT, SLINKY_LIMIT])
@pytest.mark.parametrize("value", ["-1", "0", "soon", "1e9", "9" * 30, "٣", "4 h", "inf", "NaN"])
def test_a_limit_that_cannot_be_read_is_told_and_the_next_place_counts(key: str, value: str) -> None:
    alone = stay_of([said(key, value)], None, False)
    assert alone.asked is None
    assert repr(value) in Runtime(stay=alone).problems[0]
    assert stay_of([said(key, value), said(MAX_RUNTIME, "2h")], None, False).asked == 2 * HOUR


def test_the_nearest_place_counts() -> None:
    assert stay_of([[], said(MAX_RUNTIME, "2h"), said(MAX_RUNTIME, "1h")], None, False).asked == 2 * HOUR


def test_a_group_has_a_limit_only_if_all_of_its_members_have_one() -> None:
    short, long = Stay(asked=HOUR, key="a"), Stay(asked=2 * HOUR, key="b")
    assert common_stay({short, long}) == long
    assert common_stay({short, long, NO_STAY}).asked is None


def test_a_group_breaks_when_its_first_job_ends() -> None:
    stays = {Stay(deadline=7, endable=True), Stay(deadline=5, endable=True), Stay(endable=True)}
    assert common_stay(stays) == Stay(deadline=5, endable=True)
    assert not common_stay({*stays, NO_STAY}).endable


def test_the_deadline_of_a_job_counts_from_its_start_and_stops_while_it_is_suspended() -> None:
    begun = JobStatus(start_time=datetime(1970, 1, 1, 1, tzinfo=UTC))
    running = msgspec.structs.replace(job(active_deadline_seconds=60), status=begun)
    assert deadline_of(running) == HOUR + 60_000
    assert deadline_of(job(active_deadline_seconds=60)) is None
    suspended = msgspec.structs.replace(running, spec=job(active_deadline_seconds=60, suspend=True).spec)
    assert deadline_of(suspended) is None


def test_absurd_deadlines_stay_within_what_can_be_counted() -> None:
    begun = JobStatus(start_time=datetime(2026, 1, 1, tzinfo=UTC))
    for seconds in (2**63, -(2**63)):
        found = deadline_of(msgspec.structs.replace(job(active_deadline_seconds=seconds), status=begun))
        assert found is not None
        assert 0 < found < 2**53


@pytest.mark.parametrize(
    ("one", "gang", "endable"),
    [
        (job(8, 8), True, True),
        (job(8, None), True, True),
        (job(8, 8), False, False),  # each of its pods is decided by itself
        (job(8, 100), True, False),  # they come one after the other
        (job(None, None), False, True),
        (job(1, 1), False, True),
        (job(1, 5), False, False),
        (job(8, 8, managed_by="kueue.x-k8s.io/multikueue"), True, False),
    ],
)
def test_a_job_ends_a_group_that_has_all_of_its_pods_at_once(one: Job, gang: bool, endable: bool) -> None:
    assert can_be_ended(one, gang) == endable


def test_jobs_of_the_system_are_never_ended() -> None:
    about = ObjectMeta(name="j", namespace="kube-system")
    assert not can_be_ended(msgspec.structs.replace(job(), metadata=about), True)


DAY = 24 * HOUR
TERMS = RunTerms(4 * HOUR, "team", DAY, "all", True)


@pytest.mark.parametrize(
    ("asked", "terms", "expected"),
    [
        (None, NO_TERMS, None),
        (2 * HOUR, NO_TERMS, (2 * HOUR, "asked", MAX_RUNTIME, False)),
        (2 * HOUR, TERMS, (2 * HOUR, "asked", MAX_RUNTIME, True)),
        (None, TERMS, (4 * HOUR, "queue-default", "team", True)),
        (None, TERMS._replace(default=None), (DAY, "queue-most", "all", True)),
        (2 * DAY, TERMS, (DAY, "queue-most", "all", True)),
        (None, TERMS._replace(enforced=False), (4 * HOUR, "queue-default", "team", False)),
    ],
)
def test_what_is_asked_counts_before_the_default_and_never_beyond_the_most(
    asked: int | None, terms: RunTerms, expected: tuple[object, ...] | None
) -> None:
    stay = Stay(asked, MAX_RUNTIME if asked else "", endable=True)
    assert limit_of(Runtime(stay=stay), terms) == expected


def test_nobody_enforces_a_limit_where_there_is_no_job_to_end() -> None:
    found = Runtime(stay=Stay(HOUR, MAX_RUNTIME))
    assert enforced_limit_of(found, TERMS) is None
    assert limit_of(found, TERMS) == (HOUR, "asked", MAX_RUNTIME, False)


def test_of_pods_that_nobody_controls_they_are_enforced_where_the_queue_says_so() -> None:
    alone = Runtime(endable=True, stay=Stay(HOUR, MAX_RUNTIME))
    assert enforced_limit_of(alone, TERMS) is None
    assert enforced_limit_of(alone, TERMS._replace(pods=True)) == (HOUR, "asked", MAX_RUNTIME, True)
    assert enforced_limit_of(Runtime(stay=Stay(HOUR, MAX_RUNTIME)), TERMS._replace(pods=True)) is None
    assert together(NOT_SAID, [alone, alone]).endable
    assert not together(NOT_SAID, [alone, NOT_SAID]).endable


@pytest.mark.parametrize(
    ("about", "alone"),
    [
        (ObjectMeta("p", "team"), True),
        (ObjectMeta("p", "kube-system"), False),
        (ObjectMeta("p", "team", annotations={MIRROR: "x"}), False),
        (ObjectMeta("p", "team", owner_references=(OwnerReference("Job", "j", controller=True),)), False),
        (ObjectMeta("p", "team", owner_references=(OwnerReference("Job", "j"),)), True),
    ],
)
def test_who_is_controlled_by_nobody(about: ObjectMeta, alone: bool) -> None:
    assert is_alone(about) == alone
    assert runtime_of(about, endable=is_alone(about)).endable == alone


def test_a_promise_counts_only_on_limits_that_somebody_enforces() -> None:
    found = Runtime(limit=3 * HOUR, stay=Stay(HOUR, MAX_RUNTIME))
    assert limit_of(found) == (HOUR, "asked", MAX_RUNTIME, False)
    assert enforced_limit_of(found) == (3 * HOUR, "pod-deadline", POD_DEADLINE, True)


def test_the_end_is_the_earliest_that_anybody_says() -> None:
    found = Runtime(expected=HOUR, limit=9 * HOUR, stay=Stay(2 * HOUR, MAX_RUNTIME, DAY, endable=True))
    ends = ends_of(DAY - HOUR, found, TERMS)
    assert [one.source for one in ends] == ["job-deadline", "expected", "asked", "pod-deadline"]
    assert last_end_of(DAY - HOUR, found, TERMS) == (DAY, "job-deadline", JOB_DEADLINE, True)
    assert last_end_of(0, Runtime(expected=HOUR)) is None


def test_limits_come_from_pod_group_and_owner_whichever_is_nearest() -> None:
    def runtime(**marks: dict[str, str]) -> Runtime:
        def of(place: str) -> dict[str, str]:
            return marks.get(place, {})

        spec = {"parallelism": 2, "completions": 2, "completionMode": "Indexed"}
        snapshot = snapshot_of(
            [
                b.node("n1"),
                b.owner_object("batch/v1", "Job", "j", "default", spec, annotations=of("job")),
                *[b.pod(f"j-{i}", cpu=1, owner="Job/j", index=i, annotations=of("pod")) for i in range(2)],
            ]
        )
        (view,) = snapshot.groups
        return view.runtime

    assert runtime().stay == Stay(endable=True)
    assert runtime(job={MAX_RUNTIME: "1h"}).stay == Stay(HOUR, MAX_RUNTIME, endable=True)
    assert runtime(job={MAX_RUNTIME: "1h"}, pod={MAX_RUNTIME: "2h"}).stay.asked == 2 * HOUR
    assert runtime(job={KUEUE_LIMIT: "60"}).stay.key == KUEUE_LIMIT


def test_lone_pods_on_nodes_keep_what_their_owner_says() -> None:
    objects = [
        b.node("n1"),
        b.owner_object("batch/v1", "Job", "j", "default", {}, annotations={MAX_RUNTIME: "1h"}),
        b.pod("j-0", cpu=1, owner="Job/j", node="n1"),
        b.pod("free", cpu=1, node="n1"),
    ]
    snapshot = snapshot_of(objects)
    names = [one.key for one in snapshot.bound.occupants]
    found = dict(zip(names, (snapshot.stays[number] for number in snapshot.bound.stay), strict=True))
    assert found == {"default/j-0": Stay(HOUR, MAX_RUNTIME, endable=True), "default/free": NO_STAY}
