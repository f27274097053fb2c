"""Each kind made, read, changed and removed."""

from typing import Any

from tests.sandbox.apiserver.differential.corpus.objects import (
    config_map,
    job,
    namespace,
    node,
    of_kind,
    pod,
    pod_group,
)
from tests.sandbox.apiserver.differential.requests import (
    CONFIG_MAPS,
    JOBS,
    NAMESPACES,
    NODES,
    POD_GROUPS,
    PODS,
    PRIORITIES,
    Json,
    Story,
    delete,
    get,
    patch,
    post,
    put,
    story,
)

RBAC = "rbac.authorization.k8s.io"


def life(name: str, path: str, body: Json, changes: Json) -> Story:
    """Made, made again, read, replaced by itself, changed, removed, and gone."""
    one = f"{path}/{body['metadata']['name']}"
    return story(
        f"life-{name}",
        post(path, body).named("made"),
        post(path, body),
        get(one),
        put(one, "$made"),  # nothing changes, so neither does the version
        patch("merge", one, {"metadata": {"labels": {"a": "b"}}, **changes}),
        put(one, "$made"),  # a version that is no longer the last
        delete(one),
        get(one),
    )


def scheduling(version: str, kind: str, name: str, **rest: Any) -> Json:
    return of_kind(f"scheduling.k8s.io/{version}", kind, name, **rest)


def namespaced(group_version: str, resource: str) -> str:
    return f"/apis/{group_version}/namespaces/{{ns}}/{resource}"


EVENT_TIME = "2026-01-02T03:04:05.000006Z"

STORIES = [
    life("pod", PODS, pod("a"), {"spec": {"activeDeadlineSeconds": 60}}),
    life("config-map", CONFIG_MAPS, config_map("a", key="value"), {"data": {"key": None, "other": "value"}}),
    life("node", NODES, node("{ns}-a"), {"spec": {"unschedulable": True}}),
    life("namespace", NAMESPACES, namespace("{ns}-a"), {}),
    life("job", JOBS, job("a", parallelism=2), {"spec": {"parallelism": 3}}),
    life("pod-group", POD_GROUPS, pod_group("a"), {}),
    life(
        "workload",
        namespaced("scheduling.k8s.io/v1beta1", "workloads"),
        scheduling(
            "v1beta1",
            "Workload",
            "a",
            spec={"podGroupTemplates": [{"name": "w", "schedulingPolicy": {"gang": {"minCount": 3}}}]},
        ),
        {},
    ),
    life(
        "composite",
        namespaced("scheduling.k8s.io/v1alpha3", "compositepodgroups"),
        scheduling(
            "v1alpha3",
            "CompositePodGroup",
            "a",
            spec={
                "schedulingPolicy": {"gang": {"minGroupCount": 2}},
                "workloadRef": {"workloadName": "w", "templateName": "t"},
            },
        ),
        {},
    ),
    life(
        "priority", PRIORITIES, scheduling("v1", "PriorityClass", "{ns}-a", value=7), {"description": "seven"}
    ),
    life(
        "lease",
        namespaced("coordination.k8s.io/v1", "leases"),
        of_kind(
            "coordination.k8s.io/v1", "Lease", "a", spec={"holderIdentity": "me", "renewTime": EVENT_TIME}
        ),
        {"spec": {"leaseDurationSeconds": 15}},
    ),
    life(
        "event",
        "/api/v1/namespaces/{ns}/events",
        of_kind(
            "v1",
            "Event",
            "a",
            involvedObject={"kind": "Pod", "namespace": "{ns}", "name": "p"},
            reason="Why",
            message="because",
            type="Normal",
            source={"component": "me"},
            firstTimestamp="2026-01-02T03:04:05Z",
            lastTimestamp="2026-01-02T03:04:05Z",
            count=1,
        ),
        {"count": 2},
    ),
    life(
        "new-event",
        namespaced("events.k8s.io/v1", "events"),
        of_kind(
            "events.k8s.io/v1",
            "Event",
            "a",
            regarding={"kind": "Pod", "namespace": "{ns}", "name": "p"},
            reason="Why",
            note="because",
            action="Wait",
            type="Normal",
            eventTime=EVENT_TIME,
            reportingController="example.dev/me",
            reportingInstance="me-1",
        ),
        {"series": {"count": 2, "lastObservedTime": EVENT_TIME}},
    ),
    story(
        "two-event-apis",
        post(
            "/api/v1/namespaces/{ns}/events",
            of_kind(
                "v1",
                "Event",
                "a",
                involvedObject={"kind": "Pod", "namespace": "{ns}", "name": "p"},
                message="m",
                source={"component": "c", "host": "h"},
                count=3,
                lastTimestamp="2026-01-02T03:04:05Z",
            ),
        ),
        get(namespaced("events.k8s.io/v1", "events") + "/a"),
        get("/api/v1/namespaces/{ns}/events", fieldSelector="involvedObject.name=p"),
        get("/api/v1/namespaces/{ns}/events", fieldSelector="involvedObject.name=q"),
        get(namespaced("events.k8s.io/v1", "events"), fieldSelector="regarding.name=p"),
    ),
    life(
        "secret",
        "/api/v1/namespaces/{ns}/secrets",
        of_kind("v1", "Secret", "a", stringData={"key": "value"}),
        {"data": {"key": "b3RoZXI="}},
    ),
    life("account", "/api/v1/namespaces/{ns}/serviceaccounts", of_kind("v1", "ServiceAccount", "a"), {}),
    life(
        "service",
        "/api/v1/namespaces/{ns}/services",
        of_kind(
            "v1", "Service", "a", spec={"selector": {"a": "b"}, "clusterIP": "None", "ports": [{"port": 80}]}
        ),
        {"spec": {"selector": {"a": "c"}}},
    ),
    life(
        "volume",
        "/api/v1/persistentvolumes",
        of_kind(
            "v1",
            "PersistentVolume",
            "{ns}-a",
            spec={
                "capacity": {"storage": "1024Mi"},
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/data"},
                "storageClassName": "fast",
            },
        ),
        {"spec": {"persistentVolumeReclaimPolicy": "Delete"}},
    ),
    life(
        "claim",
        "/api/v1/namespaces/{ns}/persistentvolumeclaims",
        of_kind(
            "v1",
            "PersistentVolumeClaim",
            "a",
            spec={
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "fast",
            },
        ),
        {"spec": {"volumeName": "some-volume"}},
    ),
    life(
        "class",
        "/apis/storage.k8s.io/v1/storageclasses",
        of_kind("storage.k8s.io/v1", "StorageClass", "{ns}-a", provisioner="example.dev/disks"),
        {"allowVolumeExpansion": True},
    ),
    life(
        "csi-node",
        "/apis/storage.k8s.io/v1/csinodes",
        of_kind(
            "storage.k8s.io/v1", "CSINode", "{ns}-a", spec={"drivers": [{"name": "c.example", "nodeID": "n"}]}
        ),
        {"spec": {"drivers": []}},
    ),
    life(
        "csi-driver",
        "/apis/storage.k8s.io/v1/csidrivers",
        of_kind("storage.k8s.io/v1", "CSIDriver", "{ns}.a", spec={"volumeLifecycleModes": ["Ephemeral"]}),
        {"spec": {"storageCapacity": True}},
    ),
    life(
        "attachment",
        "/apis/storage.k8s.io/v1/volumeattachments",
        of_kind(
            "storage.k8s.io/v1",
            "VolumeAttachment",
            "{ns}-a",
            spec={"attacher": "c.example", "nodeName": "n", "source": {"persistentVolumeName": "v"}},
        ),
        {"metadata": {"annotations": {"c": "d"}}},
    ),
    life(
        "budget",
        namespaced("policy/v1", "poddisruptionbudgets"),
        of_kind(
            "policy/v1",
            "PodDisruptionBudget",
            "a",
            spec={"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
        ),
        {"spec": {"minAvailable": "50%"}},
    ),
    life(
        "role",
        namespaced(f"{RBAC}/v1", "roles"),
        of_kind(
            f"{RBAC}/v1",
            "Role",
            "a",
            rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        ),
        {"rules": []},
    ),
    life(
        "binding",
        namespaced(f"{RBAC}/v1", "rolebindings"),
        of_kind(
            f"{RBAC}/v1",
            "RoleBinding",
            "a",
            roleRef={"apiGroup": RBAC, "kind": "Role", "name": "a"},
            subjects=[{"kind": "User", "name": "someone"}],
        ),
        {"subjects": []},
    ),
    life(
        "cluster-role",
        f"/apis/{RBAC}/v1/clusterroles",
        of_kind(f"{RBAC}/v1", "ClusterRole", "{ns}-a", rules=[{"nonResourceURLs": ["/x"], "verbs": ["get"]}]),
        {},
    ),
    story(
        "generated-names",
        post(PODS, {**pod("a"), "metadata": {"generateName": "worker-"}}).named("one"),
        post(PODS, {**pod("a"), "metadata": {"generateName": "Worker_"}}),
        post(PODS, {**pod("a"), "metadata": {}}),
        post(PODS, {**pod("a"), "metadata": {"name": "b", "generateName": "c-"}}),
        post(CONFIG_MAPS, {"metadata": {"generateName": "a" * 250}}),
        get(PODS),
    ),
    story(
        "versions-of-an-object",
        post(CONFIG_MAPS, config_map("a", key="1")).named("first"),
        patch("merge", f"{CONFIG_MAPS}/a", {"data": {"key": "2"}}).named("second"),
        put(f"{CONFIG_MAPS}/a", "$first"),
        put(f"{CONFIG_MAPS}/a", config_map("a", key="3")),
        put(f"{CONFIG_MAPS}/a", config_map("a", metadata={"resourceVersion": "1"})),
        put(f"{CONFIG_MAPS}/a", config_map("a", metadata={"resourceVersion": "soon"})),
        put(f"{CONFIG_MAPS}/a", config_map("a", metadata={"uid": "3a3a3a3a-1111-2222-3333-444444444444"})),
        put(f"{CONFIG_MAPS}/a", config_map("b")),
        put(f"{CONFIG_MAPS}/a", config_map("a", metadata={"namespace": "other"})),
        put(f"{CONFIG_MAPS}/a", config_map("")),
        post(CONFIG_MAPS, config_map("c", metadata={"resourceVersion": "1"})),
        post(CONFIG_MAPS, config_map("c", metadata={"namespace": "other"})),
        post(CONFIG_MAPS, {**config_map("c"), "kind": "Secret"}),
        post(CONFIG_MAPS, {**config_map("c"), "apiVersion": "v2"}),
        post(CONFIG_MAPS, {"metadata": {"name": "bare"}, "data": {"a": "b"}}),
        patch("merge", f"{CONFIG_MAPS}/a", {"metadata": {"resourceVersion": "1"}}),
        patch("merge", f"{CONFIG_MAPS}/a", {"metadata": {"name": "b"}}),
        patch(
            "merge", f"{CONFIG_MAPS}/a", {"metadata": {"resourceVersion": "$second.metadata.resourceVersion"}}
        ),
    ),
]
