"""Objects with something in every field, made from the definitions of their structs, and a walk through them.

A field or a struct that is new tomorrow is filled and walked through too, without a change here.
"""

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field, fields, is_dataclass, make_dataclass
from functools import cache
from typing import Any

import msgspec
import numpy as np
from msgspec import inspect

from maitred.model.meta import Timestamp
from tests.support import NOON


@dataclass(frozen=True)
class Filling:
    word: Callable[[str], str]
    """What is written into a text field of this name."""
    flag: bool = True
    """What is written where something is true or false."""

    def made(self, cls: type) -> Any:
        return self._of(inspect.type_info(cls), "")

    def _of(self, kind: inspect.Type, name: str) -> Any:
        match kind:
            case inspect.StructType():
                return kind.cls(**{one.name: self._of(one.type, one.name) for one in kind.fields})
            case inspect.UnionType():
                return self._of(min(kind.types, key=_preference), name)
            case inspect.VarTupleType():
                return (self._of(kind.item_type, name),)
            case inspect.DictType():
                return {self._of(kind.key_type, f"{name}-key"): self._of(kind.value_type, name)}
            case inspect.LiteralType():
                some = [value for value in kind.values if value]
                return "In" if "In" in some else some[0 if self.flag else -1]
            case inspect.StrType():
                return self.word(name)
            case inspect.AnyType():
                return {self.word(f"{name}-key"): [self.word(name)]}
            case inspect.BoolType():
                return self.flag
            case inspect.IntType() | inspect.FloatType():
                return 1
            case inspect.DateTimeType():
                return msgspec.convert(NOON, Timestamp)
        raise NotImplementedError(f"{name} is {kind}: say here what to fill it with")


def _preference(kind: inspect.Type) -> int:
    """Amounts are numbers, since a made-up text is none; nothing at all only if there is no choice."""
    if isinstance(kind, inspect.NoneType):
        return 2
    return 1 if isinstance(kind, inspect.StrType) else 0


def field_names(cls: type) -> tuple[str, ...]:
    """Of a struct or a dataclass, in the order in which they are given, without what is derived."""
    if issubclass(cls, msgspec.Struct):
        return cls.__struct_fields__
    known = fields(cls) if is_dataclass(cls) else ()
    return tuple(one.name for one in known if one.compare and one.init)


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    return ((name, getattr(value, name)) for name in field_names(type(value)))


def inside(value: Any) -> Iterator[Any]:
    """Everything in it, itself included, at any depth."""
    yield value
    if isinstance(value, Mapping):
        inner: Iterator[Any] = (one for pair in value.items() for one in pair)
    elif isinstance(value, tuple | list | Set):
        inner = iter(value)
    elif isinstance(value, np.ndarray):
        inner = iter(value.tolist() if value.dtype == object else ())
    else:
        inner = (one for _, one in parts(value))
    for one in inner:
        yield from inside(one)


@cache
def of_tomorrow(cls: type, secret: str) -> type:
    """The same class with one more field, as somebody could add it tomorrow."""
    if issubclass(cls, msgspec.Struct):
        return msgspec.defstruct(cls.__name__, [("tomorrow", str, secret)], bases=(cls,), frozen=True)
    more = [("tomorrow", str, field(default=secret))]
    return make_dataclass(cls.__name__, more, bases=(cls,), frozen=True)


def tomorrow(value: Any, secret: str) -> Any:
    """The same, and every object in it has one more field."""
    if isinstance(value, msgspec.Struct) or (is_dataclass(value) and not isinstance(value, type)):
        known = {name: tomorrow(one, secret) for name, one in parts(value)}
        return of_tomorrow(type(value), secret)(**known)
    if isinstance(value, Mapping):
        return {key: tomorrow(one, secret) for key, one in value.items()}
    if isinstance(value, tuple | list | frozenset):
        return type(value)(tomorrow(one, secret) for one in value)
    if isinstance(value, np.ndarray) and value.dtype == object:
        changed = np.empty_like(value)
        changed[:] = [tomorrow(one, secret) for one in value.tolist()]
        return changed
    return value
