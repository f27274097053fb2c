"""How a pod is treated when its node runs short: its class of service."""

from maitred.sandbox.apiserver.kinds.resources import QOS_RESOURCES, is_of_pods
from maitred.sandbox.apiserver.schema.quantities import nano
from maitred.sandbox.apiserver.schema.types import Body

BEST_EFFORT, BURSTABLE, GUARANTEED = "BestEffort", "Burstable", "Guaranteed"


def quality_of_service(spec: Body) -> str:
    own = spec.get("resources", {})
    if any(is_of_pods(name) for which in ("requests", "limits") for name in own.get(which, {})):
        return _of_requirements(own)
    classes = {
        _of_requirements(container.get("resources", {}))
        for kind in ("initContainers", "containers")
        for container in spec.get(kind, ())
    }
    return classes.pop() if len(classes) == 1 else BURSTABLE if classes else BEST_EFFORT


def _of_requirements(resources: Body) -> str:
    requests, limits = resources.get("requests", {}), resources.get("limits", {})
    classes = {_of_resource(requests.get(name, "0"), limits.get(name, "0")) for name in QOS_RESOURCES}
    return classes.pop() if len(classes) == 1 else BURSTABLE


def _of_resource(request: str, limit: str) -> str:
    asked, most = nano(request), nano(limit)
    if not asked and not most:
        return BEST_EFFORT
    return GUARANTEED if asked == most else BURSTABLE
