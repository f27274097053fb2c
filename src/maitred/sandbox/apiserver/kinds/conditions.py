"""Conditions in a status, as kinds have them that use the common type."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import (
    FieldError,
    check_choice,
    duplicate,
    invalid,
    required,
    too_long,
)
from maitred.sandbox.apiserver.kinds.names import check_name, condition_reason, label_key
from maitred.sandbox.apiserver.schema.types import Body

LONGEST_REASON = 1024
LONGEST_MESSAGE = 32 * 1024
STATUSES = ("False", "True", "Unknown")


def check_conditions(conditions: list[Body], path: str) -> list[FieldError]:
    errors = list[FieldError]()
    seen = set[str]()
    for index, condition in enumerate(conditions):
        kind = condition.get("type", "")
        if kind in seen:
            errors.append(duplicate(f"{path}[{index}]", kind))
        seen.add(kind)
        errors += check_condition(condition, f"{path}[{index}]")
    return errors


def check_condition(condition: Body, path: str) -> Iterator[FieldError]:
    if kind := condition.get("type"):
        yield from check_name(f"{path}.type", kind, label_key)
    else:
        yield required(f"{path}.type", "is required")
    yield from check_choice(f"{path}.status", condition.get("status", ""), STATUSES)
    if (generation := condition.get("observedGeneration", 0)) < 0:
        yield invalid(f"{path}.observedGeneration", generation, "must be greater than or equal to zero")
    if not condition.get("lastTransitionTime"):
        yield required(f"{path}.lastTransitionTime")
    yield from check_reason(condition.get("reason"), f"{path}.reason")
    if len(condition.get("message", "").encode()) > LONGEST_MESSAGE:
        yield too_long(f"{path}.message", LONGEST_MESSAGE)


def check_reason(reason: str | None, path: str) -> Iterator[FieldError]:
    if not reason:
        yield required(path)
        return
    yield from check_name(path, reason, condition_reason)
    if len(reason.encode()) > LONGEST_REASON:
        yield too_long(path, LONGEST_REASON)


def is_true(body: Body, kind: str) -> bool:
    """Whether the status of an object has this condition."""
    return has_condition(body, kind, "True")


def has_condition(body: Body, kind: str, status: str) -> bool:
    conditions: list[Body] = body.get("status", {}).get("conditions", [])
    return any(found.get("type") == kind and found.get("status") == status for found in conditions)
