"""What is wrong with an object, field by field, in the words of the API server."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import msgspec


class FieldFault(Enum):
    """The cause's reason on the wire, and how its message begins."""

    REQUIRED = ("FieldValueRequired", "Required value")
    INVALID = ("FieldValueInvalid", "Invalid value")
    NOT_SUPPORTED = ("FieldValueNotSupported", "Unsupported value")
    FORBIDDEN = ("FieldValueForbidden", "Forbidden")
    DUPLICATE = ("FieldValueDuplicate", "Duplicate value")
    TOO_LONG = ("FieldValueTooLong", "Too long")
    TOO_MANY = ("FieldValueTooMany", "Too many")
    NOT_FOUND = ("FieldValueNotFound", "Not found")
    TYPE_INVALID = ("FieldValueTypeInvalid", "Invalid value")


class Omitted(Enum):
    OMITTED = "omitted"


IMMUTABLE: Final = "field is immutable"
NOT_NEGATIVE: Final = "must be greater than or equal to 0"
OMITTED: Final = Omitted.OMITTED
"""As the value of an error whose message is not to show it."""


@dataclass(frozen=True, slots=True)
class FieldError:
    fault: FieldFault
    field: str
    """Its path, such as spec.containers[0].name."""
    value: Any = None
    detail: str = ""

    @property
    def reason(self) -> str:
        return self.fault.value[0]

    @property
    def message(self) -> str:
        """Without the path, as the cause of a refusal has it."""
        begin = self.fault.value[1]
        shown = self.fault not in (FieldFault.REQUIRED, FieldFault.FORBIDDEN, FieldFault.TOO_LONG)
        if shown and self.value is not OMITTED:
            begin = f"{begin}: {msgspec.json.encode(self.value).decode()}"
        return f"{begin}: {self.detail}" if self.detail else begin

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


def required(field: str, detail: str = "") -> FieldError:
    return FieldError(FieldFault.REQUIRED, field, detail=detail)


def invalid(field: str, value: Any, detail: str) -> FieldError:
    return FieldError(FieldFault.INVALID, field, value, detail)


def forbidden(field: str, detail: str) -> FieldError:
    return FieldError(FieldFault.FORBIDDEN, field, detail=detail)


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError(FieldFault.DUPLICATE, field, value)


def too_long(field: str, limit: int) -> FieldError:
    return FieldError(FieldFault.TOO_LONG, field, detail=f"may not be more than {limit} bytes")


def too_many(field: str, count: int, limit: int) -> FieldError:
    return FieldError(
        FieldFault.TOO_MANY, field, count, f"must have at most {limit} {'item' if limit == 1 else 'items'}"
    )


def unsupported(field: str, value: Any, supported: list[str] | tuple[str, ...]) -> FieldError:
    """`supported` in the order in which the server names them, which is not always sorted."""
    known = ", ".join(f'"{name}"' for name in supported)
    return FieldError(FieldFault.NOT_SUPPORTED, field, value, f"supported values: {known}")


def immutable(field: str, new: object, old: object) -> Iterator[FieldError]:
    if new != old:
        yield invalid(field, new, IMMUTABLE)
