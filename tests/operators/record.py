"""What the real operators make of the manifests here, moment by moment, for tests that run without them.

    .venv/bin/python -m tests.operators.record [NAME ...]

writes `recorded/NAME.MOMENT.yaml`. Moments are `created` (nothing has a node yet), `running` (kube-scheduler
has bound everything; only where there are more pods then than before) and `suspended` (its pods are gone).
UIDs are replaced by the kind and name of what they are of, so that owner references can be read. Times,
fields that servers fill in, and what no scheduler reads are left out.
"""

import asyncio
import json
import logging
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.controlplane.versions import RELEASES
from tests.control_plane.cluster import Cluster, cluster
from tests.operators.catalogue import JOBSET, KUBERAY, LWS, TRAINER, TRAINING, operators_of
from tests.operators.run import Operators
from tests.operators.story import with_disk
from tests.scenarios.objects import rack

Json = dict[str, Any]

HERE = Path(__file__).parent
MANIFESTS, RECORDED = HERE / "manifests", HERE / "recorded"
SUSPENDED: dict[str, Json] = {
    "jobset": {"spec": {"suspend": True}},
    "jobset-depends-on": {"spec": {"suspend": True}},
    "trainjob": {"spec": {"suspend": True}},
    "raycluster": {"spec": {"suspend": True}},
    "rayjob": {"spec": {"suspend": True}},
    "pytorchjob": {"spec": {"runPolicy": {"suspend": True}}},
    "mpijob": {"spec": {"runPolicy": {"suspend": True}}},
}
"""How each is suspended; LeaderWorkerSets cannot be."""
OWNERS = {
    JOBSET: "jobsets",
    LWS: "leaderworkersets",
    TRAINER: "trainjobs",
    KUBERAY: "rayjobs,rayclusters",
    TRAINING: "pytorchjobs,mpijobs",
}
NODES = [with_disk(one) for name in ("r1", "r2", "r3") for one in rack(name, 2, cpu=8)]
OF_KUBERNETES = "jobs.batch,statefulsets,pods"
LONGEST_SECONDS = 120.0
QUIET_SECONDS = 4.0
"""Operators look again after 3 s at the most."""


@dataclass(frozen=True)
class Recorder:
    plane: ControlPlane
    place: Cluster
    name: str
    created: list[Json] = field(default_factory=list)

    async def record(self) -> None:
        await self.kubectl("apply", "-f", f"{MANIFESTS}/{self.name}.yaml")
        await self.write("created", bool)
        with self.plane.kube_scheduler():
            await self.write("running", lambda pods: all(p["status"]["phase"] != "Pending" for p in pods))
        if self.name in SUSPENDED:
            await self.suspend(True)
            await self.write("suspended", lambda pods: all(p["status"]["phase"] == "Succeeded" for p in pods))
        await self.kubectl("delete", "-f", f"{MANIFESTS}/{self.name}.yaml", "--wait=false")

    async def write(self, moment: str, enough: Callable[[list[Json]], bool]) -> None:
        """Once the pods are as wanted, and nothing has changed for a while."""
        before, since, deadline = list[Json](), time.monotonic(), time.monotonic() + LONGEST_SECONDS
        while time.monotonic() - since < QUIET_SECONDS:
            objects = await self.seen()
            pods = [one for one in objects if one["kind"] == "Pod"]
            if objects != before or not enough(pods):
                before, since = objects, time.monotonic()
            assert time.monotonic() < deadline, f"{self.name} {moment}: {yaml.safe_dump(objects)}"
            await asyncio.sleep(0.5)
        if moment == "running" and len(pods) == len(self.created):
            return
        self.created.extend(pods)
        path = RECORDED / f"{self.name}.{moment}.yaml"
        path.write_text(yaml.safe_dump_all(objects, width=110))
        say(f"  {path.name}: {len(pods)} pods")

    async def suspend(self, value: bool) -> None:
        *_, top = yaml.safe_load_all((MANIFESTS / f"{self.name}.yaml").read_text())
        patch = json.dumps(SUSPENDED[self.name]).replace("true", json.dumps(value))
        await self.kubectl("patch", top["kind"], top["metadata"]["name"], "--type=merge", "-p", patch)

    async def seen(self) -> list[Json]:
        kinds = ",".join([*(OWNERS[operator] for operator in operators_of(self.name)), OF_KUBERNETES])
        found = json.loads(await self.kubectl("get", kinds, "-o", "json"))["items"]
        names = {one["metadata"]["uid"]: f"{one['kind']}-{one['metadata']['name']}".lower() for one in found}
        text = json.dumps([stripped(one) for one in found])
        for uid, name in names.items():
            text = text.replace(uid, name)
        return list(json.loads(text.replace(self.place.namespace, "default")))

    async def kubectl(self, *arguments: str) -> str:
        return await asyncio.to_thread(self.plane.kubectl, "-n", self.place.namespace, *arguments)


# -- what is kept ------------------------------------------------------------------------------------------

SERVERS_OWN = ("creationTimestamp", "generation", "resourceVersion", "managedFields", "generateName")
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
POD_SPEC = (
    "affinity",
    "initContainers",
    "containers",
    "nodeName",
    "nodeSelector",
    "priority",
    "priorityClassName",
    "schedulingGates",
    "schedulingGroup",
)
CONTAINER = ("name", "image", "resources", "restartPolicy")


def stripped(body: Json) -> Json:
    kept: Json = {"apiVersion": body["apiVersion"], "kind": body["kind"], "metadata": about(body["metadata"])}
    match body["kind"]:
        case "StatefulSet":
            return kept
        case "Pod":
            return {**kept, "spec": pod_spec(body["spec"]), "status": {"phase": body["status"]["phase"]}}
        case _:
            return {
                **kept,
                "spec": without_noise(body["spec"]),
                "status": without_noise(body.get("status", {})),
            }


def about(metadata: Json) -> Json:
    """JobSet says everything twice, in labels and in annotations."""
    labels = metadata.get("labels", {})
    notes = {
        key: value
        for key, value in metadata.get("annotations", {}).items()
        if key != LAST_APPLIED and labels.get(key) != value
    }
    kept = {key: value for key, value in metadata.items() if key not in (*SERVERS_OWN, "annotations")}
    return {**kept, "annotations": notes} if notes else kept


def pod_spec(spec: Json) -> Json:
    kept = {key: spec[key] for key in POD_SPEC if spec.get(key)}
    for kind in ("initContainers", "containers"):
        if kind in kept:
            kept[kind] = [{key: one[key] for key in CONTAINER if one.get(key)} for one in kept[kind]]
    return kept


def without_noise(value: Any) -> Any:
    """Templates like pods, and no times."""
    if isinstance(value, list):
        return [without_noise(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "containers" in value:
        return pod_spec(value)
    return {
        key: about(one) if key == "metadata" else without_noise(one)
        for key, one in value.items()
        if key != "creationTimestamp" and not key.endswith("Time")
    }


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(chosen: Iterable[str]) -> None:
    logging.basicConfig(level=logging.ERROR)
    names = list(chosen) or sorted(path.stem for path in MANIFESTS.glob("*.yaml"))

    async def run(operators: Operators) -> None:
        for name in names:
            say(name)
            operators.need(operators_of(name))
            async with cluster(operators.plane, NODES) as place:
                await Recorder(operators.plane, place, name).record()

    with (
        ControlPlane(RELEASES["1.37.1"], workload_gates=False, say=say) as plane,
        plane.controller_manager(),
        Operators(plane, say) as operators,
    ):
        asyncio.run(run(operators))


if __name__ == "__main__":
    main(sys.argv[1:])
