"""The empty healthy cluster, on which Impossible is proven, and what others may still do for a group."""

from collections.abc import Iterator, Mapping, Sequence

from tests.oracle.builders import HOSTNAME, REQUIRED, Obj, expr
from tests.oracle.floor import HEALTH
from tests.oracle.guests import guest, term
from tests.oracle.reading import Group, Policy, key, stays_on_empty
from tests.oracle.unwell import repaired


def empty_nodes(objects: Sequence[Obj], group: Group, policy: Policy) -> list[Obj]:
    """The nodes without cordon, NotReady, health taints and broken devices, and as many of each template as
    could be used."""
    health = policy.get("health")
    keys = HEALTH | set(health.get("taints", ()) if isinstance(health, Mapping) else ())
    templates = policy.get("nodeTemplates")
    made = [
        n for t in (templates if isinstance(templates, list) else []) for n in _copies(t, len(group.members))
    ]
    return [_healed(obj, keys) for obj in objects if obj["kind"] == "Node"] + made


def lasting_pods(objects: Sequence[Obj]) -> list[Obj]:
    return [obj for obj in objects if obj["kind"] == "Pod" and stays_on_empty(obj)]


def hopeful_members(live: Sequence[Obj], objects: Sequence[Obj], group: Group, generous: bool) -> list[Obj]:
    """Members of the group, unplaced, without the wishes that others could still fulfil.

    Claims that do not exist or that someone else has to bind are left out, and so is affinity to pods that
    are no members. Whoever is ``generous`` also leaves out affinity among members and spread: pods outside
    the group with the same labels could still come to satisfy them, and what then remains can only get worse
    by company.
    """
    return [_hopeful(pod, group.members, objects, generous) for pod in live]


def _healed(node: Obj, keys: frozenset[str]) -> Obj:
    taints = [taint for taint in node["spec"].get("taints", ()) if taint["key"] not in keys]
    status = {**node["status"], "allocatable": repaired(node), "conditions": []}
    return {**node, "spec": {"taints": taints}, "status": status}


def _copies(template: Mapping[str, object], most: int) -> Iterator[Obj]:
    count = template.get("max")
    labels = template.get("labels")
    for number in range(min(most, count) if isinstance(count, int) else most):
        name = f"{template['name']}#{number}"
        own = {HOSTNAME: name, **(labels if isinstance(labels, dict) else {})}
        yield {
            "kind": "Node",
            "metadata": {"name": name, "labels": own},
            "spec": {"taints": template.get("taints", [])},
            "status": {"allocatable": template["allocatable"]},
        }


def _hopeful(pod: Obj, members: Sequence[Obj], objects: Sequence[Obj], generous: bool) -> Obj:
    spec = {name: value for name, value in pod["spec"].items() if name != "nodeName"}
    spec["volumes"] = [
        volume for volume in spec.get("volumes", ()) if not _others_bring(volume, pod, objects)
    ]
    keys = []
    wishes = spec.get("affinity", {}).get("podAffinity", {}).get(REQUIRED, ())
    if wishes and (generous or not _about_members(pod, members, objects)):
        keys += [wish["topologyKey"] for wish in wishes]
        spec["affinity"] = {name: value for name, value in spec["affinity"].items() if name != "podAffinity"}
    if generous:
        rules = spec.pop("topologySpreadConstraints", ())
        keys += [rule["topologyKey"] for rule in rules if rule["whenUnsatisfiable"] == "DoNotSchedule"]
    return {**pod, "spec": _with_labels(spec, keys)}


def _others_bring(volume: Obj, pod: Obj, objects: Sequence[Obj]) -> bool:
    """Whether a claim is still to be made, or to be bound by someone other than the scheduler."""
    if "persistentVolumeClaim" not in volume:
        return False
    name = f"{pod['metadata'].get('namespace', 'default')}/{volume['persistentVolumeClaim']['claimName']}"
    claim = next((o for o in objects if o["kind"] == "PersistentVolumeClaim" and key(o) == name), None)
    if claim is None:
        return True
    chosen = claim["spec"].get("storageClassName")
    classes = {o["metadata"]["name"]: o for o in objects if o["kind"] == "StorageClass"}
    bound = claim["spec"].get("volumeName")
    return not bound and chosen in classes and classes[chosen]["volumeBindingMode"] == "Immediate"


def _about_members(pod: Obj, members: Sequence[Obj], objects: Sequence[Obj]) -> bool:
    """Whether some member, the pod itself perhaps, is what its affinity asks for."""
    spaces = {
        o["metadata"]["name"]: o["metadata"].get("labels", {}) for o in objects if o["kind"] == "Namespace"
    }
    meta = pod["metadata"]
    raws = pod["spec"]["affinity"]["podAffinity"][REQUIRED]
    terms = [term(raw, meta.get("namespace", "default"), meta.get("labels", {})) for raw in raws]
    return any(all(term.matches(guest(member), spaces) for term in terms) for member in members)


def _with_labels(spec: Obj, keys: Sequence[str]) -> Obj:
    """Node affinity that also asks for these labels: a wish that others fulfil still needs its keys."""
    if not keys:
        return spec
    affinity = spec.get("affinity", {})
    terms = affinity.get("nodeAffinity", {}).get(REQUIRED, {}).get("nodeSelectorTerms", [{}])
    extra = [expr(name, "Exists") for name in keys]
    empty = affinity.get("nodeAffinity", {}).get(REQUIRED) is not None
    narrowed = [
        {**each, "matchExpressions": [*each.get("matchExpressions", ()), *extra]}
        for each in terms
        if not empty or each.get("matchExpressions") or each.get("matchFields")
    ]
    return {**spec, "affinity": {**affinity, "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": narrowed}}}}
