"""What a service behind the API server needs of it: slices, the proxy to them, and reviews of who asks."""

from typing import Any

from tests.sandbox.apiserver.differential.corpus.objects import of_kind, pod
from tests.sandbox.apiserver.differential.requests import (
    PODS,
    Json,
    delete,
    get,
    patch,
    post,
    put,
    story,
)

SLICES = "/apis/discovery.k8s.io/v1/namespaces/{ns}/endpointslices"
SERVICES = "/api/v1/namespaces/{ns}/services"
TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
PORT = {"name": "answers", "port": 1, "protocol": "TCP"}


def slices(name: str, *addresses: str, of: str = "desk", **fields: Any) -> Json:
    target = {"kind": "Pod", "name": "clerk", "namespace": "{ns}"}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": of}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "targetRef": target} for address in addresses],
        "ports": [PORT],
        **fields,
    }


def service(name: str) -> Json:
    return of_kind("v1", "Service", name, spec={"ports": [PORT], "clusterIP": "None"})


def token_review(**spec: Any) -> Json:
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}


def access_review(**spec: Any) -> Json:
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}


LIST_PODS = {"verb": "list", "resource": "pods", "namespace": "{ns}"}

STORIES = [
    story(
        "slices",
        post(SLICES, slices("a", "192.0.2.1")).named("a"),
        get(f"{SLICES}/a"),
        post(SLICES, slices("plain", "192.0.2.1", ports=[{"port": 80}])),
        put(f"{SLICES}/a", slices("a", "192.0.2.2")),
        put(f"{SLICES}/a", slices("a", "192.0.2.2", addressType="IPv6")),
        patch("merge", f"{SLICES}/a", {"ports": [{"name": "x", "port": 2}]}),
        get(f"{SLICES}/a"),
        delete(f"{SLICES}/a"),
    ),
    story(
        "bad slices",
        *(
            post(SLICES, slices("bad", address))
            for address in ("127.0.0.1", "0.0.0.0", "169.254.1.1", "224.0.0.1", "::1", "nowhere", "")
        ),
        post(SLICES, slices("bad", "::1", addressType="IPv6")),
        post(SLICES, slices("bad", "192.0.2.1", addressType="")),
        post(SLICES, slices("bad", "192.0.2.1", addressType="Pigeon")),
        post(SLICES, slices("bad", endpoints=[{"addresses": []}])),
        post(SLICES, slices("bad", "192.0.2.1", ports=[PORT, PORT])),
        post(SLICES, slices("bad", "192.0.2.1", ports=[{**PORT, "protocol": "ICMP"}])),
        post(SLICES, slices("bad", "192.0.2.1", ports=[{**PORT, "name": "No Name"}])),
        post(SLICES, slices("bad", endpoints=[{"addresses": ["192.0.2.1"], "hostname": "No"}])),
        post(SLICES, slices("bad", endpoints=[{"addresses": ["192.0.2.1"], "nodeName": "No"}])),
    ),
    story(
        "service proxy",
        get(f"{SERVICES}/desk/proxy/"),
        get(f"{SERVICES}/https:desk:answers/proxy/why"),
        get(f"{SERVICES}/desk:1/proxy/why"),
        get(f"{SERVICES}/ftp:desk:answers/proxy/why"),
        get(f"{SERVICES}/a:b:c:d/proxy/why"),
        post(SERVICES, service("desk")),
        get(f"{SERVICES}/https:desk:answers/proxy/why"),
        get(f"{SERVICES}/desk:2/proxy/why"),
        get(f"{SERVICES}/desk:1/proxy/why").by("other"),
        post(f"{SERVICES}/desk:1/proxy/why", {}).by("other"),
        post(SLICES, slices("desk-1", "192.0.2.1")),
        get(f"{SERVICES}/https:desk:answers/proxy/why"),
        post(PODS, pod("clerk")),
        get(f"{SERVICES}/https:desk:answers/proxy/why"),
        patch(
            "merge",
            f"{PODS}/clerk/status",
            {"status": {"podIP": "192.0.2.9", "podIPs": [{"ip": "192.0.2.9"}]}},
        ),
        get(f"{SERVICES}/https:desk:answers/proxy/why"),
    ),
    story(
        "reviews of tokens",
        post(TOKENS, token_review()),
        post(TOKENS, token_review(token="nobody-has-this")),
        post(TOKENS, token_review(token="nobody-has-this")).by("other"),
        get(TOKENS),
    ),
    story(
        "reviews of access",
        post(ACCESS, access_review(user="someone", groups=["a"], uid="u", resourceAttributes=LIST_PODS)),
        post(ACCESS, access_review(user="boss", groups=["system:masters"], resourceAttributes=LIST_PODS)),
        post(ACCESS, access_review(user="someone", extra={"k": ["v"]}, resourceAttributes=LIST_PODS)),
        post(ACCESS, access_review(resourceAttributes=LIST_PODS)),
        post(ACCESS, access_review(user="someone")),
    ),
]
