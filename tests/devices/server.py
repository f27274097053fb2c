"""A world on the real API server: what is there, the pod that waits behind a gate, and what kube-scheduler
makes of it once the gate is gone."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from maitred.kube.bodies import timestamp
from maitred.kube.client import MERGE_PATCH, Client
from maitred.kube.resources import NAMESPACES, NODES, PODS, Resource
from maitred.sandbox.controlplane.versions import Release
from tests.control_plane.objects import Objects
from tests.devices.made import SPACE, World, named

Obj = dict[str, Any]

ANSWER_SECONDS = 60.0
RETRY_SECONDS = 4.0
"""kube-scheduler tries a pod again about a second after it has taken away an allocation of its claim."""
GATE = "example.com/until-all-is-there"
CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")
TRUE = {"status": "True", "reason": "Ready", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"}


def resources(release: Release) -> list[Resource]:
    # Before 1.37, rules are in a version that is not served by default.
    rules = (*release.device_versions, "v1")[0]
    return [
        *(PODS, NODES, NAMESPACES, CLAIMS),
        Resource("resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate"),
        Resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False),
        Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False),
        Resource("resource.k8s.io", rules, "devicetaintrules", "DeviceTaintRule", namespaced=False),
    ]


@dataclass(frozen=True)
class Outcome:
    """Where kube-scheduler put the pod, with which devices; or why it did not."""

    node: str | None
    reason: str = ""
    """`Unschedulable`, or `SchedulerError` if it gave up for an error."""
    message: str = ""
    allocations: Mapping[str, Obj] = field(default_factory=dict)
    """By the names of claims; those that it made for extended resources are left out."""


@dataclass(frozen=True)
class Waiting:
    """The pod and its claims as the server made them, those from templates too."""

    pod: Obj
    claims: Mapping[str, Obj]


class Server(Objects):
    def __init__(self, client: Client, release: Release) -> None:
        super().__init__(client, resources(release))

    @asynccontextmanager
    async def standing(self, world: World) -> AsyncIterator[None]:
        """The world without its pod; all gone afterwards."""
        others = [item for item in world.objects if item["kind"] != "ResourceClaim"]
        try:
            made = await asyncio.gather(*map(self.put_one, others))
            holders = {item["metadata"]["name"]: item["metadata"]["uid"] for item in made}
            await self.put(reserved(item, holders) for item in world.of_kind("ResourceClaim"))
            yield
        finally:
            await self.remove(world.objects)

    @asynccontextmanager
    async def waiting(self, world: World) -> AsyncIterator[Waiting]:
        """The pod behind a gate, with all of its claims, as if the controllers had been there."""
        asked = world.pod["spec"]
        gated = {**world.pod, "spec": {**asked, "schedulingGates": [{"name": GATE}]}}
        known = {item["metadata"]["name"] for item in world.of_kind("ResourceClaim")}
        try:
            pods = await self.send("GET", PODS.path(SPACE))
            holders = {item["metadata"]["name"]: item["metadata"]["uid"] for item in pods["items"]}
            pod = await self.put_one(gated)
            made, statuses = claims_from_templates(world, pod)
            await self.put([*(reserved(item, holders) for item in world.claims), *made])
            if statuses:
                status = {"status": {"resourceClaimStatuses": statuses}}
                await self.send("PATCH", f"{self.path(pod_of(world))}/status", status, MERGE_PATCH)
            claims = await self._claims()
            names = [item["metadata"]["name"] for item in (*world.claims, *made)]
            yield Waiting(pod, {name: claims[name] for name in names})
        finally:
            left = [
                named("ResourceClaim", n, namespace=SPACE) for n in await self._claims() if n not in known
            ]
            await self.remove([pod_of(world), *left])

    async def seen(self, world: World) -> list[Obj]:
        """Everything as the server has it, with the pod free to go."""
        listed = await self.listed()
        for item in listed:
            if item["kind"] == "Pod" and item["metadata"]["name"] == world.pod["metadata"]["name"]:
                del item["spec"]["schedulingGates"]
        return listed

    async def allocate(self, waiting: Waiting, planned: Iterable[Obj]) -> None:
        """Write what a Plan says of the pod's claims: `{claim, allocation, reservedFor}`. What is allocated
        already is only reserved: the server takes no change of an allocation."""
        for item in planned:
            namespace, name = item["claim"].split("/")
            if name not in waiting.claims:
                continue
            status = {"reservedFor": item["reservedFor"]}
            if not allocation(waiting.claims[name]):
                status["allocation"] = {"allocationTimestamp": timestamp(), **item["allocation"]}
            await self.send("PATCH", CLAIMS.path(namespace, name, "status"), {"status": status}, MERGE_PATCH)

    async def outcome(self, waiting: Waiting, pause: float) -> Outcome:
        """What kube-scheduler makes of the pod, after a pause: it hears of objects later than we do."""
        await asyncio.sleep(pause)
        path, began = PODS.path(SPACE, waiting.pod["metadata"]["name"]), time.monotonic()
        await self.send("PATCH", path, {"spec": {"schedulingGates": None}}, MERGE_PATCH)
        while True:
            pod = await self.send("GET", path)
            claims = await self._claims()
            if node := pod["spec"].get("nodeName"):
                return Outcome(node, allocations={name: allocation(claims[name]) for name in waiting.claims})
            past, refusal = time.monotonic() - began, refused(pod)
            lost = any(
                allocation(was) and not allocation(claims[name]) for name, was in waiting.claims.items()
            )
            if refusal is not None and (not lost or past > RETRY_SECONDS):
                return refusal
            assert past < ANSWER_SECONDS, f"kube-scheduler is silent about {path}: {pod['status']}"
            await self._ready(claims.values())
            await asyncio.sleep(0.01)

    async def _claims(self) -> dict[str, Obj]:
        listed = await self.send("GET", CLAIMS.path(SPACE))
        return {item["metadata"]["name"]: item for item in listed["items"]}

    async def _ready(self, claims: Iterable[Obj]) -> None:
        """What a driver does: devices with binding conditions become ready once they are allocated."""
        for claim in claims:
            results = allocation(claim).get("devices", {}).get("results", [])
            waited = [found for found in results if found.get("bindingConditions")]
            if waited and not claim["status"].get("devices"):
                path = CLAIMS.path(SPACE, claim["metadata"]["name"], "status")
                devices = [ready(found) for found in waited]
                await self.send("PATCH", path, {"status": {"devices": devices}}, MERGE_PATCH)


def pod_of(world: World) -> Obj:
    return named("Pod", world.pod["metadata"]["name"], "v1", SPACE)


def allocation(claim: Obj) -> Obj:
    return dict(claim.get("status", {}).get("allocation") or {})


def ready(found: Obj) -> Obj:
    keys: Obj = {key: found[key] for key in ("driver", "pool", "device", "shareID") if key in found}
    return {**keys, "conditions": [{"type": kind, **TRUE} for kind in found["bindingConditions"]]}


def refused(pod: Obj) -> Outcome | None:
    for condition in pod["status"].get("conditions") or ():
        if condition["type"] == "PodScheduled" and condition["reason"] != "SchedulingGated":
            return Outcome(None, condition["reason"], condition.get("message", ""))
    return None


def reserved(claim: Obj, holders: Mapping[str, str]) -> Obj:
    """The claim with the UIDs of the pods that it is reserved for."""
    status = claim.get("status")
    if not status or "reservedFor" not in status:
        return claim
    entries = [{**entry, "uid": holders[entry["name"]]} for entry in status["reservedFor"]]
    return {**claim, "status": {**status, "reservedFor": entries}}


def claims_from_templates(world: World, pod: Obj) -> tuple[list[Obj], list[Obj]]:
    """The claims that the controller makes for the pod, and what it writes into the pod's status."""
    templates = {item["metadata"]["name"]: item for item in world.of_kind("ResourceClaimTemplate")}
    made, statuses = [], []
    for use in pod["spec"].get("resourceClaims", ()):
        if "resourceClaimTemplateName" not in use:
            continue
        name = f"{pod['metadata']['name']}-{use['name']}"
        spec = templates[use["resourceClaimTemplateName"]]["spec"]["spec"]
        claim = named("ResourceClaim", name, namespace=SPACE, spec=spec)
        owner = {"apiVersion": "v1", "kind": "Pod", "controller": True, "blockOwnerDeletion": True}
        identity = {key: pod["metadata"][key] for key in ("name", "uid")}
        claim["metadata"]["ownerReferences"] = [{**owner, **identity}]
        claim["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": use["name"]}
        made.append(claim)
        statuses.append({"name": use["name"], "resourceClaimName": name})
    return made, statuses
