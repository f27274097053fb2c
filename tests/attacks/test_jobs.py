"""Attacks with Jobs: records that are made up, Jobs of ten thousand pods, pods that never leave."""

import asyncio
import json
from itertools import count
from typing import Any

import pytest

from maitred.controllers.owners.members import MOST_ALONE
from maitred.controllers.owners.returns import MOST_IN_NAMESPACE
from maitred.kube.errors import ApiError
from maitred.kube.records import CONTENT, RECORD
from maitred.kube.resources import CONFIG_MAPS, JOBS, PODS
from maitred.model.suspension import SUSPENDED
from maitred.sandbox.kubelets.marks import STOP_SECONDS
from tests.attacks.harness import GPU, NODES, Ground, Tenant
from tests.controllers.owners.made import record
from tests.oracle.builders import gang
from tests.scenarios.api import Api, eventually
from tests.scenarios.conftest import SYSTEM_NAMESPACE

Json = dict[str, Any]

MANY = 10_000
PROMPT_HEALTHZ = 1.0
"""Seconds for an answer beside twenty Jobs of so many pods, however busy the machine is; on a quiet one it is
less than a tenth of that."""
TEN_YEARS = 10 * 365 * 86_400
EARLIER = {
    "group": "default/train",
    "for": "default/urgent",
    "at": "2026-01-01T12:00:00Z",
    "reason": "",
    "members": MANY,
    "podGroup": "",
    "schedulerName": "maitred",
}
"""The record as it stood on Jobs once."""
WHOLE: Json = {"completionMode": "Indexed", "scheduling": {"schedulingPolicy": {"gang": {"minCount": NODES}}}}
"""A gang, for which the Job controller makes the PodGroup."""


def job_body(name: str, size: int, *, annotations: Json | None = None, **spec: Any) -> Json:
    amounts = {"cpu": "1", GPU: "8"}
    container = {"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}
    pod = {
        "schedulerName": "maitred",
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "containers": [container],
    }
    template = {"spec": {**pod, **spec.pop("pod", {})}}
    return {
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {"parallelism": size, "completions": size, "template": template, **spec},
    }


def forged(name: str, size: int, **spec: Any) -> Json:
    """Suspended, as if by us, with a priority above all others."""
    return job_body(
        name,
        size,
        annotations={SUSPENDED: json.dumps(EARLIER)},
        suspend=True,
        pod={"priority": 2_000_000_000, "preemptionPolicy": "PreemptLowerPriority"},
        **spec,
    )


@pytest.mark.parametrize("manager", ["example.com/nobody", "kubernetes.io/job-controller"])
def test_a_record_that_is_made_up_holds_no_node(ground: Ground, manager: str) -> None:
    async def attack(ground: Ground) -> None:
        mallory = await ground.tenant()
        made = await mallory.api.create(JOBS, forged("forged", NODES, managedBy=manager))
        job, uid = f"{mallory.namespace}/forged", made["metadata"]["uid"]
        text = str(record(key=job, uid=uid, members=NODES, priority=2_000_000_000))
        labels = {RECORD: "suspension", "app.kubernetes.io/name": "maitred"}
        body = {
            "metadata": {"name": f"maitred-suspension-{uid}", "labels": labels},
            "data": {CONTENT: text},
        }
        await mallory.api.create(CONFIG_MAPS, body)
        with pytest.raises(ApiError, match="403"):
            await Api(mallory.api.client, SYSTEM_NAMESPACE).create(CONFIG_MAPS, body)
        await ground.seats_an_innocent_gang(mallory)
        found = await mallory.api.get(JOBS, "forged")
        assert found["spec"]["suspend"], "it is not ours to resume"

    ground.run(attack)


def test_jobs_of_ten_thousand_pods_cost_nothing(ground: Ground) -> None:
    async def attack(ground: Ground) -> None:
        mallory = await ground.tenant()
        for number in range(20):
            await mallory.api.create(JOBS, forged(f"many-{number}", MANY, managedBy="example.com/nobody"))
        await ground.seats_an_innocent_gang(mallory)
        assert ground.scheduler.slowest_healthz < PROMPT_HEALTHZ

    ground.run(attack)


@pytest.mark.parametrize("gangs", [False, True], ids=["pods", "gangs"])
def test_jobs_of_ten_thousand_pods_that_are_away_cost_little(ground: Ground, gangs: bool) -> None:
    """As many of them as may be stood in for in one namespace, with records that are ours; and their user
    changes them all the time, so that all of them are stood in for again and again."""

    async def attack(ground: Ground) -> None:
        mallory = await ground.tenant()
        # They wait for one node, which another pod has.
        other = mallory.pod("other", priorityClassName="attack-high", nodeSelector=ONE_NODE)
        await mallory.api.create(PODS, other)
        await eventually(lambda: nobody_runs(mallory.api))
        jobs = [f"away-{number}" for number in range(20)]
        for name in jobs:
            await is_away(ground, mallory, name, AWAY, gangs)
        most = 20 * (AWAY if gangs else MOST_ALONE)
        await eventually(lambda: not_stood_in_for(ground, most))

        async def stir() -> None:
            for number in count():
                for name in jobs:
                    await mallory.api.patch(JOBS, name, {"spec": {"parallelism": MANY - number % 2}})

        stirring = asyncio.create_task(stir())
        try:
            await ground.seats_an_innocent_gang(mallory)
        finally:
            stirring.cancel()
        for name in jobs:
            assert not await not_suspended(mallory.api, name), "it waits for room"
        assert ground.scheduler.slowest_healthz < PROMPT_HEALTHZ

    ground.run(attack)


AWAY = MOST_IN_NAMESPACE // 20
ONE_NODE = {"kubernetes.io/hostname": "attack-00"}


async def not_stood_in_for(ground: Ground, pods: int) -> str:
    found = await ground.scheduler.waiting_pods()
    return "" if found == pods else f"{found} of {pods} are stood in for"


async def is_away(ground: Ground, mallory: Tenant, name: str, left: int, is_gang: bool) -> None:
    """A Job of which so many pods have left to make room, as if we had suspended it."""
    spec = {"priorityClassName": "attack-low", "nodeSelector": ONE_NODE}
    body = job_body(name, MANY, suspend=True, pod=spec)
    template = body["spec"]["template"]
    template["metadata"] = {"annotations": gang(name, 8) if is_gang else {}}
    template["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1", GPU: "1"}}
    made = await mallory.api.create(JOBS, body)
    uid = made["metadata"]["uid"]
    kept = record(key=f"{mallory.namespace}/{name}", uid=uid, members=left)
    labels = {RECORD: "suspension", "app.kubernetes.io/name": "maitred"}
    meta = {"name": f"maitred-suspension-{uid}", "labels": labels}
    await Api(ground.admin.client, SYSTEM_NAMESPACE).create(
        CONFIG_MAPS, {"metadata": meta, "data": {CONTENT: str(kept)}}
    )


def test_a_job_that_grows_while_it_is_away_is_waited_for_as_it_left(ground: Ground) -> None:
    """It fills the cluster, makes room for a gang of higher priority, and asks for ten thousand pods then."""

    async def attack(ground: Ground) -> None:
        mallory = await fills_the_cluster(ground, job_body("grows", NODES, **WHOLE))
        await ground.seats_an_innocent_gang(priority="attack-high")
        await eventually(lambda: not_suspended(mallory.api, "grows"))
        more = {"parallelism": MANY, "completions": MANY}
        lie = {"annotations": {SUSPENDED: str(record(members=MANY))}}
        await mallory.api.patch(JOBS, "grows", {"spec": more, "metadata": lie})
        await ground.seats_an_innocent_gang(mallory, priority="attack-high")

    ground.run(attack)


@pytest.mark.parametrize("manager", ["example.com/nobody", "kubernetes.io/job-controller"])
def test_pods_of_a_suspended_job_do_not_leave_for_ever(ground: Ground, manager: str) -> None:
    """They say that a Job controls them which is suspended, and nobody deletes them for that."""

    async def attack(ground: Ground) -> None:
        mallory = await ground.tenant()
        made = await mallory.api.create(JOBS, job_body("away", NODES, suspend=True, managedBy=manager))
        owner = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": "away",
            "uid": made["metadata"]["uid"],
            "controller": True,
        }
        for number in range(NODES):
            meta = {"ownerReferences": [owner]}
            body = mallory.pod(f"stays-{number}", metadata=meta, priorityClassName="attack-low")
            await mallory.api.create(PODS, body)
        await eventually(lambda: nobody_runs(mallory.api))
        await ground.seats_an_innocent_gang(priority="attack-high")

    ground.run(attack)


@pytest.mark.parametrize("how", ["its pods", "a Job", "pods that it has deleted"])
def test_ten_years_of_grace_hold_no_place(ground: Ground, how: str) -> None:
    """The pods do not stop before they are killed, and ask for ten years until that."""
    forever = {"terminationGracePeriodSeconds": TEN_YEARS}
    marks = {"annotations": {STOP_SECONDS: str(TEN_YEARS)}}

    async def attack(ground: Ground) -> None:
        if how == "a Job":
            job = job_body("years", NODES, pod=forever, **WHOLE)
            job["spec"]["template"]["metadata"] = marks
            await fills_the_cluster(ground, job)
        else:
            mallory = await ground.tenant()
            for number in range(NODES):
                body = mallory.pod(
                    f"years-{number}", metadata=marks, priorityClassName="attack-low", **forever
                )
                await mallory.api.create(PODS, body)
            await eventually(lambda: not_all_run(mallory.api))
            if how == "pods that it has deleted":
                for number in range(NODES):
                    await mallory.api.delete(PODS, f"years-{number}", {"gracePeriodSeconds": TEN_YEARS})
        await ground.seats_an_innocent_gang(priority="attack-high")

    ground.run(attack)


async def fills_the_cluster(ground: Ground, job: Json) -> Tenant:
    mallory = await ground.tenant()
    job["spec"]["template"]["spec"]["priorityClassName"] = "attack-low"
    await mallory.api.create(JOBS, job)

    await eventually(lambda: not_all_run(mallory.api))
    return mallory


async def not_all_run(api: Api) -> str:
    pods = await api.list(PODS)
    bound = sum(bool(pod["spec"].get("nodeName")) for pod in pods)
    return "" if bound == NODES else f"{bound} of {NODES} are bound"


async def not_suspended(api: Api, name: str) -> str:
    found = await api.get(JOBS, name)
    return "" if found["spec"].get("suspend") else "it runs"


async def nobody_runs(api: Api) -> str:
    pods = await api.list(PODS)
    return "" if any(pod["spec"].get("nodeName") for pod in pods) else "nobody runs"
