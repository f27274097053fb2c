"""What the sandbox has in place of operators: the kinds of their objects, and their first deed.

The server of the sandbox serves the kinds that operators define, so that the scheduler finds owners there.
When a workload is loaded, what its operator would make of it is made once, by `model.operators.pods`; nobody
makes it anew, suspends it or ends it. Pods of Jobs are left to the Job controller.
"""

from collections.abc import Callable, Iterator, Sequence

from maitred.explain.proposal.expansion import manifest_of, members_of
from maitred.kube.errors import ApiError
from maitred.model.job import Job
from maitred.model.kinds import KINDS, OPERATED, Kind
from maitred.model.manifest import Document
from maitred.model.meta import controller_of
from maitred.model.objects import Object
from maitred.model.owner_chain import LONGEST_CHAIN, row_of_owner
from maitred.model.pod import Pod
from maitred.model.words import counted
from maitred.sandbox.world.objects import Json, WorldObjects

HOME = "default"
ANYTHING = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
NOBODY = ("", "", "")
NO_IMAGE = "example/image"
"""Of containers that an operator adds. Nothing runs."""


def definitions() -> Iterator[Json]:
    """Of the kinds of operators and of other schedulers, without their schemas."""
    for row in KINDS:
        if row in OPERATED or row.group == "trainer.kubeflow.org":
            yield definition(row)


def definition(row: Kind) -> Json:
    schema = {"openAPIV3Schema": ANYTHING}
    versions = [
        {"name": name, "served": True, "storage": name == row.versions[0], "schema": schema}
        for name in row.versions
    ]
    names = {"kind": row.name, "plural": row.plural, "listKind": f"{row.name}List"}
    scope = "Namespaced" if row.namespaced else "Cluster"
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{row.plural}.{row.group}"},
        "spec": {"group": row.group, "names": names, "scope": scope, "versions": versions},
    }


async def submit(objects: WorldObjects, given: Sequence[Document], say: Callable[[str], None]) -> None:
    """Creates the objects as they are written, and what operators would make of them.

    Raises InputError for manifests that make no sense, and KubeError for what the server refuses."""
    found = members_of(given, HOME, later=True)
    for note in found.notes:
        say(note)
    await Submission(objects, say).run(given, found.objects)


class Submission:
    def __init__(self, objects: WorldObjects, say: Callable[[str], None]) -> None:
        self._objects, self._say = objects, say
        self._uids: dict[tuple[str, str, str], str] = {}
        """Of what was created, by kind, namespace and name."""

    async def run(self, given: Sequence[Document], made: Sequence[Object]) -> None:
        for namespace in dict.fromkeys(item.metadata.namespace or HOME for item in made):
            await self._namespace(namespace)
        for document in given:
            body = {**document.plain(), "apiVersion": document.api_version, "kind": document.kind}
            await self._create(body)
            self._say(f"{document.title} created")
        pods = 0
        for item in owners_first(made):
            if name_of(manifest_of(item)) not in self._uids and not is_of_a_job(item):
                await self._create(self._body(item))
                pods += isinstance(item, Pod)
        if pods:
            self._say(f"{counted(pods, 'pod')} created, as the operator would")

    async def _namespace(self, name: str) -> None:
        try:
            await self._objects.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        except ApiError as error:
            if not error.is_conflict:
                raise

    async def _create(self, body: Json) -> None:
        found = await self._objects.create(body)
        self._uids[name_of(body)] = found["metadata"]["uid"]

    def _body(self, item: Object) -> Json:
        """As the server takes it: with the UID of its owner, and names of containers. Nobody makes
        StatefulSets here: the pods of a LeaderWorkerSet say themselves whose they are."""
        body = manifest_of(item)
        owner, metadata = controller_of(item.metadata), body["metadata"]
        metadata.pop("ownerReferences", None)
        if owner is not None and (uid := self._uids.get(owner_name(item) or NOBODY)):
            reference = {"apiVersion": owner.api_version, "kind": owner.kind, "name": owner.name, "uid": uid}
            metadata["ownerReferences"] = [{**reference, "controller": True}]
        if isinstance(item, Pod):
            name_containers(body["spec"])
        elif isinstance(item, Job):
            pods = body["spec"].setdefault("template", {}).setdefault("spec", {})
            name_containers(pods)
            pods.setdefault("restartPolicy", "Never")
        return body


def owners_first(made: Sequence[Object]) -> list[Object]:
    """What is nearer to the top before what it controls."""
    by_name = {name_of(manifest_of(item)): item for item in made if not isinstance(item, Pod)}

    def depth(item: Object) -> int:
        found, above = 0, owner_name(item)
        while above in by_name and found < LONGEST_CHAIN:
            found, above = found + 1, owner_name(by_name[above])
        return found

    return sorted(made, key=lambda item: (isinstance(item, Pod), depth(item)))


def owner_name(item: Object) -> tuple[str, str, str] | None:
    owner = controller_of(item.metadata)
    row = None if owner is None else row_of_owner(owner)
    if owner is None or row is None:
        return None
    return f"{row.group}/{row.name}", item.metadata.namespace or HOME, owner.name


def is_of_a_job(item: Object) -> bool:
    owner = controller_of(item.metadata) if isinstance(item, Pod) else None
    row = None if owner is None else row_of_owner(owner)
    return row is not None and row.type is Job


def name_of(body: Json) -> tuple[str, str, str]:
    group = body["apiVersion"].rpartition("/")[0]
    metadata = body["metadata"]
    return f"{group}/{body['kind']}", metadata.get("namespace") or HOME, metadata["name"]


def name_containers(spec: Json) -> None:
    for field in ("containers", "initContainers"):
        for number, container in enumerate(spec.get(field, ())):
            container.setdefault("name", f"{field.lower()}-{number}")
            container.setdefault("image", NO_IMAGE)
