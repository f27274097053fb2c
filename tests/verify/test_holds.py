"""Law 5: room that is held for somebody is given to nobody of equal or lower rank."""

import pytest

from .make import Raw, bind, blocker, entry, judged, node, plan, pod

GOING = pod("old", "2", on="n1", priority=0, deletionTimestamp="2026-01-01T00:00:00Z")
OURS = {"schedulerName": "maitred"}


def world(rank: int, cpu: str) -> list[Raw]:
    """Two of four CPUs are leaving; a pod of another scheduler, of rank 5, has been promised three."""
    holder = pod("holder", "3", priority=5, nominatedNodeName="n1")
    return [node("n1"), GOING, holder, pod("p", cpu, priority=rank, **OURS)]


SEATED = plan([bind("p", "n1")], [entry("p", "Scheduled", 1, 1, 1)])


@pytest.mark.parametrize(
    ("rank", "cpu", "broken"), [(4, "2", [5]), (5, "2", [5]), (6, "2", []), (4, "1", []), (6, "1", [])]
)
def test_nominations_of_other_schedulers(rank: int, cpu: str, broken: list[int]) -> None:
    assert judged(world(rank, cpu), SEATED, scheduler="maitred") == broken


def test_a_promise_that_was_broken_before_binds_nobody() -> None:
    objects = [*world(4, "2")[:3], pod("squatter", "0", on="n1", amounts={"cpu": "2"})]
    late = pod("p", "0", priority=4, **OURS)
    assert judged([*objects, late], SEATED, scheduler="maitred") == []


@pytest.mark.parametrize(("rank", "broken"), [(4, [5]), (5, [5]), (6, [])])
def test_a_plan_that_decides_everybody_keeps_its_promises(rank: int, broken: list[int]) -> None:
    """What was promised is taken from nobody but by a higher rank."""
    told = entry("holder", "Waiting", 1, 1, 0, blocker("Affinity", holds=0, needed=1))
    twin = plan(SEATED["binds"], [*SEATED["groups"], told])
    assert judged(world(rank, "2"), twin) == broken


def test_a_plan_does_not_give_away_what_it_promises() -> None:
    told = entry("holder", "Preempting", 1, 1, 0, blocker("Affinity", holds=0, needed=1))
    twin = plan(SEATED["binds"], [*SEATED["groups"], told])
    kept = twin | {"nominations": [bind("holder", "n1")]}
    assert judged(world(4, "2"), kept) == [5], "promised and given away in one Plan"
    assert judged(world(4, "1"), kept) == []
