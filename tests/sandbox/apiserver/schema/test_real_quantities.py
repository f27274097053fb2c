"""Amounts are written, and rounded, as the real API server does it."""

from typing import Any

from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.conform import conform
from maitred.sandbox.apiserver.schema.defaults import fill
from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.schema.real import Real

PODS = "/api/v1/namespaces/default/pods?dryRun=All"
DECIMAL = (
    *("0", "0.5", "00.5", ".5", "5.", "1.500", "1.25", "1.2500000", "+5", "007", "2", "100", "110", "1000"),
    *("1000000", "3000M", "12345678901234567890", "1n", "100u", "1500m", "1000m", "0.0001", "0.0000000001"),
    *("1.5k", "1E", "1P", "5e3", "5E3", "1e4", "10e2", "1e-3", "1e-4", "1025", "1048576", "0.1", "1.000001"),
    *("999999999999999999", "9999999999999999999"),
)
BINARY = (
    *("0Gi", "4Gi", "8Gi", "1024Mi", "1023Mi", "1536Mi", "1.5Gi", "0.5Ki", "0.1Ki", "1Ki", "512Ki", "1024Ki"),
    *("1000Ki", "100000Ki", "2048Gi", "15Ei", "16Ei"),
)
ROUNDED = ("0.0001", "1.0001", "1u", "1500001n", "1.500", "1.2500000", "2", "1e-5")


def pod(size: Any, cpu: str) -> Body:
    """Amounts of resources are rounded; the size of a directory is none."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    volume = {"name": "v", "emptyDir": {"sizeLimit": size}}
    return {"metadata": {"name": "a"}, "spec": {"containers": [container], "volumes": [volume]}}


def amounts(body: Body) -> tuple[Any, Any]:
    spec = body["spec"]
    return spec["volumes"][0]["emptyDir"]["sizeLimit"], spec["containers"][0]["resources"]["requests"]["cpu"]


def written(body: Body) -> Body:
    conform(body, struct("core.v1.Pod"))
    fill(body, struct("core.v1.Pod"))
    return body


def test_quantities_are_written_and_rounded_in_the_same_way(real: Real) -> None:
    sizes = [*DECIMAL, *BINARY, 2, 0.5, 1.5, 1000, " 5 "]
    given = [pod(size, ROUNDED[number % len(ROUNDED)]) for number, size in enumerate(sizes)]
    answers = [real.ask("POST", PODS, body) for body in given]
    assert [status for status, _ in answers] == [201] * len(given)
    assert [amounts(written(body)) for body in given] == [amounts(answer) for _, answer in answers]
