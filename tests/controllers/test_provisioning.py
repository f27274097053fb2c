"""Requests for nodes, as Plans say: templates first, made once, tried again, and with what owns the pods."""

import asyncio
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from maitred.cluster.snapshot import Snapshot
from maitred.controllers import retry
from maitred.controllers.provisioning import ProvisioningPart
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.resources import Resource, resource_of
from maitred.model.plan import GroupVerdict, NodeRequest, Plan, RequestedPods
from maitred.model.provisioning import ProvisioningRequest
from tests.oracle import builders as b
from tests.support import policy_of, snapshot_of

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC).timestamp()
REQUESTS = resource_of(ProvisioningRequest)
POLICY = policy_of({"provisioning": {"class": "queued.example.com", "parameters": {"maxRun": "6h"}}})
JOB = {"apiVersion": "batch/v1", "kind": "Job", "name": "crew", "uid": "j", "controller": True}
WAITING: Snapshot = snapshot_of([b.node("n", gpu=1), b.pod("crew-0", gpu=8)])
Outcome = Done | Refused | Unknown


class FakeServer:
    def __init__(self, **pods: Any) -> None:
        self.pods, self.answers = pods, list[Outcome]()
        self.made = list[tuple[str, str, Any]]()

    async def read(self, path: str, kind: type) -> Any:
        return self.pods.get(path.rpartition("/")[2].replace("-", "_"))

    async def create(self, resource: Resource, namespace: str, body: bytes) -> Outcome:
        outcome = self.answers.pop(0) if self.answers else Done()
        self.made.append((resource.kind, namespace, json.loads(body)))
        return outcome


def pod(uid: str = "u", **metadata: Any) -> Any:
    spec = {
        "nodeName": "",
        "hostname": "crew-0",
        "schedulerName": "maitred",
        "containers": [{"name": "main"}],
    }
    return {"metadata": {"name": "crew-0", "uid": uid, "labels": {"a": "b"}, **metadata}, "spec": spec}


def wanted(uid: str = "u", count: int = 2) -> NodeRequest:
    return NodeRequest("default/crew-0", "maitred-x", (RequestedPods("default/crew-0", uid, count),))


def plan(*wanted: NodeRequest, decided: str = "default/crew-0") -> Plan:
    groups = (GroupVerdict(decided, "Waiting", 1, 1, 0),) if decided else ()
    return Plan(provisioning=wanted, groups=groups)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "FIRST_RETRY", 0.0)


def carried_out(
    server: FakeServer, *plans: Plan, served: Resource | None = REQUESTS
) -> list[tuple[str, str, Any]]:
    async def act() -> None:
        part = ProvisioningPart(server, served, lambda: POLICY)  # type: ignore[arg-type]
        task = asyncio.create_task(part.run())
        for one in plans:
            part.decided(one, WAITING, NOW)
        for _ in range(50):
            await asyncio.sleep(0)
        task.cancel()

    asyncio.run(act())
    return server.made


def test_a_template_is_made_and_then_the_request() -> None:
    [template, request] = carried_out(FakeServer(crew_0=pod(ownerReferences=[JOB])), plan(wanted()))
    owner = {field: value for field, value in JOB.items() if field != "controller"}
    kind, namespace, body = template
    assert (kind, namespace, body["metadata"]["name"]) == ("PodTemplate", "default", "maitred-x-0")
    assert body["metadata"]["ownerReferences"] == [owner]
    assert body["template"]["metadata"] == {"labels": {"a": "b"}}
    assert body["template"]["spec"] == {"schedulerName": "maitred", "containers": [{"name": "main"}]}
    kind, namespace, body = request
    assert (kind, namespace, body["apiVersion"]) == (
        "ProvisioningRequest",
        "default",
        "autoscaling.x-k8s.io/v1",
    )
    assert (body["metadata"]["name"], body["metadata"]["ownerReferences"]) == ("maitred-x", [owner])
    assert body["spec"] == {
        "provisioningClassName": "queued.example.com",
        "parameters": {"maxRun": "6h"},
        "podSets": [{"count": 2, "podTemplateRef": {"name": "maitred-x-0"}}],
    }


def test_without_a_controller_the_pod_owns_the_request() -> None:
    [_, (_, _, body)] = carried_out(FakeServer(crew_0=pod()), plan(wanted()))
    assert body["metadata"]["ownerReferences"] == [
        {"apiVersion": "v1", "kind": "Pod", "name": "crew-0", "uid": "u"}
    ]


@pytest.mark.parametrize("trouble", [Unknown("lost"), Refused(RefusalReason.FORBIDDEN, "no")])
@pytest.mark.parametrize("before", [0, 1])
def test_what_goes_wrong_is_tried_again(trouble: Outcome, before: int) -> None:
    server = FakeServer(crew_0=pod())
    server.answers = [Done()] * before + [trouble]
    kinds = [kind for kind, _, _ in carried_out(server, plan(wanted()))]
    template, request = "PodTemplate", "ProvisioningRequest"
    assert kinds == ([template, request, template, request] if before else [template, template, request])


def test_what_was_made_before_is_not_made_again() -> None:
    server = FakeServer(crew_0=pod())
    server.answers = [Refused(RefusalReason.TAKEN, "there"), Refused(RefusalReason.TAKEN, "there")]
    assert len(carried_out(server, plan(wanted()))) == 2


def test_pods_that_are_gone_need_no_nodes() -> None:
    assert carried_out(FakeServer(), plan(wanted())) == []
    assert carried_out(FakeServer(crew_0=pod("another")), plan(wanted())) == []


def test_a_plan_about_others_takes_nothing_back_and_one_about_the_group_does() -> None:
    assert len(carried_out(FakeServer(crew_0=pod()), plan(wanted()), plan(decided=""))) == 2
    assert carried_out(FakeServer(crew_0=pod()), plan(wanted()), plan()) == []


def test_where_there_are_no_requests_it_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    assert carried_out(FakeServer(crew_0=pod()), plan(wanted()), plan(wanted()), served=None) == []
    assert len([line for line in caplog.messages if "has no ProvisioningRequest" in line]) == 1
