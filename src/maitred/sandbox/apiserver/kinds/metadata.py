"""The rules for `metadata`, which all kinds share. Most of them are those of its type."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import (
    FieldError,
    forbidden,
    immutable,
    invalid,
    required,
)
from maitred.sandbox.apiserver.kinds.names import NameRule, check_name, path_segment
from maitred.sandbox.apiserver.kinds.rules import check_struct
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.types import Body

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
FIXED = ("name", "namespace", "uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds")
TYPE = struct("meta.v1.ObjectMeta")


def check_metadata(body: Body, name_rule: NameRule) -> list[FieldError]:
    """Of a new object, which has its name already if that was to be generated."""
    metadata = body.get("metadata", {})
    return [
        *_check_names(metadata, name_rule),
        *check_struct(TYPE, "metadata", metadata),
        *_check_controllers(metadata),
    ]


def check_metadata_update(new: Body, old: Body) -> list[FieldError]:
    metadata, before = new.get("metadata", {}), old.get("metadata", {})
    return [
        *check_struct(TYPE, "metadata", metadata, before),
        *_check_controllers(metadata),
        *_check_finalizers(metadata, before),
        *(e for key in FIXED for e in immutable(f"metadata.{key}", metadata.get(key), before.get(key))),
    ]


def _check_names(metadata: Body, rule: NameRule) -> Iterator[FieldError]:
    name, prefix = metadata.get("name", ""), metadata.get("generateName", "")
    if prefix:
        # A dash at its end is not one at the end of the name.
        yield from check_name("metadata.generateName", f"{prefix}a", rule)
    if not name:
        yield required("metadata.name", "name or generateName is required")
        return
    problems = list(check_name("metadata.name", name, rule))
    yield from problems or check_name("metadata.name", name, path_segment)


def _check_controllers(metadata: Body) -> Iterator[FieldError]:
    owners = metadata.get("ownerReferences", [])
    if sum(bool(owner.get("controller")) for owner in owners) > 1:
        why = "Only one reference can have Controller set to true"
        yield invalid("metadata.ownerReferences", owners, why)


def _check_finalizers(new: Body, old: Body) -> Iterator[FieldError]:
    added = set(new.get("finalizers", ())) - set(old.get("finalizers", ()))
    if added and "deletionTimestamp" in old:
        why = f"the object is being deleted, so no finalizer can be added: {', '.join(sorted(added))}"
        yield forbidden("metadata.finalizers", why)
