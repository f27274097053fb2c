"""What the API server serves, and which version of it we use."""

from collections.abc import Iterable
from dataclasses import dataclass

from maitred.kube.client import Client
from maitred.kube.resources import Resource
from maitred.model.meta import Lean

SCHEDULING = "scheduling.k8s.io"
DEVICES = "resource.k8s.io"
STORAGE = "storage.k8s.io"
PREFERRED = {
    SCHEDULING: ("v1beta1", "v1alpha3", "v1alpha2"),
    DEVICES: ("v1", "v1beta2", "v1beta1"),
    STORAGE: ("v1",),
}
"""The groups whose versions differ between clusters, with the versions that we know, best first."""

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
"""All groups with their resources in one answer; servers before 1.30 give the plain list of groups."""


@dataclass(frozen=True, slots=True)
class Served:
    """None for what the server does not have, or has only in versions that we do not know."""

    version: str
    groups: Resource | None = None
    composites: Resource | None = None
    claims: Resource | None = None
    claim_templates: Resource | None = None
    slices: Resource | None = None
    device_classes: Resource | None = None
    csi_drivers: Resource | None = None
    attachments: Resource | None = None

    @property
    def group_condition(self) -> str:
        """The condition of a group that says whether it was scheduled; renamed in 1.37."""
        old = self.groups is not None and self.groups.version == "v1alpha2"
        return "PodGroupScheduled" if old else "PodGroupInitiallyScheduled"


class ServerVersion(Lean, frozen=True):
    git_version: str = ""


class GroupName(Lean, frozen=True):
    name: str = ""


class ResponseKind(Lean, frozen=True):
    kind: str = ""


class DiscoveredResource(Lean, frozen=True):
    resource: str = ""
    response_kind: ResponseKind | None = None
    scope: str = ""


class DiscoveredVersion(Lean, frozen=True):
    version: str = ""
    resources: tuple[DiscoveredResource, ...] | None = None


class DiscoveredGroup(Lean, frozen=True):
    metadata: GroupName = GroupName()
    versions: tuple[DiscoveredVersion, ...] | None = None


class PlainVersion(Lean, frozen=True):
    version: str = ""


class PlainGroup(Lean, frozen=True):
    name: str = ""
    versions: tuple[PlainVersion, ...] | None = None


class Discovery(Lean, frozen=True):
    """Either answer: an APIGroupDiscoveryList has items, an APIGroupList has groups."""

    kind: str = ""
    items: tuple[DiscoveredGroup, ...] | None = None
    groups: tuple[PlainGroup, ...] | None = None


class PlainResource(Lean, frozen=True):
    name: str = ""
    kind: str = ""
    namespaced: bool = False


class PlainResources(Lean, frozen=True):
    resources: tuple[PlainResource, ...] | None = None


async def discover(client: Client) -> Served:
    version = await client.get("/version", ServerVersion)
    found = await client.get("/apis", Discovery, accept=AGGREGATED)
    aggregated = found.kind == "APIGroupDiscoveryList"
    resources = from_aggregated(found) if aggregated else await from_plain(client, found)
    best = chosen(resources)
    return Served(
        version.git_version,
        groups=best.get((SCHEDULING, "podgroups")),
        composites=best.get((SCHEDULING, "compositepodgroups")),
        claims=best.get((DEVICES, "resourceclaims")),
        claim_templates=best.get((DEVICES, "resourceclaimtemplates")),
        slices=best.get((DEVICES, "resourceslices")),
        device_classes=best.get((DEVICES, "deviceclasses")),
        csi_drivers=best.get((STORAGE, "csidrivers")),
        attachments=best.get((STORAGE, "volumeattachments")),
    )


def from_aggregated(found: Discovery) -> list[Resource]:
    return [
        Resource(
            group.metadata.name, version.version, r.resource, r.response_kind.kind, r.scope == "Namespaced"
        )
        for group in found.items or ()
        for version in group.versions or ()
        for r in version.resources or ()
        if r.response_kind is not None
    ]


async def from_plain(client: Client, found: Discovery) -> list[Resource]:
    """Only our own groups are asked for, so that no third party's broken API can stand in the way."""
    resources = list[Resource]()
    for group in found.groups or ():
        for version in group.versions or ():
            if version.version in PREFERRED.get(group.name, ()):
                listed = await client.get(f"/apis/{group.name}/{version.version}", PlainResources)
                resources += (
                    Resource(group.name, version.version, r.name, r.kind, r.namespaced)
                    for r in listed.resources or ()
                )
    return resources


def chosen(resources: Iterable[Resource]) -> dict[tuple[str, str], Resource]:
    """Each resource in the best version in which it is served."""
    best = dict[tuple[str, str], Resource]()
    for resource in resources:
        known = PREFERRED.get(resource.group, ())
        if resource.version not in known:
            continue
        key = (resource.group, resource.plural)
        rival = best.get(key)
        if rival is None or known.index(resource.version) < known.index(rival.version):
            best[key] = resource
    return best
