"""Members that the Plan evicts count no more: not for a quorum, and not as created."""

import pytest

from .make import Raw, bind, blocker, entry, eviction, judged, node, plan, pod, pod_group, settled

UNIT = {"group": "v", "unit": "default/v"}
LATE = pod("late", "1", priority=1, group="v")


def displacing(told: Raw, *binds: Raw) -> Raw:
    """A Plan that makes both running members of v leave for h."""
    return settled(
        plan(
            list(binds),
            [entry("h", "Preempting", 1, 1, 0, blocker("Affinity", holds=0, needed=1)), told],
            nominations=[bind("h", "n1")],
            evictions=[eviction("v1", "h", **UNIT), eviction("v2", "h", **UNIT)],
        )
    )


def world(quorum: int, *waiting: Raw) -> list[Raw]:
    running = [pod(f"v{i}", "2", on="n1", priority=1, group="v") for i in (1, 2)]
    return [
        node("n1"),
        node("n2", "2"),
        pod_group("v", quorum),
        *running,
        pod("h", "4", priority=10),
        *waiting,
    ]


def test_a_late_member_of_a_gang_that_leaves_stays_out() -> None:
    members = blocker("Members", created=1, quorum=2)
    apart = displacing(entry("v", "Waiting", 3, 2, 0, members))
    assert judged(world(2, LATE), apart) == []
    split = displacing(entry("v", "Scheduled", 3, 2, 3), bind("late", "n2", "v"))
    assert judged(world(2, LATE), split) == [2]
    confessed = displacing(entry("v", "Waiting", 3, 2, 1, members), bind("late", "n2", "v"))
    assert judged(world(2, LATE), confessed) == [2]


@pytest.mark.parametrize(("created", "placed", "broken"), [(1, 0, []), (3, 0, [7]), (1, 2, [2])])
def test_counts_are_without_those_who_leave(created: int, placed: int, broken: list[int]) -> None:
    told = entry("v", "Waiting", 3, 2, placed, blocker("Members", created=created, quorum=2))
    assert judged(world(2, LATE), displacing(told)) == broken


def test_those_who_wait_may_be_a_quorum_by_themselves() -> None:
    waiting = [pod(f"w{i}", "1", priority=1, group="v") for i in (1, 2)]
    anew = displacing(entry("v", "Scheduled", 4, 2, 2), bind("w1", "n2", "v"), bind("w2", "n2", "v"))
    assert judged(world(2, *waiting), anew) == []
    half = displacing(entry("v", "Scheduled", 4, 2, 1, blocker("Affinity")), bind("w1", "n2", "v"))
    assert judged(world(2, *waiting), half) == [2]
