"""JSON Merge Patch (RFC 7386)."""

from typing import Any

from maitred.sandbox.apiserver.patching.errors import json_name, malformed
from maitred.sandbox.apiserver.schema.types import Body


def merge_patch(body: Body, patch: Any) -> Body:
    """The body, changed in place."""
    if patch is None:
        raise malformed("Invalid JSON Patch")
    if not isinstance(patch, dict):
        raise malformed(
            f"error decoding patch: json: cannot unmarshal {json_name(patch)} "
            "into Go value of type map[string]interface {}"
        )
    merge(body, patch)
    return body


def merge(target: Body, patch: Body) -> None:
    for name, value in patch.items():
        if value is None:
            target.pop(name, None)
            continue
        old = target.get(name)
        if isinstance(old, dict) and isinstance(value, dict):
            merge(old, value)
        else:
            target[name] = without_nulls(value)


def without_nulls(value: Any) -> Any:
    """Null means absent, also within what is new. As an item of a list it is kept: it counts there."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
