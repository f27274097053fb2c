"""A workload from its manifest to its end, with its real operator and a scheduler of ours."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import yaml

from maitred.kube.client import MERGE_PATCH, encode
from maitred.kube.errors import first_of
from maitred.kube.resources import NAMESPACES, PODS, Resource
from maitred.sandbox.kubelets.bodies import Machine
from tests.conftest import or_not_tested
from tests.operators.catalogue import operators_of
from tests.operators.run import Operators
from tests.scenarios.api import Json, eventually
from tests.scenarios.observer import SeenPod
from tests.scenarios.preempting import NoRecords
from tests.scenarios.server import RealServer
from tests.scenarios.stage import Scenario, Stage, stage
from tests.scenarios.steps import Settle

MANIFESTS = Path(__file__).parent / "manifests"
MANAGED = {"metadata": {"labels": {"maitred.dev/managed": "true"}}}
SUCCEEDED = {"status": {"phase": "Succeeded"}}
GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"


@dataclass(frozen=True)
class Story:
    """The last object of a manifest, and all pods that somebody controls."""

    stage: Stage
    bodies: Sequence[Json]

    def pods(self) -> list[SeenPod]:
        return [pod for pod in self.stage.observer.pods.values() if pod.metadata.owner_references]

    def in_phase(self, phase: str) -> list[SeenPod]:
        """Those that stay."""
        return [
            pod
            for pod in self.pods()
            if pod.status.phase == phase and pod.metadata.deletion_timestamp is None
        ]

    def groups(self) -> set[str]:
        """Of a LeaderWorkerSet, those with a pod that has a node."""
        return {pod.metadata.labels[GROUP_INDEX] for pod in self.pods() if pod.spec.node_name}

    async def submit(self) -> None:
        for body in self.bodies:
            await self.stage.api.create(resource_of(body), body)

    async def top(self) -> Json:
        body = self.bodies[-1]
        return await self.stage.api.get(resource_of(body), body["metadata"]["name"])

    async def waits_whole(self, pods: int) -> None:
        """So many pods are there, the scheduler has decided on them, and none has a node."""
        await eventually(lambda: self._short_of(pods, self.pods()))
        await self.stage.play(Settle())
        bound = [pod.metadata.name for pod in self.pods() if pod.spec.node_name]
        assert not bound, f"{bound} are bound\n{self.stage.picture()}"

    async def runs_whole(self, pods: int) -> None:
        await eventually(lambda: self._short_of(pods, self.in_phase("Running")))

    async def is_away(self) -> None:
        await eventually(lambda: ", ".join(pod.metadata.name for pod in self.pods()))

    def _short_of(self, wanted: int, found: list[SeenPod]) -> str:
        return "" if len(found) == wanted else f"{len(found)} of {wanted} pods\n{self.stage.picture()}"

    async def succeed(self) -> None:
        """What runs in its pods has done its work."""
        for pod in self.in_phase("Running"):
            path = PODS.path(self.stage.api.namespace, pod.metadata.name, "status")
            await self.stage.api.client.request(
                "PATCH", path, body=encode(SUCCEEDED), content_type=MERGE_PATCH
            )

    async def remove(self) -> None:
        """Nothing stays of it, neither pods nor what we remember."""
        for body in reversed(self.bodies):
            await self.stage.api.delete(resource_of(body), body["metadata"]["name"])
        await self.is_away()
        await self.stage.play(NoRecords())


def with_disk(machine: Machine) -> Machine:
    """The launcher of an MPIJob asks for some."""
    return replace(machine, resources={**machine.resources, "ephemeral-storage": "100Gi"})


def resource_of(body: Json) -> Resource:
    group, _, version = body["apiVersion"].rpartition("/")
    namespaced = body["kind"] not in ("ResourceFlavor", "ClusterQueue")
    return Resource(group, version, f"{body['kind'].lower()}s", body["kind"], namespaced)


def tell(
    operators: Operators,
    manifest: str,
    nodes: Sequence[Machine],
    act: Callable[[Story], Awaitable[None]],
) -> None:
    with or_not_tested():
        operators.need(operators_of(manifest))

    async def run() -> None:
        async with submitted(operators, manifest, nodes) as story:
            await act(story)

    try:
        asyncio.run(run())
    except ExceptionGroup as errors:
        raise first_of(errors) from None


@asynccontextmanager
async def submitted(operators: Operators, manifest: str, nodes: Sequence[Machine]) -> AsyncIterator[Story]:
    """In a namespace that is ours by its label, with a scheduler under its own role."""
    bodies = list(yaml.safe_load_all((MANIFESTS / f"{manifest}.yaml").read_text()))
    async with stage(RealServer(operators.plane), Scenario(manifest, nodes, ())) as ready:
        await ready.api.patch(NAMESPACES, ready.api.namespace, MANAGED)
        ready.start()
        story = Story(ready, bodies)
        try:
            await story.submit()
            yield story
        finally:
            await story.remove()
