"""What was found in manifests that were written for other schedulers."""

from typing import Literal

from maitred.model.membership.treatment import Treatment
from maitred.model.meta import Lean


class Finding(Lean, frozen=True, omit_defaults=False):
    """One thing that was written for another scheduler."""

    scheduler: str
    field: str
    """Where in the object it is: `spec.template.metadata.labels`; empty for the object itself."""
    key: str
    """The label, annotation or field; empty for the object itself."""
    value: str
    treatment: Treatment
    words: str
    changes: bool
    """Whether the workload may run otherwise than under the other scheduler."""


class CheckedObject(Lean, frozen=True, omit_defaults=False):
    object: str
    """`Job team-a/train`."""
    source: str
    findings: tuple[Finding, ...] = ()


class InvalidGroup(Lean, frozen=True, omit_defaults=False):
    """A group that is not scheduled before somebody corrects it."""

    group: str
    reasons: tuple[str, ...]


class ImportCheck(Lean, frozen=True, omit_defaults=False):
    api_version: Literal["maitred.dev/v1alpha1"] = "maitred.dev/v1alpha1"
    kind: Literal["ImportCheck"] = "ImportCheck"
    changes: bool = False
    """Whether anything would run otherwise, or not at all."""
    objects: tuple[CheckedObject, ...] = ()
    """Those in which something was found."""
    invalid: tuple[InvalidGroup, ...] = ()
    others: int = 0
    """Objects in which nothing was found."""
