"""Devices of a class that pods ask for by an extended resource: the requests of the claim that is made for a
pod, as kube-scheduler 1.37.1 writes them."""

from typing import Any

import msgspec
import pytest

from maitred.model.devices.extended import extended_resources
from maitred.model.pod import PodSpec

GPU, NIC = "example.com/gpu", "example.com/nic"
Mappings = list[tuple[str, str]]


def container(name: str, sidecar: bool = False, **requests: int) -> dict[str, Any]:
    named = {"gpu": GPU, "nic": NIC, "cpu": "cpu"}
    asked = {named[key]: str(amount) for key, amount in requests.items()}
    made = {"name": name, "resources": {"requests": asked}}
    return {**made, "restartPolicy": "Always"} if sidecar else made


def asked(containers: list[Any], first: list[Any]) -> dict[str, tuple[dict[str, int], Mappings]]:
    spec = msgspec.convert({"containers": containers, "initContainers": first}, PodSpec)
    return {
        one.resource: ({request.name: request.count for request in one.requests}, list(one.mappings))
        for one in extended_resources(spec)
    }


def test_each_container_has_a_request_of_its_own_named_by_its_place_and_that_of_the_resource() -> None:
    found = asked([container("a", cpu=1, gpu=2), container("b", gpu=1, nic=1)], [])
    assert found == {
        GPU: (
            {"container-0-request-1": 2, "container-1-request-0": 1},
            [("a", "container-0-request-1"), ("b", "container-1-request-0")],
        ),
        NIC: ({"container-1-request-1": 1}, [("b", "container-1-request-1")]),
    }


@pytest.mark.parametrize(
    ("first", "requests", "mappings"),
    [
        pytest.param(
            [container("init", gpu=1)],
            {"container-1-request-0": 2},
            [("main", "container-1-request-0"), ("init", "container-1-request-0")],
            id="an init container uses the devices of those that come after it",
        ),
        pytest.param(
            [container("init", gpu=5)],
            {"container-0-request-0": 3, "container-1-request-0": 2},
            [
                ("main", "container-1-request-0"),
                ("init", "container-1-request-0"),
                ("init", "container-0-request-0"),
            ],
            id="one that wants more gets the rest",
        ),
        pytest.param(
            [container("small", gpu=3), container("large", gpu=4)],
            {"container-1-request-0": 2, "container-2-request-0": 2},
            [
                ("main", "container-2-request-0"),
                ("small", "container-2-request-0"),
                ("small", "container-1-request-0"),
                ("large", "container-2-request-0"),
                ("large", "container-1-request-0"),
            ],
            id="of several that want more, all use what is there for the largest",
        ),
        pytest.param(
            [container("side", sidecar=True, gpu=1), container("init", gpu=1)],
            {"container-0-request-0": 1, "container-2-request-0": 2},
            [
                ("side", "container-0-request-0"),
                ("main", "container-2-request-0"),
                ("init", "container-2-request-0"),
            ],
            id="a sidecar keeps its own, which init containers after it cannot use",
        ),
    ],
)
def test_init_containers(first: list[Any], requests: dict[str, int], mappings: Mappings) -> None:
    assert asked([container("main", gpu=2)], first)[GPU] == (requests, mappings)


def test_what_no_class_can_serve_is_left_out() -> None:
    spec = {"requests": {"cpu": "1", "memory": "1Gi", "hugepages-2Mi": "2Mi", GPU: "0"}}
    assert asked([{"name": "a", "resources": spec}], []) == {}
    implied = {"requests": {"deviceclass.resource.kubernetes.io/gpu": "1"}}
    assert list(asked([{"name": "a", "resources": implied}], [])) == list(implied["requests"])
