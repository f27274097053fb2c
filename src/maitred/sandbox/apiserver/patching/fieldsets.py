"""Sets of fields, as nested dicts in the form that `fieldsV1` has on the wire.

A path of the set with no longer paths below it is an empty dict, and one with longer paths is marked with
`"."`. One that is only the way to longer paths is not marked. Sets are never changed once they are made, and
share what they have in common. What is said here of bodies and their types is what structured-merge-diff, the
library of the real server, says of them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from maitred.sandbox.apiserver.patching.steps import (
    FIELD,
    ITSELF,
    Nameless,
    canonical,
    item_step,
    rank,
)
from maitred.sandbox.apiserver.schema.types import Body, ListOf, MapOf, Relation, Scalar, Struct, Type

FieldSet: TypeAlias = dict[str, Any]
Path: TypeAlias = tuple[str, ...]

LEAF: Final[FieldSet] = {}
DEEPEST = 200
"""Steps that a set from outside may have in a row."""
GUESSED = Struct("guessed", preserves_unknown=True)
"""The type of what no schema describes: objects are owned field by field, all else as a whole."""


class Absent:
    """Unlike null, not even said."""


ABSENT: Final = Absent()


# -- sets --------------------------------------------------------------------------------------------------


def is_member(node: FieldSet) -> bool:
    return not node or ITSELF in node


def as_member(node: FieldSet | None) -> FieldSet:
    if not node or ITSELF in node:
        return node or LEAF
    return {ITSELF: LEAF, **node}


def inner(node: FieldSet) -> FieldSet:
    """Without the mark: the longer paths only."""
    return {step: below for step, below in node.items() if step != ITSELF} if ITSELF in node else node


def assembled(is_in: bool, below: FieldSet) -> FieldSet | None:
    """The node of a path that is in a set, or not, with longer paths, or none; None if there is nothing."""
    if is_in:
        return {ITSELF: LEAF, **below} if below else LEAF
    return below or None


def union(one: FieldSet, other: FieldSet) -> FieldSet:
    if not one or not other:
        return one or other
    result = dict(one)
    for step, below in other.items():
        mine = result.get(step)
        if mine is None:
            result[step] = below
        elif mine != below:
            is_in = is_member(mine) or is_member(below)
            result[step] = assembled(is_in, union(inner(mine), inner(below)))
    return result


def difference(one: FieldSet, other: FieldSet) -> FieldSet:
    """Each path by itself: what lies below one that goes away may stay."""
    return _reduced(one, other, whole=False)


def without(one: FieldSet, other: FieldSet) -> FieldSet:
    """A path that goes away takes with it all that is below."""
    return _reduced(one, other, whole=True)


def _reduced(one: FieldSet, other: FieldSet, *, whole: bool) -> FieldSet:
    if not other:
        return one
    result: FieldSet = {}
    for step, mine in one.items():
        theirs = other.get(step)
        if theirs is None:
            result[step] = mine
            continue
        if whole and is_member(theirs):
            continue
        below = _reduced(inner(mine), inner(theirs), whole=whole)
        left = assembled(is_member(mine) and not is_member(theirs), below)
        if left is not None:
            result[step] = left
    return result


def intersection(one: FieldSet, other: FieldSet) -> FieldSet:
    result: FieldSet = {}
    for step, mine in one.items():
        theirs = other.get(step)
        if theirs is not None:
            below = intersection(inner(mine), inner(theirs))
            common = assembled(is_member(mine) and is_member(theirs), below)
            if common is not None:
                result[step] = common
    return result


def paths(fields: FieldSet, begin: Path = ()) -> Iterator[Path]:
    """All of them, in the order in which the real server tells them: short ones first."""
    steps = sorted((step for step in fields if step != ITSELF), key=rank)
    for step in steps:
        if is_member(fields[step]):
            yield (*begin, step)
    for step in steps:
        yield from paths(fields[step], (*begin, step))


def ordered(fields: FieldSet) -> FieldSet:
    """The same set with its steps in the order of the wire."""
    steps = sorted(fields, key=rank) if len(fields) > 1 else fields
    return {step: ordered(below) if (below := fields[step]) else LEAF for step in steps} or LEAF


def parsed(fields: Any, depth: int = 0) -> FieldSet:
    """A set from outside. ValueError if it is none."""
    if fields is None:
        return LEAF
    if not isinstance(fields, dict) or depth > DEEPEST:
        raise ValueError("not a set of fields")
    result: FieldSet = {}
    for text, below in fields.items():
        step = text if text == ITSELF else canonical(text)
        if step == ITSELF:
            result[ITSELF] = LEAF
        elif step is not None:
            result[step] = parsed(below, depth + 1)
    # A mark that stands alone says no more than nothing does.
    return LEAF if result.keys() == {ITSELF} else result


# -- of bodies ---------------------------------------------------------------------------------------------


def is_whole(type: Type) -> bool:
    """Whether one owner has all of it."""
    if isinstance(type, ListOf):
        return type.relation is Relation.ATOMIC
    return isinstance(type, Scalar) or type.atomic


def type_within(type: Struct | MapOf, name: str) -> Type:
    if isinstance(type, MapOf):
        return type.value
    field = type.fields.get(name)
    return GUESSED if field is None else field.type


def is_named(type: Struct | MapOf, name: str) -> bool:
    """Whether the type itself knows the field, as opposed to a key that someone chose."""
    return isinstance(type, Struct) and name in type.fields


def fields_of(body: Body, type: Struct) -> FieldSet:
    """The fields that whoever applies this body owns."""
    return _applied(body, type) or LEAF


def _applied(value: Any, type: Type) -> FieldSet | None:
    if isinstance(type, Scalar) or is_whole(type):
        return LEAF
    if value is None:
        return None
    if isinstance(type, ListOf):
        if not isinstance(value, list):
            return LEAF
        nodes = {step: _applied_item(same, type) for step, same in _by_step(value, type).items()}
        return {step: as_member(node) for step, node in nodes.items()} or None
    if not isinstance(value, dict):
        return LEAF
    result: FieldSet = {}
    for name, inside in value.items():
        node = _applied(inside, type_within(type, name))
        if inside is None or inside == {} or not is_named(type, name):
            node = as_member(node)
        if node is not None:
            result[FIELD + name] = node
    return result or None


def _applied_item(same: list[Any], type: ListOf) -> FieldSet | None:
    return _applied(same[0], type.item) if len(same) == 1 else LEAF


def _by_step(items: list[Any], type: ListOf) -> dict[str, list[Any]]:
    """There should be one item for each step, but an update may bring more."""
    found = dict[str, list[Any]]()
    for item in items:
        try:
            found.setdefault(item_step(item, type), []).append(item)
        except Nameless:
            continue
    return found


@dataclass(slots=True)
class Changes:
    """What differs between two bodies: the fields that the new one adds, modifies and removes."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    def outside(self, fields: FieldSet) -> "Changes":
        """Without those fields and all that is in them."""
        return Changes(
            without(self.added, fields), without(self.modified, fields), without(self.removed, fields)
        )

    @property
    def touched(self) -> FieldSet:
        return union(self.modified, self.added)


def compare(old: Body, new: Body, type: Struct) -> Changes:
    added, modified, removed = NOTHING if old == new else _changes(old, new, type)
    return Changes(added or LEAF, modified or LEAF, removed or LEAF)


Nodes: TypeAlias = tuple[FieldSet | None, FieldSet | None, FieldSet | None]
"""Added, modified, removed."""
NOTHING: Final[Nodes] = (None, None, None)
MODIFIED: Final[Nodes] = (None, LEAF, None)


def _changes(old: Any, new: Any, type: Type) -> Nodes:
    """Of values that are not equal."""
    if old is ABSENT:
        return _everything(new, type), None, None
    if new is ABSENT:
        return None, None, _everything(old, type)
    if isinstance(type, Scalar) or is_whole(type) or not (old or new):
        return MODIFIED
    if isinstance(type, ListOf):
        return _item_changes(old or [], new or [], type)
    if not isinstance(old, dict | None) or not isinstance(new, dict | None):
        return MODIFIED
    return _field_changes(old or {}, new or {}, type)


def _field_changes(old: Body, new: Body, type: Struct | MapOf) -> Nodes:
    found = dict[str, Nodes]()
    for name, after in new.items():
        before = old.get(name, ABSENT)
        if before != after:
            found[FIELD + name] = _changes(before, after, type_within(type, name))
    for name in old.keys() - new.keys():
        found[FIELD + name] = _changes(old[name], ABSENT, type_within(type, name))
    return _below(found)


def _item_changes(old: list[Any], new: list[Any], type: ListOf) -> Nodes:
    before, after = _by_step(old, type), _by_step(new, type)
    return _below(
        {step: _step_changes(before.get(step, []), after.get(step, []), type.item) for step in before | after}
    )


def _step_changes(old: list[Any], new: list[Any], type: Type) -> Nodes:
    """Several items at one step are one thing: there is no saying which of them became which."""
    if old == new:
        return NOTHING
    if len(old) > 1 and len(new) > 1:
        return MODIFIED
    if len(old) > 1:
        return (_everything(new[0], type) if new else None), None, LEAF
    if len(new) > 1:
        return LEAF, None, (_everything(old[0], type) if old else None)
    return _changes(old[0] if old else ABSENT, new[0] if new else ABSENT, type)


def _below(found: dict[str, Nodes]) -> Nodes:
    """The changes of something by the changes of its parts."""
    added, modified, removed = (
        {step: node for step, nodes in found.items() if (node := nodes[which]) is not None}
        for which in range(3)
    )
    return added or None, modified or None, removed or None


def _everything(value: Any, type: Type) -> FieldSet:
    """A value that has come or gone, with every path in it."""
    if not value or isinstance(type, Scalar) or is_whole(type):
        return LEAF
    if isinstance(type, ListOf):
        items = _by_step(value, type).items()
        below = {step: _everything(same[0], type.item) if len(same) == 1 else LEAF for step, same in items}
    elif isinstance(value, dict):
        below = {FIELD + name: _everything(inside, type_within(type, name)) for name, inside in value.items()}
    else:
        return LEAF
    return {ITSELF: LEAF, **below}
