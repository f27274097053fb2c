"""What budgets say is spent, and what the bill says was used, are the same of the same time: from bind to
release, with what stood idle for somebody."""

from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.cluster.queues.book import in_queues
from maitred.cluster.state import ClusterState
from maitred.decide.cycle import decide as decide_snapshot
from maitred.decide.queues.budgets import settle
from maitred.explain.billing.bill import bill, read_month
from maitred.explain.billing.document import Usage, Use
from maitred.ledger.books import Books
from maitred.ledger.records import Observation
from maitred.ledger.register import Register
from maitred.model.memory import CONTENT, HOME
from maitred.model.queues import QUEUE
from maitred.model.spending import BUDGETS, Scavenger, SpendingMemory
from tests.decide.test_later import of_group
from tests.decide.test_owners import made
from tests.ledger.made import BEGIN, HOUR, START
from tests.ledger.worlds import ChangingCluster, gpu_node, member
from tests.oracle.builders import GPU, Obj, metadata, namespace
from tests.oracle.effort import examples
from tests.support import policy_of

TERMS: dict[str, Any] = {"budget": {"deviceHours": 10_000, "period": "month"}, "runtime": {"default": "48h"}}
LIMIT = {"resource": "nvidia.com/gpu", "guarantee": 4}
POLICY = policy_of(
    {"queues": [{"name": "red", "limits": [LIMIT], **TERMS}, {"name": "blue", "limits": [LIMIT], **TERMS}]}
)
STEP = 30
"""Seconds at most between two looks."""


class Both(ChangingCluster):
    """A cluster whose books are kept, and whose budgets are settled, at the same moments."""

    def __init__(self, *objects: Obj) -> None:
        super().__init__(ClusterState())
        self.seconds, self.entries = 0, list[Usage]()
        self.books = Books(START, Register(1, ()))
        self.spent: dict[str, float] = {}
        self.uses = Counter[tuple[str, str, bool]]()
        """Device-milliseconds by queue, bucket, and whether it was borrowed."""
        self.capacity = 0
        self.put(*objects)
        self.look()

    def wait(self, seconds: int) -> None:
        end = self.seconds + seconds
        while self.seconds < end:
            self.seconds = min(end, self.seconds + STEP)
            self.look()

    def look(self) -> None:
        at = START + self.seconds * 1000
        now, snapshot = datetime.fromtimestamp(at / 1000, UTC), self.state.snapshot()
        found = settle(in_queues(snapshot, POLICY, None), POLICY, now)
        assert found.balances is not None
        self.spent = dict(zip(("red", "blue"), found.balances.spent.tolist(), strict=True))
        plan = decide_snapshot(snapshot, POLICY, now)
        self.books.see(Observation(at, snapshot, POLICY, (), frozenset(), rooms=plan.holds))
        entry = self.books.close(at)
        for (_, key), amount in entry.reading.usage.items():
            labels = dict(entry.accounts[key.holder].labels) if key.holder else {}
            borrowed = "maitred.dev/borrowed" in labels
            self.uses[labels.get(QUEUE, ""), key.bucket, borrowed] += amount
        self.capacity += sum(entry.reading.capacity.values())
        if plan.budgets is not None:
            self.put(written(plan.budgets))

    def billed(self) -> dict[str, float]:
        """Device-hours."""
        found = Counter[str]()
        for (queue, _, _), amount in self.uses.items():
            found[queue] += amount
        return {queue: found[queue] / HOUR for queue in ("red", "blue")}


def written(memory: SpendingMemory) -> Obj:
    meta = metadata(BUDGETS, HOME, {"maitred.dev/record": "budgets"})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {CONTENT: str(memory)}}


def moment(seconds: int) -> str:
    return datetime.fromtimestamp(START / 1000 + seconds, UTC).isoformat().replace("+00:00", "Z")


def seated(name: str, queue: str, gpus: int, since: int, started: int | None = None, **fields: Any) -> Obj:
    """On its node since then; its kubelet has started it later, if at all."""
    made = member(name, gpus, labels={QUEUE: queue}, node="n", **fields)
    made["metadata"]["creationTimestamp"] = moment(0)
    condition = {"type": "PodScheduled", "status": "True", "lastTransitionTime": moment(since)}
    made["status"] |= {"phase": "Pending", "conditions": [condition]}
    if started is not None:
        made["status"] |= {"phase": "Running", "startTime": moment(started)}
    return made


def waiting(name: str, queue: str, gpus: int, **fields: Any) -> Obj:
    return member(name, gpus, labels={QUEUE: queue}, promised="n", **fields)


def test_a_preemption_from_the_first_bind_to_the_last_release() -> None:
    """The victim has six devices. It leaves in two steps; what the first leaves stands idle for the other."""
    both = Both(namespace("default"), gpu_node("n"))
    both.put(seated("v0", "red", 2, 0), seated("v1", "red", 4, 0))
    both.look()
    both.wait(60)
    both.put(seated("v0", "red", 2, 0, 60), seated("v1", "red", 4, 0, 60))
    both.look()
    both.wait(600)
    both.put(waiting("w", "blue", 8))
    both.put(*(seated(name, "red", gpus, 0, 60, deleted=True) for name, gpus in (("v0", 2), ("v1", 4))))
    both.look()
    both.wait(60)
    both.delete(seated("v0", "red", 2, 0))
    both.look()
    both.wait(120)
    both.delete(seated("v1", "red", 4, 0))
    both.put(seated("w", "blue", 8, both.seconds))
    both.look()
    both.wait(300)
    both.delete(seated("w", "blue", 8, 0))
    both.look()
    red = (6 * 720 + 4 * 120) / 3600
    blue = (2 * 60 + 4 * 120 + 8 * 300) / 3600
    assert both.billed() == pytest.approx({"red": red, "blue": blue})
    assert both.spent == pytest.approx({"red": red, "blue": blue})
    assert both.uses["blue", "reserved", False] == (2 * 60 + 4 * 120) * 1000
    assert both.uses["red", "starting", True] + both.uses["red", "starting", False] == 6 * 60 * 1000


def worker_set(workers: int, gpus: int, queue: str) -> list[Obj]:
    """A leader that runs, and an owner that creates workers with devices once it is ready: until then room is
    kept for them, for half an hour."""
    template = {"spec": {"containers": [{"name": "main", "resources": {"limits": {GPU: str(gpus)}}}]}}
    spec = {
        "replicas": 1,
        "startupPolicy": "LeaderReady",
        "leaderWorkerTemplate": {"size": workers + 1, "workerTemplate": template},
    }
    leader = of_group(0, "n", annotations={QUEUE: queue})
    leader["metadata"]["creationTimestamp"] = moment(0)
    leader["status"] = {"phase": "Running", "startTime": moment(0)}
    return [made("LeaderWorkerSet", "s", spec), leader]


def test_room_for_members_that_come_later_is_paid_by_their_queue_and_on_its_bill() -> None:
    """For as long as it is kept."""
    both = Both(namespace("default"), gpu_node("n"))
    both.put(*worker_set(3, 2, "red"), seated("r", "blue", 1, 0, 0))
    both.look()
    both.wait(600)
    assert both.uses["red", "reserved", False] == 6 * 600 * 1000
    both.put(seated("b", "blue", 1, 600, 600))
    both.look()
    both.wait(1800)
    assert both.uses["red", "reserved", False] == 6 * 1800 * 1000
    assert both.billed() == pytest.approx({"red": 6 * 1800 / 3600, "blue": (2400 + 1800) / 3600})
    assert both.spent == pytest.approx(both.billed())


NAMES = ("a", "b", "c", "d")
CHANGES = st.lists(
    st.tuples(
        st.integers(1, 90),
        st.sampled_from(NAMES),
        st.sampled_from(["red", "blue"]),
        st.sampled_from(["bound", "started", "leaves", "promised", "gone"]),
        st.integers(1, 2),
    ),
    max_size=12,
)


@examples(25)
@given(CHANGES, st.integers(0, 3), st.integers(1, 2), st.sampled_from(["red", "blue"]))
def test_whatever_happens_both_say_the_same(
    changes: list[tuple[int, str, str, str, int]], workers: int, each: int, queue_of_workers: str
) -> None:
    """And each device-hour is in one bucket."""
    both, there = Both(namespace("default"), gpu_node("n")), dict[str, tuple[str, int, int]]()
    if workers:
        both.put(*worker_set(workers, each, queue_of_workers))
        both.look()
    for pause, name, queue, what, gpus in changes:
        both.wait(pause)
        queue, gpus, since = there.get(name, (queue, gpus, both.seconds))
        pod = seated(name, queue, gpus, since)
        if what == "gone":
            both.delete(pod)
            there.pop(name, None)
        elif what == "promised" and name not in there:
            both.put(waiting(name, queue, gpus))
        elif what != "promised":
            there[name] = queue, gpus, since
            started = None if what == "bound" else both.seconds
            both.put(seated(name, queue, gpus, since, started, deleted=what == "leaves"))
        both.look()
    both.wait(45)
    assert both.spent == pytest.approx(both.billed(), abs=1e-6)
    assert sum(both.uses.values()) == both.capacity == 8 * both.seconds * 1000


def test_by_queue_all_that_a_row_has_is_guaranteed_borrowed_or_kept() -> None:
    """Blue has lent two devices of its guarantee: red has six, and one group with four of them is beyond its
    own. What blue has lent it gets back, and waits for it."""
    both = Both(namespace("default"), gpu_node("n"))
    both.put(seated("r0", "red", 2, 0, 0), seated("r1", "red", 4, 1, 1))
    both.look()
    both.wait(3600)
    uses = tuple(
        Use(
            "default" if queue else "",
            ({QUEUE: queue} if queue else {}) | ({"maitred.dev/borrowed": "true"} if borrowed else {}),
            "nvidia.com/gpu",
            "NVIDIA-H100",
            bucket,  # type: ignore[arg-type]
            amount,
        )
        for (queue, bucket, borrowed), amount in both.uses.items()
    )
    usage = Usage(uses, {("nvidia.com/gpu", "NVIDIA-H100"): both.capacity}, both.seconds * 1000)
    found = bill(usage, "queue", POLICY, read_month("2026-11", BEGIN), BEGIN)
    (red,) = found.queues
    assert (red.entitled_device_hours, red.borrowed_device_hours) == (2, 4)
    (row,) = (one for one in found.rows if one.name == "red")
    assert row.device_hours == red.entitled_device_hours + red.borrowed_device_hours


def test_what_nobody_pays_for_is_used_all_the_same() -> None:
    """The bill has it, as borrowed, and no budget pays for it."""
    both = Both(namespace("default"), gpu_node("n"))
    both.put(seated("free", "red", 2, 0, 0), seated("paid", "red", 1, 0, 0))
    now = datetime.fromtimestamp(START / 1000, UTC)
    both.put(written(SpendingMemory(now, (), (Scavenger("default/free", ("default-free",)),))))
    both.look()
    both.wait(3600)
    assert both.spent["red"] == pytest.approx(1)
    assert both.billed()["red"] == 3
    assert (both.uses["red", "productive", False], both.uses["red", "productive", True]) == (HOUR, 2 * HOUR)


def test_what_is_lent_is_what_is_guaranteed_and_not_free() -> None:
    both = Both(namespace("default"), gpu_node("n"))
    both.put(seated("r0", "red", 6, 0, 0))
    seen = Observation(START, both.state.snapshot(), POLICY, (), frozenset())
    both.books.see(seen)
    both.books.see(replace(seen, at=START + 60_000))
    assert dict(both.books.close(START + 60_000).reading.lent) == {(START // 86_400_000, "blue"): 2 * 60_000}
