"""The wire format of protobuf: numbers of fields, and values that say how long they are."""

from collections.abc import Iterator
from enum import IntEnum
from typing import Any, Final

_64_BITS: Final = 2**64 - 1


class Wire(IntEnum):
    VARINT = 0
    FIXED_64 = 1
    LENGTH = 2
    GROUP = 3
    END_GROUP = 4
    FIXED_32 = 5


class Malformed(ValueError):
    """In the words of Go's decoder."""


def fields(message: bytes) -> Iterator[tuple[int, int, Any]]:
    """The number, the wire type and the value of each: a whole number of 64 bits, or bytes."""
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise Malformed(f"proto: illegal tag 0 (wire type {wire})")
        if wire == Wire.VARINT:
            value, at = _varint(message, at)
            yield number, wire, value
        elif wire == Wire.GROUP:
            # No type of Kubernetes has one, so nobody wants to know what is in it.
            at = _after_group(message, at)
            yield number, wire, b""
        else:
            start, at = _extent(message, at, wire)
            yield number, wire, message[start:at]


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    for byte in message[at : at + 10]:
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _64_BITS, at
        shift += 7
    raise Malformed("proto: integer overflow" if shift == 70 else "unexpected EOF")


def _extent(message: bytes, at: int, wire: int) -> tuple[int, int]:
    """Where a value that is bytes begins and ends."""
    match wire:
        case Wire.LENGTH:
            size, at = _varint(message, at)
        case Wire.FIXED_64:
            size = 8
        case Wire.FIXED_32:
            size = 4
        case Wire.END_GROUP:
            raise Malformed("proto: wiretype end group for non-group")
        case _:
            raise Malformed(f"proto: illegal wireType {wire}")
    if size > len(message) - at:
        raise Malformed("unexpected EOF")
    return at, at + size


def _after_group(message: bytes, at: int) -> int:
    depth = 1
    while depth:
        tag, at = _varint(message, at)
        match tag & 7:
            case Wire.VARINT:
                _, at = _varint(message, at)
            case Wire.GROUP:
                depth += 1
            case Wire.END_GROUP:
                depth -= 1
            case wire:
                _, at = _extent(message, at, wire)
    return at
