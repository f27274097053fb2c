"""What each queue may still start: as the engine decides when such a gang comes."""

import msgspec
import pytest

from maitred.explain.capacity.asked import of_queue
from maitred.explain.capacity.capacity import capacity
from maitred.explain.capacity.document import Capacity
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


def test_without_queues_nothing_is_said_of_them() -> None:
    assert "queues" not in msgspec.to_builtins(asked(RUNNING))
