"""Whether something can be applied at all: it must fit its type before anything is converted or defaulted."""

from collections.abc import Iterator
from typing import Any

import msgspec

from maitred.sandbox.apiserver.patching.elementorder import go_text, go_type
from maitred.sandbox.apiserver.patching.errors import failed
from maitred.sandbox.apiserver.patching.fieldsets import GUESSED, is_named, type_within
from maitred.sandbox.apiserver.patching.steps import FIELD, Nameless, item_step, shown
from maitred.sandbox.apiserver.schema.types import Body, ListOf, MapOf, Relation, Scalar, Struct, Type

_TEXTS = (Scalar.STRING, Scalar.BYTES)
_NUMBERS = (Scalar.INT32, Scalar.INT64, Scalar.NUMBER)


def check_applicable(applied: Body, type: Struct, title: str) -> None:
    """`title` says what is applied, as the real server does."""
    found = list(misfits(applied, type))
    if found:
        words = found[0] if len(found) == 1 else "\n  ".join(["errors:", *found])
        raise failed(f"failed to create typed patch object ({title}): {words}")


def misfits(value: Any, type: Type, path: str = "") -> Iterator[str]:
    """What does not fit, each with its path."""
    if value is None or type is Scalar.ANY or type is GUESSED:
        return
    if isinstance(type, Scalar):
        if problem := scalar_problem(value, type):
            yield f"{path}: {problem}"
    elif isinstance(type, ListOf):
        if isinstance(value, list):
            yield from item_misfits(value, type, path)
        else:
            yield f"{path}: expected list, got &{{{go_text(value)}}}"
    elif isinstance(value, dict):
        yield from field_misfits(value, type, path)
    else:
        yield f"{path}: expected map, got &{{{go_text(value)}}}"


def scalar_problem(value: Any, type: Scalar) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if type in _TEXTS:
        return "" if isinstance(value, str) else f"expected string, got {go_syntax(value)}"
    if type in _NUMBERS:
        return "" if is_number else f"expected numeric (int or float), got {go_type(value)}"
    if type is Scalar.BOOL:
        return "" if isinstance(value, bool) else f"expected boolean, got &{{{go_text(value)}}}"
    return f"expected any scalar, got &{{{go_text(value)}}}" if isinstance(value, dict | list) else ""


def go_syntax(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    if isinstance(value, dict | list):
        text = f"{go_type(value)}{{{text[1:-1]}}}"
    return f"&value.valueUnstructured{{Value:{text}}}"


def field_misfits(value: Body, type: Struct | MapOf, path: str) -> Iterator[str]:
    for name, inside in value.items():
        if isinstance(type, Struct) and not type.preserves_unknown and not is_named(type, name):
            yield f"{path}.{name}: field not declared in schema"
            # The real server looks no further in this object either.
            return
        yield from misfits(inside, type_within(type, name), path + shown(FIELD + name))


def item_misfits(items: list[Any], type: ListOf, path: str) -> Iterator[str]:
    seen = set[str]()
    for index, item in enumerate(items):
        if type.relation is Relation.ATOMIC:
            yield from misfits(item, type.item, f"{path}[{index}]")
            continue
        try:
            step = item_step(item, type)
        except Nameless as nameless:
            yield f"{path}: element {index}: {nameless}"
            return
        if step in seen:
            yield f"{path}: duplicate entries for key {shown(step)}"
        seen.add(step)
        yield from misfits(item, type.item, path + shown(step))
