"""What is there, what is not, and what cannot be done with it."""

from dataclasses import replace

from tests.sandbox.apiserver.differential.corpus.objects import config_map, pod
from tests.sandbox.apiserver.differential.requests import (
    CONFIG_MAPS,
    NODES,
    PODS,
    Request,
    delete,
    get,
    patch,
    post,
    put,
    story,
)

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
SERVED = {
    "v1": (
        "configmaps events namespaces namespaces/finalize namespaces/status nodes "
        "nodes/status persistentvolumeclaims persistentvolumeclaims/status persistentvolumes "
        "persistentvolumes/status pods pods/binding pods/eviction pods/status secrets serviceaccounts "
        "services services/proxy services/status"
    ),
    "batch/v1": "jobs jobs/status",
    "scheduling.k8s.io/v1": "priorityclasses",
    "scheduling.k8s.io/v1beta1": "podgroups podgroups/status workloads",
    "scheduling.k8s.io/v1alpha3": (
        "podgroups podgroups/status workloads compositepodgroups compositepodgroups/status"
    ),
    "coordination.k8s.io/v1": "leases",
    "events.k8s.io/v1": "events",
    "policy/v1": "poddisruptionbudgets poddisruptionbudgets/status",
    "resource.k8s.io/v1": (
        "deviceclasses devicetaintrules devicetaintrules/status resourceclaims resourceclaims/status "
        "resourceclaimtemplates resourceslices"
    ),
    "storage.k8s.io/v1": "storageclasses csinodes csidrivers volumeattachments volumeattachments/status",
    "rbac.authorization.k8s.io/v1": "roles rolebindings clusterroles clusterrolebindings",
    "apiextensions.k8s.io/v1": "customresourcedefinitions customresourcedefinitions/status",
    "discovery.k8s.io/v1": "endpointslices",
    "authentication.k8s.io/v1": "selfsubjectreviews tokenreviews",
    "authorization.k8s.io/v1": "selfsubjectaccessreviews subjectaccessreviews",
}
"""The resources of each version that are compared; the real server has more."""
GROUPS = tuple({version.rpartition("/")[0]: None for version in SERVED} | {"": None})


def only(request: Request, *names: str) -> Request:
    return replace(request, only=names)


def resources(version: str) -> Request:
    path = f"/apis/{version}" if "/" in version else f"/api/{version}"
    return only(get(path), *SERVED[version].split())


STORIES = [
    story("resources", *map(resources, SERVED)),
    story(
        "groups",
        get("/api"),
        only(get("/apis"), *GROUPS),
        *(get(f"/apis/{group}") for group in ("batch", "scheduling.k8s.io", "coordination.k8s.io")),
        only(get("/apis").as_(AGGREGATED), *GROUPS, *(n for names in SERVED.values() for n in names.split())),
        only(get("/api").as_(AGGREGATED), "", *SERVED["v1"].split()),
    ),
    story(
        "health",
        *(get(path) for path in ("/healthz", "/livez", "/readyz")),
        *(get(path).by("nobody") for path in ("/healthz", "/livez", "/readyz")),
    ),
    story(
        "unknown",
        get("/nothing"),
        get("/apis/none.example"),
        get("/apis/none.example/v1"),
        get("/apis/none.example/v1/things"),
        get("/apis/batch/v9"),
        get("/apis/batch/v9/jobs"),
        get("/api/v2/pods"),
        get("/api/v1/nothings"),
        get("/api/v1/nothings/one"),
        get("/api/v1/namespaces/{ns}/nothings"),
        get("/api/v1/namespaces/{ns}/nothings/one"),
        get("/api/v1/namespaces/{ns}/nodes"),
        post("/api/v1/namespaces/{ns}/nothings", {"metadata": {"name": "one"}}),
        post("/api/v1/pods", pod("a")),
        get(f"{PODS}/a/nothing"),
        get(f"{PODS}/a"),
        get(f"{NODES}/no-such-node"),
        delete(f"{PODS}/a"),
        put(f"{PODS}/a", pod("a")),
        patch("merge", f"{PODS}/a", {"metadata": {"labels": {"a": "b"}}}),
        get("/api/v1/namespaces/no-such-namespace/pods"),
        get("/api/v1/namespaces/no-such-namespace/pods/a"),
        post("/api/v1/namespaces/no-such-namespace/pods", pod("a")),
        post("/api/v1/namespaces/no-such-namespace/configmaps", config_map("a")),
    ),
    story(
        "methods",
        post(CONFIG_MAPS, config_map("a")),
        post(f"{CONFIG_MAPS}/a", config_map("a")),
        put(CONFIG_MAPS, config_map("a")),
        patch("merge", CONFIG_MAPS, {"data": {"a": "b"}}),
        Request("OPTIONS", f"{CONFIG_MAPS}/a"),
        Request("HEAD", f"{CONFIG_MAPS}/a"),
        get(f"{PODS}/a/binding"),
        get(f"{PODS}/a/eviction"),
        delete(f"{PODS}/a/status"),
    ),
]
