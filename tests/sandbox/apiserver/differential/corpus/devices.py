"""Devices: how claims are made, allocated, reserved and let go of, and who may do it."""

from typing import Any

from maitred.sandbox.users import MAITRED
from tests.sandbox.apiserver.differential.corpus.objects import of_kind, pod, pod_group
from tests.sandbox.apiserver.differential.requests import (
    POD_GROUPS,
    PODS,
    Json,
    apply,
    delete,
    get,
    patch,
    post,
    put,
    story,
    watch,
)

VERSION = "resource.k8s.io/v1"
CLASSES, RULES, SLICES = (
    f"/apis/{VERSION}/{kind}" for kind in ("deviceclasses", "devicetaintrules", "resourceslices")
)
CLAIMS, TEMPLATES = (
    f"/apis/{VERSION}/namespaces/{{ns}}/{kind}" for kind in ("resourceclaims", "resourceclaimtemplates")
)
RIGHTS = "/apis/rbac.authorization.k8s.io/v1/namespaces/{ns}"
DRIVER = "gpu.example.com"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PROTECTION = "resource.kubernetes.io/delete-protection"
SPEC: Json = {"devices": {"requests": [{"name": "gpus", "exactly": {"deviceClassName": "gpu"}}]}}


def claim(name: str, **rest: Any) -> Json:
    return of_kind(VERSION, "ResourceClaim", name, **{"spec": SPEC, **rest})


def allocated(device: str, *consumers: str, request: str = "gpus") -> Json:
    result = {"request": request, "driver": DRIVER, "pool": "n1", "device": device}
    reserved = [{"resource": "pods", "name": name, "uid": f"uid-of-{name}"} for name in consumers]
    status: Json = {"allocation": {"devices": {"results": [result]}}}
    return {"status": {**status, "reservedFor": reserved} if reserved else status}


def role(name: str, resource: str) -> Json:
    rule = {"apiGroups": ["resource.k8s.io"], "resources": [resource], "verbs": ["patch"]}
    return of_kind("rbac.authorization.k8s.io/v1", "Role", name, rules=[rule])


def bound(name: str) -> Json:
    group = "rbac.authorization.k8s.io"
    return of_kind(
        f"{group}/v1",
        "RoleBinding",
        name,
        roleRef={"apiGroup": group, "kind": "Role", "name": name},
        subjects=[{"apiGroup": group, "kind": "User", "name": MAITRED.name}],
    )


def resource_slice(name: str, *devices: Json, **spec: Any) -> Json:
    pool = {"name": "{ns}-n1", "generation": 1, "resourceSliceCount": 1}
    body: Json = {"driver": DRIVER, "pool": pool, "nodeName": "{ns}-n1", "devices": list(devices)}
    return of_kind(VERSION, "ResourceSlice", name, spec={**body, **spec})


STORIES = [
    story(
        "claims",
        post(CLAIMS, {**claim("a"), "status": allocated("gpu-0")["status"]}),
        patch("merge", f"{CLAIMS}/a", {"spec": {"devices": {"requests": []}}}),
        patch("merge", f"{CLAIMS}/a", {"metadata": {"finalizers": [PROTECTION]}}),
        patch(
            "merge",
            f"{CLAIMS}/a/status",
            {"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}},
        ),
        patch("merge", f"{CLAIMS}/a/status", allocated("gpu-0", request="none")),
        patch("merge", f"{CLAIMS}/a/status", allocated("gpu-0", "p")),
        get(f"{CLAIMS}/a/status"),
        get(CLAIMS).as_(TABLE),
        patch("merge", f"{CLAIMS}/a/status", allocated("gpu-1", "p")),
        patch("merge", f"{CLAIMS}/a/status", {"metadata": {"labels": {"a": "b"}}, "spec": {"devices": {}}}),
        patch(
            "strategic",
            f"{CLAIMS}/a/status",
            {"status": {"reservedFor": [{"resource": "pods", "name": "q", "uid": "uid-of-q"}]}},
        ),
        patch(
            "strategic",
            f"{CLAIMS}/a/status",
            {"status": {"reservedFor": [{"$patch": "delete", "uid": "uid-of-p"}]}},
        ),
        patch(
            "merge",
            f"{CLAIMS}/a/status",
            {"status": {"devices": [{"driver": DRIVER, "pool": "n1", "device": "gpu-0", "data": {"a": 1}}]}},
        ),
        delete(f"{CLAIMS}/a"),
        get(CLAIMS).as_(TABLE),
        patch("merge", f"{CLAIMS}/a/status", allocated("gpu-0", "q", "r")),
        patch("merge", f"{CLAIMS}/a/status", {"status": {"allocation": None, "reservedFor": None}}),
        get(f"{CLAIMS}/a"),
        patch("merge", f"{CLAIMS}/a", {"metadata": {"finalizers": None}}),
        get(f"{CLAIMS}/a"),
    ),
    story(
        "many-consumers",
        post(CLAIMS, claim("a")),
        patch("merge", f"{CLAIMS}/a/status", allocated("gpu-0", *(f"p{n}" for n in range(256)))),
        patch("merge", f"{CLAIMS}/a/status", allocated("gpu-0", *(f"p{n}" for n in range(257)))),
    ),
    story(
        "claims-of-others",
        post(CLAIMS, claim("a")).by("other"),
        post(CLAIMS, claim("a")),
        post(f"{RIGHTS}/roles", role("claims", "resourceclaims/status")),
        post(f"{RIGHTS}/rolebindings", bound("claims")),
        # The right to write the status is not yet that to allocate.
        patch("merge", f"{CLAIMS}/a/status", allocated("gpu-0")).by("other").until(422),
        patch("merge", f"{CLAIMS}/a/status", {"status": {}}).by("other"),
        delete(f"{CLAIMS}/a"),
    ),
    story(
        "claims-for-administrators",
        post(
            CLAIMS,
            claim(
                "a",
                spec={
                    "devices": {
                        "requests": [
                            {"name": "all", "exactly": {"deviceClassName": "gpu", "adminAccess": True}}
                        ]
                    }
                },
            ),
        ),
        patch(
            "merge",
            "/api/v1/namespaces/{ns}",
            {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}},
        ),
        post(
            CLAIMS,
            claim(
                "a",
                spec={
                    "devices": {
                        "requests": [
                            {"name": "all", "exactly": {"deviceClassName": "gpu", "adminAccess": True}}
                        ]
                    }
                },
            ),
        ),
    ),
    story(
        "claim-templates",
        post(
            TEMPLATES,
            of_kind(
                VERSION, "ResourceClaimTemplate", "t", spec={"metadata": {"labels": {"a": "b"}}, "spec": SPEC}
            ),
        ),
        patch("merge", f"{TEMPLATES}/t", {"spec": {"spec": {"devices": {"requests": []}}}}),
        get(TEMPLATES),
        get(TEMPLATES).as_(TABLE),
        delete(f"{TEMPLATES}/t"),
    ),
    story(
        "device-classes",
        post(
            CLASSES,
            of_kind(VERSION, "DeviceClass", "{ns}-c", spec={"selectors": [{"cel": {"expression": "true"}}]}),
        ),
        patch("merge", f"{CLASSES}/{{ns}}-c", {"spec": {"extendedResourceName": "example.com/gpu"}}),
        put(f"{CLASSES}/{{ns}}-c", of_kind(VERSION, "DeviceClass", "{ns}-c", spec={})),
        get(f"{CLASSES}/{{ns}}-c").as_(TABLE),
        delete(f"{CLASSES}/{{ns}}-c"),
    ),
    story(
        "slices",
        watch(
            SLICES,
            post(
                SLICES,
                resource_slice("{ns}-s", {"name": "gpu-0", "attributes": {"model": {"string": "H100"}}}),
            ),
            patch("merge", f"{SLICES}/{{ns}}-s", {"spec": {"pool": {"generation": 2}}}),
            delete(f"{SLICES}/{{ns}}-s"),
            until=("DELETED", "{ns}-s"),
            fieldSelector="spec.nodeName={ns}-n1",
        ),
        post(
            SLICES, resource_slice("{ns}-s", {"name": "gpu-0", "capacity": {"memory": {"value": "81920Mi"}}})
        ),
        patch("merge", f"{SLICES}/{{ns}}-s", {"spec": {"nodeName": "n2"}}),
        get(f"{SLICES}/{{ns}}-s").as_(TABLE),
        apply(f"{SLICES}/{{ns}}-s", resource_slice("{ns}-s", {"name": "gpu-1"}), "driver", force="true"),
        delete(f"{SLICES}/{{ns}}-s"),
    ),
    story(
        "taint-rules",
        post(
            RULES,
            of_kind(
                VERSION,
                "DeviceTaintRule",
                "{ns}-r",
                spec={
                    "deviceSelector": {"driver": DRIVER},
                    "taint": {"key": "a", "effect": "NoSchedule", "timeAdded": "2026-01-02T03:04:05Z"},
                },
            ),
        ),
        put(
            f"{RULES}/{{ns}}-r",
            of_kind(VERSION, "DeviceTaintRule", "{ns}-r", spec={"taint": {"key": "a", "effect": "None"}}),
        ),
        patch("merge", f"{RULES}/{{ns}}-r", {"spec": {"taint": {"value": "v"}}}),
        get(f"{RULES}/{{ns}}-r").as_(TABLE),
        delete(f"{RULES}/{{ns}}-r"),
    ),
    story(
        "claims-of-pods-and-groups",
        post(PODS, pod("p", resourceClaims=[{"name": "gpus", "resourceClaimTemplateName": "t"}])),
        patch(
            "strategic",
            f"{PODS}/p/status",
            {"status": {"resourceClaimStatuses": [{"name": "gpus", "resourceClaimName": "p-gpus-x"}]}},
        ),
        patch("merge", f"{PODS}/p/status", {"status": {"resourceClaimStatuses": [{"name": "none"}]}}),
        patch(
            "merge",
            f"{PODS}/p/status",
            {"status": {"extendedResourceClaimStatus": {"resourceClaimName": "c", "requestMappings": []}}},
        ),
        post(POD_GROUPS, pod_group("g", resourceClaims=[{"name": "link", "resourceClaimTemplateName": "t"}])),
        patch(
            "merge",
            f"{POD_GROUPS}/g/status",
            {"status": {"resourceClaimStatuses": [{"name": "link", "resourceClaimName": "g-link-x"}]}},
        ),
        patch("merge", f"{POD_GROUPS}/g/status", {"status": {"resourceClaimStatuses": [{"name": "none"}]}}),
    ),
]
