"""What kubectl is told of the API."""

from typing import Any

import msgspec

from maitred.sandbox.apiserver.builtin import BUILTIN
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.openapi import document, index
from maitred.sandbox.apiserver.schema.custom import from_openapi
from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.schema.custom_schema import SCHEMA

PODS, NODES = (next(kind for kind in BUILTIN if kind.name == name) for name in ("Pod", "Node"))
THINGS = Kind("example.com", "v1", "Thing", "things", from_openapi(SCHEMA))


def described(*kinds: Kind) -> Body:
    return document(kinds, "v1.37.1")


def references(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        found = {schema["$ref"].rpartition("/")[2]} if isinstance(schema.get("$ref"), str) else set()
        return found.union(*map(references, schema.values()))
    return set().union(*map(references, schema)) if isinstance(schema, list) else set()


def test_every_reference_leads_somewhere() -> None:
    for kinds in ([PODS, NODES], [THINGS]):
        said = described(*kinds)
        assert references(said) <= said["components"]["schemas"].keys()


def test_every_kind_that_is_served_is_described() -> None:
    for kind in BUILTIN:
        said = described(kind)
        assert references(said) <= said["components"]["schemas"].keys(), kind.name


def test_a_custom_kind_is_described_within_itself() -> None:
    said = described(THINGS)
    schema = said["components"]["schemas"]["com.example.v1.Thing"]
    assert schema["x-kubernetes-group-version-kind"] == [
        {"group": "example.com", "version": "v1", "kind": "Thing"}
    ]
    spec = schema["properties"]["spec"]
    assert spec["required"] == ["text"]
    assert spec["properties"]["keyed"]["x-kubernetes-list-map-keys"] == ["name"]


def test_a_patch_can_be_validated_and_tried() -> None:
    patch = described(PODS)["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert {"dryRun", "fieldValidation"} <= {each["name"] for each in patch["parameters"]}


def test_the_index_names_a_document_by_its_content() -> None:
    pods, nodes = (msgspec.json.encode(described(kind)) for kind in (PODS, NODES))
    first, second = (
        index({"api/v1": each})["paths"]["api/v1"]["serverRelativeURL"] for each in (pods, nodes)
    )
    assert first.startswith("/openapi/v3/api/v1?hash=")
    assert first != second
    assert index({"api/v1": pods}) == index({"api/v1": msgspec.json.encode(described(PODS))})
