"""Bodies as typed Go clients send them, in protobuf, read as what they would be in JSON.

A message says no more than numbers and values; the types of the catalogue say which fields these are. Fields
that a type does not have are skipped, as protobuf wants it. Go writes the zero value of a field that is no
pointer, so more may be here than in JSON: `conform` drops what is empty.
"""

import binascii
import math
import struct
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from maitred.sandbox.apiserver.schema.scalars import Misfit
from maitred.sandbox.apiserver.schema.types import Body, ListOf, MapOf, Scalar, Struct, Type
from maitred.sandbox.apiserver.schema.wire import Malformed, Wire, fields

_PREFIX: Final = b"k8s\0"
_EPOCH: Final = datetime(1970, 1, 1)
_SHOWN: Final = 30
"""How many bytes of a body that nobody understands its refusal repeats."""


class ProtobufError(ValueError):
    """A body cannot be read. The message is the one of the API server."""


def read_protobuf(data: bytes, type: Struct) -> Body:
    group, _, expected = type.name.rpartition(".")
    try:
        envelope = _opened(data)
    except Malformed as error:
        raise ProtobufError(
            f"the object provided is unrecognized (must be of type {expected}): {error} ({_summary(data)})"
        ) from None
    body: Body = {"apiVersion": envelope.get("apiVersion", ""), "kind": envelope.get("kind") or expected}
    kind, version = body["kind"], body["apiVersion"].rpartition("/")[2]
    try:
        if kind != expected:
            wanted = f"{group.partition('.')[0]}.{expected}"
            raise Malformed(f"converting ({version}.{kind}) to ({wanted}): unknown conversion")
        return _read(envelope.get("raw", b""), _table(type), body)
    except (Malformed, Misfit, RecursionError) as error:
        raise ProtobufError(
            f'{kind} in version "{version}" cannot be handled as a {expected}: {error}'
        ) from None


def _opened(data: bytes) -> Body:
    """What Kubernetes puts around every message: which type it is of."""
    if not data:
        raise Malformed("empty data")
    if not data.startswith(_PREFIX):
        expected = " ".join(map(str, _PREFIX))
        raise Malformed(
            f"provided data does not appear to be a protobuf message, expected prefix [{expected}]"
        )
    if data == _PREFIX:
        raise Malformed("empty body")
    return _read(data[len(_PREFIX) :], _ENVELOPE, {})


def _summary(data: bytes) -> str:
    shown = data[:_SHOWN].hex() or "<empty>"
    return f"{shown} ..." if len(data) > _SHOWN else shown


# Messages: what a type makes of the numbers


class _Slot(NamedTuple):
    """Where the values of a number belong."""

    name: str
    wire: Wire
    put: Callable[[Body, Any], None]


_Table: TypeAlias = dict[int, _Slot]
_Reader: TypeAlias = tuple[Wire, Callable[[Any], Any]]
"""The wire type of a value, and how it is read."""
_Member: TypeAlias = tuple[tuple[int, ...], str, Type]


def _read(message: bytes, table: _Table, into: Body) -> Body:
    for number, wire, value in fields(message):
        slot = table.get(number)
        if slot is None:
            continue
        if wire == slot.wire:
            slot.put(into, value)
        else:
            raise Malformed(f"proto: wrong wireType = {wire} for field {slot.name}")
    return into


@lru_cache(maxsize=4096)
def _table(type: Struct) -> _Table:
    return _table_of((field.number, name, field.type) for name, field in type.fields.items())


def _table_of(members: Iterable[_Member]) -> _Table:
    table: _Table = {}
    embedded: dict[int, list[_Member]] = defaultdict(list)
    for numbers, name, type in members:
        match numbers:
            case (number,):
                table[number] = _slot(name, type)
            case (number, *inner):
                embedded[number].append((tuple(inner), name, type))
    for number, inside in embedded.items():
        table[number] = _embedded(_table_of(inside))
    return table


def _embedded(table: _Table) -> _Slot:
    """A message here, whose fields JSON has among those of the message around it."""

    def put(body: Body, value: bytes) -> None:
        _read(value, table, body)

    return _Slot("", Wire.LENGTH, put)


def _slot(name: str, type: Type) -> _Slot:
    match type:
        case Struct():
            return _message(name, type)
        case ListOf():
            return _list(name, _reader(type.item))
        case MapOf():
            return _map(name, _reader(type.value))
        case Scalar():
            return _single(name, _reader(type))


def _single(name: str, reader: _Reader) -> _Slot:
    wire, read = reader

    def put(body: Body, value: Any) -> None:
        body[name] = read(value)

    return _Slot(name, wire, put)


def _message(name: str, type: Struct) -> _Slot:
    """One that comes in parts is one."""

    def put(body: Body, value: bytes) -> None:
        # Not before the first use, since the type may contain itself.
        _read(value, _table(type), body.setdefault(name, {}))

    return _Slot(name, Wire.LENGTH, put)


def _list(name: str, reader: _Reader) -> _Slot:
    wire, read = reader

    def put(body: Body, value: Any) -> None:
        body.setdefault(name, []).append(read(value))

    return _Slot(name, wire, put)


def _map(name: str, reader: _Reader) -> _Slot:
    """Each entry is a message of a key and a value, and lacks what is empty."""
    wire, read = reader
    entry = {1: _single("key", _STRING), 2: _single("value", reader)}
    nothing = 0 if wire == Wire.VARINT else b""

    def put(body: Body, value: bytes) -> None:
        pair = _read(value, entry, {})
        body.setdefault(name, {})[pair.get("key", "")] = pair["value"] if "value" in pair else read(nothing)

    return _Slot(name, Wire.LENGTH, put)


def _reader(type: Type) -> _Reader:
    match type:
        case Scalar():
            return _SCALARS[type]
        case Struct():
            return Wire.LENGTH, lambda value: _read(value, _table(type), {})
        case ListOf():
            # Protobuf has no list in a list or in a map, but a message with a list.
            items = {1: _list("items", _reader(type.item))}
            return Wire.LENGTH, lambda value: _read(value, items, {}).get("items", [])
        case MapOf():
            raise TypeError("a map in a list or in a map has no form in protobuf")


# Scalars, and small messages that are one value in JSON


def _signed(bits: int) -> _Reader:
    """What is too large loses its upper bits."""
    sign = 1 << (bits - 1)
    return Wire.VARINT, lambda value: ((value & (2 * sign - 1)) ^ sign) - sign


def _text(value: bytes) -> str:
    """To Go any bytes are text; those that are none are shown when it writes JSON."""
    return value.decode(errors="replace")


def _number(value: bytes) -> int | float:
    number: float = struct.unpack("<d", value)[0]
    if not math.isfinite(number):
        raise Malformed(f"json: unsupported value: {number}")
    return int(number) if number.is_integer() else number


def _base64(value: bytes) -> str:
    return binascii.b2a_base64(value, newline=False).decode()


_STRING: Final = (Wire.LENGTH, _text)
_INT_32: Final = _signed(32)
_INT_64: Final = _signed(64)
_RAW: Final = (Wire.LENGTH, bytes)
_TIMESTAMP: Final = {1: _single("seconds", _INT_64), 2: _single("nanos", _INT_32)}
_QUANTITY: Final = {1: _single("string", _STRING)}
_INT_OR_STRING: Final = {
    1: _single("type", _INT_64),
    2: _single("intVal", _INT_32),
    3: _single("strVal", _STRING),
}
_JSON: Final = {1: _single("raw", _RAW)}
_ENVELOPE: Final = {
    1: _embedded({1: _single("apiVersion", _STRING), 2: _single("kind", _STRING)}),
    2: _single("raw", _RAW),
}


def _quantity(value: bytes) -> str:
    return str(_read(value, _QUANTITY, {}).get("string", "0"))


def _int_or_string(value: bytes) -> int | str:
    found = _read(value, _INT_OR_STRING, {})
    match found.get("type", 0):
        case 0:
            return int(found.get("intVal", 0))
        case 1:
            return str(found.get("strVal", ""))
    raise Malformed("impossible IntOrString.Type")


def _time(value: bytes) -> str | None:
    """To the second, though the message has room for more."""
    return _moment(_read(value, _TIMESTAMP, {}).get("seconds", 0), 0, "seconds") if value else None


def _micro_time(value: bytes) -> str | None:
    found = _read(value, _TIMESTAMP, {})
    micros = int(found.get("nanos", 0) / 1000)
    return _moment(found.get("seconds", 0), micros, "microseconds") if value else None


def _moment(seconds: int, micros: int, precision: str) -> str:
    try:
        moment = _EPOCH + timedelta(seconds=seconds, microseconds=micros)
    except OverflowError:
        raise Malformed("Time.MarshalJSON: year outside of range [0,9999]") from None
    return moment.isoformat(timespec=precision) + "Z"


def _json(value: bytes) -> Any:
    raw = _read(value, _JSON, {}).get("raw")
    try:
        return msgspec.json.decode(raw) if raw else None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Malformed(f"json: {error}") from None


_SCALARS: Final[dict[Scalar, _Reader]] = {
    Scalar.STRING: _STRING,
    Scalar.INT32: _INT_32,
    Scalar.INT64: _INT_64,
    Scalar.NUMBER: (Wire.FIXED_64, _number),
    Scalar.BOOL: (Wire.VARINT, bool),
    Scalar.QUANTITY: (Wire.LENGTH, _quantity),
    Scalar.INT_OR_STRING: (Wire.LENGTH, _int_or_string),
    Scalar.TIME: (Wire.LENGTH, _time),
    Scalar.MICRO_TIME: (Wire.LENGTH, _micro_time),
    Scalar.BYTES: (Wire.LENGTH, _base64),
    Scalar.ANY: (Wire.LENGTH, _json),
}
