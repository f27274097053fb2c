"""One truth about a group that hardware hurts: whoever is asked says whether its member there still works."""

from typing import Any

import pytest

from maitred.explain.billing.device_buckets import levels
from maitred.explain.capacity.capacity import capacity
from maitred.explain.health.survey import health
from maitred.explain.proposal.propose import proposals
from maitred.explain.proposal.supposition import Supposition
from maitred.explain.why.why import why
from tests.explain.healths import health_of, look_of
from tests.explain.supposing import expanded
from tests.explain.whys import seen_of
from tests.one_truth.hearing_all import Cluster
from tests.oracle import builders as b
from tests.oracle.builders import Obj

CREW = "default/crew"
SINCE = "2026-01-31T11:30:00Z"
"""Half an hour before the question: longer than `healing.grace`."""


def node(name: str, ready: bool | None = True, taint: str = "", **more: Any) -> Obj:
    made = b.node(name, gpu=8, ready=ready, **more)
    made["status"]["conditions"][0]["lastTransitionTime"] = SINCE
    if taint:
        made["spec"]["taints"] = [{"key": taint, "effect": "NoExecute", "timeAdded": SINCE}]
    return made


def said(type: str) -> Obj:
    made = node("n1")
    condition = {"type": type, "status": "True", "lastTransitionTime": SINCE}
    made["status"]["conditions"].append(condition)
    return made


LOST: dict[str, Obj | None] = {
    "is not Ready": node("n1", ready=False),
    "does not answer": node("n1", ready=None),
    "has the taint of one that is not Ready": node("n1", taint="node.kubernetes.io/not-ready"),
    "has the taint of one that does not answer": node("n1", taint="node.kubernetes.io/unreachable"),
    "is fenced": node("n1", taint="node.kubernetes.io/out-of-service"),
    "was shut down": node("n1", taint="node.cloudprovider.kubernetes.io/shutdown"),
    "is not initialized": node("n1", taint="node.cloudprovider.kubernetes.io/uninitialized"),
    "is gone": None,
}
WORKING: dict[str, Obj] = {
    "is well": node("n1"),
    "is cordoned": node("n1", cordoned=True),
    "will be taken back": node("n1", taint="aws-node-termination-handler/spot-itn"),
    "reports a fault of its kernel": said("KernelDeadlock"),
    "says what nobody knows": said("example.com/FanNoise"),
    "is a lemon": node("n1", taint="maitred.dev/lemon"),
    "has a taint of somebody's own": node("n1", taint="example.com/dedicated"),
}


def member(index: int, unready: bool = False) -> Obj:
    made = b.pod(
        f"crew-{index}",
        gpu=8,
        node=f"n{index}",
        group="crew",
        index=index,
        owner="Job/crew",
        created="2026-01-31T08:00:00Z",
    )
    state = {"running": {"startedAt": "2026-01-31T08:01:00Z"}}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-31T08:01:00Z"}
    if unready:
        ready |= {"status": "False", "lastTransitionTime": SINCE}
    made["status"] |= {
        "startTime": "2026-01-31T08:00:10Z",
        "containerStatuses": [{"name": "main", "ready": not unready, "state": state}],
        "conditions": [
            {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-01-31T08:00:05Z"},
            ready,
        ],
    }
    return made


def cluster(second: Obj | None, unready: bool = False) -> Cluster:
    """A gang of two, of which a member is on this node; and a free node. Where a node is lost, the node
    controller says of its pods that they are not ready."""
    nodes = [node("n0"), node("n2"), *([second] if second is not None else [])]
    return Cluster([*nodes, b.pod_group("crew", 2), member(0), member(1, unready)])


@pytest.mark.parametrize("how", LOST)
def test_everybody_knows_that_the_member_is_lost(how: str) -> None:
    found = cluster(LOST[how], unready=True)
    [hurt] = health_of(found.raw).hurt
    assert (hurt.group, hurt.working, hurt.below, hurt.family) == (CREW, 1, True, "Infrastructure")
    asked = why(found.situation, CREW, seen_of(found.raw))
    assert (asked.placed, asked.verdict) == (1, None)
    assert "1 member is on nodes that are lost: n1 " in asked.notes[0]
    live = found.live_why(CREW)
    assert (live.placed, live.verdict, live.notes[0]) == (1, None, asked.notes[0])
    [healed] = found.plan.healing
    assert (healed.group, [one.node for one in healed.pods]) == (CREW, ["n1"])
    assert hurt.healing == healed.does
    [held] = capacity(found.situation).incomplete
    assert (held.group, held.counted, held.quorum) == (CREW, 1, 2)
    assert found.live_capacity().incomplete == (held,)
    assert [(one.group, one.seated) for one in found.audited().half_started] == [(CREW, 1)]
    assert bucket(found) == {"incomplete"}
    assert blocker_of_an_equal(found) == "Priority"


@pytest.mark.parametrize("how", WORKING)
def test_nobody_takes_a_member_that_works_for_lost(how: str) -> None:
    found = cluster(WORKING[how])
    assert not any(one.below for one in health_of(found.raw).hurt)
    asked = why(found.situation, CREW, seen_of(found.raw))
    assert (asked.placed, asked.verdict, asked.notes) == (2, "Scheduled", ())
    assert (found.live_why(CREW).placed, found.live_why(CREW).verdict) == (2, "Scheduled")
    assert found.plan.healing == ()
    assert capacity(found.situation).incomplete == ()
    assert found.audited().half_started == ()
    assert bucket(found) == {"productive"}
    assert blocker_of_an_equal(found) == ""


@pytest.mark.parametrize("how", [*LOST, *WORKING])
def test_a_scheduler_says_of_health_what_a_dump_does(how: str) -> None:
    """To somebody who may see everything."""
    second = LOST[how] if how in LOST else WORKING[how]
    found = cluster(second, unready=how in LOST)
    assert health(found.live, look_of(found.raw)) == health_of(found.raw)


def bucket(found: Cluster) -> set[str]:
    """Where a bill puts what the group has."""
    devices = levels(found.situation.snapshot, found.situation.policy, ()).devices
    return {key.bucket for key, count in devices.items() if key.holder == CREW and count}


def blocker_of_an_equal(found: Cluster) -> str:
    """Of a pod that `plan` is asked about, for which only the free node has room."""
    supposed = Supposition(tuple(expanded(b.pod("newcomer", gpu=8)).objects))
    [answer] = proposals(found.supposing(supposed), supposed).proposals
    return answer.blockers[0].category if answer.blockers else ""
