"""Devices on the nodes, and what comes of the claims for them."""

import asyncio
import time
from typing import Any, NamedTuple

from benchmarks.device_objects import (
    GPU_DRIVER,
    Wanted,
    claim_template,
    device_class,
    device_name,
    resource_slice,
)
from benchmarks.kube.bodies import CLAIM_TEMPLATE, NODE_GPUS, body, node_name
from benchmarks.kube.checks import WrongError
from benchmarks.kube.cluster import CLAIMS, create
from benchmarks.objects import NAMESPACE
from maitred.kube.client import MERGE_PATCH, Client, encode
from maitred.kube.resources import resource_of
from maitred.model.devices.claims import FINALIZER, ResourceClaim, ResourceClaimTemplate
from maitred.model.devices.classes import DeviceClass
from maitred.model.devices.slices import ResourceSlice
from maitred.model.meta import Lean, OwnerReference, controller_of
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane

CLAIM_CONTROLLER = "resourceclaim-controller"
MADE_SECONDS = 120.0
POLL_SECONDS = 0.5


class PodClaim(NamedTuple):
    name: str
    owner: OwnerReference
    """The pod that it was made for."""


class Claims(Lean, frozen=True):
    items: tuple[ResourceClaim, ...]


async def publish(plane: ControlPlane, nodes: int) -> None:
    """Eight devices on every node, which all suit, and the template by which pods ask for one."""
    async with Client(plane.connection(ADMIN)) as client:
        await create(client, [body(resource_of(DeviceClass), device_class())])
        template = claim_template(CLAIM_TEMPLATE, Wanted(1))
        await create(client, [body(resource_of(ResourceClaimTemplate), template)])
        slices = (resource_slice(node_name(number), 0, NODE_GPUS) for number in range(nodes))
        await create(client, (body(resource_of(ResourceSlice), one) for one in slices))


async def claims_of_pods(client: Client, count: int) -> dict[str, PodClaim]:
    """The claim of each pod, once there are so many."""
    deadline = time.monotonic() + MADE_SECONDS
    while True:
        found = (await client.get(CLAIMS.path(NAMESPACE), Claims)).items
        owners = ((controller_of(one.metadata), one.metadata.name) for one in found)
        claims = {owner.name: PodClaim(claim, owner) for owner, claim in owners if owner is not None}
        if len(claims) == count:
            return claims
        if time.monotonic() > deadline:
            raise RuntimeError(f"{len(claims)} of {count} claims are made after {MADE_SECONDS:.0f} s")
        await asyncio.sleep(POLL_SECONDS)


async def allocate(client: Client, claim: PodClaim, node: str, place: int) -> None:
    """With the two writes that it takes, and without a look at anything."""

    async def patch(subresource: str, change: dict[str, Any]) -> None:
        path = CLAIMS.path(NAMESPACE, claim.name, subresource)
        await client.request("PATCH", path, body=encode(change), content_type=MERGE_PATCH)

    await patch("", {"metadata": {"finalizers": [FINALIZER]}})
    result = {"request": "gpus", "driver": GPU_DRIVER, "pool": node, "device": device_name(place)}
    here = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    allocation = {"devices": {"results": [result]}, "nodeSelector": {"nodeSelectorTerms": [here]}}
    user = {"resource": "pods", "name": claim.owner.name, "uid": claim.owner.uid}
    await patch("status", {"status": {"allocation": allocation, "reservedFor": [user]}})


async def check_claims(client: Client, bound: int) -> None:
    """A rate counts only if every pod that is bound has a device, and no two have the same."""
    found = (await client.get(CLAIMS.path(NAMESPACE), Claims)).items
    given = [
        (one.pool, one.device)
        for claim in found
        if claim.status.allocation is not None and claim.status.reserved_for
        for one in claim.status.allocation.devices.results
    ]
    if len(given) < bound or len(given) != len(set(given)):
        raise WrongError(f"{bound} pods are bound, and {len(set(given))} devices given, some more than once")
