"""What the real API server writes in protobuf, read by us, is what it writes in JSON."""

import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.conform import conform
from maitred.sandbox.apiserver.schema.protobuf import read_protobuf
from maitred.sandbox.apiserver.schema.types import Body, Struct
from maitred.sandbox.controlplane.run import ControlPlane
from tests.sandbox.apiserver.schema.real import Real

NAMESPACE = "protobuf"
PATIENCE_S = 30
OBJECTS: list[Body] = list(yaml.safe_load_all((Path(__file__).parent / "rich.yaml").read_text()))
WITHOUT_NAMESPACE = {
    "ClusterRole",
    "ClusterRoleBinding",
    "CSIDriver",
    "CSINode",
    "DeviceClass",
    "Namespace",
    "Node",
    "PersistentVolume",
    "PriorityClass",
    "ResourceSlice",
    "StorageClass",
    "VolumeAttachment",
}
BORN_WITH_STATUS = {"Node"}


@pytest.fixture
def real(bare_control_plane: ControlPlane) -> Real:
    if bare_control_plane.release.name != "1.37.1" or not bare_control_plane.workload_gates:
        pytest.skip("the catalogue has the types of Kubernetes 1.37.1, with its workload API")
    return Real(bare_control_plane)


def test_every_object_is_the_same_in_both_forms(real: Real) -> None:
    with ExitStack() as stack:
        for path, body in made(real):
            stack.callback(remove, real, path)
            group, _, version = body["apiVersion"].rpartition("/")
            type = struct(f"{group.partition('.')[0] or 'core'}.{version}.{body['kind']}")
            read, said = both_forms(real, path, type)
            assert conform(read, type) == []
            assert read == said


def both_forms(real: Real, path: str, type: Struct) -> tuple[Body, Body]:
    """Of one version of the object: the server itself writes the status of definitions."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        read, said = read_protobuf(real.protobuf(path), type), real.ask("GET", path)[1]
        if read["metadata"]["resourceVersion"] == said["metadata"]["resourceVersion"]:
            return read, said
        assert time.monotonic() < deadline, f"{path} does not come to rest"


def made(real: Real) -> Iterator[tuple[str, Body]]:
    """The objects on the server, each with its path."""
    for body in OBJECTS:
        at = path_of(body)
        there = accepted(real, "POST", at, body)
        path = f"{at}/{there['metadata']['name']}"
        if "status" in body and body["kind"] not in BORN_WITH_STATUS:
            accepted(real, "PUT", f"{path}/status", {**there, "status": body["status"]})
        yield path, body


def remove(real: Real, path: str) -> None:
    """Also where a controller should have a word first: there is none."""
    there = real.ask("GET", path)[1]
    if there["metadata"].pop("finalizers", None):
        accepted(real, "PUT", path, there)
    accepted(real, "DELETE", f"{path}?gracePeriodSeconds=0", None)


def accepted(real: Real, verb: str, path: str, body: Body | None) -> Body:
    code, answer = real.ask(verb, path, body)
    assert code in (200, 201), answer
    found: Body = answer
    return found


def path_of(body: Body) -> str:
    version, kind = body["apiVersion"], body["kind"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    plural = f"{kind.lower()}es" if kind.endswith("s") else f"{kind.lower()}s"
    return f"{root}/{plural}" if kind in WITHOUT_NAMESPACE else f"{root}/namespaces/{NAMESPACE}/{plural}"
