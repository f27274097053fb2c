"""Everything that the server serves: what there is to watch, to collect and to delete."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from maitred.kube.client import Client
from maitred.kube.discovery import AGGREGATED
from maitred.kube.resources import Resource
from maitred.model.meta import Lean


class ResponseKind(Lean, frozen=True):
    kind: str = ""


class ServedResource(Lean, frozen=True):
    resource: str = ""
    response_kind: ResponseKind = ResponseKind()
    scope: str = ""
    verbs: tuple[str, ...] = ()


class ServedVersion(Lean, frozen=True):
    version: str = ""
    resources: tuple[ServedResource, ...] = ()


class ServedName(Lean, frozen=True):
    name: str = ""


class ServedGroup(Lean, frozen=True):
    metadata: ServedName = ServedName()
    versions: tuple[ServedVersion, ...] = ()


class ServedGroups(Lean, frozen=True):
    items: tuple[ServedGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class Kinds:
    """Each resource in the version that the server prefers, with what can be done to it."""

    verbs: dict[Resource, frozenset[str]]

    def that_can(self, *verbs: str) -> Collection[Resource]:
        return [resource for resource, can in self.verbs.items() if can.issuperset(verbs)]

    def named(self, api_version: str, kind: str) -> Resource | None:
        """The resource that an owner reference means, whichever version it names."""
        group = api_version.rpartition("/")[0]
        return next((r for r in self.verbs if r.group == group and r.kind == kind), None)


async def served_kinds(client: Client) -> Kinds:
    core = await client.get("/api", ServedGroups, accept=AGGREGATED)
    others = await client.get("/apis", ServedGroups, accept=AGGREGATED)
    verbs = dict[Resource, frozenset[str]]()
    for group in (*core.items, *others.items):
        verbs.update(of_group(group))
    return Kinds(verbs)


def of_group(group: ServedGroup) -> Iterator[tuple[Resource, frozenset[str]]]:
    seen = set[str]()
    for version in group.versions:
        for served in version.resources:
            if served.resource in seen:
                continue
            seen.add(served.resource)
            kind, namespaced = served.response_kind.kind, served.scope == "Namespaced"
            resource = Resource(group.metadata.name, version.version, served.resource, kind, namespaced)
            yield resource, frozenset(served.verbs)
