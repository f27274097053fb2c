"""What nodes and pods report, for answers that are worked out here: read from the same dump, or looked up."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from maitred.cli.pod_lookup import decoded
from maitred.explain.health.look import FleetLook
from maitred.model.group import PodGroup
from maitred.model.manifest import Document
from maitred.model.node import Node
from maitred.model.objects import Object
from maitred.model.pod import Pod

if TYPE_CHECKING:
    from maitred.kube.client import Client


class FleetLookup:
    """`seen` is all that it has seen so far."""

    def __init__(self) -> None:
        self._nodes: list[Node] = []
        self._pods: list[Pod] = []
        self.seen = FleetLook()

    def take(self, document: Document) -> bool:
        if document.kind == "Node" and (node := decoded(document, Node)) is not None:
            self._nodes.append(node)
        if document.kind == "Pod" and (pod := decoded(document, Pod)) is not None:
            self._pods.append(pod)
        return False

    def done(self, objects: Sequence[Object]) -> None:
        self.seen = FleetLook(tuple(self._nodes), tuple(self._pods), _groups(objects))

    async def look(self, client: "Client", objects: Sequence[Object], home: str | None) -> None:
        from maitred.kube.fleet import look_at_fleet

        self.seen = await look_at_fleet(client, _groups(objects))


def _groups(objects: Iterable[Object]) -> tuple[PodGroup, ...]:
    return tuple(item for item in objects if isinstance(item, PodGroup))
