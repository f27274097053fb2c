"""Brute force against something slower and plainer, and against answers that anyone can check."""

from itertools import combinations
from typing import Any

import pytest

from tests.oracle.builders import Obj, moment, node, pod, pod_group
from tests.preemption.brute import LOWEST, STEP, Toll, least_toll
from tests.preemption.cases import NOW, case
from tests.preemption.reading import House, Reading, Victim

NOON = str(moment(NOW))
FEW = 9
"""Victims: every subset of more would take long."""


def plain(objects: list[Obj], now: str) -> Toll | None:
    """Every subset of pods that leaves no unit in part; every way to seat the members, one by one."""
    reading = Reading(objects, now)
    houses = reading.houses()
    pods = [victim for house in houses for victim in house.pods]
    best: Toll | None = None
    for count in range(len(pods) + 1):
        for gone in combinations(pods, count):
            toll = _toll(houses, set(gone), reading.allowed)
            if toll is None or (best is not None and toll >= best) or not _seatable(reading, gone):
                continue
            if not any(_seatable(reading, part) for part in _lesser(houses, set(gone))):
                best = toll
    return best


def _toll(houses: list[House], gone: set[Victim], allowed: list[int]) -> Toll | None:
    units, ranks = 0, [LOWEST]
    for house in houses:
        taken = [victim for victim in house.pods if victim in gone]
        single, whole = len(taken) <= house.spare, house.whole and len(taken) == len(house.pods)
        if taken and not single and not whole:
            return None
        units += len(taken) if single else 1
        ranks += [house.rank] if taken else []
    hits = [sum(number in victim.budgets for victim in gone) for number in range(len(allowed))]
    over = sum(max(0, hit - allow) for hit, allow in zip(hits, allowed, strict=True))
    return over, max(ranks), sum(victim.work for victim in gone) // STEP, units, len(gone)


def _lesser(houses: list[House], gone: set[Victim]) -> list[tuple[Victim, ...]]:
    """The same victims with one gang that goes whole cut down to the members that it can spare."""
    found = []
    for house in houses:
        if house.spare < len(house.pods) and gone.issuperset(house.pods):
            rest = gone - set(house.pods)
            found += [(*rest, *part) for part in combinations(house.pods, house.spare)] if house.spare else []
    return found


def _seatable(reading: Reading, gone: tuple[Victim, ...]) -> bool:
    free = reading.free()
    for victim in gone:
        free[victim.node] = [
            have + amount for have, amount in zip(free[victim.node], victim.amounts, strict=True)
        ]
    members = [(asked, nodes) for asked, nodes, count in reading.shapes() for _ in range(count)]

    def seat(number: int, seated: int, room: list[int]) -> bool:
        if seated >= reading.need:
            return True
        if number == len(members):
            return False
        asked, nodes = members[number]
        for row in room:
            left = [have - each for have, each in zip(free[row], asked, strict=True)]
            if row in nodes and all(have >= 0 for have, each in zip(left, asked, strict=True) if each):
                before, free[row] = free[row], left
                done = seat(number + 1, seated + 1, room)
                free[row] = before
                if done:
                    return True
        return seat(number + 1, seated, room)

    return any(seat(0, 0, room) for room in reading.rooms())


def small(seed: int) -> list[Obj]:
    """A case with few victims: the others are made too important to go."""
    made = case(seed)
    left, important = FEW, set[str]()
    for house in Reading(made.objects, made.now).houses():
        if len(house.pods) > left:
            important |= {house.name, *(victim.name for victim in house.pods)}
        else:
            left -= len(house.pods)
    return [raised(obj) if spoken_of(obj) & important else obj for obj in made.objects]


def spoken_of(obj: Obj) -> set[str]:
    return {obj["metadata"]["name"], obj["spec"].get("parentCompositePodGroupName", "")}


def raised(obj: Obj) -> Obj:
    return {**obj, "spec": {**obj["spec"], "priority": 1000}}


@pytest.mark.parametrize("chunk", range(4))
def test_brute_force_finds_what_plain_enumeration_finds(chunk: int) -> None:
    answers = set()
    for seed in range(chunk * 40, chunk * 40 + 40):
        objects = small(seed)
        found = least_toll(objects, NOON)
        assert (found.toll if found else None) == plain(objects, NOON), seed
        answers.add(found.toll[3] if found else None)
    assert {None, 1, 2} <= answers


# ---- answers that anyone can check: one node with four GPUs, where one member wants two of them

NODE = node("n", "8", gpu=4)
GANG = [pod_group("g", 1), pod("g-0", "1", gpu=2, group="g", priority=9)]


def running(name: str, gpus: int, minutes: int, priority: int = 1, **more: Any) -> Obj:
    made = pod(name, "1", gpu=gpus, node=more.pop("node", "n"), priority=priority, **more)
    made["status"]["startTime"] = moment(NOW - 60 * minutes)
    return made


def budget(allowed: int, **labels: str) -> Obj:
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b"},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed},
    }


KNOWN: dict[str, tuple[list[Obj], Toll | None, list[tuple[str, ...]]]] = {
    "nobody": ([running("a", 2, 60)], (0, LOWEST, 0, 0, 0), [()]),
    "too important": ([running("a", 3, 60, 9)], None, []),
    "the lower priority": (
        [running("a", 2, 60, 1), running("b", 2, 1, 2)],
        (0, 1, 12, 1, 1),
        [("a",)],
    ),
    "the younger": ([running("a", 2, 60), running("b", 2, 30)], (0, 1, 6, 1, 1), [("b",)]),
    "less than a step": ([running("a", 2, 4), running("b", 2, 1)], (0, 1, 0, 1, 1), [("a",), ("b",)]),
    "beside one that stays": (
        [running("a", 2, 4), running("b", 1, 5, 9), running("c", 1, 3)],
        (0, 1, 0, 1, 1),
        [("a",)],
    ),
    "a budget before a priority": (
        [running("a", 2, 60, labels={"app": "x"}), running("b", 2, 60, 8), budget(0, app="x")],
        (0, 8, 12, 1, 1),
        [("b",)],
    ),
    "a budget that allows it": (
        [running("a", 2, 60, labels={"app": "x"}), running("b", 2, 60, 8), budget(1, app="x")],
        (0, 1, 12, 1, 1),
        [("a",)],
    ),
    "a checkpoint": (
        [
            running("a", 2, 60, annotations={"maitred.dev/last-checkpoint": moment(NOW - 600)}),
            running("b", 2, 30),
        ],
        (0, 1, 2, 1, 1),
        [("a",)],
    ),
    "checkpoints in between": (
        [running("a", 2, 65, annotations={"maitred.dev/checkpoint-interval": "30m"}), running("b", 2, 30)],
        (0, 1, 1, 1, 1),
        [("a",)],
    ),
    "protected": (
        [running("a", 2, 5, annotations={"maitred.dev/min-runtime": "10m"}), running("b", 2, 60)],
        (0, 1, 12, 1, 1),
        [("b",)],
    ),
    "exempt": (
        [running("a", 2, 5, annotations={"maitred.dev/non-preemptible": "true"}), running("b", 2, 60)],
        (0, 1, 12, 1, 1),
        [("b",)],
    ),
    "all of a group": (
        [
            pod_group("v", 1, disruption="all", priority=1),
            *(running(f"v-{i}", 1, 10, group="v") for i in range(4)),
        ],
        (0, 1, 4, 1, 4),
        [("v",)],
    ),
    "what a gang can spare": (
        [pod_group("v", 2, priority=1), *(running(f"v-{i}", 1, 10, group="v") for i in range(4))],
        (0, 1, 2, 2, 2),
        [tuple(f"v-{i}" for i in pair) for pair in combinations(range(4), 2)],
    ),
    "a gang that can spare too little": (
        [pod_group("v", 3, priority=1), *(running(f"v-{i}", 1, 10, group="v") for i in range(4))],
        (0, 1, 4, 1, 4),
        [("v",)],
    ),
    "a composite": (
        [
            {
                "kind": "CompositePodGroup",
                "metadata": {"name": "top"},
                "spec": {"disruptionMode": {"all": {}}},
            },
            *(
                pod_group(name, 1, priority=1, spec={"parentCompositePodGroupName": "top"})
                for name in ("v", "w")
            ),
            running("v-0", 3, 10, group="v"),
            running("w-0", 1, 10, group="w"),
        ],
        (0, 1, 4, 1, 2),
        [("top",)],
    ),
}


@pytest.mark.parametrize(("objects", "toll", "sets"), KNOWN.values(), ids=KNOWN.keys())
def test_known_answers(objects: list[Obj], toll: Toll | None, sets: list[tuple[str, ...]]) -> None:
    found = least_toll([NODE, *objects, *GANG], NOON)
    assert (found.toll if found else None) == toll
    assert list(found.sets if found else []) == sets


def test_two_shapes_share_the_room() -> None:
    """Two members of two GPUs and one of one need two nodes; a rack has only one of them."""
    nodes = [node(f"n{i}", "8", gpu=4, rack=f"r{i}") for i in range(2)]
    olds = [running(f"old-{i}", 4, 10, node=f"n{i}") for i in range(2)]
    sizes = [2, 2, 1]
    members = [pod(f"g-{i}", "1", gpu=size, group="g", priority=9) for i, size in enumerate(sizes)]
    anywhere = least_toll([*nodes, *olds, pod_group("g", 3), *members], NOON)
    assert anywhere is not None
    assert anywhere.toll == (0, 1, 8, 2, 2)
    assert least_toll([*nodes, *olds, pod_group("g", 3, "rack"), *members], NOON) is None
    assert least_toll([*nodes, *olds, pod_group("g", 2, "rack"), *members], NOON) is not None
