"""Which gangs were interrupted while they were seated, by what the API has of them and nothing else."""

import asyncio
import time
from typing import Any

import msgspec
import pytest

from maitred.controllers.scheduling import repair
from maitred.controllers.scheduling.condition_writer import COMPOSITE_SCHEDULED
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.repair import GangRepair
from maitred.controllers.scheduling.seating import ANNOTATION
from maitred.kube.outcomes import Done
from maitred.kube.wire import Condition, WatchedComposite, WatchedPod
from maitred.model.plan import Plan
from tests.cluster.seen import put
from tests.controllers.watched import watched_group, watched_pod
from tests.oracle.builders import below, composite, gang, node

CONDITION = "PodGroupInitiallyScheduled"
WHOLE = {"conditions": [{"type": CONDITION, "status": "True"}]}


def seated(bound: int, waiting: int, second: int = 10) -> dict[str, str]:
    """Written on the pods of a seating ten seconds after the start of 2026."""
    return {ANNOTATION: f"2026-01-01T00:00:{second:02d}.500000+00:00 {bound}/{waiting}"}


def short_groups(mirror: Mirror, *interrupted: str) -> list[str]:
    writer: Any = None  # nothing is written by looking
    gangs = GangRepair(mirror, writer, CONDITION, 60.0, Metrics())
    for group in interrupted:
        gangs.interrupted(group)
    return list(gangs.find(mirror.state.snapshot()))


def mirror_of(*pods: WatchedPod) -> Mirror:
    mirror = Mirror("maitred")
    put(mirror.state, node("n1", cpu=8))
    for pod in pods:
        mirror.put_pod(pod)
    return mirror


def bound(name: str, marks: dict[str, str], **fields: Any) -> WatchedPod:
    return watched_pod(name, cpu=1, node="n1", created=1, annotations=marks, **fields)


def left(name: str, created: int, marks: dict[str, str] | None = None, **fields: Any) -> WatchedPod:
    return watched_pod(name, cpu=1, created=created, annotations=marks, **fields)


MARKS = gang("g", 3)


def test_a_gang_that_was_left_half_way_is_short() -> None:
    marks = {**MARKS, **seated(3, 3)}
    mirror = mirror_of(bound("a", marks), bound("b", marks), left("c", 1, MARKS))
    assert short_groups(mirror) == ["default/g"]


def test_a_gang_that_lost_a_member_and_got_another_is_not() -> None:
    marks = {**MARKS, **seated(3, 3)}
    mirror = mirror_of(bound("a", marks), bound("b", marks), left("c", 30, MARKS))
    assert short_groups(mirror) == []


def test_a_gang_whose_surplus_waits_while_a_member_was_lost_is_not() -> None:
    marks = {**MARKS, **seated(3, 5)}
    mirror = mirror_of(
        bound("a", marks), bound("b", marks), left("d", 1, MARKS), left("e", 1, MARKS), left("c", 30, MARKS)
    )
    assert short_groups(mirror) == []


def test_a_gang_whose_surplus_was_left_behind_has_its_quorum_and_is_not() -> None:
    marks = {**MARKS, **seated(5, 5)}
    mirror = mirror_of(*(bound(name, marks) for name in "abc"), left("d", 1, MARKS), left("e", 1, MARKS))
    assert short_groups(mirror) == []


def test_a_gang_that_others_bound_is_none_of_ours() -> None:
    mirror = mirror_of(bound("a", MARKS), bound("b", MARKS), left("c", 1, MARKS))
    assert short_groups(mirror) == []


def test_a_gang_that_was_interrupted_before_our_eyes_is_short_whatever_the_ages() -> None:
    marks = {**MARKS, **seated(3, 3)}
    mirror = mirror_of(bound("a", marks), bound("b", marks), left("c", 30, MARKS))
    assert short_groups(mirror, "default/g") == ["default/g"]


@pytest.mark.parametrize(("status", "short"), [({}, ["default/g"]), (WHOLE, [])])
def test_the_condition_of_a_pod_group_says_whether_it_was_ever_whole(
    status: dict[str, Any], short: list[str]
) -> None:
    marks = seated(3, 3)
    mirror = mirror_of(bound("a", marks, group="g"), bound("b", marks, group="g"), left("c", 30, group="g"))
    mirror.put_group(watched_group("g", 3, status=status))
    assert short_groups(mirror) == short
    assert short_groups(mirror, "default/g") == short


def test_a_gang_that_needs_more_than_when_it_was_seated_was_not_interrupted() -> None:
    """All who were to be bound are; the quorum was raised since."""
    declared = mirror_of(*(bound(name, seated(2, 3), group="g") for name in "ab"), left("c", 1, group="g"))
    declared.put_group(watched_group("g", 3))
    marks = {**MARKS, **seated(2, 3)}
    marked = mirror_of(bound("a", marks), bound("b", marks), left("c", 1, MARKS))
    assert [short_groups(mirror) for mirror in (declared, marked)] == [[], []]


def test_a_gang_that_was_completed_in_two_seatings_and_interrupted_in_the_second_is_short() -> None:
    first, second = {**MARKS, **seated(3, 3)}, {**MARKS, **seated(2, 2, second=20)}
    mirror = mirror_of(bound("a", first), bound("b", second), left("c", 1, MARKS))
    assert short_groups(mirror) == ["default/g"]


def test_a_gang_for_whose_other_members_room_is_made_is_left_alone() -> None:
    marks = {**MARKS, **seated(3, 3)}
    mirror = mirror_of(bound("a", marks), bound("b", marks), left("c", 1, MARKS))
    mirror.overlay.promise("default/c", "default-c", "n1")
    assert short_groups(mirror, "default/g") == []
    mirror.overlay.promise("default/c", "default-c", "")
    assert short_groups(mirror, "default/g") == ["default/g"]


def test_a_gang_that_was_told_to_go_is_not_one_that_was_never_whole() -> None:
    """Whether by us or with its Job; also while some of its pods are gone, and others come in their place."""
    marks = {**MARKS, **seated(3, 3)}
    mirror = mirror_of(*(bound(name, marks, owner="Job/train") for name in "abc"), left("d", 30, MARKS))
    for name in "bc":
        assert mirror.overlay.dismiss(f"default/{name}", f"default-{name}")
    mirror.pod_gone("default/b")
    assert short_groups(mirror) == []
    mirror.overlay.dismiss("default/a", "default-a")
    assert short_groups(mirror, "default/g") == []


# ---- trees of groups


def tree_of(*pods: WatchedPod, whole: bool = False) -> Mirror:
    """Two parts of two members each below `root`, of which one is enough."""
    mirror = mirror_of()
    status = {"conditions": [{"type": COMPOSITE_SCHEDULED, "status": "True"}]} if whole else {}
    mirror.put_composite(msgspec.convert({**composite("root", 1), "status": status}, WatchedComposite))
    for name in "ab":
        mirror.put_group(watched_group(name, 2, spec=below("root")))
    for pod in pods:
        mirror.put_pod(pod)
    return mirror


def test_a_tree_that_was_left_half_way_is_short() -> None:
    mirror = tree_of(bound("a-0", seated(2, 2), group="a"), left("a-1", 1, group="a"))
    assert short_groups(mirror) == ["default/root"]


def test_a_late_part_that_was_left_half_way_is_short_though_its_tree_was_whole() -> None:
    first = [bound(f"a-{n}", seated(2, 2), group="a") for n in range(2)]
    mirror = tree_of(*first, bound("b-0", seated(2, 2, 30), group="b"), left("b-1", 1, group="b"), whole=True)
    assert short_groups(mirror) == ["default/root"]
    [view] = mirror.state.snapshot().groups
    assert view.parts is not None
    assert [part.key for part in view.parts.broken()] == ["default/b"], "the other part stays"


def test_a_tree_that_was_whole_and_lost_a_member_is_not() -> None:
    mirror = tree_of(bound("a-0", seated(2, 2), group="a"), left("a-1", 30, group="a"), whole=True)
    assert short_groups(mirror) == []


class Writer:
    """Stands for the API server."""

    def __init__(self) -> None:
        self.deleted: list[str] = []

    async def patch_pod_condition(self, namespace: str, name: str, uid: str, told: Condition) -> Done:
        return Done()

    async def delete_pod(self, namespace: str, name: str, uid: str, grace: int | None = None) -> Done:
        self.deleted.append(name)
        return Done()


@pytest.mark.parametrize(("ago", "deleted"), [(61.0, ["a", "b"]), (1.0, [])], ids=["long ago", "just now"])
def test_members_are_taken_back_once_the_others_had_their_time(
    ago: float, deleted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repair, "SECONDS_BETWEEN_LOOKS", 0.0)
    marks = {**MARKS, **seated(3, 3)}
    owned = [bound(name, marks, owner="Job/train") for name in "ab"]
    mirror, writer = mirror_of(*owned, left("c", 1, MARKS)), Writer()
    gangs = GangRepair(mirror, writer, CONDITION, 60.0, Metrics())  # type: ignore[arg-type]

    async def story() -> None:
        gangs.decided(Plan(), mirror.state.snapshot(), time.monotonic() - ago)
        looking = asyncio.create_task(gangs.run())
        for _ in range(20):
            await asyncio.sleep(0)
        assert not looking.done()
        looking.cancel()

    asyncio.run(story())
    assert (gangs.short(), writer.deleted) == (1, deleted)
