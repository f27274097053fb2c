"""What pods and groups say about being evicted: never, not yet, and what would be lost."""

from dataclasses import dataclass, replace

from .pods import Pod
from .selectors import Labels
from .times import duration, instant, thousandths

LAST_CHECKPOINT = "maitred.dev/last-checkpoint"
CHECKPOINT_INTERVAL = "maitred.dev/checkpoint-interval"
MIN_RUNTIME = "maitred.dev/min-runtime"
NON_PREEMPTIBLE = "maitred.dev/non-preemptible"
PREEMPTIBILITY = "kai.scheduler/preemptibility"
OTHERS = {
    "volcano.sh/preemptable": {"true": None, "false": True},
    PREEMPTIBILITY: {"preemptible": None, "non-preemptible": True},
    "quota.scheduling.koordinator.sh/preemptible": {"true": None, "false": True},
}
"""What others call it. Only one that asks for protection says something."""
FIELDS = {
    LAST_CHECKPOINT: "checkpoint",
    CHECKPOINT_INTERVAL: "interval",
    MIN_RUNTIME: "runtime",
    **dict.fromkeys((NON_PREEMPTIBLE, *OTHERS), "exempt"),
}


@dataclass(frozen=True)
class Marks:
    """Times in thousandths of a second; None for what is not said. `unreadable` names marks that are."""

    checkpoint: int | None = None
    interval: int | None = None
    runtime: int | None = None
    exempt: bool | None = None
    unreadable: frozenset[str] = frozenset()


NO_MARKS = Marks()


def read_marks(labels: Labels, annotations: Labels) -> Marks:
    """A mark is a label or an annotation. Where it is both, and they differ, nobody knows what is meant."""
    texts = {key: labels.get(key, annotations.get(key)) for key in FIELDS}
    if not any(text is not None for text in texts.values()):
        return NO_MARKS
    checkpoint = instant(texts[LAST_CHECKPOINT] or "")
    interval = duration(texts[CHECKPOINT_INTERVAL] or "") or None
    runtime = duration(texts[MIN_RUNTIME] or "")
    exempt = {"true": True, "false": False}.get(texts[NON_PREEMPTIBLE] or "")
    found = Marks(checkpoint, interval, runtime, exempt)
    given = {key: text for key, text in texts.items() if text is not None}
    lost = {key for key in given if key not in OTHERS and getattr(found, FIELDS[key]) is None}
    lost |= {key for key, words in OTHERS.items() if key in given and given[key] not in words}
    if exempt is None and any(words.get(given.get(key, "")) for key, words in OTHERS.items()):
        found = replace(found, exempt=True)
    torn = {key for key, text in texts.items() if annotations.get(key, text) != text}
    return replace(found, unreadable=frozenset(lost | torn))


def own_over_group(own: Marks, group: Marks) -> Marks:
    """A pod's own marks win, one by one, also over those of its group that cannot be read."""
    if NO_MARKS in (own, group):
        return group if own == NO_MARKS else own
    silent = {key for key, name in FIELDS.items() if getattr(own, name) is None and key not in own.unreadable}
    taken = {FIELDS[key]: getattr(group, FIELDS[key]) for key in silent}
    return replace(own, **taken, unreadable=own.unreadable | (group.unreadable & silent))


def shield(pod: Pod, marks: Marks, now: int | None) -> str | None:
    """Why a pod may not be evicted now, by what it says or its group does."""
    if marks.exempt:
        return f"it is {NON_PREEMPTIBLE}"
    if marks.unreadable:
        return f"its mark {min(marks.unreadable)} cannot be read"
    if now is not None and marks.checkpoint is not None and marks.checkpoint > now:
        return f"its {LAST_CHECKPOINT} is in the future"
    if marks.runtime is None:
        return None
    if pod.started is None:
        return f"it has a {MIN_RUNTIME}, and it is not known when it started"
    if now is not None and now < thousandths(pod.started) + marks.runtime:
        return f"its {MIN_RUNTIME} is not over"
    return None


def lost(pod: Pod, marks: Marks, now: int) -> int:
    """The time whose work would be lost: since the start, or since the last checkpoint."""
    if pod.started is None:
        return 0
    start = thousandths(pod.started)
    if marks.checkpoint is not None:
        return max(0, now - max(start, marks.checkpoint))
    since = max(0, now - start)
    return since % marks.interval if marks.interval else since
