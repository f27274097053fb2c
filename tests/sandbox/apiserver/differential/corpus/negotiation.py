"""Forms of bodies and answers, and who may ask at all."""

from dataclasses import replace

from tests.sandbox.apiserver.differential.corpus.objects import config_map, of_kind, pod
from tests.sandbox.apiserver.differential.requests import (
    CONFIG_MAPS,
    NODES,
    PARTIAL,
    PARTIAL_LIST,
    PODS,
    TABLE,
    YAML,
    Request,
    delete,
    get,
    patch,
    post,
    story,
    watch,
)

RBAC = "rbac.authorization.k8s.io"
LIMIT = 3 * 2**20


def typed(request: Request, content_type: str) -> Request:
    return replace(request, content_type=content_type)


STORIES = [
    story(
        "accept",
        post(CONFIG_MAPS, config_map("a", x="1")),
        *(
            get(f"{CONFIG_MAPS}/a").as_(accept)
            for accept in (
                "*/*",
                "application/*",
                "",
                "text/html",
                "text/html,application/json;q=0.5",
                "application/xml",
                "application/json;charset=utf-8",
                TABLE,
                PARTIAL,
                PARTIAL_LIST,
                "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
                "application/json;as=Table;v=v9;g=meta.k8s.io",
                "application/json;as=Chair;v=v1;g=meta.k8s.io",
                f"{TABLE},application/json",
                "application/json;as=Table;v=v9;g=meta.k8s.io,application/json",
            )
        ),
        get(CONFIG_MAPS).as_(PARTIAL_LIST),
        get(CONFIG_MAPS).as_(PARTIAL),
        get(f"{CONFIG_MAPS}/none").as_(TABLE),
        get(f"{CONFIG_MAPS}/none").as_("text/html"),
    ),
    story(
        "content-types",
        typed(post(CONFIG_MAPS, config_map("b")), "text/plain"),
        typed(post(CONFIG_MAPS, config_map("b")), "application/xml"),
        typed(post(CONFIG_MAPS, config_map("b")), "application/json; charset=utf-8"),
        typed(patch("merge", f"{CONFIG_MAPS}/b", {}), "application/merge-patch+json; charset=utf-8"),
        typed(post(CONFIG_MAPS, config_map("d")), ""),
        typed(post(CONFIG_MAPS, "metadata: {name: yaml}\ndata: {x: '1'}\n"), YAML),
    ),
    story(
        "sizes",
        post(CONFIG_MAPS, '{"metadata": {"name": "' + "x" * LIMIT + '"}}'),
        patch("merge", f"{CONFIG_MAPS}/a", '{"data": {"x": "' + "x" * LIMIT + '"}}'),
        post(CONFIG_MAPS, '{"a":' * 20_000 + "1" + "}" * 20_000),
    ),
    story(
        "who",
        *(get(CONFIG_MAPS).by(user) for user in ("nobody", "stranger", "other")),
        get("/api").by("nobody"),
        get("/version").by("stranger"),
        replace(get("/apis/batch/v1").by("other"), only=("jobs", "jobs/status")),
        get("/nothing").by("other"),
        get("/nothing").by("nobody"),
        post(CONFIG_MAPS, config_map("a")).by("other"),
        get(f"{PODS}/a").by("other"),
        get(NODES).by("other"),
        post(f"{PODS}/a/binding", {"target": {"name": "n"}}).by("other"),
        patch("merge", f"{PODS}/a/status", {}).by("other"),
        delete(PODS).by("other"),
        post(
            f"/apis/{RBAC}/v1/namespaces/{{ns}}/roles",
            of_kind(
                f"{RBAC}/v1",
                "Role",
                "reader",
                rules=[
                    {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]},
                    {
                        "apiGroups": [""],
                        "resources": ["pods/status"],
                        "verbs": ["patch"],
                        "resourceNames": ["a"],
                    },
                ],
            ),
        ),
        post(
            f"/apis/{RBAC}/v1/namespaces/{{ns}}/rolebindings",
            of_kind(
                f"{RBAC}/v1",
                "RoleBinding",
                "reader",
                roleRef={"apiGroup": RBAC, "kind": "Role", "name": "reader"},
                subjects=[{"kind": "ServiceAccount", "namespace": "maitred-system", "name": "maitred"}],
            ),
        ),
        get(CONFIG_MAPS).by("other").until(200),
        get(f"{CONFIG_MAPS}/none").by("other"),
        get(CONFIG_MAPS, watch="1").by("other"),
        delete(f"{CONFIG_MAPS}/a").by("other"),
        patch("merge", f"{PODS}/a/status", {}).by("other"),
        patch("merge", f"{PODS}/b/status", {}).by("other"),
    ),
    story(
        "access-reviews",
        post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "{ns}"}}},
        ),
        post(
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
            {"spec": {"resourceAttributes": {"verb": "list", "resource": "pods", "namespace": "{ns}"}}},
        ).by("other"),
        post("/apis/authentication.k8s.io/v1/selfsubjectreviews", {}).by("other"),
    ),
    story(
        "tables",
        post(PODS, pod("a", metadata={"labels": {"colour": "red"}})),
        post(PODS, pod("b", nodeName="n1")),
        patch("merge", f"{PODS}/b/status", {"status": {"phase": "Succeeded"}}),
        get(PODS).as_(TABLE),
        get(PODS, includeObject="None").as_(TABLE),
        get(PODS, includeObject="Object").as_(TABLE),
        get(PODS, includeObject="Perhaps").as_(TABLE),
        get(PODS, labelSelector="colour=red", limit="1").as_(TABLE),
        get(PODS, labelSelector="colour=none").as_(TABLE),
        get(f"{PODS}/a").as_(TABLE),
        post(PODS, pod("c")).as_(TABLE),
        delete(f"{PODS}/c").as_(TABLE),
        get(f"/apis/{RBAC}/v1/namespaces/{{ns}}/roles").as_(TABLE),
        get("/api/v1/namespaces/{ns}/persistentvolumeclaims").as_(TABLE),
        get("/api/v1/namespaces", fieldSelector="metadata.name={ns}").as_(TABLE),
        get("/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical").as_(TABLE),
        replace(watch(PODS, post(PODS, pod("last")), until=("ADDED", "last")), accept=TABLE),
    ),
]
