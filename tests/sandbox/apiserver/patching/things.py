"""A small kind that has all that types can have, and bodies of it for property tests."""

from typing import Any

from hypothesis import strategies as st

from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.patching.fieldsets import FieldSet, union
from maitred.sandbox.apiserver.patching.steps import FIELD
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.types import Body, Field, ListOf, MapOf, Relation, Scalar, Struct
from tests.sandbox.apiserver.patching.playground import thing

PART = Struct(
    "Part",
    {
        "name": Field(Scalar.STRING, required=True, kept=True),
        "size": Field(Scalar.INT32, explicit=True),
        "colours": Field(ListOf(Scalar.STRING, Relation.SET)),
    },
)
SPEC = Struct(
    "ThingSpec",
    {
        "count": Field(Scalar.INT32, explicit=True),
        "parts": Field(ListOf(PART, Relation.MAP, ("name",), merge_key="name", merges=True)),
        "rules": Field(ListOf(Scalar.STRING)),
        "wishes": Field(MapOf(Scalar.STRING)),
    },
)
TYPE = Struct(
    "Thing",
    {
        "apiVersion": Field(Scalar.STRING),
        "kind": Field(Scalar.STRING),
        "metadata": Field(struct("meta.v1.ObjectMeta"), kept=True),
        "spec": Field(SPEC, kept=True),
    },
)
THING = Kind("example.com", "v1", "Thing", "things", TYPE)

names = st.sampled_from("abc")
words = st.sampled_from(["x", "y"])
colours = st.lists(names, min_size=1, unique=True)


def some_of(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Body]:
    return st.fixed_dictionaries({}, optional=fields)


def parts_named(which: st.SearchStrategy[str]) -> st.SearchStrategy[list[Body]]:
    details = some_of({"size": st.integers(1, 2), "colours": colours})
    return st.dictionaries(which, details, min_size=1).map(
        lambda found: [{"name": name, **rest} for name, rest in found.items()]
    )


def bodies_with(specs: st.SearchStrategy[Body]) -> st.SearchStrategy[Body]:
    return specs.map(lambda spec: thing(THING, spec=spec))


specs = some_of(
    {
        "count": st.integers(1, 2),
        "parts": parts_named(names),
        "rules": st.lists(words, min_size=1, max_size=2),
        "wishes": st.dictionaries(names, words, min_size=1),
    }
)
bodies = bodies_with(specs)
left_bodies = bodies_with(
    some_of(
        {
            "count": st.integers(1, 2),
            "parts": parts_named(st.sampled_from("ab")),
            "wishes": st.dictionaries(st.sampled_from("ab"), words, min_size=1),
        }
    )
)
right_bodies = bodies_with(
    some_of(
        {
            "rules": st.lists(words, min_size=1, max_size=2),
            "parts": parts_named(st.sampled_from("cd")),
            "wishes": st.dictionaries(st.sampled_from("cd"), words, min_size=1),
        }
    )
)
"""Nothing that one of them says is about what the other says."""

some_paths = st.frozensets(st.lists(names, min_size=1, max_size=4).map(tuple), max_size=8)


def field_set(paths: frozenset[tuple[str, ...]]) -> FieldSet:
    """The set that has these paths."""
    result: FieldSet = {}
    for path in paths:
        single: FieldSet = {}
        for name in reversed(path):
            single = {FIELD + name: single}
        result = union(result, single)
    return result


def unordered(body: Body) -> Body:
    """With the items of its parts by name, for comparisons in which their order does not count."""
    spec = dict(body["spec"])
    if "parts" in spec:
        spec["parts"] = sorted(spec["parts"], key=lambda part: str(part["name"]))
    return {**body, "spec": spec}
