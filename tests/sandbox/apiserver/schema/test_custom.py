"""Custom resources: what their schemas make of a body, beside what the real API server makes of it."""

import time
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from maitred.sandbox.apiserver.schema.conform import conform
from maitred.sandbox.apiserver.schema.custom import from_openapi, violations
from maitred.sandbox.apiserver.schema.defaults import fill
from maitred.sandbox.apiserver.schema.types import Body, ListOf, MapOf, Relation, Scalar, Struct
from tests.sandbox.apiserver.schema.custom_schema import DEFINITION, ILL, SCHEMA, WELL
from tests.sandbox.apiserver.schema.real import Real

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
THINGS = "/apis/example.com/v1/namespaces/default/things"
PATIENCE_S = 30


def thing(spec: Any) -> Body:
    return {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "t"},
        "spec": deepcopy(spec),
    }


def read(spec: Any) -> Body:
    body, type = thing(spec), from_openapi(SCHEMA)
    conform(body, type)
    fill(body, type)
    return body


@pytest.fixture(scope="module")
def defined(real: Real) -> Iterator[Real]:
    """The real server, with our definition."""
    assert real.ask("POST", DEFINITIONS, DEFINITION)[0] == 201
    deadline = time.monotonic() + PATIENCE_S
    while real.ask("GET", THINGS)[0] != 200:
        assert time.monotonic() < deadline, "the definition was not served in time"
        time.sleep(0.05)
    yield real
    real.ask("DELETE", f"{DEFINITIONS}/things.example.com")


def test_the_real_server_takes_and_stores_the_same(defined: Real) -> None:
    for spec in WELL:
        status, answer = defined.ask("POST", f"{THINGS}?dryRun=All", thing(spec))
        body = read(spec)
        assert (status, violations(body, SCHEMA)) == (201, []), answer.get("message")
        assert body["spec"] == answer["spec"]


def test_the_real_server_refuses_the_same(defined: Real) -> None:
    assert [spec for spec in ILL if defined.ask("POST", f"{THINGS}?dryRun=All", thing(spec))[0] != 422] == []


# -- without a server --------------------------------------------------------------------------------------


def test_the_schema_becomes_a_type() -> None:
    type = from_openapi(SCHEMA)
    assert set(type.fields) == {"apiVersion", "kind", "metadata", "spec"}
    spec = type.fields["spec"].type
    assert isinstance(spec, Struct)
    assert spec.fields["text"].listed
    assert spec.fields["given"].default == "d"
    kinds = {name: field.type for name, field in spec.fields.items()}
    keyed, amounts = kinds["keyed"], kinds["amounts"]
    assert isinstance(keyed, ListOf)
    assert (keyed.relation, keyed.keys) == (Relation.MAP, ("name",))
    assert isinstance(amounts, MapOf)
    assert amounts.value is Scalar.INT64
    assert (kinds["small"], kinds["either"]) == (Scalar.INT32, Scalar.INT_OR_STRING)


def test_what_a_schema_does_not_describe_may_be_anything() -> None:
    type = from_openapi(
        {"type": "object", "properties": {"spec": {"x-kubernetes-preserve-unknown-fields": True}}}
    )
    body = {"spec": {"a": [None, {"b": None}]}}
    assert conform(body, type) == []
    assert body == {"spec": {"a": [None, {"b": None}]}}


def test_an_object_within_is_an_object_of_the_api_where_the_schema_says_so() -> None:
    inner = {"type": "object", "x-kubernetes-embedded-resource": True}
    type = from_openapi({"type": "object", "properties": {"template": inner}})
    body = {"template": {"kind": "Pod", "metadata": {"name": "a", "x": 1}, "spec": {}}}
    assert conform(body, type) == ["template.metadata.x", "template.spec"]
    assert body == {"template": {"kind": "Pod", "metadata": {"name": "a"}}}


@pytest.mark.parametrize("spec", ILL)
def test_every_ill_body_has_violations(spec: Any) -> None:
    assert violations(read(spec), SCHEMA)


@pytest.mark.parametrize("spec", WELL)
def test_no_well_body_has_any(spec: Any) -> None:
    assert violations(read(spec), SCHEMA) == []


def test_what_is_free_may_be_as_deep_as_it_likes() -> None:
    deep: Any = {}
    for _ in range(5000):
        deep = {"a": deep}
    assert violations({"spec": {"text": "xa", "open": deep}}, SCHEMA) == []
