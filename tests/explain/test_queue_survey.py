"""`maitred queues`: which queues it shows to whom, which rows each of them has, and how they are written."""

import msgspec

from maitred.explain.queues.answer import BudgetState, LiftedGroup, Queues
from maitred.explain.queues.survey import queues
from maitred.explain.queues.tables import queue_lines
from maitred.explain.redaction.situation import as_seen_by
from maitred.explain.situation import Situation
from maitred.model.meta import Timestamp
from tests.decide.test_overrides import asks, cluster, kept, lifted
from tests.explain.capacity_situations import situation_of
from tests.oracle import builders as b
from tests.oracle.builders import GPU, Obj
from tests.support import policy_of, snapshot_of

MODEL = "nvidia.com/gpu.product"
POLICY: Obj = {
    "queues": [
        {"name": "labs"},
        {"name": "default"},
        {
            "name": "vision",
            "parent": "labs",
            "namespaces": {"matchLabels": {"team": "vision"}},
            "limits": [
                {"resource": GPU, "model": "H100", "guarantee": 4, "cap": 6},
                {"resource": GPU, "cap": 12},
            ],
        },
        {"name": "speech", "parent": "labs", "namespaces": {"matchLabels": {"team": "speech"}}},
    ]
}


def scene() -> Situation:
    """vision runs on two models and waits; speech borrows; a pod of the cluster is in no queue's limits."""

    def pod(name: str, namespace: str, gpu: int, node: str | None, queue: str) -> Obj:
        return b.pod(name, gpu=gpu, node=node, namespace=namespace, annotations={"maitred.dev/queue": queue})

    return situation_of(
        [
            b.namespace("eyes", {"team": "vision"}),
            b.namespace("ears", {"team": "speech"}),
            b.node("h", gpu=8, labels={MODEL: "NVIDIA-H100-80GB"}),
            b.node("a", gpu=8, labels={MODEL: "NVIDIA-A100-40GB"}),
            pod("v1", "eyes", 1, "h", "vision"),
            pod("v2", "eyes", 2, "a", "vision"),
            pod("big", "eyes", 9, None, "vision"),
            pod("s1", "ears", 7, "h", "speech"),
            pod("nobodys", "ears", 3, None, "nowhere"),
            pod("not-allowed", "ears", 3, None, "vision"),
        ],
        POLICY,
    )


def rows(found: Queues) -> dict[str, list[tuple[str | None, ...]]]:
    return {
        one.queue: [(row.model, row.guarantee, row.used, row.borrowed, row.lent) for row in one.amounts]
        for one in found.queues
    }


def test_each_queue_has_a_row_for_what_its_limits_name_and_for_other_models_that_it_uses() -> None:
    found = queues(scene())
    assert [one.queue for one in found.queues] == ["labs", "vision", "speech", "default"]
    assert rows(found) == {
        # What is guaranteed below it is guaranteed to it, and that is used first by whom it is guaranteed to.
        "labs": [
            ("*", None, "10", "9", None),
            ("H100", "4", "8", "7", "0"),
            ("NVIDIA-A100-40GB", None, "2", "2", None),
        ],
        "vision": [
            ("*", None, "3", "2", None),
            ("H100", "4", "1", "0", "3"),
            ("NVIDIA-A100-40GB", None, "2", "2", None),
        ],
        "speech": [("*", None, "7", "7", None), ("NVIDIA-H100-80GB", None, "7", "7", None)],
        "default": [],
    }


def test_groups_that_may_not_be_in_a_queue_do_not_wait_in_it() -> None:
    waiting = {
        one.queue: (one.waiting_groups, *(row.waiting for row in one.amounts[:1]))
        for one in queues(scene()).queues
    }
    assert waiting == {"labs": (1, "9"), "vision": (1, "9"), "speech": (0, "0"), "default": (0,)}


def test_a_tenant_sees_the_queues_that_their_namespaces_may_use_and_those_above() -> None:
    whole = scene()
    found = queues(as_seen_by(whole, {"ears"}), {"ears"})
    assert [one.queue for one in found.queues] == ["labs", "speech", "default"]
    assert found.elsewhere == 1
    everything = {one.queue: one for one in queues(whole).queues}
    assert all(one == everything[one.queue] for one in found.queues)
    assert found.cluster == queues(whole).cluster


def test_who_names_a_queue_that_is_not_theirs_is_not_shown_it() -> None:
    """`not-allowed` guessed the name of the queue vision, which nobody told them."""
    found = queues(as_seen_by(scene(), {"ears"}), {"ears"})
    assert "vision" not in {one.queue for one in found.queues}


def test_a_tenant_without_a_namespace_is_shown_no_queue() -> None:
    found = queues(as_seen_by(scene(), ()), ())
    assert (found.queues, found.elsewhere) == ((), 4)
    assert [line.plain for line in queue_lines(found)][-1] == (
        "4 other queues: no namespace in which you may list pods may use them."
    )


def test_the_tree_as_a_table() -> None:
    lines = [line.plain.rstrip() for line in queue_lines(queues(scene()), 100)]
    assert lines[:5] == [
        "QUEUE     SHARE  RESOURCE            GUARANTEE  CAP  USED  BORROWED  LENT  WAITING",
        "labs      0.625  nvidia.com/gpu      -          -    10    9         -     1 group: 9",
        "                   H100              4          -    8     7         0",
        "                   NVIDIA-A100-40GB  -          -    2     2         -",
        "  vision  0.188  nvidia.com/gpu      -          12   3     2         -     1 group: 9",
    ]
    assert "default   0.000  -                   -          -    -     -         -" in lines


def test_without_queues_there_is_nothing_to_show() -> None:
    found = queues(situation_of([b.node("h", gpu=8)]))
    assert [line.plain for line in queue_lines(found)] == [
        "The policy has no queues: no group is limited by them."
    ]


def test_what_a_tenant_is_told_of_their_queues_is_what_everybody_is_told() -> None:
    """A queue is for namespaces with certain labels: those of the reader keep theirs."""
    whole = scene()
    for space, name in (("eyes", "big"), ("ears", "nobodys"), ("ears", "not-allowed")):
        own, key = as_seen_by(whole, {space}), f"{space}/{name}"
        mine, everybodys = (one.cycle().verdict(key) for one in (own, whole))
        assert (mine.verdict, mine.blockers[0].message) == (
            everybodys.verdict,
            everybodys.blockers[0].message,
        )


def test_what_is_left_of_a_budget_is_shown_below_the_tree() -> None:
    budget: Obj = {"deviceHours": 100, "period": "day"}
    policy: Obj = {"queues": [{"name": "vision", "budget": budget, "runtime": {"default": "6h"}}]}
    pod = b.pod("r", gpu=8, node="h", annotations={"maitred.dev/queue": "vision"})
    pod["status"] = {"startTime": "2026-01-31T08:00:00Z"}
    found = queues(situation_of([b.node("h", gpu=8), pod], policy))
    (vision, default) = found.queues
    assert default.budget is None
    assert vision.budget == BudgetState(
        "device-hours", 100.0, "day", 32.0, 16.0, 52.0, "2026-02-01T00:00:00Z"
    )
    lines = [line.plain.rstrip() for line in queue_lines(found)]
    assert lines[4:6] == [
        "BUDGET OF  A PERIOD                SPENT  COMMITTED  LEFT  UNTIL",
        "vision     100 device-hours a day  32     16         52    2026-02-01T00:00:00Z",
    ]


def test_nothing_follows_the_budgets_where_there_are_no_limits() -> None:
    policy: Obj = {
        "queues": [{"name": "vision", "budget": {"deviceHours": 100}, "runtime": {"default": "6h"}}]
    }
    lines = [line.plain.rstrip() for line in queue_lines(queues(situation_of([b.node("h", gpu=8)], policy)))]
    assert lines[-1].startswith("vision     100 device-hours a month")


CAPPED: Obj = {"queues": [{"name": "mine", "limits": [{"resource": GPU, "cap": 2}]}]}


def test_groups_that_an_override_lifts_are_marked_while_they_wait_and_while_they_run() -> None:
    objects = cluster(asks("p"), asks("q"), gpu=3)
    memory = lifted(objects, CAPPED, "p")
    seated = cluster(asks("p", node="n"), asks("q"), gpu=3)
    rows = []
    for there in (objects, seated):
        found = queues(situation_of([*there, kept(memory)], CAPPED))
        rows.append({one.queue: one.lifted for one in found.queues})
        assert [line.plain.rstrip() for line in queue_lines(found)][4:6] == [
            "LIFTED PAST  GROUP      UNTIL                 BY     REASON",
            "mine         default/p  2026-01-31T16:00:00Z  alice  the board sees it today",
        ]
    known = LiftedGroup("default/p", "alice", "the board sees it today", "2026-01-31T16:00:00Z")
    assert rows == [{"mine": (known,), "default": ()}] * 2


def test_an_override_that_is_over_or_of_an_earlier_group_or_of_others_marks_nobody() -> None:
    objects = cluster(asks("p"), gpu=3)
    memory = lifted(objects, CAPPED, "p")
    later = cluster(asks("p", created="2026-01-31T13:00:00Z", node="n"), gpu=3)
    for there, now in ((objects, "2026-01-31T16:00:00Z"), (later, "2026-01-31T14:00:00Z")):
        policy = policy_of(CAPPED)
        situation = Situation(snapshot_of([*there, kept(memory)]), policy, msgspec.convert(now, Timestamp))
        assert not any(one.lifted for one in queues(situation).queues)
    assert not any(one.lifted for one in queues(situation_of([*objects, kept(memory)], CAPPED), ()).queues)
