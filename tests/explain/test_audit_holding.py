"""What gangs held before they were complete: to the second, and never more than can be known."""

from collections.abc import Sequence
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.explain.audit.auditing import audit
from maitred.explain.audit.gangs import FoundGroup
from maitred.explain.audit.holding import holding, total
from maitred.explain.audit.observer import Observer
from maitred.explain.audit.pod_times import PodTimes
from maitred.explain.audit.seen import SeenPod
from maitred.model.job import Job
from maitred.model.membership import SILENT, GroupId
from maitred.model.policy import Policy
from tests.explain.audited import GPU, NOON, Json, ago, audited, half_started, job, node, pod, tell
from tests.oracle.effort import examples

HOUR = 3600.0
OF_JOB: Json = {"owner": ("Job", "g")}
FOUR: Json = {"requests": {GPU: 4}}


def test_devices_are_held_from_the_bind_of_each_member() -> None:
    """Two sit for an hour and for half an hour, and the third has no place."""
    found = audited(
        node("n"),
        job("g", 3),
        pod("a", node="n", created=60, **OF_JOB, **FOUR),
        pod("b", node="n", created=60, bound=30, **OF_JOB, **FOUR),
        pod("c", created=60, **OF_JOB, **FOUR),
    )
    [gang] = found.half_started
    assert gang.incomplete_device_hours == pytest.approx(4 + 2)
    assert gang.starting_device_hours == 0
    assert (gang.devices, gang.seconds) == (8, HOUR)


def test_what_was_held_until_the_last_was_ready_is_told_apart() -> None:
    """One sat alone for 30 minutes, then both waited for 20 more, until the second was ready."""
    found = audited(
        node("n"),
        job("g", 2),
        pod("a", node="n", created=60, **OF_JOB),
        pod("b", node="n", created=60, bound=30, ready=10, **OF_JOB),
    )
    assert found.half_started == ()
    assert found.held is not None
    assert found.held.incomplete_device_hours == pytest.approx(0.5)
    assert found.held.starting_device_hours == pytest.approx(2 / 3)
    [worst] = found.held.worst
    assert (worst.group, worst.since, worst.seconds) == ("ml/g", None, HOUR / 2)


def test_one_that_may_have_been_ready_and_left_no_trace_held_nothing_up() -> None:
    """Two were ready for an hour; the third was made 30 minutes ago, perhaps in place of another."""
    found = audited(
        node("n"),
        job("g", 3),
        *(pod(name, node="n", created=60, **OF_JOB) for name in "ab"),
        pod("c", created=30, **OF_JOB),
    )
    assert found.held is not None
    assert found.held.incomplete_device_hours == pytest.approx(1)
    assert found.held.starting_device_hours == 0


def test_a_member_on_a_lost_node_has_no_place_from_when_it_was_not_ready() -> None:
    lost = pod("b", node="silent", created=60, **OF_JOB, **FOUR)
    lost["status"]["conditions"][1] |= {"status": "False", "lastTransitionTime": ago(20)}
    silent = node("silent")
    silent["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    found = audited(node("n"), silent, job("g", 2), pod("a", node="n", created=60, **OF_JOB, **FOUR), lost)
    [gang] = found.half_started
    assert (gang.seated, gang.devices, gang.seconds) == (1, 4, 1200)


def test_members_that_are_not_ready_hold_until_now() -> None:
    members = [pod(name, node="n", created=60, ready=-1, **OF_JOB) for name in "ab"]
    found = audited(node("n"), job("g", 2), *members)
    assert found.held is not None
    assert found.held.incomplete_device_hours == 0
    assert found.held.starting_device_hours == pytest.approx(2)


@pytest.mark.parametrize(("minutes", "listed"), [(4, "starting"), (6, "half_started")])
def test_a_gang_that_came_lately_is_starting(minutes: float, listed: str) -> None:
    members = [pod("a", node="n", created=minutes, **OF_JOB), pod("b", created=minutes, **OF_JOB)]
    found = audited(node("n"), job("g", 2), *members)
    for name in ("starting", "half_started"):
        assert len(getattr(found, name)) == (name == listed)


def test_a_member_that_came_in_the_place_of_another_counts_from_then_on() -> None:
    """Before that, the one whose place it took may have been there: a dump does not say."""
    old = pod("a", node="n", created=600, **OF_JOB)
    found = audited(node("n"), job("g", 2), old, pod("b", created=10, **OF_JOB))
    [gang] = found.half_started
    assert gang.incomplete_device_hours == pytest.approx(10 / 60)
    assert gang.seconds == 600


def test_who_failed_is_replaced_and_not_counted_twice() -> None:
    """a, and a place that failed 20 minutes ago and whose successor waits since then."""
    found = audited(
        node("n"),
        job("g", 2),
        pod("a", node="n", created=60, **OF_JOB),
        pod("b", node="n", created=60, phase="Failed", ended=20, **OF_JOB),
        pod("c", created=20, **OF_JOB),
    )
    [gang] = found.half_started
    assert (gang.seated, gang.members) == (1, 2)
    assert gang.incomplete_device_hours == pytest.approx(1 / 3)


def test_a_gang_on_its_way_out_is_no_finding() -> None:
    members = [pod(name, node="n", created=60, deleted=20, **OF_JOB) for name in "ab"]
    found = audited(node("n"), job("g", 3), *members)
    assert (found.half_started, found.starting) == ((), ())


def test_members_that_leave_hold_their_devices_and_count_for_nobody() -> None:
    members = [pod("a", node="n", **OF_JOB), pod("b", node="n", deleted=10, **OF_JOB)]
    [gang] = audited(node("n"), job("g", 2), *members).half_started
    assert (gang.seated, gang.devices, gang.seconds) == (1, 2, 600)


@pytest.mark.parametrize(("grace", "seconds"), [(600, 0), (1200, 600), (2400, 1800)])
def test_members_count_for_nobody_from_when_they_are_told_to_go(grace: int, seconds: int) -> None:
    """Its deletion timestamp, at which it has to be gone, is ten minutes ahead."""
    leaving = pod("b", node="n", deleted=-10, deletionGracePeriodSeconds=grace, **OF_JOB)
    found = audited(node("n"), job("g", 2), pod("a", node="n", **OF_JOB), leaving)
    [gang] = (*found.half_started, *found.starting)
    assert (gang.seated, gang.devices, gang.seconds) == (1, 2, seconds)


# -- over time ---------------------------------------------------------------------------------------------


def test_a_watch_remembers_who_is_gone() -> None:
    """A gang of two is half-started for an hour of the watch, and then its user gives up."""
    begin = NOON - timedelta(hours=2)
    observer = Observer(Policy(), begin.timestamp())
    tell(observer, node("n"), begin)
    tell(observer, job("g", 2), begin)
    for item in (pod("a", node="n", created=100, **OF_JOB, **FOUR), pod("b", created=100, **OF_JOB, **FOUR)):
        tell(observer, item, NOON - timedelta(minutes=100))
    gone = (NOON - timedelta(minutes=40)).timestamp()
    for name in "ab":
        observer.gone(SeenPod, f"ml/{name}", gone)
    observer.gone(Job, "ml/g", gone)
    found = audit(observer, NOON)
    assert (found.half_started, found.pods, found.watched_seconds) == ((), 0, 2 * HOUR)
    assert found.held is not None
    assert found.held.incomplete_device_hours == pytest.approx(4)
    [worst] = found.held.worst
    assert (worst.group, worst.seconds, worst.seated) == ("ml/g", HOUR, 0)


def test_a_job_that_was_made_anew_is_another_gang() -> None:
    """The first was half-started for an hour, the second is whole."""
    begin = NOON - timedelta(hours=2)
    observer = Observer(Policy(), begin.timestamp())
    for item in (job("g", 2), pod("a", node="n", created=120, **OF_JOB), pod("b", created=120, **OF_JOB)):
        tell(observer, item, begin)
    gone = (NOON - timedelta(hours=1)).timestamp()
    for name in "ab":
        observer.gone(SeenPod, f"ml/{name}", gone)
    observer.gone(Job, "ml/g", gone)
    again = job("g", 2)
    again["metadata"]["uid"] = "again"
    tell(observer, again)
    for name in "cd":
        member = pod(name, node="n", created=50, **OF_JOB)
        member["metadata"]["ownerReferences"][0]["uid"] = "again"
        tell(observer, member)
    found = audit(observer, NOON)
    assert found.half_started == ()
    assert found.held is not None
    assert [gang.seconds for gang in found.held.worst] == [HOUR]


def test_a_watch_counts_only_its_own_time() -> None:
    begin = NOON - timedelta(minutes=30)
    observer = Observer(Policy(), begin.timestamp())
    members = (pod("a", node="n", created=600, **OF_JOB), pod("b", created=600, **OF_JOB))
    for item in (node("n"), job("g", 2), *members):
        tell(observer, item, begin)
    found = audit(observer, NOON)
    assert half_started(found) == {"g": (1, 2)}
    assert found.half_started[0].seconds == 600 * 60
    assert found.held is not None
    assert found.held.incomplete_device_hours == pytest.approx(0.5)


def test_a_pod_of_the_same_name_is_another_one() -> None:
    observer = Observer(Policy(), NOON.timestamp() - HOUR)
    first = pod("a", node="n", **OF_JOB)
    again = {**first, "metadata": {**first["metadata"], "uid": "again"}}
    for item in (job("g", 2), first, again):
        tell(observer, item)
    assert len(list(observer.stays())) == 2


def test_ready_once_is_ready_for_good() -> None:
    observer = Observer(Policy(), NOON.timestamp() - 2 * HOUR)
    tell(observer, job("g", 2))
    for name in "ab":
        tell(observer, pod(name, node="n", created=60, **OF_JOB), NOON - timedelta(minutes=59))
        tell(observer, pod(name, node="n", created=60, ready=1, **OF_JOB))
    found = audit(observer, NOON).held
    assert found is not None
    assert (found.incomplete_device_hours, found.starting_device_hours) == (0, 0)


# -- against plain counting --------------------------------------------------------------------------------

SECONDS = st.integers(0, 30)
BLANK = msgspec.convert(pod("x", node="n"), SeenPod)
DONE = msgspec.convert(pod("x", node="n", phase="Succeeded"), SeenPod)


@st.composite
def stays(draw: st.DrawFn) -> PodTimes:
    created = draw(SECONDS)
    later = st.integers(created, 30)
    bound = draw(st.none() | later)
    ended = None if bound is None else draw(st.none() | st.integers(bound, 30))
    leaving = draw(st.none() | st.integers(created, 30 if ended is None else ended))
    succeeded = ended is not None and draw(st.booleans())
    ready = None if bound is None else draw(st.none() | st.integers(bound, 30))
    held = draw(st.integers(0, 3))
    return PodTimes(DONE if succeeded else BLANK, SILENT, {GPU: held}, created, bound, ready, leaving, ended)


@examples(200)
@given(st.lists(stays(), min_size=1, max_size=6), st.integers(2, 5), SECONDS, st.none() | SECONDS)
def test_second_by_second_it_is_the_same(
    members: list[PodTimes], quorum: int, begin: int, watched: int | None
) -> None:
    now = 30
    found = holding(FoundGroup(GroupId("Job", "ml/g"), quorum, tuple(members)), begin, now, watched)
    seconds = [second for second in range(begin, now) if is_incomplete(members, quorum, second, watched)]
    assert total(found.incomplete) == sum(held_at(members, second) for second in seconds)
    readied = sorted(stay.ready for stay in members if stay.ready is not None)
    ready = readied[quorum - 1] if len(readied) >= quorum else now
    traced = [second for second in range(begin, now) if not unseen_at(members, quorum, second, watched)]
    started = [second for second in traced if second not in seconds and second < ready]
    assert total(found.starting) == sum(held_at(members, second) for second in started)


def is_incomplete(members: Sequence[PodTimes], quorum: int, second: float, watched: int | None) -> bool:
    alive = [stay for stay in members if stay.created <= second and counts_at(stay, second)]
    seated = sum(stay.bound is not None and stay.bound <= second for stay in alive)
    return seated + unseen_at(members, quorum, second, watched) < quorum


def unseen_at(members: Sequence[PodTimes], quorum: int, second: float, watched: int | None) -> int:
    """Members that may have been there, and whose places others took later."""
    if watched is not None and second >= watched:
        return 0
    alive = sum(stay.created <= second and counts_at(stay, second) for stay in members)
    return min(sum(stay.created > second for stay in members), max(0, quorum - alive))


def counts_at(stay: PodTimes, second: float) -> bool:
    ended = stay.ended is not None and stay.ended <= second and not stay.succeeded
    return not ended and (stay.leaving is None or second < stay.leaving)


def held_at(members: Sequence[PodTimes], second: float) -> int:
    return sum(
        stay.devices[GPU]
        for stay in members
        if stay.bound is not None and stay.bound <= second and (stay.ended is None or second < stay.ended)
    )
