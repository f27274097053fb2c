"""How pods come to be and change."""

from collections.abc import Iterator, Sequence

from maitred.sandbox.apiserver.kinds.devicerules import check_claims_of, check_extended_claim
from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden, immutable, invalid
from maitred.sandbox.apiserver.kinds.names import check_name, subdomain
from maitred.sandbox.apiserver.kinds.placement import PREFERRED, REQUIRED
from maitred.sandbox.apiserver.kinds.podspecs import check_pod_spec, set_pod_defaults
from maitred.sandbox.apiserver.kinds.resources import quality_of_service, set_pod_resources
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body

NOT_READY, UNREACHABLE = "node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"
TOLERATED_SECONDS = 300
KEPT = ("qosClass", "resourceClaimStatuses", "extendedResourceClaimStatus", "observedGeneration")
"""What a writer of the status leaves out because it does not know of it stays."""
CHANGED_IMAGES = ("containers", "initContainers")
TERMS = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"


class Pods(Strategy):
    def set_defaults(self, body: Body) -> None:
        set_pod_defaults(body.setdefault("spec", {}))
        _pair_addresses(body.get("status", {}))

    def before_create(self, body: Body) -> None:
        spec = body["spec"]
        tolerate_faults(spec)
        _select_by_own_labels(spec, body["metadata"].get("labels", {}))
        set_pod_resources(spec)
        body["status"] = {"phase": "Pending", "qosClass": quality_of_service(spec)}
        if spec.get("schedulingGates"):
            body["status"]["conditions"] = [_gated(body["metadata"].get("creationTimestamp"))]

    def check(self, body: Body) -> list[FieldError]:
        errors = list(check_pod_spec(body["spec"], "spec"))
        if body["spec"].get("nodeName") and body["spec"].get("schedulingGates"):
            why = "cannot be set until all schedulingGates have been cleared"
            errors.append(forbidden("spec.nodeName", why))
        return errors

    def before_update(self, new: Body, old: Body) -> None:
        tolerate_faults(new["spec"])
        if "resources" in old["spec"]:
            new["spec"].setdefault("resources", old["spec"]["resources"])

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        return [*check_pod_spec(new["spec"], "spec"), *_check_change(new["spec"], old["spec"])]

    def before_status(self, new: Body, old: Body) -> None:
        status, before = new.setdefault("status", {}), old.get("status", {})
        status.update((name, before[name]) for name in KEPT if before.get(name) and not status.get(name))

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        status, before = new.get("status", {}), old.get("status", {})
        path, node = "status.nominatedNodeName", status.get("nominatedNodeName", "")
        errors = list(immutable("status.qosClass", status.get("qosClass"), before.get("qosClass")))
        if node and node != before.get("nominatedNodeName"):
            errors += check_name(path, node, subdomain)
            if old["spec"].get("nodeName"):
                errors.append(forbidden(path, "may not be set on pods that are already bound to a node"))
        return [*errors, *check_claims_of(new), *check_extended_claim(new)]


PODS = Pods()


# -- as they are created -----------------------------------------------------------------------------------


def tolerate_faults(spec: Body) -> None:
    """An admission plugin gives pods some minutes on a node that is not ready."""
    tolerations = spec.get("tolerations", [])
    missing = [key for key in (NOT_READY, UNREACHABLE) if not any(_covers(one, key) for one in tolerations)]
    if missing:
        forbearing = {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": TOLERATED_SECONDS}
        spec["tolerations"] = [*tolerations, *({"key": key, **forbearing} for key in missing)]


def _covers(toleration: Body, key: str) -> bool:
    return toleration.get("key", "") in ("", key) and toleration.get("effect", "") in ("", "NoExecute")


def _gated(now: str | None) -> Body:
    return {
        "type": "PodScheduled",
        "status": "False",
        "lastProbeTime": None,
        "lastTransitionTime": now,
        "reason": "SchedulingGated",
        "message": "Scheduling is blocked due to non-empty scheduling gates",
    }


def _pair_addresses(status: Body) -> None:
    """The first of the addresses has a field of its own, from before there could be more."""
    if status.get("podIP") and status.get("podIPs", [{}])[0].get("ip") != status["podIP"]:
        status["podIPs"] = [{"ip": status["podIP"]}]
    elif status.get("podIPs"):
        status["podIP"] = status["podIPs"][0].get("ip", "")


def _select_by_own_labels(spec: Body, labels: dict[str, str]) -> None:
    """Keys by which pods compare themselves with others become part of their selectors."""
    for term in _terms(spec):
        selector = term.get("labelSelector")
        if selector is None:
            continue
        for name, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
            added = [
                {"key": key, "operator": operator, "values": [labels[key]]}
                for key in term.get(name, ())
                if key in labels
            ]
            if added:
                selector["matchExpressions"] = [*selector.get("matchExpressions", ()), *added]


def _terms(spec: Body) -> Iterator[Body]:
    for kind in ("podAffinity", "podAntiAffinity"):
        affinity = spec.get("affinity", {}).get(kind, {})
        yield from (term.get("podAffinityTerm", {}) for term in affinity.get(PREFERRED, ()))
        yield from affinity.get(REQUIRED, ())
    yield from spec.get("topologySpreadConstraints", ())


# -- what of a pod may change once it is there: little -----------------------------------------------------


def _check_change(spec: Body, before: Body) -> Iterator[FieldError]:
    for kind in CHANGED_IMAGES:
        if len(spec.get(kind, ())) != len(before.get(kind, ())):
            yield forbidden(f"spec.{kind}", "pod updates may not add or remove containers")
            return
    yield from _check_deadline(spec.get("activeDeadlineSeconds"), before.get("activeDeadlineSeconds"))
    yield from _check_tolerations(spec.get("tolerations", ()), before.get("tolerations", ()))
    known = {gate.get("name") for gate in before.get("schedulingGates", ())}
    for index, gate in enumerate(spec.get("schedulingGates", ())):
        if gate.get("name") not in known:
            yield forbidden(f"spec.schedulingGates[{index}].name", "gates can only be removed")
    if known:
        yield from _check_narrowing(spec, before)
    if _fixed(spec, gated=bool(known)) != _fixed(before, gated=bool(known)):
        names = sorted(name for name in spec.keys() | before.keys() if spec.get(name) != before.get(name))
        why = "pod updates may change images, gates, an earlier deadline and further tolerations only"
        yield forbidden("spec", f"{why}; this one changes {', '.join(names)}")


def _check_deadline(new: int | None, old: int | None) -> Iterator[FieldError]:
    if old is not None and (new is None or new > old):
        yield invalid("spec.activeDeadlineSeconds", new, "must be less than or equal to previous value")


def _check_tolerations(new: Sequence[Body], old: Sequence[Body]) -> Iterator[FieldError]:
    now, before = ([_without(one, "tolerationSeconds") for one in each] for each in (new, old))
    if any(toleration not in now for toleration in before):
        why = "existing toleration can not be modified except its tolerationSeconds"
        yield forbidden("spec.tolerations", why)


def _check_narrowing(spec: Body, before: Body) -> Iterator[FieldError]:
    """Where a gated pod may go can become less, not other."""
    new, old = spec.get("nodeSelector", {}), before.get("nodeSelector", {})
    if any(new.get(key) != value for key, value in old.items()):
        yield invalid("spec.nodeSelector", new or None, "only additions are allowed")
    terms, were = _node_terms(spec), _node_terms(before)
    narrowed = len(terms) == len(were) and all(map(_only_adds, terms, were))
    if were and not narrowed:
        yield invalid(TERMS, terms or None, "only additions to terms are allowed")


def _node_terms(spec: Body) -> list[Body]:
    required = spec.get("affinity", {}).get("nodeAffinity", {}).get(REQUIRED, {})
    return list(required.get("nodeSelectorTerms") or ())


def _only_adds(term: Body, was: Body) -> bool:
    parts = ("matchExpressions", "matchFields")
    return all(term.get(part, [])[: len(was.get(part, []))] == was.get(part, []) for part in parts)


def _fixed(spec: Body, *, gated: bool) -> Body:
    """A pod's spec without what may change, which other rules look at."""
    fixed = _without(spec, "activeDeadlineSeconds", "schedulingGates", "tolerations")
    for kind in CHANGED_IMAGES:
        if kind in spec:
            fixed[kind] = [_without(container, "image") for container in spec[kind]]
    if gated:
        fixed = _without(fixed, "nodeSelector")
        fixed["affinity"] = _without(spec.get("affinity", {}), "nodeAffinity")
    return fixed


def _without(body: Body, *names: str) -> Body:
    return {name: value for name, value in body.items() if name not in names}
