"""JSON Patch (RFC 6902), with the habits of the library that the real server uses.

It differs from the RFC where it is lenient: `replace` sets a member that is not there, indices may count from
the end, and `add` without a value adds null.
"""

import re
from typing import Any

import msgspec

from maitred.sandbox.apiserver.patching.errors import PatchError, json_name, malformed, rejected
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
    check_operations(operations)
    # One level above the body, so that replacing all of it is replacing a member as well.
    document = {ROOT: body}
    copied = 0
    for operation in operations:
        copied += execute(document, operation)
        if copied > MOST_COPIED:
            raise rejected()
    if not isinstance(document[ROOT], dict):
        raise rejected()
    return document[ROOT]


def check_operations(operations: Any) -> None:
    target = "[]handlers.jsonPatchOp"
    if not isinstance(operations, list):
        raise cannot_decode(operations, target)
    for operation in operations:
        if not isinstance(operation, dict):
            raise cannot_decode(operation, "handlers.jsonPatchOp")
        for name in ("op", "path", "from"):
            if not isinstance(operation.get(name, ""), str | None):
                raise cannot_decode(operation[name], "string", f"jsonPatchOp.{name}")
    if len(operations) > MOST_OPERATIONS:
        raise PatchError(
            413,
            "RequestEntityTooLarge",
            "Request entity too large: The allowed maximum operations in a JSON patch is "
            f"{MOST_OPERATIONS}, got {len(operations)}",
        )


def cannot_decode(value: Any, wanted: str, field: str = "") -> PatchError:
    where = f"Go struct field {field}" if field else "Go value"
    return malformed(
        f"error decoding patch: json: cannot unmarshal {json_name(value)} into {where} of type {wanted}"
    )


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
                raise rejected()
        case _:
            raise rejected()
    return 0


def steps(operation: Body, name: str) -> list[str]:
    path = operation.get(name)
    if path is None:
        raise rejected()
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
            raise rejected()
    holder: Body | list[Any] = found
    return holder


def index_in(items: list[Any], step: str, more: int = 0) -> int:
    """`more`: how far behind the last item it may point."""
    if not _INDEX.fullmatch(step):
        raise rejected()
    index, size = int(step), len(items) + more
    if not -size <= index < size:
        raise rejected()
    return index % size


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
        raise rejected()
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
        raise rejected()
    return path
