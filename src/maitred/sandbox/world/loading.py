"""Creates the objects of a takeover, and says what became of them."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import groupby

from maitred.kube.errors import ApiError, KubeError
from maitred.kube.resources import PODS, Resource
from maitred.model.words import counted
from maitred.sandbox.world import nodes
from maitred.sandbox.world.local_service import NOT_OUTPOSTS
from maitred.sandbox.world.nodes import for_each
from maitred.sandbox.world.objects import Json, WorldObjects
from maitred.sandbox.world.takeover import Takeover

JOBS = Resource("batch", "v1", "jobs", "Job")
GROUPS = Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup")

Say = Callable[[str], None]


async def load(objects: WorldObjects, takeover: Takeover, say: Say) -> None:
    """One kind after the other. An object that the server refuses stops no other."""
    loader = Loader(objects)
    for kind, bodies in groupby(takeover.objects, key=lambda body: (body["kind"], is_bound(body))):
        await loader.create_all(list(bodies))
        if loader.made[kind]:
            say(f"{kind[0]}: {loader.made[kind]} created{', on their nodes' if kind[1] else ''}")
    for line in loader.refusals():
        say(f"left out: {line}")
    for what, number in sorted(takeover.left_out.items()):
        say(f"left out: {number} × {what}")


async def clear_floor(objects: WorldObjects, say: Say) -> None:
    """Nodes, and whatever is or makes pods, are no more. Pods are not asked: their nodes go with them."""
    for resource in (JOBS, GROUPS, PODS):
        selector = NOT_OUTPOSTS if resource is PODS else {}
        there = [body["metadata"] for body in await objects.list(resource, selector)]
        paths = [resource.path(one["namespace"], one["name"]) for one in there]
        await for_each(paths, partial(objects.delete, at_once=resource is PODS))
    simulated = await nodes.simulated(objects)
    await nodes.remove(objects, simulated)
    say(f"{counted(len(simulated), 'node')} removed")


def is_bound(body: Json) -> bool:
    return bool(body.get("spec", {}).get("nodeName"))


class Loader:
    def __init__(self, objects: WorldObjects) -> None:
        self.made = Counter[tuple[str, bool]]()
        self._objects = objects
        self._uids: dict[str, str] = {}
        """The UID that an object has here, by the one that it had there."""
        self._refused = Counter[str]()
        self._example: dict[str, str] = {}

    async def create_all(self, bodies: Sequence[Json]) -> None:
        await for_each(bodies, self._create)

    async def _create(self, body: Json) -> None:
        body = {**body, "metadata": dict(body["metadata"])}
        was = body["metadata"].pop("uid", "")
        owners = [self._here(owner) for owner in body["metadata"].pop("ownerReferences", ())]
        if known := [owner for owner in owners if owner["uid"]]:
            body["metadata"]["ownerReferences"] = known
        try:
            made = await self._objects.create(body)
        except ApiError as error:
            self._refuse(body, "there already" if error.is_conflict else error.message or str(error))
        except KubeError as error:
            self._refuse(body, str(error))
        else:
            self._uids[was] = made["metadata"]["uid"]
            self.made[body["kind"], is_bound(body)] += 1

    def _here(self, owner: Json) -> Json:
        return {**owner, "uid": self._uids.get(owner.get("uid", ""), "")}

    def _refuse(self, body: Json, why: str) -> None:
        if body["kind"] == "Namespace" and why == "there already":
            return  # It is meant to be there, and now it is.
        self._refused[body["kind"]] += 1
        metadata = body["metadata"]
        place = "/".join(part for part in (metadata.get("namespace", ""), metadata["name"]) if part)
        self._example.setdefault(body["kind"], f"{place}: {why}")

    def refusals(self) -> list[str]:
        return [
            f"{counted(number, kind)} that the server refused, such as {self._example[kind]}"
            for kind, number in sorted(self._refused.items())
        ]
