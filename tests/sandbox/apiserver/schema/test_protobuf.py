"""Bodies in protobuf: what a message says, and that no bytes do harm."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.conform import conform
from maitred.sandbox.apiserver.schema.notation import parse
from maitred.sandbox.apiserver.schema.protobuf import ProtobufError, read_protobuf
from maitred.sandbox.apiserver.schema.scalars import Misfit
from maitred.sandbox.apiserver.schema.types import Body, Field, ListOf, MapOf, Scalar, Struct
from tests.sandbox.apiserver.schema.messages import double, enveloped, number, sized, varint
from tests.sandbox.apiserver.schema.types_in_use import types_in_use


def thing(**types: Any) -> Struct:
    """Fields are numbered as they come."""
    return Struct(
        "t.v1.Thing",
        {name: Field(type, number=(place,)) for place, (name, type) in enumerate(types.items(), 1)},
    )


def read(message: bytes, type: Struct) -> Body:
    body = read_protobuf(enveloped(message), type)
    assert (body.pop("apiVersion"), body.pop("kind")) == ("v1", "Thing")
    return body


def one(message: bytes, type: Any) -> Any:
    return read(message, thing(it=type))["it"]


def test_numbers_in_the_notation() -> None:
    assert parse("3 string required", struct) == Field(
        Scalar.STRING, (3,), required=True, listed=True, kept=True
    )
    assert parse("2.14 core.v1.Pod?", struct).number == (2, 14)
    assert parse("string", struct).number == ()
    extra = parse("5 map of list of string", struct).type
    assert isinstance(extra, MapOf)
    assert isinstance(extra.value, ListOf)


# What messages say


@pytest.mark.parametrize(
    ("type", "message", "value"),
    [
        (Scalar.STRING, sized(1, "Grüße".encode()), "Grüße"),
        (Scalar.STRING, sized(1, b"a\xffb"), "a\ufffdb"),
        (Scalar.INT32, number(1, 7), 7),
        (Scalar.INT32, number(1, -7), -7),
        (Scalar.INT32, number(1, 2**32 - 1), -1),
        (Scalar.INT64, number(1, -(2**63)), -(2**63)),
        (Scalar.INT64, number(1, 2**40), 2**40),
        (Scalar.BOOL, number(1, 1), True),
        (Scalar.BOOL, number(1, 0), False),
        (Scalar.NUMBER, double(1, 0.5), 0.5),
        (Scalar.NUMBER, double(1, 10.0), 10),
        (Scalar.BYTES, sized(1, b"\0\x01\xff"), "AAH/"),
        (Scalar.QUANTITY, sized(1, sized(1, b"1500m")), "1500m"),
        (Scalar.QUANTITY, sized(1, b""), "0"),
        (Scalar.INT_OR_STRING, sized(1, number(1, 0) + number(2, 80) + sized(3, b"")), 80),
        (Scalar.INT_OR_STRING, sized(1, number(1, 1) + number(2, 0) + sized(3, b"50%")), "50%"),
        (Scalar.TIME, sized(1, number(1, 1767323045) + number(2, 999_999_999)), "2026-01-02T03:04:05Z"),
        (Scalar.TIME, sized(1, number(1, -1)), "1969-12-31T23:59:59Z"),
        (Scalar.TIME, sized(1, b""), None),
        (Scalar.MICRO_TIME, sized(1, number(1, 1767323045) + number(2, 6789)), "2026-01-02T03:04:05.000006Z"),
        (Scalar.ANY, sized(1, sized(1, b'{"a": [1, null]}')), {"a": [1, None]}),
        (Scalar.ANY, sized(1, b""), None),
    ],
)
def test_scalars(type: Scalar, message: bytes, value: Any) -> None:
    assert one(message, type) == value


def test_the_last_of_several_counts_and_messages_are_put_together() -> None:
    assert one(number(1, 1) + number(1, 2), Scalar.INT32) == 2
    inner = thing(a=Scalar.INT32, b=Scalar.INT32)
    assert one(sized(1, number(1, 1)) + sized(1, number(2, 2)), inner) == {"a": 1, "b": 2}


def test_lists() -> None:
    assert one(sized(1, b"a") + sized(1, b""), ListOf(Scalar.STRING)) == ["a", ""]
    assert one(number(1, 5) + number(1, -1), ListOf(Scalar.INT32)) == [5, -1]


def test_maps_whose_entries_lack_what_is_empty() -> None:
    entries = sized(1, sized(1, b"a") + sized(2, b"x")) + sized(1, sized(1, b"b")) + sized(1, b"")
    assert one(entries, MapOf(Scalar.STRING)) == {"a": "x", "b": "", "": ""}
    assert one(sized(1, sized(1, b"a")), MapOf(Scalar.BYTES)) == {"a": ""}
    assert one(sized(1, sized(1, b"a")), MapOf(Scalar.QUANTITY)) == {"a": "0"}
    assert one(sized(1, sized(1, b"a")), MapOf(thing())) == {"a": {}}


def test_a_list_in_a_map_is_in_a_message() -> None:
    values = sized(1, b"x") + sized(1, b"y")
    assert one(sized(1, sized(1, b"a") + sized(2, values)), MapOf(ListOf(Scalar.STRING))) == {"a": ["x", "y"]}


def test_fields_of_a_message_that_json_does_not_have_are_beside_the_others() -> None:
    volume = sized(1, b"v") + sized(2, sized(2, sized(1, b"Memory")))
    read = read_protobuf(enveloped(volume, b"Volume"), struct("core.v1.Volume"))
    assert (read["name"], read["emptyDir"]) == ("v", {"medium": "Memory"})


def test_a_field_that_nobody_knows_is_skipped() -> None:
    group = varint(9 << 3 | 3) + sized(1, b"x") + number(2, 1) + varint(3 << 3 | 3) + varint(3 << 3 | 4)
    fixed = varint(8 << 3 | 5) + bytes(4)
    unknown = number(5, 1) + double(6, 1) + sized(7, b"x") + fixed + group + varint(9 << 3 | 4)
    assert read(unknown + number(1, 1) + unknown, thing(it=Scalar.INT32)) == {"it": 1}


def test_a_pointer_to_something_empty_stays_and_other_empty_values_go() -> None:
    type = Struct(
        "t.v1.Thing",
        {
            "pointer": Field(Scalar.INT32, number=(1,), explicit=True),
            "plain": Field(Scalar.INT32, number=(2,)),
            "kept": Field(Scalar.STRING, number=(3,), kept=True),
            "inner": Field(thing(a=Scalar.STRING), number=(4,), explicit=True),
        },
    )
    body = read(number(1, 0) + number(2, 0) + sized(3, b"") + sized(4, sized(1, b"")), type)
    conform(body, type)
    assert body == {"pointer": 0, "kept": "", "inner": {}}


def test_a_message_without_a_type_is_of_the_one_that_is_expected() -> None:
    body = read_protobuf(enveloped(number(1, 1), b"", b""), thing(it=Scalar.INT32))
    assert body == {"apiVersion": "", "kind": "Thing", "it": 1}


# What is refused

UNRECOGNIZED = r"the object provided is unrecognized \(must be of type Thing\): "
UNREADABLE = 'Thing in version "v1" cannot be handled as a Thing: '


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", rf"{UNRECOGNIZED}empty data \(<empty>\)"),
        (b"{}", rf"{UNRECOGNIZED}.* expected prefix \[107 56 115 0\] \(7b7d\)"),
        (b"x" * 31, rf"expected prefix \[107 56 115 0\] \({'78' * 30} ...\)"),
        (b"k8s\0", rf"{UNRECOGNIZED}empty body \(6b387300\)"),
        (b"k8s\0\xff", rf"{UNRECOGNIZED}unexpected EOF \(6b387300ff\)"),
        (
            enveloped(b"", b"Other"),
            r'Other in version "v1" .* a Thing: converting \(v1.Other\) to \(t.Thing\): unknown conversion',
        ),
        (enveloped(b"\x12\x20abc"), f"{UNREADABLE}unexpected EOF"),
        (enveloped(b"\x12" + varint(2**63)), f"{UNREADABLE}unexpected EOF"),
        (enveloped(b"\xff" * 11), f"{UNREADABLE}proto: integer overflow"),
        (enveloped(number(2, 1)), f"{UNREADABLE}proto: wrong wireType = 0 for field name"),
        (enveloped(sized(1, b"")[:1] + b"\x00"), f"{UNREADABLE}proto: wrong wireType = 2 for field it"),
        (enveloped(b"\x0c"), f"{UNREADABLE}proto: wiretype end group"),
        (enveloped(b"\x0e"), f"{UNREADABLE}proto: illegal wireType 6"),
        (enveloped(b"\x02\x00"), f"{UNREADABLE}proto: illegal tag 0"),
        (enveloped(b"\x4b" * 9), f"{UNREADABLE}unexpected EOF"),
        (enveloped(sized(3, number(1, 5))), f"{UNREADABLE}impossible IntOrString.Type"),
        (enveloped(sized(4, number(1, 2**60))), f"{UNREADABLE}Time.MarshalJSON: year outside of range"),
        (enveloped(sized(5, sized(1, b"{"))), f"{UNREADABLE}json: "),
        (enveloped(sized(5, sized(1, b"[" * 100_000))), UNREADABLE),
        (enveloped(double(6, float("nan"))), f"{UNREADABLE}json: unsupported value"),
    ],
)
def test_what_cannot_be_read_is_refused_in_the_words_of_the_real_server(data: bytes, words: str) -> None:
    type = thing(
        it=Scalar.INT32,
        name=Scalar.STRING,
        port=Scalar.INT_OR_STRING,
        time=Scalar.TIME,
        any=Scalar.ANY,
        share=Scalar.NUMBER,
    )
    with pytest.raises(ProtobufError, match=words):
        read_protobuf(data, type)


@pytest.mark.parametrize("field", [28, 24])
def test_what_is_too_deep_is_refused(field: int) -> None:
    message = b""
    for _ in range(3000):
        message = sized(field, message if field == 28 else sized(1, message))
    with pytest.raises(ProtobufError):
        read_protobuf(enveloped(message, b"JSONSchemaProps"), struct("apiextensions.v1.JSONSchemaProps"))


# No bytes do harm


def sample(type: Struct, depth: int = 3) -> bytes:
    """A message with something in every field."""
    parts = []
    for field in type.fields.values():
        if field.number:
            part = sample_of(field, depth)
            for outer in reversed(field.number[:-1]):
                part = sized(outer, part)
            parts.append(part)
    return b"".join(parts)


def sample_of(field: Field, depth: int) -> bytes:
    place = field.number[-1]
    match field.type:
        case Scalar.INT32 | Scalar.INT64 | Scalar.BOOL:
            return number(place, -1)
        case Scalar.NUMBER:
            return double(place, 0.5)
        case Struct() as inner:
            return sized(place, sample(inner, depth - 1) if depth else b"")
        case ListOf(item=Struct() as inner):
            return 2 * sized(place, sample(inner, depth - 1) if depth else b"")
        case MapOf(value=Struct() as inner):
            return sized(place, sized(1, b"k") + sized(2, sample(inner, depth - 1) if depth else b""))
        case ListOf(item=Scalar.INT32 | Scalar.INT64 | Scalar.BOOL):
            return number(place, 1)
        case _:
            return sized(place, b"")


POD = enveloped(sample(struct("core.v1.Pod")), b"Pod")
DEFINITION = enveloped(
    sample(struct("apiextensions.v1.CustomResourceDefinition")), b"CustomResourceDefinition"
)


def outcome(data: bytes, type: Struct) -> Body | None:
    try:
        body = read_protobuf(data, type)
        conform(body, type)
    except (ProtobufError, Misfit):
        return None
    return body


def test_every_field_of_every_type_can_be_read() -> None:
    for name, type in types_in_use().items():
        if name.startswith("apiextensions."):
            continue
        body = read_protobuf(enveloped(sample(type, 1), name.rpartition(".")[2].encode()), type)
        # Only the names of the type itself have no numbers: they are around the message.
        assert body.keys() == {"apiVersion", "kind"} | type.fields.keys(), name
        numbers = [field.number for field in type.fields.values() if field.number]
        assert len(set(numbers)) == len(numbers), name


@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    outcome(data, struct("core.v1.Pod"))
    outcome(enveloped(data, b"Pod"), struct("core.v1.Pod"))


@given(st.data())
def test_messages_with_a_few_wrong_bytes(data: st.DataObject) -> None:
    whole, name = data.draw(
        st.sampled_from([(POD, "core.v1.Pod"), (DEFINITION, "apiextensions.v1.CustomResourceDefinition")])
    )
    wrong = bytearray(whole[: data.draw(st.integers(0, len(whole)))] or whole)
    for _ in range(data.draw(st.integers(0, 5))):
        wrong[data.draw(st.integers(0, len(wrong) - 1))] = data.draw(st.integers(0, 255))
    outcome(bytes(wrong), struct(name))
