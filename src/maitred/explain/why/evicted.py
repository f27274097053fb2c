"""Why a pod had to leave: its receipts, newest first."""

from collections.abc import Iterator

from maitred.explain.receipts import victim_words
from maitred.explain.situation import Situation
from maitred.explain.why.answer import EvictionAnswer, PodEviction
from maitred.explain.why.names import Names, nearest_words
from maitred.explain.why.seen import NOTHING_SEEN, Seen
from maitred.model.manifest.errors import InputError
from maitred.model.words import moment


def receipt(situation: Situation, name: str, namespace: str, seen: Seen = NOTHING_SEEN) -> EvictionAnswer:
    """Raises InputError for a pod that nobody knows and that never had to leave."""
    pod = name if "/" in name else f"{namespace}/{name}"
    found, history = tuple(_evictions(situation, pod)), situation.history
    if not found and Names(situation.snapshot, seen).group_of_pod(pod) is None:
        raise InputError("", "", "", _unknown(situation, pod, seen))
    return EvictionAnswer(
        pod=pod,
        summary=f"{pod} {found[0].words}"
        if found
        else f"{pod} was not evicted, and will not be by the current plan",
        evictions=found,
        known_since=None if history.since is None else moment(int(history.since)),
    )


def _evictions(situation: Situation, pod: str) -> Iterator[PodEviction]:
    for eviction in situation.plan(explained=()).evictions:
        if eviction.pod == pod:
            yield PodEviction(None, f"is to be {victim_words(eviction)}", eviction)
    for past in sorted(situation.history.evictions, key=lambda past: -past.at):
        if past.eviction.pod == pod:
            words = f"was {victim_words(past.eviction)}"
            yield PodEviction(moment(int(past.at)), words, past.eviction)


def _unknown(situation: Situation, pod: str, seen: Seen) -> str:
    names = Names(situation.snapshot, seen)
    evicted = (past.eviction.pod for past in situation.history.evictions)
    close = nearest_words(pod, {*evicted, *names.bound, *names.waiting})
    kept = "" if situation.history.since is not None else "; without a ledger, past evictions are not known"
    return f"there is no pod {pod}, and no evicted pod has this name{close}{kept}"
