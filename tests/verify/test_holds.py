"""Law 5: room that is held for somebody is given to nobody of equal or lower rank."""

from datetime import UTC, datetime

import pytest

from .make import Raw, bind, blocker, entry, judged, node, plan, pod

GOING = pod("old", "2", on="n1", priority=0, deletionTimestamp="2026-01-01T00:00:00Z")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
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
    assert judged(world(rank, "2"), twin, now=NOW) == broken


def test_a_plan_does_not_give_away_what_it_promises() -> None:
    told = entry("holder", "Preempting", 1, 1, 0, blocker("Affinity", holds=0, needed=1))
    twin = plan(SEATED["binds"], [*SEATED["groups"], told])
    kept = twin | {"nominations": [bind("holder", "n1")]}
    assert judged(world(4, "2"), kept) == [5], "promised and given away in one Plan"
    assert judged(world(4, "1"), kept) == []


OLD, YOUNG = {"creationTimestamp": "2026-01-01T00:00:00Z"}, {"creationTimestamp": "2026-02-01T00:00:00Z"}
WAITS = blocker("Affinity", holds=0, needed=1)


def promised(name: str, rank: int, about: Raw, cpu: str = "4") -> Raw:
    return pod(name, cpu, priority=rank, nominatedNodeName="n1", **about)


@pytest.mark.parametrize("theirs", ["maitred", "other"])
@pytest.mark.parametrize(("rank", "first"), [(4, False), (5, True), (6, True)])
def test_of_two_that_were_promised_one_place_the_first_has_it(rank: int, first: bool, theirs: str) -> None:
    """By rank, then by age, whoever decides about them. The other one has rank 5 and is younger."""
    going = pod("old", "4", on="n1", priority=0, deletionTimestamp="2026-01-01T00:00:00Z")
    mine = promised("mine", rank, OLD | OURS)
    objects = [node("n1"), going, mine, promised("other", 5, YOUNG | {"schedulerName": theirs})]
    rest = [entry("other", "Waiting", 1, 1, 0, WAITS)] if theirs == "maitred" else []
    has = plan([], [entry("mine", "Preempting", 1, 1, 0, WAITS), *rest], nominations=[bind("mine", "n1")])
    lost = plan([], [entry("mine", "Waiting", 1, 1, 0, WAITS), *rest])
    assert judged(objects, has, scheduler="maitred", now=NOW) == ([] if first else [5])
    if theirs == "other":
        assert judged(objects, lost, scheduler="maitred", now=NOW) == ([5] if first else [])


def test_a_promise_that_will_not_fit_holds_nothing() -> None:
    """Somebody sits there who does not leave; what is free beside it is anybody's."""
    objects = [node("n1"), pod("stays", "2", on="n1", priority=9), promised("other", 5, OLD, "3")]
    mine = pod("mine", "2", priority=4, **OURS)
    told = plan([bind("mine", "n1")], [entry("mine", "Scheduled", 1, 1, 1)])
    assert judged([*objects, mine], told, scheduler="maitred") == []


@pytest.mark.parametrize(("rank", "free"), [(4, "1"), (5, "1"), (6, "2")])
def test_what_is_held_is_free_only_for_those_who_rank_higher(rank: int, free: str) -> None:
    """Two of four CPUs are free, two are leaving, and three were promised to somebody of rank 5."""
    numbers = {"resource": "cpu", "requested": "3", "eligibleNodes": 1, "holds": 0, "needed": 1}
    for said in ("0", "1", "2"):
        told = entry("p", "Waiting", 1, 1, 0, blocker("Capacity", free=said, **numbers))
        broken = judged(world(rank, "3"), plan([], [told]), scheduler="maitred")
        assert broken == ([] if said == free else [7]), said


def test_who_waits_though_a_lesser_one_holds_its_place() -> None:
    told = plan([], [entry("p", "Waiting", 1, 1, 0, WAITS)])
    assert judged(world(6, "2"), told, scheduler="maitred") == [7]
    assert judged(world(5, "2"), told, scheduler="maitred") == []
