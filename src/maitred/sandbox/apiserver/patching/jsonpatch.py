"""JSON Patch (RFC 6902), with the habits of the library that the real server uses, and JSON Merge Patch.

JSON Patch differs from the RFC where it is lenient: `replace` sets a member that is not there, indices may
count from the end, and `add` without a value adds null.
"""

import re
from typing import Any

import msgspec

from maitred.sandbox.apiserver.refusals import bad_request, rejected_patch, too_large
from maitred.sandbox.apiserver.schema.types import Body

MOST_OPERATIONS = 10_000
MOST_COPIED = 3 * 2**20
"""Bytes that the `copy` operations of one patch may add: each could double the object."""
ROOT = "root"
_INDEX = re.compile(r"[+-]?[0-9]{1,9}")
_encode = msgspec.json.Encoder(order="deterministic").encode
_decode = msgspec.json.decode


def json_patch(body: Body, operations: Any) -> Body:
    """The patched body. It may no longer be an object of its kind: that is for the caller to find out."""
    if not isinstance(operations, list) or not all(isinstance(each, dict) for each in operations):
        raise bad_request("error decoding patch: it must be a list of operations")
    if len(operations) > MOST_OPERATIONS:
        raise too_large(MOST_OPERATIONS)
    # One level above the body, so that replacing all of it is replacing a member as well.
    document = {ROOT: body}
    copied = 0
    for operation in operations:
        copied += execute(document, operation)
        if copied > MOST_COPIED:
            raise rejected_patch()
    if not isinstance(document[ROOT], dict):
        raise rejected_patch()
    return document[ROOT]


def execute(document: Body, operation: Body) -> int:
    """Do it, and say how many bytes it has copied."""
    match operation.get("op"):
        case "add":
            add(document, steps(operation, "path"), operation.get("value"))
        case "remove":
            remove(document, steps(operation, "path"))
        case "replace":
            replace(document, steps(operation, "path"), operation.get("value"))
        case "move":
            moved = remove(document, steps(operation, "from"))
            add(document, steps(operation, "path"), moved)
        case "copy":
            found = _encode(value_at(document, inner(steps(operation, "from"))))
            add(document, steps(operation, "path"), _decode(found))
            return len(found)
        case "test":
            if _encode(value_at(document, steps(operation, "path"))) != _encode(operation.get("value")):
                raise rejected_patch()
        case _:
            raise rejected_patch()
    return 0


def steps(operation: Body, name: str) -> list[str]:
    path = operation.get(name)
    if not isinstance(path, str):
        raise rejected_patch()
    return [ROOT, *(step.replace("~1", "/").replace("~0", "~") for step in path.split("/")[1:])]


def value_at(document: Body, path: list[str]) -> Any:
    holder = holder_of(document, path)
    return holder[index_in(holder, path[-1])] if isinstance(holder, list) else holder.get(path[-1])


def holder_of(document: Body, path: list[str]) -> Body | list[Any]:
    """The object or list that has the last step of the path as a member."""
    found: Any = document
    for step in path[:-1]:
        found = found[index_in(found, step)] if isinstance(found, list) else found.get(step)
        if not isinstance(found, dict | list):
            raise rejected_patch()
    holder: Body | list[Any] = found
    return holder


def index_in(items: list[Any], step: str, more: int = 0) -> int:
    """`more`: how far behind the last item it may point."""
    size = len(items) + more
    if not _INDEX.fullmatch(step) or not -size <= int(step) < size:
        raise rejected_patch()
    return int(step) % size


def add(document: Body, path: list[str], value: Any) -> None:
    holder, step = holder_of(document, inner(path)), path[-1]
    if isinstance(holder, list):
        holder.insert(len(holder) if step == "-" else index_in(holder, step, more=1), value)
    else:
        holder[step] = value


def remove(document: Body, path: list[str]) -> Any:
    holder, step = holder_of(document, inner(path)), path[-1]
    if isinstance(holder, list):
        return holder.pop(index_in(holder, step))
    if step not in holder:
        raise rejected_patch()
    return holder.pop(step)


def replace(document: Body, path: list[str], value: Any) -> None:
    holder = holder_of(document, path)
    if isinstance(holder, list):
        holder[index_in(holder, path[-1])] = value
    else:
        holder[path[-1]] = value


def inner(path: list[str]) -> list[str]:
    """All of the object can be replaced and tested, but neither added, removed nor copied."""
    if len(path) == 1:
        raise rejected_patch()
    return path


# -- merge patch (RFC 7386) --------------------------------------------------------------------------------


def merge_patch(body: Body, patch: Any) -> Body:
    """The body, changed in place."""
    if not isinstance(patch, dict):
        raise bad_request("a merge patch must be an object")
    for name, value in patch.items():
        old = body.get(name)
        if value is None:
            body.pop(name, None)
        elif isinstance(old, dict) and isinstance(value, dict):
            merge_patch(old, value)
        else:
            body[name] = without_nulls(value)
    return body


def without_nulls(value: Any) -> Any:
    """Null means absent, also within what is new. As an item of a list it is kept: it counts there."""
    if isinstance(value, dict):
        return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return value
