"""The claims of pods, as the oracle reads them, and what a Plan makes of them."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.oracle.builders import Obj, lean, on_nodes
from tests.oracle.device_builders import consumer, resource_claim
from tests.oracle.device_supply import Amounts, Gadget, Supply, consumed
from tests.oracle.reading import Group, key
from tests.oracle.selectors import node_terms_match

Pick = tuple[str, Obj, Gadget]
"""The name of a request as results give it, what it asks for, and the device."""


@dataclass(frozen=True, eq=False)
class Claim:
    """A claim that some pods use: its spec, its name, and whom it is reserved for, by pod."""

    name: str
    spec: Obj
    allocation: Obj | None
    users: dict[str, Obj] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """Where the members go, and what their claims get."""

    seats: dict[str, str]
    allocations: dict[str, Obj]


def names_of(pod: Obj, objects: Sequence[Obj]) -> list[str]:
    """The claims of a pod, by namespace and name, those assumed that a template has yet to make."""
    return [
        claim_name(pod, entry, _shared_by(pod, entry, objects))
        for entry in pod["spec"].get("resourceClaims", ())
    ]


def claim_name(pod: Obj, entry: Obj, group: Obj | None) -> str:
    owner = pod if group is None else group
    name = entry.get("resourceClaimName") or f"{owner['metadata']['name']}-{entry['name']}"
    return f"{pod['metadata']['namespace']}/{name}"


def _shared_by(pod: Obj, entry: Obj, objects: Sequence[Obj]) -> Obj | None:
    """The PodGroup of a pod, if it has the same claim."""
    name = pod["spec"].get("schedulingGroup", {}).get("podGroupName")
    found = (o for o in objects if o["kind"] == "PodGroup" and o["metadata"]["name"] == name)
    return next((o for o in found if entry in o["spec"].get("resourceClaims", ())), None)


def claims_of(objects: Sequence[Obj]) -> dict[str, Claim]:
    """Every claim that some pod uses and that exists, or whose template does."""
    known = {key(o): o for o in objects if o["kind"] == "ResourceClaim"}
    templates = {key(o): o for o in objects if o["kind"] == "ResourceClaimTemplate"}
    found: dict[str, Claim] = {}
    for pod in (o for o in objects if o["kind"] == "Pod"):
        for entry in pod["spec"].get("resourceClaims", ()):
            group = _shared_by(pod, entry, objects)
            name = claim_name(pod, entry, group)
            template = templates.get(
                f"{pod['metadata']['namespace']}/{entry.get('resourceClaimTemplateName')}"
            )
            if name not in found and name in known:
                allocation = known[name].get("status", {}).get("allocation")
                found[name] = Claim(name, known[name]["spec"], allocation)
            elif name not in found and template is not None:
                found[name] = Claim(name, template["spec"]["spec"], None)
            if name in found:
                found[name].users[pod["metadata"]["name"]] = consumer(pod if group is None else group)
    return found


# ---- allocations


def results_of(allocation: Obj | None) -> list[Obj]:
    return list(allocation["devices"].get("results", ())) if allocation else []


def reached(allocation: Obj, node: Obj) -> bool:
    selector, meta = allocation.get("nodeSelector"), node["metadata"]
    return selector is None or node_terms_match(selector["nodeSelectorTerms"], meta["labels"], meta["name"])


def allocation_of(claim: Claim, picks: list[Pick], node: Obj, supply: Supply) -> Obj:
    """As Kubernetes writes it."""
    results = [
        lean(
            request=name,
            driver=gadget.id[0],
            pool=gadget.id[1],
            device=gadget.id[2],
            adminAccess=wanted.get("adminAccess"),
            tolerations=wanted.get("tolerations"),
            bindingConditions=gadget.raw.get("bindingConditions"),
            bindingFailureConditions=gadget.raw.get("bindingFailureConditions"),
            shareID=f"{claim.name}-{name}" if gadget.shared else None,
            consumedCapacity=_written(consumed(wanted, gadget)) if gadget.shared else None,
        )
        for name, wanted, gadget in picks
    ]
    config = [
        lean(source="FromClass", requests=[name], opaque=one["opaque"])
        for name, wanted in {name: wanted for name, wanted, _ in picks}.items()
        for one in supply.classes[wanted["deviceClassName"]].get("config", ())
    ]
    config += [
        lean(source="FromClaim", requests=one.get("requests"), opaque=one["opaque"])
        for one in claim.spec["devices"].get("config", ())
    ]
    selector = _node_selector([gadget for _, _, gadget in picks], node)
    return lean(devices=lean(results=results, config=config), nodeSelector=selector)


def _written(amounts: Amounts | None) -> dict[str, str]:
    return {name: str(amount) for name, amount in (amounts or {}).items()}


def _node_selector(gadgets: list[Gadget], node: Obj) -> Obj | None:
    expressions: list[Obj] = []
    for gadget in gadgets:
        spec = gadget.slice["spec"]
        where = gadget.raw if spec.get("perDeviceNodeSelection") else spec
        if where.get("nodeName") or gadget.raw.get("bindsToNode"):
            return {"nodeSelectorTerms": [on_nodes(node["metadata"]["name"])]}
        for term in where.get("nodeSelector", {}).get("nodeSelectorTerms", ()):
            expressions += [e for e in term["matchExpressions"] if e not in expressions]
    return {"nodeSelectorTerms": [{"matchExpressions": expressions}]} if expressions else None


def applied(objects: Sequence[Obj], plan: Obj) -> list[Obj]:
    """The cluster once a Plan has been carried out: claims made, allocated and reserved, and pods bound."""
    claims = claims_of(objects)
    made = [copy.deepcopy(obj) for obj in objects]
    known = {key(obj): obj for obj in made if obj["kind"] == "ResourceClaim"}
    for entry in plan["claims"]:
        name = entry["claim"]
        if name not in known:
            known[name] = resource_claim(name.partition("/")[2], claims[name].spec)
            known[name]["metadata"]["ownerReferences"] = [_owner(entry["reservedFor"][0])]
            made.append(known[name])
        status = known[name].setdefault("status", {})
        status.setdefault("allocation", entry["allocation"])
        before = status.get("reservedFor", [])
        status["reservedFor"] = before + [user for user in entry["reservedFor"] if user not in before]
    seats = {bind["pod"]: bind["node"] for bind in plan["binds"]}
    for pod in (obj for obj in made if obj["kind"] == "Pod"):
        uses = zip(pod["spec"].get("resourceClaims", ()), names_of(pod, objects), strict=True)
        there = [(entry["name"], name.partition("/")[2]) for entry, name in uses if name in known]
        pod["status"]["resourceClaimStatuses"] = [
            {"name": own, "resourceClaimName": name} for own, name in there
        ]
        if key(pod) in seats:
            pod["spec"]["nodeName"], pod["status"]["phase"] = seats[key(pod)], "Running"
    return made


def _owner(user: Obj) -> Obj:
    """Whoever a claim from a template was made for."""
    version, kind = ("v1", "Pod") if user["resource"] == "pods" else ("scheduling.k8s.io/v1beta1", "PodGroup")
    return {"apiVersion": version, "kind": kind, "name": user["name"], "uid": user["uid"], "controller": True}


def plan_of(objects: Sequence[Obj], group: Group, outcome: Outcome) -> Obj:
    """A Plan that does what was found."""
    pods = {key(pod): pod for pod in group.pending if pod["metadata"]["name"] in outcome.seats}
    binds = [
        {"pod": name, "uid": pod["metadata"]["uid"], "node": outcome.seats[pod["metadata"]["name"]]}
        | {"group": group.name}
        for name, pod in pods.items()
    ]
    claims = []
    for name, claim in claims_of(objects).items():
        users = [user for pod, user in claim.users.items() if pod in outcome.seats]
        if users:
            given = outcome.allocations.get(name) or claim.allocation
            unique = list({user["uid"]: user for user in users}.values())
            claims.append({"claim": name, "allocation": given, "reservedFor": unique})
    left = len(group.pending) - len(binds)
    blockers = [{"category": "Devices", "message": "no room", "detail": {}}] if left else []
    entry = {"group": group.name, "verdict": "Scheduled", "members": len(group.members)}
    entry |= {"quorum": group.quorum, "placed": group.placed + len(binds), "blockers": blockers}
    return {"binds": binds, "claims": claims, "groups": [entry]}
