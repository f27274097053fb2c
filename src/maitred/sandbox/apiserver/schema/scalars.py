"""How each kind of scalar is read, and what is said of a value that is none."""

import binascii
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from maitred.sandbox.apiserver.schema.quantities import QuantityError, canonical
from maitred.sandbox.apiserver.schema.times import TimeError, canonical_micro_time, canonical_time
from maitred.sandbox.apiserver.schema.types import ListOf, Scalar, Type

Reader: TypeAlias = Callable[[Any, list[str]], Any]
"""Gives the value as it is to be stored, and adds the paths of what it drops as unknown."""


class Misfit(Exception):
    """A value does not fit the type of its field."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self._path: list[str] = []

    def within(self, field: str) -> None:
        self._path.insert(0, field)

    def __str__(self) -> str:
        place = f"{'.'.join(self._path)}: " if self._path else ""
        return f"{place}{super().__str__()}"


_FOUND: Final[dict[type, str]] = {str: "a string", bool: "a boolean", list: "a list", dict: "an object"}


def misfit_of(value: Any, type: Type) -> Misfit:
    match type:
        case Scalar():
            wanted = type.value
        case ListOf():
            wanted = "a list"
        case _:
            wanted = "an object"
    return Misfit(f"must be {wanted}, not {_FOUND.get(value.__class__, 'a number')}")


def _string(value: Any, _: list[str]) -> str:
    if value.__class__ is str:
        return value
    raise misfit_of(value, Scalar.STRING)


def _bool(value: Any, _: list[str]) -> bool:
    if value.__class__ is bool:
        return value
    raise misfit_of(value, Scalar.BOOL)


def _integer(scalar: Scalar, bits: int) -> Reader:
    end = 2 ** (bits - 1)

    def read(value: Any, _: list[str]) -> int:
        if value.__class__ is int and -end <= value < end:
            return value
        if value.__class__ in (int, float):
            raise Misfit(f"must be {scalar.value}, not {value!r}")
        raise misfit_of(value, scalar)

    return read


_int32: Final = _integer(Scalar.INT32, 32)


def _number(value: Any, _: list[str]) -> float:
    if value.__class__ in (int, float):
        return value
    raise misfit_of(value, Scalar.NUMBER)


def _int_or_string(value: Any, unknown: list[str]) -> int | str:
    return value if value.__class__ is str else _int32(value, unknown)


def _quantity(value: Any, _: list[str]) -> str:
    text = value.strip() if value.__class__ is str else repr(value)
    try:
        return canonical(text)
    except QuantityError as error:
        raise Misfit(str(error)) from None


def _time(canonical: Callable[[str], str | None]) -> Reader:
    def read(value: Any, unknown: list[str]) -> str | None:
        try:
            return canonical(_string(value, unknown))
        except TimeError as error:
            raise Misfit(str(error)) from None

    return read


def _bytes(value: Any, _: list[str]) -> str:
    if value.__class__ is not str:
        raise misfit_of(value, Scalar.BYTES)
    text = value.replace("\r", "").replace("\n", "")
    try:
        return binascii.b2a_base64(binascii.a2b_base64(text, strict_mode=True), newline=False).decode()
    except ValueError:
        raise Misfit("must be base64") from None


def _any(value: Any, _: list[str]) -> Any:
    return value


READERS: Final[dict[Scalar, Reader]] = {
    Scalar.STRING: _string,
    Scalar.INT32: _int32,
    Scalar.INT64: _integer(Scalar.INT64, 64),
    Scalar.NUMBER: _number,
    Scalar.BOOL: _bool,
    Scalar.QUANTITY: _quantity,
    Scalar.INT_OR_STRING: _int_or_string,
    Scalar.TIME: _time(canonical_time),
    Scalar.MICRO_TIME: _time(canonical_micro_time),
    Scalar.BYTES: _bytes,
    Scalar.ANY: _any,
}
AS_THEY_ARE: Final[dict[Type, type]] = {Scalar.STRING: str, Scalar.BOOL: bool}
"""Scalars that need no more than a look at their class."""
