"""How pods come to be and change."""

from collections.abc import Iterator

from maitred.sandbox.apiserver.kinds.fielderrors import FieldError, forbidden
from maitred.sandbox.apiserver.kinds.placement import PREFERRED, REQUIRED
from maitred.sandbox.apiserver.kinds.poddefaults import set_pod_defaults, tolerate_faults
from maitred.sandbox.apiserver.kinds.podresources import set_pod_resources
from maitred.sandbox.apiserver.kinds.podspecs import check_pod_spec
from maitred.sandbox.apiserver.kinds.podstatuses import check_pod_status, keep_status
from maitred.sandbox.apiserver.kinds.podupdates import check_pod_change
from maitred.sandbox.apiserver.kinds.qos import quality_of_service
from maitred.sandbox.apiserver.kinds.strategy import Strategy
from maitred.sandbox.apiserver.schema.types import Body


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
        return [*check_pod_spec(body["spec"], "spec", is_pod=True), *_check_new(body["spec"])]

    def before_update(self, new: Body, old: Body) -> None:
        tolerate_faults(new["spec"])
        if "resources" in old["spec"]:
            new["spec"].setdefault("resources", old["spec"]["resources"])

    def check_update(self, new: Body, old: Body) -> list[FieldError]:
        return [*check_pod_spec(new["spec"], "spec", is_pod=True), *check_pod_change(new, old)]

    def before_status(self, new: Body, old: Body) -> None:
        keep_status(new.setdefault("status", {}), old.get("status", {}))

    def check_status(self, new: Body, old: Body) -> list[FieldError]:
        return list(check_pod_status(new, old))


PODS = Pods()


def _check_new(spec: Body) -> Iterator[FieldError]:
    if spec.get("ephemeralContainers"):
        yield forbidden("spec.ephemeralContainers", "cannot be set on create")
    if spec.get("nodeName") and spec.get("schedulingGates"):
        yield forbidden("spec.nodeName", "cannot be set until all schedulingGates have been cleared")


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
