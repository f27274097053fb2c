"""What of a policy does not suit a cluster."""

import json
from typing import Any

import pytest

from maitred.cli.policy import findings
from maitred.model.manifest import Reader, documents, read_policy

GPU = "nvidia.com/gpu"
MODEL = "nvidia.com/gpu.product"


def node(name: str, model: str, devices: int, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {MODEL: model, "pool": model[:4]}},
        "spec": spec,
        "status": {"allocatable": {"cpu": "96", GPU: str(devices)}},
    }


CLUSTER = [
    node("h1", "H100-SXM", 8),
    node("h2", "H100-SXM", 8, unschedulable=True),
    node("a1", "A100-PCIE", 4),
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "vision", "labels": {"team": "vision"}}},
]


def found(policy: str, objects: list[dict[str, Any]] | None = None) -> list[str]:
    reader = Reader()
    for one in CLUSTER if objects is None else objects:
        for document in documents(json.dumps(one).encode(), "cluster.yaml"):
            reader.take(document)
    return list(findings(read_policy(policy.encode(), "p.yaml")[0], reader.objects))


def queue(*limits: str, name: str = "a", more: str = "") -> str:
    return f"{{name: {name}, limits: [{', '.join(f'{{resource: {GPU}, {one}}}' for one in limits)}]{more}}}"


HAVE, ADD = "and healthy nodes have", "lower guarantees, or add nodes"


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (f"queues: [{queue('model: H100, guarantee: 8', 'cap: 20', 'model: A100, cap: 4')}]", []),
        (
            f"queues: [{queue('model: H100, guarantee: 9')}]",
            [
                f"queues are guaranteed 9 {GPU} on H100 (a 9), {HAVE} 8, unhealthy ones 8; {ADD}",
            ],
        ),
        (
            f"queues: [{queue('guarantee: 6')}, {queue('guarantee: 7', name='b')}]",
            [f"queues are guaranteed 13 {GPU} (b 7, a 6), {HAVE} 12, unhealthy ones 8; {ADD}"],
        ),
        # Each model has enough, and all together have not: a queue is guaranteed one model here, any there.
        (
            f"queues: [{queue('model: H100, guarantee: 8')}, {queue('guarantee: 5', name='b')}]",
            [f"queues are guaranteed 13 {GPU} (a 8, b 5), {HAVE} 12, unhealthy ones 8; {ADD}"],
        ),
        # What is guaranteed below a queue that says nothing is guaranteed to it.
        (
            f"queues: [{{name: top}}, {queue('model: A100, guarantee: 5', more=', parent: top')}]",
            [f"queues are guaranteed 5 {GPU} on A100 (top 5), {HAVE} 4; {ADD}"],
        ),
        (
            "nodes: {managed: {matchLabels: {pool: A100}}}\n" + f"queues: [{queue('guarantee: 5')}]",
            [f"queues are guaranteed 5 {GPU} (a 5), {HAVE} 4; {ADD}"],
        ),
        # Nodes that an autoscaler could add count, and there may be no end of them.
        (
            f"nodeTemplates: [{{name: t, max: 2, allocatable: {{{GPU}: 8}}}}]\n"
            f"queues: [{queue('guarantee: 29')}]",
            [f"queues are guaranteed 29 {GPU} (a 29), {HAVE} 28, unhealthy ones 8; {ADD}"],
        ),
        (
            f"nodeTemplates: [{{name: t, allocatable: {{{GPU}: 8}}}}]\n"
            f"queues: [{queue('guarantee: 99', 'model: H100, cap: 17')}]",
            [f"queues[0].limits[1].cap: 17 never limits anybody, as nodes have 16 {GPU} on H100"],
        ),
        (
            f"queues: [{queue('cap: 20, perUser: 20', 'model: L40S, cap: 1')}]",
            [f"queues[0].limits[1].cap: 1 never limits anybody, as nodes have no {GPU} on L40S"],
        ),
        (
            f"queues: [{queue('perUser: 21')}]",
            [f"queues[0].limits[0].perUser: 21 never limits anybody, as nodes have 20 {GPU}"],
        ),
        (
            "queues: [{name: a, namespaces: {matchLabels: {team: speech}}}]",
            [
                "queues[0].namespaces: no namespace matches, so nobody can use a; change the selector,"
                " or label a namespace"
            ],
        ),
        (
            "queues: [{name: a, namespaces: {matchLabels: {kubernetes.io/metadata.name: vision}}},"
            " {name: b, namespaces: {matchLabels: {team: vision}}}, {name: c, namespaces: {}}]",
            [],
        ),
        (
            f"queues: [{queue('cap: 4', more=', borrow: never')}]",
            [f"queues[0].borrow: a has no guarantee and borrows never, so it can use nothing of {GPU}"],
        ),
        (
            f"queues: [{queue('guarantee: 4')}, {{name: b, limits: [{{resource: cpu, cap: 4}}]}}]",
            [
                "queues[0].limits: a has no guarantee of cpu, which limits speak of, so all its groups that"
                " ask for cpu are borrowed; guarantee it cpu too"
            ],
        ),
    ],
)
def test_what_does_not_suit_the_cluster_is_told(policy: str, expected: list[str]) -> None:
    assert found(policy) == expected


def test_nothing_is_said_of_namespaces_that_are_not_in_the_files() -> None:
    nodes = [one for one in CLUSTER if one["kind"] == "Node"]
    assert not found("queues: [{name: a, namespaces: {matchLabels: {team: speech}}}]", nodes)


def test_nothing_is_said_of_resources_that_claims_serve() -> None:
    served = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"extendedResourceName": "example.com/gpu"},
    }
    policy = "queues: [{name: a, limits: [{resource: example.com/gpu, guarantee: 9, cap: 9}]}]"
    assert len(found(policy)) == 2
    assert not found(policy, [*CLUSTER, served])


@pytest.mark.parametrize(
    ("what", "expected"),
    [
        ("devices: {resource: nvidia.com/gpu, model: H100, count: 16}", []),
        (
            "devices: {resource: nvidia.com/gpu, model: H100, count: 17}",
            [
                "reservations[0].devices.count: 17 nvidia.com/gpu on H100 are reserved, and all nodes "
                "together have 16; reserve fewer, or add nodes"
            ],
        ),
        ("devices: {resource: nvidia.com/gpu, count: 16}, within: pool", []),
        (
            "devices: {resource: nvidia.com/gpu, count: 20}, within: pool",
            [
                "reservations[0].devices.count: 20 nvidia.com/gpu are reserved, and no pool has more than 16"
                "; reserve fewer, or add nodes"
            ],
        ),
        ("nodes: {matchLabels: {pool: H100}}", []),
        ("nodes: {matchLabels: {pool: B200}}", ["reservations[0].nodes: no node has these labels"]),
    ],
)
def test_reservations_of_more_than_there_is(what: str, expected: list[str]) -> None:
    when = "from: 2026-03-02T14:00, until: 2026-03-02T18:00"
    assert found(f"reservations: [{{name: demo, for: {{namespace: vision}}, {what}, {when}}}]") == expected
