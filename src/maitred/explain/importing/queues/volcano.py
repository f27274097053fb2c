"""Queues of Volcano: what each deserves is its guarantee, its capability its cap."""

from collections.abc import Sequence

from maitred.explain.importing.queues.draft import Draft, DraftQueue, counted, read, weight
from maitred.model.manifest import Document
from maitred.model.meta import Lean, ObjectMeta
from maitred.model.pod import Quantity
from maitred.model.queues import DEFAULT_QUEUE, EVERY_MODEL

ROOT = "root"


class VolcanoGuarantee(Lean, frozen=True):
    resource: dict[str, Quantity] = {}


class VolcanoQueueSpec(Lean, frozen=True):
    weight: int = 1
    parent: str = ""
    capability: dict[str, Quantity] = {}
    deserved: dict[str, Quantity] = {}
    guarantee: VolcanoGuarantee = VolcanoGuarantee()
    reclaimable: bool = True
    priority: int = 0
    affinity: dict[str, object] = {}
    extend_clusters: tuple[object, ...] = ()
    dequeue_strategy: str = ""


class VolcanoQueueStatus(Lean, frozen=True):
    state: str = "Open"


class VolcanoQueue(Lean, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: VolcanoQueueSpec = VolcanoQueueSpec()
    status: VolcanoQueueStatus = VolcanoQueueStatus()


def import_volcano(documents: Sequence[Document], draft: Draft) -> None:
    for document in documents:
        found: VolcanoQueue = read(document, VolcanoQueue)
        if found.metadata.name != ROOT:
            draft.add(_queue(document, found, draft))
    if documents and not any(read(document, VolcanoQueue).spec.deserved for document in documents):
        draft.by_share = True


def _queue(document: Document, found: VolcanoQueue, draft: Draft) -> DraftQueue:
    spec, name, origin = found.spec, found.metadata.name, document.title
    made = DraftQueue(name, origin, weight=weight(spec.weight))
    if spec.parent == DEFAULT_QUEUE:
        draft.note(origin, f"a queue below {DEFAULT_QUEUE} is not possible, so it is at the top")
    elif spec.parent != ROOT:
        made.parent = spec.parent
    reserved = spec.guarantee.resource
    for resource in dict.fromkeys((*spec.deserved, *reserved)):
        sizes = [
            counted(document, resource, one[resource]) for one in (spec.deserved, reserved) if resource in one
        ]
        if draft.resource(origin, resource):
            made.guarantee(resource, max(sizes))
    for resource, quantity in spec.capability.items():
        if draft.resource(origin, resource):
            made.caps[resource, EVERY_MODEL] = counted(document, resource, quantity)
    _note_reserved(document, spec, made, draft)
    _note_others(origin, found, draft)
    return made


def _note_reserved(document: Document, spec: VolcanoQueueSpec, made: DraftQueue, draft: Draft) -> None:
    """What Volcano reserves it does not lend."""
    reserved = {
        (resource, EVERY_MODEL): counted(document, resource, quantity)
        for resource, quantity in spec.guarantee.resource.items()
    }
    if reserved and made.guarantees == reserved:
        made.lends = False
    elif reserved:
        draft.note(
            made.origin,
            "it reserves less than it deserves; a queue lends all that it leaves idle or nothing, so what is "
            "reserved is lent, and taken back when it is wanted; lend: never keeps all of it",
        )


def _note_others(origin: str, found: VolcanoQueue, draft: Draft) -> None:
    spec = found.spec
    if not spec.reclaimable:
        draft.note(
            origin, "reclaimable: false has no equivalent; minRuntime keeps what is borrowed for a time"
        )
    if spec.priority:
        draft.note(origin, "queues have no priority: guarantees, then the priorities of groups decide")
    if spec.affinity:
        draft.note(
            origin, "affinity is left out: queues are not bound to nodes; use nodeSelector in workloads"
        )
    if spec.extend_clusters:
        draft.note(origin, "extendClusters is left out: maitred seats on one cluster")
    if spec.dequeue_strategy == "fifo":
        draft.note(origin, "a group that cannot be seated does not hold up those behind it")
    if found.status.state in ("Closed", "Closing"):
        draft.note(origin, "it is closed, and queues cannot be closed: groups in it would be seated")
