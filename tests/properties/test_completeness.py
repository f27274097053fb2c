"""What can be seated is seated, all of it; what cannot is told so, and what never can is told that.

Up to six members on six nodes brute force has the last word, up to twelve on twelve an integer program.
"""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis.strategies import SearchStrategy

from tests.oracle import brute, hard, program
from tests.oracle.builders import Obj
from tests.oracle.effort import examples
from tests.oracle.reading import Group, groups, only_group, terminating
from tests.oracle.strategies import HARMLESS, OWNERS, clusters, one_group
from tests.support import decide

CLOSING = ("gates", "mixed", "states", "priority", "topology")


def check_seating(objects: list[Obj]) -> None:
    """Scheduled if and only if a quorum can be seated, and then with as many members as can be."""
    group = only_group(objects)
    plan = decide(objects)
    if group is None:
        assert (plan["binds"], plan["groups"]) == ([], [])
        return
    (entry,) = plan["groups"]
    seats = brute.most_seated(objects, group) if group.open else 0
    fits = seats >= group.needed
    event(f"{'fits' if fits else 'waits'}, {'open' if group.open else 'not open'}")
    assert (entry["verdict"] == "Scheduled") == fits, (entry, brute.best_seating(objects, group))
    assert len(plan["binds"]) == (seats if fits else 0), brute.best_seating(objects, group)
    assert entry["placed"] == group.placed + len(plan["binds"])
    assert not plan["searchExhausted"]


def check_impossible(objects: list[Obj]) -> None:
    """Impossible if there is no seat on the empty cluster whatever company comes; never if there is one."""
    group = only_group(objects)
    if group is None or not group.open or brute.seatable(objects, group):
        return
    (entry,) = decide(objects)["groups"]
    if brute.seatable_on_empty(objects, group):
        event("possible")
        assert entry["verdict"] == "Waiting", entry
    elif not brute.seatable_on_empty(objects, group, generous=True):
        event("impossible")
        assert entry["verdict"] == "Impossible", entry
    else:
        event("possible in company")
        assert entry["verdict"] in ("Waiting", "Impossible"), entry


def check_numbers(objects: list[Obj]) -> None:
    """``holds`` is the nearest miss, ``needed`` the rest of the quorum."""
    group = only_group(objects)
    if group is None or not group.open:
        return
    (entry,) = decide(objects)["groups"]
    if entry["verdict"] != "Waiting":
        return
    detail = entry["blockers"][0]["detail"]
    if "holds" in detail:
        event(entry["blockers"][0]["category"])
        assert (detail["holds"], detail["needed"]) == (brute.most_seated(objects, group), group.needed), entry


def misjudged(seeds: Iterable[int]) -> dict[int, str]:
    """The hard instances that were decided wrongly, by seed: how, and which twist they have."""
    wrong: dict[int, str] = {}
    for seed in seeds:
        made = hard.instance(seed)
        group = only_group(made.objects)
        assert group is not None
        seats = program.most_seated(made.objects, group)
        problem = _misjudgement(decide(made.objects), group, seats)
        if problem:
            wrong[seed] = f"{made.twist}: {problem}"
    return wrong


def _misjudgement(plan: dict[str, Any], group: Group, seats: int) -> str:
    (entry,) = plan["groups"]
    expected = seats if seats >= group.needed else 0
    if len(plan["binds"]) == expected and (entry["verdict"] == "Scheduled") == (expected > 0):
        return ""
    tired = ", search exhausted" if plan["searchExhausted"] else ""
    return f"{entry['verdict']} with {len(plan['binds'])} binds, {expected} are possible{tired}"


def _with_states() -> SearchStrategy[list[Obj]]:
    return one_group(max_size=4, features=["states", "topology", "affinity", "spread", "daemons"])


@given(one_group(HARMLESS | {OWNERS}))
@examples(300)
def test_seated_if_and_only_if_brute_force_finds_a_seat(objects: list[Obj]) -> None:
    check_seating(objects)


@given(one_group(features=["affinity", "anti_affinity", "spread", "topology", "unlabelled", "namespaces"]))
@examples(400)
def test_seated_if_and_only_if_brute_force_finds_a_seat_and_an_order(objects: list[Obj]) -> None:
    check_seating(objects)


@given(_with_states())
@examples(100)
def test_late_members_and_replacements_are_seated_like_the_first(objects: list[Obj]) -> None:
    check_seating(objects)


@given(one_group(features=HARMLESS - {"waiting_volumes"}))
@examples(400)
def test_impossible_if_and_only_if_not_seatable_on_the_empty_cluster(objects: list[Obj]) -> None:
    check_impossible(objects)


@given(one_group())
@examples(300)
def test_blockers_tell_the_nearest_miss(objects: list[Obj]) -> None:
    check_numbers(objects)


@given(clusters(max_groups=1, features=CLOSING))
@examples(100)
def test_groups_that_are_flawed_or_gated_bind_nothing(objects: list[Obj]) -> None:
    for group in groups(objects):
        if group.open or any(map(terminating, group.members)):
            continue
        plan = decide(objects)
        (entry,) = plan["groups"]
        assert plan["binds"] == []
        assert entry["blockers"]
        assert (entry["verdict"] == "Invalid") == bool(group.flaws), (entry, group.flaws)


def test_hard_instances_are_seated_if_the_integer_program_finds_a_placement() -> None:
    assert misjudged(range(80)) == {}


# ---- the same, at length


@pytest.mark.slow
@given(one_group())
@examples(300)
def test_seating_at_length(objects: list[Obj]) -> None:
    check_seating(objects)


@pytest.mark.slow
def test_hard_instances_at_length() -> None:
    assert misjudged(range(1000, 1300)) == {}
