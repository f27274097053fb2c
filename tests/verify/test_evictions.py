"""Laws 4 and 5, as far as a Plan evicts anybody."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from .make import (
    Raw,
    anti_affinity,
    bind,
    blocker,
    entry,
    eviction,
    judged,
    members,
    node,
    plan,
    pod,
    pod_group,
    term,
)

NODES = [node("n1"), node("n2")]
LOW = [pod("low1", "4", on="n1", priority=1), pod("low2", "4", on="n2", priority=1)]
IDLE = pod("idle", "0", schedulingGates=[{"name": "x"}])
OBJECTS = [*NODES, *LOW, pod_group("g", 2), *members("g", 2, "3", priority=10), IDLE]
PREEMPTING = plan(
    [],
    [
        entry("g", "Preempting", 2, 2, 0, blocker("Affinity", holds=0, needed=2)),
        entry("idle", "Waiting", 1, 1, 0, blocker("Gated", gated=1)),
    ],
    nominations=[bind("g-0", "n1", "g"), bind("g-1", "n2", "g")],
    evictions=[eviction("low1", "g"), eviction("low2", "g")],
)


def change(path: str, number: int, **fields: Any) -> Callable[[Raw], Any]:
    return lambda p: p[path][number].update(fields)


DOCTORED: dict[str, tuple[Callable[[Raw], Any], list[int]]] = {
    "nothing": (lambda p: None, []),
    "no cause": (change("evictions", 0, cause=""), [4]),
    "for nobody": (change("evictions", 0, **{"for": "default/x"}), [4]),
    "another uid": (change("evictions", 0, uid="x"), [4]),
    "another group": (change("evictions", 0, group="default/x"), [4]),
    "no such pod": (change("evictions", 0, pod="default/x"), [4, 5]),
    "a pod that does not run": (change("evictions", 0, pod="default/idle", uid="uid-idle"), [4, 5]),
    "twice": (lambda p: p["evictions"].append(p["evictions"][0]), [4]),
    "too few": (lambda p: p["evictions"].pop(), [5]),
    "no nominations": (lambda p: p["nominations"].clear(), [5]),
    "one nomination short": (lambda p: p["nominations"].pop(), [5]),
    "nominated to one node": (change("nominations", 1, node="n1"), [5]),
    "nominated to no node": (change("nominations", 1, node="n9"), [5]),
    "no such pod nominated": (change("nominations", 1, pod="default/x"), [5]),
    "a pod nominated that runs": (change("nominations", 1, pod="default/low2", uid="uid-low2"), [5]),
    "nominated as a member of another group": (change("nominations", 1, group="default/x"), [5]),
    "nominated by another uid": (change("nominations", 1, uid="x"), [5]),
    "bound already": (
        lambda p: (
            p["binds"].append(bind("g-0", "n1", "g")),
            p["groups"][0].update(placed=1),
        ),
        [1, 2, 4, 5],
    ),
}


@pytest.mark.parametrize(("doctor", "broken"), DOCTORED.values(), ids=DOCTORED.keys())
def test_doctored(doctor: Callable[[Raw], Any], broken: list[int]) -> None:
    twin = deepcopy(PREEMPTING)
    doctor(twin)
    assert judged(OBJECTS, twin) == broken


@pytest.mark.parametrize(("rank", "broken"), [(9, []), (10, [4]), (11, [4])])
def test_rank(rank: int, broken: list[int]) -> None:
    victims = [pod("low1", "4", on="n1", priority=rank), LOW[1]]
    assert judged([*NODES, *victims, *OBJECTS[4:]], PREEMPTING) == broken


def test_a_group_that_never_preempts() -> None:
    shy = members("g", 2, "3", priority=10, preemptionPolicy="Never")
    assert judged([*NODES, *LOW, pod_group("g", 2), *shy, IDLE], PREEMPTING) == [4]


def test_an_eviction_in_vain() -> None:
    """There is a third victim that nobody needed."""
    objects = [*OBJECTS, node("n3"), pod("low3", "1", on="n3", priority=1)]
    twin = deepcopy(PREEMPTING)
    twin["evictions"].append(eviction("low3", "g"))
    assert judged(objects, twin) == [5]
    twin["evictions"][2]["cause"] = "Healing"
    assert judged(objects, twin) == []


def test_a_small_victim_that_was_not_needed() -> None:
    objects = [
        *NODES,
        pod("small", "1", on="n1", priority=1),
        pod("large", "3", on="n1", priority=1),
        *OBJECTS[3:],
    ]
    twin = deepcopy(PREEMPTING)
    twin["evictions"] = [eviction("small", "g"), eviction("large", "g"), eviction("low2", "g")]
    assert judged(objects, twin) == [5]
    twin["evictions"].pop(0)
    assert judged(objects, twin) == []


@pytest.mark.parametrize(
    ("mode", "version", "whole"),
    [
        ({"all": {}}, "v1beta1", True),
        ({"single": {}}, "v1beta1", False),
        ("PodGroup", "v1alpha2", True),
        ("Pod", "v1alpha2", False),
    ],
)
def test_units_are_evicted_together(mode: Any, version: str, whole: bool) -> None:
    """A group of three, one of them on a node that nobody wants."""
    victims = [pod("v1", "4", on="n1", priority=1, group="v"), pod("v2", "4", on="n2", priority=1, group="v")]
    extra = [node("n3"), pod("v3", "4", on="n3", priority=1, group="v")]
    group = pod_group("v", 1, version, disruptionMode=mode)
    objects = [*NODES, *victims, *extra, group, *OBJECTS[4:]]
    twin = deepcopy(PREEMPTING)
    twin["evictions"] = [eviction("v1", "g", group="v"), eviction("v2", "g", group="v")]
    assert judged(objects, twin) == ([4] if whole else [])
    twin["evictions"].append(eviction("v3", "g", group="v"))
    assert judged(objects, twin) == ([] if whole else [5])


def test_an_eviction_names_the_group_of_its_victim() -> None:
    objects = [*NODES, pod_group("v", 1), pod("low1", "4", on="n1", group="v", priority=1), *OBJECTS[3:]]
    twin = deepcopy(PREEMPTING)
    assert judged(objects, twin) == [4]
    twin["evictions"][0]["group"] = "default/v"
    assert judged(objects, twin) == []
    twin["evictions"][1]["group"] = "default/low2"
    assert judged(objects, twin) == []


def test_the_rank_of_a_group_at_odds_with_itself_is_that_of_its_pods() -> None:
    def victims(priority: int) -> list[Raw]:
        odd = pod("low3", "0", on="n1", group="v", priority=2)
        return [pod_group("v", 1), pod("low1", "4", on="n1", group="v", priority=priority), odd]

    twin = deepcopy(PREEMPTING)
    twin["evictions"][0]["group"] = "default/v"
    assert judged([*NODES, *victims(9), *OBJECTS[3:]], twin) == []
    assert judged([*NODES, *victims(10), *OBJECTS[3:]], twin) == [4]


def test_a_rank_that_nobody_knows_is_not_lower() -> None:
    victim = pod("low1", "4", on="n1", priorityClassName="x")
    assert judged([*NODES, victim, *OBJECTS[3:]], PREEMPTING) == [4]


def test_a_group_that_nobody_touches_is_not_split() -> None:
    whole = pod_group("v", 1, disruptionMode={"all": {}})
    objects = [*OBJECTS, node("n3"), whole, *members("v", 2, on="n3")]
    assert judged(objects, PREEMPTING) == []


def test_nominations_keep_hard_constraints() -> None:
    apart = {"labels": {"app": "g"}, "affinity": anti_affinity(term({"app": "g"}, "rack"))}
    racks = [node("n1", labels={"rack": "a"}), node("n2", labels={"rack": "b"})]
    gang = members("g", 2, "3", priority=10, **apart)
    assert judged([*racks, *LOW, pod_group("g", 2), *gang, IDLE], PREEMPTING) == []
    racks[1] = node("n2", labels={"rack": "a"})
    assert judged([*racks, *LOW, pod_group("g", 2), *gang, IDLE], PREEMPTING) == [5]


def test_victims_that_are_already_leaving() -> None:
    """While they terminate the group stays Preempting, with nominations and no new evictions."""
    gone = [pod(f"low{i}", "4", on=f"n{i}", deletionTimestamp="2026-01-01T00:00:00Z") for i in (1, 2)]
    twin = deepcopy(PREEMPTING)
    twin["evictions"] = []
    assert judged([*NODES, *gone, *OBJECTS[4:]], twin) == []
