"""The rules that the types state themselves: what is required, how it looks, within which bounds, what lasts.

Most fields have no other rules. What the notation of the types cannot say of one of them is a function in
`OF_TYPES`, and what an object must be as a whole is for the strategy of its kind.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from maitred.sandbox.apiserver.kinds.devicerules import (
    check_binding_conditions,
    check_capacity,
    check_device_claim,
    check_device_toleration,
    check_published_device,
    check_request,
    check_slice,
    needing,
)
from maitred.sandbox.apiserver.kinds.fielderrors import (
    IMMUTABLE,
    FieldError,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    too_many,
    unsupported,
)
from maitred.sandbox.apiserver.kinds.labels import (
    check_annotations,
    check_labels,
    check_node_term,
    check_requirement,
)
from maitred.sandbox.apiserver.kinds.names import (
    NameRule,
    address,
    attribute,
    check_name,
    config_key,
    domain_path,
    driver,
    extended,
    label,
    label_1035,
    label_key,
    label_value,
    path_segment,
    pool,
    port_name,
    qualified,
    subdomain,
    uid,
    version,
)
from maitred.sandbox.apiserver.kinds.placement import check_spread, check_toleration
from maitred.sandbox.apiserver.kinds.resources import UNIT
from maitred.sandbox.apiserver.kinds.volumes import check_claim
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.notation import UNBOUNDED
from maitred.sandbox.apiserver.schema.quantities import nano
from maitred.sandbox.apiserver.schema.types import Body, Field, ListOf, MapOf, Scalar, Struct, Type

FORMS: Mapping[str, NameRule] = {
    "address": address,
    "attribute": attribute,
    "domain": label_1035,
    "driver": driver,
    "extended": extended,
    "key": label_key,
    "label": label,
    "manager": domain_path,
    "pool": pool,
    "port": port_name,
    "qualified": qualified,
    "segment": path_segment,
    "subdomain": subdomain,
    "uuid": uid,
    "value": label_value,
    "version": version,
}
OF_TYPES: Mapping[str, Callable[[Body, str], Iterator[FieldError]]] = {
    "core.v1.NodeSelectorRequirement": check_requirement,
    "core.v1.NodeSelectorTerm": check_node_term,
    "core.v1.PersistentVolumeClaimSpec": check_claim,
    "core.v1.Toleration": check_toleration,
    "core.v1.TopologySpreadConstraint": check_spread,
    "meta.v1.LabelSelectorRequirement": check_requirement,
    "resource.v1.Device": check_published_device,
    "resource.v1.DeviceAllocationConfiguration": needing("opaque"),
    "resource.v1.DeviceCapacity": check_capacity,
    "resource.v1.DeviceClaim": check_device_claim,
    "resource.v1.DeviceClaimConfiguration": needing("opaque"),
    "resource.v1.DeviceClassConfiguration": needing("opaque"),
    "resource.v1.DeviceRequestAllocationResult": check_binding_conditions,
    "resource.v1.DeviceSelector": needing("cel"),
    "resource.v1.DeviceSubRequest": check_request,
    "resource.v1.DeviceToleration": check_device_toleration,
    "resource.v1.ExactDeviceRequest": check_request,
    "resource.v1.ResourceSliceSpec": check_slice,
}
BESIDES = ("apiVersion", "kind", "metadata", "status")
"""Of an object: looked at elsewhere."""


def check_object(type: Struct, new: Body, old: Body | None = None) -> list[FieldError]:
    """`old` is what an update changes, if it is one. An update is held only to what it changes."""
    if type.custom:
        return []
    return [
        error
        for name, field in ruled(type)
        if name not in BESIDES
        for error in check_member(name, field, name, new, old)
    ]


def check_conditions(body: Body) -> list[FieldError]:
    """Those in the status of an object whose kind uses the common type for them."""
    type = struct("meta.v1.Condition")
    return [
        error
        for index, condition in enumerate(body.get("status", {}).get("conditions", []))
        for error in check_struct(type, f"status.conditions[{index}]", condition)
    ]


def check_struct(type: Struct, path: str, new: Body, old: Body | None = None) -> Iterator[FieldError]:
    yield from check_union(type, path, new, old)
    if (further := OF_TYPES.get(type.name)) and new != old:
        yield from further(new, path)
    for name, field in ruled(type):
        yield from check_member(name, field, f"{path}.{name}", new, old)


@lru_cache(maxsize=4096)
def ruled(type: Struct) -> tuple[tuple[str, Field], ...]:
    """The fields that there is anything to say of: pods are many, and most of their fields are free."""
    return tuple((name, field) for name, field in type.fields.items() if is_ruled(field, set()))


def is_ruled(field: Field, seen: set[str]) -> bool:
    if field.is_ruled:
        return True
    within: Type = field.type
    while isinstance(within, ListOf | MapOf):
        within = within.item if isinstance(within, ListOf) else within.value
    if not isinstance(within, Struct) or within.name in seen:
        return False
    seen.add(within.name)
    return within.name in OF_TYPES or any(
        each.either or is_ruled(each, seen) for each in within.fields.values()
    )


def check_member(name: str, field: Field, path: str, new: Body, old: Body | None) -> Iterator[FieldError]:
    value, before = new.get(name), None if old is None else old.get(name)
    if old is None:
        yield from check_value(field, path, value, None)
    elif value != before:
        steps = list(check_step(field, path, value, before))
        yield from steps or check_value(field, path, value, before)


def is_absent(value: Any) -> bool:
    """An empty object is there: `basic: {}` says something."""
    return value is None or value in ("", [])


def check_union(type: Struct, path: str, new: Body, old: Body | None) -> Iterator[FieldError]:
    members = [name for name, field in type.fields.items() if field.either]
    given = [name for name in members if not is_absent(new.get(name))]
    unchanged = old is not None and given == [name for name in members if not is_absent(old.get(name))]
    if not members or len(given) == 1 or unchanged:
        return
    known = ", ".join(f"`{name}`" for name in members)
    if given:
        yield invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {known}")
    else:
        yield invalid(path, "", f"must specify one of: {known}")


def check_step(field: Field, path: str, new: Any, old: Any) -> Iterator[FieldError]:
    """What an update may not do, whatever the new value is."""
    if field.immutable:
        yield invalid(path, None, IMMUTABLE)
    if not field.lasting:
        return
    if is_absent(new) != is_absent(old):
        how = "cleared once set" if is_absent(new) else "set once created"
        yield invalid(path, None, f"field cannot be {how}")
    elif isinstance(field.type, ListOf) and field.type.keys:
        key = field.type.keys[0]
        before, after = {item.get(key) for item in old}, {item.get(key) for item in new}
        for index, item in enumerate(new):
            if item.get(key) not in before:
                yield forbidden(f"{path}[{index}]", "item may not be added")
        if not before <= after:
            yield forbidden(path, "item may not be removed")


def check_value(field: Field, path: str, value: Any, before: Any) -> Iterator[FieldError]:
    if is_absent(value):
        counted = field.type is Scalar.STRING or isinstance(field.type, ListOf)
        if field.required or (counted and field.bounds and field.bounds[0] > 0):
            yield required(path)
        return
    match field.type:
        case Struct() as type:
            yield from check_struct(type, path, value, before)
        case ListOf() as type:
            yield from check_list(field, type, path, value, before or [])
        case MapOf() as type:
            yield from check_map(field, type, path, value, before or {})
        case _:
            yield from check_scalar(field, path, value)


def check_list(
    field: Field, type: ListOf, path: str, items: list[Any], old: list[Any]
) -> Iterator[FieldError]:
    if field.bounds and len(items) > field.bounds[1]:
        yield too_many(path, len(items), field.bounds[1])
        return
    keys = type.keys or ((type.merge_key,) if type.merge_key else ())
    before = {key_of(item, keys): item for item in reversed(old)} if keys else {}
    seen = set[tuple[Any, ...]]()
    for index, item in enumerate(items):
        here = f"{path}[{index}]"
        key = key_of(item, keys)
        if field.unique and key in seen:
            yield duplicate(f"{here}.{keys[0]}" if len(keys) == 1 else here, ", ".join(map(str, key)))
        seen.add(key)
        if isinstance(type.item, Struct):
            if item != before.get(key):
                yield from check_struct(type.item, here, item, before.get(key))
        elif isinstance(item, str):
            yield from check_text(field, here, item)


def key_of(item: Any, keys: tuple[str, ...]) -> tuple[Any, ...]:
    return tuple(item.get(key) for key in keys) if isinstance(item, dict) else ()


def check_map(field: Field, type: MapOf, path: str, values: Body, old: Body) -> Iterator[FieldError]:
    if field.form == "labels":
        yield from check_labels(values, path)
    elif field.form == "annotations":
        yield from check_annotations(values, path)
    elif field.form == "config":
        for key in values:
            yield from check_name(f"{path}[{key}]", key, config_key)
    elif field.form in FORMS:
        if field.bounds and len(values) > field.bounds[1]:
            yield too_many(path, len(values), field.bounds[1])
            return
        for key in values:
            yield from check_name(path, key, FORMS[field.form])
    if isinstance(type.value, Struct):
        for name, value in values.items():
            yield from check_struct(type.value, f"{path}[{name}]", value, old.get(name))


def check_scalar(field: Field, path: str, value: Any) -> Iterator[FieldError]:
    if field.type is Scalar.QUANTITY:
        amount = nano(value)
        yield from check_bounds(field, path, value, amount // UNIT if amount < 0 else -(-amount // UNIT))
    elif isinstance(value, str):
        yield from check_text(field, path, value)
        if field.bounds and len(value.encode()) > field.bounds[1]:
            yield too_long(path, field.bounds[1])
    elif field.bounds and not isinstance(value, bool):
        yield from check_bounds(field, path, value, value)


def check_text(field: Field, path: str, text: str) -> Iterator[FieldError]:
    if field.choices and text not in field.choices:
        yield unsupported(path, text, field.choices)
    if field.form:
        yield from check_name(path, text, FORMS[field.form])


def check_bounds(field: Field, path: str, value: Any, number: int) -> Iterator[FieldError]:
    least, most = field.bounds or (number, number)
    if least <= number <= most:
        return
    if most == UNBOUNDED:
        yield invalid(path, value, f"must be greater than or equal to {least}")
    elif least == -UNBOUNDED:
        yield invalid(path, value, f"must be less than or equal to {most}")
    else:
        yield invalid(path, value, f"must be between {least} and {most}, inclusive")
