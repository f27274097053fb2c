"""The order of a list after a strategic merge patch, and how Go would print what is wrong with it."""

from typing import Any

from maitred.sandbox.apiserver.patching.errors import failed

Items = list[Any]


def arranged(items: Items, asked: Items, before: Items, key: str) -> Items:
    """Items that the patch names follow each other as it asks. The others keep their place among them."""
    wanted, was = positions(asked, key), positions(before, key)
    ours = [item for item in items if key_of(item, key) in wanted]
    others = [item for item in items if key_of(item, key) not in wanted]
    ours.sort(key=lambda item: wanted[key_of(item, key)])
    others.sort(key=lambda item: was.get(key_of(item, key), len(was)))
    return interleaved(others, ours, was, key)


def interleaved(others: Items, ours: Items, was: dict[Any, int], key: str) -> Items:
    """Each of the others comes before the first of ours that it was before."""
    result, waiting = Items(), iter(others)
    other = next(waiting, None)
    for item in ours:
        place = was.get(key_of(item, key))
        while other is not None and place is not None and was.get(key_of(other, key), place) < place:
            result.append(other)
            other = next(waiting, None)
        result.append(item)
    return [*result, *([] if other is None else [other]), *waiting]


def positions(items: Items, key: str) -> dict[Any, int]:
    """Where each is, the first of those with the same key."""
    found = dict[Any, int]()
    for index, item in enumerate(items):
        found.setdefault(key_of(item, key), index)
    return found


def key_of(item: Any, key: str) -> Any:
    """What tells an item apart: the value of its key, or itself where there is none."""
    if key and not isinstance(item, dict):
        raise failed(f"expected a map[string]interface {{}}, but received a {go_type(item)}")
    if key and key not in item:
        raise failed(f"map: {go_text(item)} does not contain declared merge key: {key}")
    found = item[key] if key else item
    if isinstance(found, dict | list):
        raise failed(f"expected a string, but received a {go_type(found)}")
    return found


def go_type(value: Any) -> str:
    if isinstance(value, dict):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]interface {}"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        return "int64"
    if isinstance(value, float):
        return "float64"
    return "%!s(<nil>)" if value is None else "string"


def go_text(value: Any) -> str:
    if isinstance(value, dict):
        return f"map[{' '.join(f'{name}:{go_text(value[name])}' for name in sorted(value))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_text, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return "<nil>" if value is None else str(value)
