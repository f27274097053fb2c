"""What becomes of a body that comes in, by rules that hold for every kind."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.model.quantity import parse_nano
from maitred.sandbox.apiserver.schema.conform import conform
from maitred.sandbox.apiserver.schema.defaults import fill
from maitred.sandbox.apiserver.schema.notation import parse
from maitred.sandbox.apiserver.schema.quantities import QuantityError, canonical, rounded
from maitred.sandbox.apiserver.schema.scalars import Misfit
from maitred.sandbox.apiserver.schema.times import TimeError, canonical_micro_time, canonical_time
from maitred.sandbox.apiserver.schema.types import Body, Struct
from tests.sandbox.apiserver.kinds.asking import cases, kind_of


def type_of(**fields: str) -> Struct:
    inner = Struct("t.v1.Inner")
    inner.fields.update({"a": parse("string", no_struct), "b": parse("int32 kept", no_struct)})
    outer = Struct("t.v1.Outer")
    known = {"Inner": inner, "Outer": outer}
    outer.fields.update({name: parse(text, known.__getitem__) for name, text in fields.items()})
    return outer


def no_struct(name: str) -> Struct:
    raise KeyError(name)


def conformed(body: Body, **fields: str) -> Body:
    assert conform(body, type_of(**fields)) == []
    return body


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("string", ""),
        ("int32", 0),
        ("bool", False),
        ("list of string", []),
        ("map of string", {}),
        ("Inner?", None),
        ("int32?", None),
        ("time", None),
        ("any?", None),
    ],
)
def test_what_is_empty_is_left_out(type: str, value: Any) -> None:
    assert conformed({"x": value}, x=type) == {}


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("string?", ""),
        ("int32?", 0),
        ("bool?", False),
        ("Inner?", {"b": 0}),
        ("any?", {}),
        ("list of string?", []),
    ],
)
def test_what_is_empty_stays_where_that_is_not_the_same_as_nothing(type: str, value: Any) -> None:
    assert conformed({"x": value}, x=type) == {"x": value}


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("string kept", ""),
        ("int64 required", 0),
        ("bool kept", False),
        ("quantity kept", "0"),
        ("intOrString kept", 0),
        ("time kept", None),
        ("list of string kept", None),
        ("map of string required", None),
        ("string? kept", None),
        ("Inner", {"b": 0}),
        ("Inner? kept", None),
    ],
)
def test_what_is_kept_is_there_in_any_case(type: str, value: Any) -> None:
    assert conformed({}, x=type) == {"x": value}
    assert conformed({"x": None}, x=type) == {"x": value}


def test_kept_structs_are_not_shared() -> None:
    type = type_of(x="Inner")
    first: Body = {}
    second: Body = {}
    conform(first, type)
    conform(second, type)
    first["x"]["a"] = "changed"
    assert second == {"x": {"b": 0}}


def test_a_list_without_items_is_null_where_it_is_kept() -> None:
    assert conformed({"x": []}, x="list of string kept") == {"x": None}


def test_null_among_items_is_an_empty_item() -> None:
    body = conformed(
        {"x": [None], "y": [None], "z": {"k": None}}, x="list of string", y="list of Inner", z="map of string"
    )
    assert body == {"x": [""], "y": [{"b": 0}], "z": {"k": ""}}


def test_unknown_fields_are_gone_and_named() -> None:
    type = type_of(x="list of Inner", m="map of Inner", o="Outer?")
    body = {
        "no": 1,
        "x": [{"a": "v"}, {"no": None, "": 1}],
        "m": {"k": {"no": []}},
        "o": {"o": {"no": {}}},
    }
    assert conform(body, type) == ["no", "x[1].no", "x[1].", "m.k.no", "o.o.no"]
    assert body == {"x": [{"a": "v", "b": 0}, {"b": 0}], "m": {"k": {"b": 0}}, "o": {"o": {}}}


@pytest.mark.parametrize(
    ("type", "value", "words"),
    [
        ("string", 1, "x: must be string, not a number"),
        ("bool", "true", "x: must be bool, not a string"),
        ("int32", True, "x: must be int32, not a boolean"),
        ("int32", 2**31, "x: must be int32, not 2147483648"),
        ("list of Inner", {}, "x: must be a list, not an object"),
        ("list of Inner", [{"a": 1}], "x.a: must be string, not a number"),
        ("map of int32", [], "x: must be an object, not a list"),
        ("Inner?", [], "x: must be an object, not a list"),
        ("intOrString", 1.5, "x: must be int32, not 1.5"),
        ("bytes", {}, "x: must be bytes, not an object"),
        ("bytes", "Y*==", "x: must be base64"),
        ("time", "yesterday", "x: 'yesterday' is no time such as 2026-01-02T03:04:05Z"),
        ("time", "2024-02-30T10:00:00Z", "x: '2024-02-30T10:00:00Z' is no time that there is"),
    ],
)
def test_a_value_of_a_wrong_type_is_refused(type: str, value: Any, words: str) -> None:
    with pytest.raises(Misfit) as misfit:
        conform({"x": value}, type_of(x=type))
    assert str(misfit.value) == words


def test_a_body_that_is_too_deep_is_refused() -> None:
    body: Body = {}
    for _ in range(5000):
        body = {"o": body}
    with pytest.raises(Misfit, match="exceeded max depth"):
        conform(body, type_of(o="Outer?"))


def test_what_conforms_is_not_changed_again() -> None:
    for case in cases():
        type, body = kind_of(case).type, deepcopy(case.body)
        conform(body, type)
        fill(body, type)
        again = deepcopy(body)
        assert conform(again, type) == []
        fill(again, type)
        assert again == body, str(case)


# -- defaults ----------------------------------------------------------------------------------------------


def test_defaults_are_for_what_is_not_given() -> None:
    type = type_of(x="string = d", y="int32? = 3", z="Inner? = {}", k="string kept = d")
    body: Body = {"y": 0}
    conform(body, type)
    fill(body, type)
    assert body == {"x": "d", "y": 0, "z": {}, "k": "d"}


def test_defaults_are_not_shared() -> None:
    type = type_of(z="Inner? = {}")
    first: Body = {}
    second: Body = {}
    fill(first, type)
    fill(second, type)
    first["z"]["a"] = "changed"
    assert second == {"z": {}}


def test_defaults_within_a_struct_need_the_struct() -> None:
    type = type_of(o="Outer?", l="list of Outer", m="map of Outer", x="string = d")
    body: Body = {"l": [{}], "m": {"k": {}}}
    fill(body, type)
    assert body == {"x": "d", "l": [{"x": "d"}], "m": {"k": {"x": "d"}}}


def test_amounts_are_rounded_up_to_thousandths() -> None:
    body = {"x": {"cpu": "100u", "memory": "1Gi"}}
    fill(body, type_of(x="map of quantity"))
    assert body == {"x": {"cpu": "1m", "memory": "1Gi"}}


# -- quantities and times ----------------------------------------------------------------------------------

quantities = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 10**9),
    st.sampled_from(["", ".5", ".25", ".1", ".000"]),
    st.sampled_from(["", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "e-2"]),
)


@given(quantities)
def test_a_canonical_quantity_is_the_same_amount_and_stays_as_it_is(text: str) -> None:
    assert parse_nano(canonical(text)) == parse_nano(text)
    assert canonical(canonical(text)) == canonical(text)


@given(quantities)
def test_a_rounded_quantity_is_the_least_that_is_enough(text: str) -> None:
    given, got = parse_nano(text), parse_nano(rounded(text))
    assert got % 10**6 == 0
    assert 0 <= abs(got) - abs(given) < 10**6


@pytest.mark.parametrize("text", ["", "x", "1.2.3", "1 2", "1" * 2000])
def test_what_is_no_quantity_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="must match the regular expression"):
        canonical(text)


@pytest.mark.parametrize("text", ["5kk", "1Kii", "1e", "1e9999999999", "--1"])
def test_a_suffix_that_nobody_knows_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="unable to parse quantity's suffix"):
        canonical(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:00:00.999999999Z", "2024-01-01T00:00:00Z"),
        ("2024-01-01T00:30:00+01:00", "2023-12-31T23:30:00Z"),
        ("2024-01-01T00:30:00-01:30", "2024-01-01T02:00:00Z"),
        ("0001-01-01T00:00:00Z", None),
    ],
)
def test_times_are_written_to_the_second(text: str, written: str | None) -> None:
    assert canonical_time(text) == written


def test_micro_times_are_written_to_the_microsecond() -> None:
    assert canonical_micro_time("2024-01-01T01:00:00.123456+01:00") == "2024-01-01T00:00:00.123456Z"
    with pytest.raises(TimeError):
        canonical_micro_time("2024-01-01T01:00:00Z")
