"""Bytes as an API server sends them: watch events and pages of a list, stamped from a few templates."""

import random
from collections.abc import Iterator

import msgspec

from benchmarks.clusters import rack_of, zone_of
from benchmarks.dressing import dressed_node, dressed_pod
from benchmarks.objects import H100, Template, job_pod, node

PAGE = 500
JOB, INDEX, NODE, UID = "@job@", "@index@", "@node@", "@uid@"
MEMBERS = 64


def pod_template(bound: bool, running: bool = False) -> bytes:
    """A pod of an Indexed Job: just made, bound, or started by its kubelet."""
    pod = job_pod(JOB, INDEX, Template(), JOB, NODE if bound else "")
    pod["metadata"]["uid"] = UID
    if not running:
        pod["status"]["phase"] = "Pending"
    return msgspec.json.encode(dressed_pod(pod, 1))


def stamped(template: bytes, number: int, node_name: str) -> bytes:
    """The pod of this number: every string that differs between real pods differs here."""
    values = {
        JOB: f"job-{number // MEMBERS:05}",
        INDEX: str(number % MEMBERS),
        NODE: node_name,
        UID: str(uuid_like(number)),
    }
    for mark, value in values.items():
        template = template.replace(mark.encode(), value.encode())
    return template


def uuid_like(number: int) -> str:
    digits = f"{random.Random(number).getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def node_name(number: int) -> str:
    return f"gpu-{number:05}"


def event(kind: str, item: bytes) -> bytes:
    return b'{"type":"%s","object":%s}' % (kind.encode(), item)


def node_pages(nodes: int) -> Iterator[bytes]:
    for start in range(0, nodes, PAGE):
        yield page(
            "NodeList", [full_node(number, nodes) for number in range(start, min(nodes, start + PAGE))]
        )


def full_node(number: int, nodes: int) -> bytes:
    rack = rack_of(number, nodes)
    plain = node(node_name(number), f"rack-{rack:04}", zone_of(rack), H100)
    return msgspec.json.encode(dressed_node(plain, number))


def pod_pages(pods: int, nodes: int) -> Iterator[bytes]:
    template = pod_template(bound=True, running=True)
    for start in range(0, pods, PAGE):
        numbers = range(start, min(pods, start + PAGE))
        yield page("PodList", [stamped(template, n, node_name(n % nodes)) for n in numbers])


def page(kind: str, items: list[bytes]) -> bytes:
    return b'{"apiVersion":"v1","kind":"%s","items":[%s]}' % (kind.encode(), b",".join(items))
