"""Bodies of all kinds that the real API server takes, with what it adds that is not for the schema to say."""

from copy import deepcopy
from typing import Any

from maitred.sandbox.apiserver.schema.types import Body

PODS = "/api/v1/namespaces/default/pods"
SCHEDULING = "/apis/scheduling.k8s.io/v1beta1/namespaces/default"
CONTAINER: Body = {"name": "c", "image": "i:1"}


def pod(**spec: Any) -> Body:
    return {"metadata": {"name": "a"}, "spec": {"containers": [deepcopy(CONTAINER)], **spec}}


def volume(**source: Any) -> Body:
    return {"name": next(iter(source)).lower(), **source}


BODIES: list[tuple[str, str, Body, set[str]]] = [
    # The type, where it is created, what is sent, and fields that the rules of the kind add.
    (
        "core.v1.Pod",
        PODS,
        pod(
            hostNetwork=False,
            nodeSelector={},
            securityContext=None,
            serviceAccountName="default",
            containers=[
                {
                    **CONTAINER,
                    "args": [],
                    "command": [None, ""],
                    "env": [
                        {"name": "A", "value": ""},
                        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
                        {"name": "C", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
                        {"name": "D", "valueFrom": {"configMapKeyRef": {"key": "k", "name": "n"}}},
                    ],
                    "livenessProbe": {"grpc": {"port": 1}, "initialDelaySeconds": 0},
                    "readinessProbe": {"httpGet": {"port": 80}, "timeoutSeconds": 0},
                    "startupProbe": {"tcpSocket": {"port": "http"}},
                    "lifecycle": {"preStop": {"exec": {"command": ["x"]}}},
                    "ports": [{"containerPort": 80, "name": "http"}],
                    "resources": {"requests": {"memory": "1024Mi", "cpu": 0.5}, "limits": None},
                    "securityContext": {},
                    "stdin": False,
                }
            ],
            volumes=[
                volume(emptyDir={}),
                volume(hostPath={"path": "/x"}),
                volume(secret={"secretName": "s"}),
                volume(configMap={"name": "m", "items": []}),
                volume(downwardAPI={"items": [{"path": "p", "fieldRef": {"fieldPath": "metadata.uid"}}]}),
                volume(projected={"sources": [{"serviceAccountToken": {"path": "t"}}]}),
                volume(iscsi={"targetPortal": "1.2.3.4", "iqn": "iqn.2001-04.com.example:x", "lun": 0}),
                volume(azureDisk={"diskName": "d", "diskURI": "https://a.example.com/d.vhd"}),
                volume(
                    ephemeral={
                        "volumeClaimTemplate": {
                            "spec": {
                                "accessModes": ["ReadWriteOnce"],
                                "resources": {"requests": {"storage": "1.5Gi"}},
                            }
                        }
                    }
                ),
            ],
            tolerations=[{"operator": "Exists"}],
            topologySpreadConstraints=[
                {"maxSkew": 1, "topologyKey": "k", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
            ],
        ),
        {
            "spec.containers[0].imagePullPolicy",
            "spec.enableServiceLinks",
            "spec.preemptionPolicy",
            "spec.priority",
            "spec.serviceAccount",
            "status.phase",
            "status.qosClass",
            "metadata.generation",
        },
    ),
    (
        "batch.v1.Job",
        "/apis/batch/v1/namespaces/default/jobs",
        {
            "metadata": {"name": "a", "labels": {"x": "y"}},
            "spec": {
                "backoffLimit": 0,
                "manualSelector": True,
                "selector": {"matchLabels": {"x": "y"}},
                "template": {
                    "metadata": {"labels": {"x": "y"}},
                    "spec": {"containers": [CONTAINER], "restartPolicy": "Never"},
                },
                "podFailurePolicy": {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "T"}]}]},
            },
        },
        {
            "metadata.generation",
            "spec.completions",
            "spec.parallelism",
            "spec.podReplacementPolicy",
            "spec.template.spec.containers[0].imagePullPolicy",
        },
    ),
    (
        "core.v1.Node",
        "/api/v1/nodes",
        {
            "metadata": {"name": "a"},
            "spec": {"podCIDRs": [], "taints": [{"key": "k", "effect": "NoSchedule"}]},
        },
        {"spec.taints"},
    ),
    (
        "core.v1.Node",
        "/api/v1/nodes",
        {
            "metadata": {"name": "a"},
            "status": {
                "capacity": {"memory": "2048Mi"},
                "allocatable": {"memory": "2048Mi"},
                "conditions": [{"type": "Ready", "status": "True"}],
                "images": [{"sizeBytes": 1}],
            },
        },
        {"spec.taints"},
    ),
    (
        "core.v1.Namespace",
        "/api/v1/namespaces",
        {"metadata": {"name": "a"}},
        {"metadata.labels", "spec.finalizers"},
    ),
    (
        "core.v1.ConfigMap",
        "/api/v1/namespaces/default/configmaps",
        {
            "metadata": {"name": "a", "labels": {}, "annotations": {"x": None}, "finalizers": []},
            "data": {"a": None, "b": ""},
            "binaryData": {"c": ""},
            "immutable": False,
        },
        set(),
    ),
    (
        "core.v1.Secret",
        "/api/v1/namespaces/default/secrets",
        {"metadata": {"name": "a"}, "data": {"k": "YQ=="}},
        set(),
    ),
    (
        "core.v1.ServiceAccount",
        "/api/v1/namespaces/default/serviceaccounts",
        {"metadata": {"name": "a"}, "secrets": [{}]},
        set(),
    ),
    (
        "core.v1.Event",
        "/api/v1/namespaces/default/events",
        {
            "metadata": {"name": "a"},
            "involvedObject": {"namespace": "default"},
            "firstTimestamp": "2024-01-01T01:00:00.5+01:00",
            "series": {"count": 0},
        },
        set(),
    ),
    (
        "events.v1.Event",
        "/apis/events.k8s.io/v1/namespaces/default/events",
        {
            "metadata": {"name": "a"},
            "eventTime": "2024-01-01T00:00:00.123456+02:00",
            "reportingController": "example.com/c",
            "reportingInstance": "i",
            "action": "Act",
            "reason": "Reason",
            "type": "Normal",
            "regarding": {"namespace": "default"},
        },
        set(),
    ),
    (
        "core.v1.PersistentVolume",
        "/api/v1/persistentvolumes",
        {
            "metadata": {"name": "a"},
            "spec": {
                "capacity": {"storage": "1024Gi"},
                "accessModes": ["ReadWriteOnce"],
                "csi": {"driver": "d", "volumeHandle": "h"},
            },
        },
        {"metadata.finalizers", "status.lastPhaseTransitionTime"},
    ),
    (
        "core.v1.PersistentVolumeClaim",
        "/api/v1/namespaces/default/persistentvolumeclaims",
        {
            "metadata": {"name": "a"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1024Mi"}},
                "dataSourceRef": {"kind": "PersistentVolumeClaim", "name": "b"},
            },
        },
        {"metadata.finalizers", "spec.dataSource"},
    ),
    (
        "core.v1.Service",
        "/api/v1/namespaces/default/services",
        {
            "metadata": {"name": "a"},
            "spec": {"clusterIP": "None", "ports": [{"port": 80, "targetPort": "x"}]},
        },
        {"spec.clusterIPs", "spec.internalTrafficPolicy", "spec.ipFamilies", "spec.ipFamilyPolicy"},
    ),
    (
        "scheduling.v1beta1.PodGroup",
        f"{SCHEDULING}/podgroups",
        {"metadata": {"name": "a"}, "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}}},
        {"metadata.finalizers", "spec.priority"},
    ),
    (
        "scheduling.v1beta1.Workload",
        f"{SCHEDULING}/workloads",
        {
            "metadata": {"name": "a"},
            "spec": {"podGroupTemplates": [{"name": "t", "schedulingPolicy": {"basic": {}}}]},
        },
        set(),
    ),
    (
        "scheduling.v1alpha3.CompositePodGroup",
        "/apis/scheduling.k8s.io/v1alpha3/namespaces/default/compositepodgroups",
        {
            "metadata": {"name": "a"},
            "spec": {
                "schedulingPolicy": {"basic": {}},
                "workloadRef": {"workloadName": "w", "templateName": "t"},
            },
        },
        {"spec.priority"},
    ),
    (
        "scheduling.v1.PriorityClass",
        "/apis/scheduling.k8s.io/v1/priorityclasses",
        {"metadata": {"name": "a"}, "value": 0},
        {"metadata.generation"},
    ),
    (
        "coordination.v1.Lease",
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        {
            "metadata": {"name": "a"},
            "spec": {"holderIdentity": "", "leaseTransitions": 0, "renewTime": "2024-01-01T00:00:00.000001Z"},
        },
        set(),
    ),
    (
        "storage.v1.StorageClass",
        "/apis/storage.k8s.io/v1/storageclasses",
        {"metadata": {"name": "a"}, "provisioner": "p", "allowVolumeExpansion": False},
        set(),
    ),
    (
        "storage.v1.CSINode",
        "/apis/storage.k8s.io/v1/csinodes",
        {"metadata": {"name": "a"}, "spec": {"drivers": [{"name": "d", "nodeID": "n"}]}},
        set(),
    ),
    (
        "policy.v1.PodDisruptionBudget",
        "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
        {"metadata": {"name": "a"}, "spec": {"minAvailable": 0, "selector": {}}},
        {"metadata.generation"},
    ),
    (
        "rbac.v1.ClusterRole",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        {"metadata": {"name": "a"}, "rules": []},
        set(),
    ),
    (
        "rbac.v1.RoleBinding",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings",
        {
            "metadata": {"name": "a"},
            "roleRef": {"kind": "Role", "name": "r"},
            "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "default"}],
        },
        set(),
    ),
    (
        "apiextensions.v1.CustomResourceDefinition",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        {
            "metadata": {"name": "as.example.com"},
            "spec": {
                "group": "example.com",
                "names": {"plural": "as", "kind": "A", "singular": "a", "listKind": "AList"},
                "scope": "Cluster",
                "versions": [
                    {
                        "name": "v1",
                        "served": True,
                        "storage": True,
                        "schema": {
                            "openAPIV3Schema": {
                                "type": "object",
                                "properties": {"spec": {"type": "object", "nullable": False, "default": {}}},
                            }
                        },
                    }
                ],
            },
        },
        {"metadata.generation", "status.storedVersions"},
    ),
]
