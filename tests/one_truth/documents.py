"""Any document of a type: what an answer may look like, whoever made it."""

from datetime import datetime
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from msgspec import inspect

NAMES = (
    "",
    "train",
    "team-a/train",
    "a" * 60,
    "one two",
    " " * 60,
    "naïve",
    "x\ny",
    "b" * 30 + " " + "c" * 90,
)
MOMENTS = ("2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123456Z")
MOST = (9, 3)
"""In lists of the document itself, and in lists further in."""
PLAIN: dict[type[inspect.Type], SearchStrategy[Any]] = {
    inspect.StrType: st.sampled_from((*NAMES, *MOMENTS)),
    inspect.IntType: st.sampled_from((0, 1, 2, 7, 1000, 2_000_000_000)),
    inspect.FloatType: st.sampled_from((0.0, 0.5, 1.0, 86_400.0, 1e9)),
    inspect.BoolType: st.booleans(),
    inspect.NoneType: st.none(),
    inspect.DateTimeType: st.sampled_from(MOMENTS).map(datetime.fromisoformat),
    inspect.AnyType: st.sampled_from((None, 1, "some", ["one", "two"])),
}


def any_of(kind: type) -> SearchStrategy[Any]:
    """Lists are short and often empty: that is where tables go wrong."""
    return _of(inspect.type_info(kind), ())


def _of(info: inspect.Type, inside: tuple[type, ...]) -> SearchStrategy[Any]:
    if isinstance(info, inspect.LiteralType):
        return st.sampled_from(info.values)
    if isinstance(info, inspect.StructType):
        fields = {one.name: _of(one.type, (*inside, info.cls)) for one in info.fields}
        return st.builds(info.cls, **fields)
    if isinstance(info, inspect.UnionType):
        return st.one_of(*(_of(one, inside) for one in info.types))
    if isinstance(info, inspect.TupleType):
        return st.tuples(*(_of(one, inside) for one in info.item_types))
    if isinstance(info, inspect.DictType):
        return st.dictionaries(_of(info.key_type, inside), _of(info.value_type, inside), max_size=3)
    if not isinstance(info, inspect.VarTupleType):
        return PLAIN[type(info)]
    if isinstance(info.item_type, inspect.StructType) and info.item_type.cls in inside:
        return st.just(())
    return st.lists(_of(info.item_type, inside), max_size=MOST[len(inside) > 1]).map(tuple)
