"""Bindings and evictions: writes that are more than a change of fields."""

from typing import Any

from maitred.sandbox.apiserver import refusals
from maitred.sandbox.apiserver.admission import Admission
from maitred.sandbox.apiserver.call import Call
from maitred.sandbox.apiserver.deletion import Deletion, check_preconditions, wish_of
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, required, unsupported
from maitred.sandbox.apiserver.kinds.kind import Kind
from maitred.sandbox.apiserver.kinds.labels import selects
from maitred.sandbox.apiserver.kinds.names import check_name, subdomain
from maitred.sandbox.apiserver.objects import Objects
from maitred.sandbox.apiserver.refusals import Refusal, bad_request
from maitred.sandbox.apiserver.schema.types import Body
from maitred.sandbox.apiserver.store import Item, Key

SETTLED = ("Succeeded", "Failed", "Pending")
"""Phases in which a pod serves nobody, so no budget counts it."""
MOST_DISRUPTED = 2000
VIOLATION = "Cannot evict pod as it would violate the pod's disruption budget."


class Subresources:
    def __init__(
        self, objects: Objects, deletion: Deletion, admission: Admission, pods: Kind, budgets: Kind
    ) -> None:
        self._objects = objects
        self._deletion = deletion
        self._admission = admission
        self._pods = pods
        self._budgets = budgets

    # -- binding -------------------------------------------------------------------------------------------

    def bind(self, namespace: str, name: str, binding: Body, call: Call) -> None:
        meta, target = binding.get("metadata") or {}, binding.get("target") or {}
        if meta.get("name") != name:
            raise bad_request("name in URL does not match name in Binding object")
        errors = binding_errors(target)
        if errors:
            words = str(errors[0]) if len(errors) == 1 else f"[{', '.join(map(str, errors))}]"
            raise Refusal(500, "", words)
        item = self._objects.find(self._pods, Key(namespace, name))
        self._check_bindable(self._pods, item, meta)
        body = item.fresh()
        assign(body, target["name"], meta, self._admission.topology_of(target["name"]), call.now)
        self._objects.put(self._pods, item.key, body, call)

    def _check_bindable(self, pods: Kind, item: Item, meta: Body) -> None:
        had, name = item.body["metadata"], item.key.name
        if meta.get("uid", had["uid"]) != had["uid"]:
            raise refusals.failed_precondition(pods.group, pods.plural, name, "UID", meta["uid"], had["uid"])
        if meta.get("resourceVersion", str(item.version)) != str(item.version):
            raise refusals.failed_precondition(
                pods.group, pods.plural, name, "ResourceVersion", meta["resourceVersion"], str(item.version)
            )
        why = obstacle(item.body)
        if why:
            raise refusals.conflict("", "pods/binding", name, why)

    # -- eviction ------------------------------------------------------------------------------------------

    def evict(self, namespace: str, name: str, eviction: Body, call: Call) -> None:
        pods = self._pods
        if (eviction.get("metadata") or {}).get("name") != name:
            raise bad_request("name in URL does not match name in Eviction object")
        options = eviction.get("deleteOptions") or {}
        call.is_dry = call.is_dry or bool(options.get("dryRun"))
        wish = wish_of(options)
        item = self._objects.find(pods, Key(namespace, name))
        if not is_settled(item.body):
            self._spend_budget(item, call)
        check_preconditions(pods, item, wish)
        if not call.is_dry:
            body = item.fresh()
            set_condition(body, evicted(call.now))
            item = self._objects.put(pods, item.key, body, call)
        self._deletion.delete(pods, item, wish_of({**options, "preconditions": {"uid": wish.uid}}), call)

    def _spend_budget(self, pod: Item, call: Call) -> None:
        budgets = [budget for budget in self._objects.shelf(self._budgets) if covers(budget, pod)]
        if len(budgets) > 1:
            raise Refusal(
                500,
                "",
                "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
                "support.",
            )
        if budgets and not is_spare(pod.body, budgets[0].body):
            spent = after_disruption(budgets[0], pod.key.name, call.now)
            self._objects.put(self._budgets, budgets[0].key, spent, call)


def binding_errors(target: Body) -> list[FieldError]:
    kind, name = target.get("kind", ""), target.get("name", "")
    errors = [] if kind in ("", "Node") else [unsupported("target.kind", kind, ("Node", "<empty>"))]
    if not name:
        errors.append(required("target.name"))
    elif not errors:
        errors += check_name("target.name", name, subdomain)
    return errors


def obstacle(pod: Body) -> str:
    """Why this pod cannot be bound."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    if "deletionTimestamp" in pod["metadata"]:
        return f"pod {name} is being deleted, cannot be assigned to a host"
    if spec.get("nodeName"):
        return f'pod {name} is already assigned to node "{spec["nodeName"]}"'
    if spec.get("schedulingGates"):
        return f"pod {name} has non-empty .spec.schedulingGates"
    return ""


def assign(pod: Body, node: str, meta: Body, topology: dict[str, str], now: str) -> None:
    pod["spec"]["nodeName"] = node
    pod["status"].pop("nominatedNodeName", None)
    if meta.get("annotations"):
        pod["metadata"].setdefault("annotations", {}).update(meta["annotations"])
    labels = {**(meta.get("labels") or {}), **topology}
    if labels:
        pod["metadata"].setdefault("labels", {}).update(labels)
    set_condition(pod, {"type": "PodScheduled", "status": "True"}, now)


def set_condition(body: Body, condition: Body, now: str = "") -> None:
    """With the moment of its last change of status, which stays where there was none."""
    conditions: list[Body] = body["status"].setdefault("conditions", [])
    moment = now or condition["lastTransitionTime"]
    generation = body["metadata"].get("generation")
    said = {**condition, "lastProbeTime": None, "lastTransitionTime": moment}
    for place, had in enumerate(conditions):
        if had["type"] == condition["type"]:
            if had["status"] == condition["status"]:
                said["lastTransitionTime"] = had.get("lastTransitionTime", moment)
            if "observedGeneration" in had and generation:
                said["observedGeneration"] = had["observedGeneration"]
            conditions[place] = said
            return
    conditions.append(said)


def evicted(now: str) -> Body:
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "lastTransitionTime": now,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }


def is_settled(pod: Body) -> bool:
    return pod["status"].get("phase") in SETTLED or "deletionTimestamp" in pod["metadata"]


def covers(budget: Item, pod: Item) -> bool:
    selector = budget.body["spec"].get("selector")
    if budget.key.namespace != pod.key.namespace or selector is None:
        return False
    return selects(selector, pod.body["metadata"].get("labels", {}))


def is_spare(pod: Body, budget: Body) -> bool:
    """Not ready, and not missed: the budget need not pay for it."""
    conditions: list[Any] = pod["status"].get("conditions", [])
    if any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status", {})
    desired: int = status.get("desiredHealthy", 0)
    return desired > 0 and int(status.get("currentHealthy", 0)) >= desired


def after_disruption(budget: Item, pod: str, now: str) -> Body:
    body, name = budget.fresh(), budget.key.name
    status = body.setdefault("status", {})
    if status.get("observedGeneration", 0) < body["metadata"].get("generation", 0):
        raise too_soon(f"The disruption budget {name} is still being processed by the server.", 10)
    if len(status.get("disruptedPods", {})) > MOST_DISRUPTED:
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller"
        raise refusals.forbidden("policy", "poddisruptionbudget", name, why)
    if status.get("disruptionsAllowed", 0) <= 0:
        raise too_soon(shortage(name, status), None)
    status["disruptionsAllowed"] -= 1
    status.setdefault("disruptedPods", {})[pod] = now
    return body


def shortage(name: str, status: Body) -> str:
    desired, current = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    if current <= desired:
        return f"The disruption budget {name} needs {desired} healthy pods and has {current} currently"
    return f"The disruption budget {name} does not allow evicting pods currently"


def too_soon(why: str, seconds: int | None) -> Refusal:
    refusal = Refusal(429, "TooManyRequests", VIOLATION, retry_after=seconds)
    refusal.details["causes"] = [{"reason": "DisruptionBudget", "message": why}]
    return refusal
