"""Writes protobuf, as far as tests need it."""

import struct


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    parts = [(value >> shift) & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([part | 0x80 for part in parts[:-1]] + parts[-1:])


def number(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", value)


def sized(field: int, value: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(value)) + value


def enveloped(message: bytes, kind: bytes = b"Thing", version: bytes = b"v1") -> bytes:
    return b"k8s\0" + sized(1, sized(1, version) + sized(2, kind)) + sized(2, message) + sized(4, b"")
