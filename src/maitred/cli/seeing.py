"""How pods are doing, for answers that are worked out here: read from the same dump, or looked up."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from maitred.explain.why.seen import Seen, SeenEvent, SeenPod
from maitred.model.group import PodGroup
from maitred.model.manifest import Document, InputError
from maitred.model.objects import Object

if TYPE_CHECKING:
    from maitred.kube.client import Client

T = TypeVar("T")
EVENT_VERSIONS = ("v1", "events.k8s.io/v1")


class Glass:
    """Looks at some namespaces. `seen` is all that it has seen so far."""

    def __init__(self, *namespaces: str) -> None:
        self._namespaces = tuple(dict.fromkeys(namespaces))
        self._pods: list[SeenPod] = []
        self._events: list[SeenEvent] = []
        self.seen = Seen()

    def take(self, document: Document) -> bool:
        """Note what no decision reads; True if the document is nothing else, and nobody else need read it."""
        if document.kind == "Pod":
            pod = _decoded(document, SeenPod)
            if pod is not None and (pod.metadata.namespace or "default") in self._namespaces:
                self._pods.append(pod)
            return False
        if document.kind != "Event" or document.api_version not in EVENT_VERSIONS:
            return False
        event = _decoded(document, SeenEvent)
        if event is not None and event.subject.partition("/")[0] in self._namespaces:
            self._events.append(event)
        return True

    def done(self, objects: Iterable[Object]) -> None:
        """All of a dump has been read: these are the objects that decisions read."""
        self.seen = Seen(tuple(self._pods), tuple(self._events), self._groups(objects))

    async def look(self, client: "Client", objects: Iterable[Object]) -> None:
        from maitred.kube.looks import look

        groups = self._groups(objects)
        looks = [await look(client, namespace) for namespace in self._namespaces]
        pods = tuple(pod for one in looks for pod in one.pods)
        self.seen = Seen(pods, tuple(event for one in looks for event in one.events), groups)

    def _groups(self, objects: Iterable[Object]) -> tuple[PodGroup, ...]:
        groups = (item for item in objects if isinstance(item, PodGroup))
        return tuple(one for one in groups if (one.metadata.namespace or "default") in self._namespaces)


def _decoded(document: Document, kind: type[T]) -> T | None:
    """None for what is not written as it should be: the reader says so of pods, and events can be missed."""
    try:
        if not isinstance(document.body, dict):
            return msgspec.json.decode(document.body, type=kind)
        return msgspec.convert(document.body, kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _without_nulls(document, kind)


def _without_nulls(document: Document, kind: type[T]) -> T | None:
    try:
        return msgspec.convert({"metadata": {}, **document.plain()}, kind)
    except (msgspec.ValidationError, InputError):
        return None
