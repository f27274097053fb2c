"""What the stubs of the other tests take for granted, on the real server."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest

from maitred.kube.bodies import Regarding
from maitred.kube.client import Client, encode
from maitred.kube.discovery import discover
from maitred.kube.events import Events
from maitred.kube.lease import LeaderLease
from maitred.kube.outcomes import Bound, Done, RefusalReason, Refused, Unbound
from maitred.kube.permit import Always, NotLeading
from maitred.kube.resources import EVENTS, JOBS, LEASES, PODS
from maitred.kube.wire import Condition
from maitred.kube.writes import OwnerToWrite, Writer
from maitred.model.suspending import BY_TITLE
from maitred.model.suspension import SUSPENDED
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane

pytestmark = [pytest.mark.control_plane, pytest.mark.xdist_group("control-plane")]

Object = dict[str, Any]
CONTAINERS = [{"name": "c", "image": "none"}]


class Bench:
    """A namespace of its own and what a test does in it."""

    def __init__(self, client: Client, namespace: str) -> None:
        self.client = client
        self.namespace = namespace
        self.writer = Writer(client, Always())

    async def send(self, verb: str, path: str, body: Object | None = None) -> Object:
        data = await self.client.request(verb, path, body=None if body is None else encode(body))
        answer: Object = json.loads(data)
        return answer

    async def pod(self, name: str, **spec: Any) -> str:
        body = {
            "metadata": {"name": name, "labels": {"app": name}},
            "spec": {"containers": CONTAINERS, "schedulerName": "nobody", **spec},
        }
        made = await self.send("POST", PODS.path(self.namespace), body)
        return str(made["metadata"]["uid"])

    async def read(self, name: str) -> Object:
        return await self.send("GET", PODS.path(self.namespace, name))


def live(plane: ControlPlane, work: Callable[[Bench], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Client(plane.connection(ADMIN)) as client, bench(client) as prepared:
            await work(prepared)

    asyncio.run(run())


@asynccontextmanager
async def bench(client: Client) -> AsyncIterator[Bench]:
    namespace = f"writes-{uuid.uuid4().hex[:8]}"
    prepared = Bench(client, namespace)
    await prepared.send("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    try:
        yield prepared
    finally:
        pods = await prepared.send("GET", PODS.path(namespace))
        for pod in pods["items"]:
            path = PODS.path(namespace, pod["metadata"]["name"])
            await prepared.send("DELETE", path, {"gracePeriodSeconds": 0})
        await prepared.send("DELETE", f"/api/v1/namespaces/{namespace}")


def why(outcome: object) -> RefusalReason:
    assert isinstance(outcome, Refused), outcome
    return outcome.why


def test_a_bind_brings_node_and_annotations_at_once(control_plane: ControlPlane) -> None:
    async def work(b: Bench) -> None:
        uid = await b.pod("p")
        assert await b.writer.look(b.namespace, "p", uid, "n1") == Unbound()
        assert await b.writer.bind(b.namespace, "p", uid, "n1", {"maitred.dev/x": "1"}) == Bound()
        pod = await b.read("p")
        assert pod["spec"]["nodeName"] == "n1"
        assert pod["metadata"]["annotations"]["maitred.dev/x"] == "1"
        [scheduled] = [c for c in pod["status"]["conditions"] if c["type"] == "PodScheduled"]
        assert scheduled["status"] == "True"

    live(control_plane, work)


def test_binds_that_are_refused(control_plane: ControlPlane) -> None:
    async def work(b: Bench) -> None:
        uid = await b.pod("p")
        assert why(await b.writer.bind(b.namespace, "none", uid, "n1")) is RefusalReason.GONE
        assert why(await b.writer.bind(b.namespace, "p", str(uuid.uuid4()), "n1")) is RefusalReason.REPLACED
        assert await b.writer.bind(b.namespace, "p", uid, "n1") == Bound()
        assert await b.writer.bind(b.namespace, "p", uid, "n1") == Bound()
        assert why(await b.writer.bind(b.namespace, "p", uid, "n2")) is RefusalReason.BOUND_ELSEWHERE
        gated = await b.pod("gated", schedulingGates=[{"name": "a.b/c"}])
        assert why(await b.writer.bind(b.namespace, "gated", gated, "n1")) is RefusalReason.GATED

    live(control_plane, work)


def test_a_pod_is_deleted_only_if_it_is_the_one(control_plane: ControlPlane) -> None:
    async def work(b: Bench) -> None:
        uid = await b.pod("p")
        assert await b.writer.delete_pod(b.namespace, "p", str(uuid.uuid4())) == Done()
        assert (await b.read("p"))["metadata"]["uid"] == uid
        assert await b.writer.delete_pod(b.namespace, "p", uid, grace_seconds=0) == Done()
        assert why(await b.writer.look(b.namespace, "p", uid, "n1")) is RefusalReason.GONE
        assert await b.writer.delete_pod(b.namespace, "p", uid) == Done()

    live(control_plane, work)


def test_an_eviction_asks_the_budget(control_plane: ControlPlane) -> None:
    async def work(b: Bench) -> None:
        uid = await b.pod("p")
        assert await b.writer.bind(b.namespace, "p", uid, "n1") == Bound()
        running = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        pod = await b.read("p")
        await b.send("PUT", PODS.path(b.namespace, "p", "status"), pod | {"status": running})
        budget = {
            "metadata": {"name": "keep"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "p"}}},
        }
        budgets = f"/apis/policy/v1/namespaces/{b.namespace}/poddisruptionbudgets"
        await b.send("POST", budgets, budget)
        assert why(await b.writer.evict(b.namespace, "p", uid)) is RefusalReason.BUDGET
        await b.send("DELETE", f"{budgets}/keep")
        assert await b.writer.evict(b.namespace, "p", uid) == Done()
        assert "deletionTimestamp" in (await b.read("p"))["metadata"]
        assert await b.writer.evict(b.namespace, "p", str(uuid.uuid4())) == Done()

    live(control_plane, work)


def test_a_pod_is_nominated_only_if_it_is_the_one(control_plane: ControlPlane) -> None:
    async def work(b: Bench) -> None:
        uid = await b.pod("p")
        assert (
            why(await b.writer.nominate(b.namespace, "p", str(uuid.uuid4()), "n1")) is RefusalReason.REPLACED
        )
        assert await b.writer.nominate(b.namespace, "p", uid, "n1") == Done()
        assert (await b.read("p"))["status"]["nominatedNodeName"] == "n1"
        assert await b.writer.nominate(b.namespace, "p", uid, "") == Done()
        assert "nominatedNodeName" not in (await b.read("p"))["status"]
        assert await b.writer.nominate(b.namespace, "p", uid, "n1") == Done()
        assert await b.writer.bind(b.namespace, "p", uid, "n2") == Bound()
        assert "nominatedNodeName" not in (await b.read("p"))["status"]

    live(control_plane, work)


def test_a_job_is_suspended_and_resumed_once(control_plane: ControlPlane) -> None:
    async def work(b: Bench) -> None:
        template = {"spec": {"containers": CONTAINERS, "restartPolicy": "Never", "schedulerName": "nobody"}}
        body = {"metadata": {"name": "j"}, "spec": {"parallelism": 0, "template": template}}
        made = await b.send("POST", JOBS.path(b.namespace), body)
        uid, path = made["metadata"]["uid"], JOBS.path(b.namespace, "j")
        job = partial(OwnerToWrite, BY_TITLE["Job"], JOBS, b.namespace, "j")
        replaced = await b.writer.suspend(job(str(uuid.uuid4())), "why")
        assert why(replaced) is RefusalReason.REPLACED
        assert (await b.send("GET", path))["spec"]["suspend"] is False
        assert await b.writer.suspend(job(uid), "why") == Done()
        assert why(await b.writer.suspend(job(uid), "another")) is RefusalReason.TAKEN
        found = await b.send("GET", path)
        assert found["spec"]["suspend"] is True
        assert found["metadata"]["annotations"][SUSPENDED] == "why"
        for _ in range(2):
            assert await b.writer.resume(job(uid)) == Done()
            found = await b.send("GET", path)
            assert found["spec"]["suspend"] is False
            assert SUSPENDED not in found["metadata"].get("annotations", {})
        for seconds in (90, 60):  # Kubernetes lets it change while the Job runs
            assert await b.writer.set_deadline(b.namespace, "j", uid, seconds) == Done()
            assert (await b.send("GET", path))["spec"]["activeDeadlineSeconds"] == seconds
        assert why(await b.writer.set_deadline(b.namespace, "j", uid, 70)) is RefusalReason.STALE
        assert await b.writer.set_deadline(b.namespace, "j", uid, None) == Done()
        assert "activeDeadlineSeconds" not in (await b.send("GET", path))["spec"]
        await b.send("DELETE", path, {"propagationPolicy": "Background"})

    live(control_plane, work)


def test_a_pod_gets_a_deadline_and_never_a_later_one(control_plane: ControlPlane) -> None:
    async def work(b: Bench) -> None:
        uid = await b.pod("p")
        for seconds in (90, 60, 60):
            assert await b.writer.set_pod_deadline(b.namespace, "p", uid, seconds) == Done()
            assert (await b.read("p"))["spec"]["activeDeadlineSeconds"] == seconds
        assert why(await b.writer.set_pod_deadline(b.namespace, "p", uid, 70)) is RefusalReason.STALE
        replaced = await b.writer.set_pod_deadline(b.namespace, "p", str(uuid.uuid4()), 50)
        assert why(replaced) is RefusalReason.REPLACED
        gone = await b.writer.set_pod_deadline(b.namespace, "nobody", uid, 50)
        assert why(gone) is RefusalReason.GONE
        assert (await b.read("p"))["spec"]["activeDeadlineSeconds"] == 60

    live(control_plane, work)


def test_conditions_of_pods_are_merged_and_guarded_by_the_uid(control_plane: ControlPlane) -> None:
    async def work(b: Bench) -> None:
        uid = await b.pod("p")
        moment = datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC)
        first = Condition("PodScheduled", "False", "Unschedulable", "no room", moment)
        again = Condition("PodScheduled", "False", "SchedulerError", "")
        assert await b.writer.patch_pod_condition(b.namespace, "p", uid, first) == Done()
        assert await b.writer.patch_pod_condition(b.namespace, "p", uid, again) == Done()
        outcome = await b.writer.patch_pod_condition(b.namespace, "p", str(uuid.uuid4()), first)
        assert why(outcome) is RefusalReason.REPLACED
        [condition] = (await b.read("p"))["status"]["conditions"]
        assert condition["reason"] == "SchedulerError"
        assert condition["lastTransitionTime"] == "2026-01-02T03:04:05Z"
        assert "message" not in condition

    live(control_plane, work)


def test_a_condition_that_a_bind_has_overtaken_is_not_written(control_plane: ControlPlane) -> None:
    async def work(b: Bench) -> None:
        uid = await b.pod("p")
        before = (await b.read("p"))["metadata"]["resourceVersion"]
        assert await b.writer.bind(b.namespace, "p", uid, "n1") == Bound()
        waiting = Condition("PodScheduled", "False", "Unschedulable", "no room", datetime.now(UTC))
        outcome = await b.writer.patch_pod_condition(b.namespace, "p", uid, waiting, before)
        assert why(outcome) is RefusalReason.STALE
        [condition] = (await b.read("p"))["status"]["conditions"]
        assert condition["status"] == "True"

    live(control_plane, work)


def test_conditions_of_groups_are_merged_and_guarded_by_the_uid(control_plane: ControlPlane) -> None:
    async def work(b: Bench) -> None:
        served = await discover(b.client)
        if served.groups is None:
            pytest.skip("this server has no group API")
        spec = {"schedulingPolicy": {"gang": {"minCount": 2}}}
        body = {"metadata": {"name": "g"}, "spec": spec}
        uid = (await b.send("POST", served.groups.path(b.namespace), body))["metadata"]["uid"]
        moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        given = Condition(served.group_condition, "False", "Unschedulable", "no room", moment, 1)
        write = b.writer.patch_group_condition
        assert await write(served.groups, b.namespace, "g", uid, given) == Done()
        assert (
            why(await write(served.groups, b.namespace, "g", str(uuid.uuid4()), given))
            is RefusalReason.REPLACED
        )
        group = await b.send("GET", served.groups.path(b.namespace, "g"))
        [condition] = group["status"]["conditions"]
        assert (condition["reason"], condition["observedGeneration"]) == ("Unschedulable", 1)

    live(control_plane, work)


def test_events_are_taken_but_in_a_namespace_that_goes(control_plane: ControlPlane) -> None:
    async def work(b: Bench) -> None:
        uid = await b.pod("p")
        events = Events(b.client, Always(), "host_1")
        about = Regarding("v1", "Pod", "p", b.namespace, uid)
        await events.record(about, "Unschedulable", "é" * 2000, "Scheduling", "Warning")
        await events.record(Regarding("v1", "Node", "n1"), "Full", "no room", "Scheduling")
        assert (events.sent, events.failed) == (2, 0)
        [written] = (await b.send("GET", EVENTS.path(b.namespace)))["items"]
        assert written["regarding"]["uid"] == uid
        assert len(written["note"].encode()) <= 1024
        await b.send("POST", "/api/v1/namespaces", {"metadata": {"name": f"{b.namespace}-gone"}})
        await b.send("DELETE", f"/api/v1/namespaces/{b.namespace}-gone")
        await events.record(Regarding("v1", "Pod", "p", f"{b.namespace}-gone"), "Full", "x", "Scheduling")
        assert (events.sent, events.failed) == (2, 0)

    live(control_plane, work)


def test_a_lease_is_taken_given_back_and_taken_by_another(control_plane: ControlPlane) -> None:
    async def work(b: Bench) -> None:
        for number, identity in enumerate(["a", "b"]):
            async with LeaderLease(b.client, b.namespace, "maitred", identity=identity).term() as term:
                term.check()
                spec = (await b.send("GET", LEASES.path(b.namespace, "maitred")))["spec"]
                assert (spec["holderIdentity"], spec["leaseTransitions"]) == (identity, number)
            with pytest.raises(NotLeading):
                term.check()

    live(control_plane, work)
