"""Budgets: who pays for what and until when, who waits because nothing is left, and what is remembered."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from maitred.cluster.queues.book import in_queues
from maitred.controllers.keeping import kept_as
from maitred.decide import decide as decide_snapshot
from maitred.decide.queues.budgets import settle
from maitred.model.memory import LONGEST
from maitred.model.meta import Timestamp
from maitred.model.periods import period_bounds
from maitred.model.spending import BUDGETS, SpendingMemory, spending_of
from maitred.verify import verify
from tests.oracle import builders as b
from tests.support import NOON, Obj, decide, policy_of, read, snapshot_of, state_of

NOW = msgspec.convert(NOON, Timestamp)
TODAY, TOMORROW = "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z"
MODEL = "nvidia.com/gpu.product"
RUNTIME: Obj = {"default": "2h"}


def policy(hours: float = 100, period: str = "day", **more: Any) -> Obj:
    return {
        "queues": [
            {"name": "team", "budget": {"deviceHours": hours, "period": period, **more}, "runtime": RUNTIME}
        ]
    }


def asks(name: str, gpus: int, limit: str = "", node: str = "", since: str = "", **fields: Any) -> Obj:
    """A pod of the queue team; with a node it runs there, since some time."""
    marks = {"maitred.dev/queue": fields.pop("queue", "team")}
    if limit:
        marks["maitred.dev/max-runtime"] = limit
    pod = b.pod(name, gpu=gpus, node=node or None, annotations=marks, **fields)
    if since:
        pod.setdefault("status", {})["startTime"] = since
    return pod


def remembered(at: str, **queues: Obj) -> Obj:
    rows = [{"queue": name, "unit": "device-hours", "begun": TODAY, **said} for name, said in queues.items()]
    text = msgspec.json.encode({"at": at, "queues": rows}).decode()
    meta = b.metadata("maitred-budgets", "maitred-system", {"maitred.dev/record": "budgets"})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"record": text}}


def bound(plan: Obj) -> list[str]:
    return [bind["pod"].removeprefix("default/") for bind in plan["binds"]]


def blocker(plan: Obj, group: str) -> Obj:
    (entry,) = (one for one in plan["groups"] if one["group"] == f"default/{group}")
    found: Obj = entry["blockers"][0]
    return found


def spending(plan: Obj, queue: str = "team") -> Obj:
    (found,) = (one for one in plan["budgets"]["queues"] if one["queue"] == queue)
    return dict(found)


def judged(objects: list[Obj], plan: Obj, rules: Obj) -> list[str]:
    return [str(one) for one in verify(objects, plan, rules, now=NOW)]


# -- who waits -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hours", "limit", "fits"),
    [
        (16, "", True),
        (15.9, "", False),
        (8, "1h", True),
        (7.9, "1h", False),
        (95, "12h", False),
        (96, "12h", True),
    ],
)
def test_a_group_starts_if_its_budget_pays_for_it_until_its_end(hours: float, limit: str, fits: bool) -> None:
    """Without a limit of its own it has that of its queue, two hours."""
    objects, rules = [b.node("n", gpu=8), asks("g", 8, limit)], policy(hours)
    plan = decide(objects, rules)
    assert bound(plan) == (["g"] if fits else [])
    assert judged(objects, plan, rules) == []
    if not fits:
        assert blocker(plan, "g")["category"] == "Budget"


def test_the_blocker_says_how_much_is_left_until_when_and_what_helps() -> None:
    running = asks("r", 8, "6h", node="n", since="2026-01-31T08:00:00Z")
    plan = decide([b.node("n", gpu=32), running, asks("g", 16, "4h")], policy(100))
    found = blocker(plan, "g")
    assert found["message"] == (
        "it would fit, but queue team may spend 100 device-hours a day: 32 are spent and 16 committed, and "
        "the group needs 64 (16 an hour until its end); set maitred.dev/max-runtime to 3h15m or less, or "
        "wait for 2026-02-01T00:00:00Z, when the next day begins"
    )
    numbers = {
        name: found["detail"][name] for name in ("budget", "spent", "committed", "asked", "affordable")
    }
    assert numbers == {"budget": 100, "spent": 32, "committed": 16, "asked": 64, "affordable": "3h15m"}
    assert (found["detail"]["queue"], found["detail"]["until"]) == ("team", TOMORROW)


def test_with_the_run_time_that_it_is_told_it_starts() -> None:
    running = asks("r", 8, "6h", node="n", since="2026-01-31T08:00:00Z")
    plan = decide([b.node("n", gpu=32), running, asks("g", 16, "3h15m")], policy(100))
    assert bound(plan) == ["g"]


def test_what_no_period_can_pay_for_is_told_so() -> None:
    found = blocker(decide([b.node("n", gpu=8), asks("g", 8, "10h")], policy(40)), "g")
    assert found["message"].endswith(
        "no day pays for so much: set maitred.dev/max-runtime to 5h or less, or ask for fewer devices or for "
        "a larger budget"
    )


def test_one_cycle_commits_what_it_gives_away() -> None:
    objects = [b.node("n", gpu=8), *(asks(f"g{n}", 1, "1h") for n in range(6))]
    plan = decide(objects, policy(4))
    assert len(bound(plan)) == 4
    assert judged(objects, plan, policy(4)) == []


def test_members_above_the_quorum_start_as_far_as_it_pays() -> None:
    objects = [b.node("n", gpu=8), b.pod_group("gang", 2)]
    objects += [asks(f"m{n}", 1, "1h", group="gang") for n in range(6)]
    assert len(bound(decide(objects, policy(4)))) == 4
    assert bound(decide(objects, policy(1))) == []


def test_a_group_that_runs_stays_whatever_is_spent() -> None:
    running = asks("r", 8, "2h", node="n", since="2026-01-31T01:00:00Z")
    plan = decide([b.node("n", gpu=16), running, asks("g", 1)], policy(10))
    assert (bound(plan), plan["evictions"]) == ([], [])
    assert spending(plan)["spent"] == 88


def test_nobody_leaves_for_a_group_that_cannot_be_paid() -> None:
    running = asks("r", 8, "24h", node="n", since=NOON, queue="default", priority=0)
    objects = [b.node("n", gpu=8), running, asks("g", 8, "2h", priority=100)]
    for hours, evicted in ((16, ["default/r"]), (15, [])):
        rules = policy(hours)
        rules["queues"][0]["limits"] = [{"resource": b.GPU, "guarantee": 8}]
        plan = decide(objects, rules)
        assert [one["pod"] for one in plan["evictions"]] == evicted
        assert judged(objects, plan, rules) == []


def test_pods_without_devices_cost_nothing() -> None:
    objects = [b.node("n", cpu=8), b.pod("p", cpu=4, annotations={"maitred.dev/queue": "team"})]
    assert bound(decide(objects, policy(0))) == ["p"]


def test_a_budget_pays_for_all_queues_below() -> None:
    tree: Obj = {
        "queues": [
            {"name": "top", "budget": {"deviceHours": 12, "period": "day"}, "runtime": RUNTIME},
            {"name": "one", "parent": "top", "budget": {"deviceHours": 100, "period": "week"}},
            {"name": "two", "parent": "top"},
        ]
    }
    running = asks("r", 4, "2h", node="n", since="2026-01-31T11:00:00Z", queue="one")
    objects = [b.node("n", gpu=8), running, asks("g", 4, "1h", queue="two"), asks("h", 1, "1h", queue="two")]
    plan = decide(objects, tree)
    assert bound(plan) == ["g"]
    assert blocker(plan, "h")["detail"]["queue"] == "top"
    assert [spending(plan, name)["spent"] for name in ("top", "one")] == [4, 4]
    assert judged(objects, plan, tree) == []


# -- money ---------------------------------------------------------------------------------------------


def test_money_is_charged_by_the_model_that_a_group_gets() -> None:
    prices = [{"model": "H100", "perHour": 3}, {"model": "A100", "perHour": 1.5}]
    rules: Obj = {"prices": {"devices": prices, "currency": "EUR"}}
    budget = {"money": 25, "period": "day"}
    rules["queues"] = [{"name": "team", "budget": budget, "runtime": RUNTIME}]
    nodes = [b.node("h", gpu=8, labels={MODEL: "H100"}), b.node("a", gpu=8, labels={MODEL: "A100"})]
    plan = decide([*nodes, asks("g", 8, "2h")], rules)
    assert [bind["node"] for bind in plan["binds"]] == ["a"]
    assert judged([*nodes, asks("g", 8, "2h")], plan, rules) == []
    assert "25 EUR a day" in blocker(decide([nodes[0], asks("g", 8, "2h")], rules), "g")["message"]


NIGHTS: Obj = {"from": "14:00", "until": "06:00", "factor": 0.5}
DEAR_MONDAYS: Obj = {"days": ["Mon"], "factor": 10}


def by_the_hour(money: float, *hours: Obj, period: str = "day") -> Obj:
    """Noon is on a Saturday."""
    prices = {"devices": [{"perHour": 1}], "hours": list(hours), "currency": "EUR"}
    budget = {"money": money, "period": period}
    return {"prices": prices, "queues": [{"name": "team", "budget": budget, "runtime": RUNTIME}]}


@pytest.mark.parametrize(
    ("money", "limit", "hours", "fits"),
    [
        (24, "4h", (NIGHTS,), True),  # two hours for 8 each, and two for 4
        (23.9, "4h", (NIGHTS,), False),
        (16, "2h", (NIGHTS,), True),
        (15.9, "2h", (NIGHTS,), False),
        (0, "2h", ({"factor": 0},), True),
        # On Monday each hour costs ten times as much: 8 x 24 on the days before, and 8 x 10 x 24.
        (1919, "60h", (DEAR_MONDAYS,), False),
        (1920, "60h", (DEAR_MONDAYS,), True),
        # Monday is the third day; a week later it is the tenth.
        (1919, "230h", ({**DEAR_MONDAYS, "days": ["Sun"]},), False),
    ],
)
def test_each_hour_costs_what_it_costs(money: float, limit: str, hours: tuple[Obj, ...], fits: bool) -> None:
    objects, rules = [b.node("n", gpu=8), asks("g", 8, limit)], by_the_hour(money, *hours)
    plan = decide(objects, rules)
    assert bound(plan) == (["g"] if fits else [])
    assert judged(objects, plan, rules) == []


def test_the_blocker_says_for_how_long_the_money_lasts_by_the_hour() -> None:
    found = blocker(decide([b.node("n", gpu=8), asks("g", 8, "6h")], by_the_hour(28, NIGHTS)), "g")
    assert found["message"].startswith(
        "it would fit, but queue team may spend 28 EUR a day: 0 are spent and 0 committed, and the group "
        "needs 32 (8 an hour at plain prices, until its end); no day pays for so much: set "
        "maitred.dev/max-runtime to 5h or less"
    )


def test_when_prices_change_it_is_decided_again() -> None:
    objects = [b.node("n", gpu=8), asks("g", 8, "2h")]
    assert decide(objects, by_the_hour(12, NIGHTS))["wakeAt"] == "2026-01-31T14:00:00Z"
    later = "2026-01-31T14:00:00Z"
    assert bound(decide(objects, by_the_hour(12, NIGHTS), later)) == ["g"]


def test_a_run_across_a_change_of_price_has_spent_each_part() -> None:
    objects = [b.node("n", gpu=8), asks("r", 8, "8h", node="n", since="2026-01-31T10:00:00Z")]
    rules = by_the_hour(100, {"from": "11:00", "until": "13:00", "factor": 3})
    plan = decide(objects, rules)
    found = spending(plan)
    assert (found["spent"], found["rate"], found["committed"]) == (8 + 24, 8, 24 + 5 * 8)
    assert judged(objects, plan, rules) == []
    plan["budgets"]["queues"][0]["spent"] = 16
    assert any("has spent 16, and it is 32" in told for told in judged(objects, plan, rules))


# -- periods -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("period", "now", "begin", "ends"),
    [
        ("day", "2026-02-28T23:59:59Z", "2026-02-28", ["2026-03-01", "2026-03-02"]),
        ("week", "2026-01-31T12:00:00Z", "2026-01-26", ["2026-02-02", "2026-02-09"]),
        ("week", "2026-02-02T00:00:00Z", "2026-02-02", ["2026-02-09", "2026-02-16"]),
        ("month", "2026-12-31T12:00:00Z", "2026-12-01", ["2027-01-01", "2027-02-01"]),
        ("month", "2024-02-29T12:00:00Z", "2024-02-01", ["2024-03-01", "2024-04-01"]),
    ],
)
def test_periods_are_of_the_calendar(period: Any, now: str, begin: str, ends: list[str]) -> None:
    moment = round(datetime.fromisoformat(now).timestamp() * 1000)
    found = [
        datetime.fromtimestamp(one / 1000, UTC).date().isoformat() for one in period_bounds(period, moment, 2)
    ]
    assert found == [begin, *ends]


def test_what_reaches_into_the_next_period_is_paid_by_that() -> None:
    """At noon, 12 hours are left of the day. What was spent before it began counts in the day before."""
    old = asks("old", 1, "48h", node="n", since="2026-01-30T00:00:00Z")
    assert spending(decide([b.node("n", gpu=9), old], policy(100)))["spent"] == 12
    objects = [b.node("n", gpu=8), asks("g", 8, "14h")]
    assert bound(decide(objects, policy(96))) == ["g"]
    objects = [b.node("n", gpu=8), asks("g", 8, "30h")]
    plan = decide(objects, policy(100))
    assert bound(plan) == []
    assert blocker(plan, "g")["detail"]["begins"] == TOMORROW
    assert judged(objects, plan, policy(100)) == []


def test_a_longer_month_that_comes_later_is_looked_at() -> None:
    """February pays for 28 days, and March has 31."""
    plan = decide([b.node("n", gpu=1), asks("g", 1, "80d")], policy(700, "month"))
    assert bound(plan) == []
    assert blocker(plan, "g")["detail"]["begins"] == "2026-03-01T00:00:00Z"
    assert bound(decide([b.node("n", gpu=1), asks("g", 1, "80d")], policy(744, "month"))) == ["g"]


def test_a_plan_says_when_the_next_period_begins() -> None:
    assert decide([b.node("n", gpu=1)], policy(1))["wakeAt"] == TOMORROW


# -- what is remembered --------------------------------------------------------------------------------


def test_what_has_ended_is_paid_for_until_it_was_seen_to_be_gone() -> None:
    """Of 6 devices 4 are still there. The other two had a device-hour committed, and paid for half of it."""
    kept = remembered("2026-01-31T11:45:00Z", team={"spent": 20.0, "rate": 6.0, "committed": 8.0})
    running = asks("r", 4, "2h", node="n", since="2026-01-31T11:30:00Z")
    objects = [b.node("n", gpu=8), running, kept]
    plan = decide(objects, policy(100))
    assert spending(plan) == {
        "queue": "team",
        "unit": "device-hours",
        "begun": TODAY,
        "spent": 20 + 4 * 0.25 + 2 * 0.25,
        "rate": 4.0,
        "committed": 6.0,
        "kept": 0.0,
        "idle": 0.0,
    }
    assert judged(objects, plan, policy(100)) == []


def test_what_nobody_saw_end_costs_no_more_than_was_committed() -> None:
    kept = remembered("2026-01-31T08:00:00Z", team={"spent": 20.0, "rate": 2.0, "committed": 3.0})
    plan = decide([b.node("n", gpu=8), kept], policy(100))
    assert spending(plan)["spent"] == 23


def test_what_came_since_then_pays_from_its_own_start() -> None:
    kept = remembered("2026-01-31T11:00:00Z", team={"spent": 20.0, "rate": 0.0})
    running = asks("r", 4, "2h", node="n", since="2026-01-31T11:30:00Z")
    assert spending(decide([b.node("n", gpu=8), running, kept], policy(100)))["spent"] == 22


def test_without_a_record_what_runs_has_spent_what_it_has_run() -> None:
    """In this period."""
    running = asks("r", 4, "20h", node="n", since="2026-01-30T18:00:00Z")
    plan = decide([b.node("n", gpu=8), running], policy(100))
    assert (spending(plan)["spent"], spending(plan)["committed"]) == (48, 8)


def test_a_new_period_begins_with_nothing_spent() -> None:
    kept = remembered(
        "2026-01-30T23:00:00Z",
        team={"spent": 99.0, "rate": 1.0, "committed": 9.0, "begun": "2026-01-30T00:00:00Z"},
    )
    plan = decide([b.node("n", gpu=8), kept, asks("g", 8, "1h")], policy(17))
    assert bound(plan) == ["g"]
    assert spending(plan)["spent"] == 9  # as much as could have been spent since midnight


def test_a_limit_that_is_passed_is_renewed_by_the_hour() -> None:
    running = asks("r", 1, "1h", node="n", since="2026-01-31T08:30:00Z")
    assert spending(decide([b.node("n", gpu=8), running], policy(100)))["committed"] == 0.5


WRONG: dict[str, tuple[Obj | None, str]] = {
    "spent too little": ({"spent": 1.0}, "says that queue team has spent 1, and it is 21.5"),
    "another rate": ({"rate": 9.0}, "says that queue team spends by the hour 9, and it is 4"),
    "committed too little": ({"committed": 0.0}, "says that queue team has committed 0, and it is 6"),
    "another period": ({"begun": TOMORROW}, "spends device-hours since 2026-02-01"),
    "no queue": ({"queue": "other"}, "speaks of other, which has no budget"),
    "nothing": (None, "of team has changed, and is not written down"),
}


@pytest.mark.parametrize(("change", "fault"), WRONG.values(), ids=WRONG.keys())
def test_the_checker_finds_what_is_remembered_wrongly(change: Obj | None, fault: str) -> None:
    kept = remembered("2026-01-31T11:45:00Z", team={"spent": 20.0, "rate": 6.0, "committed": 8.0})
    running = asks("r", 4, "2h", node="n", since="2026-01-31T11:30:00Z")
    objects = [b.node("n", gpu=8), running, kept]
    plan = decide(objects, policy(100))
    assert judged(objects, plan, policy(100)) == []
    plan["budgets"] = change and plan["budgets"] | {"queues": [plan["budgets"]["queues"][0] | change]}
    assert fault in " ".join(judged(objects, plan, policy(100)))


def test_the_checker_finds_groups_that_no_budget_pays() -> None:
    running = asks("r", 2, "3h", node="n", since="2026-01-31T11:00:00Z")
    objects = [b.node("n", gpu=8), running, asks("g", 4, "1h")]
    plan = decide(objects, policy(10))
    assert (bound(plan), judged(objects, plan, policy(10))) == (["g"], [])
    (fault,) = judged(objects, plan, policy(9))
    assert "commits 4 device-hours to groups that start, and of 9" in fault
    assert "6 are spent or committed" in fault
    (none,) = judged([b.node("n", gpu=8)], {"budgets": plan["budgets"]}, {"queues": [{"name": "team"}]})
    assert "although no queue has a budget" in none


def test_a_job_that_has_had_its_time_ends_nobody_who_starts_now() -> None:
    """Its controller may be late. What is committed is the limit of the queue, not nothing."""
    late = b.owner_object("batch/v1", "Job", "j", "default", {"activeDeadlineSeconds": 60})
    late["status"] = {"startTime": "2026-01-31T08:00:00Z"}
    for hours, fits in ((16, ["g"]), (15.9, [])):
        objects = [b.node("n", gpu=8), late, asks("g", 8, owner="Job/j")]
        plan = decide(objects, policy(hours))
        assert (bound(plan), judged(objects, plan, policy(hours))) == (fits, [])


def test_another_unit_begins_anew() -> None:
    kept = remembered("2026-01-31T11:59:30Z", team={"spent": 99.0, "unit": "EUR"})
    assert bound(decide([b.node("n", gpu=8), kept, asks("g", 8, "1h")], policy(8))) == ["g"]
    ran = remembered("2026-01-31T11:59:30Z", team={"spent": 9.0, "rate": 4.0, "unit": "EUR"})
    idle = decide([b.node("n", gpu=8), ran], policy())
    assert (idle["budgets"], judged([b.node("n", gpu=8), ran], idle, policy())) == (None, [])


def test_it_is_written_down_when_somebody_comes_or_leaves_and_else_once_a_minute() -> None:
    running = asks("r", 4, "2h", node="n", since="2026-01-31T11:30:00Z")
    said: Obj = {"spent": 2.0, "rate": 4.0, "committed": 6.0}
    late = decide([b.node("n", gpu=8), running, remembered("2026-01-31T11:59:00Z", team=said)], policy())
    soon = decide([b.node("n", gpu=8), running, remembered("2026-01-31T11:59:30Z", team=said)], policy())
    gone = decide([b.node("n", gpu=8), remembered("2026-01-31T11:59:30Z", team=said)], policy())
    assert (late["budgets"]["at"], soon["budgets"], gone["budgets"]["at"]) == (NOON, None, NOON)
    assert (late["wakeAt"], soon["wakeAt"]) == ("2026-01-31T12:01:00Z", "2026-01-31T12:00:30Z")


def test_a_budget_without_use_is_not_written_down() -> None:
    kept = remembered("2026-01-31T08:00:00Z", team={"spent": 2.0})
    assert decide([b.node("n", gpu=8), kept], policy())["budgets"] is None
    assert decide([b.node("n", gpu=8)], policy())["budgets"] is None


def test_without_budgets_nothing_is_remembered() -> None:
    kept = remembered("2026-01-31T08:00:00Z", team={"spent": 2.0, "rate": 2.0})
    plan = decide([b.node("n", gpu=8), kept], {"queues": [{"name": "team"}]})
    assert (plan["budgets"], plan["wakeAt"]) == (None, None)


@pytest.mark.parametrize(("hours", "said"), [(21, []), (20, ["80%"]), (16.5, ["80%"]), (16, ["100%"])])
def test_plans_warn_at_the_shares_that_the_policy_states(hours: float, said: list[str]) -> None:
    running = asks("r", 4, "4h", node="n", since="2026-01-31T10:00:00Z")
    warnings = decide([b.node("n", gpu=8), running], policy(hours, warnAt=[0.8, 1.0]))["warnings"]
    end = f"that it may spend until {TOMORROW}"
    assert warnings == [
        f"queue team has spent or committed {p} of the {hours:g} device-hours {end}" for p in said
    ]


# -- what cannot be believed ---------------------------------------------------------------------------


def said(more: str, count: int = 1) -> str:
    row = f'{{"queue": "team", "unit": "device-hours", "begun": "{NOON}"{more}}}'
    return f'{{"at": "{NOON}", "queues": [{", ".join([row] * count)}]}}'


BROKEN = {
    "no JSON": "{",
    "no time": '{"queues": []}',
    "less than nothing": said(', "spent": -1'),
    "beyond all numbers": said(', "rate": 1e999'),
    "a queue twice": said("", 2),
    "too long": f'{{"at": "{NOON}", "x": "{"x" * LONGEST}"}}',
    "the future": '{"at": "2026-01-31T12:01:01Z", "queues": []}',
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_broken_is_ignored_and_said(text: str) -> None:
    objects = [b.node("n", gpu=8), asks("r", 4, "2h", node="n", since="2026-01-31T11:00:00Z")]
    rules, state = policy_of(policy()), state_of(read(objects))
    alone = decide_snapshot(state.snapshot(), rules, NOW)
    kept, problem = spending_of(kept_as(text, BUDGETS))
    plan = decide_snapshot(replace(state.snapshot(), spending=kept, unread_spending=problem), rules, NOW)
    assert plan.budgets == alone.budgets
    [warning] = plan.warnings
    assert warning.startswith(
        "what is remembered of budgets (maitred-budgets) cannot be read, so it is ignored: "
    )


def test_the_record_stays_within_its_size() -> None:
    """Of ten thousand queues with the longest of names, those that have spent most are remembered."""
    names = [f"{'q' * 50}-{number:05}" for number in range(9_999)]
    budget = {"deviceHours": 1e6, "period": "day"}
    rules = policy_of({"queues": [{"name": name, "budget": budget, "runtime": RUNTIME} for name in names]})
    rows = [
        {"queue": name, "unit": "device-hours", "begun": TODAY, "spent": 1.0 + n, "rate": 0.125}
        for n, name in enumerate(names)
    ]
    kept = msgspec.convert({"at": "2026-01-31T11:00:00Z", "queues": rows}, SpendingMemory)
    snapshot = replace(in_queues(snapshot_of([]), rules, None), spending=kept)
    found = settle(snapshot, rules, NOW).memory
    assert found is not None
    assert LONGEST / 2 < len(str(found)) <= LONGEST
    assert {one.queue for one in found.queues} == set(names[-len(found.queues) :])


def test_the_order_in_which_pods_are_known_changes_nothing() -> None:
    pods = [
        asks(f"r{n}", 1 + n % 3, f"{1 + n % 5}h", node="n", since=f"2026-01-31T11:{n:02}:07Z")
        for n in range(40)
    ]
    for period in ("day", "month"):
        rules = policy(1e6, period)
        plans = [decide([b.node("n", gpu=400), *order], rules)["budgets"] for order in (pods, pods[::-1])]
        assert plans[0] == plans[1]


def test_a_clock_that_goes_back_a_little_does_no_harm() -> None:
    said: Obj = {"spent": 2.0, "rate": 4.0, "committed": 6.0}
    at = (NOW + timedelta(seconds=30)).isoformat()
    plan = decide(
        [
            b.node("n", gpu=8),
            asks("r", 4, "2h", node="n", since="2026-01-31T11:30:00Z"),
            remembered(at, team=said),
        ],
        policy(),
    )
    assert (plan["budgets"], plan["warnings"]) == (None, [])
