"""The rules for the environment of containers, and for what of the pod they can read."""

import re
from collections.abc import Iterator, Sequence

from maitred.sandbox.apiserver.kinds.amounts import nano
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, invalid, required, unsupported
from maitred.sandbox.apiserver.kinds.names import (
    NameRule,
    check_name,
    config_key,
    label,
    label_key,
    subdomain,
    variable,
)
from maitred.sandbox.apiserver.kinds.paths import check_no_way_up
from maitred.sandbox.apiserver.schema.types import Body

OF_PODS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
"""What an environment variable can say of its pod."""
OF_PODS_IN_FILES = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
KNOWN_OF_PODS = frozenset(
    {*OF_PODS, *OF_PODS_IN_FILES, "spec.restartPolicy", "spec.schedulerName", "status.phase"}
)
OF_CONTAINERS = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
PAGES = ("requests.hugepages-", "limits.hugepages-")
BYTES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef")


def check_env(variables: Sequence[Body], path: str) -> Iterator[FieldError]:
    for index, entry in enumerate(variables):
        here, name = f"{path}[{index}]", entry.get("name", "")
        if not name:
            yield required(f"{here}.name")
        yield from check_name(f"{here}.name", name, variable)
        if "valueFrom" in entry:
            yield from _check_source(entry["valueFrom"], entry.get("value", ""), f"{here}.valueFrom")


def check_env_from(sources: Sequence[Body], path: str) -> Iterator[FieldError]:
    for index, source in enumerate(sources):
        yield from check_name(f"{path}[{index}].prefix", source.get("prefix", ""), variable)
        given = [kind for kind in ("configMapRef", "secretRef") if kind in source]
        for kind in given:
            yield from _check_named(source[kind], f"{path}[{index}].{kind}")
        if not given:
            yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif len(given) > 1:
            yield invalid(path, "", "may not have more than one field specified at a time")


def check_pod_field(selector: Body, known: tuple[str, ...], path: str) -> Iterator[FieldError]:
    version, field = selector.get("apiVersion", ""), selector.get("fieldPath", "")
    if not version:
        yield required(f"{path}.apiVersion")
        return
    if not field:
        yield required(f"{path}.fieldPath")
        return
    item = re.fullmatch(r"(.+)\['(.*)'\]", field)
    if problem := _unknown_field(version, field, item):
        yield invalid(f"{path}.fieldPath", field, f"error converting fieldPath: {problem}")
    elif item:
        key = item[2].lower() if item[1] == "metadata.annotations" else item[2]
        yield from check_name(path, key, label_key)
    elif field not in known:
        yield unsupported(f"{path}.fieldPath", field, known)


def check_container_field(selector: Body, path: str, *, in_file: bool) -> Iterator[FieldError]:
    resource = selector.get("resource", "")
    if in_file and not selector.get("containerName"):
        yield required(f"{path}.containerName")
    elif not resource:
        yield required(f"{path}.resource")
    elif resource not in OF_CONTAINERS and not resource.startswith(PAGES):
        yield unsupported(f"{path}.resource", resource, OF_CONTAINERS)
    yield from _check_divisor(resource, selector.get("divisor", "0"), f"{path}.divisor")


def _check_source(source: Body, value: str, path: str) -> Iterator[FieldError]:
    given = [kind for kind in SOURCES if kind in source]
    for kind in given:
        yield from _check_reference(kind, source[kind], f"{path}.{kind}")
    if not given:
        known = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        yield invalid(path, "", f"must specify one of: {known}")
    elif value:
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        yield invalid(path, "", "may not have more than one field specified at a time")


def _check_reference(kind: str, reference: Body, path: str) -> Iterator[FieldError]:
    if kind == "fieldRef":
        yield from check_pod_field(reference, OF_PODS, path)
    elif kind == "resourceFieldRef":
        yield from check_container_field(reference, path, in_file=False)
    elif kind == "fileKeyRef":
        yield from _check_file(reference, path)
    else:
        yield from check_name(f"{path}.name", reference.get("name", ""), subdomain)
        yield from _check_key(reference, "key", config_key, path)


def _check_file(reference: Body, path: str) -> Iterator[FieldError]:
    yield from _check_key(reference, "key", variable, path)
    yield from _check_key(reference, "volumeName", label, path)
    if not reference.get("path"):
        yield required(f"{path}.path")
    yield from check_no_way_up(reference.get("path", ""), f"{path}.path")


def _check_key(reference: Body, name: str, rule: NameRule, path: str) -> Iterator[FieldError]:
    if not reference.get(name):
        yield required(f"{path}.{name}")
    else:
        yield from check_name(f"{path}.{name}", reference[name], rule)


def _check_named(reference: Body, path: str) -> Iterator[FieldError]:
    if not reference.get("name"):
        yield required(f"{path}.name")
    else:
        yield from check_name(f"{path}.name", reference["name"], subdomain)


def _unknown_field(version: str, field: str, item: re.Match[str] | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if item:
        has_items = item[1] in ("metadata.annotations", "metadata.labels")
        return "" if has_items else f"field label does not support subscript: {field}"
    return "" if field in KNOWN_OF_PODS else f"field label not supported: {field}"


def _check_divisor(resource: str, divisor: str, path: str) -> Iterator[FieldError]:
    if not nano(divisor):
        return
    if resource.endswith(".cpu"):
        if divisor not in ("1m", "1"):
            yield invalid(
                path, resource, "only divisor's values 1m and 1 are supported with the cpu resource"
            )
        return
    kinds = {".memory": "memory", ".ephemeral-storage": "local ephemeral storage"}
    kind = next((words for end, words in kinds.items() if resource.endswith(end)), "")
    if resource.startswith(PAGES):
        kind = "hugepages"
    if kind and divisor not in BYTES:
        yield invalid(
            path, resource, f"only divisor's values {', '.join(BYTES)} are supported with the {kind} resource"
        )
