"""The notation in which the catalogue writes the type of a field.

    string, int32, bool, quantity, time, …      a scalar
    Container, core.v1.PodTemplateSpec          a struct, of another group with its name
    list of string                              a list that is owned as a whole
    list of ResourceClaim by name               a list whose items have a key, or more: `port+protocol`
    set of string                               a list whose items are their own keys
    map of quantity                             an object with any keys
    map of list of string                       an object whose values are lists

In front of it is the number of the field in protobuf. A second one behind a dot, such as in `2.4`, is of a
field within a message there, which in JSON is on the same level as others.

Behind it come, in this order, the marks that it needs:

    ?                 an empty value that is given stays; a struct without this mark is always on the wire
    merged            a strategic merge patch merges the list, by its first key
    retaining keys    a strategic merge patch says which keys of it stay
    replaced          a strategic merge patch replaces it
    unique            no two items of the list have the same keys
    as label          a text, or each of a list of texts, has the form of a label; a map has that of `labels`
    one of A|B        a text, or each of a list of texts, is one of these
    1..8              a number is within these bounds, a text has so many characters, a list so many items
    either            exactly one of the fields with this mark is given
    immutable         an update cannot change it
    lasting           an update can neither set nor clear it, nor add or remove items of a list
    required          it must be given; like `kept`, it is on the wire also when it is empty
    listed            the description of the API calls it required, though it may be empty; `kept` too
    kept              it is on the wire also when it is empty
    = Always          what it is where it is not given

Behind the number, `atomic` makes one owner of a whole map, or of a list though it is merged, and `granular`
many owners of a struct that has one elsewhere.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec

from maitred.sandbox.apiserver.schema.types import (
    UNSET,
    Field,
    ListOf,
    MapOf,
    Relation,
    Scalar,
    Struct,
    Type,
)

UNBOUNDED = 2**63 - 1
_SCALARS: dict[str, Type] = {scalar.value: scalar for scalar in Scalar}
_EXPRESSION = re.compile(
    r"((?P<number>\d+(\.\d+)*) )?"
    r"((?P<manner>atomic|granular) )?"
    r"((?P<shape>list|set|map) of )?"
    r"(?P<lists>list of )?"
    r"(?P<name>[\w.]+)"
    r"(?P<explicit>\?)?"
    r"(?P<merged> merged)?"
    r"( by (?P<keys>\w+(\+\w+)*))?"
    r"(?P<retaining> retaining keys)?"
    r"(?P<replaced> replaced)?"
    r"(?P<unique> unique)?"
    r"( as (?P<form>\w+))?"
    r"( one of (?P<choices>\S+))?"
    r"( (?P<least>\d*)\.\.(?P<most>\d*))?"
    r"(?P<either> either)?"
    r"( (?P<stable>immutable|lasting))?"
    r"( (?P<stays>required|listed|kept))?"
    r"( =( (?P<default>.+))?)?"
)


def parse(expression: str, struct: Callable[[str], Struct]) -> Field:
    """`struct` gives the struct of a name, which need not have its fields yet."""
    match = _EXPRESSION.fullmatch(expression)
    if match is None:
        raise ValueError(f"{expression!r} is not the type of a field; see the notation of the catalogue")
    name = match["name"]
    item = _SCALARS.get(name) or struct(name)
    type = _shaped(match, ListOf(item) if match["lists"] else item)
    return Field(
        type,
        number=tuple(map(int, match["number"].split("."))) if match["number"] else (),
        default=_default(match, type),
        required=match["stays"] == "required",
        listed=match["stays"] in ("required", "listed"),
        kept=bool(match["stays"]) or (isinstance(type, Struct) and not match["explicit"]),
        explicit=bool(match["explicit"]),
        replaced=bool(match["replaced"]),
        retains_keys=bool(match["retaining"]),
        unique=bool(match["unique"]),
        form=match["form"] or "",
        choices=tuple(match["choices"].split("|")) if match["choices"] else (),
        bounds=_bounds(match["least"], match["most"]),
        either=bool(match["either"]),
        immutable=match["stable"] == "immutable",
        lasting=match["stable"] == "lasting",
    )


def _bounds(least: str | None, most: str | None) -> tuple[int, int] | None:
    if least is None and most is None:
        return None
    return int(least) if least else -UNBOUNDED, int(most) if most else UNBOUNDED


def _shaped(match: re.Match[str], item: Type) -> Type:
    shape, atomic = match["shape"], match["manner"] == "atomic"
    if shape is None:
        if isinstance(item, Struct) and match["manner"] == "granular":
            return replace(item, atomic=False, granular=True)
        return item
    if shape == "map":
        return MapOf(item, atomic)
    keys = tuple(match["keys"].split("+")) if match["keys"] else ()
    merged = bool(match["merged"])
    merge_key = keys[0] if merged and keys else ""
    if shape == "set":
        return ListOf(item, Relation.SET, merges=merged)
    if keys and not atomic:
        return ListOf(item, Relation.MAP, keys, merge_key, merged)
    return ListOf(item, Relation.ATOMIC, merge_key=merge_key, merges=merged)


def _default(match: re.Match[str], type: Type) -> Any:
    text = match["default"]
    if text is None:
        return "" if match[0].endswith(" =") else UNSET
    return text if type is Scalar.STRING else msgspec.json.decode(text)
