"""Requests that few clients send: each of them was once answered otherwise than the real server does."""

from tests.sandbox.apiserver.differential.corpus.objects import (
    config_map,
    job,
    of_kind,
    pod,
)
from tests.sandbox.apiserver.differential.requests import (
    CONFIG_MAPS,
    JOBS,
    NODES,
    PODS,
    apply,
    delete,
    get,
    patch,
    post,
    put,
    story,
    watch,
)

MAP = f"{CONFIG_MAPS}/a"
MOMENT = "2026-01-02T03:04:05Z"
BUDGETS = "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets"
BINDINGS = "/api/v1/namespaces/{ns}/bindings"
HELD = config_map("a", metadata={"finalizers": ["example.dev/hold"]})


def budget(spare: int) -> dict[str, object]:
    return of_kind("policy/v1", "PodDisruptionBudget", "a", spec={"maxUnavailable": spare, "selector": {}})


STORIES = [
    story(
        "last-finalizer",
        post(CONFIG_MAPS, HELD),
        get(CONFIG_MAPS).named("begin"),
        watch(
            CONFIG_MAPS,
            delete(MAP),
            patch("merge", MAP, {"metadata": {"finalizers": None}, "data": {"last": "words"}}),
            post(CONFIG_MAPS, config_map("last")),
            until=("ADDED", "last"),
            resourceVersion="$begin.metadata.resourceVersion",
        ),
    ),
    story(
        "fields-of-the-server",
        post(CONFIG_MAPS, config_map("a")),
        put(MAP, config_map("a", metadata={"deletionTimestamp": MOMENT})),
        put(MAP, config_map("a", metadata={"deletionGracePeriodSeconds": 3})),
        patch("merge", MAP, {"metadata": {"deletionTimestamp": MOMENT}}),
        put(MAP, config_map("a", metadata={"creationTimestamp": MOMENT})),
        put(MAP, config_map("a", metadata={"selfLink": "x", "generation": 7})),
        put(MAP, config_map("a", metadata={"resourceVersion": "0"})),
        put(MAP, config_map("a", metadata={"resourceVersion": "1"})),
        post(CONFIG_MAPS, config_map("b", metadata={"resourceVersion": "7"})),
        post(CONFIG_MAPS, config_map("b", metadata={"resourceVersion": "7"}), dryRun="All"),
    ),
    story(
        "patches-of-the-type",
        post(CONFIG_MAPS, config_map("a")),
        patch("strategic", MAP, {"kind": "Foo"}),
        patch("strategic", MAP, {"apiVersion": "v2"}),
        patch("strategic", MAP, {"kind": "Foo", "data": {"x": "y"}}),
    ),
    story(
        "patches-that-empty",
        post(CONFIG_MAPS, config_map("a")),
        patch("strategic", MAP, {"$patch": "delete"}),
        patch("strategic", MAP, {"$patch": "replace"}),
        patch("json", MAP, [{"op": "replace", "path": "", "value": {}}]),
        patch("json", MAP, [{"op": "replace", "path": "", "value": ""}]),
        patch("json", MAP, [{"op": "remove", "path": "/metadata"}]),
        patch("merge", MAP, {"metadata": None}),
        patch("merge", MAP, {"metadata": {"name": None}}),
        patch("merge", MAP, {"metadata": {"name": ""}}),
        apply(MAP, {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "y"}}),
        apply(f"{CONFIG_MAPS}/new", {"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "y"}}),
        apply(f"{CONFIG_MAPS}/new", {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "other"}}),
    ),
    story(
        "deletions-of-nothing",
        delete(f"{CONFIG_MAPS}/none", {"propagationPolicy": "Sideways"}),
        delete(f"{CONFIG_MAPS}/none", propagationPolicy="Sideways"),
        delete(f"{CONFIG_MAPS}/none", {"dryRun": ["Some"]}),
        delete(f"{CONFIG_MAPS}/none", {"gracePeriodSeconds": "soon"}),
    ),
    story(
        "odd-objects",
        post(BUDGETS, budget(1)),
        put(f"{BUDGETS}/a", budget(2)),
        post(JOBS, job("x" * 64)),
        post(JOBS, job("x" * 63)),
        post(JOBS, job("x" * 64, completionMode="Indexed", completions=2)),
    ),
    story(
        "odd-queries",
        get(CONFIG_MAPS, limit="99999999999999999999"),
        get(CONFIG_MAPS, limit="-9223372036854775808"),
        get(CONFIG_MAPS, timeoutSeconds="x"),
        get(CONFIG_MAPS, timeoutSeconds="99999999999999999999"),
        get(CONFIG_MAPS, labelSelector="a\0b"),
        watch(CONFIG_MAPS, timeoutSeconds="x"),
    ),
    story(
        "odd-paths",
        get("/api/v1/pods/x"),
        get("/api/v1/pods/x/status"),
        get("/api/v1/namespaces/{ns}/nodes"),
        get("/api/v1/namespaces/{ns}/nodes/x"),
        delete("/api/v1/pods/x"),
        post("/api/v1/pods", pod("a")),
        get(f"{NODES}/x/nothing"),
    ),
    story(
        "warnings-of-refusals",
        post(PODS, {**pod("No Name"), "more": 1}),
        post(PODS, {**pod("No Name"), "more": 1}, fieldValidation="Ignore"),
        post(PODS, {**pod("a", runtimeClassName="none"), "more": 1}),
        post(CONFIG_MAPS, {**config_map("a"), "more": 1}),
        post(CONFIG_MAPS, {**config_map("a"), "more": 1}),
        put(MAP, {**config_map("a", metadata={"labels": {"a": "no value"}}), "more": 1}),
        patch("merge", MAP, {"metadata": {"labels": {"a": "no value"}}, "more": 1}),
        post(
            "/apis/events.k8s.io/v1/namespaces/{ns}/nothing",
            {**config_map("a"), "more": 1},
        ),
    ),
    story(
        "bindings",
        post(PODS, pod("a")),
        post(BINDINGS, {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}}),
        get(f"{PODS}/a"),
        post(BINDINGS, {"metadata": {"name": "a"}, "target": {"kind": "Node", "name": "n1"}}),
        post(BINDINGS, {"metadata": {"name": "none"}, "target": {"kind": "Node", "name": "n1"}}),
        post(BINDINGS, {"target": {"kind": "Node", "name": "n1"}}),
        post(BINDINGS, {"metadata": {"name": "a"}, "target": {"kind": "Pod", "name": "n1"}}),
        get(BINDINGS),
        get(f"{BINDINGS}/a"),
        delete(f"{BINDINGS}/a"),
    ),
]
