"""Published examples of other schedulers, with their numbers: the engine decides, and the checker judges.

`tests/oracle/test_queues.py` has the same examples for the oracle.
"""

from collections import Counter
from typing import Any

import msgspec
import pytest

from maitred.verify import verify
from tests.oracle import builders as b
from tests.support import NOON, Obj, decide


def queue(name: str, *limits: Obj, parent: str = "", **more: Any) -> Obj:
    return {"name": name, **({"parent": parent} if parent else {}), "limits": list(limits), **more}


def gpus(**amounts: int) -> Obj:
    return {"resource": b.GPU, **amounts}


def task(name: str, queue: str, started: int = 0, *, on: str = "", priority: int = 0, **requests: Any) -> Obj:
    """A pod that waits, or has run on a node since then."""
    body = b.pod(
        name,
        annotations={"maitred.dev/queue": queue},
        node=on or None,
        priority=priority,
        created=started,
        **{"cpu": None, "memory": None, **requests},
    )
    if on:
        body["status"]["startTime"] = b.moment(started)
    return body


def decided(objects: list[Obj], queues: list[Obj], **more: Obj) -> Obj:
    policy = {"queues": queues, **more}
    plan = decide(objects, policy)
    assert verify(objects, plan, policy) == []
    return plan


def bound(plan: Obj) -> Counter[str]:
    """How many tasks of each queue get their places: they are named after their queues."""
    return Counter(bind["pod"].removeprefix("default/").partition(".")[0] for bind in plan["binds"])


def evicted(plan: Obj) -> dict[str, str]:
    return {one["pod"].removeprefix("default/"): one["cause"] for one in plan["evictions"]}


# -- Dominant Resource Fairness, NSDI 2011, section 4.1 ----------------------------------------------------


def test_dominant_resource_fairness() -> None:
    """9 CPU and 18 GB. A task of A takes 1 CPU and 4 GB, one of B 3 CPU and 1 GB: A gets three, B two."""
    queues = [queue("A", {"resource": "cpu", "cap": 9}), queue("B", {"resource": "memory", "cap": "18G"})]
    tasks = [task(f"A.{n}", "A", cpu="1", memory="4G") for n in range(9)]
    tasks += [task(f"B.{n}", "B", cpu="3", memory="1G") for n in range(9)]
    plan = decided([b.node("n", cpu="9", memory="18G"), *tasks], queues)
    assert bound(plan) == {"A": 3, "B": 2}


# -- Kueue: concepts, ClusterQueue -------------------------------------------------------------------------

COHORT = b.node("n", cpu="21", memory="84Gi")


def team(name: str, cpu: int, gi: int, cap: int | None = None, **more: Any) -> Obj:
    most = {} if cap is None else {"cap": cap}
    memory = {"resource": "memory", "guarantee": f"{gi}Gi"}
    return queue(name, {"resource": "cpu", "guarantee": cpu, **most}, memory, **more)


@pytest.mark.parametrize(
    ("of_a", "of_b", "admitted"),
    [({}, {}, 21), ({"cap": 10}, {}, 10), ({}, {"lend": "never"}, 9)],
    ids=["12 + 9 = 21", "a borrowing limit of 1", "a lending limit of 0"],
)
def test_kueue_borrows_in_a_cohort(of_a: Obj, of_b: Obj, admitted: int) -> None:
    """Nominal quotas of 9 CPU and 36 Gi, and of 12 CPU and 48 Gi."""
    queues = [team("team-a", 9, 36, **of_a), team("team-b", 12, 48, **of_b)]
    tasks = [task(f"team-a.{n}", "team-a", cpu="1", memory="4Gi") for n in range(25)]
    assert bound(decided([COHORT, *tasks], queues)) == {"team-a": admitted}


@pytest.mark.parametrize(("cpu", "gone"), [("12", {"second": "Reclaim"}), ("13", {})])
def test_kueue_reclaims_within_the_cohort(cpu: str, gone: dict[str, str]) -> None:
    """`reclaimWithinCohort: Any`: who fits into the nominal quota takes back what was borrowed, whatever the
    priorities; who does not, takes nothing."""
    running = [
        task("first", "team-a", 1, on="n", priority=9, cpu="9", memory="36Gi"),
        task("second", "team-a", 2, on="n", priority=9, cpu="12", memory="48Gi"),
    ]
    claimant = task("third", "team-b", 3, cpu=cpu, memory="48Gi")
    queues = [team("team-a", 9, 36), team("team-b", 12, 48)]
    assert evicted(decided([COHORT, *running, claimant], queues)) == gone


# -- KAI and Run:ai ----------------------------------------------------------------------------------------


def test_runai_over_quota() -> None:
    """The quick start: 4 GPUs, 2 for each team. team-a runs two jobs, of 1 and 2; team-b runs one of 1, and
    another comes. There a1 leaves; here it started first, so it is entitled, and a2 leaves."""
    running = [
        task("a1", "team-a", 1, on="n", gpu=1),
        task("a2", "team-a", 2, on="n", gpu=2),
        task("b1", "team-b", 3, on="n", gpu=1),
    ]
    queues = [queue(name, gpus(guarantee=2)) for name in ("team-a", "team-b")]
    plan = decided([b.node("n", gpu=4), *running, task("b2", "team-b", 4, gpu=1)], queues)
    assert evicted(plan) == {"a2": "Reclaim"}


def test_kai_reclaims_over_quota_regardless_of_priority() -> None:
    """kai#2065, case 2: 12 GPUs, a quota of 8 for each; A runs three tasks of 4, and B wants 4."""
    running = [task(f"A{n}", "A", n, on="n", priority=90, gpu=4) for n in (1, 2, 3)]
    queues = [queue(name, gpus(guarantee=8)) for name in "AB"]
    plan = decided([b.node("n", gpu=12), *running, task("B1", "B", 4, priority=80, gpu=4)], queues)
    assert evicted(plan) == {"A3": "Reclaim"}


SHARED = [
    queue("priority", gpus(guarantee=8)),
    queue("shared", gpus(guarantee=4)),
    *(queue(name, gpus(guarantee=2), parent="shared") for name in ("alice", "bob")),
]


@pytest.mark.parametrize(
    ("claimant", "fair", "taken"), [("priority", False, 4), ("bob", False, 2), ("bob", True, 4)]
)
def test_kai_users_share_what_critical_workloads_leave(claimant: str, fair: bool, taken: int) -> None:
    """kai#1934: 8 GPUs, all used by Alice, who has a quota of 2 as Bob has. Bob gets his quota, and half of
    all if the policy says that shares are reclaimed, too. Critical workloads, with a quota of 8, take all
    that is beyond the quotas; there they take these as well, which a policy cannot promise here twice."""
    running = [task(f"alice.{n}", "alice", n + 1, on="n", gpu=1) for n in range(8)]
    waiting = [task(f"{claimant}.{n}", claimant, 100 + n, gpu=1) for n in range(8)]
    plan = decided([b.node("n", gpu=8), *running, *waiting], SHARED, fairShare={"reclaim": fair})
    assert Counter(evicted(plan).values()) == {"Reclaim": taken}


# -- Slurm: the tree of the classic fair-share documentation, by the rules of Fair Tree ----------------------

ACCOUNTS: dict[str, tuple[str, int]] = {
    "A": ("", 40),
    "D": ("", 60),
    "B": ("A", 30),
    "C": ("A", 10),
    "E": ("D", 25),
    "F": ("D", 35),
    "user-1": ("B", 1),
    "user-2": ("C", 1),
    "user-3": ("C", 1),
    "user-4": ("E", 1),
    "user-5": ("F", 1),
}
"""Accounts and users, with the account above and their shares."""
USED = {"user-1": 200, "user-2": 250, "user-4": 250}
"""Parts of a thousand of the machine."""


@pytest.mark.parametrize("free", range(1, 6))
def test_slurm_goes_by_shares_level_by_level(free: int) -> None:
    """Factors there: user 5 0.75, user 4 0.50, user 1 0.41, user 3 0.125, user 2 0.02. Fair Tree ranks them
    alike: account D before A, in D who has used nothing, in A account B before C."""
    queues = [
        queue(name, gpus(guarantee=0), parent=above, weight=shares)
        for name, (above, shares) in ACCOUNTS.items()
    ]
    rows = [{"queue": name, "had": {}, "average": {b.GPU: used}} for name, used in USED.items()]
    record = msgspec.json.encode({"at": NOON, "queues": rows}).decode()
    meta = b.metadata("maitred-usage", "maitred-system", {"maitred.dev/record": "usage"})
    usage = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"record": record}}
    waiting = [task(name, name, gpu=1) for name in USED.keys() | {"user-3", "user-5"}]
    plan = decided([b.node("n", gpu=free), *waiting, usage], queues, fairShare={"halfLife": "7d"})
    ranked = ["user-5", "user-4", "user-1", "user-3", "user-2"]
    assert set(bound(plan)) == set(ranked[:free])
