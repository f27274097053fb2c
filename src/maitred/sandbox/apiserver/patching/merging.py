"""Bodies and what is applied to them: merged, and with fields taken out, as their type says."""

from collections import Counter
from typing import Any

from maitred.sandbox.apiserver.patching.fieldsets import (
    ABSENT,
    FieldSet,
    assembled,
    inner,
    is_member,
    is_named,
    is_whole,
    type_within,
)
from maitred.sandbox.apiserver.patching.steps import FIELD, ITSELF, item_step
from maitred.sandbox.apiserver.schema.types import Body, ListOf, MapOf, Scalar, Struct, Type


def merged(live: Body, applied: Body, type: Struct) -> Body:
    """The live body with what is applied. It shares values with both."""
    result: Body = _merged(live, applied, type)
    return result


def _merged(live: Any, applied: Any, type: Type) -> Any:
    if live is ABSENT or applied is ABSENT:
        return live if applied is ABSENT else applied
    if isinstance(type, Scalar) or is_whole(type) or not (live or applied):
        return applied
    if isinstance(type, ListOf):
        fits = isinstance(live, list | None) and isinstance(applied, list | None)
        return _merged_items(live or [], applied or [], type) if fits else applied
    if not isinstance(live, dict | None) or not isinstance(applied, dict | None):
        return applied
    live, applied = live or {}, applied or {}
    return {
        name: _merged(live.get(name, ABSENT), applied.get(name, ABSENT), type_within(type, name))
        for name in live | applied
    }


def _merged_items(live: list[Any], applied: list[Any], type: ListOf) -> list[Any]:
    """In the order in which they are applied. The others stay behind the items that they were behind."""
    before = [item_step(item, type) for item in live]
    after = {item_step(item, type): item for item in applied}
    counts = Counter(before)
    # Of several items at one step there is no telling which is meant: what is applied replaces them all.
    known = {step: item if counts[step] == 1 else ABSENT for step, item in zip(before, live, strict=True)}
    shared = iter([step for step in after if step in known])
    wanted, place = next(shared, None), 0
    result = []
    for step, item in after.items():
        while place < len(live) and before[place] != wanted:
            if before[place] not in after:
                result.append(live[place])
            place += 1
        result.append(_merged(known.get(step, ABSENT), item, type.item))
        if step == wanted:
            wanted, place = next(shared, None), place + 1
    return result + [
        item for step, item in zip(before[place:], live[place:], strict=True) if step not in after
    ]


def taken_out(body: Body, fields: FieldSet, type: Struct) -> Body:
    """The body without these fields. What is left empty by it becomes null."""
    return _taken_out(body, fields, type) or {}


def _taken_out(value: Any, fields: FieldSet, type: Type) -> Any:
    if isinstance(type, Scalar):
        return value
    if is_whole(type) or not value:
        return None
    if isinstance(type, ListOf):
        items = ((fields.get(item_step(item, type)), item) for item in value)
        return [
            _left_of(item, node, type.item) for node, item in items if node is None or not is_member(node)
        ] or None
    if not isinstance(value, dict):
        return value
    return {
        name: _left_of(inside, node, type_within(type, name))
        for name, inside in value.items()
        if (node := fields.get(FIELD + name)) is None or not is_member(node)
    } or None


def _left_of(value: Any, node: FieldSet | None, type: Type) -> Any:
    return value if node is None else _taken_out(value, node, type)


def with_named(fields: FieldSet, type: Type) -> FieldSet:
    """The set with all fields of structs on the way to its paths.

    No one applies a field such as `spec` by itself, but whoever has applied all that is in it has brought it,
    and it goes with the last of them.
    """
    result: FieldSet = {}
    for step, node in fields.items():
        name = step[len(FIELD) :]
        if step == ITSELF:
            continue
        if step.startswith(FIELD) and isinstance(type, Struct | MapOf):
            below = with_named(inner(node), type_within(type, name))
            is_in = is_member(node) or is_named(type, name)
        else:
            below = with_named(inner(node), type.item) if isinstance(type, ListOf) else inner(node)
            is_in = is_member(node)
        found = assembled(is_in, below)
        if found is not None:
            result[step] = found
    return result
