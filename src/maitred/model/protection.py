"""What a pod or a group says about being evicted: what would be lost, and when it may not be at all.

Who asks for protection in words that cannot be read is protected: no pod is evicted on a misunderstanding.
"""

from collections.abc import Callable

from maitred.model.duration import FORM, milliseconds
from maitred.model.meta import Lean, ObjectMeta, own_mark
from maitred.model.times import MOMENT_FORM, moment_in

LAST_CHECKPOINT = "maitred.dev/last-checkpoint"
CHECKPOINT_INTERVAL = "maitred.dev/checkpoint-interval"
MIN_RUNTIME = "maitred.dev/min-runtime"
NON_PREEMPTIBLE = "maitred.dev/non-preemptible"
PROTECTION_MARKS = (LAST_CHECKPOINT, CHECKPOINT_INTERVAL, MIN_RUNTIME, NON_PREEMPTIBLE)
VOLCANO_PREEMPTABLE, KAI_PREEMPTIBILITY = "volcano.sh/preemptable", "kai.scheduler/preemptibility"
KOORDINATOR_PREEMPTIBLE = "quota.scheduling.koordinator.sh/preemptible"
FOREIGN_EXEMPTIONS = {
    VOLCANO_PREEMPTABLE: {"true": False, "false": True},
    KAI_PREEMPTIBILITY: {"preemptible": False, "non-preemptible": True},
    KOORDINATOR_PREEMPTIBLE: {"true": False, "false": True},
}
"""Other schedulers' words for `NON_PREEMPTIBLE`: what asks for it, and what asks for nothing."""
ALL_PROTECTION_MARKS = (*PROTECTION_MARKS, *FOREIGN_EXEMPTIONS)
_READ = frozenset(ALL_PROTECTION_MARKS)


class Protection(Lean, frozen=True):
    """Times in milliseconds, the checkpoint's since 1970; None for what is not said."""

    last_checkpoint: int | None = None
    checkpoint_interval: int | None = None
    min_runtime: int | None = None
    non_preemptible: bool | None = None
    unread: tuple[tuple[str, str], ...] = ()
    """Marks that cannot be read, and what is wrong with each."""

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(f"{key}: {what}" for key, what in self.unread)


UNPROTECTED = Protection()


def protection_of(metadata: ObjectMeta) -> Protection:
    if _READ.isdisjoint(metadata.labels) and _READ.isdisjoint(metadata.annotations):
        return UNPROTECTED
    said = {key: own_mark(metadata, key) for key in PROTECTION_MARKS}
    read = {key: None if text is None else READERS[key](text) for key, text in said.items()}
    unread = [
        (key, f"{text!r} is not {FORMS[key]}")
        for key, text in said.items()
        if text is not None and read[key] is None
    ]
    foreign = {key: text for key in FOREIGN_EXEMPTIONS if (text := own_mark(metadata, key)) is not None}
    unread += [
        (key, f"{text!r} is not {' or '.join(FOREIGN_EXEMPTIONS[key])}")
        for key, text in foreign.items()
        if text not in FOREIGN_EXEMPTIONS[key]
    ]
    unread += [
        (key, "label and annotation disagree") for key in ALL_PROTECTION_MARKS if _differ(metadata, key)
    ]
    checkpoint, interval, runtime, exempt = read.values()
    if exempt is None and any(FOREIGN_EXEMPTIONS[key].get(text) for key, text in foreign.items()):
        exempt = 1
    return Protection(checkpoint, interval, runtime, None if exempt is None else bool(exempt), tuple(unread))


def _differ(metadata: ObjectMeta, key: str) -> bool:
    label, annotation = metadata.labels.get(key), metadata.annotations.get(key)
    return label is not None and annotation is not None and label != annotation


READERS: dict[str, Callable[[str], int | None]] = {
    LAST_CHECKPOINT: moment_in,
    CHECKPOINT_INTERVAL: lambda text: milliseconds(text) or None,
    MIN_RUNTIME: milliseconds,
    NON_PREEMPTIBLE: {"true": 1, "false": 0}.get,
}
FIELDS = {
    LAST_CHECKPOINT: "last_checkpoint",
    CHECKPOINT_INTERVAL: "checkpoint_interval",
    MIN_RUNTIME: "min_runtime",
    **dict.fromkeys((NON_PREEMPTIBLE, *FOREIGN_EXEMPTIONS), "non_preemptible"),
}
"""Of a Protection, by the marks that they come from."""
FORMS = {
    LAST_CHECKPOINT: MOMENT_FORM,
    CHECKPOINT_INTERVAL: f"{FORM}, and longer than 0",
    MIN_RUNTIME: FORM,
    NON_PREEMPTIBLE: "true or false",
}
