"""What a pod takes of a node, container by container."""

from typing import Any

import pytest

from maitred.verify.fields import Doc
from maitred.verify.pods import host_ports, pod_requests


def box(requests: dict[str, Any] | None = None, limits: dict[str, Any] | None = None, **more: Any) -> Any:
    return {"name": "c", "resources": {"requests": requests, "limits": limits}, **more}


def sidecar(**requests: str) -> Any:
    return box(requests, restartPolicy="Always")


CASES: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "no requests": ({"containers": [{"name": "c"}]}, {}),
    "containers add up": ({"containers": [box({"cpu": "1"}), box({"cpu": "500m"})]}, {"cpu": 1500}),
    "limits stand in": (
        {"containers": [box(None, {"cpu": "2", "memory": "1Ki"})]},
        {"cpu": 2000, "memory": 1024},
    ),
    "requests go before limits": ({"containers": [box({"cpu": "1"}, {"cpu": "2"})]}, {"cpu": 1000}),
    "zero request with a limit": ({"containers": [box({"cpu": "0"}, {"cpu": "2"})]}, {"cpu": 0}),
    "a large init container": (
        {"containers": [box({"cpu": "1"})], "initContainers": [box({"cpu": "3"}), box({"cpu": "2"})]},
        {"cpu": 3000},
    ),
    "a small init container": (
        {"containers": [box({"cpu": "3"})], "initContainers": [box({"cpu": "1"})]},
        {"cpu": 3000},
    ),
    "a sidecar stays": (
        {"containers": [box({"cpu": "1"})], "initContainers": [sidecar(cpu="2")]},
        {"cpu": 3000},
    ),
    "init after a sidecar": (
        {"containers": [box({"cpu": "1"})], "initContainers": [sidecar(cpu="2"), box({"cpu": "4"})]},
        {"cpu": 6000},
    ),
    "init before a sidecar": (
        {"containers": [box({"cpu": "1"})], "initContainers": [box({"cpu": "4"}), sidecar(cpu="2")]},
        {"cpu": 4000},
    ),
    "two sidecars and an init between": (
        {
            "containers": [box({"cpu": "1"})],
            "initContainers": [sidecar(cpu="1"), box({"cpu": "4"}), sidecar(cpu="3")],
        },
        {"cpu": 5000},
    ),
    "each resource by itself": (
        {
            "containers": [box({"cpu": "1", "memory": "8"})],
            "initContainers": [box({"cpu": "2", "memory": "4"})],
        },
        {"cpu": 2000, "memory": 8},
    ),
    "overhead on top": (
        {"containers": [box({"cpu": "1"})], "overhead": {"cpu": "250m", "memory": "10"}},
        {"cpu": 1250, "memory": 10},
    ),
    "pod-level request replaces": (
        {"containers": [box({"cpu": "1", "memory": "8"})], "resources": {"requests": {"cpu": "5"}}},
        {"cpu": 5000, "memory": 8},
    ),
    "pod-level request may be smaller than a limit": (
        {"containers": [box(None, {"cpu": "8"})], "resources": {"requests": {"cpu": "2"}}},
        {"cpu": 2000},
    ),
    "pod-level limit alone": (
        {"containers": [box()], "resources": {"limits": {"cpu": "5"}}},
        {"cpu": 5000},
    ),
    "pod-level limit over containers that ask": (
        {"containers": [box({"cpu": "1"})], "resources": {"limits": {"cpu": "5"}}},
        {"cpu": 1000},
    ),
    "pod-level huge pages": (
        {
            "containers": [box(None, {"hugepages-2Mi": "2Mi"})],
            "resources": {"limits": {"hugepages-2Mi": "4Mi"}},
        },
        {"hugepages-2Mi": 4 * 2**20},
    ),
    "pod-level leaves other resources": (
        {"containers": [box({"nvidia.com/gpu": "1"})], "resources": {"requests": {"nvidia.com/gpu": "8"}}},
        {"nvidia.com/gpu": 1},
    ),
    "pod-level and overhead": (
        {
            "containers": [box({"cpu": "1"})],
            "resources": {"requests": {"cpu": "2"}},
            "overhead": {"cpu": "1"},
        },
        {"cpu": 3000},
    ),
    "rounding comes last": (
        {"containers": [box({"memory": "500m"}), box({"memory": "500m"})]},
        {"memory": 1},
    ),
    "every CPU entry is at least a thousandth": (
        {"containers": [box({"cpu": "100u"}), box({"cpu": "100u"})]},
        {"cpu": 2},
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CASES.values(), ids=CASES.keys())
def test_requests(spec: dict[str, Any], expected: dict[str, int]) -> None:
    assert pod_requests(Doc(spec, "Pod")) == expected | {"pods": 1}


PORTS: dict[str, tuple[dict[str, Any], set[tuple[str, str, int]]]] = {
    "no host port": ({"containers": [{"ports": [{"containerPort": 80}]}]}, set()),
    "host port": (
        {"containers": [{"ports": [{"containerPort": 80, "hostPort": 8080}]}]},
        {("0.0.0.0", "TCP", 8080)},
    ),
    "address and protocol": (
        {"containers": [{"ports": [{"hostPort": 53, "hostIP": "10.0.0.1", "protocol": "UDP"}]}]},
        {("10.0.0.1", "UDP", 53)},
    ),
    "host network": (
        {"hostNetwork": True, "containers": [{"ports": [{"containerPort": 80}]}]},
        {("0.0.0.0", "TCP", 80)},
    ),
    "a sidecar keeps its port": (
        {"containers": [], "initContainers": [{"restartPolicy": "Always", "ports": [{"hostPort": 9}]}]},
        {("0.0.0.0", "TCP", 9)},
    ),
    "an init container does not": (
        {"containers": [], "initContainers": [{"ports": [{"hostPort": 9}]}]},
        set(),
    ),
}


@pytest.mark.parametrize(("spec", "expected"), PORTS.values(), ids=PORTS.keys())
def test_host_ports(spec: dict[str, Any], expected: set[tuple[str, str, int]]) -> None:
    assert host_ports(Doc(spec, "Pod")) == expected
