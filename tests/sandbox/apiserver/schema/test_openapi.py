"""What kubectl is told of the API."""

from dataclasses import dataclass
from typing import Any

import msgspec

from maitred.sandbox.apiserver.builtin import BUILTIN
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.custom import from_openapi
from maitred.sandbox.apiserver.schema.openapi import document, index
from maitred.sandbox.apiserver.schema.types import Struct
from tests.sandbox.apiserver.schema.custom_schema import SCHEMA


@dataclass(frozen=True)
class Kind:
    group: str
    version: str
    name: str
    plural: str
    namespaced: bool
    type: Struct
    subresources: tuple[str, ...] = ()


PODS = Kind("", "v1", "Pod", "pods", True, struct("core.v1.Pod"), ("status", "binding"))
NODES = Kind("", "v1", "Node", "nodes", False, struct("core.v1.Node"))
THINGS = Kind("example.com", "v1", "Thing", "things", True, from_openapi(SCHEMA))


def references(schema: Any) -> set[str]:
    if isinstance(schema, dict):
        found = {schema["$ref"].rpartition("/")[2]} if isinstance(schema.get("$ref"), str) else set()
        return found.union(*map(references, schema.values()))
    return set().union(*map(references, schema)) if isinstance(schema, list) else set()


def test_every_reference_leads_somewhere() -> None:
    for kinds in ([PODS, NODES], [THINGS]):
        described = document(kinds)
        assert references(described) <= described["components"]["schemas"].keys()


def test_every_kind_that_is_served_is_described() -> None:
    for kind in BUILTIN:
        described = document([kind])
        assert references(described) <= described["components"]["schemas"].keys(), kind.name


def test_a_custom_kind_is_described_within_itself() -> None:
    described = document([THINGS])
    schema = described["components"]["schemas"]["com.example.v1.Thing"]
    assert schema["x-kubernetes-group-version-kind"] == [
        {"group": "example.com", "version": "v1", "kind": "Thing"}
    ]
    spec = schema["properties"]["spec"]
    assert spec["required"] == ["text"]
    assert spec["properties"]["keyed"]["x-kubernetes-list-map-keys"] == ["name"]
    patch = described["paths"]["/apis/example.com/v1/namespaces/{namespace}/things/{name}"]["patch"]
    assert "application/strategic-merge-patch+json" not in patch["requestBody"]["content"]


def test_a_patch_can_be_validated_and_tried() -> None:
    patch = document([PODS])["paths"]["/api/v1/namespaces/{namespace}/pods/{name}"]["patch"]
    assert {"dryRun", "fieldValidation"} <= {each["name"] for each in patch["parameters"]}


def test_the_index_names_a_document_by_its_content() -> None:
    pods, nodes = (msgspec.json.encode(document([kind])) for kind in (PODS, NODES))
    first, second = (
        index({"api/v1": each})["paths"]["api/v1"]["serverRelativeURL"] for each in (pods, nodes)
    )
    assert first.startswith("/openapi/v3/api/v1?hash=")
    assert first != second
    assert index({"api/v1": pods}) == index({"api/v1": msgspec.json.encode(document([PODS]))})
