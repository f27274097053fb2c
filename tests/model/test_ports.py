"""Host ports: which a pod holds, and which pairs cannot be held on one node."""

import msgspec
import pytest

from maitred.model.needs import HostPort, host_ports
from maitred.model.pod import PodSpec
from maitred.verify import pods as checker
from maitred.verify.fields import Doc
from tests.oracle.builders import Obj, container, port


def held(spec: Obj) -> list[tuple[int, str, str]]:
    found = [(p.port, p.protocol, p.ip) for p in host_ports(msgspec.convert(spec, PodSpec))]
    assert checker.host_ports(Doc(spec, "p")) == {(ip, protocol, number) for number, protocol, ip in found}
    return found


def with_ports(*ports: Obj, **more: object) -> Obj:
    return {"containers": [{**container(), "ports": list(ports)}], **more}


ANY = "0.0.0.0"
HELD: dict[str, tuple[Obj, list[tuple[int, str, str]]]] = {
    "none": (with_ports(), []),
    "a container port": (with_ports({"containerPort": 80}), []),
    "a host port": (with_ports(port(80)), [(80, "TCP", ANY)]),
    "a protocol": (with_ports(port(80, "UDP")), [(80, "UDP", ANY)]),
    "an address": (with_ports(port(80, ip="127.0.0.1")), [(80, "TCP", "127.0.0.1")]),
    "in order, each once": (
        with_ports(port(81), port(80), port(81)),
        [(80, "TCP", ANY), (81, "TCP", ANY)],
    ),
    "container ports on the host's network": (
        with_ports({"containerPort": 80}, hostNetwork=True),
        [(80, "TCP", ANY)],
    ),
    "sidecars": (
        {"containers": [container()], "initContainers": [{**container(sidecar=True), "ports": [port(80)]}]},
        [(80, "TCP", ANY)],
    ),
    "not init containers": (
        {"containers": [container()], "initContainers": [{**container(), "ports": [port(80)]}]},
        [],
    ),
}


@pytest.mark.parametrize(("spec", "right"), HELD.values(), ids=HELD.keys())
def test_ports_that_a_pod_holds(spec: Obj, right: list[tuple[int, str, str]]) -> None:
    assert held(spec) == right


HOME = "127.0.0.1"
PAIRS: list[tuple[HostPort, HostPort, bool]] = [
    (HostPort(80, "TCP", ANY), HostPort(80, "TCP", ANY), True),
    (HostPort(80, "TCP", ANY), HostPort(81, "TCP", ANY), False),
    (HostPort(80, "TCP", ANY), HostPort(80, "UDP", ANY), False),
    (HostPort(80, "TCP", HOME), HostPort(80, "TCP", HOME), True),
    (HostPort(80, "TCP", HOME), HostPort(80, "TCP", "10.0.0.1"), False),
    (HostPort(80, "TCP", HOME), HostPort(80, "TCP", ANY), True),
    (HostPort(80, "TCP", "::1"), HostPort(80, "TCP", ANY), True),
]


@pytest.mark.parametrize(("one", "other", "right"), PAIRS)
def test_ports_that_exclude_each_other(one: HostPort, other: HostPort, right: bool) -> None:
    assert one.conflicts(other) is right
    assert other.conflicts(one) is right
