"""How volumes, and the classes that they come from, come to be and change."""

from collections.abc import Iterable, Iterator

from maitred.sandbox.apiserver.kinds.claims import check_access_modes
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden, invalid, required
from maitred.sandbox.apiserver.kinds.metadata import IMMUTABLE
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.catalogue import struct
from maitred.sandbox.apiserver.schema.quantities import nano
from maitred.sandbox.apiserver.schema.times import now
from maitred.sandbox.apiserver.schema.types import Body

DEFAULT_MARKS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
SOURCES = tuple(name for name, field in struct("core.v1.PersistentVolumeSpec").fields.items() if field.either)


class VolumeStrategy(Strategy):
    def before_create(self, body: Body) -> None:
        created = body["metadata"].get("creationTimestamp")
        body["status"] = {"phase": "Pending", "lastPhaseTransitionTime": created}

    def check(self, body: Body) -> list[FieldError]:
        return list(_check_volume(body["spec"], "spec"))

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        return [*self.check(new), *_check_change(new["spec"], old["spec"])]

    def before_status(self, new: Body, old: Body) -> None:
        status, before = new.setdefault("status", {}), old.get("status", {})
        since = status.get("lastPhaseTransitionTime", before.get("lastPhaseTransitionTime"))
        if status.get("phase") != before.get("phase") and since == before.get("lastPhaseTransitionTime"):
            since = now()
        status["lastPhaseTransitionTime"] = since


PERSISTENT_VOLUMES = VolumeStrategy()


def default_class(classes: Iterable[Body]) -> str:
    """Of those that say they are the default, the youngest; of these, the first by name. Empty for none."""
    marked = [c["metadata"] for c in classes if _is_default(c["metadata"].get("annotations", {}))]
    youngest = max((meta["creationTimestamp"] for meta in marked), default="")
    return min((meta["name"] for meta in marked if meta["creationTimestamp"] == youngest), default="")


def _is_default(annotations: Body) -> bool:
    return any(annotations.get(name) == "true" for name in DEFAULT_MARKS)


def _check_volume(spec: Body, path: str) -> Iterator[FieldError]:
    yield from check_access_modes(spec.get("accessModes", []), f"{path}.accessModes")
    size = spec.get("capacity", {}).get("storage")
    if size is None:
        yield required(f"{path}.capacity[storage]")
    elif nano(size) <= 0:
        yield invalid(f"{path}.capacity[storage]", size, "must be greater than zero")
    if "local" in spec and "nodeAffinity" not in spec:
        yield required(f"{path}.nodeAffinity", "Local volume requires node affinity")


def _check_change(spec: Body, before: Body) -> Iterator[FieldError]:
    if any(spec.get(name) != before.get(name) for name in SOURCES):
        yield forbidden("spec.persistentvolumesource", "is immutable after creation")
    if "nodeAffinity" in before and spec.get("nodeAffinity") != before["nodeAffinity"]:
        yield invalid("spec.nodeAffinity", spec.get("nodeAffinity"), IMMUTABLE)
