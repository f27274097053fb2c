"""Bodies that are wrong, and what is said of them."""

from typing import Any

from tests.sandbox.differential.corpus.objects import (
    CONTAINER,
    config_map,
    job,
    node,
    of_kind,
    pod,
    pod_group,
)
from tests.sandbox.differential.requests import (
    CONFIG_MAPS,
    JOBS,
    NODES,
    POD_GROUPS,
    PODS,
    Json,
    patch,
    post,
    story,
)

WORKLOADS = "/apis/scheduling.k8s.io/v1beta1/namespaces/{ns}/workloads"


def container(**fields: Any) -> Json:
    return {"containers": [{**CONTAINER, **fields}]}


BAD_PODS: list[Json] = [
    {"containers": []},
    {"containers": None},
    container(name="Not_A_Name"),
    container(image=""),
    container(imagePullPolicy="Perhaps"),
    container(resources={"requests": {"cpu": "much"}}),
    container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}),
    container(resources={"requests": {"example.dev/gpu": "1"}}),
    container(resources={"limits": {"example.dev/gpu": "1.5"}}),
    container(resources={"requests": {"cpu": "-1"}}),
    container(ports=[{"containerPort": 70000}]),
    container(ports=[{"containerPort": 80, "name": "x"}, {"containerPort": 81, "name": "x"}]),
    container(env=[{"name": ""}]),
    container(env=[{"name": "A", "value": "b", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]),
    container(volumeMounts=[{"name": "none", "mountPath": "/data"}]),
    {"containers": [CONTAINER, CONTAINER]},
    {"restartPolicy": "Perhaps"},
    {"nodeName": "Not_A_Name"},
    {"nodeSelector": {"a b": "c"}},
    {"tolerations": [{"operator": "Equal", "value": "x"}]},
    {"tolerations": [{"key": "a", "operator": "Like"}]},
    {"tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5}]},
    {"terminationGracePeriodSeconds": -1},
    {"activeDeadlineSeconds": 0},
    {"schedulingGates": [{"name": "a"}, {"name": "a"}]},
    {"schedulingGates": [{"name": "a"}], "nodeName": "n1"},
    {"schedulingGroup": {"podGroupName": "Not_A_Name"}},
    {"schedulingGroup": {}},
    {
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": []}}
        }
    },
    {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": ""}]}}},
    {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Perhaps"}]},
    {"volumes": [{"name": "a"}]},
    {"volumes": [{"name": "a", "emptyDir": {}, "hostPath": {"path": "/"}}]},
    {"volumes": [{"name": "a", "emptyDir": {}}, {"name": "a", "emptyDir": {}}]},
    {"dnsPolicy": "Perhaps"},
    {"hostAliases": [{"ip": "x"}]},
    {"resourceClaims": [{"name": "a"}]},
    {"overhead": {"cpu": "1"}},
    {"priorityClassName": "Not_A_Name"},
    {"os": {"name": "beos"}},
]
BAD_TYPES: list[Json | str] = [
    {"metadata": {"name": 1}},
    {"metadata": {"name": "a", "labels": {"a": 1}}},
    {"metadata": {"name": "a", "labels": []}},
    {"metadata": []},
    {"metadata": {"name": "a"}, "data": "x"},
    {"metadata": {"name": "a"}, "data": {"a": {"b": "c"}}},
    {"metadata": {"name": "a"}, "immutable": "yes"},
    {"metadata": {"name": "a"}, "binaryData": {"a": "not base64!"}},
    {"metadata": {"name": "a", "creationTimestamp": "yesterday"}},
    {"metadata": {"name": "a", "generation": 1.5}},
    "[]",
    "{",
    "",
    "null",
    '"text"',
    '{"metadata": {"name": "a", "name": "b"}}',
]
BAD_METADATA: list[Json] = [
    {"name": "Not_A_Name"},
    {"name": "x" * 254},
    {"name": "a", "labels": {"bad key!": "x"}},
    {"name": "a", "labels": {"a": "x" * 64}},
    {"name": "a", "annotations": {"bad key!": "x"}},
    {"name": "a", "ownerReferences": [{"kind": "Job", "name": "x"}]},
    {
        "name": "a",
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": n, "uid": n, "controller": True} for n in "xy"
        ],
    },
    {"name": "a.."},
    {"name": "a/b"},
]
BAD_JOBS: list[Json] = [
    {"parallelism": -1},
    {"completionMode": "Perhaps"},
    {"completionMode": "Indexed"},
    {"backoffLimit": -1},
    {"completions": 2, "completionMode": "Indexed", "backoffLimitPerIndex": -1},
    {"activeDeadlineSeconds": -1},
    {"ttlSecondsAfterFinished": -1},
    {"template": {"spec": {"containers": [CONTAINER]}}},
    {"template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Always"}}},
    {"template": {"spec": {"containers": [], "restartPolicy": "Never"}}},
    {"selector": {"matchLabels": {"a": "b"}}},
    {"manualSelector": True, "selector": {"matchLabels": {"a": "b"}}},
    {"podFailurePolicy": {"rules": [{"action": "Perhaps"}]}},
    {"podReplacementPolicy": "Perhaps"},
    {"suspend": "yes"},
]
BAD_GROUPS: list[Json] = [
    {"schedulingPolicy": {}},
    {"schedulingPolicy": {"gang": {}}},
    {"schedulingPolicy": {"gang": {"minCount": 0}}},
    {"schedulingPolicy": {"gang": {"minCount": 2}, "basic": {}}},
    {"schedulingPolicy": {"gang": {"minCount": "two"}}},
    {"workloadRef": {}},
    {"workloadRef": {"workloadName": "w", "templateName": "Not_A_Name"}},
    {"schedulingConstraints": {"topology": [{"key": ""}]}},
    {"schedulingConstraints": {"topology": [{"key": "a"}, {"key": "b"}]}},
    {"disruptionMode": {}},
    {"disruptionMode": {"all": {}, "single": {}}},
    {"priority": 3},
    {"resourceClaims": [{"name": "a"}]},
]

STORIES = [
    story("bad-pods", *(post(PODS, pod("a", **spec)) for spec in BAD_PODS)),
    story("bad-types", *(post(CONFIG_MAPS, body) for body in BAD_TYPES)),
    story(
        "bad-metadata",
        *(post(CONFIG_MAPS, {"metadata": metadata}) for metadata in BAD_METADATA),
        post(CONFIG_MAPS, {"metadata": {"name": "a", "annotations": {"a": "x" * 300_000}}}),
    ),
    story("bad-jobs", *(post(JOBS, job("a", **spec), dryRun="All") for spec in BAD_JOBS)),
    story("bad-groups", *(post(POD_GROUPS, pod_group("a", **spec)) for spec in BAD_GROUPS)),
    story(
        "bad-others",
        post(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"bad key!": "x"}}),
        post(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "v"}, "binaryData": {"k": "dg=="}}),
        post(CONFIG_MAPS, {"metadata": {"name": "a"}, "data": {"k": "x" * 1_100_000}}),
        post(NODES, node("{ns}-n", taints=[{"key": "a", "effect": "Perhaps"}])),
        post(NODES, node("{ns}-n", taints=[{"key": "a", "effect": "NoSchedule"}] * 2)),
        post(NODES, node("{ns}-n", podCIDR="nonsense")),
        post(WORKLOADS, of_kind("scheduling.k8s.io/v1beta1", "Workload", "a", spec={})),
        post(
            WORKLOADS,
            of_kind(
                "scheduling.k8s.io/v1beta1",
                "Workload",
                "a",
                spec={"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"basic": {}}}] * 2},
            ),
        ),
        post(
            "/apis/coordination.k8s.io/v1/namespaces/{ns}/leases",
            of_kind("coordination.k8s.io/v1", "Lease", "a", spec={"leaseDurationSeconds": 0}),
        ),
        post(
            "/apis/policy/v1/namespaces/{ns}/poddisruptionbudgets",
            of_kind("policy/v1", "PodDisruptionBudget", "a", spec={"minAvailable": 1, "maxUnavailable": 1}),
        ),
        post("/api/v1/namespaces/{ns}/events", of_kind("v1", "Event", "a")),
        post(
            "/apis/events.k8s.io/v1/namespaces/{ns}/events",
            of_kind("events.k8s.io/v1", "Event", "a", eventTime="2026-01-02T03:04:05.000006Z"),
        ),
        post(
            "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}/roles",
            of_kind("rbac.authorization.k8s.io/v1", "Role", "a", rules=[{"verbs": []}]),
        ),
        post(
            "/apis/storage.k8s.io/v1/storageclasses",
            of_kind("storage.k8s.io/v1", "StorageClass", "{ns}-a", volumeBindingMode="Perhaps"),
        ),
        post(
            "/api/v1/namespaces/{ns}/persistentvolumeclaims",
            of_kind("v1", "PersistentVolumeClaim", "a", spec={}),
        ),
        post("/api/v1/persistentvolumes", of_kind("v1", "PersistentVolume", "{ns}-a", spec={})),
    ),
    story(
        "unknown-fields",
        post(CONFIG_MAPS, {**config_map("a"), "nothing": 1}),
        post(CONFIG_MAPS, {**config_map("b"), "nothing": 1}, fieldValidation="Warn"),
        post(CONFIG_MAPS, {**config_map("c"), "nothing": 1}, fieldValidation="Ignore"),
        post(CONFIG_MAPS, {**config_map("d"), "nothing": 1}, fieldValidation="Strict"),
        post(CONFIG_MAPS, {**config_map("e"), "nothing": 1}, fieldValidation="Perhaps"),
        post(
            PODS,
            pod(
                "a",
                containers=[{**CONTAINER, "nothing": 1, "ports": [{"containerPort": 1, "port": 1}]}],
                more=True,
            ),
        ),
        post(PODS, pod("b", containers=[{**CONTAINER, "nothing": 1}], more=True), fieldValidation="Strict"),
        patch("merge", f"{PODS}/a", {"spec": {"more": 1}}),
        patch("strategic", f"{PODS}/a", {"spec": {"more": 1}}, fieldValidation="Strict"),
        patch(
            "json", f"{PODS}/a", [{"op": "add", "path": "/spec/more", "value": 1}], fieldValidation="Strict"
        ),
        post(CONFIG_MAPS, {**config_map("h"), "Data": {"case": "matters"}}),
        post(CONFIG_MAPS, '{"metadata": {"name": "i"}, "data": {"a": "1", "a": "2"}}'),
        post(
            CONFIG_MAPS, '{"metadata": {"name": "j"}, "data": {"a": "1", "a": "2"}}', fieldValidation="Strict"
        ),
    ),
    story(
        "immutable",
        post(PODS, pod("a")),
        patch("merge", f"{PODS}/a", {"spec": {"nodeName": "n1"}}),
        patch("merge", f"{PODS}/a", {"spec": {"restartPolicy": "Never"}}),
        patch("merge", f"{PODS}/a", {"spec": {"schedulerName": "maitred"}}),
        patch(
            "merge",
            f"{PODS}/a",
            {"spec": {"containers": [{**CONTAINER, "image": "registry.example/work:2"}]}},
        ),
        patch("merge", f"{PODS}/a", {"spec": {"tolerations": [{"key": "k", "operator": "Exists"}]}}),
        patch("merge", f"{PODS}/a", {"spec": {"schedulingGates": [{"name": "a"}]}}),
        patch("merge", f"{PODS}/a", {"spec": {"nodeSelector": {"a": "b"}}}),
        post(PODS, pod("g", schedulingGates=[{"name": "a"}, {"name": "b"}])),
        patch("merge", f"{PODS}/g", {"spec": {"schedulingGates": [{"name": "a"}]}}),
        patch("merge", f"{PODS}/g", {"spec": {"nodeSelector": {"a": "b"}}}),
        patch("merge", f"{PODS}/g", {"spec": {"nodeSelector": {"a": "c"}}}),
        post(JOBS, job("a", completions=2)),
        patch("merge", f"{JOBS}/a", {"spec": {"completions": 3}}),
        patch("merge", f"{JOBS}/a", {"spec": {"template": {"spec": {"restartPolicy": "OnFailure"}}}}),
        patch("merge", f"{JOBS}/a", {"spec": {"suspend": True}}),
        post(CONFIG_MAPS, {**config_map("a", x="1"), "immutable": True}),
        patch("merge", f"{CONFIG_MAPS}/a", {"data": {"x": "2"}}),
        patch("merge", f"{CONFIG_MAPS}/a", {"immutable": False}),
        post(POD_GROUPS, pod_group("a")),
        patch("merge", f"{POD_GROUPS}/a", {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}}),
        patch("merge", f"{POD_GROUPS}/a", {"spec": {"schedulingPolicy": {"gang": None, "basic": {}}}}),
        patch("merge", f"{POD_GROUPS}/a", {"metadata": {"creationTimestamp": "2020-01-01T00:00:00Z"}}),
        patch("merge", f"{POD_GROUPS}/a", {"metadata": {"uid": "x"}}),
    ),
    story(
        "canonical-forms",
        post(
            PODS,
            pod(
                "a",
                containers=[
                    {
                        **CONTAINER,
                        "resources": {
                            "requests": {"cpu": "0.5", "memory": "1024Mi", "example.dev/gpu": 2},
                            "limits": {"cpu": "1000m", "memory": "1e9", "example.dev/gpu": "2"},
                        },
                        "ports": [{"containerPort": 80}],
                        "livenessProbe": {"httpGet": {"port": "http"}},
                        "env": [{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
                    },
                    {"name": "latest", "image": "registry.example/work", "args": []},
                ],
                initContainers=[{"name": "init", "image": "registry.example/init:1"}],
                volumes=[{"name": "v", "emptyDir": {}}, {"name": "c", "configMap": {"name": "c"}}],
                affinity={},
                nodeSelector={},
                tolerations=[
                    {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}
                ],
                securityContext={"runAsUser": 0},
                topologySpreadConstraints=[
                    {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
                ],
                hostNetwork=True,
            ),
        ),
        post(PODS, pod("b", metadata={"labels": {}, "annotations": None, "finalizers": []}, nodeName="")),
        post(PODS, pod("c", schedulingGroup={"podGroupName": "g"}, schedulerName="maitred")),
        post(JOBS, job("a", completions=4, parallelism=4, completionMode="Indexed", suspend=True)),
        post(JOBS, job("b", scheduling={"schedulingPolicy": {"gang": {}}})),
    ),
]
