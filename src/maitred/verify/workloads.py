"""Jobs as groups: what a Job says of the group of its pods, and whether it is one gang without saying so."""

import re
from dataclasses import dataclass, field

from .conventions import all_marks, namings
from .fields import Doc
from .selectors import Labels

GROUP = "maitred.dev/group"
MIN_COUNT = "maitred.dev/min-count"


@dataclass(frozen=True)
class Wishes:
    """What a Job has to say; `marks` are those on the Job, `of_template` those that its pods get."""

    marks: Labels = field(default_factory=dict)
    of_template: Labels = field(default_factory=dict)
    at_once: bool = False
    """Every index of it runs at the same time, and its template names no group."""
    completions: int = 0
    scheduling: Doc | None = None
    parallelism: int = 1
    completed: frozenset[int] = frozenset()
    failed: frozenset[int] = frozenset()
    problems: tuple[str, ...] = ()

    @property
    def count(self) -> str | None:
        """The quorum as the user has written it."""
        return self.marks.get(MIN_COUNT) or self.of_template.get(MIN_COUNT)

    @property
    def asked(self) -> int | None:
        """The quorum that `spec.scheduling` asks for."""
        rule = Doc(None, "") if self.scheduling is None else self.scheduling.doc("schedulingPolicy")
        if not rule.given("gang"):
            return None
        count = rule.doc("gang").integer("minCount")
        return count if 1 <= count <= 1_000_000 else max(1, self.parallelism)

    def is_group(self, jobs: str) -> bool:
        """Whether its pods are one group where nothing names another; `jobs` is the rule of the policy."""
        written = self.count is not None or self.asked is not None
        return written or (self.scheduling is None and jobs == "gang" and self.at_once)


def read_wishes(doc: Doc) -> Wishes:
    spec, status = doc.doc("spec"), doc.doc("status")
    template = spec.doc("template")
    of_template = _marks(template.doc("metadata"))
    names_group = names_a_group(template)
    parallelism, completions = spec.integer("parallelism", 1), spec.integer("completions", -1)
    indexed = spec.text("completionMode", "NonIndexed") == "Indexed"
    return Wishes(
        marks=_marks(doc.doc("metadata")),
        of_template=of_template,
        at_once=indexed and parallelism > 1 and parallelism == completions and not names_group,
        completions=completions,
        scheduling=spec.doc("scheduling") if spec.given("scheduling") else None,
        parallelism=parallelism,
        completed=_indexes(status.text("completedIndexes"), completions),
        failed=_indexes(status.text("failedIndexes"), completions),
        problems=tuple(_problems(doc.doc("metadata")) + _problems(template.doc("metadata"))),
    )


def names_a_group(template: Doc) -> bool:
    """Whether pods that are made from it name a group, in any language."""
    meta = template.doc("metadata")
    labels, annotations = meta.strings("labels"), meta.strings("annotations")
    written = template.doc("spec").doc("schedulingGroup").text("podGroupName")
    marked = labels.get(GROUP, annotations.get(GROUP))
    return bool(written or marked or namings(labels, annotations))


def _marks(meta: Doc) -> Labels:
    """A label counts before an annotation of the same name; what others call our marks counts as ours."""
    return all_marks(meta.strings("labels"), meta.strings("annotations"))[0]


def _problems(meta: Doc) -> list[str]:
    return all_marks(meta.strings("labels"), meta.strings("annotations"))[1]


def _indexes(text: str, completions: int) -> frozenset[int]:
    """`0-3,5` is what the Job controller writes; anything else says nothing, nor do indexes that a Job of so
    many completions does not have, or a text that is far too long for them."""
    found, next_one = set[int](), 0
    completions = min(completions, 1_000_000)
    if len(text) > 22 * max(completions, 0) + 4096:
        return frozenset()
    for part in text.split(","):
        if not re.fullmatch(r"[0-9]{1,10}(-[0-9]{1,10})?", part):
            return frozenset()
        first, _, last = part.partition("-")
        begin, end = int(first), int(last or first)
        if not next_one <= begin <= end:
            return frozenset()
        found.update(range(begin, min(end + 1, completions)))
        next_one = end + 1
    return frozenset(found)
