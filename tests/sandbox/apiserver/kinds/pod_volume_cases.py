"""Volumes of pods to be created, good and bad, and where each bad one is wrong."""

from tests.sandbox.apiserver.kinds.making import FIRST, MAIN, of_container, of_pod, of_volume

OF_POD_VOLUMES = (
    of_volume("without source"),
    of_volume("of all kinds", hostPath={"path": "/"}),
    of_volume("no name", "name: Required", name=""),
    of_volume("bad name", "name: Invalid", name="a.b"),
    of_volume("two sources", "hostPath: Forbidden", emptyDir={}, hostPath={"path": "/"}),
    of_pod("two of a name", "spec.volumes[1].name: Duplicate", volumes=[{"name": "v"}, {"name": "v"}]),
    of_volume("negative size", "emptyDir.sizeLimit: Forbidden", emptyDir={"sizeLimit": "-1"}),
    of_volume("no path", "hostPath.path: Required", hostPath={"path": ""}),
    of_volume("path up", "hostPath.path: Invalid", hostPath={"path": "/a/../b"}),
    of_volume("bad kind of path", "hostPath.type: Unsupported", hostPath={"path": "/", "type": "Pipe"}),
    of_volume("secret", secret={"secretName": "s", "items": [{"key": "a", "path": "b"}]}),
    of_volume("no secret", "secret.secretName: Required", secret={}),
    of_volume("bad mode", "configMap.defaultMode: Invalid", configMap={"name": "c", "defaultMode": 512}),
    of_volume(
        "bad items",
        "configMap.name: Required",
        "configMap.items[0].key: Required",
        "configMap.items[0].path: Required",
        "configMap.items[1].path: Invalid",
        "configMap.items[2].path: Invalid",
        "configMap.items[3].path: Invalid",
        configMap={
            "items": [
                {"key": "", "path": ""},
                {"key": "a", "path": "/a"},
                {"key": "a", "path": "a/.."},
                {"key": "a", "path": "..a"},
            ]
        },
    ),
    of_volume("claim", persistentVolumeClaim={"claimName": "data"}),
    of_volume(
        "no claim", "persistentVolumeClaim.claimName: Required", persistentVolumeClaim={"claimName": ""}
    ),
    of_volume("relative path", "nfs.path: Invalid", nfs={"server": "s", "path": "a"}),
    of_volume("no driver", "csi.driver: Required", csi={"driver": ""}),
    of_volume("bad driver", "csi.driver: Invalid", csi={"driver": "a b"}),
    of_volume("image", image={"reference": "example.dev/model"}),
    of_volume("no image", "image.reference: Required", image={}),
    of_volume(
        "downward",
        downwardAPI={"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]},
    ),
    of_volume(
        "bad downward",
        "downwardAPI: Required",
        "downwardAPI.fieldRef.fieldPath: Unsupported",
        "downwardAPI.resourceFieldRef.containerName: Required",
        downwardAPI={
            "items": [
                {"path": "a"},
                {"path": "b", "fieldRef": {"fieldPath": "status.podIP"}},
                {"path": "c", "resourceFieldRef": {"resource": "limits.cpu"}},
            ]
        },
    ),
    of_volume(
        "projections",
        projected={
            "sources": [
                {"configMap": {"name": "a", "items": [{"key": "x", "path": "x"}]}},
                {"secret": {"name": "b"}},
                {"downwardAPI": {"items": [{"path": "y", "fieldRef": {"fieldPath": "metadata.uid"}}]}},
            ]
        },
    ),
    of_volume(
        "bad projections",
        "projected.sources[0].configMap.name: Required",
        "projected: Invalid",
        "projected.sources[1]: Forbidden",
        projected={
            "sources": [
                {"configMap": {"items": [{"key": "x", "path": "x"}]}},
                {"secret": {"name": "b", "items": [{"key": "x", "path": "x"}]}, "configMap": {"name": "c"}},
            ]
        },
    ),
    of_volume(
        "token",
        "projected.sources[0].serviceAccountToken.expirationSeconds: Invalid",
        "projected.sources[0].serviceAccountToken: Forbidden",
        projected={"sources": [{"serviceAccountToken": {"path": "token", "expirationSeconds": 5}}]},
    ),
    of_volume(
        "own claim",
        ephemeral={
            "volumeClaimTemplate": {
                "metadata": {"labels": {"a": "b"}},
                "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
            }
        },
    ),
    of_volume(
        "bad own claim",
        "ephemeral.volumeClaimTemplate.metadata.name: Forbidden",
        "ephemeral.volumeClaimTemplate.spec.accessModes: Required",
        "ephemeral.volumeClaimTemplate.spec.resources[storage]: Required",
        ephemeral={"volumeClaimTemplate": {"metadata": {"name": "x"}, "spec": {}}},
    ),
    of_container(
        "mount of nothing", "volumeMounts[0].name: Not found", volumeMounts=[{"name": "v", "mountPath": "/v"}]
    ),
    of_pod(
        "bad mounts",
        f"{FIRST}.volumeMounts[0].mountPath: Required",
        f"{FIRST}.volumeMounts[2].mountPath: Invalid",
        f"{FIRST}.volumeMounts.subPath: Invalid",
        f"{FIRST}.volumeMounts[2].subPathExpr: Invalid",
        f"{FIRST}.volumeMounts.mountPropagation: Unsupported",
        f"{FIRST}.volumeMounts.recursiveReadOnly: Forbidden",
        volumes=[{"name": "v"}],
        containers=[
            {
                **MAIN,
                "volumeMounts": [
                    {"name": "v", "mountPath": ""},
                    {"name": "v", "mountPath": "/a"},
                    {"name": "v", "mountPath": "/a", "subPath": "/b", "subPathExpr": "c"},
                    {"name": "v", "mountPath": "/d", "mountPropagation": "Perhaps"},
                    {"name": "v", "mountPath": "/e", "recursiveReadOnly": "Enabled"},
                ],
            }
        ],
    ),
    of_pod(
        "bad devices",
        f"{FIRST}.volumeDevices[0].name: Invalid",
        f"{FIRST}.volumeDevices[1].name: Not found",
        f"{FIRST}.volumeDevices[1].devicePath: Required",
        volumes=[{"name": "v"}],
        containers=[
            {**MAIN, "volumeDevices": [{"name": "v", "devicePath": "/v"}, {"name": "w", "devicePath": ""}]}
        ],
    ),
)
