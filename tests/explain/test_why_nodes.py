"""What `why` says of nodes that were asked for, and of what keeps a group from asking."""

import pytest

from maitred.explain.verdicts import pod_reason
from maitred.model.plan import Blocker, GroupVerdict
from tests.decide.test_provisioning import POLICY, at, crew, full, node, request
from tests.explain.whys import why_of
from tests.oracle import builders as b
from tests.support import Obj

RACK = {"maitred.dev/topology-required": b.RACK}
NAME = request()["metadata"]["name"]
AGAIN = "it is not asked again; delete the request to have it asked once more"
ASKED = f"nodes were asked for at {at(-4)} (ProvisioningRequest {NAME})"


def notes(objects: list[Obj], policy: Obj = POLICY) -> list[str]:
    return [note for note in why_of(objects, policy=policy).notes if "node" in note]


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (request(), "the autoscaler has not answered yet"),
        (request(Accepted="in progress."), "the autoscaler has accepted it: in progress"),
        (request(Accepted="", Provisioned="there"), "the autoscaler says that the nodes are there: there"),
        (request(Accepted="", Failed="no quota"), f"the autoscaler could not do it: no quota; {AGAIN}"),
        (
            request(Provisioned="", BookingExpired=""),
            f"the autoscaler keeps the nodes no longer; {AGAIN}",
        ),
        (
            request(Provisioned="", CapacityRevoked="spot"),
            f"the autoscaler has taken the nodes back: spot; {AGAIN}",
        ),
    ],
)
def test_what_was_asked_and_what_came_of_it(answer: Obj, told: str) -> None:
    assert notes([*full(), *crew(), answer]) == [f"{ASKED}; {told}"]


def test_what_has_come() -> None:
    found = notes([*full(), *crew(), request(), node("new-0", made=-2)])
    assert found[1:] == [f"1 node (new-0) has come and is kept for it until {at(26)}"]


def test_why_nothing_is_asked() -> None:
    rack = (
        "no nodes are asked for: an autoscaler does not promise that nodes come in one domain of the topology"
    )
    template = {**POLICY["nodeTemplates"][0], "labels": {b.RACK: "new"}}
    objects = [b.node("n", gpu=8, rack="r1"), full()[1], *crew(marks=RACK)]
    assert notes(objects, {**POLICY, "nodeTemplates": [template]}) == [rack]
    soon = f"an autoscaler is asked for nodes at {at(0.25)}, if it still waits then"
    assert notes([*full(), *crew(created=-0.25)]) == [soon]
    assert notes([*full(), *crew()]) == []  # it asks now
    assert notes([*full(), *crew(), request()], {"nodeTemplates": POLICY["nodeTemplates"]}) == []


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [("Waiting", "Capacity"), ("Impossible", "Impossible"), ("Preempting", "Unschedulable")],
)
def test_no_pod_asks_for_nodes_where_groups_do(verdict: str, reason: str) -> None:
    group = GroupVerdict("a/b", verdict, 2, 2, 0, blockers=(Blocker("Capacity", "", {}),))  # type: ignore[arg-type]
    assert pod_reason(group) == "Unschedulable"
    assert pod_reason(group, requested=True) == reason
