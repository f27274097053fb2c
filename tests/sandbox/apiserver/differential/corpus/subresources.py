"""Status, binding, eviction and the like, and what admission makes of pods."""

from typing import Any

from tests.sandbox.apiserver.differential.corpus.objects import job, node, of_kind, pod, pod_group
from tests.sandbox.apiserver.differential.requests import (
    JOBS,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITIES,
    Json,
    get,
    patch,
    post,
    put,
    story,
)

BUDGETS = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"


def binding(name: str, target: str, **metadata: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": name, **metadata},
        "target": {"kind": "Node", "name": target},
    }


def eviction(name: str, **rest: Any) -> Json:
    return {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}, **rest}


def budget(name: str, label: str, **spec: Any) -> Json:
    selector = {"matchLabels": {"app": label}}
    return of_kind("policy/v1", "PodDisruptionBudget", name, spec={"selector": selector, **spec})


STORIES = [
    story(
        "binding",
        post(PODS, pod("a")).named("a"),
        post(f"{PODS}/a/binding", binding("a", "n1")),
        get(f"{PODS}/a"),
        post(f"{PODS}/a/binding", binding("a", "n2")),
        post(f"{PODS}/none/binding", binding("none", "n1")),
        post(PODS, pod("b")),
        post(f"{PODS}/b/binding", binding("c", "n1")),
        post(f"{PODS}/b/binding", binding("b", "")),
        post(f"{PODS}/b/binding", {**binding("b", "n1"), "target": {"kind": "Rack", "name": "r1"}}),
        post(f"{PODS}/b/binding", binding("b", "n1", uid="$a.metadata.uid")),
        post(f"{PODS}/b/binding", binding("b", "n1", resourceVersion="1")),
        post(
            f"{PODS}/b/binding",
            binding("b", "n1", annotations={"why": "room"}, labels={"l": "m"}),
            dryRun="All",
        ),
        post(f"{PODS}/b/binding", binding("b", "n1", annotations={"why": "room"}, labels={"l": "m"})),
        get(f"{PODS}/b"),
        post(PODS, pod("gated", schedulingGates=[{"name": "example.dev/wait"}])),
        post(f"{PODS}/gated/binding", binding("gated", "n1")),
        patch("merge", f"{PODS}/gated", {"spec": {"schedulingGates": None}}),
        post(f"{PODS}/gated/binding", binding("gated", "n1")),
        post(PODS, pod("held", metadata={"finalizers": ["example.dev/hold"]})),
        post(PODS, pod("other")),
    ),
    story(
        "eviction",
        post(PODS, pod("free", nodeName="n1")),
        post(f"{PODS}/free/eviction", eviction("free"), dryRun="All"),
        post(f"{PODS}/free/eviction", eviction("free")),
        get(f"{PODS}/free"),
        post(f"{PODS}/none/eviction", eviction("none")),
        post(PODS, pod("a", nodeName="n1", metadata={"labels": {"app": "a"}})),
        post(BUDGETS, budget("a", "a", minAvailable=1)),
        post(f"{PODS}/a/eviction", eviction("a")),
        patch("merge", f"{PODS}/a/status", {"status": {"phase": "Running"}}),
        post(f"{PODS}/a/eviction", eviction("a")),
        patch(
            "merge",
            f"{BUDGETS}/a/status",
            {
                "status": {
                    "disruptionsAllowed": 1,
                    "currentHealthy": 2,
                    "desiredHealthy": 1,
                    "expectedPods": 2,
                    "observedGeneration": 1,
                },
            },
        ),
        post(f"{PODS}/a/eviction", eviction("a", deleteOptions={"gracePeriodSeconds": 3})),
        get(f"{PODS}/a"),
        get(f"{BUDGETS}/a"),
        post(PODS, pod("b", nodeName="n1", metadata={"labels": {"app": "b"}})),
        post(BUDGETS, budget("b1", "b", maxUnavailable=1)),
        post(BUDGETS, budget("b2", "b", maxUnavailable=1)),
        post(f"{PODS}/b/eviction", eviction("b")),
        post(PODS, pod("c")),
        post(f"{PODS}/c/eviction", eviction("d")),
        post(f"{PODS}/c/eviction", {}),
        post(f"{PODS}/c/eviction", eviction("c")),
        get(f"{PODS}/c"),
    ),
    story(
        "status",
        post(PODS, {**pod("a"), "status": {"phase": "Running"}}),
        patch("merge", f"{PODS}/a", {"status": {"phase": "Running"}}),
        patch("merge", f"{PODS}/a/status", {"status": {"phase": "Running"}, "spec": {"nodeName": "n1"}}),
        patch(
            "merge", f"{PODS}/a/status", {"metadata": {"labels": {"a": "b"}}, "status": {"podIP": "10.9.9.9"}}
        ),
        patch(
            "strategic",
            f"{PODS}/a/status",
            {
                "status": {
                    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
                }
            },
        ),
        get(f"{PODS}/a/status"),
        patch("merge", f"{PODS}/a/status", {"status": {"nominatedNodeName": "n1"}}),
        patch("merge", f"{PODS}/a/status", {"status": {"phase": "Sleeping"}}),
        post(NODES, {**node("{ns}-n"), "status": {"capacity": {"cpu": "4"}}}),
        patch(
            "merge",
            f"{NODES}/{{ns}}-n/status",
            {"status": {"allocatable": {"cpu": "0.5", "memory": "1024Ki"}}},
        ),
        patch("merge", f"{NODES}/{{ns}}-n/status", {"spec": {"unschedulable": True}}),
        post(POD_GROUPS, {**pod_group("g"), "status": {"conditions": []}}),
        patch(
            "merge",
            f"{POD_GROUPS}/g/status",
            {
                "status": {
                    "conditions": [
                        {
                            "type": "PodGroupInitiallyScheduled",
                            "status": "False",
                            "reason": "Unschedulable",
                            "message": "no room",
                            "lastTransitionTime": "2026-01-02T03:04:05Z",
                        }
                    ]
                }
            },
        ),
        patch("merge", f"{POD_GROUPS}/g/status", {"status": {"conditions": [{"type": "x"}]}}),
        post(JOBS, job("j")),
        patch("merge", f"{JOBS}/j/status", {"status": {"active": 1, "startTime": "2026-01-02T03:04:05Z"}}),
        patch("merge", f"{JOBS}/j/status", {"status": {"active": -1}}),
        patch(
            "merge",
            f"{JOBS}/j/status",
            {"status": {"conditions": [{"type": "Complete", "status": "True"}], "active": 0}},
        ),
        put(f"{PODS}/none/status", pod("none")),
    ),
    story(
        "priorities",
        post(PRIORITIES, of_kind("scheduling.k8s.io/v1", "PriorityClass", "{ns}-high", value=1000)),
        post(
            PRIORITIES,
            of_kind("scheduling.k8s.io/v1", "PriorityClass", "{ns}-meek", value=5, preemptionPolicy="Never"),
        ),
        post(PODS, pod("a", priorityClassName="{ns}-high")),
        post(PODS, pod("b", priorityClassName="{ns}-meek")),
        post(PODS, pod("c", priorityClassName="none")),
        post(PODS, pod("d", priority=7)),
        post(PODS, pod("e", priorityClassName="{ns}-high", priority=7)),
        post(PODS, pod("f", priorityClassName="system-node-critical")),
        post(PODS, pod("g", priorityClassName="{ns}-high", preemptionPolicy="Never")),
        post(PRIORITIES, of_kind("scheduling.k8s.io/v1", "PriorityClass", "system-mine", value=1)),
        post(PRIORITIES, of_kind("scheduling.k8s.io/v1", "PriorityClass", "{ns}-huge", value=1_000_000_001)),
        patch("merge", f"{PRIORITIES}/{{ns}}-high", {"value": 2}),
        get(f"{PRIORITIES}/system-cluster-critical"),
        post(POD_GROUPS, pod_group("g", priorityClassName="{ns}-high")),
        post(POD_GROUPS, pod_group("h", priorityClassName="none")),
        post(POD_GROUPS, pod_group("i")),
    ),
]
