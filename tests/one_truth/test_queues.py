"""One truth where queues and budgets decide: small worlds, in each of which something else is in the way."""

from typing import Any

import msgspec
import pytest

from maitred.controllers.answers.route import CheckedQuestion
from maitred.explain.capacity.capacity import capacity
from maitred.explain.queues.answer import Queues
from maitred.explain.queues.survey import queues
from maitred.explain.why.comparing import compare
from maitred.explain.why.why import why
from maitred.model.overrides import OverrideMemory
from maitred.verify import verify
from tests.decide.test_overrides import kept, lifted
from tests.explain.applying import check_remedies
from tests.explain.forecasts import gang, nodes
from tests.explain.test_forecast_queues import inside, queue
from tests.one_truth.hearing_all import NOW, Cluster
from tests.one_truth.test_one_truth import assert_one_truth
from tests.oracle import builders as b
from tests.oracle.builders import GPU, Obj

MODEL = "nvidia.com/gpu.product"


def by(user: str, objects: list[Obj]) -> list[Obj]:
    for one in objects:
        one["metadata"].setdefault("annotations", {})["maitred.dev/user"] = user
    return objects


def paid(name: str, most: float, **more: Any) -> Obj:
    budget = {"deviceHours": most, "period": "day"}
    return {"name": name, "budget": budget, "runtime": {"default": "4h"}, **more}


def limited(name: str, **limit: Any) -> Obj:
    return {"name": name, "limits": [{"resource": GPU, **limit}]}


def model(name: str, label: str) -> Obj:
    return b.node(name, cpu=64, gpu=8, labels={MODEL: label})


def new(queue: str = "a", members: int = 2) -> list[Obj]:
    return inside(queue, gang("new", members, gpu=4))


def seen(objects: list[Obj]) -> list[Obj]:
    """Something has happened to them already, so they are not proposed anew: an override is about these."""
    for one in objects:
        if one["kind"] == "Pod":
            one["status"]["nominatedNodeName"] = ""
    return objects


def lent() -> list[Obj]:
    """Of one queue, a group within its guarantee, and one that has borrowed; and the claimant."""
    seated = [gang("first", 1, on="n0", ran=2), gang("second", 1, on="n1", ran=1)]
    return [*nodes(2), *inside("b", [one for own in seated for one in own]), *inside("a", gang("new", 1))]


RUNS = [*nodes(2), *inside("a", gang("runs", 1, on="n0", ran=1, gpu=4))]
MODELS = [
    model("h", "H100"),
    model("a", "A100"),
    *inside("a", gang("runs", 1, on="a", ran=1, gpu=1)),
    *inside("b", gang("full", 1, on="a", ran=1, gpu=6)),
]
OF_ANN = [*nodes(2), *by("ann", inside("a", gang("runs", 1, on="n0", ran=1, gpu=4)))]
CAP: Obj = {"queues": [queue("a", cap=8)]}
LIFTED = lifted([*RUNS, *new()], CAP, "new")
OVER = OverrideMemory(tuple(msgspec.structs.replace(one, until=NOW) for one in LIFTED.overrides))

WORLDS: dict[str, tuple[list[Obj], list[Obj], str]] = {
    "own cap": ([*RUNS, *new()], [queue("a", cap=8)], "Quota"),
    "cap above": ([*RUNS, *new()], [queue("top", cap=10), queue("a", cap=10, parent="top")], "Quota"),
    "cap of a model": (
        [*MODELS, *new()],
        [{"name": "a", "limits": [{"resource": GPU, "model": "H100", "cap": 6}]}, queue("b")],
        "Quota",
    ),
    "user": ([*OF_ANN, *by("ann", new())], [limited("a", cap=16, perUser=8)], "Quota"),
    "budget": ([*RUNS, *new()], [paid("a", 40)], "Budget"),
    "budget above, of which others get a part now": (
        [*RUNS, *inside("b", gang("starts", 1, waited=2, gpu=4)), *new()],
        [paid("top", 60), {"name": "a", "parent": "top"}, {"name": "b", "parent": "top"}],
        "Budget",
    ),
    "cap and budget": ([*RUNS, *new()], [paid("a", 40, limits=limited("a", cap=8)["limits"])], "Quota"),
    "never borrows": ([*RUNS, *new()], [queue("a", 8, borrow="never"), queue("b", 4)], "Quota"),
    "never lends": ([*RUNS, *new()], [queue("a", 4), queue("b", 6, lend="never")], "Quota"),
    "reclaimed now": (lent(), [queue("a", 8), queue("b", 8)], "Capacity"),
    "reclaimed later": (lent(), [queue("a", 8), queue("b", 8, minRuntime="3h")], "Capacity"),
    "lifted": ([*RUNS, *seen(new()), kept(LIFTED)], CAP["queues"], ""),
    "lifted no more": ([*RUNS, *new(), kept(OVER)], CAP["queues"], "Quota"),
    "no such queue": ([*RUNS, *new("b")], [queue("a", cap=8)], "Request"),
    "removed with its groups": (
        [*RUNS, *new(), *inside("b", gang("other", 1, waited=2, gpu=4))],
        [queue("b", cap=8)],
        "Request",
    ),
}


@pytest.mark.parametrize("name", WORLDS)
def test_everybody_says_the_same_of_queues(name: str) -> None:
    objects, tree, first = WORLDS[name]
    policy: Obj = {"queues": tree}
    cluster = Cluster(objects, policy)
    blockers = cluster.verdicts["default/new"].blockers
    assert [one.category for one in blockers][:1] == [first][: len(first)]
    assert_one_truth(cluster)
    plain = msgspec.json.decode(msgspec.json.encode(cluster.plan))
    check_remedies(objects, plain, policy)
    assert verify(objects, plain, policy, now=NOW) == []
    assert_queues_agree(cluster)
    assert_idle_agrees(cluster)
    assert_losses_agree(cluster)


def assert_queues_agree(cluster: Cluster) -> None:
    """About who waits in which queue, who is lifted, and what budgets have left."""
    found = queues(cluster.situation)
    assert msgspec.json.decode(cluster.asked("queues", CheckedQuestion({})), type=Queues) == found
    waiting = [
        one for one in cluster.plan.decisions if one.verdict in ("Waiting", "Preempting", "Impossible")
    ]
    assert sum(one.waiting_groups for one in found.queues if not has_below(found, one.queue)) == len(waiting)
    marked = {group.group for one in found.queues for group in one.lifted}
    told = {group for group in cluster.verdicts if why(cluster.situation, group).override is not None}
    assert marked == told
    for blocker in (one.blockers[0] for one in waiting if one.blockers[0].category == "Budget"):
        (state,) = (one.budget for one in found.queues if one.queue == blocker.detail["queue"])
        assert state is not None
        assert (state.spent, state.until) == (blocker.detail["spent"], blocker.detail["until"])
        assert state.committed <= blocker.detail["committed"], "with what starts now"


def has_below(found: Queues, queue: str) -> bool:
    return any(one.parent == queue for one in found.queues)


def assert_idle_agrees(cluster: Cluster) -> None:
    """Devices are idle because of a queue if and only if that is the first blocker of somebody."""
    found = capacity(cluster.situation)
    told = {(part.reason, part.detail) for one in found.idle for part in one.reasons}
    first = [one.blockers[0] for one in cluster.plan.decisions if one.verdict == "Waiting"]
    held = {(one.category, one.detail["queue"]) for one in first if one.category in ("Quota", "Budget")}
    assert {one for one in told if one[0] in ("Quota", "Budget")} == held


def assert_losses_agree(cluster: Cluster) -> None:
    """About who leaves for whom, by which rule: whoever runs and is not evicted by the Plan stays."""
    leaving = {one.group or one.pod: one for one in cluster.plan.evictions}
    running = {one.group.key for one in cluster.situation.snapshot.seated if one is not None}
    for group in running:
        losing, eviction = why(cluster.situation, group).yields, leaving.get(group)
        if eviction is None:
            assert losing is None or (losing.to, losing.cause) == (None, None)
            continue
        assert losing is not None
        assert (losing.to, losing.cause) == (eviction.preemptor, eviction.cause)
        for one, other in ((group, eviction.preemptor), (eviction.preemptor, group)):
            summary = compare(cluster.situation, one, other).summary
            assert summary == (
                f"{eviction.preemptor} comes before {group}, which leaves for it ({eviction.cause}): "
                f"{eviction.receipt.rule}"
            )


def test_who_runs_in_a_queue_that_was_removed_is_told_so() -> None:
    objects, tree, _ = WORLDS["removed with its groups"]
    told = "it names queue a, in which its groups could not start now: what it has counts for queue default"
    for policy, said in ((tree, True), ([*tree, queue("a")], False), ([], False)):
        cluster = Cluster(objects, {"queues": policy})
        answer = why(cluster.situation, "default/runs")
        assert any(note.startswith(told) for note in answer.notes) == said
        assert cluster.live_why("default/runs") == answer
