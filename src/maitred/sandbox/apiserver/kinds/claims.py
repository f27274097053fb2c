"""The rules for claims to volumes."""

from collections.abc import Iterator
from typing import Any

from maitred.sandbox.apiserver.kinds.amounts import UNIT, nano
from maitred.sandbox.apiserver.kinds.differences import difference
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden, invalid, required, unsupported
from maitred.sandbox.apiserver.kinds.labels import check_annotations, check_label_selector, check_labels
from maitred.sandbox.apiserver.kinds.metadata import IMMUTABLE, immutable
from maitred.sandbox.apiserver.kinds.names import check_name, label, subdomain
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


class Claims(Strategy):
    def before_create(self, body: Body) -> None:
        _drop_odd_source(body["spec"], {})
        _complete_source(body["spec"])
        body["status"] = {"phase": "Pending"}

    def check(self, body: Body) -> list[FieldError]:
        return list(check_claim(body["spec"], "spec"))

    def before_update(self, new: Body, old: Body) -> None:
        _drop_odd_source(new["spec"], old["spec"])
        _complete_source(new["spec"])

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        return [*self.check(new), *_check_change(new, old)]

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        return [
            invalid(f"status.capacity[{name}]", nano(quantity) // UNIT, "must be a valid resource quantity")
            for name, quantity in new.get("status", {}).get("capacity", {}).items()
            if nano(quantity) < 0
        ]


PERSISTENT_VOLUME_CLAIMS = Claims()


def check_claim_template(template: Body, path: str) -> Iterator[FieldError]:
    metadata = template.get("metadata", {})
    yield from check_annotations(metadata.get("annotations", {}), f"{path}.metadata.annotations")
    yield from check_labels(metadata.get("labels", {}), f"{path}.metadata.labels")
    for name in metadata:
        if name not in ("annotations", "labels", "creationTimestamp"):
            yield forbidden(f"{path}.metadata.{name}", "cannot be set")
    yield from check_claim(template.get("spec", {}), f"{path}.spec")


def check_claim(spec: Body, path: str) -> Iterator[FieldError]:
    if not spec.get("accessModes"):
        yield required(f"{path}.accessModes", "at least 1 access mode is required")
    yield from check_label_selector(spec.get("selector"), f"{path}.selector")
    yield from check_access_modes(spec.get("accessModes", []), f"{path}.accessModes")
    yield from _check_size(spec, f"{path}.resources[storage]")
    if spec.get("storageClassName"):
        yield from check_name(f"{path}.storageClassName", spec["storageClassName"], subdomain)
    if spec.get("volumeMode") not in VOLUME_MODES:
        yield unsupported(f"{path}.volumeMode", spec.get("volumeMode", ""), VOLUME_MODES)
    for name in ("dataSource", "dataSourceRef"):
        if name in spec:
            yield from _check_source(spec[name], f"{path}.{name}")
    if spec.get("volumeAttributesClassName"):
        here = f"{path}.volumeAttributesClassName"
        yield from check_name(here, spec["volumeAttributesClassName"], subdomain)


def check_access_modes(modes: list[str], path: str) -> Iterator[FieldError]:
    for mode in modes:
        if mode not in ACCESS_MODES:
            yield unsupported(path, mode, ACCESS_MODES)
    if "ReadWriteOncePod" in modes and any(mode in ACCESS_MODES[:3] for mode in modes):
        yield forbidden(path, "may not use ReadWriteOncePod with other access modes")


def _drop_odd_source(spec: Body, before: Body) -> None:
    """Of old, anything but claims and snapshots goes unheard; who means it uses the newer field."""
    if "dataSourceRef" in spec or "dataSource" in before or "dataSourceRef" in before:
        return
    source = spec.get("dataSource", {})
    if (source.get("apiGroup") or "", source.get("kind", "")) not in SOURCES:
        spec.pop("dataSource", None)


def _complete_source(spec: Body) -> None:
    """Two fields say the same, one of them in an older way: each is filled from the other."""
    if "dataSource" in spec and "dataSourceRef" not in spec:
        spec["dataSourceRef"] = dict(spec["dataSource"])
    elif "dataSourceRef" in spec and "dataSource" not in spec and "namespace" not in spec["dataSourceRef"]:
        spec["dataSource"] = dict(spec["dataSourceRef"])


def _check_size(spec: Body, path: str) -> Iterator[FieldError]:
    size = spec.get("resources", {}).get("requests", {}).get("storage")
    if size is None:
        yield required(path)
    elif nano(size) <= 0:
        yield invalid(path, size, "must be greater than zero")


def _check_source(source: Body, path: str) -> Iterator[FieldError]:
    for name in ("name", "kind"):
        if not source.get(name):
            yield required(f"{path}.{name}")
    group = source.get("apiGroup", "")
    if group:
        yield from check_name(f"{path}.apiGroup", group, subdomain)
    elif source.get("kind") != "PersistentVolumeClaim":
        why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        yield invalid(path, source.get("kind", ""), why)
    if source.get("namespace"):
        yield from check_name(f"{path}.namespace", source["namespace"], label)


def _check_change(new: Body, old: Body) -> Iterator[FieldError]:
    spec, before = new.get("spec", {}), old.get("spec", {})
    annotated, was = (
        body["metadata"].get("annotations", {}).get(CLASS_ANNOTATION, "") for body in (new, old)
    )
    if annotated != was:
        yield invalid(f"metadata.annotations.{CLASS_ANNOTATION}", annotated, IMMUTABLE)
    fixed = _without_mutable(spec, before, old.get("status", {}))
    if fixed != before:
        words = "spec is immutable after creation except resources.requests and volumeAttributesClassName"
        yield forbidden("spec", f"{words} for bound claims\n{difference(before, fixed)}")
    if _size(spec) < _size(before) and _size(spec) <= _size({"resources": {"requests": _capacity(old)}}):
        yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")
    yield from immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))


def _without_mutable(spec: Body, before: Body, status: Body) -> Body:
    """The new spec, with what may change as it was."""
    fixed = dict(spec)
    mutable = [name for name in ("volumeName", "storageClassName") if name not in before]
    if status.get("phase") == "Bound":
        mutable.append("volumeAttributesClassName")
        requests: dict[str, Any] = dict(spec.get("resources", {}).get("requests", {}))
        requests["storage"] = before.get("resources", {}).get("requests", {}).get("storage")
        fixed["resources"] = {**spec.get("resources", {}), "requests": requests}
    for name in mutable:
        fixed.pop(name, None)
        if name in before:
            fixed[name] = before[name]
    return fixed


def _capacity(body: Body) -> dict[str, str]:
    capacity: dict[str, str] = body.get("status", {}).get("capacity", {})
    return capacity


def _size(spec: Body) -> int:
    return nano(spec.get("resources", {}).get("requests", {}).get("storage", "0"))
