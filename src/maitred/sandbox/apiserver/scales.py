"""The size of objects of custom kinds, in a form that is the same for all of them: `scale`."""

from typing import Any

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.refusals import Refusal, bad_request
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.store import Item, encode

COLUMNS: tuple[Body, ...] = (
    {"name": "Desired", "type": "integer", "jsonPath": ".spec.replicas"},
    {"name": "Available", "type": "integer", "jsonPath": ".status.replicas"},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
)
SCALES = Kind("autoscaling", "v1", "Scale", "scales", struct("autoscaling.v1.Scale"), columns=COLUMNS)
WANTED, PRESENT, SELECTOR = "specReplicasPath", "statusReplicasPath", "labelSelectorPath"
"""Where a definition says that they are in its objects."""
SHOWN = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
UNSAID = -(2**31)
"""The size of an object that has none, for a patch to change."""
LARGEST = 2**31 - 1


def scale_of(kind: Kind, item: Item) -> Item:
    """The object of another kind that is shown in place of this one."""
    wanted = size_at(item.body, kind.scale[WANTED])
    if wanted is None:
        why = f'the spec replicas field "{kind.scale[WANTED]}" does not exist'
        message = f"Internal error occurred: {why}"
        raise Refusal(500, "InternalError", message, {"causes": [{"message": why}]})
    body = scale_body(kind, item.body, wanted)
    return Item(item.key, item.version, body, encode(body))


def patchable_scale(kind: Kind, item: Item) -> Body:
    wanted = size_at(item.body, kind.scale[WANTED])
    return scale_body(kind, item.body, UNSAID if wanted is None else wanted)


def scale_body(kind: Kind, body: Body, wanted: int) -> Body:
    meta, selector = body["metadata"], value_at(body, kind.scale.get(SELECTOR, ""))
    status: Body = {"replicas": size_at(body, kind.scale[PRESENT]) or 0}
    if isinstance(selector, str) and selector:
        status["selector"] = selector
    return {
        "kind": SCALES.name,
        "apiVersion": SCALES.api_version,
        "metadata": {name: meta[name] for name in SHOWN if name in meta},
        "spec": {"replicas": wanted} if wanted else {},
        "status": status,
    }


def resized(kind: Kind, item: Item, scale: Body) -> Body:
    """The object, with the size that is asked for."""
    body, path, size = item.fresh(), kind.scale[WANTED], scale["spec"].get("replicas", 0)
    if size == UNSAID:
        raise bad_request(f'the spec replicas field "{path}" cannot be empty')
    *way, last = steps(path)
    place = body
    for name in way:
        place = place.setdefault(name, {})
        if not isinstance(place, dict):
            raise bad_request(f'the spec replicas field "{path}" leads through what is not an object')
    place[last] = size
    body["metadata"]["resourceVersion"] = scale["metadata"].get("resourceVersion", str(item.version))
    return body


def size_errors(body: Body, path: str) -> list[FieldError]:
    size = size_at(body, path) or 0
    if size < 0:
        return [invalid(path, size, "should be a non-negative integer")]
    if size > LARGEST:
        return [invalid(path, size, f"should be less than or equal to {LARGEST}")]
    return []


def size_at(body: Body, path: str) -> int | None:
    value = value_at(body, path)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def value_at(body: Body, path: str) -> Any:
    value: Any = body
    for name in steps(path):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def steps(path: str) -> list[str]:
    return path.removeprefix(".").split(".")
