"""Conditions in a status, as kinds have them that use the common type."""

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError
from maitred.sandbox.apiserver.kinds.rules import check_struct
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.types import Body


def check_conditions(conditions: list[Body], path: str) -> list[FieldError]:
    type = struct("meta.v1.Condition")
    return [
        error
        for index, condition in enumerate(conditions)
        for error in check_struct(type, f"{path}[{index}]", condition)
    ]


def is_true(body: Body, kind: str) -> bool:
    """Whether the status of an object has this condition."""
    return has_condition(body, kind, "True")


def has_condition(body: Body, kind: str, status: str) -> bool:
    conditions: list[Body] = body.get("status", {}).get("conditions", [])
    return any(found.get("type") == kind and found.get("status") == status for found in conditions)
