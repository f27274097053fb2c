"""Whoever holds maitred's token can change little about Jobs, and nothing in the namespaces of the system."""

from itertools import count
from typing import Any

import pytest

from maitred.kube.client import Client
from maitred.kube.errors import ApiError
from maitred.kube.resources import JOBS
from maitred.model.runtime import SET_DEADLINE
from maitred.model.suspension import SUSPENDED
from maitred.sandbox.users import MAITRED
from tests.attacks.harness import Ground
from tests.attacks.test_jobs import job_body
from tests.scenarios.api import Api, eventually

Json = dict[str, Any]

NUMBERS = count(100)
"""No two alike: what changes nothing is never refused."""

REFUSED: dict[str, tuple[Json, str]] = {
    "its size": ({"spec": {"parallelism": 3}}, "may change spec.suspend"),
    "its deadline, and does not say so": ({"spec": {"activeDeadlineSeconds": 1}}, SET_DEADLINE),
    "its deadline, to a later one": (
        {"spec": {"activeDeadlineSeconds": 99}, "metadata": {"annotations": {SET_DEADLINE: "99"}}},
        SET_DEADLINE,
    ),
    "a deadline that is its user's": (
        {"spec": {"activeDeadlineSeconds": None}, "metadata": {"annotations": {SET_DEADLINE: None}}},
        SET_DEADLINE,
    ),
    "its history": ({"spec": {"ttlSecondsAfterFinished": 0}}, "may change spec.suspend"),
    "where it runs": (
        {"spec": {"suspend": True, "template": {"spec": {"nodeSelector": {"a": "b"}}}}},
        "may change spec.suspend",
    ),
    "another annotation": ({"metadata": {"annotations": {"example.com/a": "b"}}}, "maitred.dev/suspended"),
    "one that was there": ({"metadata": {"annotations": {"example.com/own": None}}}, "maitred.dev/suspended"),
    "another mark": (
        {"metadata": {"annotations": {"maitred.dev/non-preemptible": "true"}}},
        "maitred.dev/suspended",
    ),
    "a label": ({"metadata": {"labels": {"a": "b"}}}, "the labels"),
    "a finalizer": ({"metadata": {"finalizers": ["example.com/never"]}}, "the finalizers"),
}


def test_a_stolen_token_suspends_jobs_and_changes_nothing_else(ground: Ground) -> None:
    async def attack(ground: Ground) -> None:
        victim = await ground.tenant("victim")
        own = {"example.com/own": "mark"}
        body = job_body("job", 2, annotations=own, suspend=True, activeDeadlineSeconds=50)
        await victim.api.create(JOBS, body)
        system = Api(ground.admin.client, "kube-system")
        await system.create(JOBS, job_body("job", 1, suspend=True))
        async with Client(ground.plane.connection(MAITRED)) as client:
            try:
                await tries(Api(client, victim.namespace), Api(client, "kube-system"))
            finally:
                await system.delete(JOBS, "job")

    ground.run(attack)


async def tries(thief: Api, in_system: Api) -> None:
    await eventually(lambda: not_yet_limited(thief))
    for change, words in REFUSED.values():
        with pytest.raises(ApiError, match=words) as refusal:
            await thief.patch(JOBS, "job", change)
        assert refusal.value.status == 422
    for suspend, line in ((False, None), (True, "for others")):
        allowed = {"spec": {"suspend": suspend}, "metadata": {"annotations": {SUSPENDED: line}}}
        found = await thief.patch(JOBS, "job", allowed)
        assert found["spec"]["suspend"] is suspend
        assert found["metadata"]["annotations"].get(SUSPENDED) == line
        with pytest.raises(ApiError, match="no Job in a namespace of the system"):
            await in_system.patch(JOBS, "job", allowed)
    for seconds in (40, None):
        note = None if seconds is None else str(seconds)
        change = {
            "spec": {"activeDeadlineSeconds": seconds},
            "metadata": {"annotations": {SET_DEADLINE: note}},
        }
        found = await thief.patch(JOBS, "job", change)
        assert found["spec"].get("activeDeadlineSeconds") == seconds


async def not_yet_limited(thief: Api) -> str:
    """Rights take a moment to be there, and so does the policy that limits them."""
    try:
        await thief.patch(JOBS, "job", {"spec": {"ttlSecondsAfterFinished": next(NUMBERS)}})
    except ApiError as error:
        return "" if error.status == 422 else str(error)
    return "the policy is not in force"
