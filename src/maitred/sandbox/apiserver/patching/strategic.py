"""Strategic merge patch: a merge patch that knows which lists are sets and which are maps.

The patch may say more than values: `$patch` deletes or replaces, `$retainKeys` drops all other fields,
`$deleteFromPrimitiveList/x` takes items out of a list, `$setElementOrder/x` says how its items follow each
other. A patch can go wrong in ways that the real server answers with 500, and so does this one.
"""

from collections import deque
from typing import Any

from maitred.sandbox.apiserver.patching import elementorder
from maitred.sandbox.apiserver.patching.elementorder import go_text, go_type, key_of
from maitred.sandbox.apiserver.patching.errors import failed, json_name, malformed, rejected
from maitred.sandbox.apiserver.schema.types import Body, Field, ListOf, Scalar, Struct, Type

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_ITEMS = "$deleteFromPrimitiveList"
SET_ORDER = "$setElementOrder"
Items = list[Any]


def strategic_merge_patch(body: Body, patch: Any, type: Struct) -> Body:
    """The patched body. Both the body and the patch are used up."""
    if patch is None:
        return body
    if not isinstance(patch, dict):
        raise malformed(
            f"json: cannot unmarshal {json_name(patch)} into Go value of type map[string]interface {{}}"
        )
    return merge_object(body, patch, type)


def merge_object(original: Body, patch: Body, type: Type) -> Body:
    if DIRECTIVE in patch:
        return directed(patch)
    if RETAIN_KEYS in patch:
        retain_keys(original, patch)
    for name in [name for name in patch if name.startswith(SET_ORDER)]:
        merge_ordered(original, patch, name, type)
    for name, value in patch.items():
        if name.startswith(DELETE_ITEMS):
            delete_items(original, list_named(name, DELETE_ITEMS), value, type)
        else:
            merge_field(original, name, value, type)
    return original


def directed(patch: Body) -> Body:
    directive = patch[DIRECTIVE]
    if directive == "delete":
        return {}
    if directive == "replace":
        return {name: value for name, value in patch.items() if name != DIRECTIVE}
    raise failed(f"unknown patch type: {go_text(directive)} in map: {go_text(patch)}")


def retain_keys(original: Body, patch: Body) -> None:
    retained = patch.pop(RETAIN_KEYS)
    if not isinstance(retained, list):
        raise malformed("invalid patch format of retainKeys")
    for name, value in patch.items():
        is_named = name in retained or name.startswith((DELETE_ITEMS, SET_ORDER))
        if value is not None and not is_named:
            raise malformed("invalid patch format of retainKeys")
    for name in [name for name in original if name not in retained]:
        del original[name]


def list_named(name: str, directive: str) -> str:
    """The list that a parallel list such as `$setElementOrder/containers` is about."""
    begin, slash, rest = name.partition("/")
    if not slash or begin != directive:
        what = "setElementOrder" if directive == SET_ORDER else "primitive"
        raise malformed(f"invalid patch format of {what} list")
    return rest


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
        original[name] = merge_list(old, value, list_type(type, name))
    elif is_directed(value):
        original.pop(name, None)
    else:
        original[name] = plain(value)


def delete_items(original: Body, name: str, gone: Any, type: Type) -> None:
    if gone is None:
        original.pop(name, None)
        return
    old = original.get(name)
    if not isinstance(old, list) or not isinstance(gone, list):
        return
    found = list_type(type, name)
    if old and item_kind(old, gone) is dict:
        original[name] = merge_items(old, gone, found)
    else:
        original[name] = [item for item in old if item not in gone]


def plain(value: Any) -> Any:
    """What a patch says about something that is not there yet: no directives, and null means absent."""
    if isinstance(value, dict):
        return {
            name: plain(inner)
            for name, inner in value.items()
            if inner is not None and not is_directed(inner)
        }
    if isinstance(value, list):
        return [plain(item) for item in value if not is_directed(item)]
    return value


def is_directed(value: Any) -> bool:
    return isinstance(value, dict) and DIRECTIVE in value


def field_of(type: Type, name: str) -> Field:
    if not isinstance(type, Struct):
        raise failed("merging an object in json but data type is not struct, instead is: map")
    found = type.fields.get(name)
    if found is None:
        raise failed(f'unable to find api field in struct {short_name(type)} for the json field "{name}"')
    return found


def list_type(type: Type, name: str) -> ListOf:
    found = field_of(type, name).type
    # What can be anything has no items that a patch could tell apart.
    return found if isinstance(found, ListOf) else ListOf(Scalar.ANY)


def short_name(type: Struct) -> str:
    return type.name.rpartition(".")[2]


# -- lists -------------------------------------------------------------------------------------------------


def merge_list(original: Items, patch: Items, type: ListOf) -> Items:
    if not merges(type):
        return patch
    if not original and not patch:
        return original
    if item_kind(original, patch) is dict:
        return merge_items(original, patch, type)
    both = list(dict.fromkeys([*original, *patch]))
    return elementorder.arranged(both, patch, original, key="")


def merges(type: ListOf) -> bool:
    return type.merges or bool(type.merge_key)


def item_kind(*lists: Items) -> type:
    """What the items are. They must all be of one kind, and no lists."""
    items = [item for items in lists for item in items]
    if not items:
        raise failed("no elements in any of the given slices")
    if isinstance(items[0], list):
        raise rejected()
    if len({go_type(item) for item in items}) > 1:
        raise failed(f"list element types are not identical: {go_text(list(lists))}")
    return dict if isinstance(items[0], dict) else object


def merge_items(original: Items, patch: Items, type: ListOf) -> Items:
    """Lists of objects: those with the same key are the same object."""
    key = type.merge_key
    if not key:
        raise failed("cannot merge lists without merge key for struct")
    original, patch = follow_directives(original, patch, key)
    merged = list(original)
    for item in patch:
        wanted = key_of(item, key)
        index = next((i for i, old in enumerate(merged) if old.get(key) == wanted), None)
        if index is None:
            merged.append(item)
        else:
            merged[index] = merge_object(merged[index], item, type.item)
    return elementorder.arranged(merged, patch, original, key)


def follow_directives(original: Items, patch: Items, key: str) -> tuple[Items, Items]:
    """What the directives among the items leave of the list, and the other items of the patch."""
    is_replaced = False
    for item in filter(is_directed, patch):
        directive = item[DIRECTIVE]
        if directive == "delete":
            wanted = key_of(item, key)
            original = [old for old in original if old.get(key) != wanted]
        elif directive == "replace":
            is_replaced = True
        elif directive == "merge":
            raise failed("merging lists cannot yet be specified in the patch")
        else:
            raise failed(f"unknown patch type: {go_text(directive)} in map: {go_text(item)}")
    rest = [item for item in patch if not is_directed(item)]
    return (rest, []) if is_replaced else (original, rest)


def merge_ordered(original: Body, patch: Body, directive: str, type: Type) -> None:
    """A list whose order the patch sets. It is done with then, also where it is in the patch itself."""
    order = patch.pop(directive)
    name = list_named(directive, SET_ORDER)
    old, new = original.get(name), patch.get(name)
    for items in (order, [] if old is None else old, [] if new is None else new):
        if not isinstance(items, list):
            raise failed(f"expected a []interface {{}}, but received a {go_type(items)}")
    found = list_type(type, name)
    check_order(new or [], order, found.merge_key)
    if old is None and new is None:
        return
    merged = plain(new) if old is None else old
    if old is not None and new is not None:
        merged = merge_list(old, new, found)
    item_kind(old or [], new or [])
    original[name] = elementorder.arranged(merged, order, old or [], found.merge_key)
    patch.pop(name, None)


def check_order(patch: Items, order: Items, key: str) -> None:
    """All items of the patch must be in the order, and follow each other in the same way."""
    if not order:
        return
    waiting = deque(item for item in patch if not (is_directed(item) and item[DIRECTIVE] == "delete"))
    for wanted in order:
        while waiting and is_directed(waiting[0]):
            waiting.popleft()
        if waiting and key_of(waiting[0], key) == key_of(wanted, key):
            waiting.popleft()
    if waiting:
        raise failed(
            f"The order in patch list:\n{go_text(patch)}\n"
            f" doesn't match {SET_ORDER} list:\n{go_text(order)}\n"
        )
