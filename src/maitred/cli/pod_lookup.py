"""How pods are doing, for answers that are worked out here: read from the same dump, or looked up."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

import msgspec

from maitred.explain.why.seen import FAILED_CREATE, Leases, Seen, SeenEvent, SeenJob, SeenLease
from maitred.model.group import PodGroup
from maitred.model.manifest import Document, InputError
from maitred.model.objects import Object
from maitred.model.pod import Pod

if TYPE_CHECKING:
    from maitred.kube.client import Client

T = TypeVar("T")
EVENT_VERSIONS = ("v1", "events.k8s.io/v1")
LEASE_VERSION = "coordination.k8s.io/v1"
NODE_LEASES = "kube-node-lease"
"""The namespace of those by which nodes say that they are there: their times alone count here."""
NO_LEASES = (
    "this dump does not show whether a scheduler of that name runs, because it has no Leases; add leases "
    "to the kubectl command that writes the dump"
)


class PodLookup:
    """Looks at some namespaces. `seen` is all that it has seen so far."""

    def __init__(self, *namespaces: str) -> None:
        self._namespaces = tuple(dict.fromkeys(namespaces))
        self._pods: list[Pod] = []
        self._events: list[SeenEvent] = []
        self._jobs: list[SeenJob] = []
        self._leases: list[SeenLease] = []
        self._renewed: datetime | None = None
        self.seen = Seen()

    def take(self, document: Document) -> bool:
        """Note what no decision reads; True if the document is nothing else, and nobody else need read it."""
        if document.kind == "Pod":
            pod = decoded(document, Pod)
            if pod is not None and (pod.metadata.namespace or "default") in self._namespaces:
                self._pods.append(pod)
            return False
        if document.kind == "Job":
            job = decoded(document, SeenJob)
            if job is not None and (job.metadata.namespace or "default") in self._namespaces:
                self._jobs.append(job)
            return False
        if document.kind == "Lease" and document.api_version == LEASE_VERSION:
            self._take_lease(decoded(document, SeenLease))
            return True
        if document.kind != "Event" or document.api_version not in EVENT_VERSIONS:
            return False
        event = decoded(document, SeenEvent)
        if event is not None and self._is_told_of(event):
            self._events.append(event)
        return True

    def _is_told_of(self, event: SeenEvent) -> bool:
        kind, key = event.about
        wanted = kind == "Pod" or event.reason == FAILED_CREATE
        return wanted and key.partition("/")[0] in self._namespaces

    def _take_lease(self, lease: SeenLease | None) -> None:
        if lease is None or lease.spec.renew_time is None:
            return
        self._renewed = max(filter(None, (self._renewed, lease.spec.renew_time)))
        if lease.metadata.namespace != NODE_LEASES:
            self._leases.append(lease)

    def done(self, objects: Sequence[Object]) -> None:
        """All of a dump has been read: these are the objects that decisions read."""
        leases = Leases(tuple(self._leases), self._renewed, "" if self._leases else NO_LEASES)
        pods, events, groups = tuple(self._pods), tuple(self._events), self._groups(objects)
        self.seen = Seen(pods, events, groups, tuple(self._jobs), leases)

    async def look(self, client: "Client", objects: Sequence[Object], home: str | None) -> None:
        """`home` is where a scheduler was looked for in vain; None if nobody looked."""
        from maitred.kube.pod_progress import leases_of, look

        looks = [await look(client, namespace) for namespace in self._namespaces]
        leases = None if home is None else await leases_of(client, home, sorted(self._schedulers(objects)))
        self.seen = Seen(
            tuple(pod for one in looks for pod in one.pods),
            tuple(event for one in looks for event in one.events),
            self._groups(objects),
            tuple(job for one in looks for job in one.jobs),
            leases,
        )

    def _schedulers(self, objects: Iterable[Object]) -> set[str]:
        """Those that pods without a place name."""
        pods = (item for item in objects if isinstance(item, Pod) and not item.spec.node_name)
        own = (pod for pod in pods if (pod.metadata.namespace or "default") in self._namespaces)
        return {pod.spec.scheduler_name for pod in own}

    def _groups(self, objects: Iterable[Object]) -> tuple[PodGroup, ...]:
        groups = (item for item in objects if isinstance(item, PodGroup))
        return tuple(one for one in groups if (one.metadata.namespace or "default") in self._namespaces)


def decoded(document: Document, kind: type[T]) -> T | None:
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
