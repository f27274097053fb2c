"""Why a pod had to leave: its receipts, newest first."""

from collections.abc import Iterator

from maitred.explain.receipts import victim_words
from maitred.explain.scene import Scene
from maitred.explain.why.answer import EvictionAnswer, PodEviction
from maitred.explain.why.names import Names, nearest_words
from maitred.explain.why.seen import NOTHING_SEEN, Seen
from maitred.model.manifest.errors import InputError
from maitred.model.words import moment


def receipt(scene: Scene, name: str, namespace: str, seen: Seen = NOTHING_SEEN) -> EvictionAnswer:
    """Raises InputError for a pod that nobody knows and that never had to leave."""
    pod = name if "/" in name else f"{namespace}/{name}"
    found, history = tuple(_evictions(scene, pod)), scene.history
    if not found and Names(scene.snapshot, seen).group_of_pod(pod) is None:
        raise InputError("", "", "", _unknown(scene, pod, seen))
    return EvictionAnswer(
        pod=pod,
        summary=f"{pod} {found[0].words}"
        if found
        else f"{pod} was not evicted, and will not be by the current plan",
        evictions=found,
        known_since=None if history.since is None else moment(int(history.since)),
    )


def _evictions(scene: Scene, pod: str) -> Iterator[PodEviction]:
    for eviction in scene.plan(explained=()).evictions:
        if eviction.pod == pod:
            yield PodEviction(None, f"is to be {victim_words(eviction)}", eviction)
    for past in sorted(scene.history.evictions, key=lambda past: -past.at):
        if past.eviction.pod == pod:
            words = f"was {victim_words(past.eviction)}"
            yield PodEviction(moment(int(past.at)), words, past.eviction)


def _unknown(scene: Scene, pod: str, seen: Seen) -> str:
    names = Names(scene.snapshot, seen)
    evicted = (past.eviction.pod for past in scene.history.evictions)
    close = nearest_words(pod, {*evicted, *names.bound, *names.waiting})
    kept = "" if scene.history.since is not None else "; without a ledger, past evictions are not known"
    return f"there is no pod {pod}, and no evicted pod has this name{close}{kept}"
