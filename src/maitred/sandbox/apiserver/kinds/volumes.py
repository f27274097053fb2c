"""How volumes, and the classes that they come from, come to be and change."""

import posixpath
from collections.abc import Iterable, Iterator, Sequence

from maitred.sandbox.apiserver.kinds.amounts import UNIT, nano
from maitred.sandbox.apiserver.kinds.claims import VOLUME_MODES, check_access_modes
from maitred.sandbox.apiserver.kinds.differences import difference
from maitred.sandbox.apiserver.kinds.fielderrors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    required,
    too_long,
    unsupported,
)
from maitred.sandbox.apiserver.kinds.labels import check_node_selector
from maitred.sandbox.apiserver.kinds.metadata import IMMUTABLE, immutable
from maitred.sandbox.apiserver.kinds.names import check_name, label, label_key, subdomain
from maitred.sandbox.apiserver.kinds.paths import check_no_way_up
from maitred.sandbox.apiserver.kinds.podvolumes import check_driver, check_host_path, check_nfs
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.times import now
from maitred.sandbox.apiserver.schema.types import Body

RECLAIM_POLICIES = ("Delete", "Recycle", "Retain")
CLASS_RECLAIM_POLICIES = ("Delete", "Retain")
DEFAULT_MARKS = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
BINDING_MODES = ("Immediate", "WaitForFirstConsumer")
MOST_PARAMETERS = 512
LARGEST_PARAMETERS = 256 * 2**10
FIXED_OF_CLASSES = ("provisioner", "parameters", "reclaimPolicy", "volumeBindingMode")
SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)
SOURCES = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
)
"""In the order of the server."""


class Volumes(Strategy):
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


class Classes(Strategy):
    def check(self, body: Body) -> list[FieldError]:
        return list(_check_class(body))

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        return [invalid(name, None, IMMUTABLE) for name in FIXED_OF_CLASSES if new.get(name) != old.get(name)]


PERSISTENT_VOLUMES = Volumes()
STORAGE_CLASSES = Classes()


def default_class(classes: Iterable[Body]) -> str:
    """Of those that say they are the default, the youngest; of these, the first by name. Empty for none."""
    marked = [c["metadata"] for c in classes if _is_default(c["metadata"].get("annotations", {}))]
    youngest = max((meta["creationTimestamp"] for meta in marked), default="")
    return min((meta["name"] for meta in marked if meta["creationTimestamp"] == youngest), default="")


def _is_default(annotations: Body) -> bool:
    return any(annotations.get(name) == "true" for name in DEFAULT_MARKS)


def _check_volume(spec: Body, path: str) -> Iterator[FieldError]:
    modes = spec.get("accessModes", [])
    if not modes:
        yield required(f"{path}.accessModes")
    yield from check_access_modes(modes, f"{path}.accessModes")
    yield from _check_capacity(spec.get("capacity", {}), f"{path}.capacity")
    if spec.get("persistentVolumeReclaimPolicy", "") not in ("", *RECLAIM_POLICIES):
        policy = spec["persistentVolumeReclaimPolicy"]
        yield unsupported(f"{path}.persistentVolumeReclaimPolicy", policy, RECLAIM_POLICIES)
    if "nodeAffinity" in spec:
        yield from _check_node_affinity(spec["nodeAffinity"], f"{path}.nodeAffinity")
    yield from _check_source(spec, path)
    yield from _check_recycling(spec, path)
    if spec.get("storageClassName"):
        yield from check_name(f"{path}.storageClassName", spec["storageClassName"], subdomain)
    if spec.get("volumeMode", "Filesystem") not in VOLUME_MODES:
        yield unsupported(f"{path}.volumeMode", spec["volumeMode"], VOLUME_MODES)


def _check_capacity(capacity: dict[str, str], path: str) -> Iterator[FieldError]:
    if not capacity:
        yield required(path)
    if list(capacity) != ["storage"]:
        yield unsupported(path, dict(sorted(capacity.items())) or None, ("storage",))
    for name, quantity in capacity.items():
        if nano(quantity) < 0:
            units = -(-nano(quantity) // UNIT)
            yield invalid(f"{path}[{name}]", units, "must be a valid resource quantity")
        if nano(quantity) <= 0:
            yield invalid(f"{path}[{name}]", quantity, "must be greater than zero")


def _check_node_affinity(affinity: Body, path: str) -> Iterator[FieldError]:
    if "required" not in affinity:
        yield required(f"{path}.required", "must specify required node constraints")
    else:
        yield from check_node_selector(affinity["required"], f"{path}.required")


def _check_source(spec: Body, path: str) -> Iterator[FieldError]:
    given = [kind for kind in SOURCES if kind in spec]
    if not given:
        yield required(path, "must specify a volume type")
        return
    kind, source, here = given[0], spec[given[0]], f"{path}.{given[0]}"
    if kind == "hostPath":
        yield from check_host_path(source, here)
    elif kind == "nfs":
        yield from check_nfs(source, here)
    elif kind == "local":
        yield from _check_local(spec, path)
    elif kind == "csi":
        yield from _check_csi(source, here)
    for other in given[1:]:
        yield forbidden(f"{path}.{other}", "may not specify more than 1 volume type")


def _check_local(spec: Body, path: str) -> Iterator[FieldError]:
    where = spec["local"].get("path", "")
    if not where:
        yield required(f"{path}.local.path")
    else:
        yield from check_no_way_up(where, f"{path}.local.path")
    if "nodeAffinity" not in spec:
        yield required(f"{path}.nodeAffinity", "Local volume requires node affinity")


def _check_csi(source: Body, path: str) -> Iterator[FieldError]:
    yield from check_driver(source.get("driver", ""), f"{path}.driver")
    if not source.get("volumeHandle"):
        yield required(f"{path}.volumeHandle")
    for kind in SECRETS:
        if kind in source:
            yield from _check_secret(source[kind], f"{path}.{kind}")


def _check_secret(reference: Body, path: str) -> Iterator[FieldError]:
    for name, rule in (("name", subdomain), ("namespace", label)):
        if not reference.get(name):
            yield required(f"{path}.{name}")
        else:
            yield from check_name(f"{path}.{name}", reference[name], rule)


def _check_recycling(spec: Body, path: str) -> Iterator[FieldError]:
    where = spec.get("hostPath", {}).get("path", "")
    if where and posixpath.normpath(where) == "/" and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        why = "may not be 'recycle' for a hostPath mount of '/'"
        yield forbidden(f"{path}.persistentVolumeReclaimPolicy", why)


def _check_change(spec: Body, before: Body) -> Iterator[FieldError]:
    source, was = ({kind: each[kind] for kind in SOURCES if kind in each} for each in (spec, before))
    if source != was:
        words = "spec.persistentvolumesource is immutable after creation"
        yield forbidden("spec.persistentvolumesource", f"{words}\n{difference(was, source)}")
    yield from immutable("volumeMode", spec.get("volumeMode"), before.get("volumeMode"))
    if "nodeAffinity" in before and spec.get("nodeAffinity") != before["nodeAffinity"]:
        why = f"{IMMUTABLE}, except for updating from beta label to GA"
        yield invalid("nodeAffinity", spec.get("nodeAffinity"), why)


def _check_class(body: Body) -> Iterator[FieldError]:
    if body.get("volumeBindingMode") not in BINDING_MODES:
        yield unsupported("volumeBindingMode", body.get("volumeBindingMode", ""), BINDING_MODES)
    provisioner = body.get("provisioner", "")
    if not provisioner:
        yield required("provisioner")
    else:
        yield from check_name("provisioner", provisioner.lower(), label_key)
    yield from _check_parameters(body.get("parameters", {}))
    if body.get("reclaimPolicy", "") not in ("", *CLASS_RECLAIM_POLICIES):
        yield unsupported("reclaimPolicy", body["reclaimPolicy"], CLASS_RECLAIM_POLICIES)
    yield from _check_topologies(body.get("allowedTopologies", ()))


def _check_parameters(parameters: dict[str, str]) -> Iterator[FieldError]:
    if len(parameters) > MOST_PARAMETERS:
        yield too_long("parameters", MOST_PARAMETERS)
        return
    if "" in parameters:
        yield invalid("parameters", "", "field can not be empty.")
    if sum(len(key) + len(value) for key, value in parameters.items()) > LARGEST_PARAMETERS:
        yield too_long("parameters", LARGEST_PARAMETERS)


def _check_topologies(terms: Sequence[Body]) -> Iterator[FieldError]:
    for index, term in enumerate(terms):
        keys = set[str]()
        for number, expression in enumerate(term.get("matchLabelExpressions", ())):
            path = f"allowedTopologies[{index}].matchLabelExpressions[{number}]"
            key, values = expression.get("key", ""), expression.get("values") or []
            if not values:
                yield required(f"{path}.values")
            for place, value in enumerate(values):
                if value in values[:place]:
                    yield duplicate(f"{path}.values[{place}]", value)
            yield from check_name(f"{path}.key", key, label_key)
            if key in keys:
                yield duplicate(f"{path}.key", key)
            keys.add(key)
