"""Groups that run without paying, because the budget of their queue is spent, while nobody pays for their
places."""

from typing import Any

import msgspec
import pytest

from maitred.cluster.queues.book import in_queues
from maitred.cluster.trial import Trial
from maitred.controllers.keeping import kept_as
from maitred.decide.queues.budgets import with_scavengers
from maitred.model.memory import LONGEST
from maitred.model.meta import Timestamp
from maitred.model.spending import QueueSpending, Scavenger, SpendingMemory, spending_of
from maitred.verify import verify
from tests.oracle import builders as b
from tests.support import NOON, Obj, decide, policy_of, snapshot_of

NOW = msgspec.convert(NOON, Timestamp)
RUNTIME: Obj = {"default": "2h"}


def policy(hours: float = 16, cap: int | None = None, **more: Any) -> Obj:
    """The queue team pays for so many device-hours a day; others pay nothing."""
    budget = {"deviceHours": hours, "period": "day", "onSpent": "scavenge", **more}
    limits = [] if cap is None else [{"resource": b.GPU, "cap": cap}]
    team = {"name": "team", "budget": budget, "runtime": RUNTIME, "limits": limits}
    return {"queues": [team, {"name": "other"}]}


def asks(name: str, gpus: int = 8, node: str = "", queue: str = "team", **fields: Any) -> Obj:
    """A pod; with a node it runs there for an hour."""
    marks = {"maitred.dev/queue": queue, **fields.pop("marks", {})}
    pod = b.pod(name, gpu=gpus, node=node or None, annotations=marks, **fields)
    if node:
        pod["status"] = {"startTime": "2026-01-31T11:00:00Z"}
    return pod


def remembered(*groups: tuple[str, list[str]], at: str = "2026-01-31T11:59:30Z", **spent: Any) -> Obj:
    row = {"queue": "team", "unit": "device-hours", "begun": "2026-01-31T00:00:00Z", **spent}
    said = [{"group": f"default/{group}", "pods": [f"default-{p}" for p in pods]} for group, pods in groups]
    record = {"at": at, "queues": [row] if spent else [], "scavengers": said}
    meta = b.metadata("maitred-budgets", "maitred-system")
    data = {"record": msgspec.json.encode(record).decode()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def judged(objects: list[Obj], rules: Obj) -> Obj:
    """The Plan, in which the checker finds no fault."""
    plan = decide(objects, rules)
    assert [str(one) for one in verify(objects, plan, rules, now=NOW)] == []
    return plan


def bound(plan: Obj) -> list[str]:
    return [bind["pod"].removeprefix("default/") for bind in plan["binds"]]


def free(plan: Obj) -> list[str]:
    """Pods that run without paying from now on."""
    return [pod for one in plan["budgets"]["scavengers"] for pod in one["pods"]]


def evicted(plan: Obj) -> list[tuple[str, str]]:
    return [(one["pod"].removeprefix("default/"), one["cause"]) for one in plan["evictions"]]


def blocker(plan: Obj, group: str) -> Obj:
    (entry,) = (one for one in plan["groups"] if one["group"] == f"default/{group}")
    found: Obj = entry["blockers"][0]
    return found


# -- who runs for nothing ------------------------------------------------------------------------------


def test_what_the_budget_cannot_pay_for_runs_and_commits_nothing() -> None:
    objects = [b.node("n", gpu=24), asks("a"), asks("g"), asks("h")]
    plan = judged(objects, policy())
    assert bound(plan) == ["a", "g", "h"]
    assert free(plan) == ["default-g", "default-h"]
    running = [asks(name, node="n") for name in ("a", "g", "h")]
    plan = judged([b.node("n", gpu=24), *running, remembered(("g", ["g"]), ("h", ["h"]))], policy())
    (row,) = plan["budgets"]["queues"]
    assert (row["rate"], row["spent"], row["committed"]) == (8, 8, 8)
    assert free(plan) == ["default-g", "default-h"]


def test_whoever_pays_goes_first_whatever_the_priorities() -> None:
    objects = [b.node("n", gpu=8), asks("g", priority=1000), asks("p", queue="other", priority=-1000)]
    plan = judged(objects, policy(15))
    assert bound(plan) == ["p"]
    found = blocker(plan, "g")
    assert found["message"].endswith(
        "; queue team has 15 of 15 device-hours left, and the group needs 16, so it runs only where nobody "
        "who pays wants to"
    )
    assert found["detail"]["scavenges"] is True
    assert found["detail"]["preemption"] == "it would run without paying, so no pod leaves for it"


def test_among_those_who_do_not_pay_priority_decides() -> None:
    objects = [b.node("n", gpu=8), asks("a", priority=1), asks("b", priority=2)]
    assert bound(judged(objects, policy(0))) == ["b"]


def test_with_wait_everybody_waits_as_before() -> None:
    plan = judged([b.node("n", gpu=16), asks("a"), asks("g")], policy(onSpent="wait"))
    assert bound(plan) == ["a"]
    assert blocker(plan, "g")["category"] == "Budget"


@pytest.mark.parametrize(("above", "runs"), [("wait", False), ("scavenge", True)])
def test_every_budget_that_is_short_must_let_it(above: str, runs: bool) -> None:
    rules = policy(0)
    top = {"name": "top", "runtime": RUNTIME}
    top["budget"] = {"deviceHours": 0, "period": "day", "onSpent": above}
    rules["queues"] = [top, {**rules["queues"][0], "parent": "top"}]
    assert bound(judged([b.node("n", gpu=8), asks("g")], rules)) == (["g"] if runs else [])


def test_they_count_for_caps() -> None:
    objects = [b.node("n", gpu=24), asks("a"), asks("g"), asks("h")]
    plan = judged(objects, policy(cap=16))
    assert bound(plan) == ["a", "g"]
    assert blocker(plan, "h")["category"] == "Quota"


def test_a_group_that_pays_waits_with_the_rest_of_its_members() -> None:
    """Its members do not differ: the surplus is not free while the quorum pays."""
    objects = [b.node("n", gpu=8), b.pod_group("gang", 2)]
    objects += [asks(f"m{n}", 1, group="gang") for n in range(6)]
    plan = judged(objects, policy(8))
    assert len(bound(plan)) == 4
    assert plan["budgets"] is None
    assert blocker(plan, "gang")["category"] == "Budget"


def test_a_gang_runs_for_nothing_as_a_whole() -> None:
    objects = [b.node("n", gpu=8), b.pod_group("gang", 2)]
    objects += [asks(f"m{n}", 1, group="gang") for n in range(6)]
    plan = judged(objects, policy(1))
    assert len(bound(plan)) == len(free(plan)) == 6
    assert [one["group"] for one in plan["budgets"]["scavengers"]] == ["default/gang"]


# -- standing ------------------------------------------------------------------------------------------


def test_late_members_join_as_the_others_run() -> None:
    """Also once the budget could pay."""
    objects = [b.node("n", gpu=8), b.pod_group("gang", 1), asks("m0", 1, node="n", group="gang")]
    objects += [asks("m1", 1, group="gang"), remembered(("gang", ["m0"]))]
    plan = judged(objects, policy(1000))
    assert bound(plan) == ["m1"]
    assert free(plan) == ["default-m0", "default-m1"]
    paying = judged([*objects[:-1], remembered(spent=1.0)], policy(0))
    assert bound(paying) == []


def test_a_gang_that_pays_and_has_lost_a_member_pays_for_the_next_one_too() -> None:
    """Or waits for it: no gang is half free."""
    objects = [b.node("n", gpu=8), b.pod_group("gang", 2), asks("m0", 1, node="n", group="gang")]
    objects.append(asks("m1", 1, group="gang"))
    plan = judged(objects, policy(0))
    assert (bound(plan), blocker(plan, "gang")["category"]) == ([], "Budget")


def test_who_runs_for_nothing_does_so_until_it_ends() -> None:
    """The next period pays for those that start in it."""
    kept = remembered(("g", ["g"]), at="2026-01-30T23:59:30Z")
    objects = [b.node("n", gpu=8), asks("g", node="n"), kept]
    assert judged(objects, policy(1000))["budgets"] is None
    assert evicted(judged([*objects, asks("p")], policy(1000))) == [("g", "Budget")]
    assert free(judged([b.node("n", gpu=8), kept], policy(1000))) == []


def test_a_new_pod_of_that_name_starts_anew() -> None:
    kept = remembered(("g", ["g"]))
    objects = [b.node("n", gpu=8), asks("g"), kept]
    objects[1]["metadata"]["uid"] = "another"
    plan = judged(objects, policy(1000))
    assert (bound(plan), free(plan)) == (["g"], [])


def test_who_pays_goes_on_paying_when_nothing_is_left() -> None:
    objects = [b.node("n", gpu=8), asks("r", node="n"), asks("p", queue="other")]
    plan = judged(objects, policy(1))
    assert (bound(plan), evicted(plan)) == ([], [])


def test_without_the_record_whoever_runs_pays() -> None:
    objects = [b.node("n", gpu=8), asks("g", node="n"), asks("p", queue="other", priority=0)]
    assert evicted(judged(objects, policy(0))) == []
    assert evicted(judged([*objects, remembered(("g", ["g"]))], policy(0))) == [("g", "Budget")]


def test_the_record_stays_within_its_size() -> None:
    """Whoever is left out pays. What queues have spent stays in it."""
    some = [Scavenger(f"default/{'g' * 50}-{n:05}", (f"{n:036}",)) for n in range(20_000)]
    spent = QueueSpending("team", "device-hours", NOW, 8.0, 4.0, 2.0)
    memory = with_scavengers(SpendingMemory(NOW, (spent,), tuple(some[::2])), some[1::2])
    assert LONGEST / 2 < len(str(memory)) <= LONGEST
    assert memory.queues == (spent,)
    assert memory.scavengers == tuple(some[: len(memory.scavengers)])
    found, problem = spending_of(kept_as(str(memory), "maitred-budgets"))
    assert (found, problem) == (memory, "")


# -- what tenants write --------------------------------------------------------------------------------


def test_no_label_makes_a_group_run_for_nothing() -> None:
    """A pod that does is put into a group that pays: that one leaves with it, and pays all the same."""
    gang = [b.pod_group("gang", 2), asks("m0", 1, node="n", group="gang")]
    gang += [asks("m1", 1, node="n", group="gang"), asks("s", 1, node="n", group="gang")]
    kept = remembered(("s", ["s"]))
    plan = judged([b.node("n", gpu=3), *gang, kept], policy(1000))
    (row,) = plan["budgets"]["queues"]
    assert row["rate"] == 2
    waits = [asks("late", 1, group="gang")]
    plan = judged([b.node("n", gpu=4), *gang, *waits, kept], policy(1000))
    assert (bound(plan), free(plan)) == (["late"], ["default-s"])


def test_no_pod_that_is_put_beside_them_keeps_them_from_leaving() -> None:
    """Somebody has bound it himself; it pays for what it has."""
    gang = [b.pod_group("gang", 2), asks("m0", 4, node="n", group="gang")]
    gang += [asks("m1", 3, node="n", group="gang"), asks("x", 1, node="n", group="gang")]
    objects = [b.node("n", gpu=8), *gang, asks("p", queue="other"), remembered(("gang", ["m0", "m1"]))]
    plan = judged(objects, policy(1000))
    assert sorted(evicted(plan)) == [(pod, "Budget") for pod in ("m0", "m1", "x")]
    assert plan["budgets"]["queues"][0]["rate"] == 1


# -- who leaves ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("queue", ["other", "no-such-queue", ""])
def test_who_runs_for_nothing_and_names_another_queue_leaves_all_the_same(queue: str) -> None:
    """Marks can be changed while it runs. The one that pays ranks lower."""
    runs = asks("free", node="n", queue=queue, priority=1000)
    objects = [b.node("n", gpu=8), runs, asks("paid", queue="team"), remembered(("free", ["free"]))]
    plan = judged(objects, policy())
    assert evicted(plan) == [("free", "Budget")]
    assert plan["budgets"] is None, "it stays on record"


def test_the_receipt_says_why() -> None:
    objects = [b.node("n", gpu=8), asks("g", node="n", priority=1000), asks("p", queue="other", priority=0)]
    (one,) = judged([*objects, remembered(("g", ["g"]))], policy())["evictions"]
    assert (one["for"], one["cause"]) == ("default/p", "Budget")
    assert one["receipt"]["rule"] == (
        "it runs without paying, because the budget of queue team was spent when it started, and leaves for "
        "any group that pays"
    )


def test_one_that_waits_is_in_nobodys_way_whatever_its_priority() -> None:
    """The room that is made is not for it."""
    objects = [b.node("n", gpu=8), asks("g", node="n"), asks("s", priority=1000), asks("p", queue="other")]
    (one,) = judged([*objects, remembered(("g", ["g"]))], policy(8))["evictions"]
    assert (one["pod"], one["for"]) == ("default/g", "default/p")


def test_no_mark_protects_them() -> None:
    marks = {"maitred.dev/non-preemptible": "true", "maitred.dev/min-runtime": "24h"}
    objects = [b.node("n", gpu=8), asks("g", node="n", marks=marks), asks("p", queue="other")]
    assert evicted(judged([*objects, remembered(("g", ["g"]))], policy())) == [("g", "Budget")]


@pytest.mark.parametrize("how", ["policy", "group"])
def test_what_forbids_preemption_forbids_this_too(how: str) -> None:
    rules = policy() | ({"preemption": {"mode": "never"}} if how == "policy" else {})
    waits = asks("p", queue="other", preemption="Never" if how == "group" else None)
    objects = [b.node("n", gpu=8), asks("g", node="n"), waits, remembered(("g", ["g"]))]
    assert evicted(judged(objects, rules)) == []


def test_they_leave_before_anybody_who_pays() -> None:
    """Although their priority is higher, and more work is lost."""
    payer = asks("low", node="m", queue="other", priority=-5)
    free_one = asks("g", node="n", priority=50)
    objects = [b.node("n", gpu=8), b.node("m", gpu=8), payer, free_one, remembered(("g", ["g"]))]
    plan = judged([*objects, asks("p", queue="other", priority=10)], policy())
    assert evicted(plan) == [("g", "Budget")]
    (other,) = plan["evictions"][0]["receipt"]["alternatives"]
    assert other["worse"] == "touches groups that pay"


def test_a_group_of_their_own_queue_that_pays_takes_their_place_too() -> None:
    """At the cap of the queue."""
    objects = [b.node("n", gpu=16), asks("g", node="n"), asks("p"), remembered(("g", ["g"]))]
    assert evicted(judged(objects, policy(16, cap=8))) == [("g", "Budget")]


def test_guarantees_do_not_count_them() -> None:
    """What the queue is guaranteed is for its groups that pay: the one that comes reclaims what is lent."""
    rules = policy(16)
    rules["queues"][0]["limits"] = [{"resource": b.GPU, "guarantee": 8}]
    lent = asks("lent", node="m", queue="other", priority=100)
    free_one = asks("g", node="n")
    objects = [b.node("n", gpu=8), b.node("m", gpu=8, labels={"here": "yes"}), lent, free_one]
    pinned = asks("p", where={"here": "yes"})
    plan = judged([*objects, pinned, remembered(("g", ["g"]))], rules)
    assert evicted(plan) == [("lent", "Reclaim")]


def test_nobody_is_less_entitled_because_of_them() -> None:
    """A group that pays is within the guarantee, whatever runs beside it for nothing at a higher priority."""
    rules = policy(16)
    for queue in rules["queues"]:
        queue["limits"] = [{"resource": b.GPU, "guarantee": 8}]
    objects = [b.node("n", gpu=8), b.node("m", gpu=8, labels={"here": "yes"}), asks("a", node="m")]
    objects += [asks("g", node="n", priority=100), remembered(("g", ["g"]))]
    pinned = asks("p", queue="other", where={"here": "yes"}, priority=50)
    assert evicted(judged([*objects, pinned], rules)) == []
    assert evicted(judged([*objects, asks("p", queue="other")], rules)) == [("g", "Budget")]


def test_shares_are_of_what_is_paid_for() -> None:
    """All at once, and one by one."""
    rules = policy(16, cap=16)
    objects = [b.node("n", gpu=16), asks("a", 4, node="n"), asks("g", 8, node="n"), remembered(("g", ["g"]))]
    trial = Trial.of(in_queues(snapshot_of(objects, rules), policy_of(rules), None))
    assert trial.queues is not None
    shares = trial.queues.shares()
    assert shares == [trial.queues.share(queue) for queue in range(len(shares))] == [0.25, 0.0, 0.0]


# -- the checker ---------------------------------------------------------------------------------------

WRONG: dict[str, tuple[Obj, str]] = {
    "nobody who pays is free": (
        {"scavengers": [{"group": "default/a", "pods": ["default-a"]}]},
        "no budget that",
    ),
    "forgotten": ({"scavengers": []}, "forgets that default-g of default/g runs without paying"),
    "made up": (
        {"scavengers": [{"group": "default/g", "pods": ["default-g", "x"]}]},
        "says that default/g runs without paying, and x does not",
    ),
}


@pytest.mark.parametrize(("change", "fault"), WRONG.values(), ids=WRONG.keys())
def test_the_checker_finds_who_is_free_wrongly(change: Obj, fault: str) -> None:
    objects = [b.node("n", gpu=16), asks("g", node="n"), asks("a"), remembered(("g", ["g"]))]
    rules = policy(16)
    plan = decide(objects, rules)
    assert [str(one) for one in verify(objects, plan, rules, now=NOW)] == []
    plan["budgets"] = {"at": NOON, "queues": [], **change}
    assert fault in " ".join(str(one) for one in verify(objects, plan, rules, now=NOW))


def test_the_checker_finds_evictions_that_are_none_of_these() -> None:
    objects = [b.node("n", gpu=8), asks("g", node="n"), asks("p", queue="other", priority=10)]
    kept, rules = remembered(("g", ["g"])), policy()
    plan = decide([*objects, kept], rules)
    assert "is said to run without paying, and it pays" in " ".join(
        str(one) for one in verify(objects, plan, rules, now=NOW)
    )
    plan["evictions"][0]["cause"] = "Preemption"
    assert "is said to leave by Preemption, and it runs without paying" in " ".join(
        str(one) for one in verify([*objects, kept], plan, rules, now=NOW)
    )
