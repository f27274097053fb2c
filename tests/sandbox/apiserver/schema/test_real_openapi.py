"""The catalogue, and what we tell kubectl of it, beside what the real API server says of itself."""

from dataclasses import dataclass
from typing import Any

import pytest

from maitred.sandbox.apiserver.schema.catalogue import names, struct
from maitred.sandbox.apiserver.schema.openapi import document, schema_name, schema_of
from maitred.sandbox.apiserver.schema.types import Body, Field, Scalar, Struct
from tests.sandbox.apiserver.schema.real import Real


@dataclass(frozen=True)
class Kind:
    group: str
    version: str
    name: str
    plural: str
    namespaced: bool
    type: Struct
    subresources: tuple[str, ...]


def kind(group: str, version: str, name: str, plural: str, scope: str = "n", *subresources: str) -> Kind:
    found = struct(f"{group.partition('.')[0] or 'core'}.{version}.{name}")
    return Kind(group, version, name, plural, scope == "n", found, subresources)


SCHEDULING, STORAGE, RBAC = "scheduling.k8s.io", "storage.k8s.io", "rbac.authorization.k8s.io"
RESOURCE, EXTENSIONS = "resource.k8s.io", "apiextensions.k8s.io"
GROUPS = {
    "api/v1": [
        kind("", "v1", "Pod", "pods", "n", "status"),
        kind("", "v1", "Node", "nodes", "c", "status"),
        kind("", "v1", "Namespace", "namespaces", "c", "status"),
        kind("", "v1", "ConfigMap", "configmaps"),
        kind("", "v1", "Secret", "secrets"),
        kind("", "v1", "ServiceAccount", "serviceaccounts"),
        kind("", "v1", "Service", "services", "n", "status"),
        kind("", "v1", "PersistentVolume", "persistentvolumes", "c", "status"),
        kind("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "n", "status"),
        kind("", "v1", "Event", "events"),
    ],
    "apis/batch/v1": [kind("batch", "v1", "Job", "jobs", "n", "status")],
    f"apis/{SCHEDULING}/v1": [kind(SCHEDULING, "v1", "PriorityClass", "priorityclasses", "c")],
    f"apis/{SCHEDULING}/v1beta1": [
        kind(SCHEDULING, "v1beta1", "Workload", "workloads"),
        kind(SCHEDULING, "v1beta1", "PodGroup", "podgroups", "n", "status"),
    ],
    f"apis/{SCHEDULING}/v1alpha3": [
        kind(SCHEDULING, "v1alpha3", "Workload", "workloads"),
        kind(SCHEDULING, "v1alpha3", "PodGroup", "podgroups", "n", "status"),
        kind(SCHEDULING, "v1alpha3", "CompositePodGroup", "compositepodgroups", "n", "status"),
    ],
    "apis/coordination.k8s.io/v1": [kind("coordination.k8s.io", "v1", "Lease", "leases")],
    "apis/events.k8s.io/v1": [kind("events.k8s.io", "v1", "Event", "events")],
    f"apis/{STORAGE}/v1": [
        kind(STORAGE, "v1", "StorageClass", "storageclasses", "c"),
        kind(STORAGE, "v1", "CSINode", "csinodes", "c"),
        kind(STORAGE, "v1", "CSIDriver", "csidrivers", "c"),
        kind(STORAGE, "v1", "CSIStorageCapacity", "csistoragecapacities"),
        kind(STORAGE, "v1", "VolumeAttachment", "volumeattachments", "c", "status"),
    ],
    "apis/policy/v1": [kind("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "n", "status")],
    f"apis/{RBAC}/v1": [
        kind(RBAC, "v1", "Role", "roles"),
        kind(RBAC, "v1", "ClusterRole", "clusterroles", "c"),
        kind(RBAC, "v1", "RoleBinding", "rolebindings"),
        kind(RBAC, "v1", "ClusterRoleBinding", "clusterrolebindings", "c"),
    ],
    f"apis/{EXTENSIONS}/v1": [
        kind(EXTENSIONS, "v1", "CustomResourceDefinition", "customresourcedefinitions", "c", "status")
    ],
    f"apis/{RESOURCE}/v1": [
        kind(RESOURCE, "v1", "ResourceClaim", "resourceclaims", "n", "status"),
        kind(RESOURCE, "v1", "ResourceClaimTemplate", "resourceclaimtemplates"),
        kind(RESOURCE, "v1", "DeviceClass", "deviceclasses", "c"),
        kind(RESOURCE, "v1", "ResourceSlice", "resourceslices", "c"),
    ],
    "apis/apps/v1": [
        kind("apps", "v1", "ReplicaSet", "replicasets", "n", "status"),
        kind("apps", "v1", "StatefulSet", "statefulsets", "n", "status"),
        kind("apps", "v1", "Deployment", "deployments", "n", "status"),
        kind("apps", "v1", "DaemonSet", "daemonsets", "n", "status"),
    ],
}
REVIEWS = ("apis/authentication.k8s.io/v1", "apis/authorization.k8s.io/v1")
"""Groups whose kinds are asked, and not kept."""

OF_ANY_SHAPE = {
    "io.k8s.apimachinery.pkg.runtime.RawExtension",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool",
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray",
}
"""The real server has names for what the catalogue calls `any`."""

LEFT_OUT = {
    "description": "texts are not taken over",
    "default": "compared by itself: the catalogue has defaults that the real server does not tell",
    "enum": "the rules of a kind know which values there are",
    "x-kubernetes-unions": "nobody reads them",
    "x-kubernetes-group-version-kind": "the real server lists every group that takes DeleteOptions",
}
NOT_THERE = {("/api/v1/namespaces", "delete"): "nobody can delete all namespaces"}
GRANULAR = {
    (
        "io.k8s.api.core.v1.PersistentVolumeClaimStatus",
        "allocatedResourceStatuses",
    ): "all maps are, unless they say otherwise",
}


@pytest.fixture(scope="module")
def said(real: Real) -> dict[str, Body]:
    """The documents of the real server, by path."""
    return {path: real.ask("GET", f"/openapi/v3/{path}")[1] for path in (*GROUPS, *REVIEWS)}


def test_every_type_of_the_catalogue_is_as_the_real_server_has_it(said: dict[str, Body]) -> None:
    real, ours = all_schemas(said), {schema_name(struct(name)): schema_of(struct(name)) for name in names()}
    differences = {
        f"{name}: {field}": (ours_of, real_of)
        for name in ours
        for field, ours_of, real_of in differing(name, ours[name], real[name])
    }
    assert differences == {}


def test_the_defaults_that_the_real_server_tells_are_in_the_catalogue(said: dict[str, Body]) -> None:
    real = all_schemas(said)
    told = {
        f"{name}.{field}": schema["default"]
        for name in names()
        for field, schema in real[schema_name(struct(name))].get("properties", {}).items()
        if "default" in schema and schema["default"] not in beginnings(struct(name).fields[field])
    }
    assert told == {}


@pytest.mark.parametrize("path", GROUPS)
def test_what_can_be_done_with_a_kind_is_where_the_real_server_has_it(
    path: str, said: dict[str, Body]
) -> None:
    for at, operations in document(GROUPS[path])["paths"].items():
        there = said[path]["paths"][at]
        for verb, ours in operations.items():
            if (at, verb) in NOT_THERE:
                continue
            if verb == "parameters":
                assert parameters(ours) <= parameters(there["parameters"])
                continue
            # The real server writes parameters that all operations on a path have only once.
            assert parameters(ours["parameters"]) <= parameters(
                there[verb].get("parameters", []) + there["parameters"]
            )
            for mark in ("x-kubernetes-action", "x-kubernetes-group-version-kind"):
                assert ours[mark] == there[verb][mark], (at, verb)
            taken = ours.get("requestBody", {}).get("content", {})
            assert taken.keys() == there[verb].get("requestBody", {}).get("content", {}).keys(), (at, verb)


def all_schemas(documents: dict[str, Body]) -> Body:
    return {
        name: schema
        for each in documents.values()
        for name, schema in each["components"]["schemas"].items()
        if not name.endswith("List")
    }


def differing(name: str, ours: Body, real: Body) -> list[tuple[str, Any, Any]]:
    ours, real = plain(ours), plain(real)
    fields, real_fields = ours.pop("properties", {}), real.pop("properties", {})
    found = [("", ours, real)] if ours != real else []
    for field in sorted(fields.keys() | real_fields.keys()):
        mine, theirs = plain(fields.get(field)), plain(real_fields.get(field))
        if theirs and (name, field) in GRANULAR:
            assert theirs.pop("x-kubernetes-map-type") == "granular"
        if mine != theirs:
            found.append((field, mine, theirs))
    return found


def plain(schema: Any) -> Any:
    """Without what is left out, with `any` as we write it, and with references in one manner."""
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in LEFT_OUT}
    if "required" in kept:
        kept["required"] = set(kept["required"])
    for key in ("items", "additionalProperties"):
        if key in kept:
            kept[key] = plain(kept[key])
    # Alone, or within `allOf` because something may stand beside it.
    (reference,) = [each.get("$ref") for each in kept.pop("allOf", [{}])]
    reference = kept.pop("$ref", reference)
    if reference is None:
        return kept
    name = reference.rpartition("/")[2]
    return {**kept, **({"type": "object"} if name in OF_ANY_SHAPE else {"$ref": name})}


def beginnings(field: Field) -> list[Any]:
    """What the real server may tell as a default: also what Go begins with where nothing is declared."""
    zero = EMPTY.get(field.type) if isinstance(field.type, Scalar) else {}
    return [field.default] if field.explicit else [field.default, zero]


EMPTY: dict[Scalar, Any] = {
    Scalar.STRING: "",
    Scalar.BOOL: False,
    Scalar.INT32: 0,
    Scalar.INT64: 0,
    Scalar.NUMBER: 0,
}


def parameters(described: list[Body]) -> set[tuple[str, str, str]]:
    return {(each["name"], each["in"], each["schema"]["type"]) for each in described}
