"""What every Kubernetes object has, read leanly: fields that scheduling never looks at are not decoded."""

from datetime import datetime
from typing import Annotated

import msgspec

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


class ObjectMeta(Lean, frozen=True):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    creation_timestamp: Timestamp | None = None
    deletion_timestamp: Timestamp | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()


class Namespace(Lean, frozen=True):
    metadata: ObjectMeta


def key_of(metadata: ObjectMeta) -> str:
    """`namespace/name` of a namespaced object."""
    return f"{metadata.namespace or 'default'}/{metadata.name}"


def mark(metadata: ObjectMeta, key: str) -> str | None:
    """A value that users may write as a label or as an annotation."""
    value = metadata.labels.get(key)
    return metadata.annotations.get(key) if value is None else value
