"""Containers of pods to be created, good and bad, and where each bad one is wrong."""

from tests.sandbox.apiserver.kinds.making import FIRST, GPU, MAIN, of_container, of_init, of_pod, of_resources

CONTAINERS = (
    of_pod("plain"),
    of_pod("no containers", "spec.containers: Required", containers=[]),
    of_pod("two of a name", "spec.containers[1].name: Duplicate", containers=[MAIN, MAIN]),
    of_container("no name", "name: Required", name=""),
    of_container("bad name", "name: Invalid", name="Main"),
    of_container("name with dots", "name: Invalid", name="a.b"),
    of_container("long name", "name: Invalid", name="a" * 64),
    of_container("no image", "image: Required", image=""),
    of_container("padded image", "image: Invalid", image=" busybox"),
    of_container("latest image", image="busybox"),
    of_container("image of a host", image="example.dev:5000/team/tool:latest"),
    of_container("image by digest", image="busybox@sha256:" + "a" * 64),
    of_container("image that is none", image="Busy Box"),
    of_container("bad pull policy", "imagePullPolicy: Unsupported", imagePullPolicy="Perhaps"),
    of_container("bad message policy", "terminationMessagePolicy: Unsupp", terminationMessagePolicy="Log"),
    of_container(
        "ports", ports=[{"containerPort": 80}, {"containerPort": 80, "protocol": "UDP", "name": "dns"}]
    ),
    of_container("port of zero", "ports[0].containerPort: Required", ports=[{"containerPort": 0}]),
    of_container("large port", "ports[0].containerPort: Invalid", ports=[{"containerPort": 65536}]),
    of_container(
        "large host port", "ports[0].hostPort: Inv", ports=[{"containerPort": 1, "hostPort": 65536}]
    ),
    of_container("bad protocol", "ports[0].protocol: Uns", ports=[{"containerPort": 1, "protocol": "IP"}]),
    of_container(
        "bad port name",
        *["ports[0].name: Inv"] * 5,
        ports=[{"containerPort": 1, "name": "-_--0000000000000"}],
    ),
    of_container(
        "two ports of a name",
        "ports[1].name: Duplicate",
        ports=[{"containerPort": 1, "name": "x"}, {"containerPort": 2, "name": "x"}],
    ),
    of_container(
        "two of a host port",
        "ports[1].hostPort: Duplicate",
        ports=[{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}],
    ),
    of_pod("ports of the host", hostNetwork=True, containers=[{**MAIN, "ports": [{"containerPort": 80}]}]),
    of_pod(
        "other ports of the host",
        f"{FIRST}.ports[0].hostPort: Invalid",
        hostNetwork=True,
        containers=[{**MAIN, "ports": [{"containerPort": 80, "hostPort": 81}]}],
    ),
    of_container("restart policy", restartPolicy="Never"),
    of_container("bad restart policy", "restartPolicy: Unsupported", restartPolicy="Perhaps"),
    of_container(
        "restart rules without policy",
        "restartPolicy: Required",
        "restartPolicyRules[0].action: Unsupported",
        "restartPolicyRules[0].exitCodes: Required",
        restartPolicyRules=[{"action": "Perhaps"}],
    ),
    of_container(
        "restart rule with bad operator",
        "restartPolicyRules[0].exitCodes.operator: Unsupported",
        restartPolicy="Never",
        restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "Like", "values": [1]}}],
    ),
    of_container(
        "many restart rules",
        "restartPolicyRules: Too many",
        restartPolicy="Never",
        restartPolicyRules=[{"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}] * 21,
    ),
    of_container(
        "bad resize policies",
        "resizePolicy: Unsupported",
        "resizePolicy[1]: Duplicate",
        "resizePolicy: Unsupported",
        "resizePolicy: Unsupported",
        resizePolicy=[
            {"resourceName": "disk", "restartPolicy": "NotRequired"},
            {"resourceName": "disk", "restartPolicy": "Perhaps"},
        ],
    ),
    of_pod(
        "resize policy of a pod that never restarts",
        f"{FIRST}.resizePolicy: Invalid",
        restartPolicy="Never",
        containers=[{**MAIN, "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}]}],
    ),
    of_pod(
        "ephemeral container",
        "spec.ephemeralContainers: Forbidden",
        ephemeralContainers=[{**MAIN, "name": "e"}],
    ),
    of_init("first container"),
    of_init("sidecar", restartPolicy="Always", readinessProbe={"exec": {"command": ["true"]}}),
    of_init("of a name of others", "name: Duplicate", name="main"),
    of_init(
        "with hooks",
        "lifecycle: Forbidden",
        "livenessProbe: Forbidden",
        lifecycle={"preStop": {"exec": {"command": ["x"]}}},
        livenessProbe={"exec": {"command": ["x"]}},
    ),
    of_init(
        "restarted for resizing",
        "resizePolicy[0].restartPolicy: Invalid",
        resizePolicy=[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
    ),
)


HOOKS = (
    of_container("probe", livenessProbe={"httpGet": {"port": "web"}}),
    of_container("probe without handler", "livenessProbe: Required", livenessProbe={}),
    of_container(
        "probe with two handlers",
        "livenessProbe.tcpSocket: Forbidden",
        livenessProbe={"httpGet": {"port": 80}, "tcpSocket": {"port": 80}},
    ),
    of_container("probe that runs nothing", "startupProbe.exec.command: Required", startupProbe={"exec": {}}),
    of_container(
        "probe with bad request",
        "livenessProbe.httpGet.port: Invalid",
        "livenessProbe.httpGet.scheme: Unsupported",
        "livenessProbe.httpGet.httpHeaders: Invalid",
        livenessProbe={
            "httpGet": {"port": 0, "scheme": "FTP", "httpHeaders": [{"name": "a b", "value": "x"}]}
        },
    ),
    of_container(
        "probe with bad numbers",
        "livenessProbe.initialDelaySeconds: Invalid",
        "livenessProbe.failureThreshold: Invalid",
        "livenessProbe.terminationGracePeriodSeconds: Invalid",
        "livenessProbe.successThreshold: Invalid",
        livenessProbe={
            "exec": {"command": ["x"]},
            "initialDelaySeconds": -1,
            "failureThreshold": -1,
            "successThreshold": 2,
            "terminationGracePeriodSeconds": 0,
        },
    ),
    of_container(
        "readiness with a grace period",
        "readinessProbe.terminationGracePeriodSeconds: Invalid",
        readinessProbe={"exec": {"command": ["x"]}, "terminationGracePeriodSeconds": 5},
    ),
    of_container(
        "hooks", lifecycle={"preStop": {"sleep": {"seconds": 5}}, "postStart": {"exec": {"command": ["x"]}}}
    ),
    of_container(
        "long sleep", "lifecycle.preStop.sleep: Invalid", lifecycle={"preStop": {"sleep": {"seconds": 31}}}
    ),
    of_container("empty hook", "lifecycle.postStart: Required", lifecycle={"postStart": {}}),
)


ENVIRONMENT = (
    of_container("variables", env=[{"name": "A", "value": "1"}, {"name": "b.c d", "value": ""}]),
    of_container("variable without name", "env[0].name: Required", env=[{"name": ""}]),
    of_container("variable with bad name", "env[0].name: Invalid", env=[{"name": "a=b"}]),
    of_container("variable from nowhere", "env[0].valueFrom: Invalid", env=[{"name": "A", "valueFrom": {}}]),
    of_container(
        "variable with two values",
        "env[0].valueFrom: Invalid",
        env=[{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    ),
    of_container(
        "variable with two sources",
        "env[0].valueFrom: Invalid",
        env=[
            {
                "name": "A",
                "valueFrom": {
                    "fieldRef": {"fieldPath": "metadata.name"},
                    "resourceFieldRef": {"resource": "limits.cpu"},
                },
            }
        ],
    ),
    *(
        of_container(
            f"field {field}",
            *errors,
            env=[{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": field}}}],
        )
        for field, errors in {
            "metadata.labels['a']": (),
            "metadata.annotations['Example.Dev/A']": (),
            "status.podIPs": (),
            "": ("env[0].valueFrom.fieldRef.fieldPath: Required",),
            "spec.x": ("env[0].valueFrom.fieldRef.fieldPath: Invalid",),
            "status.phase": ("env[0].valueFrom.fieldRef.fieldPath: Unsupported",),
            "metadata.labels['a b']": ("env[0].valueFrom.fieldRef: Invalid",),
            "metadata.name['a']": ("env[0].valueFrom.fieldRef.fieldPath: Invalid",),
        }.items()
    ),
    *(
        of_container(
            f"resource {resource} by {divisor}",
            *errors,
            env=[
                {"name": "A", "valueFrom": {"resourceFieldRef": {"resource": resource, "divisor": divisor}}}
            ],
        )
        for resource, divisor, errors in (
            ("limits.cpu", "1m", ()),
            ("requests.hugepages-2Mi", "1Mi", ()),
            ("", "0", ("env[0].valueFrom.resourceFieldRef.resource: Required",)),
            ("limits.disk", "0", ("env[0].valueFrom.resourceFieldRef.resource: Unsupported",)),
            ("limits.cpu", "2", ("env[0].valueFrom.resourceFieldRef.divisor: Invalid",)),
            ("limits.memory", "2Mi", ("env[0].valueFrom.resourceFieldRef.divisor: Invalid",)),
        )
    ),
    of_container(
        "bad references",
        "env[0].valueFrom.configMapKeyRef.name: Invalid",
        "env[0].valueFrom.configMapKeyRef.key: Required",
        "env[1].valueFrom.secretKeyRef.key: Invalid",
        "env[1].valueFrom.secretKeyRef.key: Invalid",
        env=[
            {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "", "key": ""}}},
            {"name": "B", "valueFrom": {"secretKeyRef": {"name": "s", "key": "..a/"}}},
        ],
    ),
    of_container(
        "bad sources",
        "envFrom: Invalid",
        "envFrom[1].configMapRef.name: Required",
        envFrom=[{"prefix": "A"}, {"configMapRef": {"name": ""}}],
    ),
)


RESOURCES = (
    of_resources("limits only", limits={"cpu": "1", "memory": "1Gi", GPU: "2"}),
    of_resources("requests only", requests={"cpu": "0.5", "memory": "128974848"}),
    of_resources("requests above limits", "requests: Invalid", requests={"cpu": "2"}, limits={"cpu": "1"}),
    of_resources("devices without limit", "limits: Required", requests={GPU: "1"}),
    of_resources("devices that differ", "requests: Invalid", requests={GPU: "1"}, limits={GPU: "2"}),
    of_resources(
        "half a device",
        f"limits[{GPU}]: Invalid",
        f"requests[{GPU}]: Invalid",
        limits={GPU: "500m"},
    ),
    of_resources("less than nothing", "requests[cpu]: Invalid", requests={"cpu": "-1"}),
    of_resources("finer than anything", requests={"cpu": "0.0001"}),
    of_resources(
        "unknown resource",
        "requests[disk]: Invalid",
        "requests[disk]: Invalid",
        requests={"disk": "1"},
    ),
    of_resources("resource of others", "requests[pods]: Invalid", requests={"pods": "1"}),
    of_resources(
        "resource with bad name",
        "requests[a b/c]: Invalid",
        "requests[a b/c]: Invalid",
        "limits: Required",
        requests={"a b/c": "1"},
    ),
    of_resources(
        "resource with the name of a quota",
        "requests[requests.example.dev/gpu]: Invalid",
        "limits: Required",
        requests={"requests.example.dev/gpu": "1"},
    ),
    of_resources("native resource", requests={"kubernetes.io/batteries": "1"}),
    of_resources("huge pages", limits={"hugepages-2Mi": "4Mi", "cpu": "1"}),
    of_pod(
        "huge pages alone",
        f"{FIRST}.resources: Forbidden",
        containers=[{**MAIN, "resources": {"limits": {"hugepages-2Mi": "4Mi"}}}],
    ),
    of_resources(
        "part of a huge page",
        "limits[hugepages-2Mi]: Invalid",
        "requests[hugepages-2Mi]: Invalid",
        limits={"hugepages-2Mi": "3Mi", "cpu": "1"},
    ),
    of_resources("unknown claim", "claims[0]: Not found", claims=[{"name": "none"}]),
    of_pod(
        "claims",
        resourceClaims=[{"name": "gpus", "resourceClaimTemplateName": "gpus"}],
        containers=[{**MAIN, "resources": {"claims": [{"name": "gpus", "request": "one"}]}}],
    ),
    of_pod(
        "claims of a container that repeat",
        f"{FIRST}.resources.claims[1]: Duplicate",
        f"{FIRST}.resources.claims[2]: Duplicate",
        f"{FIRST}.resources.claims[3].request: Invalid",
        f"{FIRST}.resources.claims[4]: Not found",
        resourceClaims=[
            {"name": "gpus", "resourceClaimName": "gpus"},
            {"name": "nics", "resourceClaimName": "nics"},
        ],
        containers=[
            {
                **MAIN,
                "resources": {
                    "claims": [
                        {"name": "gpus", "request": "a"},
                        {"name": "gpus", "request": "a"},
                        {"name": "gpus"},
                        {"name": "nics", "request": "A"},
                        {"name": "disks"},
                    ]
                },
            }
        ],
    ),
    of_pod(
        "bad claims",
        "spec.resourceClaims[0].name: Required",
        "spec.resourceClaims[0]: Invalid",
        "spec.resourceClaims[1]: Invalid",
        "spec.resourceClaims[2].name: Duplicate",
        "spec.resourceClaims[2].resourceClaimName: Invalid",
        resourceClaims=[
            {"name": ""},
            {"name": "a", "resourceClaimName": "x", "resourceClaimTemplateName": "y"},
            {"name": "a", "resourceClaimName": "X"},
        ],
    ),
    of_pod(
        "resources of the pod",
        resources={"limits": {"memory": "2Gi"}},
        containers=[
            {**MAIN, "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2", "memory": "1Gi"}}},
            {**MAIN, "name": "other", "resources": {"limits": {"cpu": "500m"}}},
        ],
    ),
    of_pod(
        "resources of the pod that are too few",
        "spec.resources.requests[cpu]: Invalid",
        resources={"requests": {"cpu": "1"}},
        containers=[{**MAIN, "resources": {"requests": {"cpu": "1500m"}}}],
    ),
    of_pod(
        "resources of the pod that a container exceeds",
        "spec.resources.containers[0][memory].limits: Invalid",
        resources={"limits": {"memory": "1Gi"}, "requests": {"memory": "1Gi"}},
        containers=[{**MAIN, "resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}}],
    ),
    of_pod(
        "resources that pods have not",
        f"spec.resources.requests[{GPU}]: Unsupported",
        "spec.resources.limits: Required",
        resources={"requests": {GPU: "1"}},
    ),
)

OF_CONTAINERS = (
    *CONTAINERS,
    *HOOKS,
    *ENVIRONMENT,
    *RESOURCES,
)
