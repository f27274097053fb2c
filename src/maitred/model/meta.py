"""What every Kubernetes object has, read leanly: fields that scheduling never looks at are not decoded."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Annotated, NamedTuple

import msgspec

LONGEST_MARK, CUT_TO = 1024, 64
LONGEST_NAME = 253
"""Of any object, as the API server bounds it. What an owner reference names is not bounded."""

Timestamp = Annotated[datetime, msgspec.Meta(tz=True)]


class Lean(msgspec.Struct, frozen=True, rename="camel", gc=False, omit_defaults=True):
    """Base of all structs that mirror a part of the Kubernetes API: camelCase on the wire, never changed."""


class OwnerReference(Lean, frozen=True):
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False
    api_version: str = ""
    """The API server requires one; what has none was written by hand, for a command that reads files."""

    @property
    def may_exist(self) -> bool:
        """Whether any object could be called so."""
        rest = len(self.kind) + len(self.uid) + len(self.api_version)
        return len(self.name) <= LONGEST_NAME and rest <= 2 * LONGEST_NAME


class ObjectMeta(Lean, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    """By when it is to be gone,"""
    deletion_grace_period_seconds: int = 0
    """and how long after its deletion that is."""
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()


def key_of(metadata: ObjectMeta) -> str:
    """`namespace/name` of a namespaced object."""
    return f"{metadata.namespace or 'default'}/{metadata.name}"


def controller_of(metadata: ObjectMeta) -> OwnerReference | None:
    """Who controls an object. A reference that no object can have written is none: users may put texts of any
    length there."""
    return next((one for one in metadata.owner_references if one.controller and one.may_exist), None)


def mark(metadata: ObjectMeta, key: str) -> str | None:
    """A value that users may write as a label or as an annotation."""
    value = metadata.labels.get(key)
    return metadata.annotations.get(key) if value is None else value


def own_mark(metadata: ObjectMeta, key: str) -> str | None:
    """A mark as it may be repeated in messages, records and names of groups."""
    value = mark(metadata, key)
    return None if value is None else shortened(value)


def shortened(text: str) -> str:
    """What is too long to mean anything is cut, so that no message and no record grows with it."""
    return text if len(text) <= LONGEST_MARK else f"{text[:CUT_TO]}... ({len(text)} characters)"


class MarkSaid(NamedTuple):
    """A value that somebody wrote as a label or as an annotation."""

    key: str
    form: str
    value: str

    @property
    def words(self) -> str:
        return f"{self.form} {self.key} is {self.value}"


def said_under(metadata: ObjectMeta, keys: Iterable[str]) -> list[MarkSaid]:
    """What is written under any of these keys, in their order. What is empty says nothing."""
    forms = (("label", metadata.labels), ("annotation", metadata.annotations))
    found = [(key, form, marks.get(key)) for key in keys for form, marks in forms]
    return [MarkSaid(key, form, shortened(value)) for key, form, value in found if value]


def contradiction(said: Sequence[MarkSaid]) -> str:
    """The first two places that say different things; empty if all say the same."""
    differing = next((one for one in said if one.value != said[0].value), None)
    return "" if differing is None else f"{said[0].words} and {differing.words}; remove one of the two"
