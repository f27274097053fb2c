"""What queues have used before: it decays as its formula says, orders who waits, and evicts nobody."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.cluster.queues.book import in_queues
from maitred.controllers.keeping import kept_as
from maitred.decide import decide as decide_snapshot
from maitred.decide.queues.past_use import SEEN, averaged, settle
from maitred.model.memory import LONGEST
from maitred.model.meta import Timestamp
from maitred.model.usage import SETTLED_EVERY, USAGE, UsageMemory, usage_of
from maitred.verify import verify
from tests.decide.test_queue_order import asks, cluster
from tests.oracle import builders as b
from tests.oracle.effort import examples
from tests.support import NOON, Obj, decide, policy_of, read, snapshot_of, state_of

HOUR, DAY = 3_600_000, 86_400_000
NOW = msgspec.convert(NOON, Timestamp)
BEGAN = "2026-01-31T11:50:00Z"
QUEUES: list[Obj] = [
    {"name": name, "limits": [{"resource": b.GPU, "guarantee": 0}]} for name in ("busy", "idle", "third")
]
POLICY: Obj = {"queues": QUEUES, "fairShare": {"halfLife": "1d"}}


def remembered(at: str = BEGAN, /, **averages: float) -> Obj:
    """With nothing but averages: when it was written, nobody had anything."""
    queues = [{"queue": name, "had": {}, "average": {b.GPU: used}} for name, used in averages.items()]
    text = msgspec.json.encode({"at": at, "queues": queues}).decode()
    meta = b.metadata("maitred-usage", "maitred-system", {"maitred.dev/record": "usage"})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"record": text}}


def usage_in(plan: Obj, queue: str, what: str = "average") -> float:
    found: dict[str, Any] = next(one for one in plan["usage"]["queues"] if one["queue"] == queue)
    return float(found[what].get(b.GPU, 0.0))


# -- the formula ---------------------------------------------------------------------------------------


@given(
    st.floats(0, 1e6),
    st.floats(0, 1e6),
    st.lists(st.integers(0, 3 * SEEN), min_size=1, max_size=6),
    st.integers(1, 30 * DAY),
)
@examples(100)
def test_decay_is_as_its_formula_however_often_it_is_settled(
    before: float, used: float, steps: list[int], half_life: int
) -> None:
    """avg(t) = avg(0) 2^(-t/H) + used (1 - 2^(-t/H)), while as much is used all the time."""
    average, use = np.array([before]), np.array([used])
    for step in steps:
        average = averaged(average, use, use, step, half_life)
    stays = 2.0 ** (-sum(steps) / half_life)
    assert average[0] == pytest.approx(before * stays + used * (1 - stays), rel=1e-9, abs=1e-9)


def test_what_nobody_has_seen_is_charged_to_nobody() -> None:
    nothing, some = np.zeros(1), np.full(1, 8.0)
    assert averaged(nothing, some, nothing, SEEN, HOUR)[0] > 0
    assert averaged(nothing, some, nothing, SEEN + 1, HOUR)[0] == 0
    assert averaged(nothing, nothing, some, SEEN + 1, HOUR)[0] == 0


def test_a_plan_says_what_is_to_be_remembered() -> None:
    """A day ago the queue third had used 8 devices on average; busy has had three ever since."""
    kept = remembered("2026-01-30T12:00:00Z", third=8.0)
    plan = decide([*cluster(), kept], POLICY, NOON)
    assert plan["usage"]["at"] == NOON
    assert usage_in(plan, "third") == 4.0
    assert (usage_in(plan, "busy"), usage_in(plan, "busy", "had")) == (0.0, 3.0)
    assert plan["wakeAt"] == "2026-01-31T12:05:00Z"
    assert verify([*cluster(), kept], plan, POLICY) == []


WRONG: dict[str, tuple[Obj | None, str]] = {
    "another average": (
        {"average": {b.GPU: 1.0}},
        "says that queue busy has had on average 1 nvidia.com/gpu",
    ),
    "another amount": ({"had": {b.GPU: 4.0}}, "says that queue busy has 4 nvidia.com/gpu, and it is 3"),
    "no queue": ({"queue": "idle"}, "says that queue busy has 0 nvidia.com/gpu, and it is 3"),
    "nothing": (None, "was written down 86400 s ago, and is not written down again"),
}


@pytest.mark.parametrize(("change", "fault"), WRONG.values(), ids=WRONG.keys())
def test_the_checker_finds_what_is_remembered_wrongly(change: Obj | None, fault: str) -> None:
    objects = [*cluster(), remembered("2026-01-30T12:00:00Z", busy=3.0)]
    plan = decide(objects, POLICY, NOON)
    assert verify(objects, plan, POLICY, now=NOW) == []
    plan["usage"] = change and plan["usage"] | {"queues": [plan["usage"]["queues"][0] | change]}
    found = [one for one in verify(objects, plan, POLICY, now=NOW) if one.law == 14]
    assert fault in " ".join(str(one) for one in found)


def test_the_checker_finds_what_is_written_down_too_soon_or_for_nothing() -> None:
    objects = [*cluster(), remembered("2026-01-31T11:56:00Z", busy=3.0)]
    plan = decide(objects, POLICY, NOON)
    plan["usage"] = decide(cluster(), POLICY, NOON)["usage"]
    assert "too soon" in str(verify(objects, plan, POLICY, now=NOW)[0])
    assert "lets nothing decay" in str(verify(objects, plan, {"queues": QUEUES}, now=NOW)[0])


def test_without_a_record_what_queues_have_is_what_they_have_used() -> None:
    plan = decide(cluster(), POLICY, NOON)
    assert usage_in(plan, "busy") == usage_in(plan, "busy", "had") == 3.0


def test_it_is_written_down_at_most_once_in_an_interval() -> None:
    kept = remembered("2026-01-31T11:55:01Z", busy=8.0)
    plan = decide([*cluster(), kept], POLICY, NOON)
    assert (plan["usage"], plan["wakeAt"]) == (None, "2026-01-31T12:00:01Z")


def test_a_policy_without_a_half_life_remembers_nothing() -> None:
    plan = decide([*cluster(), remembered(busy=8.0)], {"queues": QUEUES}, NOON)
    assert (plan["usage"], plan["wakeAt"]) == (None, None)


def test_a_queue_that_is_gone_is_remembered_until_it_counts_for_nothing() -> None:
    plan = decide([*cluster(), remembered(gone=8.0, long=1e-7)], POLICY, NOON)
    assert usage_in(plan, "gone") == pytest.approx(8.0, rel=0.01)
    assert "long" not in {one["queue"] for one in plan["usage"]["queues"]}


# -- whose turn it is ----------------------------------------------------------------------------------

OLD, NEW = asks("old", "idle", "2026-01-31T06:00:00Z"), asks("new", "third", "2026-01-31T11:00:00Z")


@pytest.mark.parametrize(
    ("averages", "first"),
    [({}, "old"), ({"idle": 2.0}, "new"), ({"idle": 2.0, "third": 3.0}, "old")],
)
def test_who_has_used_less_goes_first(averages: dict[str, float], first: str) -> None:
    """Neither of the two queues has anything now."""
    plan = decide([*cluster(OLD, NEW), remembered(**averages)], POLICY, NOON)
    assert [bind["pod"] for bind in plan["binds"]] == [f"default/{first}"]


def test_one_cycle_does_not_give_everything_to_who_has_used_nothing() -> None:
    """What is given away counts at once, half as much as what was used all the time."""
    waiting = [asks(f"{queue}-{n}", queue, BEGAN) for queue in ("idle", "third") for n in range(8)]
    objects = [b.node("n", gpu=8), *waiting, remembered(NOON, third=4.0)]
    plan = decide(objects, POLICY, NOON)
    got = [bind["pod"].removeprefix("default/").partition("-")[0] for bind in plan["binds"]]
    assert (got.count("idle"), got.count("third")) == (6, 2)


def test_use_counts_for_all_queues_above() -> None:
    tree: list[Obj] = [
        *({"name": name, "limits": [{"resource": b.GPU, "guarantee": 0}]} for name in ("one", "two")),
        {"name": "idle", "parent": "one"},
        {"name": "sister", "parent": "one"},
        {"name": "third", "parent": "two"},
    ]
    policy: Obj = {"queues": tree, "fairShare": {"halfLife": "1d"}}
    objects = [b.node("n", gpu=1), OLD, NEW, remembered(sister=3.0)]
    assert [bind["pod"] for bind in decide(objects, policy, NOON)["binds"]] == ["default/new"]


def test_what_is_reclaimed_goes_by_what_queues_have_now() -> None:
    """The queue idle has used a lot before, and still may reclaim from busy, which has more now."""
    policy: Obj = {"queues": QUEUES, "fairShare": {"halfLife": "1d", "reclaim": True}}
    now = cluster(OLD, free=0)
    evicted = [decide([*now, kept], policy, NOON)["evictions"] for kept in (remembered(), remembered(idle=9))]
    assert [one["cause"] for one in evicted[0]] == ["Reclaim"]
    assert [one["pod"] for one in evicted[0]] == [one["pod"] for one in evicted[1]]


# -- what cannot be believed ---------------------------------------------------------------------------

BROKEN = {
    "no JSON": "{",
    "no object": "[]",
    "no time": '{"queues": []}',
    "less than nothing": f'{{"at": "{BEGAN}", "queues": [{{"queue": "busy", "had": {{"a": -1}}}}]}}',
    "not a number": f'{{"at": "{BEGAN}", "queues": [{{"queue": "busy", "had": {{"a": NaN}}}}]}}',
    "beyond all numbers": f'{{"at": "{BEGAN}", "queues": [{{"queue": "busy", "average": {{"a": 1e999}}}}]}}',
    "a queue twice": f'{{"at": "{BEGAN}", "queues": [{{"queue": "busy"}}, {{"queue": "busy"}}]}}',
    "too long": f'{{"at": "{BEGAN}", "x": "{"x" * LONGEST}"}}',
    "half a character": '{"at": "\ud800"}',
    "the future": '{"at": "2026-01-31T12:05:01Z", "queues": [{"queue": "busy", "average": {"a": 1}}]}',
    "no such time": '{"at": "9999-12-31T23:59:59-23:59"}',
}


@pytest.mark.parametrize("text", BROKEN.values(), ids=BROKEN.keys())
def test_what_is_broken_is_ignored_and_said(text: str) -> None:
    policy, now = policy_of(POLICY), NOW
    state = state_of(read(cluster(OLD, NEW)))
    alone = decide_snapshot(state.snapshot(), policy, now)
    broken = replace(state.snapshot(), **_as_kept(text))
    plan = decide_snapshot(broken, policy, now)
    assert plan.usage == alone.usage
    assert plan.binds == alone.binds
    [warning] = plan.warnings
    assert warning.startswith("what is remembered of use (maitred-usage) cannot be read, so it is ignored: ")


def _as_kept(text: str) -> dict[str, Any]:
    usage, problem = usage_of(kept_as(text, USAGE))
    return {"usage": usage, "unread_usage": problem}


def test_a_clock_that_goes_back_a_little_does_no_harm() -> None:
    plan = decide([*cluster(), remembered("2026-01-31T12:04:00Z", busy=8.0)], POLICY, NOON)
    assert (plan["usage"], plan["warnings"]) == (None, [])


def test_the_record_stays_within_its_size() -> None:
    """Of ten thousand queues with the longest of names, those that have used most are remembered."""
    names = [f"{'q' * 50}-{number:05}" for number in range(9_999)]
    queues: list[Obj] = [{"name": name} for name in names[1:]]
    queues.append({"name": names[0], "limits": [{"resource": b.GPU, "cap": 1}]})
    policy = policy_of({"queues": queues, "fairShare": {"halfLife": "1d"}})
    used: list[Any] = [{"queue": name, "average": {b.GPU: 1 + n}} for n, name in enumerate(names)]
    kept = msgspec.convert({"at": BEGAN, "queues": used}, UsageMemory)
    found = settle(replace(in_queues(snapshot_of([]), policy, None), usage=kept), policy, NOW).memory
    assert found is not None
    assert LONGEST / 2 < len(str(found)) <= LONGEST
    assert {one.queue for one in found.queues} == set(names[-len(found.queues) :])


# -- a week --------------------------------------------------------------------------------------------

WEIGHTS = {"busy": 1, "idle": 2, "third": 5}
HOURS_EACH = {"busy": 12, "idle": 4, "third": 8}
TICK = 4


def test_shares_converge_to_the_weights_within_a_week_of_saturated_demand() -> None:
    """A hundred devices, groups of one. In the first day only the queue busy wants anything; what the others
    get after that makes up for it, and in the last three days all have what their weights say."""
    policy = policy_of(
        {
            "queues": [queue | {"weight": WEIGHTS[queue["name"]]} for queue in QUEUES],
            "fairShare": {"halfLife": "12h"},
        }
    )
    objects = [b.node("n", gpu=100)]
    running, usage, hours = dict[str, tuple[str, datetime]](), UsageMemory(), dict.fromkeys(WEIGHTS, 0.0)
    made, begin = 0, NOW
    for tick in range(7 * 24 // TICK):
        now = begin + timedelta(hours=TICK * tick)
        running = {name: one for name, one in running.items() if one[1] > now}
        asking = ["busy"] if tick * TICK < 24 else list(WEIGHTS)
        waiting = dict[str, str]()
        for queue in asking:
            for _ in range(100 - len(running)):
                made += 1
                waiting[f"{queue}-{made}"] = queue
        pods = [asks(name, queue, BEGAN, node="n") for name, (queue, _) in running.items()]
        pods += [asks(name, queue, BEGAN) for name, queue in waiting.items()]
        snapshot = replace(snapshot_of([*objects, *pods]), usage=usage)
        plan = decide_snapshot(snapshot, policy, now)
        usage = plan.usage or usage
        for bind in plan.binds:
            name = bind.pod.removeprefix("default/")
            running[name] = (waiting[name], now + timedelta(hours=HOURS_EACH[waiting[name]]))
        usage = _settled_all_along(objects, running, policy, usage, now)
        if tick * TICK >= 4 * 24:
            for queue, _ in running.values():
                hours[queue] += TICK
    total = sum(hours.values())
    for queue, weight in WEIGHTS.items():
        assert hours[queue] / total == pytest.approx(weight / sum(WEIGHTS.values()), rel=0.05)


def _settled_all_along(
    objects: list[Obj],
    running: dict[str, tuple[str, datetime]],
    policy: Any,
    usage: UsageMemory,
    now: datetime,
) -> UsageMemory:
    """Until the next groups end nothing changes."""
    pods = [asks(name, queue, BEGAN, node="n") for name, (queue, _) in running.items()]
    snapshot = in_queues(snapshot_of([*objects, *pods]), policy, None)
    for step in range(1, TICK * HOUR // SETTLED_EVERY):
        at = now + timedelta(milliseconds=step * SETTLED_EVERY)
        usage = settle(replace(snapshot, usage=usage), policy, at).memory or usage
    return usage
