"""The kinds that the server has from the start, from builtin.yaml: those that schedulers and users meet.

Here is what of them takes code: rules for their objects and names, and forms in which they are kept.
"""

from pathlib import Path
from typing import Any

import yaml

from maitred.sandbox.apiserver.kinds import devices, events, groups, names, simple
from maitred.sandbox.apiserver.kinds.definitions import DEFINITIONS
from maitred.sandbox.apiserver.kinds.jobs import JOBS
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.kinds.pods import PODS
from maitred.sandbox.apiserver.kinds.priorities import PRIORITY_CLASSES
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.kinds.volumes import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES
from maitred.sandbox.apiserver.schema.catalogue import LOADER, struct
from maitred.sandbox.apiserver.schema.types import Body

GROUPS = {
    "apiextensions": "apiextensions.k8s.io",
    "authentication": "authentication.k8s.io",
    "authorization": "authorization.k8s.io",
    "batch": "batch",
    "coordination": "coordination.k8s.io",
    "core": "",
    "discovery": "discovery.k8s.io",
    "events": "events.k8s.io",
    "policy": "policy",
    "rbac": "rbac.authorization.k8s.io",
    "resource": "resource.k8s.io",
    "scheduling": "scheduling.k8s.io",
    "storage": "storage.k8s.io",
}
"""The full names of groups, by the short ones that the catalogue of types has."""
STRATEGIES: dict[str, Strategy] = {
    "apiextensions.v1.CustomResourceDefinition": DEFINITIONS,
    "batch.v1.Job": JOBS,
    "core.v1.Namespace": simple.Namespaces(),
    "core.v1.Node": simple.Nodes(),
    "core.v1.PersistentVolume": PERSISTENT_VOLUMES,
    "core.v1.PersistentVolumeClaim": PERSISTENT_VOLUME_CLAIMS,
    "core.v1.Pod": PODS,
    "core.v1.Service": simple.Services(),
    "policy.v1.PodDisruptionBudget": simple.DisruptionBudgets(),
    "resource.v1.DeviceTaintRule": devices.DEVICE_TAINT_RULES,
    "resource.v1.ResourceClaim": devices.RESOURCE_CLAIMS,
    "resource.v1.ResourceClaimTemplate": devices.RESOURCE_CLAIM_TEMPLATES,
    "resource.v1.ResourceSlice": devices.RESOURCE_SLICES,
    "scheduling.v1.PriorityClass": PRIORITY_CLASSES,
    "scheduling.v1alpha3.CompositePodGroup": groups.COMPOSITE_POD_GROUPS,
    **dict.fromkeys(("core.v1.ConfigMap", "core.v1.Secret"), simple.Sealable()),
    **dict.fromkeys(("rbac.v1.ClusterRoleBinding", "rbac.v1.RoleBinding"), simple.RoleBindings()),
    **dict.fromkeys(("scheduling.v1alpha3.PodGroup", "scheduling.v1beta1.PodGroup"), groups.POD_GROUPS),
    **dict.fromkeys(("scheduling.v1alpha3.Workload", "scheduling.v1beta1.Workload"), groups.WORKLOADS),
}
INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
REGARDING = {f"regarding.{name}": f"involvedObject.{name}" for name in INVOLVED}


def stored_beta(body: Body) -> Body:
    """Groups and workloads are the same in both of their versions, but for the name of it."""
    return {**body, "apiVersion": "scheduling.k8s.io/v1beta1"}


def shown_alpha(body: Body) -> Body:
    return {**body, "apiVersion": "scheduling.k8s.io/v1alpha3"}


ALPHA = {"to_stored": stored_beta, "from_stored": shown_alpha}
CODE: dict[str, dict[str, Any]] = {
    "core.v1.Event": {
        "name_rule": names.path_segment,
        "fields": dict.fromkeys((*REGARDING.values(), "reason", "reportingComponent", "source", "type"), ""),
    },
    "core.v1.Namespace": {"name_rule": names.label},
    "events.v1.Event": {
        "fields": dict.fromkeys((*REGARDING, "reason", "reportingController", "type"), ""),
        "field_paths": {**REGARDING, "reportingController": "reportingComponent"},
        "to_stored": events.to_stored,
        "from_stored": events.from_stored,
    },
    "scheduling.v1alpha3.PodGroup": ALPHA,
    "scheduling.v1alpha3.Workload": ALPHA,
    **{
        f"rbac.v1.{name}": {"name_rule": names.path_segment}
        for name in ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
    },
}


def served(title: str, written: dict[str, Any]) -> Kind:
    short, version, name = title.split(".")
    particulars = {key: tuple(value) if isinstance(value, list) else value for key, value in written.items()}
    if title in STRATEGIES:
        particulars["strategy"] = STRATEGIES[title]
    return Kind(GROUPS[short], version, name, type=struct(title), **{**particulars, **CODE.get(title, {})})


_WRITTEN = yaml.load(Path(__file__).with_suffix(".yaml").read_bytes(), Loader=LOADER)
_BY_TITLE = {title: served(title, written) for title, written in _WRITTEN.items()}
BINDINGS = _BY_TITLE["core.v1.Binding"]
DEFINED = _BY_TITLE["apiextensions.v1.CustomResourceDefinition"]
BUILTIN = tuple(_BY_TITLE.values())
