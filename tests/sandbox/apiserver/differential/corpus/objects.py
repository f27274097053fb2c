"""Small objects for the corpus."""

from typing import Any

from tests.sandbox.apiserver.differential.requests import Json

CONTAINER: Json = {"name": "main", "image": "registry.example/work:1"}


def named(name: str, **metadata: Any) -> Json:
    return {"name": name, **metadata}


def pod(name: str, *, metadata: Json | None = None, **spec: Any) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": named(name, **(metadata or {})),
        "spec": {"containers": [CONTAINER], **spec},
    }


def config_map(name: str, *, metadata: Json | None = None, **data: str) -> Json:
    body: Json = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": named(name, **(metadata or {}))}
    return {**body, "data": data} if data else body


def labelled(name: str, **labels: str) -> Json:
    return config_map(name, metadata={"labels": labels})


def node(name: str, **spec: Any) -> Json:
    return {"apiVersion": "v1", "kind": "Node", "metadata": named(name), "spec": spec}


def namespace(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": named(name)}


def job(name: str, **spec: Any) -> Json:
    template = {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": named(name),
        "spec": {"template": template, **spec},
    }


def pod_group(name: str, **spec: Any) -> Json:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": named(name),
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}, **spec},
    }


def of_kind(api_version: str, kind: str, name: str, **rest: Any) -> Json:
    return {"apiVersion": api_version, "kind": kind, "metadata": named(name), **rest}
