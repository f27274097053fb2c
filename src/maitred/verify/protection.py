"""What pods and groups say about being evicted: never, not yet, and what would be lost."""

from dataclasses import dataclass, fields

from .pods import Pod
from .selectors import Labels
from .times import duration, instant, thousandths

LAST_CHECKPOINT = "maitred.dev/last-checkpoint"
CHECKPOINT_INTERVAL = "maitred.dev/checkpoint-interval"
MIN_RUNTIME = "maitred.dev/min-runtime"
NON_PREEMPTIBLE = "maitred.dev/non-preemptible"


@dataclass(frozen=True)
class Marks:
    """Times in thousandths of a second; None for what is not said. `unreadable` names marks that are."""

    checkpoint: int | None = None
    interval: int | None = None
    runtime: int | None = None
    exempt: bool | None = None
    unreadable: tuple[str, ...] = ()


NO_MARKS = Marks()


def read_marks(labels: Labels, annotations: Labels) -> Marks:
    def said(key: str) -> str | None:
        return labels.get(key, annotations.get(key))

    texts = {key: said(key) for key in (LAST_CHECKPOINT, CHECKPOINT_INTERVAL, MIN_RUNTIME, NON_PREEMPTIBLE)}
    found = {
        LAST_CHECKPOINT: instant(texts[LAST_CHECKPOINT] or ""),
        CHECKPOINT_INTERVAL: duration(texts[CHECKPOINT_INTERVAL] or "") or None,
        MIN_RUNTIME: duration(texts[MIN_RUNTIME] or ""),
        NON_PREEMPTIBLE: {"true": True, "false": False}.get(texts[NON_PREEMPTIBLE] or ""),
    }
    unreadable = tuple(key for key, text in texts.items() if text is not None and found[key] is None)
    exempt = found[NON_PREEMPTIBLE]
    return Marks(
        found[LAST_CHECKPOINT],
        found[CHECKPOINT_INTERVAL],
        found[MIN_RUNTIME],
        None if exempt is None else bool(exempt),
        unreadable,
    )


def own_over_group(own: Marks, group: Marks) -> Marks:
    """A pod's own marks win, one by one; what cannot be read counts wherever it stands."""
    values = {
        field.name: getattr(group if getattr(own, field.name) is None else own, field.name)
        for field in fields(Marks)
    }
    return Marks(**values | {"unreadable": own.unreadable + group.unreadable})


def shield(pod: Pod, marks: Marks, now: int | None) -> str | None:
    """Why a pod may not be evicted now, by what it says or its group does."""
    if marks.exempt:
        return f"it is {NON_PREEMPTIBLE}"
    if marks.unreadable:
        return f"its mark {marks.unreadable[0]} cannot be read"
    if now is not None and marks.checkpoint is not None and marks.checkpoint > now:
        return f"its {LAST_CHECKPOINT} is in the future"
    if marks.runtime is None:
        return None
    if pod.started is None:
        return f"it asks for a {MIN_RUNTIME}, and nobody knows when it started"
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
