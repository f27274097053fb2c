"""How each kind of scalar is read, and what is said of a value that is none."""

import binascii
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

from maitred.sandbox.apiserver.schema.quantities import QuantityError, canonical
from maitred.sandbox.apiserver.schema.times import TimeError, canonical_micro_time, canonical_time
from maitred.sandbox.apiserver.schema.types import ListOf, MapOf, Scalar, Struct, Type

Reader: TypeAlias = Callable[[Any, list[str]], Any]
"""Gives the value as it is to be stored, and adds the paths of what it drops as unknown."""


class Misfit(Exception):
    """A value does not fit the type of its field. The message is the one of Go's decoder."""

    def __init__(self, message: str, of_type: str = "") -> None:
        super().__init__(message)
        self._message = message
        self._of_type = of_type
        self._struct = ""
        self._path: list[str] = []

    def within(self, struct: str, field: str) -> None:
        self._struct = self._struct or struct
        self._path.insert(0, field)

    @property
    def message(self) -> str:
        if not self._of_type:
            return self._message
        place = f"struct field {self._struct}.{'.'.join(self._path)}" if self._path else "value"
        return f"json: cannot unmarshal {self._message} into Go {place} of type {self._of_type}"

    def __str__(self) -> str:
        return self.message


_GO: Final = {
    Scalar.STRING: "string",
    Scalar.INT32: "int32",
    Scalar.INT64: "int64",
    Scalar.NUMBER: "float64",
    Scalar.BOOL: "bool",
    Scalar.BYTES: "[]uint8",
    Scalar.TIME: "v1.Time",
    Scalar.MICRO_TIME: "v1.MicroTime",
    Scalar.QUANTITY: "resource.Quantity",
    Scalar.INT_OR_STRING: "intstr.IntOrString",
    Scalar.ANY: "runtime.RawExtension",
}
_JSON: Final[dict[type, str]] = {
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
    list: "array",
    dict: "object",
}


def go_name(type: Type) -> str:
    match type:
        case Scalar():
            return _GO[type]
        case Struct():
            return ".".join(type.name.split(".")[-2:])
        case ListOf():
            return f"[]{go_name(type.item)}"
        case MapOf():
            return f"map[string]{go_name(type.value)}"


def misfit_of(value: Any, type: Type) -> Misfit:
    return Misfit(_JSON[value.__class__], go_name(type))


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
            raise Misfit(f"number {value!r}", _GO[scalar])
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
        raise Misfit(f"illegal base64 data at input byte {_first_illegal(text)}") from None


_BASE64: Final = re.compile(r"[A-Za-z0-9+/]*")


def _first_illegal(text: str) -> int:
    """Where Go's decoder gives up: at a strange letter, or where a group of four begins that is not whole."""
    match = _BASE64.match(text)
    end = match.end() if match else 0
    if end == len(text):
        return end - end % 4
    if text[end] != "=" or end % 4 < 2:
        return end
    if end % 4 == 2 and text[end + 1 : end + 2] != "=":
        return end + 1
    return end - end % 4 + 4


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
