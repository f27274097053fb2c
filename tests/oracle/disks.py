"""Volumes as the oracle's filters see them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tests.oracle.builders import REGION, ZONE, Obj
from tests.oracle.guests import Guest
from tests.oracle.reading import key
from tests.oracle.selectors import node_terms_match, quantity, selector_matches

_MODERN = {
    ZONE: ZONE,
    REGION: REGION,
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
}
_NOBODY = "kubernetes.io/no-provisioner"
Labels = Mapping[str, str]


@dataclass
class Disks:
    """Claims, volumes, classes and attach limits, and which free volumes the seated pods have taken."""

    claims: dict[str, Obj]
    volumes: dict[str, Obj]
    classes: dict[str, Obj]
    limits: dict[str, dict[str, int]]
    strict: set[str] = field(default_factory=set)
    left: dict[str, set[tuple[str, str]]] = field(default_factory=dict)
    """Node -> what is attached there and used by no pod. Here no pod has a claim to any of it."""
    taken: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, objects: Iterable[Obj]) -> "Disks":
        kinds: dict[str, list[Obj]] = {}
        for obj in objects:
            kinds.setdefault(obj["kind"], []).append(obj)
        volumes = {volume["metadata"]["name"]: volume for volume in kinds.get("PersistentVolume", ())}
        left: dict[str, set[tuple[str, str]]] = {}
        for made in kinds.get("VolumeAttachment", ()):
            csi = volumes[made["spec"]["source"]["persistentVolumeName"]]["spec"]["csi"]
            left.setdefault(made["spec"]["nodeName"], set()).add((csi["driver"], csi["volumeHandle"]))
        drivers = kinds.get("CSIDriver", ())
        return cls(
            strict={d["metadata"]["name"] for d in drivers if d["spec"]["preventPodSchedulingIfMissing"]},
            left=left,
            claims={key(claim): claim for claim in kinds.get("PersistentVolumeClaim", ())},
            volumes=volumes,
            classes={made["metadata"]["name"]: made for made in kinds.get("StorageClass", ())},
            limits={csi["metadata"]["name"]: _limits(csi) for csi in kinds.get("CSINode", ())},
        )

    def allow(self, guest: Guest, node: str, labels: Labels) -> bool:
        """Whether every claim of the pod can be had on that node, whoever else sits there."""
        return all(self._reachable(name, node, labels) for name in guest.claims)

    def exclusive(self, guest: Guest) -> Iterator[str]:
        """Claims that only one pod in the cluster may use."""
        for name in guest.claims:
            if "ReadWriteOncePod" in self.claims.get(name, {"spec": {}})["spec"].get("accessModes", ()):
                yield name

    def attached(self, guest: Guest) -> Iterator[tuple[str, str]]:
        """Driver and handle of everything that must be attached for the pod."""
        for name in guest.claims:
            spec = self.claims.get(name, {"spec": {}})["spec"]
            volume = self.volumes.get(spec.get("volumeName") or self.taken.get(name, ""))
            if volume is not None:
                csi = volume["spec"].get("csi")
                if csi:
                    yield csi["driver"], csi["volumeHandle"]
            elif spec.get("storageClassName") in self.classes:
                yield self.classes[spec["storageClassName"]]["provisioner"], name

    def take(self, guest: Guest, node: str, labels: Labels) -> None:
        """Reserve the smallest free volume for each claim that is bound when its pod is placed."""
        for name in guest.claims:
            if name in self.claims and not self.claims[name]["spec"].get("volumeName"):
                found = self._free(self.claims[name], node, labels)
                if found is not None:
                    self.taken[name] = found

    def give_back(self, guest: Guest) -> None:
        for name in guest.claims:
            self.taken.pop(name, None)

    def _reachable(self, name: str, node: str, labels: Labels) -> bool:
        claim = self.claims.get(name)
        if claim is None:
            return False
        bound = claim["spec"].get("volumeName")
        if bound:
            return bound in self.volumes and _touches(self.volumes[bound], node, labels)
        chosen = self.classes.get(claim["spec"].get("storageClassName", ""))
        if chosen is None or chosen.get("volumeBindingMode") != "WaitForFirstConsumer":
            return False
        return self._free(claim, node, labels) is not None or _can_be_made(chosen, labels)

    def _free(self, claim: Obj, node: str, labels: Labels) -> str | None:
        held = set(self.taken.values())
        fitting = [
            (quantity(volume["spec"]["capacity"]["storage"]), name)
            for name, volume in self.volumes.items()
            if name not in held and _fits(volume, claim) and _touches(volume, node, labels)
        ]
        return min(fitting)[1] if fitting else None


def _limits(csi: Obj) -> dict[str, int]:
    drivers = csi["spec"].get("drivers", ())
    return {driver["name"]: driver["allocatable"]["count"] for driver in drivers if "allocatable" in driver}


def _fits(volume: Obj, claim: Obj) -> bool:
    spec, wanted = volume["spec"], claim["spec"]
    owner = spec.get("claimRef")
    return (
        spec.get("storageClassName", "") == wanted.get("storageClassName", "")
        and quantity(spec["capacity"]["storage"]) >= quantity(wanted["resources"]["requests"]["storage"])
        and set(wanted["accessModes"]) <= set(spec["accessModes"])
        and (owner is None or f"{owner['namespace']}/{owner['name']}" == key(claim))
        and (
            "selector" not in wanted
            or selector_matches(wanted["selector"], volume["metadata"].get("labels", {}))
        )
    )


def _touches(volume: Obj, node: str, labels: Labels) -> bool:
    """Node affinity of the volume, and its zone and region labels where the node has such labels at all."""
    required = volume["spec"].get("nodeAffinity", {}).get("required")
    if required is not None and not node_terms_match(required["nodeSelectorTerms"], labels, node):
        return False
    if not labels.keys() & _MODERN.keys():
        return True
    zones = {name: value for name, value in volume["metadata"].get("labels", {}).items() if name in _MODERN}
    return all(
        labels.get(name, labels.get(_MODERN[name])) in value.split("__") for name, value in zones.items()
    )


def _can_be_made(chosen: Obj, labels: Labels) -> bool:
    allowed = chosen.get("allowedTopologies")
    return chosen["provisioner"] != _NOBODY and (
        not allowed
        or any(all(labels.get(e["key"]) in e["values"] for e in t["matchLabelExpressions"]) for t in allowed)
    )
