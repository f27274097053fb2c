"""What the server makes of a body before it looks at what the body says.

Bodies are read as Go's decoder reads them: what it does not know is dropped, what is null or empty is as if
it were not there, and a value of a wrong type is refused. Amounts and times are then written in the one way
in which the server writes them, and fields that are on the wire also when they are empty are there.

Every write goes through this, so each type is compiled once: to a table of its fields, and functions for what
is in them.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeAlias

from maitred.sandbox.apiserver.schema.scalars import AS_THEY_ARE, READERS, Misfit, Reader, misfit_of
from maitred.sandbox.apiserver.schema.types import Body, Field, ListOf, MapOf, Scalar, Struct, Type

_Known: TypeAlias = tuple[type | None, bool, Reader]
"""The class of values that need no more than a look, whether empty ones stay, and how others are read."""


def conform(body: Body, type: Struct) -> list[str]:
    """Makes `body` fit, in place. Gives the paths of unknown fields, which are gone; raises Misfit."""
    unknown: list[str] = []
    try:
        _reader(type)(body, unknown)
    except RecursionError:
        raise Misfit("json: exceeded max depth") from None
    return unknown


@lru_cache(maxsize=4096)
def _reader(type: Type) -> Reader:
    match type:
        case Scalar():
            return READERS[type]
        case Struct():
            return _custom_reader(type) if type.custom else _struct_reader(type)
        case ListOf():
            return _list_reader(type)
        case MapOf():
            return _map_reader(type)


def _empty(type: Type) -> Any:
    """As Go writes the zero value of the type."""
    match type:
        case Struct():
            return {
                name: None if field.explicit else _empty(field.type)
                for name, field in type.fields.items()
                if field.kept
            }
        case Scalar.STRING:
            return ""
        case Scalar.BOOL:
            return False
        case Scalar.INT32 | Scalar.INT64 | Scalar.NUMBER | Scalar.INT_OR_STRING:
            return 0
        case Scalar.QUANTITY:
            return "0"
        case _:
            return None


def _kept(field: Field) -> Callable[[], Any]:
    if isinstance(field.type, Struct) and not field.explicit:
        type = field.type
        return lambda: _empty(type)
    value = None if field.explicit else _empty(field.type)
    return lambda: value


@lru_cache(maxsize=4096)
def _table(struct: Struct) -> tuple[dict[str, _Known], list[tuple[str, Callable[[], Any]]]]:
    """What is known of each field, and how those begin that are always there."""
    known = {
        name: (AS_THEY_ARE.get(field.type), field.explicit, _reader(field.type))
        for name, field in struct.fields.items()
    }
    return known, [(name, _kept(field)) for name, field in struct.fields.items() if field.kept]


def _struct_reader(struct: Struct) -> Reader:
    def read(body: Any, unknown: list[str]) -> Any:
        if body.__class__ is not dict:
            raise misfit_of(body, struct)
        # Not before the first use, since the type may contain itself.
        table, always = _table(struct)
        gone: list[str] = []
        for name, value in body.items():
            known = table.get(name)
            if known is None:
                unknown.append(name)
                gone.append(name)
                continue
            cls, explicit, reader = known
            if value.__class__ is not cls and value is not None:
                value = body[name] = _member(struct, name, value, reader, unknown)
            if not value and (value is None or not explicit):
                gone.append(name)
        for name in gone:
            del body[name]
        for name, empty in always:
            if name not in body:
                body[name] = empty()
        return body

    return read


def _member(struct: Struct, name: str, value: Any, reader: Reader, unknown: list[str]) -> Any:
    before = len(unknown)
    try:
        fit = reader(value, unknown)
    except Misfit as misfit:
        misfit.within(name)
        raise
    if len(unknown) > before:
        _put_within(unknown, before, name)
    return fit


def _list_reader(type: ListOf) -> Reader:
    item, cls, reader = type.item, AS_THEY_ARE.get(type.item), _reader(type.item)

    def read(items: Any, unknown: list[str]) -> Any:
        if items.__class__ is not list:
            raise misfit_of(items, type)
        for place, value in enumerate(items):
            if value.__class__ is cls:
                continue
            before = len(unknown)
            fit = _empty(item) if value is None else reader(value, unknown)
            if len(unknown) > before:
                _put_within(unknown, before, f"[{place}]")
            if fit is not value:
                items[place] = fit
        return items

    return read


def _map_reader(type: MapOf) -> Reader:
    item, cls, reader = type.value, AS_THEY_ARE.get(type.value), _reader(type.value)

    def read(values: Any, unknown: list[str]) -> Any:
        if values.__class__ is not dict:
            raise misfit_of(values, type)
        for key, value in values.items():
            if value.__class__ is cls:
                continue
            before = len(unknown)
            fit = _empty(item) if value is None else reader(value, unknown)
            if len(unknown) > before:
                _put_within(unknown, before, key)
            if fit is not value:
                values[key] = fit
        return values

    return read


def _put_within(unknown: list[str], start: int, name: str) -> None:
    for place in range(start, len(unknown)):
        path = unknown[place]
        unknown[place] = f"{name}{path}" if path.startswith("[") else f"{name}.{path}"


# Custom resources


def _custom_reader(struct: Struct) -> Reader:
    """Drops unknown fields and nulls, and nothing else: the rules of its schema judge the rest."""

    def read(body: Any, unknown: list[str]) -> Any:
        if body.__class__ is not dict:
            return body
        for name in sorted(body):
            field = struct.fields.get(name)
            if field is None:
                if not struct.preserves_unknown:
                    unknown.append(name)
                    del body[name]
            elif body[name] is None and not field.nullable:
                del body[name]
            else:
                body[name] = _custom_value(body[name], field.type, unknown, name)
        return body

    return read


def _custom_value(value: Any, type: Type, unknown: list[str], name: str) -> Any:
    before = len(unknown)
    match type, value:
        case Struct(), _:
            value = _reader(type)(value, unknown)
        case ListOf(), list():
            for place, item in enumerate(value):
                value[place] = _custom_value(item, type.item, unknown, f"[{place}]")
        case MapOf(), dict():
            for key in [key for key, item in value.items() if item is None]:
                del value[key]
            for key in sorted(value):
                value[key] = _custom_value(value[key], type.value, unknown, key)
        case _, float() if value.is_integer():
            value = int(value)
    _put_within(unknown, before, name)
    return value
