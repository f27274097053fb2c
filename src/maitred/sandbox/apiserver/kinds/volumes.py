"""How volumes, claims to them, and the classes that both come from come to be and change."""

from collections.abc import Iterable, Iterator
from typing import Any

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden, invalid, required
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.quantities import nano
from maitred.sandbox.apiserver.schema.times import now
from maitred.sandbox.apiserver.schema.types import Body

DEFAULT_MARK = "storageclass.kubernetes.io/is-default-class"
SOURCES = tuple(name for name, field in struct("core.v1.PersistentVolumeSpec").fields.items() if field.either)


class ClaimStrategy(Strategy):
    def before_create(self, body: Body) -> None:
        body["status"] = {"phase": "Pending"}

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        return list(_check_claim_change(new.get("spec", {}), old.get("spec", {}), old.get("status", {})))


class VolumeStrategy(Strategy):
    def before_create(self, body: Body) -> None:
        created = body["metadata"].get("creationTimestamp")
        body["status"] = {"phase": "Pending", "lastPhaseTransitionTime": created}

    def check(self, body: Body) -> list[FieldError]:
        return list(_check_volume(body["spec"], "spec"))

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        changed = any(new["spec"].get(name) != old["spec"].get(name) for name in SOURCES)
        errors = [forbidden("spec.persistentvolumesource", "is immutable after creation")] if changed else []
        return [*self.check(new), *errors]

    def before_status(self, new: Body, old: Body) -> None:
        status, before = new.setdefault("status", {}), old.get("status", {})
        since = status.get("lastPhaseTransitionTime", before.get("lastPhaseTransitionTime"))
        if status.get("phase") != before.get("phase") and since == before.get("lastPhaseTransitionTime"):
            since = now()
        status["lastPhaseTransitionTime"] = since


PERSISTENT_VOLUMES = VolumeStrategy()
PERSISTENT_VOLUME_CLAIMS = ClaimStrategy()


def default_class(classes: Iterable[Body]) -> str:
    """Of those that say they are the default, the youngest; of these, the first by name. Empty for none."""
    every = (body["metadata"] for body in classes)
    marked = [meta for meta in every if meta.get("annotations", {}).get(DEFAULT_MARK) == "true"]
    youngest = max((meta["creationTimestamp"] for meta in marked), default="")
    return min((meta["name"] for meta in marked if meta["creationTimestamp"] == youngest), default="")


def _check_volume(spec: Body, path: str) -> Iterator[FieldError]:
    yield from _check_modes_and_size(spec, spec.get("capacity", {}), path, "capacity")
    if "local" in spec and "nodeAffinity" not in spec:
        yield required(f"{path}.nodeAffinity", "Local volume requires node affinity")


def check_claim(spec: Body, path: str) -> Iterator[FieldError]:
    yield from _check_modes_and_size(spec, spec.get("resources", {}).get("requests", {}), path, "resources")


def _check_modes_and_size(spec: Body, amounts: Body, path: str, where: str) -> Iterator[FieldError]:
    modes, size = spec.get("accessModes", []), amounts.get("storage")
    if "ReadWriteOncePod" in modes and len(modes) > 1:
        yield forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes")
    if size is None:
        yield required(f"{path}.{where}[storage]")
    elif nano(size) <= 0:
        yield invalid(f"{path}.{where}[storage]", size, "must be greater than zero")


def _check_claim_change(spec: Body, before: Body, status: Body) -> Iterator[FieldError]:
    """A claim gets its volume and its class, and once it has a volume it may ask for more room."""
    free = [name for name in ("volumeName", "storageClassName") if name not in before]
    fixed = {name: value for name, value in spec.items() if name not in free}
    size, had = (each.get("resources", {}).get("requests", {}).get("storage", "0") for each in (spec, before))
    if status.get("phase") == "Bound":
        requests: dict[str, Any] = {**spec.get("resources", {}).get("requests", {}), "storage": had}
        fixed["resources"] = {**spec.get("resources", {}), "requests": requests}
    if fixed != before:
        yield forbidden("spec", "is immutable after creation except resources.requests for bound claims")
    elif nano(size) < nano(had) and nano(size) <= nano(status.get("capacity", {}).get("storage", "0")):
        why = "field can not be less than status.capacity"
        yield forbidden("spec.resources.requests.storage", why)
