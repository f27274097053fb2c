"""What the objects of several operators have in common."""

from typing import Annotated, TypeVar

import msgspec

from maitred.model.meta import Lean

MOST_PARTS = 1024
"""Roles, tasks or worker groups that one object may have. JobSet allows 50."""
LONGEST = 317
"""The longest name that any of these APIs allows: a label key."""

T = TypeVar("T")

Size = Annotated[int, msgspec.Meta(ge=0, le=2**31 - 1)]
"""A number of pods or replicas, as the API bounds it."""
Name = Annotated[str, msgspec.Meta(max_length=LONGEST)]
Several = Annotated[tuple[T, ...], msgspec.Meta(max_length=MOST_PARTS)]
ByName = Annotated[dict[Name, T], msgspec.Meta(max_length=MOST_PARTS)]


class OperatorCondition(Lean, frozen=True):
    """A condition in the status of an object, without its words."""

    type: Name = ""
    status: Name = ""
    reason: Name = ""


def holds(conditions: tuple[OperatorCondition, ...], type: str) -> bool:
    """Whether the object has this condition."""
    return any(one.type == type and one.status == "True" for one in conditions)
