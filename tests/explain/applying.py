"""Remedies carried out by hand: the raw objects, changed as the detail of a remedy says."""

import copy
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import msgspec

from maitred.explain.remedies.seeking import explained_plan
from maitred.explain.situation import Situation
from maitred.model.meta import Timestamp
from maitred.model.pod import PodSpec
from maitred.model.quantity import amount
from maitred.model.requests import pod_requests
from tests.explain.applying_devices import of_claims, slices_like, well_again
from tests.explain.loosening import LOOSENED, with_storage
from tests.oracle.builders import GROUP, HOSTNAME, INDEX, MIN_COUNT, TOPOLOGY, Obj, pod_group
from tests.oracle.unwell import repaired
from tests.support import NOON, decide, policy_of, snapshot_of


class UnattainableError(Exception):
    """What a remedy asks for takes more than a change of the manifests."""


SLICE_SIZE, SLICE_TOPOLOGY = "maitred.dev/slice-size", "maitred.dev/slice-topology"


def remedied(objects: list[Obj], policy: Obj | None = None, scheduler: str | None = None) -> Obj:
    """The Plan with remedies, as a dict."""
    situation = Situation(
        snapshot_of(objects), policy_of(policy), msgspec.convert(NOON, Timestamp), scheduler
    )
    plain: Obj = msgspec.to_builtins(explained_plan(situation))
    return plain


def check_remedies(objects: list[Obj], plan: Obj, policy: Obj | None = None) -> None:
    """Each of them, carried out, gets its group scheduled, and nobody who had places loses them."""
    scheduled = {entry["group"] for entry in plan["groups"] if entry["verdict"] == "Scheduled"}
    for entry in plan["groups"]:
        assert len(entry["remedies"]) <= 3
        assert not entry["remedies"] or entry["verdict"] in ("Waiting", "Impossible")
        for remedy in entry["remedies"]:
            try:
                changed = applied(objects, entry["group"], remedy["detail"])
            except UnattainableError:
                continue
            ruled = with_limits(policy, remedy["detail"])
            verdicts = {one["group"]: one["verdict"] for one in decide(changed, ruled)["groups"]}
            seated = {entry["group"], *scheduled, *remedy["detail"].get("ahead", ())}
            for group in seated.difference(remedy["detail"].get("instead", ())):
                assert verdicts[group] == "Scheduled", (group, entry["group"], remedy)


def with_limits(policy: Obj | None, detail: Obj) -> Obj | None:
    """The policy in which its owner has followed a remedy; as it was, if that is no matter of the policy."""
    changed = copy.deepcopy(policy)
    for one in detail.get("limits", ()):
        assert changed is not None
        (queue,) = (queue for queue in changed["queues"] if queue["name"] == one["queue"])
        if one["limit"] == "budget":
            unit = "deviceHours" if one["unit"] == "device-hours" else "money"
            assert queue["budget"][unit] == one["from"] < one["to"]
            queue["budget"][unit] = one["to"]
            continue
        if one["limit"] in ("borrow", "lend"):
            assert queue[one["limit"]] == one["from"]
            queue[one["limit"]] = one["to"]
            continue
        about = (one["resource"], one["model"])
        (limit,) = (lim for lim in queue["limits"] if (lim["resource"], lim.get("model", "*")) == about)
        assert limit[one["limit"]] < amount(one["resource"], one["to"])
        limit[one["limit"]] = one["to"]
    return changed


def applied(objects: list[Obj], group: str, detail: Obj) -> list[Obj]:
    """The objects of a cluster in which somebody has followed a remedy for the group."""
    changed = copy.deepcopy(objects)
    kind = detail["kind"]
    if "part" in detail:
        return _part(changed, detail)
    if kind == "limits":
        return changed
    if kind in LOOSENED:
        for pod in pending(changed, group):
            LOOSENED[kind](pod["spec"], detail)
        return changed
    return list(APPLIED[kind](changed, group, detail))


def _part(objects: list[Obj], detail: Obj) -> list[Obj]:
    """A PodGroup or a CompositePodGroup of a tree with what is in the detail."""
    kinds = ("PodGroup", "CompositePodGroup")
    (part,) = (one for one in objects if one["kind"] in kinds and key(one) == detail["part"])
    if detail["kind"] == "topology":
        part["spec"]["schedulingConstraints"] = {"topology": [{"key": detail["to"]}] if detail["to"] else []}
        return objects
    (field,) = part["spec"]["schedulingPolicy"]["gang"]
    assert field == {"members": "minCount", "parts": "minGroupCount"}[detail["counts"]]
    assert part["spec"]["schedulingPolicy"]["gang"][field] == detail["from"]
    part["spec"]["schedulingPolicy"]["gang"][field] = detail["to"]
    return objects


def _quorum(objects: list[Obj], group: str, detail: Obj) -> list[Obj]:
    _set_quorum(objects, group, detail["to"])
    return objects


def _members(objects: list[Obj], group: str, detail: Obj) -> list[Obj]:
    _set_quorum(objects, group, detail["quorum"])
    return [o for o in objects if o["kind"] != "Pod" or key(o) not in detail["without"]]


def _topology(objects: list[Obj], group: str, detail: Obj) -> list[Obj]:
    _set_level(objects, group, detail["constraint"], detail["to"])
    return objects


def _request(objects: list[Obj], group: str, detail: Obj) -> list[Obj]:
    for pod in pending(objects, group):
        _ask_for_less(pod["spec"], detail["resource"], detail["to"])
    return objects


def _group(objects: list[Obj], group: str, detail: Obj) -> list[Obj]:
    namespace, name = detail["group"].split("/")
    return [*objects, pod_group(name, detail["quorum"], namespace=namespace)]


def _storage(objects: list[Obj], group: str, detail: Obj) -> list[Obj]:
    return with_storage(objects, pending(objects, group), detail)


def _claims(objects: list[Obj], group: str, detail: Obj) -> list[Obj]:
    return of_claims(objects, pending(objects, group), detail)


def _devices(objects: list[Obj], group: str, detail: Obj) -> list[Obj]:
    return well_again(objects, detail)


def _offered(objects: list[Obj], group: str, detail: Obj) -> list[Obj]:
    """Device plugins offer all devices of their nodes again."""
    for one in detail["devices"]:
        (node,) = (o for o in objects if o["kind"] == "Node" and o["metadata"]["name"] == one["node"])
        mended = repaired(node)[one["resource"]]
        offered = node["status"].setdefault("allocatable", dict(node["status"]["capacity"]))
        assert int(mended) == int(offered.get(one["resource"], 0)) + one["unwell"]
        offered[one["resource"]] = node["status"]["capacity"][one["resource"]] = mended
    return objects


def _at_once(objects: list[Obj], group: str, detail: Obj) -> list[Obj]:
    for item in described_by(objects, group):
        for said in marks(item):
            said.pop("maitred.dev/not-before", None)
    return objects


def key(obj: Obj) -> str:
    return f"{obj['metadata'].get('namespace', 'default')}/{obj['metadata']['name']}"


def marks(obj: Obj) -> Iterator[dict[str, str]]:
    """Where marks may stand: labels and annotations."""
    for field in ("labels", "annotations"):
        if field in obj["metadata"]:
            yield obj["metadata"][field]


def members(objects: list[Obj], group: str) -> list[Obj]:
    jobs = {key(o) for o in objects if o["kind"] == "Job" and is_gang(o)}
    groups = below(objects, group)
    return [o for o in objects if o["kind"] == "Pod" and group_of(o, jobs) in groups]


def below(objects: list[Obj], group: str) -> set[str]:
    """The group, and all that are in it if it is a tree."""
    found, namespace = {group}, group.split("/")[0]
    parents = {
        key(o): f"{namespace}/{name}"
        for o in objects
        if (name := o.get("spec", {}).get("parentCompositePodGroupName"))
    }
    while more := {one for one, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def is_gang(job: Obj) -> bool:
    """Whether a Job that says nothing of groups is one. Such a Job of a single pod is none."""
    spec, marked = job["spec"], MIN_COUNT in job["metadata"].get("annotations", {})
    at_once = spec.get("completionMode") == "Indexed" and spec["parallelism"] == spec.get("completions")
    return marked or (at_once and spec["parallelism"] > 1)


def group_of(pod: Obj, jobs: Collection[str] = ()) -> str:
    """`jobs`: those that are gangs."""
    namespace = pod["metadata"].get("namespace", "default")
    named = pod["spec"].get("schedulingGroup", {}).get("podGroupName")
    named = named or next((found[GROUP] for found in marks(pod) if GROUP in found), None)
    owners = pod["metadata"].get("ownerReferences", [])
    owned = (f"{namespace}/{one['name']}" for one in owners if one["kind"] == "Job" and one["controller"])
    return f"{namespace}/{named}" if named else next((job for job in owned if job in jobs), key(pod))


def pending(objects: list[Obj], group: str) -> list[Obj]:
    return [
        pod
        for pod in members(objects, group)
        if "nodeName" not in pod["spec"]
        and "deletionTimestamp" not in pod["metadata"]
        and pod["status"]["phase"] == "Pending"
    ]


def described_by(objects: list[Obj], group: str) -> list[Obj]:
    """The objects that say what a group is: its PodGroup, or its Job, or else its pods."""
    declared = [o for o in objects if o["kind"] == "PodGroup" and key(o) == group]
    owners = [o for o in objects if o["kind"] == "Job" and key(o) == group and is_gang(o)]
    return declared or owners or members(objects, group)


def _set_quorum(objects: list[Obj], group: str, quorum: int) -> None:
    for obj in described_by(objects, group):
        if obj["kind"] == "Job":
            obj["metadata"].setdefault("annotations", {})[MIN_COUNT] = str(quorum)
        policy = obj["spec"].get("schedulingPolicy", {})
        if "gang" in policy:
            policy["gang"]["minCount"] = quorum
        if "minMember" in obj["spec"]:
            obj["spec"]["minMember"] = quorum
        for found in marks(obj):
            if MIN_COUNT in found:
                found[MIN_COUNT] = str(quorum)


def _set_level(objects: list[Obj], group: str, constraint: str, level: str | None) -> None:
    names = (TOPOLOGY,) if constraint == "required" else (SLICE_TOPOLOGY, SLICE_SIZE)
    for obj in described_by(objects, group):
        if constraint == "required" and obj["kind"] == "PodGroup":
            constraints = obj["spec"].get("schedulingConstraints", {})
            if constraints.get("topology"):
                constraints["topology"] = [{"key": level}] if level else []
        for found in marks(obj):
            for name in names:
                if level is None:
                    found.pop(name, None)
                elif name in found and name != SLICE_SIZE:
                    found[name] = level


def _ask_for_less(spec: Obj, resource: str, most: str) -> None:
    """All that the pod may ask for, asked for by its first container."""
    asked = pod_requests(msgspec.convert(spec, PodSpec)).get(resource, 0)
    if asked <= amount(resource, most):
        return
    overhead = amount(resource, spec.get("overhead", {}).get(resource, "0"))
    left = amount(resource, most) - overhead
    if left < 0:
        raise UnattainableError("nobody can ask for less than the overhead")
    for container in (*spec.get("initContainers", ()), *spec["containers"], spec):
        for part in container.get("resources", {}).values():
            part.pop(resource, None)
    text = f"{left}m" if resource == "cpu" else str(left)
    spec["containers"][0].setdefault("resources", {}).setdefault("requests", {})[resource] = text


def _new_nodes(objects: list[Obj], group: str, detail: Obj) -> list[Obj]:
    """Nodes fresh from the shop, with the pods and the limits that every such node gets."""
    (model,) = (o for o in objects if o["kind"] == "Node" and o["metadata"]["name"] == detail["like"])
    added = []
    for number in range(detail["count"]):
        name = f"fresh-{number}"
        labels = {**model["metadata"].get("labels", {}), **detail["labels"], HOSTNAME: name}
        node = {**copy.deepcopy(model), "metadata": {"name": name, "uid": name, "labels": labels}}
        taints = [t for t in model["spec"].get("taints", ()) if "node.kubernetes.io/" not in t["key"]]
        node["spec"] = {"taints": taints}
        node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
        node["status"]["allocatable"] = node["status"]["capacity"] = repaired(model)
        added += [node, *_belongings(objects, detail["like"], name)]
        added += slices_like(objects, detail["like"], name)
    return [*objects, *added]


def _new_members(objects: list[Obj], group: str, detail: Obj) -> Iterator[Obj]:
    """Members with the next indices, as the controller of the others would make them."""
    yield from objects
    (model,) = (pod for pod in members(objects, group) if key(pod) == detail["like"])
    last = max(int(pod["metadata"].get("labels", {}).get(INDEX, 0)) for pod in members(objects, group))
    for number in range(last + 1, last + 1 + detail["count"]):
        pod = copy.deepcopy(model)
        pod["metadata"] |= {"name": f"{group.partition('/')[2]}-new-{number}", "uid": f"new-{number}"}
        pod["metadata"].setdefault("labels", {})[INDEX] = str(number)
        yield pod


def _mended(objects: list[Obj], group: str, detail: Obj) -> list[Obj]:
    for node in (o for o in objects if o["kind"] == "Node" and o["metadata"]["name"] in detail["nodes"]):
        node["spec"].pop("unschedulable", None)
        node["spec"]["taints"] = [
            t for t in node["spec"].get("taints", ()) if t["key"] not in detail["taints"]
        ]
        node["status"]["conditions"] = [{"type": "Ready", "status": "True"}]
    return objects


def _priority(objects: list[Obj], group: str, detail: Obj) -> list[Obj]:
    for obj in (*members(objects, group), *described_by(objects, group)):
        if obj["kind"] == "Pod" or {"priority", "priorityClassName"} & obj["spec"].keys():
            obj["spec"].pop("priorityClassName", None)
            obj["spec"]["priority"] = detail["to"]
    return objects


def _belongings(objects: list[Obj], model: str, name: str) -> Iterator[Any]:
    for obj in objects:
        if obj["kind"] == "CSINode" and obj["metadata"]["name"] == model:
            yield {**obj, "metadata": {"name": name}}
        owners = obj["metadata"].get("ownerReferences", ())
        if (
            obj["kind"] == "Pod"
            and obj["spec"].get("nodeName") == model
            and any(o["kind"] == "DaemonSet" for o in owners)
        ):
            pod = copy.deepcopy(obj)
            pod["metadata"]["name"] += f"-{name}"
            pod["spec"]["nodeName"] = name
            pod["spec"].pop("volumes", None)
            yield pod


APPLIED: dict[str, Callable[[list[Obj], str, Obj], Iterable[Obj]]] = {
    "quorum": _quorum,
    "members": _members,
    "topology": _topology,
    "request": _request,
    "nodes": _new_nodes,
    "group": _group,
    "create": _new_members,
    "health": _mended,
    "priority": _priority,
    "claims": _storage,
    "volumes": _storage,
    "deviceCount": _claims,
    "deviceCapacity": _claims,
    "deviceSelector": _claims,
    "deviceClass": _claims,
    "deviceConstraint": _claims,
    "devices": _devices,
    "nodeDevices": _offered,
    "notBefore": _at_once,
}
