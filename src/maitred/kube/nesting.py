"""JSON as deep as an API server stores it.

Users may nest what they write, in a custom resource or in the fields that a manager of an object owns, and
the API server lets them do so far deeper than Python lets functions call each other. Nothing of it is read,
but it must be passed over: an object that nobody can read must not end the list or the watch that it is in.
"""

import sys
from typing import Any, TypeVar

import msgspec

DEEPEST = 10_000
"""As the API server limits it. To pass over so much takes less than a quarter of the stack of a thread."""

T = TypeVar("T")


def decode(decoder: "msgspec.json.Decoder[T]", data: bytes | msgspec.Raw) -> T:
    try:
        return decoder.decode(data)
    except RecursionError:
        usual = sys.getrecursionlimit()
        sys.setrecursionlimit(usual + 2 * DEEPEST)
        try:
            return decoder.decode(data)
        finally:
            sys.setrecursionlimit(usual)


UNREADABLE: tuple[type[Any], ...] = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What `decode` raises."""
