"""What a pod or a group says about being evicted: what would be lost, and when it may not be at all.

Who asks for protection in words that cannot be read is protected: nobody is evicted on a misunderstanding.
"""

from datetime import datetime

from maitred.model.duration import FORM, milliseconds
from maitred.model.meta import Lean, ObjectMeta, mark

LAST_CHECKPOINT = "maitred.dev/last-checkpoint"
CHECKPOINT_INTERVAL = "maitred.dev/checkpoint-interval"
MIN_RUNTIME = "maitred.dev/min-runtime"
NON_PREEMPTIBLE = "maitred.dev/non-preemptible"
PROTECTION_MARKS = (LAST_CHECKPOINT, CHECKPOINT_INTERVAL, MIN_RUNTIME, NON_PREEMPTIBLE)


class Protection(Lean, frozen=True):
    """Times in milliseconds, the checkpoint's since 1970; None for what is not said."""

    last_checkpoint: int | None = None
    checkpoint_interval: int | None = None
    min_runtime: int | None = None
    non_preemptible: bool | None = None
    problems: tuple[str, ...] = ()

    def over(self, group: "Protection") -> "Protection":
        """What a pod says itself counts; its group speaks for the rest."""
        if group in (UNPROTECTED, self):
            return self
        if self == UNPROTECTED:
            return group
        exempt = group.non_preemptible if self.non_preemptible is None else self.non_preemptible
        return Protection(
            _first(self.last_checkpoint, group.last_checkpoint),
            _first(self.checkpoint_interval, group.checkpoint_interval),
            _first(self.min_runtime, group.min_runtime),
            exempt,
            (*self.problems, *group.problems),
        )


UNPROTECTED = Protection()


def protection_of(metadata: ObjectMeta) -> Protection:
    said = [mark(metadata, key) for key in PROTECTION_MARKS]
    if said == [None] * len(PROTECTION_MARKS):
        return UNPROTECTED
    checkpoint, interval, runtime, exempt = said
    problems = list[str]()
    if checkpoint is not None and _moment(checkpoint) is None:
        problems.append(f"{LAST_CHECKPOINT}: {checkpoint!r} is no time such as 2026-03-01T12:00:00Z")
    for key, text in ((CHECKPOINT_INTERVAL, interval), (MIN_RUNTIME, runtime)):
        if text is not None and milliseconds(text) is None:
            problems.append(f"{key}: {text!r} is not {FORM}")
    if interval is not None and milliseconds(interval) == 0:
        problems.append(f"{CHECKPOINT_INTERVAL}: must be longer than 0")
    if exempt is not None and exempt not in ("true", "false"):
        problems.append(f"{NON_PREEMPTIBLE}: {exempt!r} is neither true nor false")
    return Protection(
        None if checkpoint is None else _moment(checkpoint),
        None if interval is None else milliseconds(interval) or None,
        None if runtime is None else milliseconds(runtime),
        None if exempt is None else exempt == "true",
        tuple(problems),
    )


def _moment(text: str) -> int | None:
    """RFC 3339, which is stricter than what the library reads: a date, a time and a zone."""
    if "T" not in text.upper():
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return None if found.tzinfo is None else round(found.timestamp() * 1000)


def _first(own: int | None, other: int | None) -> int | None:
    return other if own is None else own
