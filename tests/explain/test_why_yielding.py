"""What `why` says of groups that run on what they have borrowed: who takes it back, or may, and when."""

from copy import deepcopy
from typing import Any

import msgspec

from maitred.explain.redaction.situation import as_seen_by
from maitred.explain.why.answer import Comparison, Why, YieldAnswer
from maitred.explain.why.comparing import compare
from maitred.explain.why.tables import comparison_lines, why_lines
from maitred.explain.why.why import why, why_named
from maitred.model.drain import MAINTENANCE
from tests.decide.draining import drain, make_room, node
from tests.decide.draining import gang as drained
from tests.explain.forecasts import at, gang, nodes
from tests.explain.test_forecast_queues import inside, queue
from tests.explain.whys import plan_of, situation_of, why_of
from tests.oracle import builders as b
from tests.oracle.builders import Obj

BUSY = [
    *nodes(2),
    *inside("theirs", gang("first", 1, on="n0", ran=2, gpu=8)),
    *inside("theirs", gang("second", 1, on="n1", ran=1, gpu=8)),
]
NEW = inside("ours", gang("new", 1, gpu=8))
QUEUES = [queue("ours", 8), queue("theirs", 8)]


def told(objects: list[Obj], *queues: Obj, group: str = "second", **policy: Any) -> YieldAnswer | None:
    return why_of(objects, f"default/{group}", policy={"queues": list(queues), **policy}).yields


def lines(answer: Why | Comparison) -> list[str]:
    made = why_lines(answer) if isinstance(answer, Why) else comparison_lines(answer)
    return [" ".join(line.plain.split()) for line in made]


def test_who_reclaims_it_is_told_and_in_the_first_sentence() -> None:
    answer = why_of([*BUSY, *NEW], "default/second", policy={"queues": QUEUES})
    words = "borrowed: default/new of queue ours reclaims it"
    assert answer.yields == YieldAnswer(words, True, "default/new", "Reclaim", ("ours",))
    assert answer.summary.endswith(f"; {words}")
    assert f"Reclaim {words}" in lines(answer)


def test_of_several_pods_it_is_said_how_many_leave() -> None:
    loose = deepcopy([one for one in BUSY if one["kind"] != "PodGroup"])
    for pod in loose[2:]:
        del pod["spec"]["schedulingGroup"]
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u", "controller": True}
    pods = [{**pod, "metadata": {**pod["metadata"], "ownerReferences": [owner]}} for pod in loose[2:]]
    situation = situation_of([*nodes(2), *pods, *NEW], {"queues": QUEUES})
    answer = why_named(situation, "web", "default", "replicaset")
    assert answer.summary.endswith("; borrowed: default/new of queue ours reclaims 1 of its 2 pods")


def test_a_group_that_leaves_for_a_priority_is_told_so() -> None:
    high = inside("theirs", gang("new", 1, gpu=8, priority=5))
    found = told([*BUSY, *high], queue("theirs", 16))
    assert found is not None
    assert (found.borrowed, found.cause, found.to) == (False, "Preemption", "default/new")
    assert found.words.startswith("to be evicted for default/new (priority 5 > 0): 1 pod of default/")


def test_who_may_reclaim_it_is_told_with_what_they_leave_unused() -> None:
    queues = [queue("ours", 8), queue("others", 3), queue("theirs", 8), queue("none", cap=4)]
    found = told(BUSY, *queues)
    assert found is not None
    assert found.words == (
        "borrowed: may be reclaimed for the guarantee of queues ours (8 nvidia.com/gpu unused), "
        "others (3 nvidia.com/gpu unused)"
    )
    assert (found.to, found.cause, found.queues, found.since) == (None, None, ("ours", "others"), None)
    assert told(BUSY, *queues, group="first") is None, "it is within the guarantee"
    assert told(BUSY, *queues, preemption={"mode": "never"}) is None
    assert told(BUSY, *queues, order=["fair-share", "age"]) == found, "which orders only those who wait"
    assert told(BUSY, queue("theirs", 8)) is None, "nobody else is guaranteed anything"


def test_not_before_the_least_time_of_its_queue_is_over() -> None:
    found = told(BUSY, queue("ours", 8), queue("theirs", 8, minRuntime="3h"))
    assert found is not None
    assert found.since == at(2)
    assert found.words.startswith(
        f"borrowed: may be reclaimed from {at(2)} on for the guarantee of queue ours"
    )


def test_only_queues_beside_the_branch_that_has_borrowed_may_reclaim_it() -> None:
    """Within the department it has borrowed; the department as a whole has not."""
    tree = [
        queue("top", 16),
        queue("ours", 4, parent="top"),
        queue("theirs", 8, parent="top"),
        queue("far", 8),
    ]
    found = told(BUSY, *tree)
    assert found is not None
    assert found.queues == ("ours",)


def test_without_queues_nothing_is_said() -> None:
    assert why_of([*BUSY, *NEW], "default/second").yields is None


def test_who_is_to_be_evicted_hears_it_without_queues_too() -> None:
    urgent = b.pod("urgent", gpu=8, priority=100)
    victims = [why_of([*nodes(1), *gang("first", 1, on="n0", ran=2, gpu=8), urgent], "default/first")]
    victims.append(why_of([node("n1"), node("n2"), drain("n1"), *drained("n1")], "default/train"))
    for answer, to, cause in zip(
        victims, ("default/urgent", "drain/drain-1"), ("Preemption", MAINTENANCE), strict=True
    ):
        assert answer.yields is not None
        assert (answer.yields.to, answer.yields.cause, answer.yields.borrowed) == (to, cause, False)
        assert answer.summary.endswith(f"; {answer.yields.words}")


def test_a_comparison_names_the_cause_and_the_rule_of_the_receipt() -> None:
    situation = situation_of([*BUSY, *NEW], {"queues": QUEUES})
    (eviction,) = plan_of(situation).evictions
    answer = compare(situation, "default/new", "default/second")
    assert answer.summary == (
        f"default/new comes before default/second, which leaves for it (Reclaim): {eviction.receipt.rule}"
    )
    assert compare(situation, "default/second", "default/new").summary == answer.summary
    assert answer.cause == "Reclaim"
    assert any(
        line.startswith("Reclaim default/second will be evicted for default/new: ") for line in lines(answer)
    )
    stays = compare(situation, "default/new", "default/first")
    assert stays.preemption == "other pods will be evicted for it, and default/first stays"
    assert stays.cause == "Reclaim"
    claimant = why_of([*BUSY, *NEW], "default/new", policy={"queues": QUEUES})
    assert claimant.preemption is not None
    assert (claimant.preemption.cause, claimant.preemption.rule) == ("Reclaim", eviction.receipt.rule)
    assert eviction.receipt.rule in lines(claimant)


def test_a_tenant_is_told_neither_whose_group_nor_which_queue_of_others_it_is() -> None:
    def asks(name: str, space: str, node: str | None, created: str) -> Obj:
        marks = {"maitred.dev/queue": space}
        pod = b.pod(name, gpu=8, node=node, namespace=space, created=created, annotations=marks)
        return pod | ({"status": {"phase": "Running", "startTime": created}} if node else {})

    spaces = [b.namespace(one, {"team": one}) for one in ("mine", "secret")]
    objects = [
        *nodes(2),
        *spaces,
        *(asks(f"m{n}", "mine", f"n{n}", f"2026-01-31T1{n}:00:00Z") for n in (0, 1)),
    ]
    tree = [queue(one, 8, namespaces={"matchLabels": {"team": one}}) for one in ("mine", "secret")]
    claims = asks("secret-train", "secret", None, "2026-01-31T11:30:00Z")
    for there, leaves in (([*objects, claims], True), (objects, False)):
        situation = situation_of(there, {"queues": tree})
        everybodys, mine = (why(one, "mine/m1") for one in (situation, as_seen_by(situation, {"mine"})))
        assert everybodys.yields is not None
        assert mine.yields is not None
        assert (mine.yields.cause, mine.yields.borrowed) == (everybodys.yields.cause, True)
        assert (mine.yields.cause == "Reclaim") == leaves
        assert "secret" in everybodys.yields.words
        assert b"secret" not in msgspec.json.encode(mine)


def test_whoever_makes_room_is_not_told_for_which_group_of_others() -> None:
    small = b.pod("small", gpu=2, node="n1", namespace="mine", owner="Job/small", created=at(-1))
    request = make_room(("secret/secret", "mine/small"))
    big = [b.pod_group("secret", 2, namespace="secret")]
    big += b.pods("secret", 2, gpu=8, group="secret", namespace="secret")
    situation = situation_of([*nodes(2), b.node("n3", gpu=2), small, *big, request])
    assert situation.decided().evictions
    mine = why(as_seen_by(situation, {"mine"}), "mine/small")
    assert mine.yields is not None
    assert (mine.yields.cause, mine.yields.to) == (MAINTENANCE, "defrag/room")
    assert b"secret" not in msgspec.json.encode(mine)
