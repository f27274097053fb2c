"""What each queue may still start: as the engine decides when such a gang comes."""

import msgspec
import pytest

from maitred.explain.capacity.asked import of_queue
from maitred.explain.capacity.capacity import capacity
from maitred.explain.capacity.document import Capacity
from maitred.explain.capacity.tables import capacity_lines
from maitred.model.manifest import InputError
from tests.explain.forecasts import gang, nodes, situation
from tests.explain.test_forecast_queues import inside, queue
from tests.oracle import builders as b
from tests.oracle.builders import GPU
from tests.support import Obj, decide


def asked(objects: list[Obj], *queues: Obj, namespaces: list[str] | None = None) -> Capacity:
    return capacity(situation(objects, {"queues": list(queues)}), namespaces)


def single(found: Capacity, name: str) -> tuple[int, int, str]:
    """Of single GPUs: the largest gang, that by room alone, and the limit."""
    (one,) = (r for r in found.queues or () if r.queue == name and r.shape.kind == "one")
    return one.members, one.room, one.limit


LAB = {"name": "lab", "limits": [{"resource": GPU, "cap": 12, "perUser": 3}]}
TREE = (
    queue("top", cap=10),
    queue("a", parent="top"),
    queue("b", cap=7, parent="top"),
    LAB,
    queue("shy", 5, borrow="never"),
    queue("keeps", 6, lend="never"),
)
RUNNING = [
    *nodes(3),
    *inside("a", gang("one", 1, on="n0", ran=1, gpu=4)),
    *inside("b", gang("two", 1, on="n0", ran=1, gpu=3)),
    *inside("keeps", gang("three", 1, on="n1", ran=1, gpu=2)),
]


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("a", (3, 15, "cap of top")),
        ("b", (3, 15, "cap of top")),
        ("lab", (3, 15, "perUser of lab")),
        ("shy", (5, 15, "borrow of shy")),
        ("keeps", (15, 15, "")),
        ("default", (11, 15, "lend of keeps")),
    ],
)
def test_a_gang_of_so_many_starts_and_a_larger_one_does_not(name: str, most: tuple[int, int, str]) -> None:
    assert single(asked(RUNNING, *TREE), name) == most
    for members, verdict in ((most[0], "Scheduled"), (most[0] + 1, "Waiting")):
        new = inside(name, gang("new", members, gpu=1))
        for pod in new:
            pod["metadata"].setdefault("annotations", {})["maitred.dev/user"] = "ann"
        plan = decide(RUNNING + new, {"queues": list(TREE), "preemption": {"mode": "never"}})
        (found,) = (one["verdict"] for one in plan["groups"] if one["group"] == "default/new")
        assert found == verdict


@pytest.mark.parametrize("never", [False, True])
def test_it_is_told_what_would_be_reclaimed_if_that_were_allowed(never: bool) -> None:
    """From those of the same priority, whom nobody preempts."""
    objects = [*nodes(1), *inside("theirs", gang("old", 1, on="n0", ran=1, gpu=8))]
    policy: Obj = {"queues": [queue("ours", 8), queue("theirs")]}
    if never:
        policy["preemption"] = {"mode": "never"}
    found = capacity(situation([*objects, *inside("ours", gang("new", 1, gpu=8))], policy), None)
    (told,) = found.preemption
    assert (told.cause, told.victims, told.allowed) == ("Reclaim", ("default/old",), not never)
    (line,) = (line.plain for line in capacity_lines(found) if "1 pod of default/old" in line.plain)
    refused = "; not allowed: the policy allows no preemption" if never else ", now"
    assert line.endswith(f"1 pod of default/old, reclaimed{refused}")


def test_who_starts_in_this_cycle_counts_for_its_queue() -> None:
    objects = [*RUNNING, *inside("a", gang("now", 1, gpu=2))]
    assert single(asked(objects, *TREE), "b") == (1, 13, "cap of top")


def test_each_sees_the_queues_that_they_may_use() -> None:
    mine = queue("mine", namespaces={"matchLabels": {"team": "me"}})
    objects = [
        *nodes(1),
        {**b.node("ns"), "kind": "Namespace", "metadata": {"name": "ml", "labels": {"team": "me"}}},
    ]
    for namespaces, names in (
        (None, {"mine", "default"}),
        (["ml"], {"mine", "default"}),
        (["x"], {"default"}),
    ):
        found = asked(objects, mine, namespaces=namespaces)
        assert {one.queue for one in found.queues or ()} == names


def test_one_queue_can_be_asked_about() -> None:
    found = asked(RUNNING, *TREE)
    assert {one.queue for one in of_queue(found, "lab").queues or ()} == {"lab"}
    with pytest.raises(InputError, match="a, b, lab, shy, keeps, default"):
        of_queue(found, "top")
    with pytest.raises(InputError, match="has no queues"):
        of_queue(asked(RUNNING), "lab")


def paid(name: str, most: float, **more: object) -> Obj:
    return {
        "name": name,
        "budget": {"deviceHours": most, "period": "day"},
        "runtime": {"default": "4h"},
        **more,
    }


BUDGETS = (
    paid("top", 40),
    {"name": "a", "parent": "top"},
    {**paid("b", 21), "limits": [{"resource": GPU, "cap": 5}]},
)
SPENDING = [
    *nodes(2),
    *inside("a", gang("one", 1, on="n0", ran=1, gpu=1)),
    *inside("b", gang("now", 1, waited=2, gpu=1)),
]


@pytest.mark.parametrize(
    ("name", "most"), [("a", (9, 14, "budget of top")), ("b", (4, 14, "cap of b")), ("default", (14, 14, ""))]
)
def test_a_gang_is_no_larger_than_what_budgets_pay_for(name: str, most: tuple[int, int, str]) -> None:
    """It is noon: what starts now costs four hours. Whoever runs has spent one and committed three."""
    queues = list(BUDGETS)
    assert single(asked(SPENDING, *queues), name) == most
    for members in (most[0], most[0] + 1):
        plan = decide(SPENDING + inside(name, gang("new", members, gpu=1)), {"queues": queues})
        (found,) = (one["verdict"] for one in plan["groups"] if one["group"] == "default/new")
        assert found == ("Scheduled" if members == most[0] else "Waiting")


def idle(found: Capacity) -> dict[tuple[str, str], int]:
    return {(part.reason, part.detail): part.devices for one in found.idle for part in one.reasons}


POOR = inside("a", gang("poor", 1, gpu=3))
MANY = inside("b", gang("many", 6, gpu=1))
HUGE = inside("c", gang("huge", 3))


@pytest.mark.parametrize(
    ("waiting", "told"),
    [
        (POOR, {("Budget", "a"): 3, ("Free", ""): 13}),
        ([*POOR, *MANY], {("Quota", "b"): 6, ("Budget", "a"): 3, ("Free", ""): 7}),
        ([*POOR, *HUGE], {("Budget", "a"): 3, ("Fragmented", ""): 13}),
    ],
)
def test_devices_are_idle_for_the_first_blocker_of_those_who_want_them(
    waiting: list[Obj], told: dict[tuple[str, str], int]
) -> None:
    found = asked([*nodes(2), *waiting], paid("a", 4), queue("b", cap=5), queue("c"))
    assert idle(found) == told


def test_the_limits_and_budgets_that_keep_devices_idle_are_named() -> None:
    found = asked([*nodes(2), *POOR, *MANY], paid("a", 4), queue("b", cap=5))
    lines = [" ".join(line.plain.split()) for line in capacity_lines(found)]
    assert "6 Quota 1 node the limits of queue b keep back the groups that want them" in lines
    assert "3 Budget 1 node the budget of queue a cannot pay for the groups that want them" in lines


def test_without_queues_nothing_is_said_of_them() -> None:
    assert "queues" not in msgspec.to_builtins(asked(RUNNING))


@pytest.mark.parametrize(
    ("waiting", "told"),
    [
        (POOR, "1 group waits for the limits or the budget of its queue."),
        (HUGE, "1 group waits for room."),
        ([*POOR, *HUGE], "2 groups wait: 1 for room, 1 for the limits or the budget of its queue."),
        ([*POOR, *MANY], "2 groups wait for the limits or the budget of their queues."),
    ],
)
def test_the_summary_says_what_groups_wait_for(waiting: list[Obj], told: str) -> None:
    found = asked([*nodes(2), *waiting], paid("a", 4), queue("b", cap=5), queue("c"))
    assert list(capacity_lines(found))[-1].plain.endswith(told)
