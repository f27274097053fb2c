"""Pods to be created, good and bad, and where each bad one is wrong."""

from tests.sandbox.apiserver.kinds.making import (
    PREFERRED,
    REQUIRED,
    of_affinity,
    of_container,
    of_node_terms,
    of_pod,
    of_spread,
    of_toleration,
)

METADATA = (
    of_pod("no name", "metadata.name: Required", metadata={"name": ""}),
    of_pod("name with capitals", "metadata.name: Invalid", metadata={"name": "Pod_1"}),
    of_pod("long name", "metadata.name: Invalid", metadata={"name": "a" * 254}),
    of_pod("name of parts", metadata={"name": "a.b-c.d"}),
    of_pod("label without key", *["metadata.labels: Invalid"] * 2, metadata={"labels": {"": "x"}}),
    of_pod("label of too many parts", "metadata.labels: Invalid", metadata={"labels": {"a/b/c": "x"}}),
    of_pod("label with bad prefix", "metadata.labels: Invalid", metadata={"labels": {"A_b/c": "x"}}),
    of_pod("label with long prefix", "metadata.labels: Inv", metadata={"labels": {"a" * 254 + "/c": "x"}}),
    of_pod("label with long name", "metadata.labels: Invalid", metadata={"labels": {"a" * 64: "x"}}),
    of_pod("label with bad value", "metadata.labels: Invalid", metadata={"labels": {"a": "x y"}}),
    of_pod("label with long value", "metadata.labels: Invalid", metadata={"labels": {"a": "x" * 64}}),
    of_pod("annotation with bad key", "metadata.annotations: Inv", metadata={"annotations": {"a b": "x"}}),
    of_pod(
        "annotations that are large",
        "metadata.annotations: Too long",
        metadata={"annotations": {"a": "x" * 2**18}},
    ),
    of_pod("annotation with capitals", metadata={"annotations": {"Example.Dev/A": "x"}}),
    of_pod("finalizer without owner", "metadata.finalizers[0]: Invalid", metadata={"finalizers": ["mine"]}),
    of_pod("finalizer", metadata={"finalizers": ["example.dev/mine"]}),
    of_pod(
        "finalizers that contradict",
        "metadata.finalizers: Invalid",
        metadata={"finalizers": ["orphan", "foregroundDeletion"]},
    ),
    of_pod(
        "owner without anything",
        *(f"metadata.ownerReferences[0].{name}: Required" for name in ("apiVersion", "kind", "name", "uid")),
        metadata={"ownerReferences": [{}]},
    ),
    of_pod(
        "owner of too many parts",
        "metadata.ownerReferences[0].apiVersion: Invalid",
        metadata={"ownerReferences": [{"apiVersion": "a/b/c", "kind": "K", "name": "n", "uid": "u"}]},
    ),
    of_pod(
        "two controllers",
        "metadata.ownerReferences: Invalid",
        metadata={
            "ownerReferences": [
                {"apiVersion": "v1", "kind": "K", "name": name, "uid": name, "controller": True}
                for name in ("a", "b")
            ]
        },
    ),
    of_pod(
        "an event as owner",
        "metadata.ownerReferences[0]: Invalid",
        metadata={"ownerReferences": [{"apiVersion": "v1", "kind": "Event", "name": "n", "uid": "u"}]},
    ),
    of_pod(
        "bad cost of deletion",
        "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: Invalid",
        metadata={"annotations": {"controller.kubernetes.io/pod-deletion-cost": "+1"}},
    ),
    of_pod(
        "mirror without node",
        "metadata.annotations[kubernetes.io/config.mirror]: Invalid",
        metadata={"annotations": {"kubernetes.io/config.mirror": "x"}},
    ),
)


PLACEMENT = (
    of_pod("selector", nodeSelector={"example.dev/rack": "r1"}),
    of_pod("bad selector", "spec.nodeSelector: Invalid", nodeSelector={"a b": "c"}),
    of_node_terms("no terms", ": Required", terms=[]),
    of_node_terms(
        "good terms",
        terms=[
            {
                "matchExpressions": [
                    {"key": "a", "operator": "In", "values": ["x"]},
                    {"key": "b", "operator": "Gt", "values": ["1"]},
                ]
            },
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]},
        ],
    ),
    of_node_terms(
        "bad terms",
        "[0].matchExpressions[0].values: Required",
        "[0].matchExpressions[1].values: Forbidden",
        "[0].matchExpressions[2].values: Required",
        "[0].matchExpressions[3].operator: Invalid",
        "[0].matchExpressions[4].key: Invalid",
        "[0].matchExpressions[4].values[0]: Invalid",
        "[1].matchFields[0].operator: Invalid",
        "[1].matchFields[0].key: Invalid",
        "[1].matchFields[1].values: Required",
        "[1].matchFields[1].values[0]: Invalid",
        terms=[
            {
                "matchExpressions": [
                    {"key": "a", "operator": "In"},
                    {"key": "a", "operator": "Exists", "values": ["x"]},
                    {"key": "a", "operator": "Lt", "values": []},
                    {"key": "a", "operator": "Like"},
                    {"key": "a b", "operator": "In", "values": ["x y"]},
                ]
            },
            {
                "matchFields": [
                    {"key": "spec.x", "operator": "Exists"},
                    {"key": "metadata.name", "operator": "In", "values": ["N", "m"]},
                ]
            },
        ],
    ),
    of_affinity(
        "bad weight",
        f"{PREFERRED}[0].weight: Invalid",
        kind="nodeAffinity",
        terms={PREFERRED: [{"weight": 0, "preference": {}}]},
    ),
    of_affinity(
        "near others",
        terms={REQUIRED: [{"topologyKey": "rack", "labelSelector": {"matchLabels": {"a": "b"}}}]},
    ),
    of_affinity(
        "no key",
        f"{REQUIRED}[0].topologyKey: Required",
        f"{REQUIRED}[0].topologyKey: Invalid",
        f"{REQUIRED}[0].topologyKey: Invalid",
        terms={REQUIRED: [{"topologyKey": ""}]},
    ),
    of_affinity(
        "bad terms",
        f"{PREFERRED}[0].weight: Invalid",
        f"{PREFERRED}[0].podAffinityTerm.labelSelector.matchLabels: Invalid",
        f"{PREFERRED}[0].podAffinityTerm.labelSelector.matchExpressions[0].operator: Invalid",
        f"{PREFERRED}[0].podAffinityTerm.namespace: Invalid",
        f"{PREFERRED}[0].podAffinityTerm.matchLabelKeys[0]: Invalid",
        kind="podAntiAffinity",
        terms={
            PREFERRED: [
                {
                    "weight": 101,
                    "podAffinityTerm": {
                        "topologyKey": "rack",
                        "labelSelector": {
                            "matchLabels": {"a": "x y"},
                            "matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}],
                        },
                        "namespaces": ["A"],
                        "matchLabelKeys": ["b c"],
                    },
                }
            ]
        },
    ),
    of_affinity(
        "keys without selector",
        f"{REQUIRED}[0].matchLabelKeys: Forbidden",
        f"{REQUIRED}[0].mismatchLabelKeys: Forbidden",
        f"{REQUIRED}[0].matchLabelKeys[0]: Invalid",
        terms={REQUIRED: [{"topologyKey": "rack", "matchLabelKeys": ["a"], "mismatchLabelKeys": ["a"]}]},
    ),
    of_pod(
        "by own labels",
        metadata={"labels": {"app": "web", "version": "2"}},
        affinity={
            "podAffinity": {
                REQUIRED: [
                    {
                        "topologyKey": "rack",
                        "labelSelector": {"matchLabels": {"app": "web"}},
                        "matchLabelKeys": ["version"],
                        "mismatchLabelKeys": ["none"],
                    }
                ]
            }
        },
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": "rack",
                "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app": "web"}},
                "matchLabelKeys": ["version"],
            }
        ],
    ),
    of_spread("spread", labelSelector={"matchLabels": {"a": "b"}}, minDomains=2),
    of_spread(
        "bad spread",
        "maxSkew: Invalid",
        "topologyKey: Required",
        "whenUnsatisfiable: Unsupported",
        "minDomains: Invalid",
        "minDomains: Invalid",
        "nodeTaintsPolicy: Unsupported",
        "labelSelector.matchExpressions[0].values: Required",
        maxSkew=0,
        topologyKey="",
        whenUnsatisfiable="Perhaps",
        minDomains=0,
        nodeTaintsPolicy="Perhaps",
        labelSelector={"matchExpressions": [{"key": "a", "operator": "In"}]},
    ),
    of_pod(
        "spread that repeats",
        "spec.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}: Duplicate",
        topologySpreadConstraints=[
            {"maxSkew": skew, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"} for skew in (1, 2)
        ],
    ),
    of_toleration("toleration", key="a", operator="Exists"),
    of_toleration("of everything", operator="Exists"),
    of_toleration("without key", "operator: Invalid", operator="Equal", value="x"),
    of_toleration("with bad key", "key: Invalid", key="a b", operator="Exists"),
    of_toleration("with bad value", "operator: Invalid", key="a", value="x y"),
    of_toleration("with value too many", "operator: Invalid", key="a", operator="Exists", value="x"),
    of_toleration("with bad operator", "operator: Unsupported", key="a", operator="Like"),
    of_toleration("with closed operator", "operator: Unsupported", key="a", operator="Lt", value="1"),
    of_toleration("with bad effect", "effect: Unsupported", key="a", effect="Perhaps"),
    of_toleration(
        "with time for nothing",
        "effect: Invalid",
        key="a",
        effect="NoSchedule",
        tolerationSeconds=5,
    ),
    of_toleration(
        "of a node that is not ready",
        key="node.kubernetes.io/not-ready",
        operator="Exists",
        effect="NoExecute",
        tolerationSeconds=5,
    ),
    of_pod("gates", schedulingGates=[{"name": "example.dev/wait"}]),
    of_pod(
        "bad gates",
        "spec.schedulingGates[1]: Duplicate",
        "spec.schedulingGates[2]: Invalid",
        schedulingGates=[{"name": "a"}, {"name": "a"}, {"name": "b c"}],
    ),
    of_pod("gates on a node", "spec.nodeName: Forbidden", schedulingGates=[{"name": "a"}], nodeName="n1"),
    of_pod("bad node", "spec.nodeName: Invalid", nodeName="N1"),
    of_pod("group", schedulingGroup={"podGroupName": "g"}),
    of_pod("bad group", "spec.schedulingGroup.podGroupName: Invalid", schedulingGroup={"podGroupName": "G"}),
    of_pod("no group", "spec.schedulingGroup.podGroupName: Invalid", schedulingGroup={}),
    of_pod("unknown system", "spec.os: Unsupported", os={"name": "beos"}),
    of_pod("no system", "spec.os.name: Required", os={"name": ""}),
)


THE_REST = (
    of_pod("bad restart policy", "spec.restartPolicy: Unsupported", restartPolicy="Perhaps"),
    of_pod("bad name policy", "spec.dnsPolicy: Unsupported", dnsPolicy="Perhaps"),
    of_pod("deadline of zero", "spec.activeDeadlineSeconds: Invalid", activeDeadlineSeconds=0),
    of_pod("deadline", activeDeadlineSeconds=60),
    of_pod("negative grace", terminationGracePeriodSeconds=-1),
    of_pod("no grace", terminationGracePeriodSeconds=0),
    of_pod("account", serviceAccount="robot"),
    of_pod("bad account", "spec.serviceAccountName: Invalid", serviceAccountName="Robot"),
    of_pod(
        "bad hostname", "spec.hostname: Invalid", "spec.subdomain: Invalid", hostname="A", subdomain="a.b"
    ),
    of_pod(
        "hostname that is overridden",
        "spec.hostnameOverride: Forbidden",
        "spec.hostnameOverride: Too long",
        hostnameOverride="a" * 65,
        setHostnameAsFQDN=True,
    ),
    of_pod(
        "host aliases",
        "spec.hostAliases[0].ip: Invalid",
        "spec.hostAliases[0].hostnames[0]: Invalid",
        "spec.hostAliases[1].ip: Invalid",
        hostAliases=[{"ip": "x", "hostnames": ["A"]}, {"ip": "10.0.0.01"}],
    ),
    of_pod("no servers of names", "spec.dnsConfig: Required", dnsPolicy="None"),
    of_pod(
        "an empty list of servers", "spec.dnsConfig.nameservers: Required", dnsPolicy="None", dnsConfig={}
    ),
    of_pod(
        "bad servers of names",
        "spec.dnsConfig.nameservers: Invalid",
        "spec.dnsConfig.nameservers[3]: Invalid",
        "spec.dnsConfig.searches[1]: Invalid",
        "spec.dnsConfig.options[0]: Required",
        dnsConfig={
            "nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "x"],
            "searches": [".", "a b"],
            "options": [{"value": "x"}],
        },
    ),
    of_pod(
        "bad readiness gate",
        "spec.readinessGates[0].conditionType: Inv",
        readinessGates=[{"conditionType": "a b"}],
    ),
    of_pod(
        "shared processes", "spec.shareProcessNamespace: Invalid", shareProcessNamespace=True, hostPID=True
    ),
    of_pod("own users", hostUsers=False),
    of_pod(
        "own users on the host",
        "spec.hostNetwork: Forbidden",
        "spec.HostPID: Forbidden",
        hostUsers=False,
        hostNetwork=True,
        hostPID=True,
    ),
    of_pod(
        "bad security",
        "spec.securityContext.fsGroup: Invalid",
        "spec.securityContext.runAsUser: Invalid",
        "spec.securityContext.supplementalGroups[0]: Invalid",
        "spec.securityContext.sysctls[0].name: Invalid",
        "spec.securityContext.sysctls[2].name: Duplicate",
        "spec.securityContext.fsGroupChangePolicy: Unsupported",
        "spec.securityContext.seccompProfile.localhostProfile: Invalid",
        "spec.securityContext.appArmorProfile.type: Unsupported",
        securityContext={
            "fsGroup": -1,
            "runAsUser": -1,
            "supplementalGroups": [-1],
            "sysctls": [
                {"name": "A", "value": ""},
                {"name": "a.b", "value": ""},
                {"name": "a.b", "value": ""},
            ],
            "fsGroupChangePolicy": "Perhaps",
            "seccompProfile": {"type": "Unconfined", "localhostProfile": "x"},
            "appArmorProfile": {"type": "Perhaps"},
        },
    ),
    of_container(
        "bad security",
        "securityContext.privileged: Forbidden",
        "securityContext.runAsGroup: Invalid",
        "securityContext.procMount: Invalid",
        "securityContext.seccompProfile.localhostProfile: Required",
        securityContext={
            "privileged": True,
            "runAsGroup": -1,
            "procMount": "Unmasked",
            "seccompProfile": {"type": "Localhost"},
        },
    ),
)

OF_PODS = (
    *METADATA,
    *PLACEMENT,
    *THE_REST,
)
