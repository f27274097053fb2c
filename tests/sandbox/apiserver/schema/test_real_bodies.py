"""What becomes of a body before any rule of its kind: here, and on the real API server."""

from copy import deepcopy
from typing import Any

import pytest

from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.conform import conform
from maitred.sandbox.apiserver.schema.defaults import fill
from maitred.sandbox.apiserver.schema.scalars import Misfit
from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.schema.bodies import BODIES, CONTAINER, PODS, pod
from tests.sandbox.apiserver.schema.real import Real


def asking(text: str) -> Body:
    return pod(containers=[{**CONTAINER, "resources": {"requests": {"cpu": text}}}])


MISFITS: list[Body] = [
    pod(hostNetwork="yes"),
    pod(containers=[{"args": [1]}]),
    pod(containers="x"),
    pod(containers=[{"ports": {}}]),
    pod(nodeSelector=[]),
    pod(nodeSelector={"a": True}),
    pod(priority=1.5),
    pod(priority=3000000000),
    pod(activeDeadlineSeconds=2**63),
    pod(overhead={"cpu": "x"}),
    pod(overhead={"cpu": True}),
    pod(overhead={"cpu": "5kk"}),
    pod(overhead={"cpu": ""}),
    pod(tolerations=[{"tolerationSeconds": "3"}]),
    {"metadata": {"name": "a"}, "spec": "x"},
    {"metadata": {"name": 1}},
    {"metadata": {"labels": {"a": 1}}},
    {"metadata": {"creationTimestamp": 3}},
    {"metadata": {"creationTimestamp": "x"}},
    {"metadata": {"creationTimestamp": "2024-01-01"}},
    {"metadata": {"creationTimestamp": "2024-01-01T10:00:00"}},
    {"metadata": {"creationTimestamp": "2024-13-01T10:00:00Z"}},
    {"metadata": {"creationTimestamp": "2024-02-30T10:00:00Z"}},
    {"metadata": {"creationTimestamp": "2024-01-01T25:00:00Z"}},
    {"metadata": {"creationTimestamp": "2024-01-01T10:00:00Zx"}},
]


@pytest.mark.parametrize("body", MISFITS)
def test_a_value_of_a_wrong_type_is_refused_in_the_same_words(body: Body, real: Real) -> None:
    status, answer = real.ask("POST", f"{PODS}?dryRun=All", body)
    assert status == 400
    with pytest.raises(Misfit) as misfit:
        conform(deepcopy(body), struct("core.v1.Pod"))
    assert answer["message"] == f'Pod in version "v1" cannot be handled as a Pod: {misfit.value}'


@pytest.mark.parametrize("text", ["Y*==", "YQ", "YQ=", "Y===", "YQ==a", "YWFhYQ", "="])
def test_bytes_are_refused_in_the_same_words(text: str, real: Real) -> None:
    body = {"metadata": {"name": "a"}, "data": {"k": text}}
    status, answer = real.ask("POST", "/api/v1/namespaces/default/secrets?dryRun=All", body)
    assert status == 400
    with pytest.raises(Misfit) as misfit:
        conform(body, struct("core.v1.Secret"))
    assert answer["message"] == f'Secret in version "v1" cannot be handled as a Secret: {misfit.value}'


@pytest.mark.parametrize("text", ["YQ\n==", "YWI=", ""])
def test_bytes_are_written_in_the_same_way(text: str, real: Real) -> None:
    body = {"metadata": {"name": "a"}, "data": {"k": text}}
    status, answer = real.ask("POST", "/api/v1/namespaces/default/secrets?dryRun=All", body)
    assert status == 201
    conform(body, struct("core.v1.Secret"))
    assert body["data"] == answer["data"]


def test_unknown_fields_have_the_same_paths(real: Real) -> None:
    body = pod(foo=1, volumes=[{"bar": 1, "name": "v", "emptyDir": {"x": 1}}], affinity={"z": {}})
    body["metadata"]["extra"] = ""
    body["status"] = {"conditions": [{"type": "a"}, {"sort": 1}]}
    _, answer = real.ask("POST", f"{PODS}?dryRun=All&fieldValidation=Strict", body)
    paths = ", ".join(f'unknown field "{path}"' for path in conform(body, struct("core.v1.Pod")))
    assert answer["message"].endswith(f": strict decoding error: {paths}")


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


@pytest.mark.parametrize("quantity", [*DECIMAL, *BINARY, 2, 0.5, 1.5, 1000, " 5 "])
def test_quantities_are_written_in_the_same_way(quantity: Any, real: Real) -> None:
    """Where they are no amounts of resources, which are rounded too."""
    body = pod(volumes=[{"name": "v", "emptyDir": {"sizeLimit": quantity}}])
    status, answer = real.ask("POST", f"{PODS}?dryRun=All", body)
    assert status == 201, answer.get("message")
    conform(body, struct("core.v1.Pod"))
    assert size_limit(body) == size_limit(answer)


def size_limit(pod: Body) -> Any:
    return pod["spec"]["volumes"][0]["emptyDir"]["sizeLimit"]


@pytest.mark.parametrize(
    "quantity", ["0.0001", "1.0001", "1u", "1500001n", "1.500", "1.2500000", "2", "1e-5"]
)
def test_amounts_of_resources_are_rounded_in_the_same_way(quantity: str, real: Real) -> None:
    body = asking(quantity)
    status, answer = real.ask("POST", f"{PODS}?dryRun=All", body)
    assert status == 201, answer.get("message")
    conform(body, struct("core.v1.Pod"))
    fill(body, struct("core.v1.Pod"))
    assert requests(body) == requests(answer)


def requests(pod: Body) -> Any:
    return pod["spec"]["containers"][0]["resources"]["requests"]


OF_THE_SERVER = {
    "apiVersion",
    "kind",
    "metadata.creationTimestamp",
    "metadata.managedFields",
    "metadata.namespace",
    "metadata.uid",
}


@pytest.mark.parametrize(
    ("type", "path", "body", "added"),
    BODIES,
    ids=[f"{number}-{each[0]}" for number, each in enumerate(BODIES)],
)
def test_a_body_is_read_and_filled_as_the_real_server_does_it(
    type: str, path: str, body: Body, added: set[str], real: Real
) -> None:
    body = deepcopy(body)
    status, answer = real.ask("POST", f"{path}?dryRun=All", body)
    assert status == 201, answer.get("message")
    assert conform(body, struct(type)) == []
    fill(body, struct(type))
    assert differences(body, answer, "") - OF_THE_SERVER == added
    again = deepcopy(body)
    assert conform(again, struct(type)) == []
    fill(again, struct(type))
    assert again == body


def differences(ours: Any, theirs: Any, path: str) -> set[str]:
    """The paths at which the real server has something more or else; what only we have is marked."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        found = {f"{path}.{key} is ours".lstrip(".") for key in ours.keys() - theirs.keys()}
        for key, value in theirs.items():
            place = f"{path}.{key}" if path else key
            found |= differences(ours[key], value, place) if key in ours else {place}
        return found
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return {found for place, (a, b) in pairs for found in differences(a, b, f"{path}[{place}]")}
    return set() if ours == theirs else {path}
