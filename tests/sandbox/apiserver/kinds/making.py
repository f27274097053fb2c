"""Pods for tests, as short as what they are about."""

from typing import Any

from maitred.sandbox.apiserver.schema.types import Body
from tests.sandbox.apiserver.kinds.asking import Case

GPU = "example.dev/gpu"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
MAIN = {"name": "main", "image": "busybox:1.36"}
FIRST = "spec.containers[0]"
NODE_TERMS = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"


def pod(metadata: Body | None = None, **spec: Any) -> Body:
    named = {"name": "p", **(metadata or {})}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": named,
        "spec": {"containers": [dict(MAIN)], **spec},
    }


def container(**fields: Any) -> Body:
    return pod(containers=[{**MAIN, **fields}])


def of_pod(what: str, *errors: str, metadata: Body | None = None, **spec: Any) -> Case:
    return Case(what, pod(metadata, **spec), errors)


def of_container(what: str, *errors: str, **fields: Any) -> Case:
    return Case(what, container(**fields), tuple(f"{FIRST}.{error}" for error in errors))


def of_init(what: str, *errors: str, **fields: Any) -> Case:
    body = pod(initContainers=[{**MAIN, "name": "first", **fields}])
    return Case(what, body, tuple(f"spec.initContainers[0].{error}" for error in errors))


def of_volume(what: str, *errors: str, **fields: Any) -> Case:
    body = pod(volumes=[{"name": "v", **fields}])
    return Case(what, body, tuple(f"spec.volumes[0].{error}" for error in errors))


def of_resources(what: str, *errors: str, **resources: Any) -> Case:
    return of_container(what, *(f"resources.{error}" for error in errors), resources=resources)


def of_affinity(what: str, *errors: str, terms: Body, kind: str = "podAffinity") -> Case:
    path = f"spec.affinity.{kind}"
    return of_pod(what, *(f"{path}.{error}" for error in errors), affinity={kind: terms})


def of_spread(what: str, *errors: str, **constraint: Any) -> Case:
    path = "spec.topologySpreadConstraints[0]"
    usual = {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule"}
    return of_pod(
        what,
        *(f"{path}.{error}" for error in errors),
        topologySpreadConstraints=[{**usual, **constraint}],
    )


def of_toleration(what: str, *errors: str, **toleration: Any) -> Case:
    path = "spec.tolerations[0]"
    return of_pod(what, *(f"{path}.{error}" for error in errors), tolerations=[toleration])


def of_node_terms(what: str, *errors: str, terms: list[Body]) -> Case:
    affinity = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}
    return of_pod(what, *(f"{NODE_TERMS}{error}" for error in errors), affinity=affinity)
