"""Queues of KAI: the quota is the guarantee, the limit the cap, the weight beyond quota the weight."""

from collections.abc import Iterator, Sequence
from math import floor

from maitred.explain.importing.queues.draft import Draft, DraftQueue, read, weight
from maitred.model.duration import FORM, milliseconds
from maitred.model.manifest import Document, InputError
from maitred.model.meta import Lean, ObjectMeta
from maitred.model.quantity import CPU, LARGEST_AMOUNT, MEMORY
from maitred.model.queues import DEFAULT_QUEUE, EVERY_MODEL

GPU = "nvidia.com/gpu"
MEGABYTE = 1_000_000
UNLIMITED = -1


class KaiResource(Lean, frozen=True):
    quota: float = 0
    limit: float = UNLIMITED
    over_quota_weight: float = 1
    lending_limit: float | None = None


class KaiResources(Lean, frozen=True):
    gpu: KaiResource | None = None
    cpu: KaiResource | None = None
    """In thousandths of a core."""
    memory: KaiResource | None = None
    """In megabytes."""


class KaiQueueSpec(Lean, frozen=True):
    parent_queue: str = ""
    resources: KaiResources = KaiResources()
    priority: int | None = None
    preempt_min_runtime: str = ""
    reclaim_min_runtime: str = ""


class KaiQueue(Lean, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: KaiQueueSpec = KaiQueueSpec()


def import_kai(documents: Sequence[Document], draft: Draft) -> None:
    for document in documents:
        found: KaiQueue = read(document, KaiQueue)
        draft.add(_queue(document, found, draft))


def _queue(document: Document, found: KaiQueue, draft: Draft) -> DraftQueue:
    spec, origin = found.spec, document.title
    made = DraftQueue(found.metadata.name, origin, min_runtime=spec.reclaim_min_runtime)
    if spec.parent_queue == DEFAULT_QUEUE:
        draft.note(origin, f"a queue below {DEFAULT_QUEUE} is not possible, so it is at the top")
    else:
        made.parent = spec.parent_queue
    for resource, one in _resources(spec.resources):
        _take(document, made, resource, one, draft)
    _weigh(made, [one for _, one in _resources(spec.resources)], draft)
    if spec.reclaim_min_runtime and milliseconds(spec.reclaim_min_runtime) is None:
        what = f"{spec.reclaim_min_runtime[:40]!r} is not {FORM}"
        raise InputError(document.source, document.title, "spec.reclaimMinRuntime", what)
    if spec.preempt_min_runtime:
        draft.note(
            origin,
            "preemptMinRuntime has no equivalent: within a queue a higher priority preempts at once, unless "
            "a workload is protected",
        )
    if spec.priority is not None:
        draft.note(origin, "queues have no priority: guarantees, then the priorities of groups decide")
    return made


def _resources(given: KaiResources) -> Iterator[tuple[str, KaiResource]]:
    for resource, one in ((GPU, given.gpu), (CPU, given.cpu), (MEMORY, given.memory)):
        if one is not None:
            yield resource, one


def _take(document: Document, made: DraftQueue, resource: str, one: KaiResource, draft: Draft) -> None:
    """What is neither guaranteed nor limited is not spoken of: it stays free for everybody."""
    quota, limit = (_whole(document, resource, said) for said in (one.quota, one.limit))
    if resource == GPU and any(said % 1 for said in (one.quota, one.limit)):
        draft.note(made.origin, "parts of a GPU are rounded down: limits count whole devices")
    if one.quota == UNLIMITED:
        draft.note(
            made.origin,
            f"a quota of -1 for {resource} guarantees everything; guarantees are amounts, so there is none: "
            "write down how much it is",
        )
    elif quota:
        made.guarantee(resource, quota)
    if one.limit != UNLIMITED:
        made.caps[resource, EVERY_MODEL] = limit
    if one.lending_limit == 0 and resource == GPU:
        made.lends = False
    elif one.lending_limit is not None:
        draft.note(
            made.origin, "lendingLimit: a queue lends all that it leaves idle of its guarantee, or nothing"
        )


def _whole(document: Document, resource: str, said: float) -> int:
    """In the unit in which limits count it."""
    count = 0 if said == UNLIMITED else floor(said * (MEGABYTE if resource == MEMORY else 1))
    if not 0 <= count <= LARGEST_AMOUNT:
        what = f"{said:g} of {resource} is no amount"
        raise InputError(document.source, document.title, "spec.resources", what)
    return count


def _weigh(made: DraftQueue, resources: Sequence[KaiResource], draft: Draft) -> None:
    """That of the GPUs; a queue has one weight."""
    weights = [one.over_quota_weight for one in resources]
    if weights:
        made.weight = weight(weights[0])
    if len(set(weights)) > 1:
        draft.note(made.origin, "a queue has one weight for all resources: that of the GPUs is taken")
