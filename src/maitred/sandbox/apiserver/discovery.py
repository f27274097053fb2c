"""What the server has to offer, in the three forms that clients ask for."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.served import GroupVersion, Served

STATUS_VERBS = ("get", "patch", "update")
KINDS_OF_PARTS = {
    "binding": ("", "", "Binding"),
    "eviction": ("policy", "v1", "Eviction"),
    "proxy": ("", "", "ServiceProxyOptions"),
}
"""Subresources that are objects of a kind of their own."""
CREATED = ("binding", "eviction")


def subresource_verbs(name: str) -> list[str]:
    if name in CREATED:
        return ["create"]
    if name == "proxy":
        return ["create", "delete", "get", "patch", "update"]
    return ["update"] if name == "finalize" else list(STATUS_VERBS)


# -- plain -------------------------------------------------------------------------------------------------


def core_versions(address: str) -> Body:
    place = {"clientCIDR": "0.0.0.0/0", "serverAddress": address}
    return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [place]}


def group_list(served: Served) -> Body:
    groups = [group_body(served, name) for name in served.groups()]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def group(served: Served, name: str) -> Body | None:
    if name not in served.groups():
        return None
    return {"kind": "APIGroup", "apiVersion": "v1", **group_body(served, name)}


def group_body(served: Served, name: str) -> Body:
    versions = [
        {"groupVersion": str(version), "version": version.version} for version in served.versions(name)
    ]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def resource_list(served: Served, group_version: GroupVersion) -> Body | None:
    kinds = sorted(served.of(group_version), key=lambda kind: kind.plural)
    if not kinds:
        return None
    resources = [resource for kind in kinds for resource in resources_of(kind)]
    body: Body = {"kind": "APIResourceList", "groupVersion": str(group_version), "resources": resources}
    return {**body, "apiVersion": "v1"} if group_version.group else body


def resources_of(kind: Kind) -> Iterator[Body]:
    body: Body = {
        "name": kind.plural,
        "singularName": kind.singular,
        "namespaced": kind.namespaced,
        "kind": kind.name,
        "verbs": list(kind.verbs),
    }
    body.update(nicknames(kind))
    if "get" in kind.verbs:
        body["storageVersionHash"] = storage_hash(kind)
    yield body
    for name in kind.subresources:
        yield subresource_body(kind, name)


def nicknames(kind: Kind) -> Body:
    named = {"shortNames": list(kind.short_names), "categories": list(kind.categories)}
    return {name: found for name, found in named.items() if found}


def storage_hash(kind: Kind) -> str:
    """Of the version in which objects are kept; it tells a client that two kinds are the same objects."""
    blank: Body = {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {}}
    stored = kind.to_stored(blank)["apiVersion"]
    name = f"{stored}/{kind.name}" if "/" in stored else f"/{stored}/{kind.name}"
    return b64encode(hashlib.sha256(name.encode()).digest()[:8]).decode()


def subresource_body(kind: Kind, name: str) -> Body:
    body: Body = {"name": f"{kind.plural}/{name}", "singularName": "", "namespaced": kind.namespaced}
    if name in KINDS_OF_PARTS:
        group, version, part = KINDS_OF_PARTS[name]
        if group:
            body.update(group=group, version=version)
        body["kind"] = part
    else:
        body["kind"] = kind.name
    body["verbs"] = subresource_verbs(name)
    return body


# -- aggregated --------------------------------------------------------------------------------------------


def aggregated(served: Served, groups: list[str], api_version: str) -> Body:
    items = [aggregated_group(served, name) for name in groups]
    return {"kind": "APIGroupDiscoveryList", "apiVersion": api_version, "metadata": {}, "items": items}


def aggregated_group(served: Served, name: str) -> Body:
    meta: Body = {"name": name} if name else {}
    versions = [aggregated_version(served, version) for version in served.versions(name)]
    return {"metadata": meta, "versions": versions}


def aggregated_version(served: Served, version: GroupVersion) -> Body:
    kinds = sorted(served.of(version), key=lambda kind: kind.plural)
    return {
        "version": version.version,
        "resources": [aggregated_resource(kind) for kind in kinds],
        "freshness": "Current",
    }


def aggregated_resource(kind: Kind) -> Body:
    body: Body = {
        "resource": kind.plural,
        "responseKind": response_kind("", "", kind.name),
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": kind.singular,
        "verbs": list(kind.verbs),
    }
    body.update(nicknames(kind))
    if kind.subresources:
        body["subresources"] = [aggregated_subresource(kind, name) for name in kind.subresources]
    return body


def aggregated_subresource(kind: Kind, name: str) -> Body:
    return {
        "subresource": name,
        "responseKind": response_kind(*KINDS_OF_PARTS.get(name, ("", "", kind.name))),
        "verbs": subresource_verbs(name),
    }


def response_kind(group: str, version: str, name: str) -> Body:
    """Without a group and version it is of those that it is listed in."""
    return {"group": group, "version": version, "kind": name}
