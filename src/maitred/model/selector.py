"""Label and node selectors, brought to one hashable form and matched against labels."""

from collections.abc import Mapping
from typing import Literal

from maitred.model.meta import Lean

Labels = Mapping[str, str]


class Requirement(Lean, frozen=True):
    """One condition on a label. Node selectors may also use `Gt` and `Lt`."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: tuple[str, ...] = ()


class LabelSelector(Lean, frozen=True):
    match_labels: dict[str, str] = {}
    match_expressions: tuple[Requirement, ...] = ()


Selector = tuple[Requirement, ...]
"""All of these hold. The empty selector matches everything; None, in its place, nothing."""


def selector_of(selector: LabelSelector | None) -> Selector | None:
    if selector is None:
        return None
    exact = [Requirement(key, "In", (value,)) for key, value in selector.match_labels.items()]
    expressions = [
        Requirement(r.key, r.operator, tuple(sorted(r.values))) for r in selector.match_expressions
    ]
    return canonical((*exact, *expressions))


def canonical(requirements: tuple[Requirement, ...]) -> Selector:
    """Without repetitions and in one order, so that equal selectors compare equal."""
    return tuple(sorted(set(requirements), key=lambda r: (r.key, r.operator, r.values)))


def matches(selector: Selector | None, labels: Labels) -> bool:
    return selector is not None and all(holds(requirement, labels) for requirement in selector)


def holds(requirement: Requirement, labels: Labels) -> bool:
    value = labels.get(requirement.key)
    match requirement.operator:
        case "In":
            return value in requirement.values
        case "NotIn":
            return value not in requirement.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case _:
            return value is not None and compares(requirement, value)


def compares(requirement: Requirement, value: str) -> bool:
    """`Gt` and `Lt`: both sides integers, and anything else matches nothing."""
    left, right = integer(value), integer(requirement.values[0]) if len(requirement.values) == 1 else None
    if left is None or right is None:
        return False
    return left > right if requirement.operator == "Gt" else left < right


INT64 = range(-(2**63), 2**63)
LONGEST_NUMBER = 4000
"""Python reads no longer ones; the API takes 63 characters."""


def integer(text: str) -> int | None:
    """An int64 in decimal, as Go reads one: leading zeros do not count, and what is out of range is none."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    if not (digits.isascii() and digits.isdigit()) or len(digits) > LONGEST_NUMBER:
        return None
    number = int(text)
    return number if number in INT64 else None


def decimal_integer(text: str) -> int | None:
    """The same for taints and tolerations, where only the plain form counts: no plus, no leading zero."""
    number = integer(text)
    return number if number is not None and str(number) == text else None
