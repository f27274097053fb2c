"""What the API server serves, and which version of it we use."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from maitred.kube.client import Client
from maitred.kube.resources import Resource, resource_of
from maitred.model.group import CompositePodGroup, PodGroup
from maitred.model.kinds import KINDS
from maitred.model.meta import Lean
from maitred.model.objects import Object

WATCHED = tuple(row for row in KINDS if row.watched)
ASKED_FOR = frozenset((row.group, version) for row in WATCHED if row.optional for version in row.versions)
"""Groups whose versions differ between clusters, in versions that we know."""

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json"
"""All groups with their resources in one answer; servers before 1.30 give the plain list of groups."""


@dataclass(frozen=True, slots=True)
class Served:
    version: str
    resources: Mapping[type[Object], Resource]
    """All that is read of this server, in the order of the table of kinds. It lacks what the server does not
    have, or has only in versions that we do not know."""

    @property
    def groups(self) -> Resource | None:
        return self.resources.get(PodGroup)

    @property
    def composites(self) -> Resource | None:
        return self.resources.get(CompositePodGroup)

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
    return Served(version.git_version, chosen(await resources_of(client)))


async def resources_of(client: Client, groups: Container[str] = ()) -> list[Resource]:
    """What the server has; of an older one, what it has of our own groups and of these."""
    found = await client.get("/apis", Discovery, accept=AGGREGATED)
    aggregated = found.kind == "APIGroupDiscoveryList"
    return from_aggregated(found) if aggregated else await from_plain(client, found, groups)


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


async def from_plain(client: Client, found: Discovery, groups: Container[str] = ()) -> list[Resource]:
    """Only these groups and our own are asked for, so that no third party's broken API can stand in the
    way."""
    resources = list[Resource]()
    for group in found.groups or ():
        for version in group.versions or ():
            if (group.name, version.version) in ASKED_FOR or group.name in groups:
                listed = await client.get(f"/apis/{group.name}/{version.version}", PlainResources)
                resources += (
                    Resource(group.name, version.version, r.name, r.kind, r.namespaced)
                    for r in listed.resources or ()
                )
    return resources


def chosen(resources: Iterable[Resource]) -> dict[type[Object], Resource]:
    """Each kind in the best version in which it is served."""
    there = {(resource.group, resource.plural, resource.version) for resource in resources}
    found = dict[type[Object], Resource]()
    for row in WATCHED:
        served = (one for one in row.versions if not row.optional or (row.group, row.plural, one) in there)
        if (best := next(served, None)) is not None:
            found[row.type] = resource_of(row.type, best)
    return found
