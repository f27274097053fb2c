"""Bodies that are wrong, and what is said of them."""

from tests.sandbox.apiserver.differential.corpus.objects import (
    CONTAINER,
    config_map,
    job,
    pod,
    pod_group,
)
from tests.sandbox.apiserver.differential.requests import (
    CONFIG_MAPS,
    JOBS,
    POD_GROUPS,
    PODS,
    Json,
    patch,
    post,
    story,
)

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

STORIES = [
    story("bad-types", *(post(CONFIG_MAPS, body) for body in BAD_TYPES)),
    story(
        "bad-metadata",
        *(post(CONFIG_MAPS, {"metadata": metadata}) for metadata in BAD_METADATA),
        post(CONFIG_MAPS, {"metadata": {"name": "a", "annotations": {"a": "x" * 300_000}}}),
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
