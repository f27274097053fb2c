"""What the schema alone says of fields that are not given."""

from collections.abc import Callable
from copy import deepcopy
from functools import lru_cache
from typing import Any, TypeAlias

from maitred.sandbox.apiserver.schema.quantities import rounded
from maitred.sandbox.apiserver.schema.types import UNSET, Body, Field, ListOf, MapOf, Scalar, Struct, Type

Filler: TypeAlias = Callable[[Any], None]


def fill(body: Body, type: Struct) -> None:
    """Sets the defaults of a body that conforms to `type`, in place, within the structs that are there.

    Amounts of resources are rounded up to thousandths here: the server does this with its defaults.
    """
    filler = _filler(type)
    if filler is not None:
        filler(body)


@lru_cache(maxsize=4096)
def _filler(type: Type) -> Filler | None:
    """None where there is nothing to fill, so that whole trees are passed over."""
    match type:
        case Struct():
            return _struct_filler(type) if _has_work(type, set()) else None
        case ListOf():
            filler = _filler(type.item)
            return filler and _list_filler(filler)
        case MapOf(value=Scalar.QUANTITY):
            return _round
        case MapOf():
            filler = _filler(type.value)
            return filler and _map_filler(filler)
        case Scalar():
            return None


def _has_work(type: Type, seen: set[Type]) -> bool:
    if type in seen:
        return False
    seen.add(type)
    match type:
        case Struct():
            return any(
                field.default is not UNSET or _has_work(field.type, seen) for field in type.fields.values()
            )
        case ListOf():
            return _has_work(type.item, seen)
        case MapOf():
            return type.value is Scalar.QUANTITY or _has_work(type.value, seen)
    return False


def _struct_filler(struct: Struct) -> Filler:
    defaults: list[tuple[str, Any, Field]] = [
        (name, field.default, field) for name, field in struct.fields.items() if field.default is not UNSET
    ]
    within: list[tuple[str, Filler]] = []
    prepared = False

    def fill_struct(body: Any) -> None:
        nonlocal prepared
        if body.__class__ is not dict:
            return
        if not prepared:
            # At the first use, since the type may contain itself.
            fillers = ((name, _filler(field.type)) for name, field in struct.fields.items())
            within.extend((name, filler) for name, filler in fillers if filler is not None)
            prepared = True
        for name, default, field in defaults:
            if _is_missing(body, name, field):
                body[name] = deepcopy(default)
        for name, filler in within:
            value = body.get(name)
            if value is not None:
                filler(value)

    return fill_struct


def _is_missing(body: Body, name: str, field: Field) -> bool:
    value = body.get(name)
    if value is None:
        return not (field.nullable and name in body)
    return not value and not field.explicit


def _list_filler(filler: Filler) -> Filler:
    def fill_items(items: Any) -> None:
        if items.__class__ is list:
            for item in items:
                filler(item)

    return fill_items


def _map_filler(filler: Filler) -> Filler:
    def fill_values(values: Any) -> None:
        if values.__class__ is dict:
            for value in values.values():
                filler(value)

    return fill_values


def _round(amounts: Any) -> None:
    for resource, quantity in amounts.items():
        amounts[resource] = rounded(quantity)
