"""Rules of a type as data: what each field may be, and how it may change.

The scheduling API states nearly all of its rules in this way. The order of fields is the order of the errors.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from maitred.sandbox.apiserver.kinds.fielderrors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    required,
    too_many,
    unsupported,
)
from maitred.sandbox.apiserver.kinds.metadata import IMMUTABLE
from maitred.sandbox.apiserver.schema.types import Body

Check = Callable[[str, Any], list[FieldError]]
"""Of a value that is there, by its path."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What holds for one field. All but `checks` and `shape` hide the errors within it."""

    checks: tuple[Check, ...] = ()
    shape: "Shape | None" = None
    """Of the value, or of each item of a list."""
    is_required: bool = False
    is_immutable: bool = False
    is_fixed: bool = False
    """An update may change it, but neither set nor clear it."""
    limit: int | None = None
    """How many items a list may have."""
    key: str = ""
    """Of a list: the field by which its items are told apart."""
    has_fixed_items: bool = False
    """An update may change items, but neither add nor remove them."""


@dataclass(frozen=True, slots=True)
class Shape:
    fields: dict[str, Rule] = field(default_factory=dict)
    union: tuple[str, ...] = ()
    """Exactly one of these fields must be there."""


def violations(shape: Shape, path: str, new: Body, old: Body | None = None) -> list[FieldError]:
    """`old` is what an update changes; there is none for what is new."""
    errors = check_union(shape.union, path, new, old)
    for name, rule in shape.fields.items():
        before = None if old is None else old.get(name)
        if old is None or new.get(name) != before:
            errors += check_field(rule, f"{path}.{name}", new.get(name), before, is_update=old is not None)
    return errors


def check_union(members: tuple[str, ...], path: str, new: Body, old: Body | None) -> list[FieldError]:
    given = [name for name in members if not is_absent(new.get(name))]
    if len(given) == 1 or not members:
        return []
    if old is not None and given == [name for name in members if not is_absent(old.get(name))]:
        return []
    known = ", ".join(f"`{name}`" for name in members)
    if given:
        return [invalid(path, f"{{{', '.join(given)}}}", f"must specify exactly one of: {known}")]
    return [invalid(path, "", f"must specify one of: {known}")]


def check_field(rule: Rule, path: str, new: Any, old: Any, *, is_update: bool) -> list[FieldError]:
    errors = list(hiding_errors(rule, path, new, old, is_update=is_update))
    if errors or is_absent(new):
        return errors
    if isinstance(new, list):
        return check_items(rule, path, new, old or [])
    errors = [error for check in rule.checks for error in check(path, new)]
    return errors + (violations(rule.shape, path, new, old) if rule.shape else [])


def hiding_errors(rule: Rule, path: str, new: Any, old: Any, *, is_update: bool) -> Iterator[FieldError]:
    if is_update and rule.is_immutable:
        yield invalid(path, None, IMMUTABLE)
    if rule.limit is not None and len(new or ()) > rule.limit:
        yield too_many(path, len(new), rule.limit)
    # What must be there and has no value shows as an empty one.
    if rule.is_required and (is_absent(new) or new in ("", 0)):
        yield required(path)
    if is_update and rule.is_fixed and is_absent(new) != is_absent(old):
        how = "cleared once set" if is_absent(new) else "set once created"
        yield invalid(path, None, f"field cannot be {how}")
    if is_update and rule.has_fixed_items:
        yield from changed_items(rule.key, path, new or [], old or [])


def changed_items(key: str, path: str, new: list[Body], old: list[Body]) -> Iterator[FieldError]:
    before, after = {item.get(key) for item in old}, {item.get(key) for item in new}
    for index, item in enumerate(new):
        if item.get(key) not in before:
            yield forbidden(f"{path}[{index}]", "item may not be added")
    for item in old:
        if item.get(key) not in after:
            yield forbidden(path, "item may not be removed")


def check_items(rule: Rule, path: str, new: list[Body], old: list[Body]) -> list[FieldError]:
    errors = list(repeated_items(rule.key, path, new)) if rule.key else []
    before = {item.get(rule.key): item for item in reversed(old)} if rule.key else {}
    for index, item in enumerate(new):
        same = before.get(item.get(rule.key))
        if rule.shape is not None and item != same:
            errors += violations(rule.shape, f"{path}[{index}]", item, same)
    return errors


def repeated_items(key: str, path: str, items: list[Body]) -> Iterator[FieldError]:
    seen = set[Any]()
    for index, item in enumerate(items):
        if item.get(key) in seen:
            yield duplicate(f"{path}[{index}]", item)
        seen.add(item.get(key))


def is_absent(value: Any) -> bool:
    """An empty object is there: `basic: {}` says something."""
    return value is None or value == []


# -- checks ------------------------------------------------------------------------------------------------


def format_of(rule: Callable[[str], list[str]]) -> Check:
    def check(path: str, value: Any) -> list[FieldError]:
        return [invalid(path, value, message) for message in rule(value)]

    return check


def at_least(least: int) -> Check:
    def check(path: str, value: Any) -> list[FieldError]:
        return [] if value >= least else [invalid(path, value, f"must be greater than or equal to {least}")]

    return check


def at_most(most: int) -> Check:
    def check(path: str, value: Any) -> list[FieldError]:
        return [] if value <= most else [invalid(path, value, f"must be less than or equal to {most}")]

    return check


def one_of(*known: str) -> Check:
    def check(path: str, value: Any) -> list[FieldError]:
        return [] if value in known else [unsupported(path, value, known)]

    return check
