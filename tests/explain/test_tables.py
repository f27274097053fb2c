"""Evictions for people: who leaves for whom, at what cost, in which way, and who would have left else."""

from typing import Literal

import pytest

from maitred.explain.tables import plan_lines
from maitred.model.plan import NO_LESSER, Alternative, Blocker, Departure, Eviction, GroupVerdict, Plan, Toll
from tests.explain.evictions import eviction

GROUP = GroupVerdict("ml/big", "Preempting", 4, 4, 0)


def shown(*evictions: Eviction, width: int | None = None) -> list[str]:
    """The section Evictions, without the name of the group."""
    lines = [line.plain for line in plan_lines(Plan(groups=(GROUP,), evictions=evictions), width)]
    section = lines[lines.index("Evictions") + 1 : -2]
    assert section[0].startswith("  ml/big  ")
    assert {line[:8].strip() for line in section[1:]} <= {""}
    return [line[10:] for line in section]


def leaves(owner: str, by: Literal["suspend", "delete"], survives: bool | None) -> Departure:
    return Departure(owner, by, survives, "")


def test_ranks_and_work() -> None:
    toll = Toll(highest_priority=10, units=1, pods=2, work_lost_device_hours=3.3333)
    job = leaves("Job x", "suspend", True)
    victims = [eviction(f"ml/x-{i}", "ml/x", "ml/big", toll=toll, departure=job) for i in range(2)]
    assert shown(*victims) == [
        "2 pods of ml/x",
        "priority 10 yields to 100; 3.3333 device-hours lost; 2 suspended: Job x",
    ]


def test_several_priorities() -> None:
    victims = [eviction(f"ml/x-{i}", None, "ml/big", priority=i - 1) for i in range(3)]
    assert shown(*victims)[1].startswith("priorities -1 to 1 yield to 100; ")


def test_budgets_that_are_broken() -> None:
    toll = Toll(violations=3)
    victims = [
        eviction(f"ml/x-{i}", None, "ml/big", toll=toll, budgets=("ml/b", f"ml/a{i}")) for i in range(2)
    ]
    assert "; 3 disruptions beyond budget ml/a0, ml/a1, ml/b; " in shown(*victims)[1]


@pytest.mark.parametrize(
    ("departure", "words"),
    [
        (leaves("Job x", "suspend", True), "1 suspended: Job x"),
        (leaves("Job x", "suspend", None), "1 suspended, owner may fail: Job x"),
        (leaves("ReplicaSet x", "delete", True), "1 deleted, owner survives: ReplicaSet x"),
        (leaves("Job x", "delete", False), "1 deleted, owner fails: Job x"),
        (leaves("Job x", "delete", None), "1 deleted, owner may fail: Job x"),
        (leaves("", "delete", None), "1 deleted for good"),
    ],
)
def test_how_a_pod_leaves(departure: Departure, words: str) -> None:
    assert shown(eviction("ml/x", None, "ml/big", departure=departure))[1].split("; ")[2:] == [words]


def test_pods_that_leave_in_several_ways() -> None:
    jobs = [leaves(f"Job {name}", "suspend", True) for name in "ab"]
    ways = [*jobs, *jobs, leaves("Job c", "delete", False), leaves("", "delete", None)]
    victims = [eviction(f"ml/x-{i}", None, "ml/big", departure=way) for i, way in enumerate(ways)]
    assert shown(*victims)[1].split("; ")[2:] == [
        "4 suspended: Job a, Job b",
        "1 deleted, owner fails: Job c",
        "1 deleted for good",
    ]


def test_the_next_best_and_why_it_is_worse() -> None:
    others = (
        Alternative(("ml/y",), Toll(units=1), "loses 8 device-hours"),
        Alternative(("ml/z",), Toll(units=1), "touches priority 50 instead of 10"),
    )
    assert shown(eviction("ml/x", None, "ml/big", alternatives=others))[2:] == [
        "the next best choice, ml/y, loses 8 device-hours"
    ]


def test_a_next_best_of_many_units() -> None:
    other = Alternative(tuple(f"ml/y{i}" for i in range(10)), Toll(units=30), "breaks 30 units instead of 1")
    assert shown(eviction("ml/x", None, "ml/big", alternatives=(other,)))[2] == (
        "the next best choice, ml/y0, ml/y1, ml/y2, ml/y3, ml/y4, ml/y5, ml/y6, ml/y7 and 22 more units, "
        "breaks 30 units instead of 1"
    )


def test_a_terminal_of_eighty_columns() -> None:
    other = Alternative(tuple(f"ml/they-{i}" for i in range(8)), Toll(units=8), "breaks 8 units")
    lines = shown(eviction("ml/x", None, "ml/big", alternatives=(other,)), width=80)
    assert max(map(len, lines)) <= 70
    assert " ".join(lines[2:]).endswith("ml/they-7, breaks 8 units")


def test_why_nobody_makes_room_unless_nobody_ranks_lower() -> None:
    refusals = ("its preemptionPolicy is Never", NO_LESSER)
    blockers = [Blocker("Capacity", "needs 1 cpu", {"preemption": refusal}) for refusal in refusals]
    plans = [Plan(groups=(GroupVerdict("a/b", "Waiting", 1, 1, 0, {}, (each,)),)) for each in blockers]
    assert [[line.plain for line in plan_lines(plan)][4:-2] for plan in plans] == [
        ["  Capacity    needs 1 cpu", "  Preemption  its preemptionPolicy is Never"],
        ["  Capacity  needs 1 cpu"],
    ]
