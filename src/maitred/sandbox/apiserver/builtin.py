"""The kinds that the server has from the start: those that schedulers and their users meet."""

from typing import Any

from maitred.sandbox.apiserver.kinds import events
from maitred.sandbox.apiserver.kinds.claims import PERSISTENT_VOLUME_CLAIMS
from maitred.sandbox.apiserver.kinds.configuration import CONFIG_MAPS, SECRETS
from maitred.sandbox.apiserver.kinds.definitions import DEFINITIONS
from maitred.sandbox.apiserver.kinds.disruptions import DISRUPTION_BUDGETS
from maitred.sandbox.apiserver.kinds.groups import COMPOSITE_POD_GROUPS, POD_GROUPS, WORKLOADS
from maitred.sandbox.apiserver.kinds.jobs import JOBS
from maitred.sandbox.apiserver.kinds.kind import ALL_VERBS, Kind
from maitred.sandbox.apiserver.kinds.names import label, path_segment
from maitred.sandbox.apiserver.kinds.namespaces import NAMESPACES
from maitred.sandbox.apiserver.kinds.nodes import NODES
from maitred.sandbox.apiserver.kinds.pods import PODS
from maitred.sandbox.apiserver.kinds.priorities import PRIORITY_CLASSES
from maitred.sandbox.apiserver.kinds.rbac import CLUSTER_ROLE_BINDINGS, CLUSTER_ROLES, ROLE_BINDINGS, ROLES
from maitred.sandbox.apiserver.kinds.services import SERVICES
from maitred.sandbox.apiserver.kinds.volumes import PERSISTENT_VOLUMES
from maitred.sandbox.apiserver.schema.catalogue import struct
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
    "scheduling": "scheduling.k8s.io",
    "storage": "storage.k8s.io",
}
"""The full names of groups, by the short ones that the catalogue of types has."""
CREATED_ONLY = ("create",)
POD_FIELDS = {
    "spec.nodeName": "",
    "spec.restartPolicy": "",
    "spec.schedulerName": "",
    "spec.serviceAccountName": "",
    "spec.hostNetwork": "false",
    "status.phase": "",
    "status.podIP": "",
    "status.nominatedNodeName": "",
}
INVOLVED = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
ABOUT_EVENTS = ("reason", "reportingComponent", "source", "type")
REGARDING = {f"regarding.{name}": f"involvedObject.{name}" for name in INVOLVED}
EVENT_FIELDS = dict.fromkeys((*(f"involvedObject.{name}" for name in INVOLVED), *ABOUT_EVENTS), "")


def served(api: str, name: str, plural: str, **particulars: Any) -> Kind:
    short, _, version = api.partition(".")
    return Kind(GROUPS[short], version, name, plural, struct(f"{api}.{name}"), **particulars)


def stored_beta(body: Body) -> Body:
    """Groups and workloads are the same in both of their versions, but for the name of it."""
    return {**body, "apiVersion": "scheduling.k8s.io/v1beta1"}


def shown_alpha(body: Body) -> Body:
    return {**body, "apiVersion": "scheduling.k8s.io/v1alpha3"}


BINDINGS = served("core.v1", "Binding", "bindings", verbs=CREATED_ONLY)
CORE = (
    BINDINGS,
    served("core.v1", "ConfigMap", "configmaps", strategy=CONFIG_MAPS, short_names=("cm",)),
    served(
        "core.v1",
        "Event",
        "events",
        strategy=events.EVENTS,
        name_rule=path_segment,
        short_names=("ev",),
        fields=EVENT_FIELDS,
        is_put_to_create=True,
    ),
    served(
        "core.v1",
        "Namespace",
        "namespaces",
        namespaced=False,
        strategy=NAMESPACES,
        subresources=("finalize", "status"),
        short_names=("ns",),
        name_rule=label,
        fields={"status.phase": ""},
        is_returned=True,
        verbs=tuple(verb for verb in ALL_VERBS if verb != "deletecollection"),
    ),
    served(
        "core.v1",
        "Node",
        "nodes",
        namespaced=False,
        strategy=NODES,
        subresources=("status",),
        short_names=("no",),
        fields={"spec.unschedulable": "false"},
        is_born_with_status=True,
    ),
    served(
        "core.v1",
        "PersistentVolumeClaim",
        "persistentvolumeclaims",
        strategy=PERSISTENT_VOLUME_CLAIMS,
        subresources=("status",),
        short_names=("pvc",),
        is_returned=True,
    ),
    served(
        "core.v1",
        "PersistentVolume",
        "persistentvolumes",
        namespaced=False,
        strategy=PERSISTENT_VOLUMES,
        subresources=("status",),
        short_names=("pv",),
        is_returned=True,
    ),
    served(
        "core.v1",
        "Pod",
        "pods",
        strategy=PODS,
        subresources=("binding", "eviction", "status"),
        short_names=("po",),
        categories=("all",),
        fields=POD_FIELDS,
        is_counted=True,
        is_graceful=True,
        is_returned=True,
    ),
    served("core.v1", "Secret", "secrets", strategy=SECRETS, fields={"type": ""}),
    served("core.v1", "ServiceAccount", "serviceaccounts", short_names=("sa",), is_returned=True),
    served(
        "core.v1",
        "Service",
        "services",
        strategy=SERVICES,
        subresources=("proxy", "status"),
        short_names=("svc",),
        categories=("all",),
        is_returned=True,
    ),
)

WORK = (
    served(
        "batch.v1",
        "Job",
        "jobs",
        strategy=JOBS,
        subresources=("status",),
        categories=("all",),
        fields={"status.successful": "0"},
        is_counted=True,
        is_orphaning=True,
    ),
    served(
        "policy.v1",
        "PodDisruptionBudget",
        "poddisruptionbudgets",
        strategy=DISRUPTION_BUDGETS,
        subresources=("status",),
        short_names=("pdb",),
        is_counted=True,
        needs_version=True,
    ),
    served("coordination.v1", "Lease", "leases", is_put_to_create=True, needs_version=True),
    served("discovery.v1", "EndpointSlice", "endpointslices", is_counted=True),
    served(
        "events.v1",
        "Event",
        "events",
        strategy=events.STRICT_EVENTS,
        short_names=("ev",),
        fields=dict.fromkeys((*REGARDING, "reason", "reportingController", "type"), ""),
        field_paths={**REGARDING, "reportingController": "reportingComponent"},
        is_put_to_create=True,
        stored_as="events.",
        to_stored=events.to_stored,
        from_stored=events.from_stored,
    ),
)


def group_kinds(version: str) -> tuple[Kind, ...]:
    """PodGroups and Workloads, in one of the versions that they are served in."""
    changes = {} if version == "v1beta1" else {"to_stored": stored_beta, "from_stored": shown_alpha}
    return (
        served(
            f"scheduling.{version}",
            "Workload",
            "workloads",
            strategy=WORKLOADS,
            needs_version=True,
            **changes,
        ),
        served(
            f"scheduling.{version}",
            "PodGroup",
            "podgroups",
            strategy=POD_GROUPS,
            subresources=("status",),
            needs_version=True,
            status_has_metadata=False,
            **changes,
        ),
    )


SCHEDULING = (
    served(
        "scheduling.v1",
        "PriorityClass",
        "priorityclasses",
        namespaced=False,
        strategy=PRIORITY_CLASSES,
        short_names=("pc",),
    ),
    *group_kinds("v1beta1"),
    *group_kinds("v1alpha3"),
    served(
        "scheduling.v1alpha3",
        "CompositePodGroup",
        "compositepodgroups",
        strategy=COMPOSITE_POD_GROUPS,
        subresources=("status",),
        needs_version=True,
        status_has_metadata=False,
    ),
)

STORAGE = (
    served(
        "storage.v1",
        "StorageClass",
        "storageclasses",
        namespaced=False,
        short_names=("sc",),
        is_returned=True,
    ),
    served("storage.v1", "CSINode", "csinodes", namespaced=False, is_returned=True, needs_version=True),
)

RIGHTS = (
    served(
        "rbac.v1",
        "ClusterRoleBinding",
        "clusterrolebindings",
        namespaced=False,
        strategy=CLUSTER_ROLE_BINDINGS,
        name_rule=path_segment,
    ),
    served(
        "rbac.v1",
        "ClusterRole",
        "clusterroles",
        namespaced=False,
        strategy=CLUSTER_ROLES,
        name_rule=path_segment,
    ),
    served("rbac.v1", "RoleBinding", "rolebindings", strategy=ROLE_BINDINGS, name_rule=path_segment),
    served("rbac.v1", "Role", "roles", strategy=ROLES, name_rule=path_segment),
)


def review(api: str, name: str) -> Kind:
    """A question that is created like an object, and answered at once."""
    return served(api, name, f"{name.lower()}s", namespaced=False, verbs=CREATED_ONLY)


REVIEWS = (
    review("authentication.v1", "SelfSubjectReview"),
    review("authentication.v1", "TokenReview"),
    review("authorization.v1", "SelfSubjectAccessReview"),
    review("authorization.v1", "SubjectAccessReview"),
)

DEFINED = served(
    "apiextensions.v1",
    "CustomResourceDefinition",
    "customresourcedefinitions",
    namespaced=False,
    strategy=DEFINITIONS,
    subresources=("status",),
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    is_counted=True,
    needs_version=True,
)

BUILTIN = (*CORE, *REVIEWS, DEFINED, *WORK, *SCHEDULING, *STORAGE, *RIGHTS)
