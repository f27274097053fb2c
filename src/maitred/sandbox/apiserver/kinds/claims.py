"""The rules for claims to volumes."""

from collections.abc import Iterator
from typing import Any

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden, invalid, required
from maitred.sandbox.apiserver.kinds.metadata import changed_fields
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.quantities import nano
from maitred.sandbox.apiserver.schema.types import Body

SOURCES = (("", "PersistentVolumeClaim"), ("snapshot.storage.k8s.io", "VolumeSnapshot"))
CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"


class ClaimStrategy(Strategy):
    def before_create(self, body: Body) -> None:
        _drop_odd_source(body["spec"], {})
        _complete_source(body["spec"])
        body["status"] = {"phase": "Pending"}

    def before_update(self, new: Body, old: Body) -> None:
        _drop_odd_source(new["spec"], old["spec"])
        _complete_source(new["spec"])

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        return list(_check_change(new, old))


PERSISTENT_VOLUME_CLAIMS = ClaimStrategy()


def check_claim(spec: Body, path: str) -> Iterator[FieldError]:
    yield from check_access_modes(spec.get("accessModes", []), f"{path}.accessModes")
    path, size = f"{path}.resources[storage]", spec.get("resources", {}).get("requests", {}).get("storage")
    if size is None:
        yield required(path)
    elif nano(size) <= 0:
        yield invalid(path, size, "must be greater than zero")


def check_access_modes(modes: list[str], path: str) -> Iterator[FieldError]:
    if "ReadWriteOncePod" in modes and len(modes) > 1:
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


def _check_change(new: Body, old: Body) -> Iterator[FieldError]:
    spec, before, status = new.get("spec", {}), old.get("spec", {}), old.get("status", {})
    fixed = _without_mutable(spec, before, status)
    if fixed != before:
        words = "spec is immutable after creation except resources.requests and volumeAttributesClassName"
        yield forbidden("spec", f"{words} for bound claims; this changes {changed_fields(fixed, before)}")
    size, had = (_amount(each.get("resources", {}).get("requests", {})) for each in (spec, before))
    if size < had and size <= _amount(status.get("capacity", {})):
        yield forbidden("spec.resources.requests.storage", "field can not be less than status.capacity")


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


def _amount(amounts: Body) -> int:
    return nano(amounts.get("storage", "0"))
