"""Attacks with what is written on a single pod: JSON of any depth, and names of any length."""

from typing import Any

import pytest

from maitred.kube.resources import PODS
from tests.attacks.harness import Ground

Json = dict[str, Any]

DEEP = 3_000
YUNIKORN = "yunikorn.apache.org/"


MARKS: dict[str, Json] = {
    "the layers of Koordinator": {
        "annotations": {"gang.scheduling.koordinator.sh/network-topology-spec": '{"a":' * DEEP}
    },
    "the task groups of YuniKorn": {
        "annotations": {
            f"{YUNIKORN}app-id": "app",
            f"{YUNIKORN}task-group-name": "t",
            f"{YUNIKORN}task-groups": '[{"a":' + "[" * DEEP,
        }
    },
    "a name as long as a book": {"annotations": {"maitred.dev/group": "x" * 200_000}},
    "an owner that no object can be": {
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "K", "name": "x" * 200_000, "uid": "u", "controller": True}
        ]
    },
}


@pytest.mark.parametrize("metadata", MARKS.values(), ids=list(MARKS))
def test_one_pod_ends_no_scheduler(ground: Ground, metadata: Json) -> None:
    async def attack(ground: Ground) -> None:
        mallory = await ground.tenant()
        await mallory.api.create(PODS, mallory.pod("liar", gpus=0, metadata=metadata))
        await ground.seats_an_innocent_gang(mallory)

    ground.run(attack)
