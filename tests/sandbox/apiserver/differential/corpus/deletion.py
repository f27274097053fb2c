"""How objects go: finalizers, grace, preconditions, collections, namespaces; and writes without effect."""

from typing import Any

from tests.sandbox.apiserver.differential.corpus.objects import (
    config_map,
    job,
    labelled,
    namespace,
    pod,
    pod_group,
)
from tests.sandbox.apiserver.differential.requests import (
    CONFIG_MAPS,
    JOBS,
    NAMESPACES,
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
)

MAP = f"{CONFIG_MAPS}/a"
UID = "3a3a3a3a-1111-2222-3333-444444444444"


def options(**fields: Any) -> Json:
    return {"apiVersion": "v1", "kind": "DeleteOptions", **fields}


def held(name: str) -> Json:
    return config_map(name, metadata={"finalizers": ["example.dev/hold"]})


def owned(name: str, uid: str) -> Json:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "a", "uid": uid}
    return config_map(name, metadata={"ownerReferences": [owner]})


STORIES = [
    story(
        "finalizers",
        post(CONFIG_MAPS, held("a")),
        delete(MAP).named("going"),
        delete(MAP),
        patch("merge", MAP, {"data": {"still": "there"}}),
        patch("merge", MAP, {"metadata": {"finalizers": ["example.dev/hold", "example.dev/more"]}}),
        post(CONFIG_MAPS, held("a")),
        patch("merge", MAP, {"metadata": {"finalizers": None}}),
        get(MAP),
        post(CONFIG_MAPS, config_map("c", metadata={"deletionTimestamp": "2026-01-02T03:04:05Z"})),
    ),
    story(
        "grace",
        post(PODS, pod("a")),
        delete(f"{PODS}/a"),  # nobody runs it, so nobody is waited for
        get(f"{PODS}/a"),
        post(PODS, pod("b", nodeName="n1")),
        delete(f"{PODS}/b"),
        delete(f"{PODS}/b", options(gracePeriodSeconds=60)),
        delete(f"{PODS}/b", options(gracePeriodSeconds=5)),
        delete(f"{PODS}/b", gracePeriodSeconds="0"),
        get(f"{PODS}/b"),
        post(PODS, pod("c", nodeName="n1", terminationGracePeriodSeconds=0)),
        delete(f"{PODS}/c"),
        get(f"{PODS}/c"),
        post(PODS, pod("d", nodeName="n1", metadata={"finalizers": ["example.dev/hold"]})),
        delete(f"{PODS}/d", gracePeriodSeconds="0"),
        patch("json", f"{PODS}/d", [{"op": "remove", "path": "/metadata/finalizers"}]),
        get(f"{PODS}/d"),
        post(PODS, pod("e", nodeName="n1")),
        patch("merge", f"{PODS}/e/status", {"status": {"phase": "Succeeded"}}),
        delete(f"{PODS}/e"),
        post(PODS, pod("f", nodeName="n1")),
        delete(f"{PODS}/f", options(gracePeriodSeconds=-1)),
        delete(f"{PODS}/f", gracePeriodSeconds="soon"),
    ),
    story(
        "preconditions",
        post(CONFIG_MAPS, config_map("a")).named("made"),
        delete(MAP, options(preconditions={"uid": UID})),
        delete(MAP, options(preconditions={"resourceVersion": "1"})),
        delete(MAP, options(propagationPolicy="Sideways")),
        delete(MAP, options(propagationPolicy="Orphan", orphanDependents=True)),
        delete(MAP, {"nonsense": True}),
        delete(MAP, options(preconditions={"uid": "$made.metadata.uid"})),
        delete(MAP),
    ),
    story(
        "propagation",
        post(JOBS, job("a")).named("job"),
        delete(f"{JOBS}/a", options(propagationPolicy="Foreground")),
        get(f"{JOBS}/a"),
        patch("merge", f"{JOBS}/a", {"metadata": {"finalizers": None}}),
        post(JOBS, job("b")),
        delete(f"{JOBS}/b"),
        post(JOBS, job("c")),
        delete(f"{JOBS}/c", propagationPolicy="Orphan"),
        patch("merge", f"{JOBS}/c", {"metadata": {"finalizers": None}}),
        post(JOBS, job("d")),
        delete(f"{JOBS}/d", propagationPolicy="Background"),
        get(f"{JOBS}/d"),
        post(CONFIG_MAPS, owned("e", "$job.metadata.uid")),
        post(CONFIG_MAPS, owned("f", "")),
    ),
    story(
        "collections",
        *(post(CONFIG_MAPS, labelled(name, colour="red")) for name in "ab"),
        post(CONFIG_MAPS, labelled("c", colour="blue")),
        delete(CONFIG_MAPS, labelSelector="colour=red"),
        get(CONFIG_MAPS),
        delete(CONFIG_MAPS, labelSelector="colour in ("),
        delete(CONFIG_MAPS, dryRun="All"),
        delete(CONFIG_MAPS, fieldSelector="metadata.name=c"),
        get(CONFIG_MAPS),
        delete("/api/v1/configmaps"),
        delete(NAMESPACES),
    ),
    story(
        "namespaces",
        post(NAMESPACES, namespace("{ns}-x")),
        post(NAMESPACES, namespace("Not_A_Name")),
        post(NAMESPACES, namespace("x" * 64)),
        post("/api/v1/namespaces/{ns}-x/configmaps", config_map("a")),
        delete(f"{NAMESPACES}/{{ns}}-x"),
        get(f"{NAMESPACES}/{{ns}}-x").named("going"),
        delete(f"{NAMESPACES}/{{ns}}-x"),
        post("/api/v1/namespaces/{ns}-x/configmaps", config_map("b")),
        patch("merge", "/api/v1/namespaces/{ns}-x/configmaps/a", {"data": {"x": "y"}}),
        apply("/api/v1/namespaces/{ns}-x/configmaps/c", config_map("c")),
        delete("/api/v1/namespaces/{ns}-x/configmaps/a"),
        put(f"{NAMESPACES}/{{ns}}-x/finalize", {**namespace("{ns}-x"), "spec": {"finalizers": []}}),
        get(f"{NAMESPACES}/{{ns}}-x"),
        delete(f"{NAMESPACES}/default"),
        delete(f"{NAMESPACES}/kube-system"),
    ),
    story(
        "only-tried",
        post(CONFIG_MAPS, config_map("a"), dryRun="All"),
        get(MAP),
        post(CONFIG_MAPS, config_map("a")),
        post(CONFIG_MAPS, config_map("a"), dryRun="All"),
        patch("merge", MAP, {"data": {"x": "1"}}, dryRun="All"),
        put(MAP, config_map("a", y="2"), dryRun="All"),
        delete(MAP, dryRun="All"),
        get(MAP),
        post(CONFIG_MAPS, config_map("b"), dryRun="Some"),
        delete(MAP, options(dryRun=["Some"])),
        post(PODS, {**pod("x"), "metadata": {"generateName": "x-"}}, dryRun="All"),
    ),
    story(
        "group-protection",
        post(POD_GROUPS, pod_group("a")),
        delete(f"{POD_GROUPS}/a"),
        get(f"{POD_GROUPS}/a"),
        patch("merge", f"{POD_GROUPS}/a", {"metadata": {"finalizers": None}}),
        get(f"{POD_GROUPS}/a"),
    ),
]
