"""Jobs: what becomes of them when pods of theirs are disrupted."""

from dataclasses import dataclass, field

from .fields import Doc
from .workloads import Wishes, read_wishes

DISRUPTED = ("DisruptionTarget", "True")
COUNT, IGNORE, FAIL = "Count", "Ignore", "FailJob"
BACKOFF_LIMIT = 6


@dataclass(frozen=True)
class Job:
    """`action` is what its failure policy does about a pod that is disrupted."""

    uid: str
    action: str
    limit: int
    limit_per_index: int | None
    failed: int
    succeeded: int = 0
    wishes: Wishes = field(default_factory=Wishes)

    def made(self, owner_uid: str) -> bool:
        """Whether it is the Job that a pod names as its owner, and no later one of that name."""
        return not (self.uid and owner_uid) or self.uid == owner_uid

    def survives(self, deleted: int) -> bool:
        """Whether it outlives it if so many of its pods are deleted."""
        if self.action in (IGNORE, FAIL):
            return self.action == IGNORE
        if self.limit_per_index is not None:
            return self.limit_per_index > 0
        return self.failed + deleted <= self.limit


def read_job(doc: Doc) -> Job:
    spec = doc.doc("spec")
    per_index = "backoffLimitPerIndex"
    return Job(
        uid=doc.doc("metadata").text("uid"),
        action=_action(spec.doc("podFailurePolicy")),
        limit=spec.integer("backoffLimit", BACKOFF_LIMIT),
        limit_per_index=spec.integer(per_index) if spec.given(per_index) else None,
        failed=doc.doc("status").integer("failed"),
        succeeded=doc.doc("status").integer("succeeded"),
        wishes=read_wishes(doc),
    )


def _action(policy: Doc) -> str:
    """The first rule that speaks of disrupted pods decides."""
    for rule in policy.docs("rules"):
        conditions = rule.docs("onPodConditions")
        if any((said.text("type"), said.text("status", "True")) == DISRUPTED for said in conditions):
            return rule.text("action")
    return COUNT
