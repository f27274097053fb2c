"""Devices that kubelets prepare before they start a pod, and what stands against it.

A real kubelet asks the drivers on its node, and a driver gives a device to one claim at a time. Here one
record serves all nodes, so it shows too if two claims have the same device of a whole rack.
"""

from collections.abc import Iterator

from maitred.kube.client import decoder
from maitred.kube.errors import ApiError
from maitred.kube.resources import resource_of
from maitred.model.devices.claims import AllocatedDevice, ResourceClaim
from maitred.model.pod import PodResourceClaim
from maitred.sandbox.claims import is_for, is_reserved_for
from maitred.sandbox.kubelets.api import KubeletApi
from maitred.sandbox.kubelets.objects import Pod

CLAIMS = resource_of(ResourceClaim)

Device = tuple[str, str, str]
"""Driver, pool, name."""


class PreparedDevices:
    def __init__(self, api: KubeletApi) -> None:
        self._api = api
        self._holders: dict[Device, str] = {}
        """Of devices that only one claim can have: the UID of that claim."""
        self._users: dict[str, set[str]] = {}
        """UID of a claim -> UIDs of the pods that it is prepared for."""
        self._prepared: dict[str, set[str]] = {}
        """UID of a pod -> UIDs of its claims."""
        self._names: dict[str, str] = {}
        """UID of a claim -> its name, for messages."""

    async def prepare(self, pod: Pod) -> str:
        """Why the pod cannot start; empty if it can. It holds all of its devices then, and else none."""
        claims = list[ResourceClaim]()
        for name, made in claims_of(pod):
            claim = None if name is None else await self._read(pod.metadata.namespace, name)
            problem = problem_of(pod, name, claim, made)
            if claim is None or problem:
                return problem
            claims.append(claim)
        taken = (self._taken(claim) for claim in claims)
        problem = next((each for each in taken if each), "")
        if not problem:
            self._hold(pod, claims)
        return problem

    async def _read(self, namespace: str, name: str) -> ResourceClaim | None:
        try:
            answer = await self._api.send("GET", CLAIMS.path(namespace, name), None)
        except ApiError:
            return None
        return None if answer is None else decoder(ResourceClaim).decode(answer)

    def _taken(self, claim: ResourceClaim) -> str:
        for device in exclusive(claim):
            holder = self._holders.get(device, claim.metadata.uid)
            if holder != claim.metadata.uid:
                other = self._names[holder]
                return (
                    f"prepare devices for claim {named(claim)}: {'/'.join(device)} is in use by claim {other}"
                )
        return ""

    def _hold(self, pod: Pod, claims: list[ResourceClaim]) -> None:
        for claim in claims:
            uid = claim.metadata.uid
            self._holders.update(dict.fromkeys(exclusive(claim), uid))
            self._names[uid] = named(claim)
            self._users.setdefault(uid, set()).add(pod.metadata.uid)
            self._prepared.setdefault(pod.metadata.uid, set()).add(uid)

    def release(self, pod_uid: str) -> None:
        """The pod has ended. A device is free when the last pod of its claim has."""
        for uid in self._prepared.pop(pod_uid, ()):
            users = self._users[uid]
            users.discard(pod_uid)
            if not users:
                del self._users[uid], self._names[uid]
                for device in [each for each, holder in self._holders.items() if holder == uid]:
                    del self._holders[device]


def claims_of(pod: Pod) -> Iterator[tuple[str | None, bool]]:
    """The name of each claim that a pod needs, None if it is not made yet; whether it is from a template."""
    made = {each.name: each.resource_claim_name for each in pod.status.resource_claim_statuses}
    for claim in pod.spec.resource_claims:
        name = name_of(claim, made)
        if name != "":
            yield name, claim.resource_claim_name is None
    extended = pod.status.extended_resource_claim_status
    if extended is not None:
        yield extended.resource_claim_name, True


def name_of(claim: PodResourceClaim, made: dict[str, str]) -> str | None:
    return made.get(claim.name) if claim.resource_claim_name is None else claim.resource_claim_name


def problem_of(pod: Pod, name: str | None, claim: ResourceClaim | None, made: bool) -> str:
    if name is None:
        return "a ResourceClaim of the pod has not been created from its template yet"
    if claim is None:
        return f"ResourceClaim {pod.metadata.namespace}/{name} cannot be read"
    if made and not is_for(pod, claim):
        return f"ResourceClaim {named(claim)} was not created for the pod"
    if claim.status.allocation is None:
        return f"ResourceClaim {named(claim)} is not allocated"
    if not is_reserved_for(pod, claim):
        return f"the pod is not allowed to use ResourceClaim {named(claim)}: it is not reserved for the pod"
    return ""


def exclusive(claim: ResourceClaim) -> list[Device]:
    """Devices that no other claim can have: neither a share of one, nor one that is only watched over."""
    allocation = claim.status.allocation
    results: tuple[AllocatedDevice, ...] = () if allocation is None else allocation.devices.results
    return [
        (each.driver, each.pool, each.device)
        for each in results
        if not each.share_id and not each.admin_access
    ]


def named(claim: ResourceClaim) -> str:
    return f"{claim.metadata.namespace}/{claim.metadata.name}"
