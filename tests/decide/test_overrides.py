"""One group is lifted past its queue, by somebody with a name: how far, against whom, and until when."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from maitred.explain.overriding.answer import OverrideWish
from maitred.explain.overriding.asking import override_of, overrides
from maitred.explain.redaction.situation import as_seen_by
from maitred.explain.why.comparing import compare
from maitred.explain.why.evicted import receipt
from maitred.explain.why.why import why
from maitred.model.manifest import InputError
from maitred.model.meta import Timestamp
from maitred.model.overrides import (
    LONGEST_REASON,
    MOST_OF_NAMESPACE,
    NO_OVERRIDES,
    Override,
    OverrideMemory,
    form_problem,
    granted,
    overrides_of,
)
from maitred.verify import verify
from tests.explain.whys import situation_of
from tests.oracle import builders as b
from tests.support import NOON, Obj, decide, read, state_of

NOW = msgspec.convert(NOON, Timestamp)
EARLY, LATE = "2026-01-31T06:00:00Z", "2026-01-31T11:00:00Z"
WISH = OverrideWish("the board sees it today", NOW + timedelta(hours=4))
FULL: Obj = {"queues": [{"name": "mine", "limits": [{"resource": b.GPU, "cap": 2}]}, {"name": "yours"}]}


def asks(name: str, queue: str = "mine", created: str = LATE, gpu: int = 1, **fields: Any) -> Obj:
    return b.pod(name, gpu=gpu, created=created, annotations={"maitred.dev/queue": queue}, **fields)


def cluster(*waiting: Obj, gpu: int = 4, runs: int = 2) -> list[Obj]:
    """The queue `mine` has so many devices of a node."""
    running = [asks(f"r{n}", created=EARLY, node="n") for n in range(runs)]
    return [b.node("n", gpu=gpu), *running, *waiting]


def lifted(objects: list[Obj], policy: Obj, *names: str) -> OverrideMemory:
    situation = situation_of(objects, policy=policy)
    return OverrideMemory(
        tuple(override_of(situation, name, "default", None, WISH, "alice") for name in sorted(names))
    )


def kept(memory: OverrideMemory | str) -> Obj:
    meta = b.metadata("maitred-overrides", "maitred-system", {"maitred.dev/record": "overrides"})
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"record": str(memory)}}


def decided(objects: list[Obj], policy: Obj, now: str = NOON) -> Obj:
    """The Plan, which breaks no law."""
    plan = decide(objects, policy, now)
    assert verify(objects, plan, policy, now=msgspec.convert(now, Timestamp)) == []
    return plan


def bound(plan: Obj) -> list[str]:
    return [bind["pod"].removeprefix("default/") for bind in plan["binds"]]


# -- limits --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "queue",
    [
        {"limits": [{"resource": b.GPU, "cap": 2}]},
        {"limits": [{"resource": b.GPU, "perUser": 2}]},
        {"limits": [{"resource": b.GPU, "guarantee": 2}], "borrow": "never"},
        {"limits": [{"resource": b.GPU, "guarantee": 0, "model": "X"}], "parent": "top"},
    ],
)
def test_it_lifts_past_the_limits_of_its_queue_and_of_those_above(queue: Obj) -> None:
    top = [{"name": "top", "limits": [{"resource": b.GPU, "cap": 2}]}]
    policy: Obj = {"queues": [*(top if "parent" in queue else []), {"name": "mine", **queue}]}
    objects = cluster(asks("demo"))
    assert bound(decided(objects, policy)) == []
    memory = lifted(objects, policy, "demo")
    assert bound(decided([*objects, kept(memory)], policy)) == ["demo"]
    plan = decide([*objects, kept(memory)], policy)
    [breach] = {one.law for one in verify(objects, plan, policy, now=NOW)}
    assert breach == 14, "without the override the same Plan is above the limit"


def test_what_others_never_lend_stays_theirs() -> None:
    policy: Obj = {
        "queues": [
            {"name": "mine", "limits": [{"resource": b.GPU, "cap": 2}]},
            {"name": "kept", "limits": [{"resource": b.GPU, "guarantee": 2}], "lend": "never"},
        ]
    }
    objects = cluster(asks("demo"))
    plan = decided([*objects, kept(lifted(objects, policy, "demo"))], policy)
    assert (bound(plan), plan["groups"][0]["blockers"][0]["detail"]["limit"]) == ([], "lend")


def test_others_of_the_queue_wait_as_before_and_what_it_has_counts() -> None:
    objects = cluster(asks("demo"), asks("next", created=EARLY), runs=1)
    memory = lifted(objects, FULL, "demo")
    assert bound(decided([*objects, kept(memory)], FULL)) == ["demo"]
    assert bound(decided(objects, FULL)) == ["next"]


# -- turns ---------------------------------------------------------------------------------------------


def test_it_goes_first_in_its_priority_and_not_before_a_higher_one() -> None:
    rival, higher = asks("rival", "yours", EARLY), asks("higher", "yours", LATE, priority=5)
    objects = cluster(asks("demo"), rival, gpu=3)
    memory = kept(lifted(objects, FULL, "demo"))
    assert bound(decided(objects, FULL)) == ["rival"]
    assert bound(decided([*objects, memory], FULL)) == ["demo"]
    assert bound(decided([*objects, higher, memory], FULL)) == ["higher"]


def test_whoever_is_entitled_goes_before_it() -> None:
    policy: Obj = {
        "queues": [*FULL["queues"], {"name": "owner", "limits": [{"resource": b.GPU, "guarantee": 1}]}]
    }
    objects = cluster(asks("demo", created=EARLY), asks("owned", "owner"), gpu=3)
    assert bound(decided([*objects, kept(lifted(objects, policy, "demo"))], policy)) == ["owned"]


def test_it_evicts_nobody_who_is_entitled_and_raises_no_priority() -> None:
    policy: Obj = {
        "queues": [*FULL["queues"], {"name": "owner", "limits": [{"resource": b.GPU, "guarantee": 2}]}]
    }
    owned = [asks(f"o{n}", "owner", EARLY, node="n", owner="ReplicaSet/o") for n in range(2)]
    objects = cluster(asks("demo", priority=5), *owned)
    plan = decided([*objects, kept(lifted(objects, policy, "demo"))], policy)
    assert {one["pod"] for one in plan["evictions"]} <= {"default/r0", "default/r1"}
    equal = cluster(asks("demo"), *owned)
    assert decided([*equal, kept(lifted(equal, policy, "demo"))], policy)["evictions"] == []


def test_who_pays_is_told_by_whom_and_why() -> None:
    objects = cluster(asks("demo", priority=5), *(asks(f"y{n}", "yours", EARLY, node="n") for n in range(2)))
    memory = lifted(objects, FULL, "demo")
    [eviction] = decided([*objects, kept(memory)], FULL)["evictions"]
    told = {"by": "alice", "reason": WISH.reason, "until": "2026-01-31T16:00:00Z"}
    assert eviction["receipt"]["override"] == told
    situation = situation_of([*objects, kept(memory)], policy=FULL)
    pod = eviction["pod"].partition("/")[2]
    [paid] = receipt(situation, pod, "default").evictions
    assert "an override lifts that group past its queue until 2026-01-31T16:00:00Z" in paid.words
    assert "alice" not in paid.words, "an Event may be read in another namespace"
    wrong = decide([*objects, kept(memory)], FULL)
    wrong["evictions"][0]["receipt"]["override"] = None
    assert verify([*objects, kept(memory)], wrong, FULL, now=NOW)


def test_answers_name_who_and_why() -> None:
    objects = cluster(asks("demo"), asks("rival", "yours", EARLY), gpu=3)
    situation = situation_of([*objects, kept(lifted(objects, FULL, "demo"))], policy=FULL)
    answer = why(situation, "default/demo")
    assert answer.override is not None
    assert (answer.override.by, answer.override.reason) == ("alice", WISH.reason)
    found = compare(situation, "default/rival", "default/demo")
    [point] = [one for one in found.points if one.decides]
    assert (point.rule, point.group, point.first) == ("override", "no", "other")
    assert point.other == f"until 2026-01-31T16:00:00Z by alice: {WISH.reason}"
    rival = why(situation, "default/rival").queue
    assert rival is not None
    assert rival.rules == {"override": 1}


def test_another_namespace_is_told_neither_who_nor_why() -> None:
    objects = cluster(asks("demo"), asks("rival", "yours", EARLY, namespace="other"), b.namespace("other"))
    situation = situation_of([*objects, kept(lifted(objects, FULL, "demo"))], policy=FULL)
    seen = as_seen_by(situation, {"other"})
    [override] = seen.snapshot.overrides.overrides
    assert "alice" not in str(override)
    assert WISH.reason not in str(override)
    assert "demo" not in override.group
    assert overrides(seen, {"other"}).overrides == ()
    binds = [bind.node for bind in seen.decided().binds]
    assert binds == [bind.node for bind in situation.decided().binds], "the decision is the same"


# -- whose it is, and until when -----------------------------------------------------------------------


def test_when_it_is_over_it_counts_for_nothing_and_is_forgotten() -> None:
    objects = cluster(asks("demo"))
    objects.append(kept(lifted(objects, FULL, "demo")))
    before = decided(objects, FULL, "2026-01-31T15:59:59Z")
    assert (bound(before), before["overrides"], before["wakeAt"]) == (["demo"], None, "2026-01-31T16:00:00Z")
    after = decided(objects, FULL, "2026-01-31T16:00:00Z")
    assert (bound(after), after["overrides"]) == ([], {"overrides": []})
    without = decided(objects[:-1], FULL, "2026-01-31T16:00:00Z")
    assert {**after, "overrides": None} == without


def test_what_runs_past_the_limit_stays_when_it_is_over() -> None:
    objects = cluster(asks("demo", node="n"))
    plan = decided(objects, FULL, "2026-01-31T16:00:00Z")
    assert (plan["evictions"], plan["binds"]) == ([], [])


@pytest.mark.parametrize(
    ("other", "why_not"),
    [
        (asks("demo", created="2026-01-31T12:00:30Z"), "it is about an earlier group of this name"),
        (asks("demo", gpu=2), "the group asks for 2 nvidia.com/gpu by now"),
    ],
)
def test_neither_a_namesake_nor_a_group_that_has_grown_has_any_part_in_it(other: Obj, why_not: str) -> None:
    memory = kept(lifted(cluster(asks("demo")), FULL, "demo"))
    objects = [*cluster(other), memory]
    plan = decided(objects, FULL, "2026-01-31T12:01:00Z")
    assert bound(plan) == []
    [warning] = plan["warnings"]
    assert warning.startswith(f"the override of default/demo does not count: {why_not}")
    assert any(why_not in note for note in why(situation_of(objects, policy=FULL), "default/demo").notes)


def test_of_an_owner_that_was_made_anew_under_its_name_it_is_not() -> None:
    def job(uid: str) -> list[Obj]:
        made = b.job("demo", **b.indexed(2))
        made["metadata"] |= {"uid": uid, "creationTimestamp": EARLY}
        pods = [asks(f"demo-{n}", owner="Job/demo", index=n) for n in range(2)]
        for one in pods:
            one["metadata"]["ownerReferences"][0]["uid"] = uid
        return [made, *pods]

    memory = kept(lifted(cluster(*job("first")), FULL, "demo"))
    assert bound(decided([*cluster(*job("first")), memory], FULL)) == ["demo-0", "demo-1"]
    assert bound(decided([*cluster(*job("second")), memory], FULL)) == []


def test_of_pods_that_are_decided_one_by_one_one_is_named() -> None:
    objects = [*cluster(*(asks(f"demo-{n}", owner="Job/demo") for n in range(2))), b.job("demo", 2)]
    with pytest.raises(InputError, match="demo has several groups; name one of them, such as demo-0, demo-1"):
        override_of(situation_of(objects, policy=FULL), "demo", "default", "job", WISH, "alice")


# -- what may be asked ---------------------------------------------------------------------------------


def test_where_there_is_nothing_to_lift_nothing_can_be_lifted() -> None:
    objects = cluster(asks("demo"))
    for policy, name, words in (
        ({}, "demo", "the policy has no queues"),
        (FULL, "r0", "does not wait"),
        (FULL, "nobody", "there is no"),
        (FULL, "other/demo", "give it with -n"),
    ):
        with pytest.raises(InputError, match=words):
            override_of(situation_of(objects, policy=policy), name, "default", None, WISH, "alice")


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (OverrideWish(" ", WISH.until), "say why"),
        (OverrideWish("x" * (LONGEST_REASON + 1), WISH.until), "may have 300"),
        (OverrideWish("two\nlines", WISH.until), "control characters"),
        (OverrideWish("\x1b[2J", WISH.until), "control characters"),
        (OverrideWish("right\u202eleft", WISH.until), "control characters"),
        (OverrideWish("late", NOW), "is not in the future"),
        (OverrideWish("long", NOW + timedelta(days=7, seconds=1)), "7 days at most"),
    ],
)
def test_reasons_and_times_are_bounded(wish: OverrideWish, words: str) -> None:
    situation = situation_of(cluster(asks("demo")), policy=FULL)
    with pytest.raises(InputError, match=words):
        override_of(situation, "demo", "default", None, wish, "alice")


def test_a_group_that_asks_for_absurd_amounts_cannot_make_the_record_unreadable() -> None:
    members = [asks(f"demo-{n}", gpu=2**60, group="demo") for n in range(20)]
    memory = lifted(cluster(*members), FULL, "demo")
    assert overrides_of(read([kept(memory)])[0]) == (memory, "")  # type: ignore[arg-type]
    assert bound(decided([*cluster(*members), kept(memory)], FULL)) == []
    override = msgspec.structs.replace(some("a/b"), asks={"x" * 600: 1})
    assert form_problem(override).startswith("the override of a/b cannot be written down")
    assert form_problem(some("a/b")) == ""


def some(group: str, until: datetime = WISH.until) -> Override:
    return Override(group, ("maitred.dev", group, ""), NOW, {b.GPU: 1}, "alice", "because", NOW, until)


def test_there_is_one_of_a_group_and_there_are_so_many_of_a_namespace() -> None:
    memory = NO_OVERRIDES
    for number in range(MOST_OF_NAMESPACE):
        found = granted(memory, some(f"a/{number:02}"), NOW)
        assert isinstance(found, OverrideMemory)
        memory = found
    assert "already; end one first" in str(granted(memory, some("a/more"), NOW))
    assert isinstance(granted(memory, some("b/more"), NOW), OverrideMemory)
    again = granted(memory, some("a/00", NOW + timedelta(days=1)), NOW)
    assert isinstance(again, OverrideMemory)
    assert (len(again.overrides), again.of("a/00")) == (
        MOST_OF_NAMESPACE,
        some("a/00", NOW + timedelta(days=1)),
    )
    later = granted(memory, some("a/more", NOW + timedelta(days=6)), NOW + timedelta(days=1))
    assert isinstance(later, OverrideMemory)
    assert [one.group for one in later.overrides] == ["a/more"], "those that are over make room"


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"overrides": 1}',
        str(OverrideMemory((some("a/b", NOW + timedelta(days=8)),))),
        str(OverrideMemory((some("a/b"), some("a/b")))),
        str(OverrideMemory((msgspec.structs.replace(some("a/b"), reason="a\u2028b"),))),
        " " * 900_001,
    ],
)
def test_what_cannot_be_read_counts_for_nothing_and_is_said(text: str) -> None:
    [item] = read([kept(text)])
    memory, problem = overrides_of(item)  # type: ignore[arg-type]
    assert (memory, problem.startswith("overrides (maitred-overrides) cannot be read")) == (
        NO_OVERRIDES,
        True,
    )
    plan = decided([*cluster(asks("demo")), kept(text)], FULL)
    assert (bound(plan), plan["warnings"]) == ([], [problem])


def test_without_queues_it_changes_nothing() -> None:
    objects = cluster(asks("demo"), asks("rival", created=EARLY), gpu=3)
    memory = kept(lifted(objects, FULL, "demo"))
    assert {**decided([*objects, memory], {}), "wakeAt": None} == decided(objects, {})


def test_the_state_knows_of_them_as_long_as_the_object_is_there() -> None:
    memory = lifted(cluster(asks("demo")), FULL, "demo")
    state = state_of(read([kept(memory)]))
    assert state.overrides == memory
    assert state.overrides.at(NOW.astimezone(UTC)) is state.overrides
