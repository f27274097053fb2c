"""Steps about hardware that fails, and about who is healed."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from maitred.controllers.policy import PolicyKeeper
from maitred.kube.client import STRATEGIC_MERGE_PATCH, encode
from maitred.kube.resources import CONFIG_MAPS, NODES, PODS
from maitred.model.health.steps import STEP_TIME
from maitred.model.node import LEMON, Node
from maitred.model.protection import LAST_CHECKPOINT
from tests.scenarios.api import Api, Json, eventually
from tests.scenarios.devices import SLICES
from tests.scenarios.dialect import JOBS, job_body
from tests.scenarios.objects import Job, Pods
from tests.scenarios.observer import SeenPod
from tests.scenarios.stage import SYSTEM_NAMESPACE, Stage, Step
from tests.scenarios.steps import notes_about, pods_of, size

MEMORY = "maitred-health"
GRACE_SECONDS = 1


@dataclass(frozen=True)
class Given:
    """A policy for failures: nobody waits for minutes in a test."""

    healing: Mapping[str, object] = field(default_factory=dict)

    async def run(self, keeper: PolicyKeeper) -> None:
        healing = {"grace": f"{GRACE_SECONDS}s", "hold": "60s", **self.healing}
        keeper.offer(json.dumps({"healing": healing}).encode(), "the scenario")


async def incidents(stage: Stage) -> list[Json]:
    """What is remembered of the groups of this scenario."""
    found = await Api(stage.api.client, SYSTEM_NAMESPACE).list(CONFIG_MAPS)
    texts = [one["data"]["record"] for one in found if one["metadata"]["name"] == MEMORY]
    every = json.loads(texts[0])["incidents"] if texts else []
    return [one for one in every if one["group"].startswith(f"{stage.api.namespace}/")]


def node_of(stage: Stage, who: Pods | Job, member: int = 0) -> str:
    """Of one of the members that are there, in the order of their names."""
    return sorted(pods_of(stage, who), key=lambda pod: pod.metadata.name)[member].spec.node_name


@dataclass(frozen=True)
class Incidents(Step):
    """So many failures are remembered, of which so many are over: with the quorum at work, if nothing else is
    said."""

    count: int
    over: int = 0
    whole: bool = True

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: self._missing(stage))

    async def _missing(self, stage: Stage) -> str:
        found = await incidents(stage)
        ended = [one for one in found if one["ended"]]
        right = (len(found), len(ended)) == (self.count, self.over)
        right = right and all(one["isWhole"] is self.whole for one in ended)
        told = [(one["rule"], one["words"], one["how"]) for one in found]
        return "" if right else f"{self.count} failures, {self.over} of them over: {told}"


@dataclass(frozen=True)
class Whole(Step):
    """All members run, and none of them on these nodes."""

    who: Job
    not_on: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.who.name} is whole"

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: self._missing(stage))

    def _missing(self, stage: Stage) -> str:
        pods = pods_of(stage, self.who)
        works = [
            one for one in pods if one.status.phase == "Running" and one.spec.node_name not in self.not_on
        ]
        return "" if len(works) == size(self.who) else f"{len(works)} of {size(self.who)} work"


@dataclass(frozen=True)
class IsSuspended(Step):
    """Whether or not the kubelets of its pods still answer."""

    job: Job

    async def play(self, stage: Stage) -> None:
        async def missing() -> str:
            found = await stage.api.get(JOBS, self.job.name)
            return "" if found["spec"].get("suspend") else f"Job {self.job.name} is not suspended"

        await eventually(missing)


@dataclass(frozen=True)
class EventTold(Step):
    """Of the group, or of its owner where nothing declares it."""

    who: Job
    words: tuple[str, ...]
    """That stand in one note."""

    async def play(self, stage: Stage) -> None:
        about = {("Job", self.who.name)}
        if stage.served.groups is not None and self.who.group is not None:
            about = {("PodGroup", self.who.group.name)}

        async def missing() -> str:
            notes = await notes_about(stage, about)
            told = any(all(word in note for word in self.words) for note in notes)
            return "" if told else f"no note about {about} with {self.words}: {notes}"

        await eventually(missing)


@dataclass(frozen=True)
class Untouched(Step):
    """The steps leave these pods as they are: the same ones, and nobody told them to go."""

    who: Pods | Job
    steps: tuple[Step, ...]
    but: tuple[str, ...] = ()
    """Nodes whose pods may go."""

    async def play(self, stage: Stage) -> None:
        before = [pod for pod in pods_of(stage, self.who) if pod.spec.node_name not in self.but]
        await stage.play(*self.steps)
        now = {pod.metadata.uid: pod for pod in stage.observer.pods.values()}
        for pod in before:
            after = now.get(pod.metadata.uid)
            assert after is not None, f"{pod.metadata.name} is gone"
            assert is_left_alone(after), f"{pod.metadata.name} was told to go"


def is_left_alone(pod: SeenPod) -> bool:
    told = any(one.type == "DisruptionTarget" for one in pod.status.conditions)
    return pod.metadata.deletion_timestamp is None and not told


# -- what fails ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BreakDevice(Step):
    """As a kubelet says it, when the device of a container is not well any more."""

    pod: str

    async def play(self, stage: Stage) -> None:
        sick = {"name": "example.com/gpu", "resources": [{"resourceID": "gpu-0", "health": "Unhealthy"}]}
        status = {"containerStatuses": [{**container(), "allocatedResourcesStatus": [sick]}]}
        await set_status(stage, self.pod, status)


@dataclass(frozen=True)
class Refuse(Step):
    """As a kubelet says it, when it does not take a pod: the device of its node could not be had."""

    pod: str
    reason: str = "UnexpectedAdmissionError"

    async def play(self, stage: Stage) -> None:
        words = "Allocate failed due to no healthy devices present; cannot allocate unhealthy devices"
        await set_status(stage, self.pod, {"phase": "Failed", "reason": self.reason, "message": words})


@dataclass(frozen=True)
class Say(Step):
    """A condition of a node, as an agent on it says it."""

    node: str
    type: str
    status: str = "True"

    async def play(self, stage: Stage) -> None:
        said = {"type": self.type, "status": self.status, "reason": "Test", "message": "said by the scenario"}
        path = NODES.path(name=self.node, subresource="status")
        body = encode({"status": {"conditions": [said]}})
        await stage.api.client.request("PATCH", path, body=body, content_type=STRATEGIC_MERGE_PATCH)


def container() -> Json:
    state = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    return {"name": "main", "image": "none", "imageID": "", "ready": True, "restartCount": 0, "state": state}


async def set_status(stage: Stage, pod: str, status: Json) -> None:
    path = f"{stage.api.path(PODS, pod)}/status"
    await stage.api.client.request(
        "PATCH", path, body=encode({"status": status}), content_type=STRATEGIC_MERGE_PATCH
    )


async def create_marked(stage: Stage, job: Job, marks: Mapping[str, str]) -> None:
    """With these annotations on its pods."""
    body = job_body(job, stage.dialect)
    meta = body["spec"]["template"]["metadata"]
    meta["annotations"] = {**meta.get("annotations", {}), **marks}
    await stage.api.create(JOBS, body)


@dataclass(frozen=True)
class Tainted(Step):
    """Whether a node has the taint of lemons, sooner or later."""

    node: str
    so: bool = True

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: self._missing(stage))

    async def _missing(self, stage: Stage) -> str:
        found = await stage.api.client.get(NODES.path(name=self.node), Node)
        taints = [taint.key for taint in found.spec.taints]
        return "" if (LEMON in taints) is self.so else f"{self.node} has the taints {taints}"


@dataclass(frozen=True)
class Warn(Step):
    """A taint by which a cloud says that it will take the node back."""

    node: str
    key: str = "aws-node-termination-handler/spot-itn"

    async def play(self, stage: Stage) -> None:
        taints = [{"key": self.key, "effect": "NoSchedule"}]
        body = encode({"spec": {"taints": taints}})
        await stage.api.client.request(
            "PATCH", NODES.path(name=self.node), body=body, content_type=STRATEGIC_MERGE_PATCH
        )


@dataclass(frozen=True)
class Register(Step):
    """As a kubelet does once a device plugin has registered: the node has these devices, all of them well."""

    node: str
    devices: Mapping[str, str]

    async def play(self, stage: Stage) -> None:
        body = encode({"status": {"capacity": dict(self.devices), "allocatable": dict(self.devices)}})
        path = NODES.path(name=self.node, subresource="status")
        await stage.api.client.request("PATCH", path, body=body, content_type=STRATEGIC_MERGE_PATCH)


async def tell_step_time(stage: Stage, pod: str, seconds: str) -> None:
    """As the training program writes it into its own pod."""
    await stage.api.patch(PODS, pod, {"metadata": {"annotations": {STEP_TIME: seconds}}})


async def tell_checkpoint(stage: Stage, pod: str) -> None:
    """That it has saved its work, now."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    await stage.api.patch(PODS, pod, {"metadata": {"annotations": {LAST_CHECKPOINT: now}}})


async def publish(stage: Stage, body: Json) -> None:
    """A driver publishes a slice of a node anew: the next generation of its pool."""
    name = body["metadata"]["name"]
    now = await stage.api.get(SLICES, name)
    pool = {**body["spec"]["pool"], "generation": now["spec"]["pool"]["generation"] + 1}
    await stage.api.patch(SLICES, name, {"spec": {"pool": pool, "devices": body["spec"]["devices"]}})
