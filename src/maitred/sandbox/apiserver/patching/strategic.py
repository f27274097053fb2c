"""Strategic merge patch: a merge patch that knows which lists are sets and which are maps.

The patch may say more than values: `$patch` deletes or replaces, `$retainKeys` drops all other fields,
`$deleteFromPrimitiveList/x` takes items out of a list. What `$setElementOrder/x` says of the order of a list
goes unheard: items that are there keep their places, and new ones come last. A patch can go wrong in ways
that the real server answers with 500, and so does this one.
"""

from typing import Any

from maitred.sandbox.apiserver.refusals import bad_request, failed_patch
from maitred.sandbox.apiserver.schema.types import Body, Field, ListOf, Scalar, Struct, Type

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_ITEMS = "$deleteFromPrimitiveList/"
SET_ORDER = "$setElementOrder/"
Items = list[Any]


def strategic_merge_patch(body: Body, patch: Any, type: Struct) -> Body:
    """The patched body. Both the body and the patch are used up."""
    if not isinstance(patch, dict):
        raise bad_request("a strategic merge patch must be an object")
    return merge_object(body, patch, type)


def merge_object(original: Body, patch: Body, type: Type) -> Body:
    if DIRECTIVE in patch:
        return directed(patch)
    if RETAIN_KEYS in patch:
        retained = patch.pop(RETAIN_KEYS)
        if not isinstance(retained, list):
            raise bad_request("invalid patch format of retainKeys")
        for name in [name for name in original if name not in retained]:
            del original[name]
    for name, value in patch.items():
        if name.startswith(DELETE_ITEMS):
            delete_items(original, name.removeprefix(DELETE_ITEMS), value)
        elif not name.startswith(SET_ORDER):
            merge_field(original, name, value, type)
    return original


def directed(patch: Body) -> Body:
    if patch[DIRECTIVE] == "delete":
        return {}
    if patch[DIRECTIVE] == "replace":
        return {name: value for name, value in patch.items() if name != DIRECTIVE}
    raise failed_patch(f"unknown patch type: {patch[DIRECTIVE]}")


# -- fields ------------------------------------------------------------------------------------------------


def merge_field(original: Body, name: str, value: Any, type: Type) -> None:
    if value is None:
        original.pop(name, None)
        return
    old = original.get(name)
    if isinstance(old, dict) and isinstance(value, dict):
        field = field_of(type, name)
        original[name] = value if field.replaced else merge_object(old, value, field.type)
    elif isinstance(old, list) and isinstance(value, list):
        found = field_of(type, name).type
        # What can be anything has no items that a patch could tell apart.
        original[name] = merge_list(old, value, found if isinstance(found, ListOf) else ListOf(Scalar.ANY))
    elif is_directed(value):
        original.pop(name, None)
    else:
        original[name] = plain(value)


def delete_items(original: Body, name: str, gone: Any) -> None:
    old = original.get(name)
    if isinstance(old, list) and isinstance(gone, list):
        original[name] = [item for item in old if item not in gone]


def plain(value: Any) -> Any:
    """What a patch says about something that is not there yet: no directives, and null means absent."""
    if isinstance(value, dict):
        return {
            name: plain(inner)
            for name, inner in value.items()
            if inner is not None and not name.startswith("$") and not is_directed(inner)
        }
    if isinstance(value, list):
        return [plain(item) for item in value if not is_directed(item)]
    return value


def is_directed(value: Any) -> bool:
    return isinstance(value, dict) and DIRECTIVE in value


def field_of(type: Type, name: str) -> Field:
    found = type.fields.get(name) if isinstance(type, Struct) else None
    if found is None:
        raise failed_patch(f'unable to find api field for the json field "{name}"')
    return found


# -- lists -------------------------------------------------------------------------------------------------


def merge_list(original: Items, patch: Items, type: ListOf) -> Items:
    if not (type.merges or type.merge_key):
        return patch
    if type.merge_key:
        return merge_items(original, patch, type)
    return [*original, *(item for item in patch if item not in original)]


def merge_items(original: Items, patch: Items, type: ListOf) -> Items:
    """Lists of objects: those with the same key are the same object."""
    key = type.merge_key
    if any(is_directed(item) and item[DIRECTIVE] == "replace" for item in patch):
        return [item for item in patch if not is_directed(item)]
    merged = {key_of(item, key): item for item in original}
    for item in patch:
        wanted = key_of(item, key)
        if is_directed(item):
            directed(item)
            merged.pop(wanted, None)
        else:
            merged[wanted] = merge_object(merged[wanted], item, type.item) if wanted in merged else item
    return list(merged.values())


def key_of(item: Any, key: str) -> Any:
    found = item.get(key) if isinstance(item, dict) else None
    if found is None or isinstance(found, dict | list):
        raise failed_patch(f"an item of a list does not contain declared merge key: {key}")
    return found
