"""Claims that name no storage class get the default, as the real server has it."""

import asyncio
from collections.abc import Mapping
from typing import Any

from tests.sandbox.apiserver.session import Session, session

CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
MARK = "storageclass.kubernetes.io/is-default-class"


async def class_of_a_claim(here: Session, **spec: str) -> Any:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    made = await here.make(CLAIMS, {"metadata": {"generateName": "c-"}, "spec": wanted})
    return made["spec"].get("storageClassName")


async def make_class(here: Session, name: str, annotations: Mapping[str, str]) -> None:
    metadata = {"name": name, "annotations": dict(annotations)}
    await here.make(CLASSES, {"metadata": metadata, "provisioner": "p.example"})


def test_a_claim_gets_the_default_class() -> None:
    async def test() -> None:
        async with session() as here:
            await make_class(here, "plain", {})
            assert await class_of_a_claim(here) is None
            await make_class(here, "marked", {MARK: "true"})
            assert await class_of_a_claim(here) == "marked"
            assert await class_of_a_claim(here, storageClassName="") == ""

    asyncio.run(test())
